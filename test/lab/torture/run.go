//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/test/fakeagent"
	"leslie/test/lab"
)

// This file kills leslie run at each of its own calls of a run with several turns, while its
// agent goes on for as long as it can, and lets the run go on.

// agentWord is the first argument that makes torture the agent, one without a model.
const agentWord = "agent"

// playsAgent makes this process the agent if it was started as one.
func playsAgent() bool {
	if len(os.Args) != 2 || os.Args[1] != agentWord {
		return false
	}
	fakeagent.Main()
	return true
}

// agentDoes is what the agent does in three turns; it is added to each prompt, and the agent
// does each thing once. Each turn leaves a line in the file did.
const agentDoes = "TALK[[20]] RUN[[echo one >>did]] USAGE[[10 5 0.1]] STOP[[1]] ASK[[echo two]] RUN[[echo two >>did]] STOP[[2]] RUN[[echo three >>did; leslie done]]"

// writeAgent configures the agent of all stations. Its state, and the log of what it was
// told, are beside the project where it works.
func (r *rig) writeAgent() error {
	config, err := json.Marshal(map[string]any{"run": map[string]any{
		"agent": "fake", "allow": []string{"Bash(echo:*)"},
		"agents": map[string]any{"fake": map[string]any{
			"command": []string{r.self, agentWord},
			"env":     map[string]string{"FAKE_STATE": agentState, "FAKE_SESSION": "session", "FAKE_PROMPT": agentDoes, "FAKE_LOG": agentState + "/told"},
		}},
	}})
	if err != nil {
		return err
	}
	dir := filepath.Join(r.home, ".leslie")
	return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "config.json"), config, 0o644)) // also for the user of the permissions matrix
}

// agentState is the folder of the agent's state, from a project.
const agentState = "../agent"

// readyRun is a run, with the number of leslie's own calls in an undisturbed one.
type readyRun struct {
	*stations
	calls []string
	told  int // prompts
}

const runArgs = "run api --agent fake"

// begin prepares a thread that is to be run.
func (r *readyRun) begin(f *lab.Fixture) {
	if f.Err = os.Mkdir(filepath.Join(f.Dir, agentState), 0o755); f.Err != nil {
		return
	}
	f.Ok("init --no-agents --here")
	f.Ok("objective create Ship --id ship")
	f.Ok("spawn --id api --intent Api")
	f.Write("api", "plan.md", "the plan\n")
}

// prepareRun measures an undisturbed run.
func (s *stations) prepareRun() (*readyRun, error) {
	out := &readyRun{stations: s}
	res := s.with("run", out.begin, func(at *station) result {
		o, err := at.underTracer(lab.Kills, 0, strings.Fields(runArgs))
		if err != nil || o.Err != nil || !o.OK() {
			return result{problem: fmt.Sprintf("undisturbed, it ended with %d: %s (%v)", o.Status, o.Text(), err)}
		}
		out.calls, _ = lab.CallsIn(filepath.Join(at.seen(), "killed"))
		out.told = len(at.told())
		return result{problem: out.ended(at, 0)}
	})
	if res.problem == "" && out.told != 3 {
		res.problem = fmt.Sprintf("the agent had %d turns, not 3", out.told)
	}
	if res.problem != "" {
		return nil, errors.New(res.problem)
	}
	return out, nil
}

// cases returns one case for each call.
func (r *readyRun) cases() (out []work) {
	for i := range r.calls {
		out = append(out, work{matrix: "run", row: "run", rest: strconv.Itoa(i + 1), key: "run leslie", run: func(string) result {
			return r.with("run", r.begin, func(at *station) result { return r.killed(at, i+1) })
		}})
	}
	return out
}

