package merges_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/apptest"
	"leslie/internal/app/merges"
	"leslie/internal/app/merging"
	"leslie/internal/app/threads"
	"leslie/internal/scope"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
)

// mergeProject is a project with a thread main, and a child that inherited all
// of main's files.
type mergeProject struct {
	t *testing.T
	*app.Project
}

// newMergeProject makes one; before gives main its files.
func newMergeProject(t *testing.T, before map[string]string) *mergeProject {
	t.Helper()
	root := t.TempDir()
	var ids atomic.Int64
	env := app.Environment{
		Now:     time.Now,
		NewID:   func(prefix string) string { return fmt.Sprintf("%s%08d", prefix, ids.Add(1)) },
		Jitter:  func(most time.Duration) time.Duration { return most },
		Environ: func() []string { return nil },
	}
	_, _, _, err := store.Create(t.Context(), store.Wait{}, root, store.Options{})
	require.NoError(t, err)
	p, err := app.Open(root, env)
	require.NoError(t, err)
	m := &mergeProject{t: t, Project: p}
	_, err = threads.CreateObjective(m.call(), threads.CreateObjectiveRequest{Title: "Goal", ID: "goal"})
	require.NoError(t, err)
	_, err = threads.Spawn(m.call(), threads.SpawnRequest{Intent: "main", ID: "main", Objective: "goal"})
	require.NoError(t, err)
	m.write("main", before)
	_, err = threads.Spawn(m.call(), threads.SpawnRequest{Intent: "child", ID: "child", Parent: "main", Inherit: thread.InheritFull})
	require.NoError(t, err)
	return m
}

// diverging is a project in which n files, each of one line, are in conflict.
func diverging(t *testing.T, n int, more map[string]string) *mergeProject {
	t.Helper()
	all := map[string]string{}
	for name, text := range more {
		all[name] = text
	}
	ours, theirs := map[string]string{}, map[string]string{}
	for i := range n {
		n := strconv.Itoa(i)
		name := "plan-" + n + ".md"
		all[name], ours[name], theirs[name] = "base "+n+"\n", "ours "+n+"\n", "theirs "+n+"\n"
	}
	m := newMergeProject(t, all)
	m.write("main", ours)
	m.write("child", theirs)
	return m
}

func (m *mergeProject) call() *app.Call {
	return m.Call(m.t.Context(), app.Caller{As: thread.User, Actor: "kim"}, app.Request{Command: "test"})
}

