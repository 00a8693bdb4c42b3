package proctest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file runs agents without a model in real processes, kills them, and lets them say
// more than they should.

// withAgent configures the agent: words change it, and does is added to each of its prompts.
// The folder has what it has done.
func (p *project) withAgent(words, does string) (state string) {
	p.t.Helper()
	state = p.t.TempDir()
	self, err := os.Executable()
	require.NoError(p.t, err)
	config, err := json.Marshal(map[string]any{"run": map[string]any{
		"agent": "fake", "allow": []string{"Bash(true:*)"},
		"agents": map[string]any{"fake": map[string]any{
			"command": []string{self},
			"env":     map[string]string{"PROCTEST_AGENT": "1", "FAKE": words, "FAKE_STATE": state, "FAKE_PROMPT": does},
		}},
	}})
	require.NoError(p.t, err)
	require.NoError(p.t, os.MkdirAll(filepath.Join(p.home, ".leslie"), 0o755))
	require.NoError(p.t, os.WriteFile(filepath.Join(p.home, ".leslie", "config.json"), config, 0o600))
	return state
}

// did reports whether the agent has begun something, "" for nothing: it does not do it again.
func did(state, what string) bool {
	sessions, _ := filepath.Glob(filepath.Join(state, "*"))
	return what == "" || slices.ContainsFunc(sessions, func(name string) bool {
		done, _ := os.ReadFile(name)
		return bytes.Contains(done, []byte(what))
	})
}

// processes returns the processes of a thread's agent.
func (p *project) processes(id string) (out []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range all {
		env, _ := os.ReadFile(name)
		if bytes.Contains(env, []byte("LESLIE_DIR="+p.dir+"\x00")) && bytes.Contains(env, []byte("LESLIE_THREAD="+id+"\x00")) && bytes.Contains(env, []byte("LESLIE_RUN=")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			out = append(out, pid)
		}
	}
	return out
}

// entry is one of a transcript.
type entry struct {
	N, Turn                         int
	Run, Kind, Text, Title, Verdict string
}

// transcript returns a thread's transcript, and asserts that it is in order: no number comes
// twice, and no turn goes on after its end.
func (p *project) transcript(id string) []entry {
	p.t.Helper()
	var log struct {
		Items   []entry
		Damaged int
	}
	p.ok("run", "log", id, "--limit", "0").into(p.t, &log)
	assert.Zero(p.t, log.Damaged, id)
	last, over := 0, map[int]bool{}
	for _, e := range log.Items {
		assert.Greater(p.t, e.N, last, "%s: entries in order", id)
		last = e.N
		switch e.Kind {
		case "prompt":
			assert.False(p.t, over[e.Turn], "%s: turn %d was sent again after its end", id, e.Turn)
		case "end":
			assert.False(p.t, over[e.Turn], "%s: turn %d ended twice", id, e.Turn)
			over[e.Turn] = true
		}
	}
	return log.Items
}

// Eight runs at once are killed again and again: leslie, or its agent first.
func TestRunsThatAreKilledGoOnAndDoNothingTwice(t *testing.T) {
	t.Parallel()
	const runs = 8
	kills := orInShort(20, 2)
	p, r := newProject(t), random(t)
	var steps strings.Builder
	for i := range 3 * kills {
		fmt.Fprintf(&steps, "RUN[[echo %d >>did-$LESLIE_THREAD]] TALK[[30 %d]] LEAVE[[%d]] STOP[[%d]] ", i, i, i, i)
	}
	p.withAgent("", steps.String())
	var all sync.WaitGroup
	for i := range runs {
		id, moments := fmt.Sprint("thread-", i), rand.New(rand.NewPCG(r.Uint64(), 0))
		p.ok("spawn", "--intent", "Work", "--id", id)
		all.Go(func() {
			killed := 0
			for tries := 0; killed < kills && tries < 20*kills; tries++ {
				call := p.command("run", id, "--agent", "fake")
				if !assert.NoError(t, call.Start()) {
					return
				}
				over := make(chan struct{})
				go func() { _ = call.Wait(); close(over) }()
				within(moments.Float64(), 2*time.Second>>(tries%6))(over) // a run with nothing left to do is over soon
				if agents := p.processes(id); len(agents) > 0 && moments.IntN(4) == 0 {
					_ = syscall.Kill(agents[moments.IntN(len(agents))], syscall.SIGKILL)
					within(moments.Float64(), 300*time.Millisecond)(over)
				}
				_ = call.Process.Kill()
				<-over
				if !call.ProcessState.Exited() {
					killed++
				}
			}
			assert.Equal(t, kills, killed, "kills of %s", id)
			// It reads its messages itself: it is done before its run has marked them as seen.
			_, err := p.succeed("inject", id, "--content", "RUN[[leslie context && leslie done]]")
			assert.NoError(t, err)
			_, err = p.succeed("run", id)
			assert.NoError(t, err)
		})
	}
	all.Wait()
	for id, status := range p.threads() {
		assert.Equal(t, "completed", status, id)
		assert.Empty(t, p.processes(id), "processes of %s", id)
		did, _ := os.ReadFile(filepath.Join(p.dir, "did-"+id))
		done := strings.Fields(string(did))
		assert.Len(t, slices.Compact(slices.Clone(done)), len(done), "%s did %v", id, done)
		p.transcript(id)
	}
	p.requireHealthy()
}

