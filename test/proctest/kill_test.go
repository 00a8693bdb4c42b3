package proctest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// A killer determines when to kill a call that has just begun: it returns at that moment,
// or when over is closed.
type killer func(over <-chan struct{})

// within kills after a part, from 0 to 1, of this time.
func within(part float64, atMost time.Duration) killer {
	return func(over <-chan struct{}) {
		select {
		case <-time.After(time.Duration(part * float64(atMost))):
		case <-over:
		}
	}
}

// atCommit kills after a part of this time from the commit on, which replaces the state.
// What follows the commit is short, so kills at random times rarely hit it.
func (p *project) atCommit(part float64, atMost time.Duration) killer {
	was, err := os.Stat(p.path(state))
	require.NoError(p.t, err)
	return func(over <-chan struct{}) {
		for {
			select {
			case <-over:
				return
			default:
			}
			if now, err := os.Stat(p.path(state)); err == nil && !os.SameFile(was, now) {
				within(part, atMost)(over)
				return
			}
			runtime.Gosched()
		}
	}
}

// endOrKill kills a call at the moment that the killer determines, unless it ends before.
// ok reports that its whole answer was read.
func endOrKill(s *started, when killer) (a answer, ok, killed bool, err error) {
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		when(over)
		_ = s.Process.Kill() // no effect if it has ended
	}()
	a, err = s.end()
	close(over)
	<-gone
	if status, is := s.ProcessState.Sys().(syscall.WaitStatus); is && status.Signaled() {
		// A process may be killed between its answer and its end.
		a := answer{line: s.line}
		doc, readable := harness.Read(s.stdout.Bytes())
		if readable == nil {
			a.Document = *doc
		}
		return a, a.Success, true, nil
	}
	return a, err == nil && a.Success, false, err
}

// storm is a project for killed spawns: a thread to inherit from and one to reference,
// with their contents.
type storm struct {
	*project
	inherited, referred map[string]string
	usual               time.Duration // of an undisturbed spawn
}

func newStorm(t *testing.T) *storm {
	t.Helper()
	s := &storm{
		project: newProjectOnDisk(t),
		inherited: map[string]string{
			"plan.md": "a plan\n", "design/api.md": strings.Repeat("an API\n", 1000), "design/deep/er/notes.md": "notes\n",
			"data.bin": strings.Repeat("\x00\xff", 100_000), "empty": "",
		},
		referred: map[string]string{"progress.md": "half\n", "learnings/one.md": strings.Repeat("so much\n", 5000)},
	}
	s.ok("spawn", "--id", "base", "--intent", "Be inherited")
	s.ok("spawn", "--id", "source", "--intent", "Be referred to")
	s.write("base", s.inherited)
	s.write("source", s.referred)
	s.usual = time.Hour
	for _, id := range measured() {
		begin := time.Now()
		s.ok(s.victim(id, "")...)
		s.usual = min(s.usual, time.Since(begin))
	}
	return s
}

// measured returns the threads that a storm begins with.
func measured() []string { return []string{"measured-1", "measured-2", "measured-3"} }

// victim returns a spawn command that inherits and references.
func (s *storm) victim(id, request string) []string {
	line := []string{"spawn", "--id", id, "--intent", "Be killed", "--parent", "base", "--inherit", "full", "--ref", "source"}
	if request != "" {
		line = append(line, "--request-id", request)
	}
	return line
}

// tries counts the rounds of a test that kills processes at random moments. A process may
// end before its kill, so there are further rounds, with earlier kills, until more than a
// quarter of the planned rounds ended with one.
type tries struct{ planned, done, killed int }

// more reports whether there is another round.
func (n *tries) more() bool {
	return n.done < n.planned || n.killed <= n.planned/4 && n.done < 10*n.planned
}

// part scales the moment of the next kill.
func (n *tries) part() float64 { return math.Pow(0.75, float64(max(0, n.done-n.planned))) }

// count counts a round.
func (n *tries) count(killed bool) {
	n.done++
	if killed {
		n.killed++
	}
}

// killer returns one that kills at any time, or shortly after the commit.
func (s *storm) killer(r *rand.Rand) killer {
	if r.IntN(2) == 0 {
		return within(r.Float64(), s.usual*3/2)
	}
	return s.atCommit(r.Float64(), s.usual/4)
}

// requireComplete asserts that a thread has all inherited files and all files of its
// frozen reference.
func (s *storm) requireComplete(id string) {
	s.t.Helper()
	var data struct {
		Status     string `json:"status"`
		References []struct {
			RefID          string `json:"refId"`
			TargetResolved bool   `json:"targetResolved"`
		} `json:"references"`
	}
	a := s.ok("status", id)
	require.Empty(s.t, a.Warnings, "%s", a.line)
	a.into(s.t, &data)
	require.Len(s.t, data.References, 1)
	require.True(s.t, data.References[0].TargetResolved)
	want := maps.Clone(s.inherited)
	for name, content := range s.referred {
		want["context/inherited/"+data.References[0].RefID+"/"+name] = content
	}
	got := s.files("threads/" + id)
	for name := range got {
		if strings.HasPrefix(name, ".meta/") {
			delete(got, name)
		}
	}
	require.Empty(s.t, harness.Differing(want, got), "the files of %s", id)
}

