//go:build !windows

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"leslie/test/fakeagent"
)

// playsAgent makes this process the agent of the demo if it was started as one.
func playsAgent() bool {
	if os.Getenv("DEMO_AGENT") == "" {
		return false
	}
	fakeagent.Main()
	return true
}

// What the members of the team do. The agent without a model does what is in brackets.
const (
	leadDoes = `Greet people at all times of the day.
RUN[[cat "$LESLIE_DIR/morning.txt" | leslie spawn --code --run --id morning --title "Greet in the morning" --intent -]]
RUN[[cat "$LESLIE_DIR/evening.txt" | leslie spawn --code --run --id evening --title "Greet in the evening" --intent -]]
RUN[[leslie suspend --reason "two workers are at it"]] STOP[[]]
RUN[[leslie merge morning team]] RUN[[leslie merge evening team]]
RUN[[M=$(leslie merge list | grep -o "merge-[a-z0-9]*" | head -1) && leslie merge resolve $M code:greet.sh --take both && leslie merge continue $M && leslie done]]
`
	morningDoes = `Greet in the morning. Ask how.
RUN[[leslie ask --question "How do you greet in the morning?" --choice "Good morning" --choice "Moin"]] STOP[[]]
RUN[[leslie context]] RUN[[echo "echo Moin" | tee -a greet.sh && git commit -qam "Greet in the morning"]] RUN[[leslie done]]
`
	eveningDoes = `Greet in the evening, and mark the version.
ASK[[git tag evening]] RUN[[echo "echo Good evening" | tee -a greet.sh && git commit -qam "Greet in the evening"]]
HANG[[]] RUN[[leslie done]]
`
)

// team lets agents work: one leads, two work in worktrees. They need a person twice, and
// the process that runs them is killed once.
func (s *stage) team() {
	if _, err := exec.LookPath("git"); err != nil {
		return
	}
	defer func() {
		if failure := s.err; failure != nil { // nothing goes on after the demo
			_, _ = s.call([]string{"run", "stop", "--loop"})
			s.err = failure
		}
	}()
	s.say("A team of agents (here: programs without a model) goes on. Its lead splits the thread and waits for the parts")
	s.configure()
	s.prepare("morning.txt", morningDoes)
	s.prepare("evening.txt", eveningDoes)
	s.run("agents", "fake", "--check")
	s.run("spawn", "--code", "--run", "--id", "team", "--parent", "main", "--title", "Greet at all times", "--intent", leadDoes)
	s.run("run", "--next", "--detach")
	s.until(`"questionId":"`, "questions", "--format", "json")
	s.until(`"approvalId":"`, "approvals", "--format", "json")
	s.run("run", "list")
	s.say("One agent asks a person, another one wants to do what the rules do not allow by themselves")
	s.run("status")
	s.run("approve", between(s.quiet("approvals", "--format", "json"), `"approvalId":"`, `"`))
	s.run("answer", between(s.quiet("questions", "--format", "json"), `"questionId":"`, `"`), "--choice", "Moin")
	s.until(`"status":"completed"`, "status", "morning", "--format", "json")
	s.until(`"ahead":1`, "code", "evening", "--format", "json")
	s.say("The process that runs the agents is killed, and started again: it goes on with what it had, and wakes the lead")
	s.kill()
	s.until(`"loop":false`, "run", "list", "--format", "json")
	s.run("run", "list")
	s.run("run", "--next", "--until-idle")
	s.run("run", "list", "--all")
	s.run("merge", "team", "main")
	s.git(s.dir, "log", "--graph", "--format=%s", "main")
	s.run("objective", "status", "guide")
	if data, err := os.ReadFile(filepath.Join(s.dir, "greet.sh")); s.err == nil && (err != nil || !strings.Contains(string(data), "Moin") || !strings.Contains(string(data), "Good evening")) {
		s.err = fmt.Errorf("greet.sh has %q", data)
	}
}

// configure names this program as the agent in the user's own configuration.
func (s *stage) configure() {
	program, err := os.Executable()
	if err != nil {
		s.err = err
		return
	}
	env := map[string]string{
		"DEMO_AGENT": "1", "FAKE_STATE": s.dir, "GIT_AUTHOR_NAME": "agent", "GIT_AUTHOR_EMAIL": "agent@example.org",
		"GIT_COMMITTER_NAME": "agent", "GIT_COMMITTER_EMAIL": "agent@example.org",
	}
	config, err := json.Marshal(map[string]any{"run": map[string]any{"agent": "fake", "agents": map[string]any{"fake": map[string]any{"command": []string{program}, "env": env}}}})
	home := filepath.Join(s.dir, "home", ".leslie")
	if err == nil {
		err = os.MkdirAll(home, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "config.json"), config, 0o600)
	}
	if s.err == nil {
		s.err = err
	}
}

func (s *stage) prepare(name, text string) {
	if s.err == nil {
		s.err = os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600)
	}
}

// until repeats a command until its answer has a text. It sleeps until the store changes.
func (s *stage) until(text string, args ...string) {
	for end := time.Now().Add(time.Minute); s.err == nil; {
		if out, _ := s.call(args); strings.Contains(out, text) {
			return
		}
		if time.Now().After(end) {
			s.err = fmt.Errorf("leslie %s never showed %s", strings.Join(args, " "), text)
			return
		}
		_, _ = s.call([]string{"wait", "team", "--until", "any", "--timeout", "1s"})
	}
}

// kill kills the process that runs whatever is ready.
func (s *stage) kill() {
	if s.err != nil {
		return
	}
	data, err := os.ReadFile(filepath.Join(s.dir, ".leslie", "runs", ".loop", "lock"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	if err == nil {
		fmt.Printf("\n$ kill -9 %d\n", pid)
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	s.err = err
}