// A run is killed in each of its phases, and goes on when it is run again, or when whatever
// is ready is.
func TestARunThatIsKilledInAPhaseGoesOn(t *testing.T) {
	t.Parallel()
	next := []string{"run", "--next", "--until-idle"}
	const asks = "RUN[[leslie ask --question Which]] STOP[[1]] RUN[[leslie done]]"
	for _, c := range []struct {
		phase       string
		words, does string
		did         string // what its agent has begun in that phase
		spawn       []string
		run         []string
		status      string // of the thread in that phase
		after       func(*project)
		again       []string
	}{
		{phase: "wanted", does: "RUN[[leslie done]]", spawn: []string{"--run", "--depends-on", "first"}, run: []string{"run", "--next"}, status: "active",
			after: func(p *project) { p.ok("done", "first") }, again: next},
		{phase: "starting", words: "slow", does: "RUN[[leslie done]]", run: []string{"run", "work"}, status: "active",
			after: func(p *project) { p.withAgent("", "RUN[[leslie done]]") }, again: []string{"run", "work"}},
		{phase: "running", does: "HANG[[]] RUN[[leslie done]]", did: "HANG", run: []string{"run", "work"}, status: "active", again: next},
		{phase: "asking", does: "ASK[[touch asked]] RUN[[leslie done]]", run: []string{"run", "work"}, status: "waiting_human",
			after: func(p *project) { p.ok("approve", p.open("approvals", "approvalId")) }, again: []string{"run", "work", "--fresh"}},
		{phase: "parked", does: asks, run: []string{"run", "--next"}, status: "active",
			after: func(p *project) { p.ok("answer", p.open("questions", "questionId"), "this") }, again: next},
		{phase: "ending", does: "RUN[[leslie done]] DEAF[[]] LEAVE[[]]", run: []string{"run", "work"}, status: "completed", again: next},
	} {
		t.Run(c.phase, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			state := p.withAgent(c.words, c.does)
			p.ok("spawn", "--intent", "First", "--id", "first", "--executor", "human")
			p.ok(slices.Concat([]string{"spawn", "--intent", "Work", "--id", "work"}, c.spawn)...)
			call := p.start(c.run...)
			recorded := map[string]string{"asking": "running", "ending": "running"}[c.phase]
			require.Eventually(t, func() bool {
				return p.phase("work") == cmp.Or(recorded, c.phase) && p.threads()["work"] == c.status && did(state, c.did)
			}, 30*time.Second, 20*time.Millisecond)
			require.NoError(t, call.Process.Kill())
			_ = call.Wait()
			require.False(t, call.ProcessState.Exited(), "it was killed: %s", &call.stdout)
			if c.after != nil {
				c.after(p)
			}
			p.ok(c.again...)
			assert.Equal(t, "completed", p.threads()["work"])
			assert.Equal(t, "ended", p.phase("work"))
			assert.Empty(t, p.processes("work"))
			p.transcript("work")
			if c.phase == "asking" {
				assert.FileExists(t, filepath.Join(p.dir, "asked"), "what was allowed is done")
			}
			p.requireHealthy()
		})
	}
}

// An agent that does not hear that its leslie is gone, and a process that it left, are ended
// by whatever deals with the run next, also if the thread has ended.
func TestWhatAKilledRunLeftIsEndedWithIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, does, status, stop string
		again                    []string
	}{
		{"run", "LEAVE[[]] RUN[[leslie done; touch deaf]] DEAF[[]] RUN[[sleep 1000]]", "completed", "done", []string{"run", "work"}},
		{"stopped", "LEAVE[[]] RUN[[touch deaf]] DEAF[[]] RUN[[sleep 1000]]", "active", "stopped", []string{"run", "stop", "work"}},
		{"stopped when done", "LEAVE[[]] RUN[[leslie done; touch deaf]] DEAF[[]] RUN[[sleep 1000]]", "completed", "done", []string{"run", "stop", "work"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.withAgent("", c.does)
			p.ok("spawn", "--intent", "Work", "--id", "work")
			call := p.start("run", "work")
			require.Eventually(t, func() bool {
				_, err := os.Stat(filepath.Join(p.dir, "deaf"))
				return err == nil
			}, 30*time.Second, 20*time.Millisecond)
			require.NoError(t, call.Process.Kill())
			_ = call.Wait()
			require.False(t, call.ProcessState.Exited(), "it was killed: %s", &call.stdout)
			require.NotEmpty(t, p.processes("work"), "something is left")
			var ended struct{ Phase, Stop string }
			p.ok(c.again...).into(t, &ended)
			assert.Equal(t, "ended "+c.stop, ended.Phase+" "+ended.Stop)
			assert.Equal(t, c.status, p.threads()["work"])
			assert.Empty(t, p.processes("work"))
			if c.status == "completed" {
				p.fails("T107", 11, "run", "work")
			}
			p.transcript("work")
			p.requireHealthy()
		})
	}
}