func (m *mergeProject) write(id string, files map[string]string) {
	m.t.Helper()
	for name, text := range files {
		path := filepath.Join(m.Root(), store.Dir, store.ThreadsDir, id, name)
		require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(m.t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func (m *mergeProject) read(id, name string) string {
	m.t.Helper()
	raw, err := os.ReadFile(filepath.Join(m.Root(), store.Dir, store.ThreadsDir, id, name))
	require.NoError(m.t, err)
	return string(raw)
}

// stored is how many bytes the store's blobs have.
func (m *mergeProject) stored() (total int64) {
	m.t.Helper()
	err := filepath.WalkDir(filepath.Join(m.Root(), store.Dir, "blobs"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		total += info.Size()
		return err
	})
	require.NoError(m.t, err)
	return total
}

// resolverFunc is a Person who applies what was decided.
type resolverFunc func(s *merging.Session) error

func (f resolverFunc) Resolve(_ context.Context, s *merging.Session) error { return f(s) }

func (f resolverFunc) Review(context.Context, *merging.Session) error { return nil }

// taking answers each open conflict with one choice, one after the other.
func taking(take string) resolverFunc {
	return func(s *merging.Session) error {
		for open := s.Open(""); len(open) > 0; open = s.Open("") {
			if _, err := s.Answer(merging.Answer{About: open[0].ID, Decision: merge.Decision{Take: take, How: "user", Actor: "kim"}}); err != nil {
				return err
			}
		}
		return nil
	}
}

// reviewer is a Person who takes both sides and then does what review says.
type reviewer struct {
	resolverFunc
	review func(s *merging.Session) error
}

func (r reviewer) Review(_ context.Context, s *merging.Session) error { return r.review(s) }

func TestAPersonConfirmsAMergeOfMoreThanOneDecision(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 0, 2: 1, 3: 1} {
		m := diverging(t, n, nil)
		reviewed := 0
		person := reviewer{taking(merge.TakeBoth), func(s *merging.Session) error {
			reviewed++
			assert.Empty(t, s.Open(""))
			_, err := s.Answer(merging.Answer{About: s.Conflicts()[0].ID, Decision: merge.Decision{Take: merge.TakeTheirs, How: "user", Actor: "kim"}})
			return err
		}}
		_, err := merges.Merge(m.call(), intoMain(merges.Resolvers{Person: person}))
		require.NoError(t, err)
		assert.Equal(t, want, reviewed, "%d conflicts", n)
		if n > 1 {
			assert.Equal(t, "theirs 0\n", m.read("main", "plan-0.md"), "an answer may be replaced")
			assert.Equal(t, "ours 1\ntheirs 1\n", m.read("main", "plan-1.md"))
		}
	}
}

func TestAPersonWhoLeavesLeavesTheMergePending(t *testing.T) {
	t.Parallel()
	leaves := func(*merging.Session) error { return merging.ErrLeft }
	for name, person := range map[string]merging.Person{
		"a question": resolverFunc(leaves), "the review": reviewer{taking(merge.TakeTheirs), leaves},
		"skips all": resolverFunc(func(*merging.Session) error { return nil }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := diverging(t, 2, nil)
			result, err := merges.Merge(m.call(), intoMain(merges.Resolvers{Person: person}))
			require.True(t, codes.Has(err, codes.MergeConflict), "%v", err)
			require.ErrorIs(t, err, merging.ErrLeft)
			require.Equal(t, merging.Pending, result.Status)
			assert.Equal(t, "ours 0\n", m.read("main", "plan-0.md"))
			if name == "the review" {
				assert.NotContains(t, codes.Of(err).Hint(), "--take", "nothing is open")
			}
			_, err = merges.Continue(m.call(), merges.ContinueRequest{Merge: string(*result.MergeID), Resolvers: merges.Resolvers{Person: taking(merge.TakeTheirs)}})
			require.NoError(t, err)
			assert.Equal(t, "theirs 1\n", m.read("main", "plan-1.md"))
		})
	}
}

func TestNobodyLeftAMergeAboutWhichNobodyWasAsked(t *testing.T) {
	t.Parallel()
	m := diverging(t, 1, nil)
	_, err := merges.Merge(m.call(), intoMain(merges.Resolvers{}))
	require.True(t, codes.Has(err, codes.MergeConflict), "%v", err)
	assert.NotErrorIs(t, err, merging.ErrLeft)
}

func TestAPersonLearnsWhichThreadsMoved(t *testing.T) {
	t.Parallel()
	m := diverging(t, 2, nil)
	var moved [][]thread.ThreadID
	person := reviewer{taking(merge.TakeTheirs), func(s *merging.Session) error {
		if moved = append(moved, s.View().Moved(), s.View().Moved()); len(moved) == 2 {
			m.write("child", map[string]string{"new.md": "new\n"})
		}
		return nil
	}}
	_, err := merges.Merge(m.call(), intoMain(merges.Resolvers{Person: person}))
	require.NoError(t, err)
	assert.Equal(t, [][]thread.ThreadID{nil, nil, {"child"}, nil}, moved)
}

func TestTheDiffOfAMergeIsWhatItChanges(t *testing.T) {
	t.Parallel()
	m := diverging(t, 2, map[string]string{"gone.md": "gone\n"})
	m.write("child", map[string]string{"new.bin": "\x00new"})
	require.NoError(t, os.Remove(filepath.Join(m.Root(), store.Dir, store.ThreadsDir, "child", "gone.md")))
	var files []merges.FileDiff
	person := reviewer{taking(merge.TakeTheirs), func(s *merging.Session) error {
		d, err := merges.SessionDiff(t.Context(), s)
		if err == nil {
			files = d.Files
		}
		return err
	}}
	_, err := merges.Merge(m.call(), intoMain(merges.Resolvers{Person: person}))
	require.NoError(t, err)
	var got []string
	for _, f := range files {
		got = append(got, string(f.Change)+" "+f.Path+" +"+strconv.Itoa(f.Added)+" -"+strconv.Itoa(f.Removed)+" "+strconv.FormatBool(f.Binary))
	}
	assert.Equal(t, []string{"deleted gone.md +0 -1 false", "added new.bin +0 -0 true", "modified plan-0.md +1 -1 false", "modified plan-1.md +1 -1 false"}, got)
}

func intoMain(means merges.Resolvers) merges.Request {
	return merges.Request{Sources: []string{"child"}, Target: "main", Resolvers: means}
}

func TestAMergeThatIsAbortedLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	m := newMergeProject(t, map[string]string{"picture.bin": "\x00base", "plan.md": "base\n"})
	m.write("main", map[string]string{"picture.bin": "\x00ours"})
	before := m.stored()
	for i := range 4 {
		m.write("child", map[string]string{"picture.bin": "\x00" + strings.Repeat(strconv.Itoa(i), 5<<20)})
		result, err := merges.Merge(m.call(), intoMain(merges.Resolvers{}))
		require.True(t, codes.Has(err, codes.MergeConflict), "%v", err)
		require.Equal(t, merging.Pending, result.Status)
		_, err = merges.Status(m.call(), merges.StatusRequest{Merge: string(*result.MergeID)})
		require.NoError(t, err)
		_, err = merges.Abort(m.call(), merges.AbortRequest{Merge: string(*result.MergeID)})
		require.NoError(t, err)
	}
	assert.Equal(t, before, m.stored(), "bytes of blobs")
}

