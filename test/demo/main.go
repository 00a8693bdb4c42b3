// Demo runs a complete example with leslie in a temporary folder and prints every
// command with its answer: it splits an objective into threads, which inherit, reference
// and change copies of the project's own documents, and threads with code of their own,
// whose changes conflict and land, and a team of agents that leslie runs. At the end the
// state file is damaged and recovers.
//
// It fails if a command does not end as expected, so it is a test as well.
//
// Usage: go run ./test/demo -leslie bin/leslie
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"leslie/test/harness"
)

func main() {
	if playsAgent() {
		return
	}
	leslie := flag.String("leslie", "bin/leslie", "the `binary` to run")
	keep := flag.Bool("keep", false, "keep the folder")
	flag.Parse()
	if err := play(*leslie, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// stage is the folder in which the demo runs.
type stage struct {
	leslie string // absolute path of the binary
	docs   string // the project's own folder
	dir    string
	err    error // the first failure; later steps are skipped
}

func play(leslie string, keep bool) error {
	binary, err := filepath.Abs(leslie)
	if err != nil {
		return err
	}
	docs, err := os.Getwd()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "leslie-demo-")
	if err != nil {
		return err
	}
	if !keep {
		defer os.RemoveAll(dir)
		defer os.RemoveAll(dir + ".worktrees")
	}
	s := &stage{leslie: binary, docs: docs, dir: dir}
	s.begin()
	s.split()
	s.share()
	s.merge()
	s.ask()
	s.code()
	s.team()
	s.finish()
	s.refuse()
	s.recover()
	if s.err == nil {
		fmt.Println("\nThe demo is over.")
	}
	return s.err
}

func (s *stage) begin() {
	s.say("A project gets a store, and an objective")
	s.run("init")
	s.run("objective", "create", "Write a guide to leslie", "--id", "guide")
	s.run("spawn", "--id", "main", "--intent", "Plan the guide and bring its parts together", "--executor", "human")
	s.copy("README.md", "main", "design/readme.md")
	s.copy("ARCHITECTURE.md", "main", "design/architecture.md")
	s.write("main", "plan.md", "# Plan\n\n- [ ] Explain the store\n- [ ] Explain the commands\n")
	s.run("artifacts", "main")
}

func (s *stage) split() {
	s.say("Two threads share the work, each with its own copy of the files it needs")
	s.run("spawn", "--id", "store-part", "--parent", "main", "--intent", "Explain the store to a newcomer",
		"--inherit", "partial", "--scope", "plan.md,design/architecture.md", "--tag", "docs")
	s.run("spawn", "--id", "commands-part", "--parent", "main", "--intent", "Explain the commands",
		"--inherit", "full", "--ref", "store-part", "--depends-on", "store-part", "--tag", "docs")
	s.write("store-part", "plan.md", "# Plan\n\n- [x] Explain the store\n- [ ] Explain the commands\n")
	s.copy("docs/internals/store.md", "store-part", "store.md")
	s.run("list")
	s.run("list", "--ready")
}

func (s *stage) share() {
	s.say("store-part has changed since commands-part froze it; commands-part can refresh its copy")
	s.run("status", "commands-part")
	s.run("reference", "list", "--from", "commands-part")
	refs := s.quiet("reference", "list", "--from", "commands-part", "--format", "json")
	s.run("reference", "refresh", between(refs, `"refId":"`, `"`))
	s.run("context", "commands-part")
}

func (s *stage) merge() {
	s.say("The threads are merged: list items merge one by one, and one conflict waits for a decision")
	s.write("main", "design/readme.md", s.doc("README.md")+"\n\nSee also the plan.\n")
	s.write("commands-part", "design/readme.md", s.doc("README.md")+"\n\nSee also leslie help.\n")
	s.write("commands-part", "plan.md", "# Plan\n\n- [ ] Explain the store\n- [x] Explain the commands\n- [ ] Show a merge\n")
	s.run("merge", "--sources", "store-part,commands-part", "--target", "main", "--dry-run")
	s.fail(13, "merge", "--sources", "store-part,commands-part", "--target", "main")
	list := s.quiet("merge", "list", "--format", "json")
	id := between(list, `"mergeId":"`, `"`)
	s.run("merge", "resolve", id, "design/readme.md", "--take", "both", "--reason", "both hints are useful")
	s.run("merge", "continue", id)
	s.run("merge", "--sources", "store-part,commands-part", "--target", "main")
	s.cat("main", "plan.md")
}

// cat shows an artifact.
func (s *stage) cat(thread, name string) {
	if s.err != nil {
		return
	}
	data, err := os.ReadFile(filepath.Join(s.dir, ".leslie", "threads", thread, filepath.FromSlash(name)))
	s.err = err
	fmt.Printf("\n$ cat .leslie/threads/%s/%s\n%s", thread, name, data)
}

// doc returns one of the project's own documents.
func (s *stage) doc(name string) string {
	if s.err != nil {
		return ""
	}
	data, err := os.ReadFile(filepath.Join(s.docs, filepath.FromSlash(name)))
	s.err = err
	return strings.TrimRight(string(data), "\n")
}

func (s *stage) ask() {
	s.say("An agent asks a person, who answers; the answer reaches it as a message")
	s.run("ask", "commands-part", "--question", "Which shells shall the guide name?", "--choice", "bash", "--choice", "all of them", "--as", "agent", "--actor", "bot")
	s.run("status")
	list := s.quiet("questions", "--format", "json")
	s.run("answer", between(list, `"questionId":"`, `"`), "--choice", "bash")
	s.run("context", "commands-part")
}

// script is the program whose lines two threads change.
const script = "#!/bin/sh\necho Hello\n"

func (s *stage) code() {
	if _, err := exec.LookPath("git"); err != nil {
		s.say("Threads can own code, too; git is not installed, so this part is left out")
		return
	}
	s.say("The project becomes a git repository; two threads change the same line of its code, each in a worktree of its own")
	s.save(s.dir, "greet.sh", script)
	s.git(s.dir, "init", "-q", "-b", "main")
	s.git(s.dir, "add", "greet.sh", "AGENTS.md")
	s.git(s.dir, "commit", "-q", "-m", "Say hello")
	s.run("update", "main", "--worktree", ".", "--branch", "main")
	for _, one := range []struct{ id, intent, line string }{{"english", "Greet the world", "Hello, world"}, {"french", "Greet the world in French", "Bonjour"}} {
		s.run("spawn", "--code", "--id", one.id, "--parent", "main", "--intent", one.intent)
		worktree := filepath.Join(s.dir+".worktrees", one.id)
		s.save(worktree, "greet.sh", strings.ReplaceAll(script, "Hello", one.line))
		s.git(worktree, "commit", "-q", "-a", "-m", one.intent)
	}
	s.run("code")
	s.say("Both are queued. The first lands on main; the second conflicts with it and waits until that is decided")
	s.run("merge", "--sources", "english", "--target", "main", "--queue")
	s.run("merge", "--sources", "french", "--target", "main", "--queue")
	s.fail(13, "merge", "land", "main")
	id := between(s.quiet("merge", "list", "--format", "json"), `"mergeId":"`, `"`)
	s.run("merge", "resolve", id, "code:greet.sh", "--take", "both")
	s.run("merge", "continue", id)
	s.git(s.dir, "log", "--graph", "--format=%s", "main")
	if data, err := os.ReadFile(filepath.Join(s.dir, "greet.sh")); s.err == nil && (err != nil || string(data) != "#!/bin/sh\necho Hello, world\necho Bonjour\n") {
		s.err = fmt.Errorf("greet.sh has %q", data)
	}
	s.run("done", "english")
	s.run("done", "french")
}

// git prints a command of git's, which must succeed, and its answer.
func (s *stage) git(dir string, args ...string) {
	if s.err != nil {
		return
	}
	at := ""
	if dir != s.dir {
		at = "-C " + strings.ReplaceAll(dir, s.dir, "~/project") + " "
	}
	fmt.Printf("\n$ git %s%s\n", at, strings.Join(args, " "))
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=you", "-c", "user.email=you@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.CombinedOutput()
	fmt.Print(string(out))
	if err != nil {
		s.err = fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
}

// save changes a file of code.
func (s *stage) save(dir, name, text string) {
	if s.err == nil {
		fmt.Printf("\n$ edit %s\n", strings.ReplaceAll(filepath.Join(dir, name), s.dir, "~/project"))
		s.err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755)
	}
}

func (s *stage) finish() {
	s.say("Both threads are done; so is the dependency, and then the objective")
	s.run("done", "store-part")
	s.run("list", "--ready")
	s.run("done", "commands-part")
	s.run("archive", "store-part")
	s.run("status", "store-part")
	s.run("done", "main")
	s.run("objective", "status", "guide")
	s.run("history", "--limit", "5")
}

func (s *stage) refuse() {
	s.say("An error has a code, a hint, and a command to run next")
	s.fail(11, "status", "comands-part")
	s.fail(11, "suspend", "main")
	s.fail(2, "spawn", "--intnt", "x", "--inherit", "some")
	s.run("explain", "T102")
}

func (s *stage) recover() {
	s.say("The state file is cut in half; nothing that was acknowledged is lost")
	state := filepath.Join(s.dir, ".leslie", "thread_relations.json")
	s.damage(state)
	s.run("list", "--all")
	s.run("objective", "create", "Life goes on", "--id", "next")
	s.run("doctor")
	s.say("Now the state and its backup are both damaged; the journal brings everything back")
	s.damage(state)
	s.damage(state + ".bak")
	s.fail(15, "list")
	s.run("doctor", "--repair")
	s.run("list", "--all")
	s.run("objective", "list")
}

func (s *stage) say(what string) {
	if s.err == nil {
		fmt.Printf("\n== %s\n", what)
	}
}

// run prints a command that must succeed.
func (s *stage) run(args ...string) { s.show(0, args) }

// fail prints a command that must end with this status.
func (s *stage) fail(status int, args ...string) { s.show(status, args) }

func (s *stage) show(want int, args []string) {
	if s.err != nil {
		return
	}
	shown := make([]string, len(args))
	for i, a := range args {
		shown[i] = a
		if strings.ContainsAny(a, " *") {
			shown[i] = `"` + a + `"`
		}
	}
	fmt.Printf("\n$ leslie %s\n", strings.Join(shown, " "))
	out, status := s.call(args)
	fmt.Print(strings.ReplaceAll(out, s.dir, "~/project"))
	if want != 0 {
		fmt.Printf("(exit status %d)\n", status)
	}
	if s.err == nil && status != want {
		s.err = fmt.Errorf("leslie %s ended with %d, not %d", strings.Join(args, " "), status, want)
	}
}

// quiet runs a command that must succeed and returns its answer.
func (s *stage) quiet(args ...string) string {
	if s.err != nil {
		return ""
	}
	out, status := s.call(args)
	if s.err == nil && status != 0 {
		s.err = fmt.Errorf("leslie %s ended with %d: %s", strings.Join(args, " "), status, out)
	}
	return out
}

func (s *stage) call(args []string) (out string, status int) {
	env := append(harness.Environment(filepath.Join(s.dir, "home"), os.TempDir()), "LESLIE_ACTOR=you", "LESLIE_FORMAT=")
	o := harness.Call{Program: s.leslie, Argv: args, Dir: s.dir, Env: env, Limit: time.Minute}.Run()
	s.err = o.Err
	return string(o.Stdout) + string(o.Stderr), o.Status
}

// copy copies one of the project's own documents into a thread's folder.
func (s *stage) copy(doc, thread, to string) {
	if s.err != nil {
		return
	}
	data, err := os.ReadFile(filepath.Join(s.docs, filepath.FromSlash(doc)))
	if err != nil {
		s.err = err
		return
	}
	fmt.Printf("\n$ cp %s .leslie/threads/%s/%s\n", doc, thread, to)
	s.put(thread, to, data)
}

func (s *stage) write(thread, to, text string) {
	if s.err == nil {
		fmt.Printf("\n$ edit .leslie/threads/%s/%s\n", thread, to)
		s.put(thread, to, []byte(text))
	}
}

func (s *stage) put(thread, to string, data []byte) {
	path := filepath.Join(s.dir, ".leslie", "threads", thread, filepath.FromSlash(to))
	if s.err = os.MkdirAll(filepath.Dir(path), 0o755); s.err == nil {
		s.err = os.WriteFile(path, data, 0o644)
	}
}

// damage truncates a file to half, as a torn write does.
func (s *stage) damage(path string) {
	if s.err != nil {
		return
	}
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()/2)
	}
	s.err = err
	if err != nil {
		return
	}
	fmt.Printf("\n$ truncate -s %d %s\n", info.Size()/2, strings.TrimPrefix(path, s.dir+string(filepath.Separator)))
}

func between(text, open, end string) string {
	_, rest, _ := strings.Cut(text, open)
	found, _, _ := strings.Cut(rest, end)
	return found
}