// killed kills a run before its n-th call and lets it go on.
func (r *readyRun) killed(at *station, n int) result {
	o, err := at.underTracer(lab.Kills, n, strings.Fields(runArgs))
	if err != nil || o.Err != nil {
		return result{problem: fmt.Sprint(err, o.Err)}
	}
	calls, _ := lab.CallsIn(filepath.Join(at.seen(), "killed"))
	res := result{hit: o.Killed, outcome: succeeded}
	kills := 0
	if o.Killed {
		res.outcome, kills = killedAll, 1
		again := at.Call(strings.Fields(runArgs)...)
		if again.Code() == "T707" { // it had begun its last command when it was ended, and begins nothing twice
			at.Call("inject", "api", "--content", "RUN[[leslie done --reason again]]")
			again = at.Call(strings.Fields(runArgs)...)
			kills++
		}
		if !again.OK() && again.Code() != "T107" {
			res.problem = "when it goes on: " + again.Text()
		}
	}
	if res.problem == "" {
		res.problem = r.ended(at, kills)
	}
	if res.problem != "" {
		res.problem += fmt.Sprintf(" (before call %d, %s)", len(calls), calls[len(calls)-1])
	}
	return res
}

// ended checks what a run has left that was killed so many times.
func (r *readyRun) ended(at *station, kills int) string {
	var status struct{ Status string }
	at.Call("status", "api").Into(&status)
	if status.Status != "completed" {
		return "the thread is " + status.Status
	}
	if left := at.agents(); left != "" {
		return "a process is left: " + left
	}
	did, _ := os.ReadFile(filepath.Join(at.place, "project", "did"))
	done := strings.Fields(string(did))
	if twice := len(done) - len(slices.Compact(slices.Clone(done))); twice > 0 || len(done)+kills < 3 {
		return fmt.Sprintf("the agent did %q", done)
	}
	if problem := at.turns(kills); problem != "" {
		return problem
	}
	if o := at.Call("doctor", "--repair"); kills > 0 && o.Status != 0 { // the last write may have been cut off
		return "doctor --repair: " + o.Text()
	}
	return at.Healthy()
}

// told are the prompts that the agent was told, in their order.
func (s *station) told() []string {
	data, _ := os.ReadFile(filepath.Join(s.Dir, agentState, "told"))
	return slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool { return line == "" })
}

// turns compares what the agent was told with the transcript: a prompt is written down before
// it is sent, and a turn whose end is written is not sent again.
func (s *station) turns(kills int) string {
	var log struct {
		Items []struct {
			Kind, Text string
			Turn       int
		}
		Damaged int
	}
	s.Call("run", "log", "api", "--limit", "0").Into(&log)
	var prompts []string
	ended := map[int]bool{}
	for _, e := range log.Items {
		switch {
		case e.Kind == "prompt" && ended[e.Turn]:
			return fmt.Sprintf("turn %d was sent again after its end", e.Turn)
		case e.Kind == "prompt":
			prompts = append(prompts, e.Text)
		case e.Kind == "end" && ended[e.Turn]:
			return fmt.Sprintf("turn %d ended twice", e.Turn)
		case e.Kind == "end":
			ended[e.Turn] = true
		}
	}
	told := s.told()
	unsent := len(prompts) - len(told)
	switch {
	case log.Damaged > kills:
		return fmt.Sprintf("%d lines of the transcript are damaged", log.Damaged)
	case unsent < 0 || unsent > kills:
		return fmt.Sprintf("the agent was told %d prompts, the transcript has %d", len(told), len(prompts))
	}
	next := 0
	for _, line := range told { // each is one of the transcript, in its order
		var text string
		_ = json.Unmarshal([]byte(line), &text)
		at := slices.Index(prompts[next:], text)
		if at < 0 {
			return fmt.Sprintf("the transcript lacks, or has in another order, what the agent was told: %.200q", text)
		}
		next += at + 1
	}
	return ""
}

// agents returns a process that is left of an agent in this station, "" for none. What has
// just been ended may be there for a moment.
func (s *station) agents() (left string) {
	mark := []byte("LESLIE_DIR=" + s.Dir)
	for end := time.Now().Add(callTimeout / 6); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		left = ""
		all, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, name := range all {
			env, _ := os.ReadFile(name)
			if bytes.Contains(env, mark) && bytes.Contains(env, []byte("LESLIE_RUN=")) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
				left = strings.ReplaceAll(string(line), "\x00", " ")
			}
		}
		if left == "" {
			return ""
		}
	}
	return left
}