// An agent that does not end its turn has ten seconds for it after the first Ctrl-C, and more
// for its end.
func TestCtrlCAgainEndsARunAtOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.withAgent("", "RUN[[trap '' INT TERM; touch began; sleep 1000]]")
	p.ok("spawn", "--intent", "Work", "--id", "work")
	call := p.start("run", "work")
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(p.dir, "began"))
		return err == nil
	}, 30*time.Second, 20*time.Millisecond)
	ended := make(chan answer, 1)
	go func() {
		a, err := call.end()
		assert.NoError(t, err)
		ended <- a
	}()
	first := time.Now()
	require.NoError(t, call.Process.Signal(os.Interrupt))
	var a answer
	require.Eventually(t, func() bool {
		select {
		case a = <-ended:
			return true
		default:
			_ = call.Process.Signal(os.Interrupt) // the second may come before the first was seen
			return false
		}
	}, 30*time.Second, 100*time.Millisecond)
	assert.Less(t, time.Since(first), 8*time.Second)
	require.NotNil(t, a.Error)
	assert.Equal(t, "T904", a.Error.Code)
	assert.Equal(t, "parked", p.phase("work"))
	assert.Empty(t, p.processes("work"))
	p.requireHealthy()
}

// phase returns the phase of a thread's run.
func (p *project) phase(id string) string {
	p.t.Helper()
	var it struct{ Run struct{ Phase string } }
	p.ok("status", id).into(p.t, &it)
	return it.Run.Phase
}

// open returns the id of the one item of a list.
func (p *project) open(list, id string) string {
	p.t.Helper()
	var it struct{ Items []map[string]any }
	p.ok(list).into(p.t, &it)
	require.Len(p.t, it.Items, 1)
	return fmt.Sprint(it.Items[0][id])
}

func TestATranscriptHasAllThatManyTurnsSaidAndAsked(t *testing.T) {
	t.Parallel()
	const turns, asks, words = 4, 25, 100 // 10,000 updates, 100 requests
	p := newProject(t)
	var steps, said strings.Builder
	var asked []string
	for turn := range turns {
		for i := range asks {
			fmt.Fprintf(&steps, "TALK[[%d %d.%d-]] ASK[[true %d.%d]] ", words, turn, i, turn, i)
			asked = append(asked, fmt.Sprintf("true %d.%d", turn, i))
			for w := range words {
				fmt.Fprintf(&said, "%d.%d-word-%d ", turn, i, w)
			}
			fmt.Fprintf(&said, "ran true %d.%d: ", turn, i)
		}
		fmt.Fprintf(&steps, "STOP[[%d]] ", turn)
	}
	p.withAgent("", steps.String()+"RUN[[leslie done]]")
	p.ok("spawn", "--intent", "Work", "--id", "work")
	for range turns {
		a, err := p.try("run", "work", "--agent", "fake", "--turns", "1")
		require.NoError(t, err)
		require.Equal(t, "T706", a.Error.Code, a.Error.Message)
	}
	p.ok("run", "work")
	var text strings.Builder
	var permitted []string
	for _, e := range p.transcript("work") {
		switch e.Kind {
		case "text":
			text.WriteString(e.Text)
		case "permission":
			permitted = append(permitted, e.Title)
			assert.Equal(t, "allow", e.Verdict)
		}
	}
	assert.Equal(t, asked, permitted)
	got := strings.ReplaceAll(text.String(), "reading. ", "")
	assert.True(t, strings.HasPrefix(got, said.String()), "what the agent said is there in its order")
}

