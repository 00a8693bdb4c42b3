package proctest

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// rolled is a project whose rollback replaces, restores and removes many files: before
// holds the current files, after those of the checkpoint.
type rolled struct {
	*project
	before, after map[string]string
	usual         time.Duration // the shortest duration of an undisturbed call so far
}

func rollback() []string { return []string{"rollback", "main", "--to", "first"} }

func newRolled(t *testing.T) *rolled {
	t.Helper()
	r := &rolled{project: newProject(t), before: map[string]string{}, after: map[string]string{}}
	r.ok("spawn", "--id", "main", "--intent", "Be rolled back")
	for i := range 40 {
		r.after[fmt.Sprintf("dir-%d/file-%02d.md", i%4, i)] = strings.Repeat(fmt.Sprintf("file %d, as it was\n", i), 1+i*7)
	}
	r.after["swap"] = "a file\n"
	r.write("main", r.after)
	r.ok("checkpoint", "main", "--name", "first")
	maps.Copy(r.before, r.after)
	for i := range 45 {
		name := fmt.Sprintf("dir-%d/file-%02d.md", i%4, i)
		switch {
		case i < 20:
			r.before[name] = fmt.Sprintf("file %d, as it is\n", i)
		case i < 30:
			delete(r.before, name)
			require.NoError(t, os.Remove(r.path("threads/main/"+name)))
		case i >= 40:
			r.before["new/"+name] = "new\n"
		}
	}
	delete(r.before, "swap")
	r.before["swap/inside.md"] = "a folder has its name\n"
	require.NoError(t, os.Remove(r.path("threads/main/swap")))
	r.write("main", r.before)
	require.Empty(t, harness.Differing(r.before, r.artifacts("main")))
	r.usual = time.Hour
	for range 2 {
		q := r.copied(t)
		begin := time.Now()
		q.ok(rollback()...)
		r.usual = min(r.usual, time.Since(begin))
		require.Empty(t, harness.Differing(r.after, q.artifacts("main")), "an undisturbed rollback")
		q.ok("undo")
		require.Empty(t, harness.Differing(r.before, q.artifacts("main")), "undone")
	}
	return r
}

// checkpoints returns how many checkpoints the thread has.
func (p *project) checkpoints(id string) int {
	p.t.Helper()
	var data struct {
		Checkpoints []struct{} `json:"checkpoints"`
	}
	p.ok("status", id).into(p.t, &data)
	return len(data.Checkpoints)
}

// requireWhole kills a call and asserts that the thread's files are all from one side,
// after the next writing command at the latest, and that the call can be repeated.
func (r *rolled) requireWhole(t *testing.T, call []string, from, to map[string]string, when func(*project) killer) (committed, killed bool) {
	t.Helper()
	p := r.copied(t)
	if call[0] == "undo" {
		p.ok(rollback()...)
	}
	marked := p.checkpoints("main")
	was, err := os.Stat(p.path(state))
	require.NoError(t, err)
	kill := when(p)
	begin := time.Now()
	_, ok, killed, err := endOrKill(p.start(call...), kill)
	require.NoError(t, err)
	if !killed {
		r.usual = min(r.usual, time.Since(begin))
	}
	now, err := os.Stat(p.path(state))
	require.NoError(t, err)
	committed = !os.SameFile(was, now)
	want := from
	switch {
	case committed:
		want = to
		require.NotEqual(t, marked, p.checkpoints("main"), "the record tells of it")
	default:
		require.False(t, ok, "an answer without a commit")
		require.Empty(t, harness.Differing(from, p.artifacts("main")), "without a commit all is as it was")
		require.Equal(t, marked, p.checkpoints("main"))
	}
	if ok {
		require.Empty(t, harness.Differing(to, p.artifacts("main")), "a call that was acknowledged")
	}
	p.ok("update", "main", "--title", "The next writing command", "--actor", "somebody else")
	require.Empty(t, harness.Differing(want, p.artifacts("main")), "committed: %v", committed)
	if !committed {
		p.ok(call...)
		require.Empty(t, harness.Differing(to, p.artifacts("main")), "made again")
	}
	p.requireHealthy()
	return committed, killed
}

