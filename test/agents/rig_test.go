package agents_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// This file has a project with one agent, and looks at it from outside.

// rig is a project in a folder of its own, with a home, a model and an agent.
type rig struct {
	*testing.T
	agent   realAgent
	leslie  string
	env     []string
	home    string
	project string
	model   *model
	schema  *schemaFile
	own     map[string]any // the agent's part of the configuration
	tapped  string         // the file of what was said, "" without a tap
	notes   []string       // for the table
}

// patience is how long anything may take.
const patience = 5 * time.Minute

// rules are those of the user: see the cases.
func rules() map[string]any {
	return map[string]any{
		"allow": []string{"Bash(leslie:*)", "Bash(mark:*)", "Bash(nap:*)", "Bash(leave:*)", "Bash(git:*)", "Read", "Edit(./**)"},
		"ask":   []string{"Bash(mark ask:*)"},
		"deny":  []string{"Bash(mark no:*)"},
	}
}

// programs are what the agents call: mark keeps what it is given, in order, nap takes its
// time, but only once, pause takes five seconds, and leave leaves a process behind.
var programs = map[string]string{
	"mark":  "#!/bin/sh\necho \"$*\" >> \"$HOME/marks\"\necho \"marked mark $*\"\n",
	"pause": "#!/bin/sh\nsleep 5\n",
	"leave": "#!/bin/sh\nsetsid sleep 300 > /dev/null 2>&1 < /dev/null &\n",
	"nap":   "#!/bin/sh\n[ -e \"$HOME/napped\" ] && { echo rested; exit 0; }\n: > \"$HOME/napped\"\nsleep 300\n",
}

