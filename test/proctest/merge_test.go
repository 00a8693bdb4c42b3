package proctest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// merged is the answer of a merge.
type merged struct {
	MergeID    string `json:"mergeId"`
	Status     string `json:"status"`
	Unresolved int    `json:"unresolved"`
}

// artifacts returns a thread's own files.
func (p *project) artifacts(thread string) map[string]string {
	p.t.Helper()
	files := p.files("threads/" + thread)
	maps.DeleteFunc(files, func(name, _ string) bool {
		return strings.HasPrefix(name, ".meta/") || strings.HasPrefix(name, "context/")
	})
	return files
}

// copied copies the project to another folder.
func (p *project) copied(t testing.TB) *project {
	t.Helper()
	q := &project{t: t, dir: t.TempDir(), home: p.home}
	require.NoError(t, os.CopyFS(q.dir, os.DirFS(p.dir)))
	return q
}

// fifty is a project whose merge replaces, adds and deletes fifty files.
type fifty struct {
	*project
	before, after map[string]string
	usual         time.Duration
}

func mergeOfFifty() []string { return []string{"merge", "--sources", "part", "--target", "main"} }

func newFifty(t *testing.T) fifty {
	t.Helper()
	f := fifty{project: newProject(t), before: map[string]string{}, after: map[string]string{}}
	f.ok("spawn", "--id", "main", "--intent", "Be merged into")
	for i := range 45 {
		f.before[fmt.Sprintf("dir-%d/file-%02d.md", i%4, i)] = strings.Repeat(fmt.Sprintf("file %d, as it was\n", i), 1+i*7)
	}
	f.write("main", f.before)
	f.ok("spawn", "--id", "part", "--intent", "Be merged", "--parent", "main", "--inherit", "full")
	maps.Copy(f.after, f.before)
	for i := range 50 {
		name := fmt.Sprintf("dir-%d/file-%02d.md", i%4, i)
		switch {
		case i < 28:
			f.after[name] = strings.Repeat(fmt.Sprintf("file %d, as it is\n", i), 1+i*5)
		case i < 40:
			delete(f.after, name)
			require.NoError(t, os.Remove(f.path("threads/part/"+name)))
		case i < 50:
			name = fmt.Sprintf("new-%d/deep/file-%02d.md", i%3, i)
			f.after[name] = fmt.Sprintf("new file %d\n", i)
		}
	}
	f.write("part", f.after)
	require.Empty(t, harness.Differing(f.after, f.artifacts("part")))
	f.usual = time.Hour
	for range 2 {
		q := f.copied(t)
		begin := time.Now()
		var data merged
		q.ok(mergeOfFifty()...).into(t, &data)
		f.usual = min(f.usual, time.Since(begin))
		require.Equal(t, "merged", data.Status)
		require.Empty(t, harness.Differing(f.after, q.artifacts("main")), "an undisturbed merge")
	}
	return f
}

// requireAtomic kills a merge and asserts that the target is wholly old or, after the next
// writing command, wholly new, and that the merge can be repeated.
func (f fifty) requireAtomic(t *testing.T, when func(*project) killer) (committed, killed bool) {
	t.Helper()
	p := f.copied(t)
	was, err := os.Stat(p.path(state))
	require.NoError(t, err)
	kill := when(p)
	_, ok, killed, err := endOrKill(p.start(mergeOfFifty()...), kill)
	require.NoError(t, err)
	now, err := os.Stat(p.path(state))
	require.NoError(t, err)
	committed = !os.SameFile(was, now)
	f.requireWhole(t, p, committed, ok)
	return committed, killed
}

// requireWhole asserts the same of a project in which a merge was killed; ok says that it
// was acknowledged.
func (f fifty) requireWhole(t *testing.T, p *project, committed, ok bool) {
	t.Helper()
	if ok {
		require.True(t, committed, "an answer without a commit")
		require.Empty(t, harness.Differing(f.after, p.artifacts("main")), "a merge that was acknowledged")
	}
	want := f.before
	if committed {
		want = f.after
	} else {
		require.Empty(t, harness.Differing(f.before, p.artifacts("main")), "without a commit the target is wholly old")
	}
	p.ok("update", "part", "--title", "The next writing command")
	require.Empty(t, harness.Differing(want, p.artifacts("main")), "committed: %v", committed)
	p.requireHealthy()

	var data merged
	p.ok(mergeOfFifty()...).into(t, &data)
	if committed {
		require.Equal(t, "nothing_to_do", data.Status)
	} else {
		require.Equal(t, "merged", data.Status)
	}
	require.Empty(t, harness.Differing(f.after, p.artifacts("main")), "after the merge was made again")
}

func TestAMergeOfFiftyFilesIsWholeWheneverItIsKilled(t *testing.T) {
	t.Parallel()
	n := tries{planned: orInShort(40, 8)}
	f, r := newFifty(t), random(t)
	commits := 0
	for n.more() {
		committed, killed := f.requireAtomic(t, func(*project) killer { return within(r.Float64()*n.part(), f.usual*5/4) })
		if committed {
			commits++
		}
		n.count(killed)
	}
	t.Logf("%d of %d killed, %d committed, an undisturbed merge takes %v", n.killed, n.done, commits, f.usual)
	require.Greater(t, n.killed, n.planned/4, "too few were killed in time")
}

