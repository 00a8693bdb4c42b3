package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/storetest"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

// This file tests that what a merge brings takes the place of what was planned
// on and of nothing else, at whatever moment somebody saves.

// exchanged is one change of a file: from what it is planned on to what it becomes,
// "" for no file.
type exchanged struct{ path, from, to string }

// exchanging makes one operation of these changes.
func exchanging(dir string, opts store.Options, objective string, all ...exchanged) (store.Commit, error) {
	s := store.Open(dir, opts)
	call := teststore.CallNamed("exchange")
	stage, err := s.Stage(call.Stamp.Operation)
	if err != nil {
		return store.Commit{}, err
	}
	defer stage.Close()
	var steps []thread.Step
	for i, x := range all {
		step := thread.Step{Do: thread.StepDelete, To: teststore.InThread + x.path}
		if x.from != "" {
			step.Expect = storetest.Sum(x.from)
		}
		if x.to != "" {
			name := fmt.Sprint("result/", i)
			if err := stage.Write(name, []byte(x.to), false); err != nil {
				return store.Commit{}, err
			}
			step.Do, step.From = thread.StepReplace, stage.Rel(name)
		}
		steps = append(steps, step)
	}
	if err := stage.Sync(); err != nil {
		return store.Commit{}, err
	}
	return teststore.RunWith(dir, opts, call, func(st *thread.State) (store.Outcome, error) {
		st.Plan(steps...)
		return teststore.Create(objective)(st)
	})
}

// held are the thread's files and what else stands there.
func held(t testing.TB, s *store.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, content := range teststore.Listing(t, s) {
		rest, ok := strings.CutPrefix(filepath.ToSlash(name), teststore.InThread)
		if info, err := os.Lstat(s.Path(name)); ok && err == nil && !info.IsDir() {
			out[rest] = content
		}
	}
	return out
}

// kept are the contents of the blobs.
func kept(t testing.TB, s *store.Store) []string {
	t.Helper()
	out := []string{}
	for name, content := range teststore.Listing(t, s) {
		if info, err := os.Lstat(s.Path(name)); err == nil && info.Mode().IsRegular() && strings.HasPrefix(filepath.ToSlash(name), blobsRoot+"/") {
			out = append(out, content)
		}
	}
	slices.Sort(out)
	return out
}

