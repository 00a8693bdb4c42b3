package agents_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// This file has the cases: what each agent has to do with leslie.

// oneCase is a case by name.
type oneCase struct {
	name string
	play func(r *rig)
}

func cases() []oneCase {
	return []oneCase{
		{"check", checks}, {"done", works}, {"reject", isDenied}, {"ask", asks}, {"late", asksLate}, {"cancel", isStopped},
		{"urgent", isInterrupted}, {"kill", isKilled}, {"crash", crashes}, {"signal", isSignalled}, {"leave", leavesSomething},
		{"question", waitsForAnswer}, {"two", worksTwice}, {"shell", saysWhatItRuns}, {"files", saysWhatItWrites}, {"worktree", writesCode}, {"night", commitsUnasked},
		{"merge", resolves}, {"mcp", callsServer}, {"schema", speaks},
	}
}

// checks: leslie agents --check starts it in its asking mode.
func checks(r *rig) {
	var d struct {
		Items []struct {
			Check struct {
				OK, Resumes, ModeSet bool
				Version              string
				Ms                   int
			}
		}
	}
	r.ok("agents", r.agent.name, "--check").Into(&d)
	check := d.Items[0].Check
	assert.True(r, check.OK)
	assert.True(r, check.Resumes, "it can go on with a session")
	assert.True(r, check.ModeSet, "it has its asking mode")
	assert.Equal(r, r.agent.pinned(), check.Version)
	r.noteTime("session", time.Duration(check.Ms)*time.Millisecond)
	r.nothingLeft(0)
}

// works: it uses its shell, talks, and ends the thread.
func works(r *rig) {
	r.spawn("t", "RUN[[mark one]] RUN[[mark two]] TALK[[200]] RUN[[leslie done]]")
	o := r.call("run", "t")
	d := r.done(o)
	assert.Empty(r, o.Doc.Warnings)
	assert.Equal(r, []string{"one", "two"}, r.marks())
	assert.Equal(r, 1, d.Turns)
	assert.Contains(r, d.AgentVersion, r.agent.pinned())
	words := said(r.transcript("t"), "text")
	assert.Equal(r, 200, strings.Count(words, "word"))
	assert.Contains(r, words, "word0 word1 ")
	r.nothingLeft(0)
	switch {
	case d.Used.Input != nil && len(d.Used.Cost) > 0:
		r.note("tokens, cost")
	case d.Used.Input != nil:
		r.note("tokens")
	default:
		r.note("no usage")
	}
}

// isDenied: a call that the rules deny is not made, and it goes on.
func isDenied(r *rig) {
	r.spawn("t", "RUN[[mark no]] RUN[[mark yes]] RUN[[leslie done]]")
	d := r.done(r.call("run", "t"))
	assert.Equal(r, []string{"yes"}, r.marks())
	denied := 0
	for _, e := range r.transcript("t") {
		if e.Kind == "permission" && e.Verdict == "deny" {
			denied++
			assert.Contains(r, e.Reason, "Bash(mark no:*)")
		}
	}
	assert.Equal(r, 1, denied)
	r.nothingLeft(0)
	if d.Turns > 1 {
		r.note("a refusal ends its turn")
	}
}

// asks: a person decides while it waits.
func asks(r *rig) {
	r.spawn("t", "RUN[[mark ask it]] RUN[[leslie done]]")
	p := r.start("run", "t")
	var id, command string
	r.until(p, "a person was asked", func() bool { id, command = r.open(); return id != "" })
	assert.Equal(r, "mark ask it", command)
	assert.Empty(r, r.marks())
	r.ok("approve", id)
	r.done(r.wait(p))
	assert.Equal(r, []string{"ask", "it"}, r.marks())
	r.nothingLeft(0)
}

// asksLate: a person decides when it no longer waits, and the next run uses that.
func asksLate(r *rig) {
	r.spawn("t", "MUST[[mark ask it]] RUN[[leslie done]]")
	p := r.start("run", "t")
	var id string
	r.until(p, "a person was asked", func() bool { id, _ = r.open(); return id != "" })
	r.ok("run", "stop", "t")
	stopped := record(r.wait(p))
	r.nothingLeft(0)
	r.ok("approve", id)
	o := r.call("run", "t")
	r.done(o)
	r.marked("ask", "it")
	r.goesOn(stopped, o)
	var all struct{ Total int }
	r.ok("approvals", "--all").Into(&all)
	assert.Equal(r, 1, all.Total, "it was asked for once")
	r.nothingLeft(0)
}