// Whatever an agent says, of itself, of what it does, or in place of a message, leslie shows
// and logs it so that it controls no terminal and looks like no answer.
func TestNothingThatAnAgentSaysIsShownAsItIs(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.withAgent("hostile modes", "JUNK[[3]] ODD[[]] HUGE[[]] USAGE[[1 2 0.5]] RUN[[printf '\\033[31mred\\033]0;x\\a']] ASK[[true x]] STOP[[1]] LIMIT[[no more]]")
	p.ok("spawn", "--intent", "Work", "--id", "work")
	for _, args := range [][]string{
		{"run", "work", "--agent", "fake", "--turns", "1", "--ask", "deny", "--follow"}, {"run", "work"}, {"run", "list"}, {"run", "log", "work"}, {"transcript", "work"},
		{"status", "work"}, {"status"}, {"list"}, {"stats"}, {"context", "work"}, {"history"}, {"approvals", "--all"}, {"logs"}, {"search", "--all", "red"}, {"checkpoint", "list", "work", "--kept"},
		{"objective", "status", "goal"}, {"show", "work"}, {"agents", "fake", "--check"}, {"doctor"},
	} {
		for _, format := range []string{"text", "json", "yaml"} {
			call := p.command(append(args, "--format", format)...)
			_ = call.Run() // some fail, with what the agent said in the reason
			for stream, out := range map[string]string{"stdout": call.stdout.String(), "stderr": call.stderr.String()} {
				assertHarmless(t, fmt.Sprint(stream, " of leslie ", strings.Join(args, " "), " as ", format), out)
			}
		}
	}
	for _, name := range []string{"logs/leslie.log", "runs/work/stderr.log", "runs/work/transcript.jsonl"} {
		assertHarmless(t, name, string(p.read(name)))
	}
}

// assertHarmless asserts that a text has lines of visible characters, none of which an agent
// made look like an error of leslie's.
func assertHarmless(t *testing.T, what, text string) {
	t.Helper()
	for i, c := range text {
		if c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) {
			t.Errorf("%s has %q: %q", what, c, text[max(0, i-60):min(len(text), i+60)])
			return
		}
	}
	if strings.Contains(what, "leslie transcript") || strings.HasSuffix(what, "stderr.log") {
		return // it has them in a block of code, or nothing else
	}
	for line := range strings.Lines(text) {
		assert.False(t, strings.HasPrefix(line, "error code=T999") || strings.HasPrefix(line, `{"success":true}`), "%s has the line %q", what, line)
	}
}

// A burst of small updates is all there, in few pieces, and costs little memory.
func TestABurstOfUpdatesNeedsLittleMemory(t *testing.T) {
	t.Parallel()
	const updates = 20_000
	p := newProject(t)
	_, own, _ := p.burst(updates)
	assert.Less(t, own, 15<<10, "kB of its own, besides its program")
	var said strings.Builder
	pieces := 0
	for _, e := range p.transcript("work") {
		if e.Kind == "text" {
			said.WriteString(e.Text)
			pieces++
		}
	}
	var want strings.Builder
	for i := range updates {
		fmt.Fprintf(&want, "word-%d ", i)
	}
	assert.Contains(t, said.String(), want.String())
	assert.Less(t, pieces, updates/50)
}

// burst runs an agent that says so many words, an update each, and returns what leslie has
// used for it: processor time, memory of its own when all of it was said, and the most memory
// with that of its program, both in kB. What a process is said to have used at most when it
// has ended (Maxrss) is no less than that of the process which started it.
func (p *project) burst(words int) (processor time.Duration, own, peak int) {
	p.t.Helper()
	p.withAgent("", fmt.Sprintf("TALK[[%d]] RUN[[cat /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/status >used; leslie done]]", words))
	p.ok("spawn", "--intent", "Work", "--id", "work")
	call := p.start("run", "work", "--agent", "fake")
	a, err := call.end()
	require.NoError(p.t, err)
	require.Zero(p.t, a.status, "%s", &call.stdout)
	used, err := os.ReadFile(filepath.Join(p.dir, "used"))
	require.NoError(p.t, err)
	kb := func(name string) int {
		_, rest, _ := strings.Cut(string(used), name+":")
		n, err := strconv.Atoi(strings.Fields(rest + " -")[0])
		require.NoError(p.t, err, name)
		return n
	}
	return call.ProcessState.UserTime() + call.ProcessState.SystemTime(), kb("RssAnon"), kb("VmHWM")
}

// A burst of small updates: 15 ms of processor for 1,000 and 15 MB are the aims. What a run
// costs without them is taken off the time.
func BenchmarkBurstOfUpdates(b *testing.B) {
	const updates = 20_000
	var extra time.Duration
	var own, most int
	for b.Loop() {
		without, _, _ := newProject(b).burst(1)
		with, of, peak := newProject(b).burst(updates)
		extra, own, most = extra+with-without, max(own, of), max(most, peak)
	}
	b.ReportMetric(float64(extra.Microseconds())/1000/float64(b.N)/(updates/1000), "cpu-ms/1000-updates")
	b.ReportMetric(float64(own)/1024, "MB-own")
	b.ReportMetric(float64(most)/1024, "MB-with-program")
}