func TestAFileIsExchangedWhenItIsWhatWasPlannedOn(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name       string
		there      map[string]string
		x          exchanged
		want       map[string]string
		keptAsBlob []string
	}{
		{"replaced", map[string]string{"plan.md": "old"}, exchanged{"plan.md", "old", "new"}, map[string]string{"plan.md": "new"}, []string{"old"}},
		{"deleted", map[string]string{"plan.md": "old", "other.md": "o"}, exchanged{"plan.md", "old", ""}, map[string]string{"other.md": "o"}, []string{"old"}},
		{"new", nil, exchanged{"plan.md", "", "new"}, map[string]string{"plan.md": "new"}, nil},
		{"new, in folders that are made", nil, exchanged{"design/api/v1.md", "", "new"}, map[string]string{"design/api/v1.md": "new"}, nil},
		{"deleted already", nil, exchanged{"plan.md", "old", ""}, map[string]string{}, nil},
		{"replaced by what it is", map[string]string{"plan.md": "old"}, exchanged{"plan.md", "old", "old"}, map[string]string{"plan.md": "old"}, []string{"old"}},

		{"changed since", map[string]string{"plan.md": "saved"}, exchanged{"plan.md", "old", "new"}, map[string]string{"plan.md": "saved", "plan.md" + mark: "new"}, nil},
		{"made since", map[string]string{"plan.md": "saved"}, exchanged{"plan.md", "", "new"}, map[string]string{"plan.md": "saved", "plan.md" + mark: "new"}, nil},
		{"gone since", nil, exchanged{"plan.md", "old", "new"}, map[string]string{"plan.md" + mark: "new"}, nil},
		{"gone since with its folder", nil, exchanged{"design/api.md", "old", "new"}, map[string]string{"design/api.md" + mark: "new"}, nil},
		{"to be deleted and changed since", map[string]string{"plan.md": "saved"}, exchanged{"plan.md", "old", ""}, map[string]string{"plan.md": "saved"}, nil},
		{"beside a file of the same mark", map[string]string{"plan.md": "saved", "plan.md" + mark: "theirs"}, exchanged{"plan.md", "old", "new"},
			map[string]string{"plan.md": "saved", "plan.md" + mark: "theirs", "plan.md" + mark + "+": "new"}, nil},
		{"a file in place of its folder", map[string]string{"design": "saved"}, exchanged{"design/api/v1.md", "", "new"},
			map[string]string{"design": "saved", "design" + mark + "/api/v1.md": "new"}, nil},
		{"a folder in its place", map[string]string{"plan.md/part": "saved"}, exchanged{"plan.md", "old", "new"},
			map[string]string{"plan.md/part": "saved", "plan.md" + mark: "new"}, nil},
		{"a folder in place of what is to be deleted", map[string]string{"plan.md/part": "saved"}, exchanged{"plan.md", "old", ""}, map[string]string{"plan.md/part": "saved"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := teststore.ExchangeStore(t)
			teststore.Save(t, s, c.there)
			_, err := exchanging(s.Root(), teststore.OptionsOf(s), "obj-new", c.x)
			require.NoError(t, err, "it is settled whatever stands there")
			assert.Equal(t, c.want, held(t, s))
			assert.ElementsMatch(t, c.keptAsBlob, kept(t, s), "what was displaced is a blob")
			teststore.RequireTidy(t, s)

			// The steps stay in the state: the next writer does them again.
			teststore.Save(t, s, map[string]string{"plan.md.later": "later"})
			c.want["plan.md.later"] = "later"
			teststore.Add(t, s, "obj-next")
			assert.Equal(t, c.want, held(t, s), "done twice")
			assert.ElementsMatch(t, c.keptAsBlob, kept(t, s))
		})
	}
}

// A moment is a step of the exchange, at which somebody saves.
type moment struct {
	action store.Action
	path   func(s *store.Store) string
}

func moments() map[string]moment {
	shelved := func(s *store.Store) string { return s.Path(store.TmpDir + "/op-exchange.displaced/0") }
	placed := func(s *store.Store) string { return s.Path(teststore.InThread + "plan.md") }
	return map[string]moment{
		"between the look and the move":  {store.ActRename, shelved},
		"between the move and the place": {store.ActLink, placed},
	}
}

// agentSaves is how an agent's tool saves: a file of its own, then a rename.
func agentSaves(s *store.Store, content string) error {
	temp := filepath.Join(filepath.Dir(s.Path("")), "agents-own")
	if err := os.WriteFile(temp, []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, s.Path(teststore.InThread+"plan.md"))
}

// saving is a hook that saves once, in front of the moment's step.
func (m moment) saving(s *store.Store, content string) (hook func(store.Action, string) error, happened *bool) {
	happened = new(bool)
	return func(a store.Action, path string) error {
		if *happened || a != m.action || path != m.path(s) {
			return nil
		}
		*happened = true
		return agentSaves(s, content)
	}, happened
}

func TestASaveInTheMomentOfTheExchangeIsNeverLost(t *testing.T) {
	t.Parallel()
	for name, m := range moments() {
		for _, to := range []string{"new", ""} {
			t.Run(fmt.Sprintf("%s, to become %q", name, to), func(t *testing.T) {
				t.Parallel()
				s := teststore.ExchangeStore(t)
				teststore.Save(t, s, map[string]string{"plan.md": "old"})
				hook, happened := m.saving(s, "saved")
				_, err := exchanging(s.Root(), store.Options{Now: teststore.Clock, Before: hook}, "obj-new", exchanged{"plan.md", "old", to})
				require.NoError(t, err)
				if to == "" && m.action == store.ActLink {
					assert.False(t, *happened, "a delete places nothing")
					return
				}
				require.True(t, *happened, "the moment did not come")
				want := map[string]string{"plan.md": "saved"}
				if to != "" {
					want["plan.md"+mark] = "new"
				}
				assert.Equal(t, want, held(t, s), "what was saved stays, what was merged lies beside it")
				teststore.Add(t, s, "obj-next")
				assert.Equal(t, want, held(t, s))
				teststore.RequireTidy(t, s)
			})
		}
	}
}