// isStopped: run stop ends its turn while a tool runs, and the session goes on.
func isStopped(r *rig) {
	r.spawn("t", "RUN[[mark one]] RUN[[nap]] RUN[[mark two]] RUN[[leslie done]]")
	p := r.start("run", "t")
	r.naps(p)
	began := time.Now()
	r.ok("run", "stop", "t")
	o := r.wait(p)
	took := time.Since(began)
	stopped := record(o)
	assert.Equal(r, "stopped", stopped.Stop)
	for _, w := range o.Doc.Warnings {
		r.note(w.Code)
	}
	r.nothingLeft(0)
	if r.agent.forgets { // not what is older
		<-time.After(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + time.Second)))
	}
	o = r.call("run", "t")
	r.done(o)
	r.marked("one", "two")
	r.goesOn(stopped, o)
	r.noteTime("stopped in", took)
}

// isInterrupted: an urgent message comes before whatever it waits for.
func isInterrupted(r *rig) {
	r.spawn("t", "RUN[[mark one]] HANG[[urgent]]")
	p := r.start("run", "t")
	r.hangs(p, "urgent")
	began := time.Now()
	r.ok("inject", "t", "--type", "feedback", "--urgency", "immediate", "--content", "RUN[[mark urgent]] RUN[[leslie done]]")
	r.until(p, "the message was heard", func() bool { return len(r.marks()) > 1 })
	took := time.Since(began)
	d := r.done(r.wait(p))
	r.marked("one", "urgent")
	assert.Equal(r, 2, d.Turns)
	r.noteTime("heard in", took)
	r.nothingLeft(0)
}

// isKilled: leslie is killed while a tool runs, and while the model answers. Nothing is
// left either time, and nothing is done twice.
func isKilled(r *rig) {
	r.spawn("t", "RUN[[mark one]] RUN[[nap]] RUN[[mark two]] HANG[[kill]] RUN[[mark three]] RUN[[leslie done]]")
	p := r.start("run", "t")
	r.naps(p)
	var first struct{ Items []runRecord }
	r.ok("run", "list").Into(&first)
	require.Len(r, first.Items, 1)
	require.NoError(r, p.process.Kill())
	r.wait(p)
	tool := r.nothingLeft(10 * time.Second)
	p = r.start("run", "t")
	r.hangs(p, "kill")
	require.NoError(r, p.process.Kill())
	r.wait(p)
	answer := r.nothingLeft(10 * time.Second)
	o := r.call("run", "t")
	d := r.done(o)
	assert.Equal(r, first.Items[0].RunID, d.RunID, "the same run goes on")
	r.goesOn(first.Items[0], o)
	r.marked("one", "two", "three")
	begun := 0
	for _, e := range r.transcript("t") {
		if e.Kind == "prompt" && strings.HasPrefix(e.Text, "You are the agent of") {
			begun++
		}
	}
	assert.Equal(r, 1, begun, "it was told once to begin")
	r.note("gone in " + seconds(tool) + " and " + seconds(answer))
	r.nothingLeft(0)
}

// crashes: the agent is killed while a tool runs, and started again.
func crashes(r *rig) {
	r.spawn("t", "RUN[[mark one]] RUN[[nap]] RUN[[mark two]] RUN[[leslie done]]")
	p := r.start("run", "t")
	r.naps(p)
	for _, pid := range r.left() {
		if parent(pid) == p.process.Pid {
			agent, err := os.FindProcess(pid)
			require.NoError(r, err)
			require.NoError(r, agent.Kill())
		}
	}
	o := r.wait(p)
	d := r.done(o)
	r.marked("one", "two")
	assert.Equal(r, 2, d.Attempts)
	for _, w := range o.Doc.Warnings {
		r.note(w.Code)
	}
	r.nothingLeft(0)
}

// isSignalled: Ctrl-C ends its turn while a tool runs, and the run.
func isSignalled(r *rig) {
	r.spawn("t", "RUN[[mark one]] RUN[[nap]] RUN[[mark two]] RUN[[leslie done]]")
	p := r.start("run", "t")
	r.naps(p)
	began := time.Now()
	require.NoError(r, p.process.Signal(os.Interrupt))
	o := r.wait(p)
	r.noteTime("ended in", time.Since(began))
	assert.Equal(r, "T904", o.Code())
	r.nothingLeft(0)
	r.done(r.call("run", "t"))
	r.marked("one", "two")
}

// leavesSomething: a process that a tool leaves behind is ended with it.
func leavesSomething(r *rig) {
	r.spawn("t", "RUN[[leave]] RUN[[leslie done]]")
	o := r.call("run", "t")
	r.done(o)
	r.nothingLeft(0)
	if o.Doc.Warned("W703") {
		r.note("W703")
	}
}