func TestNothingAcknowledgedIsLostWhenProcessesAreKilled(t *testing.T) {
	t.Parallel()
	kills := orInShort(60, 12)
	const processes = 4
	s, r := newStorm(t), random(t)
	var mu sync.Mutex
	acknowledged, killed, begun := measured(), 0, 0
	took := time.Duration(processes) * s.usual // of a call that nobody killed, lately: how busy the machine is changes
	next := func() (id string, moment killer, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if killed >= kills || begun >= kills*8 {
			return "", nil, false
		}
		begun++
		return fmt.Sprintf("v-%03d", begun), within(r.Float64(), 2*took), true
	}
	var all sync.WaitGroup
	for range processes {
		all.Go(func() {
			for id, moment, more := next(); more; id, moment, more = next() {
				begin, call := time.Now(), s.command(s.victim(id, "")...)
				if !assert.NoError(t, call.Start()) {
					return
				}
				a, ok, was, err := endOrKill(call, moment)
				mu.Lock()
				if assert.NoError(t, err) && !was {
					assert.Zero(t, a.status, "%s: %v", a.line, a.Error)
				}
				if ok {
					acknowledged = append(acknowledged, id)
				}
				if was {
					killed++
				} else {
					took = time.Since(begin)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.GreaterOrEqual(t, killed, kills/2, "too few of %d processes were killed in time", begun)
	t.Logf("%d begun, %d killed, %d acknowledged", begun, killed, len(acknowledged))

	threads := s.threads() // without a warning
	s.requireHealthy()
	for _, id := range acknowledged {
		assert.Contains(t, threads, id, "it was acknowledged")
	}
	for id := range threads { // the others may or may not have been committed
		if id != "base" && id != "source" {
			s.requireComplete(id)
		}
	}
}

// A caller that does not know whether a call was carried out repeats it.
func TestAKilledCallIsMadeAgainWithItsRequestID(t *testing.T) {
	t.Parallel()
	rounds := orInShort(20, 5)
	s, r := newStorm(t), random(t)
	for n := range rounds {
		id := fmt.Sprintf("once-%02d", n)
		line := s.victim(id, "request "+id)
		first := s.again(t, line, r)
		if n%2 == 0 { // the answer is available after the next operation, too
			s.ok("update", "base", "--title", fmt.Sprint("Round ", n))
		}
		a := s.ok(line...)
		if first != nil {
			require.JSONEq(t, string(first), string(a.Data), "the answer that was read and the one that is given again")
		}
		s.requireComplete(id)
	}
	require.Len(t, s.threads(), 2+len(measured())+rounds)
	s.requireHealthy()
}

// again makes a call up to three times and kills it each time. It returns the data of the
// first answer that it could read, or nil.
func (s *storm) again(t *testing.T, line []string, r *rand.Rand) []byte {
	t.Helper()
	for range 3 {
		call := s.start(line...)
		a, ok, _, err := endOrKill(call, s.killer(r))
		require.NoError(t, err)
		if ok {
			return a.Data
		}
	}
	return nil
}

func TestAChangeOfFilesIsWholeAfterAKill(t *testing.T) {
	t.Parallel()
	rounds := orInShort(20, 5)
	s, r := newStorm(t), random(t)
	s.ok("spawn", "--id", "reader", "--intent", "Refer")
	var made struct {
		RefID string `json:"refId"`
	}
	s.ok("reference", "--from", "reader", "--target", "source").into(t, &made)
	place := "threads/reader/context/inherited/" + made.RefID

	versions := []map[string]string{s.referred}
	for n := range rounds {
		versions = append(versions, map[string]string{
			"progress.md": fmt.Sprintf("version %d\n", n), "learnings/one.md": strings.Repeat(fmt.Sprintf("%d\n", n), 5000),
		})
		now := versions[n+1]
		s.write("source", now)
		call := s.start("reference", "refresh", made.RefID)
		_, ok, _, err := endOrKill(call, s.killer(r))
		require.NoError(t, err)
		s.ok("update", "reader", "--title", fmt.Sprint("Round ", n)) // finishes pending work
		got := s.files(place)
		if ok {
			require.Empty(t, harness.Differing(now, got), "an acknowledged refresh")
		}
		whole := slices.ContainsFunc(versions, func(v map[string]string) bool { return maps.Equal(v, got) })
		require.True(t, whole, "the files are of no one version: %.200q", got)
		shown, err := s.try("reference", "show", made.RefID)
		require.NoError(t, err)
		require.Zero(t, shown.status, "the copy is what the record says: %v", shown.Error)
	}
	s.requireHealthy()
}

// The next call finishes what a killed one committed, even a merge, which reads files
// before it writes.
func TestAMergeRightAfterAKillLosesNothing(t *testing.T) {
	t.Parallel()
	rounds := orInShort(20, 5)
	s := newStorm(t)
	s.ok("spawn", "--id", "target", "--intent", "Get versions")
	caught := 0
	kill := func(line ...string) {
		_, _, killed, err := endOrKill(s.start(line...), s.atCommit(0, 0))
		require.NoError(t, err)
		if killed {
			caught++
		}
	}
	back := func(source, target string) {
		a, err := s.try("merge", "--sources", source, "--target", target)
		require.NoError(t, err)
		if a.Error != nil { // it was killed before its commit
			require.Equal(t, "T101", a.Error.Code, a.line)
		}
	}
	for n := range rounds {
		copied := fmt.Sprintf("copy-%02d", n)
		kill("spawn", "--id", copied, "--intent", "Copy", "--parent", "base", "--inherit", "full")
		back(copied, "base")
		require.Empty(t, harness.Differing(s.inherited, s.files("threads/base")), "what was copied and merged back")

		version := map[string]string{"progress.md": fmt.Sprintf("version %d\n", n), "learnings/one.md": strings.Repeat(fmt.Sprintf("%d\n", n), 5000)}
		s.write("source", version)
		kill("merge", "--sources", "source", "--target", "target")
		back("target", "source")
		require.Empty(t, harness.Differing(version, s.files("threads/source")), "what was merged and merged back")
	}
	require.Positive(t, caught, "no call was killed")
	s.requireHealthy()
}