func TestARollbackIsWholeWheneverItIsKilled(t *testing.T) {
	t.Parallel()
	r, random := newRolled(t), random(t)
	calls := map[string]struct {
		call     []string
		from, to map[string]string
	}{
		"a rollback": {rollback(), r.before, r.after},
		"its undo":   {[]string{"undo"}, r.after, r.before},
	}
	for name, c := range calls {
		n := tries{planned: orInShort(16, 4)}
		commits, behind := 0, 0
		for n.more() {
			when := func(*project) killer { return within(random.Float64()*n.part(), r.usual) }
			if n.done%2 == 1 { // while files are being moved
				when = func(p *project) killer {
					return p.atCommit(float64(n.done%n.planned)/float64(n.planned)*n.part(), r.usual/8)
				}
			}
			committed, killed := r.requireWhole(t, c.call, c.from, c.to, when)
			switch {
			case committed && killed:
				behind++
				fallthrough
			case committed:
				commits++
			}
			n.count(killed)
		}
		t.Logf("%s: %d of %d killed, %d committed, %d killed after the commit", name, n.killed, n.done, commits, behind)
		require.Greater(t, n.killed, n.planned/4, "%s: too few were killed in time", name)
	}
}

// Undoing a spawn removes a folder, and redoing it restores it: after a kill the thread
// and its folder both exist, or neither does.
func TestAnUndoneSpawnIsWholeWheneverItIsKilled(t *testing.T) {
	t.Parallel()
	rounds := orInShort(20, 5)
	s, r := newStorm(t), random(t)
	s.ok(s.victim("it", "")...)
	commits := 0
	for n := range rounds {
		call := s.start([]string{"undo", "redo"}[commits%2])
		_, ok, _, err := endOrKill(call, s.killer(r))
		require.NoError(t, err)
		s.ok("update", "base", "--title", fmt.Sprint("Round ", n), "--actor", "somebody else")
		_, there := s.threads()["it"]
		_, err = os.Stat(s.path("threads/it"))
		require.Equal(t, there, err == nil, "the record and the folder")
		if there {
			s.requireComplete("it")
		}
		if ok || there == (commits%2 == 1) {
			require.Equal(t, commits%2 == 1, there, "an undo and a redo in turn")
			commits++
		}
	}
	t.Logf("%d of %d undos and redos stood", commits, rounds)
	require.Positive(t, commits)
	s.requireHealthy()
}

// A save during a rollback is not lost, and the rollback reports when it gives up because
// of repeated saves.
func TestNoSaveIsLostToARollback(t *testing.T) {
	t.Parallel()
	rounds := orInShort(20, 5)
	p := newProject(t)
	p.ok("spawn", "--id", "main", "--intent", "Be rolled back")
	p.write("main", map[string]string{"a.md": "first\n", "b.md": "first\n"})
	p.ok("checkpoint", "main", "--name", "first")
	met := 0
	for n := range rounds {
		p.write("main", map[string]string{"a.md": fmt.Sprintf("round %d\n", n), "b.md": fmt.Sprintf("round %d\n", n)})
		s := &saver{file: p.path("threads/main/a.md"), own: t.TempDir(), itself: map[string]bool{}}
		committed := p.atCommit(0, 0)
		over := make(chan struct{})
		var all sync.WaitGroup
		call := p.start(rollback()...)
		all.Go(func() {
			if n%2 == 0 {
				committed(over)
			}
			for len(s.saves) < 30 && s.err == nil {
				s.backUp()
			}
			select {
			case <-over:
			default:
				met++
			}
		})
		a, err := call.end()
		close(over)
		all.Wait()
		require.NoError(t, err)
		require.NoError(t, s.err)
		if a.status != 0 {
			require.Equal(t, "T505", a.Error.Code, "%s", a.line)
		}
		found := map[string]bool{}
		for _, place := range []map[string]string{p.artifacts("main"), p.files("blobs")} {
			for _, content := range place {
				found[content] = true
			}
		}
		for _, content := range s.saves {
			require.True(t, found[content] || s.itself[content], "lost: %s", content)
		}
		for name := range p.artifacts("main") { // files kept beside the artifact
			if name != "a.md" && name != "b.md" {
				require.NoError(t, os.Remove(p.path("threads/main/"+name)))
			}
		}
	}
	t.Logf("in %d of %d rounds all saves fell before the answer", met, rounds)
	p.requireHealthy()
}