// waitsForAnswer: it asks a person a question, and goes on with the answer.
func waitsForAnswer(r *rig) {
	r.spawn("t", "RUN[[leslie ask --question Which]]")
	o := r.call("run", "t")
	assert.Equal(r, "T707", o.Code(), "%s", o.Text())
	r.nothingLeft(0)
	var d struct{ Items []struct{ QuestionID string } }
	r.ok("questions").Into(&d)
	require.Len(r, d.Items, 1)
	r.ok("answer", d.Items[0].QuestionID, "RUN[[mark this]] RUN[[leslie done]]")
	r.done(r.call("run", "t"))
	assert.Equal(r, []string{"this"}, r.marks())
	r.nothingLeft(0)
}

// worksTwice: two threads run at the same time.
func worksTwice(r *rig) {
	r.spawn("a", "RUN[[mark a]] TALK[[50]] RUN[[leslie done]]")
	r.spawn("b", "RUN[[mark b]] TALK[[50]] RUN[[leslie done]]")
	p, q := r.start("run", "a"), r.start("run", "b")
	r.done(r.wait(p))
	r.done(r.wait(q))
	assert.ElementsMatch(r, []string{"a", "b"}, r.marks())
	r.nothingLeft(0)
}

// saysWhatItRuns: what the rules decide about is the whole of what would run.
func saysWhatItRuns(r *rig) {
	lines := []string{
		`mark first~mark no second`, `mark LONG; mark no third`, `mark 'a  b' "ü" \\ $HOME`, `mark c # d (e) [f] {g}`, `mark LONG`, `git status && mark no fourth`,
	}
	intent := "RUN[[" + strings.Join(lines, "]] RUN[[") + "]] RUN[[leslie done]]"
	r.spawn("t", intent)
	r.done(r.call("run", "t", "--ask", "deny"))
	var asked []string
	for _, e := range r.transcript("t") {
		if e.Kind == "permission" && e.Call.Tool == "Bash" {
			asked = append(asked, e.Call.Command)
			assert.Equal(r, strings.Contains(e.Call.Command, "mark no"), e.Verdict == "deny", "%s: %s", e.Call.Command, e.Verdict)
		}
	}
	for _, line := range lines {
		if line = expanded(line); !slices.Contains(asked, line) {
			assert.Fail(r, "it did not ask about exactly this", "%.100q in %.1000q", line, asked)
		}
	}
	b, _ := os.ReadFile(filepath.Join(r.home, "marks"))
	assert.Equal(r, []string{"a  b ü \\ " + r.home, "c", longWord}, strings.Split(strings.TrimSpace(string(b)), "\n"))
	r.nothingLeft(0)
}

// saysWhatItWrites: files that the rules do not allow are not written.
func saysWhatItWrites(r *rig) {
	outside := filepath.Join(filepath.Dir(r.home), "outside.txt")
	require.NoError(r, os.Symlink(filepath.Dir(outside), filepath.Join(r.project, "link")))
	inside := filepath.Join(r.project, "inside.txt")
	records := filepath.Join(r.project, ".leslie", "config.json")
	r.spawn("t", "WRITE[["+outside+"]] WRITE[["+filepath.Join(r.project, "link", "linked.txt")+"]] WRITE[["+records+"]] WRITE[["+inside+"]] RUN[[leslie done]]")
	r.done(r.call("run", "t", "--ask", "deny"))
	assert.FileExists(r, inside)
	assert.NoFileExists(r, outside)
	assert.NoFileExists(r, filepath.Join(filepath.Dir(outside), "linked.txt"))
	_, err := os.Stat(records)
	assert.Equal(r, r.agent.edits, err == nil, "it has written %s", records)
	if r.agent.edits {
		r.note("edits its folder unasked")
	}
	r.nothingLeft(0)
}

// writesCode: it works in the thread's own worktree.
func writesCode(r *rig) {
	r.spawn("t", "WRITE[["+filepath.Join(r.project+".worktrees", "t", "hello.txt")+"]] RUN[[git add -A]] RUN[[git commit -q -m Hello]] RUN[[leslie done]]", "--code")
	d := r.done(r.call("run", "t"))
	assert.Equal(r, 1, d.Turns)
	assert.FileExists(r, filepath.Join(r.project+".worktrees", "t", "hello.txt"))
	_, err := os.Stat(filepath.Join(r.project, "hello.txt"))
	assert.ErrorIs(r, err, os.ErrNotExist)
	assert.Contains(r, r.git("log", "--all", "--format=%s", "--", "hello.txt"), "Hello")
	r.nothingLeft(0)
}