// counted counts how often files are read.
type counted struct {
	merging.Files
	trees, contents *int
}

func (c counted) HashedIn(ctx context.Context, id thread.ThreadID, set scope.Set) ([]store.Entry, error) {
	*c.trees++
	return c.Files.HashedIn(ctx, id, set)
}

func (c counted) ReadArtifact(id thread.ThreadID, rel string) ([]byte, error) {
	*c.contents++
	return c.Files.ReadArtifact(id, rel)
}

func TestAnAnswerReadsNoFileAgain(t *testing.T) {
	t.Parallel()
	m := diverging(t, 10, map[string]string{"unrelated.bin": "\x00" + strings.Repeat("x", 1<<20)})
	c := m.call()
	syncs, trees, contents := 0, 0, 0
	c.SetStore(store.Open(m.Root(), store.Options{Before: func(a store.Action, _ string) error {
		if a == store.ActSync || a == store.ActSyncDir {
			syncs++
		}
		return nil
	}}))
	var asked, answered int
	person := resolverFunc(func(s *merging.Session) error {
		asked = syncs
		err := taking(merge.TakeBoth)(s)
		answered = syncs
		return err
	})
	mc := merges.SessionCall(c, merges.Resolvers{Person: person}, app.Combine(app.Config{}, app.Config{}))
	mc.Files = counted{c.Store(), &trees, &contents}
	s, err := merging.Start(mc, merging.Request{Target: "main", Sources: []string{"child"}})
	require.NoError(t, err)
	result, err := s.Finish()
	require.NoError(t, err)
	assert.Equal(t, merging.Merged, result.Status)
	assert.Equal(t, "ours 3\ntheirs 3\n", m.read("main", "plan-3.md"))
	assert.Equal(t, 2, trees, "each thread's files are hashed once")
	assert.Equal(t, 20, contents, "both versions of a file in conflict are read once")
	assert.LessOrEqual(t, answered-asked, 10*4, "what an answer has on disk: state, journal, folder")
	t.Logf("fsyncs: %d to record, %d to answer, %d to apply", asked, answered-asked, syncs-answered)
}