// The kills come after the commit, while files are being moved.
func TestAMergeKilledAfterItsCommitIsFinished(t *testing.T) {
	t.Parallel()
	n := tries{planned: orInShort(20, 5)}
	f := newFifty(t)
	for n.more() {
		_, killed := f.requireAtomic(t, func(p *project) killer {
			return p.atCommit(float64(n.done%n.planned)/float64(n.planned)*n.part(), f.usual/4)
		})
		n.count(killed)
	}
	t.Logf("%d of %d were killed after the commit", n.killed, n.done)
	require.Greater(t, n.killed, n.planned/4, "too few were killed in time")
}

// saver is an agent that saves one file again and again, each time with new content.
type saver struct {
	file, own string // own: its folder, elsewhere
	saves     []string
	itself    map[string]bool // contents that it removed itself
	err       error
}

// rename saves as most tools do: it renames a new file over the old one.
func (s *saver) rename() {
	content := s.prepare()
	if s.err == nil {
		s.err = os.Rename(s.temp(), s.file)
	}
	if s.err == nil {
		s.saves = append(s.saves, content)
	}
}

func (s *saver) temp() string { return filepath.Join(s.own, "temp") }

func (s *saver) prepare() (content string) {
	content = fmt.Sprintf("save %d of %s\n", len(s.saves), s.file)
	s.err = os.WriteFile(s.temp(), []byte(content), 0o644)
	return content
}

// whenGone saves at the moment when the file does not exist: leslie has moved it away and
// is about to place another. It reports whether it hit that moment.
func (s *saver) whenGone(over <-chan struct{}) bool {
	content := s.prepare()
	for s.err == nil {
		if _, err := os.Lstat(s.file); err != nil {
			if s.err = os.Rename(s.temp(), s.file); s.err == nil {
				s.saves = append(s.saves, content)
			}
			return true
		}
		select {
		case <-over:
			return false
		default:
		}
	}
	return false
}

// backUp saves as careful editors do: it moves the old file away first, and so knows which
// of its saves it removed itself.
func (s *saver) backUp() {
	old := filepath.Join(s.own, "old")
	if err := os.Rename(s.file, old); err == nil {
		data, err := os.ReadFile(old)
		if s.err = err; err != nil {
			return
		}
		s.itself[string(data)] = true
	}
	s.rename()
}

// An acknowledged save is one whose rename has returned. It is lost if its content is
// neither in the target nor beside it nor in a blob at the end, and its saver did not
// remove it. A saver that renames over the file can tell only for its last save; one that
// moves the old file away first can tell for all.
func TestNoAcknowledgedSaveIsLostToAMerge(t *testing.T) {
	t.Parallel()
	rounds := orInShort(36, 9)
	p, r := newProject(t), random(t)
	p.ok("spawn", "--id", "main", "--intent", "Be merged into")
	files := map[string]string{}
	for n := range rounds {
		files[fmt.Sprintf("f-%02d.md", n)] = "as inherited\n"
	}
	p.write("main", files)
	p.ok("spawn", "--id", "part", "--intent", "Be merged", "--parent", "main", "--inherit", "full")

	met, gone, saved := 0, 0, 0
	for n := range rounds {
		name := fmt.Sprintf("f-%02d.md", n)
		p.write("part", map[string]string{name: "as merged\n"})
		s := &saver{file: p.path("threads/main/" + name), own: t.TempDir(), itself: map[string]bool{}}
		count := 1 + r.IntN(60)
		committed := p.atCommit(0, 0)
		call := p.start("merge", "--sources", "part", "--target", "main", "--scope", name)
		over, done := make(chan struct{}), make(chan struct{})
		var ended atomic.Bool
		go func() {
			defer close(done)
			if n%3 == 2 {
				if s.whenGone(over) {
					gone++
				}
				return
			}
			committed(over) // from now on files are being moved
			for len(s.saves) < count && s.err == nil {
				if n%3 == 0 {
					s.rename()
				} else {
					s.backUp()
				}
			}
			if !ended.Load() {
				met++
			}
		}()
		a, err := call.end()
		ended.Store(true)
		close(over)
		<-done
		require.NoError(t, err)
		require.NoError(t, s.err)
		require.Zero(t, a.status, "%s: %v", a.line, a.Error)

		found := map[string]bool{}
		for _, place := range []map[string]string{p.artifacts("main"), p.files("blobs")} {
			for _, content := range place {
				found[content] = true
			}
		}
		owed := s.saves
		if n%3 == 0 {
			owed = s.saves[len(s.saves)-1:]
		}
		saved += len(owed)
		for _, content := range owed {
			require.True(t, found[content] || s.itself[content], "lost: %s", content)
		}
		require.True(t, found["as merged\n"], "nor is what was merged lost")
	}
	t.Logf("%d saves looked for in %d rounds; in %d all of them fell between commit and answer, in %d one fell between move and place", saved, rounds, met, gone)
	p.requireHealthy()
}