// commitsUnasked: with the profile normal and no rule of its own it writes, looks and commits in its worktree, and
// nobody is asked.
func commitsUnasked(r *rig) {
	require.NoError(r, writeJSON(filepath.Join(r.home, ".leslie", "config.json"), map[string]any{"run": map[string]any{
		"agent": r.agent.name, "agents": map[string]any{r.agent.name: r.own}, "profile": "normal",
	}}))
	r.spawn("t", "RUN[[git status --short]] WRITE[["+filepath.Join(r.project+".worktrees", "t", "night.txt")+"]] RUN[[git add -A]] RUN[[git commit -q -m Night]] RUN[[leslie done]]", "--code")
	before := r.git("status", "--porcelain")
	r.done(r.call("run", "t", "--ask", "deny"))
	for _, e := range r.transcript("t") {
		assert.False(r, e.Kind == "permission" && e.Verdict == "deny", "%s %s was asked about: %s", e.Call.Tool, e.Call.Command, e.Reason)
	}
	assert.Equal(r, "Night\n", r.git("log", "--format=%s", "HEAD..leslie/t"))
	assert.Equal(r, "night.txt\n", r.git("diff", "--name-only", "HEAD...leslie/t"))
	assert.Equal(r, before, r.git("status", "--porcelain"), "the person's checkout")
	r.nothingLeft(0)
}

// resolves: it resolves the conflict of a merge.
func resolves(r *rig) {
	write := func(id, text string) {
		require.NoError(r, os.WriteFile(filepath.Join(r.project, ".leslie", "threads", id, "plan.md"), []byte("one\n"+text+"\nthree\n"), 0o600))
	}
	r.spawn("main", "Plan")
	write("main", "two")
	r.spawn("part", "Plan a part", "--parent", "main", "--inherit", "full")
	write("main", "two of main")
	write("part", "two of part")
	var d struct {
		Status    string
		Conflicts []struct{ How string }
	}
	o := r.ok("merge", "--sources", "part", "--target", "main", "--conflict-strategy", "agent-first", "--agent", r.agent.name)
	o.Into(&d)
	assert.Equal(r, "merged", d.Status)
	require.Len(r, d.Conflicts, 1)
	assert.Equal(r, "agent", d.Conflicts[0].How)
	plan, err := os.ReadFile(filepath.Join(r.project, ".leslie", "threads", "main", "plan.md"))
	require.NoError(r, err)
	assert.Equal(r, "one\ntwo of main\ntwo of part\nthree\n", string(plan))
	r.nothingLeft(0)
}

// callsServer: it calls a tool of leslie's server, which it starts itself, at the latest
// while a command runs.
func callsServer(r *rig) {
	r.configure(map[string]any{"mcp": true, "allow": append(rules()["allow"].([]string), "mcp__leslie", "Bash(pause:*)")})
	r.spawn("free", "Wait to be claimed")
	r.spawn("t", "RUN[[pause]] TOOL[[claim_next]] RUN[[leslie done]]")
	o := r.call("run", "t", "--ask", "deny")
	r.done(o)
	var free struct{ Claim struct{ Holder string } }
	r.ok("status", "free").Into(&free)
	assert.Equal(r, "run:t", free.Claim.Holder, "the server speaks for the run")
	for _, e := range r.transcript("t") {
		if e.Kind == "permission" && e.Verdict != "" && !strings.Contains(e.Call.Command, "leslie done") {
			r.note("asks for " + e.Call.Tool)
		}
	}
	r.nothingLeft(0)
}

// parent is the parent of a process.
func parent(pid int) int {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, line, _ := strings.Cut(string(b), "\nPPid:")
	line, _, _ = strings.Cut(line, "\n")
	n, _ := strconv.Atoi(strings.TrimSpace(line))
	return n
}

// marked requires what the agent has done, each thing once and in this order, unless it
// forgets.
func (r *rig) marked(want ...string) {
	r.Helper()
	got := r.marks()
	if !r.agent.forgets || slices.Equal(got, want) {
		assert.Equal(r, want, got, "each once")
		return
	}
	slices.Sort(got)
	assert.ElementsMatch(r, want, slices.Compact(got))
	r.note("did again what it forgot")
}

// goesOn requires that a session went on, or that an agent which forgets it gets a new one.
func (r *rig) goesOn(before runRecord, o harness.Outcome) {
	r.Helper()
	assert.NotEmpty(r, before.SessionID)
	if r.agent.forgets && o.Doc.Warned("W701") {
		r.note("W701")
		return
	}
	assert.Empty(r, o.Doc.Warnings)
	assert.Equal(r, before.SessionID, record(o).SessionID, "the same session")
}