// If a source is saved again while somebody is being asked, the merge notices that when
// it is applied; decisions about unchanged conflicts stay.
func TestWhatMovedIsSeenWhenTheMergeIsApplied(t *testing.T) {
	t.Parallel()
	m := diverging(t, 2, nil)
	times := 0
	person := resolverFunc(func(s *merging.Session) error {
		if times++; times == 1 {
			m.write("child", map[string]string{"plan-1.md": "later\n", "new.md": "new\n"})
		}
		assert.Len(t, s.Open(""), 3-times, "open conflicts")
		return taking(merge.TakeBoth)(s)
	})
	result, err := merges.Merge(m.call(), intoMain(merges.Resolvers{Person: person}))
	require.NoError(t, err)
	assert.Equal(t, merging.Merged, result.Status)
	assert.Equal(t, 2, times)
	assert.Equal(t, "ours 0\ntheirs 0\n", m.read("main", "plan-0.md"))
	assert.Equal(t, "ours 1\nlater\n", m.read("main", "plan-1.md"))
	assert.Equal(t, "new\n", m.read("main", "new.md"))
}

func TestAMergeWhoseSourceNeverRestsIsT304(t *testing.T) {
	t.Parallel()
	m := diverging(t, 1, nil)
	times := 0
	person := resolverFunc(func(s *merging.Session) error {
		times++
		m.write("child", map[string]string{"plan-0.md": strings.Repeat("again\n", times)})
		return taking(merge.TakeOurs)(s)
	})
	_, err := merges.Merge(m.call(), intoMain(merges.Resolvers{Person: person}))
	require.True(t, codes.Has(err, codes.MergeStale), "%v", err)
	assert.Equal(t, 3, times)
	assert.Equal(t, "ours 0\n", m.read("main", "plan-0.md"))
}

// One goroutine merges, others read: none sees a merge half done.
func TestReadersSeeAMergeWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	m := diverging(t, 8, nil)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				c := m.Call(t.Context(), app.Caller{As: thread.Agent, Actor: "reader"}, app.Request{Command: "merge", ReadOnly: true})
				result, err := merges.Merge(c, merges.Request{Sources: []string{"child"}, Target: "main", DryRun: true})
				if codes.Has(err, codes.MergePending) {
					continue
				}
				if assert.NoError(t, err) {
					assert.Contains(t, []int{0, 8}, len(result.Conflicts), "conflicts")
				}
				_, err = merges.List(m.call(), merges.ListRequest{})
				assert.NoError(t, err)
			}
		})
	}
	result, err := merges.Merge(m.call(), intoMain(merges.Resolvers{Person: taking(merge.TakeTheirs)}))
	close(done)
	readers.Wait()
	require.NoError(t, err)
	assert.Equal(t, 8, result.Resolved)
	for i := range 8 {
		assert.Equal(t, "theirs "+strconv.Itoa(i)+"\n", m.read("main", "plan-"+strconv.Itoa(i)+".md"))
	}
}

func TestAMergeThatNobodyCheckedIsRefused(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	before := b.Tree()
	for reason, do := range map[string]apptest.Asked{
		"Target is missing; Sources is missing":          apptest.Ask(merges.Merge, merges.Request{}),
		"Sources must be an id":                          apptest.Ask(merges.Merge, merges.Request{Sources: []string{"../x"}, Target: "main"}),
		"Sources names the target":                       apptest.Ask(merges.Merge, merges.Request{Sources: []string{"main"}, Target: "main"}),
		`Sources names "part" twice`:                     apptest.Ask(merges.Merge, merges.Request{Sources: []string{"part", "part"}, Target: "main"}),
		"Strategy must be":                               apptest.Ask(merges.Merge, merges.Request{Sources: []string{"part"}, Target: "main", Strategy: "boldly"}),
		"Agent cannot be split into words":               apptest.Ask(merges.Merge, merges.Request{Sources: []string{"part"}, Target: "main", Resolvers: merges.Resolvers{Agent: "'"}}),
		"Merge is missing; Validate cannot be split":     apptest.Ask(merges.Continue, merges.ContinueRequest{Resolvers: merges.Resolvers{Validate: "'"}}),
		"Merge is missing; Take is missing":              apptest.Ask(merges.Resolve, merges.ResolveRequest{}),
		"Take needs a content, and the path or conflict": apptest.Ask(merges.Resolve, merges.ResolveRequest{Merge: "m", Choice: merging.Choice{Take: merge.TakeText}}),
	} {
		err := do(b.Person())
		assert.True(t, codes.Has(err, codes.InvalidArgument), "%s: %v", reason, err)
		assert.ErrorContains(t, err, reason)
	}
	assert.Equal(t, before, b.Tree())
}