func TestASaveOverAPutBackFileStays(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	teststore.Save(t, s, map[string]string{"plan.md": "old"})
	first, happened := moments()["between the look and the move"].saving(s, "saved")
	second := false
	hook := func(a store.Action, path string) error {
		if *happened && !second && a == store.ActLink && path == s.Path(teststore.InThread+"plan.md") {
			second = true
			return agentSaves(s, "saved again")
		}
		return first(a, path)
	}
	_, err := exchanging(s.Root(), store.Options{Now: teststore.Clock, Before: hook}, "obj-new", exchanged{"plan.md", "old", "new"})
	require.NoError(t, err)
	require.True(t, second)
	assert.Equal(t, map[string]string{"plan.md": "saved again", "plan.md" + mark: "new"}, held(t, s))
	assert.Equal(t, []string{"saved"}, kept(t, s))
}

// The process dies, or the disk fails, at any step behind a save that fell into
// the exchange.
func TestASaveIsNotLostThoughTheExchangeIsCutOff(t *testing.T) {
	t.Parallel()
	for name, m := range moments() {
		for _, to := range []string{"new", ""} {
			if to == "" && m.action == store.ActLink {
				continue
			}
			t.Run(fmt.Sprintf("%s, to become %q", name, to), func(t *testing.T) {
				t.Parallel()
				for cutAt := 0; ; cutAt++ {
					s := teststore.ExchangeStore(t)
					teststore.Save(t, s, map[string]string{"plan.md": "old"})
					hook, happened := m.saving(s, "saved")
					behind := -1
					opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, path string) error {
						err := hook(a, path)
						if *happened {
							behind++
						}
						if err == nil && behind >= cutAt { // nothing works any more, as after a kill
							return syscall.EIO
						}
						return err
					}}
					_, err := exchanging(s.Root(), opts, "obj-new", exchanged{"plan.md", "old", to})
					require.True(t, *happened)
					teststore.Add(t, s, "obj-next")
					got := held(t, s)
					assert.Equal(t, "saved", got["plan.md"], "cut %d steps behind the save", cutAt)
					delete(got, "plan.md")
					var rest []string
					for _, content := range got {
						rest = append(rest, content)
					}
					if to != "" {
						assert.Equal(t, []string{to}, rest, "cut %d steps behind the save", cutAt)
					} else {
						assert.Empty(t, rest)
					}
					teststore.RequireTidy(t, s)
					if err == nil {
						require.Greater(t, cutAt, 3)
						return
					}
					require.ErrorIs(t, err, teststore.ErrUnsettled)
				}
			})
		}
	}
}

// Where there are no hard links the file is renamed into place, behind a look.
func TestASaveIsNotLostWithoutHardLinks(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	teststore.Save(t, s, map[string]string{"plan.md": "old"})
	hook, happened := moments()["between the move and the place"].saving(s, "saved")
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, path string) error {
		if err := hook(a, path); err != nil || a != store.ActLink {
			return err
		}
		return syscall.EPERM
	}}
	_, err := exchanging(s.Root(), opts, "obj-new", exchanged{"plan.md", "old", "new"})
	require.NoError(t, err)
	require.True(t, *happened)
	assert.Equal(t, map[string]string{"plan.md": "saved", "plan.md" + mark: "new"}, held(t, s))
}