// newRig makes a project. With a tap, what leslie and the agent say is kept.
func newRig(t *testing.T, a realAgent, leslie, path string, tapped bool) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "leslie-agents-")
	require.NoError(t, err)
	r := &rig{T: t, agent: a, leslie: leslie, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}
	bin := filepath.Join(dir, "bin")
	for _, name := range []string{r.home, r.project, bin, filepath.Join(dir, "tmp"), filepath.Join(r.home, ".leslie")} {
		require.NoError(t, os.MkdirAll(name, 0o700))
	}
	for name, text := range programs {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700))
	}
	said, err := os.Create(filepath.Join(dir, "model.log"))
	require.NoError(t, err)
	r.model, err = newModel(said)
	require.NoError(t, err)
	t.Cleanup(func() {
		r.model.close()
		_ = said.Close()
		for _, pid := range r.left() {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		if t.Failed() || os.Getenv("LESLIE_AGENTS_KEEP") != "" {
			t.Logf("kept: %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	r.env = append(harness.Environment(r.home, filepath.Join(dir, "tmp")), "PATH="+filepath.Dir(leslie)+":"+bin+":"+path)
	r.env = slices.DeleteFunc(r.env, func(e string) bool { return e == "PATH="+os.Getenv("PATH") })
	own, err := a.configure(r.home, r.model.url)
	require.NoError(t, err)
	if tapped {
		r.tapped = filepath.Join(dir, "tapped")
		own["command"] = append([]string{os.Args[0]}, a.command...)
		own["env"].(map[string]string)[tapVariable] = r.tapped
	}
	r.own = own
	r.configure(nil)
	r.git("init", "-q")
	r.git("config", "user.email", "ann@example.com")
	r.git("config", "user.name", "Ann")
	require.NoError(t, os.WriteFile(filepath.Join(r.project, "README.md"), []byte("A project\n"), 0o600))
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "Begin")
	r.ok("init", "--no-agents")
	r.ok("objective", "create", "Try an agent", "--id", "goal")
	return r
}

// configure writes the user's configuration, with more keys under run.
func (r *rig) configure(more map[string]any) {
	r.Helper()
	run := rules()
	run["agent"], run["agents"] = r.agent.name, map[string]any{r.agent.name: r.own}
	maps.Copy(run, more)
	require.NoError(r, writeJSON(filepath.Join(r.home, ".leslie", "config.json"), map[string]any{"run": run}))
}

func (r *rig) git(args ...string) string {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.project, r.env
	out, err := cmd.CombinedOutput()
	require.NoError(r, err, "git %v: %s", args, out)
	return string(out)
}

// call runs leslie.
func (r *rig) call(args ...string) harness.Outcome {
	return harness.Call{Program: r.leslie, Argv: args, Dir: r.project, Env: r.env, Limit: patience}.Run()
}

// ok runs leslie, which has to succeed.
func (r *rig) ok(args ...string) harness.Outcome {
	r.Helper()
	o := r.call(args...)
	require.True(r, o.OK(), "leslie %v: %s", args, o.Text())
	return o
}

// spawn makes a thread whose agent is told to do something.
func (r *rig) spawn(id, intent string, more ...string) {
	r.Helper()
	r.ok(append([]string{"spawn", "--id", id, "--title", id, "--intent", intent, "--objective", "goal"}, more...)...)
}

// running is leslie in the background.
type running struct {
	process *os.Process
	over    chan struct{}
	outcome harness.Outcome
}

// start starts leslie in the background.
func (r *rig) start(args ...string) *running {
	r.Helper()
	p := &running{over: make(chan struct{})}
	began := make(chan struct{})
	go func() {
		p.outcome = harness.Call{
			Program: r.leslie, Argv: args, Dir: r.project, Env: r.env, Limit: patience,
			Started: func(process *os.Process, _ <-chan struct{}) {
				p.process = process
				close(began)
			},
		}.Run()
		close(p.over)
	}()
	select {
	case <-began:
	case <-p.over:
		require.Fail(r, "leslie did not start", p.outcome.Text())
	}
	return p
}

// wait waits for the end.
func (r *rig) wait(p *running) harness.Outcome {
	r.Helper()
	select {
	case <-p.over:
	case <-time.After(patience):
		require.Fail(r, "leslie did not end")
	}
	return p.outcome
}

// until waits for something, which a process that has ended will not bring.
func (r *rig) until(p *running, what string, is func() bool) {
	r.Helper()
	for began := time.Now(); !is(); {
		select {
		case <-p.over:
			require.Fail(r, "leslie ended before "+what, p.outcome.Text())
		case <-time.After(20 * time.Millisecond):
			require.Less(r, time.Since(began), patience, what)
		}
	}
}

// hangs waits until the model is asked for an answer that it holds back.
func (r *rig) hangs(p *running, name string) {
	r.Helper()
	reached := r.model.hung(name)
	r.until(p, "the model was asked for "+name, func() bool {
		select {
		case <-reached:
			return true
		default:
			return false
		}
	})
}

// naps waits until the agent's tool takes its time.
func (r *rig) naps(p *running) {
	r.Helper()
	r.until(p, "the tool ran", func() bool {
		_, err := os.Stat(filepath.Join(r.home, "napped"))
		return err == nil && len(r.commands("sleep")) > 0
	})
}

// marks is what the agents have kept, in order.
func (r *rig) marks() []string {
	b, _ := os.ReadFile(filepath.Join(r.home, "marks"))
	return strings.Fields(string(b))
}

// left are the living processes that belong to the rig, leslie's own calls left out.
func (r *rig) left() []int {
	return r.processes(func(args []string) bool { return args[0] != r.leslie })
}

// commands are the processes of a program.
func (r *rig) commands(name string) []int {
	return r.processes(func(args []string) bool { return filepath.Base(args[0]) == name })
}

func (r *rig) processes(is func(args []string) bool) (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		env, err := os.ReadFile(name)
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), "HOME="+r.home) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil && len(line) > 0 && is(strings.Split(string(line), "\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// nothingLeft waits until no process of the agent is left, and returns how long it took.
func (r *rig) nothingLeft(atMost time.Duration) time.Duration {
	r.Helper()
	began := time.Now()
	for {
		pids := r.left()
		took := time.Since(began)
		if len(pids) == 0 {
			return took
		}
		if took > atMost {
			for _, pid := range pids {
				line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
				r.Logf("left: %d %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
			}
			require.Fail(r, "processes of the agent are left")
		}
		<-time.After(20 * time.Millisecond)
	}
}

// runRecord is what an answer says of a run.
type runRecord struct {
	RunID        string
	SessionID    string
	AgentVersion string
	ThreadStatus string
	Stop         string
	Reason       string
	Turns        int
	Attempts     int
	Used         struct {
		Input, Output *int64
		Cost          []struct{ Amount float64 }
	}
}

func record(o harness.Outcome) (d runRecord) {
	o.Into(&d)
	return d
}

// done requires that a run ended because its thread is done.
func (r *rig) done(o harness.Outcome) runRecord {
	r.Helper()
	require.True(r, o.OK(), "run: %s", o.Text())
	d := record(o)
	require.Equal(r, "done", d.Stop)
	return d
}

// entry is one of a transcript.
type entry struct {
	Run, Kind, Text, Verdict, Reason, Method string
	Turn                                     int
	Call                                     struct {
		Tool, Command string
		Paths         []string
	}
}

func (r *rig) transcript(id string) []entry {
	r.Helper()
	var d struct{ Items []entry }
	r.ok("transcript", id, "--limit", "10000").Into(&d)
	require.NotEmpty(r, d.Items)
	return d.Items
}

// said is what a transcript's entries of a kind say together.
func said(entries []entry, kind string) string {
	var b strings.Builder
	for _, e := range entries {
		if e.Kind == kind {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// open is the approval that is asked for, and the command.
func (r *rig) open() (id, command string) {
	var d struct {
		Items []struct {
			ApprovalID string
			Tool       struct{ Command string }
		}
	}
	r.call("approvals").Into(&d)
	if len(d.Items) == 0 {
		return "", ""
	}
	return d.Items[0].ApprovalID, d.Items[0].Tool.Command
}

func (r *rig) note(text string) { r.notes = append(r.notes, text) }

func (r *rig) noteTime(what string, d time.Duration) {
	r.note(what + " " + seconds(d))
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s" }