func TestAFileIsExchangedWithoutHardLinks(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	teststore.Save(t, s, map[string]string{"plan.md": "old", "gone.md": "gone", "moved.md": "changed"})
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, _ string) error {
		if a == store.ActLink {
			return syscall.EPERM
		}
		return nil
	}}
	_, err := exchanging(s.Root(), opts, "obj-new", exchanged{"plan.md", "old", "new"}, exchanged{"add.md", "", "added"},
		exchanged{"moved.md", "m", "n"}, exchanged{"gone.md", "gone", ""})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"plan.md": "new", "add.md": "added", "moved.md": "changed", "moved.md" + mark: "n"}, held(t, s))
	assert.Equal(t, []string{"gone", "old"}, kept(t, s))
	teststore.RequireTidy(t, s)
}

// The scenarios below are killed and failed at every step by crash_test.go.

func exchanges() (all []exchanged, before, after map[string]string) { return exchangesOf(9) }

// exchangesOf is replaced, added and deleted files, n in all.
func exchangesOf(n int) (all []exchanged, before, after map[string]string) {
	before, after = map[string]string{"stays.md": "stays"}, map[string]string{"stays.md": "stays"}
	for i := range n - 5 {
		name := fmt.Sprintf("part/%d.md", i)
		all = append(all, exchanged{name, "old " + name, "new " + name})
	}
	all = append(all, exchanged{"added/deep/er.md", "", "added"}, exchanged{"empty.md", "nothing", " "})
	for i := range 3 {
		all = append(all, exchanged{fmt.Sprintf("gone/%d.md", i), fmt.Sprintf("gone %d", i), ""})
	}
	for _, x := range all {
		if x.from != "" {
			before[x.path] = x.from
		}
		if x.to != "" {
			after[x.path] = x.to
		}
	}
	return all, before, after
}

func prepareExchange(t testing.TB, s *store.Store) { exchangeScenario(9).prepare(t, s) }

func afterExchange(t testing.TB, s *store.Store, whole bool) { afterExchangeOf(9, t, s, whole) }

// exchangeScenario exchanges n files.
func exchangeScenario(n int) scenario {
	all, before, _ := exchangesOf(n)
	return scenario{
		prepare: func(t testing.TB, s *store.Store) {
			teststore.PrepareThread(t, s)
			teststore.Save(t, s, before)
		},
		run: func(dir string, opts store.Options) error {
			_, err := exchanging(dir, opts, "obj-new", all...)
			return err
		},
		after: func(t testing.TB, s *store.Store, whole bool) { afterExchangeOf(n, t, s, whole) },
	}
}

func afterExchangeOf(n int, t testing.TB, s *store.Store, whole bool) {
	all, before, after := exchangesOf(n)
	if !whole {
		assert.Equal(t, before, held(t, s), "wholly old")
		return
	}
	assert.Equal(t, after, held(t, s), "wholly new")
	blobs := kept(t, s)
	for _, x := range all {
		if x.from != "" {
			assert.Contains(t, blobs, x.from, "what was displaced is kept")
		}
	}
}

// prepareHalfExchanged leaves an exchange as a kill in the middle of its steps
// does.
func prepareHalfExchanged(t testing.TB, s *store.Store) {
	prepareExchange(t, s)
	all, _, _ := exchanges()
	hit := false
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, path string) error {
		hit = hit || a == store.ActLink && path == s.Path(teststore.InThread+"part/2.md") // it lies on its shelf
		if hit {
			return syscall.EIO
		}
		return nil
	}}
	_, err := exchanging(s.Root(), opts, "obj-half", all...)
	require.ErrorIs(t, err, teststore.ErrUnsettled)
	require.True(t, hit)
}

func TestAnUnsettledExchangeIsToldAndRolledForward(t *testing.T) {
	t.Parallel()
	all, _, _ := exchanges()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	prepareExchange(t, s)
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, path string) error {
		if a == store.ActRename && path == s.Path(store.TmpDir+"/op-exchange.displaced/1") {
			return syscall.EIO
		}
		return nil
	}}
	_, err := exchanging(s.Root(), opts, "obj-half", all...)
	require.ErrorIs(t, err, teststore.ErrUnsettled)
	_, view, err := teststore.Seen(s)
	require.NoError(t, err)
	assert.NotEmpty(t, view.Undone, "a reader is told")
	assert.Empty(t, view.Warnings)
	c, err := s.Update(context.Background(), teststore.CallNamed("next"), teststore.Create("obj-next"))
	require.NoError(t, err)
	assert.False(t, teststore.HasWarning(c.Warnings, warnings.NotSettled))
	afterExchange(t, s, true)
	teststore.RequireTidy(t, s)
}

func TestTheWorkOfAMergeIsReadAndNothingElse(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	require.NoError(t, os.MkdirAll(s.Path("merges/merge-1/work/design"), 0o755))
	teststore.Put(t, s, "merges/merge-1/work/design/api.md", []byte("<<<<<<<"))
	teststore.Put(t, s, "merges/merge-1/other", []byte("other"))
	require.NoError(t, os.Symlink(s.Path(store.StateFile), s.Path("merges/merge-1/work/link")))
	require.NoError(t, os.MkdirAll(s.Path("threads/elsewhere"), 0o755))
	teststore.Put(t, s, "threads/elsewhere/plan.md", []byte("a thread's"))
	teststore.Put(t, s, "merges/merge-1/work/big", nil)
	require.NoError(t, os.Truncate(s.Path("merges/merge-1/work/big"), store.MaxFile+1))

	got, err := s.ReadWork("merge-1", "design/api.md")
	require.NoError(t, err)
	assert.Equal(t, "<<<<<<<", string(got))
	cases := []struct {
		id, path string
		code     codes.Code
	}{
		{"merge-1", "none", codes.ReadFailed},
		{"merge-2", "design/api.md", codes.ReadFailed},
		{"merge-1", "design", codes.ReadFailed},
		{"merge-1", "big", codes.TooLarge},
		{"merge-1", "../other", codes.UnsafePath},
		{"merge-1", "link", codes.UnsafePath},
		{"../threads", "plan.md", codes.UnsafePath},
		{"..", "plan.md", codes.UnsafePath},
		{"", "plan.md", codes.UnsafePath},
	}
	for _, c := range cases {
		got, err := s.ReadWork(thread.MergeID(c.id), c.path)
		assert.Empty(t, got, "%s %s", c.id, c.path)
		teststore.RequireCode(t, c.code, err)
	}
	require.NoError(t, os.RemoveAll(s.Path("merges/merge-1/work")))
	require.NoError(t, os.Symlink("../../threads/elsewhere", s.Path("merges/merge-1/work")))
	_, err = s.ReadWork("merge-1", "plan.md")
	teststore.RequireCode(t, codes.UnsafePath, err)
}

// The steps of an operation stay in the state until the next one. What somebody
// does to their folders meanwhile must not stop every writer.
func TestAFolderThatIsGoneOrReplacedStopsNoWriter(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(place string) error{
		"gone":               os.RemoveAll,
		"replaced by a file": func(place string) error { return errors.Join(os.RemoveAll(place), os.WriteFile(place, nil, 0o644)) },
		"replaced by a link": func(place string) error { return errors.Join(os.RemoveAll(place), os.Symlink("/", place)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := teststore.ExchangeStore(t)
			teststore.Save(t, s, map[string]string{"design/api.md": "old", "design/gone.md": "gone"})
			_, err := exchanging(s.Root(), teststore.OptionsOf(s), "obj-new", exchanged{"design/api.md", "old", "new"}, exchanged{"design/gone.md", "gone", ""})
			require.NoError(t, err)
			require.NoError(t, after(s.Path(teststore.InThread+"design")))
			_, err = s.Update(context.Background(), teststore.CallNamed("next"), teststore.Create("obj-next"))
			require.NoError(t, err)
			teststore.RequireTidy(t, s)
		})
	}
}

// mark is in the name under which the newer of two versions is put beside the other.
const mark = ".merge-op-exchange"
