package thread_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

func TestAnIDIsALetterOrDigitAndThenPlainCharacters(t *testing.T) {
	t.Parallel()
	cases := []struct {
		id   string
		want bool
	}{
		{"a", true}, {"0", true}, {"Z", true}, {"main", true}, {"thread-a1b2c3d4", true}, {"a_b-C9", true},
		{strings.Repeat("a", thread.MaxID), true}, {strings.Repeat("a", thread.MaxID+1), false},
		{"", false}, {"-a", false}, {"_a", false}, {"a b", false}, {"a/b", false}, {"..", false}, {".", false}, {"a.b", true}, {"bd-a3f8.1.2", true}, {".a", false}, {"a.", false}, {"a..b", false}, {"a.lock", false}, {"a.LOCK", false}, {"a.lock.b", true},
		{"a\n", false}, {"a\x00", false}, {"$(a)", false}, {"é", false}, {"aé", false}, {"a\xff", false}, {"a;b", false},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, thread.ValidID(c.id), "%q", c.id)
	}
}

func FuzzValidID(f *testing.F) {
	said := regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*\z`)
	locked := regexp.MustCompile(`(?i)\.lock\z`)
	for _, id := range []string{"", "main", "thread-a1b2c3d4", "-a", "a/../b", "a.b", "a.lock", "a..b", "a\n", "\xff", strings.Repeat("x", 65)} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if got, want := thread.ValidID(id), said.MatchString(id) && !locked.MatchString(id) && len(id) <= thread.MaxID; got != want {
			t.Errorf("ValidID(%q) is %v, the contract's alphabet says %v", id, got, want)
		}
	})
}

// lookups returns a fixture with live and archived threads with similar ids.
func lookups(t *testing.T) *fixture {
	t.Helper()
	w := withThreads(t, "main", "main-line", "thread-aaaa1111", "thread-aaaa2222", "thread-bbbb1111",
		"old", "older-than-old", "thread-cccc1111", "thread-cccc2222", "thread-dddd1111", "thread-bbbb", "twin-live", "twin-cold")
	for _, id := range []string{"old", "thread-cccc1111", "thread-cccc2222", "thread-dddd1111", "thread-bbbb", "twin-cold"} {
		w.moved(id, thread.Done, thread.Archive)
	}
	return w
}

func TestAThreadIsFoundByItsIDOrAUniquePrefix(t *testing.T) {
	t.Parallel()
	w := lookups(t)
	cases := []struct {
		name, arg string
		want      thread.ThreadID
	}{
		{"an exact id", "thread-aaaa1111", "thread-aaaa1111"},
		{"an exact id that is another's prefix", "main", "main"},
		{"an exact id shorter than a prefix may be", "old", "old"},
		{"an exact archived id before a live one that it is a prefix of", "thread-bbbb", "thread-bbbb"},
		{"a prefix with the kind spelled out", "thread-bbbb1", "thread-bbbb1111"},
		{"a prefix with one character beyond the kind's own", "thread-d", "thread-dddd1111"},
		{"a prefix of an id of its own", "main-l", "main-line"},
		{"a prefix of 3 characters", "twi", "twin-live"},
		{"a prefix of 4 characters", "olde", "older-than-old"},
		{"an archived id", "thread-dddd1111", "thread-dddd1111"},
		{"a prefix of an archived id", "thread-dddd", "thread-dddd1111"},
		{"a prefix of a live one before an archived one", "twin", "twin-live"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			th, err := w.Thread(c.arg)
			require.NoError(t, err)
			assert.Equal(t, c.want, th.ID)
		})
	}
}

func TestAPrefixThatIsTooShortFindsNothing(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "thread-aaaa1111", "alone")
	w.tied("ref-aaaa1111", "alone", "thread-aaaa1111")
	for _, arg := range []string{"t", "th", "al", "x"} {
		_, err := w.Thread(arg)
		failed(t, err, codes.ThreadNotFound, map[string]any{"threadId": arg})
	}
	for _, arg := range []string{"ob", "oh"} {
		_, err := w.Objective(arg)
		failed(t, err, codes.ObjectiveNotFound, map[string]any{"objectiveId": arg})
	}
	_, err := w.Reference("re")
	failed(t, err, codes.ReferenceNotFound, map[string]any{"refId": "re"})
}

func TestThePrefixOfAKindMeansTheOnlyOneThereIs(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "thread-aaaa1111", "alone")
	w.tied("ref-aaaa1111", "alone", "thread-aaaa1111")
	for _, arg := range []string{"thr", "thread", "thread-a"} {
		th, err := w.Thread(arg)
		require.NoError(t, err, arg)
		assert.Equal(t, thread.ThreadID("thread-aaaa1111"), th.ID)
	}
	for _, arg := range []string{"ref", "ref-a"} {
		ref, err := w.Reference(arg)
		require.NoError(t, err, arg)
		assert.Equal(t, thread.ReferenceID("ref-aaaa1111"), ref.ID)
	}
	w = withThreads(t, "thread-aaaa1111", "thread-bbbb1111")
	_, err := w.Thread("thread")
	failed(t, err, codes.AmbiguousID, map[string]any{"prefix": "thread", "count": 2, "candidates": []string{"thread-aaaa1111", "thread-bbbb1111"}})
}

func TestAnArchivedThreadIsFoundByAPrefix(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "thread-aaaa1111")
	w.moved("thread-aaaa1111", thread.Done, thread.Archive)
	for _, arg := range []string{"thread", "thread-a"} {
		th, err := w.Thread(arg)
		require.NoError(t, err)
		assert.Equal(t, thread.Archived, th.Status)
	}
}

func TestAnIDThatEndsWithASeparatorStandsForNothing(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "thread-aaaa1111", "my_part.two", "sub-")
	w.tied("ref-aaaa1111", "sub-", "my_part.two")
	for arg, only := range map[string]string{"thread-": "thread-aaaa1111", "my_": "my_part.two", "my_part.": "my_part.two"} {
		_, err := w.Thread(arg)
		failed(t, err, codes.AmbiguousID, map[string]any{"prefix": arg, "count": 1, "candidates": []string{only}})
		assert.Contains(t, codes.Of(err).Hint(), "variable that is empty")
		_, speaks := w.Speaker(arg)
		assert.False(t, speaks, arg)
	}
	_, err := w.Reference("ref-")
	failed(t, err, codes.AmbiguousID, map[string]any{"count": 1})
	_, err = w.Thread("none-")
	failed(t, err, codes.ThreadNotFound, map[string]any{"threadId": "none-"})
	th, err := w.Thread("sub-")
	require.NoError(t, err, "an exact id always wins")
	assert.Equal(t, thread.ThreadID("sub-"), th.ID)

	w.moved("thread-aaaa1111", thread.Done, thread.Archive)
	_, err = w.Thread("thread-")
	failed(t, err, codes.AmbiguousID, map[string]any{"count": 1})
}

func TestAnAmbiguousPrefixNamesTheCandidates(t *testing.T) {
	t.Parallel()
	w := lookups(t)
	w.objective("obj-two2aaaa")
	w.objective("obj-two2bbbb")
	w.tied("ref-aaaa1111", "thread-aaaa1111", "main")
	w.tied("ref-aaaa2222", "thread-aaaa2222", "main")
	cases := []struct {
		name, arg  string
		find       func(string) error
		candidates []string
		next       string
	}{
		{"of live threads", "thread-aaaa", func(a string) error { _, err := w.Thread(a); return err },
			[]string{"thread-aaaa1111", "thread-aaaa2222"}, "leslie status thread-aaaa1111"},
		{"of archived threads", "thread-cccc", func(a string) error { _, err := w.Thread(a); return err },
			[]string{"thread-cccc1111", "thread-cccc2222"}, "leslie status thread-cccc1111"},
		{"of objectives", "obj-two2", func(a string) error { _, err := w.Objective(a); return err },
			[]string{"obj-two2aaaa", "obj-two2bbbb"}, "leslie objective status obj-two2aaaa"},
		{"of references", "ref-aaaa", func(a string) error { _, err := w.Reference(a); return err },
			[]string{"ref-aaaa1111", "ref-aaaa2222"}, "leslie reference show ref-aaaa1111"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := failed(t, c.find(c.arg), codes.AmbiguousID, map[string]any{"prefix": c.arg, "count": 2, "candidates": c.candidates})
			assert.Equal(t, []string{c.next}, e.Next())
			listed, more := e.Candidates()
			require.Len(t, listed, 2)
			assert.Zero(t, more)
			assert.Equal(t, c.candidates[0], listed[0].ID)
			assert.NotEmpty(t, listed[0].Label)
		})
	}
}

func TestManyCandidatesAreCountedAndTheFirstShown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	for i := range 30 {
		w.threads("thread-same" + string(rune('a'+i/10)) + string(rune('a'+i%10)))
	}
	_, err := w.Thread("thread-same")
	e := failed(t, err, codes.AmbiguousID, map[string]any{"count": 30})
	shown, _ := e.Facts().Get("candidates")
	assert.Len(t, shown, 20)
	listed, more := e.Candidates()
	assert.Len(t, listed, 20)
	assert.Equal(t, 10, more)
}

func TestAMissingThreadNamesTheNearest(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "main", "thread-abcdefgh", "thread-zzzzzzzz")
	cases := []struct{ arg, near string }{
		{"mian", "main"}, // neighbours swapped
		{"mixx", ""},     // two of four characters differ
		{"mains", "main"},
		{"thread-abcdefgx", "thread-abcdefgh"},
		{"thraed-abcdefgh", "thread-abcdefgh"},
		{"thread-abcxxxxx", ""},
		{"thread-xyz", ""}, // only the kind's own part is alike
		{"nothing", ""},
	}
	for _, c := range cases {
		_, err := w.Thread(c.arg)
		e := failed(t, err, codes.ThreadNotFound, map[string]any{"threadId": c.arg})
		near := e.Facts().Text("nearest")
		assert.Equal(t, c.near, near, "%s", c.arg)
		want := "leslie list"
		if c.near != "" {
			want = "leslie status " + c.near
		}
		assert.Equal(t, []string{want}, e.Next(), "%s", c.arg)
	}
}

func TestAnArchivedReferenceIsFound(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "a", "b")
	was := w.tied("ref-abcdefgh", "a", "b")
	w.moved("a", thread.Done, thread.Archive)
	for _, arg := range []string{"ref-abcdefgh", "ref-abcd"} {
		ref, err := w.Reference(arg)
		require.NoError(t, err)
		assert.Equal(t, was, ref)
	}
	_, err := w.Reference("ref-abcdefgx")
	failed(t, err, codes.ReferenceNotFound, map[string]any{"refId": "ref-abcdefgx"})
}

func TestTheArchiveIsReadOnlyWhenItMayHoldWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	w := withThreads(t, "thread-aaaa1111")
	for _, arg := range []string{"thread-aaaa1111", "thread-aaaa"} {
		_, err := w.Thread(arg)
		require.NoError(t, err)
	}
	_, err := w.List(thread.Filter{})
	require.NoError(t, err)
	assert.Zero(t, w.archive.reads)
	_, err = w.Thread("thread-bbbb")
	require.Error(t, err)
	assert.Equal(t, 1, w.archive.reads, "and then once")
}

func TestAStateWithoutAnArchiveAnswers(t *testing.T) {
	t.Parallel()
	s := thread.NewState(0, nil, nil)
	assert.False(t, s.Exists("a"))
	_, err := s.Thread("thread-aaaa")
	failed(t, err, codes.ThreadNotFound, nil)
	all, err := s.List(thread.Filter{All: true})
	require.NoError(t, err)
	assert.Empty(t, all)
}

func TestNamesOfDevicesAreNoNewIDs(t *testing.T) {
	t.Parallel()
	s := thread.NewState(0, thread.Records{}, nil)
	_, err := s.CreateObjective(thread.NewObjective{ID: "ship", Title: "Ship"}, thread.Stamp{})
	require.NoError(t, err)
	for _, id := range []string{"nul", "CON", "Aux", "prn", "com1", "COM9", "lpt5"} {
		_, err := s.Spawn(thread.NewThread{ID: thread.ThreadID(id), Objective: "ship", Intent: "x"}, thread.Stamp{})
		assert.True(t, codes.Has(err, codes.InvalidArgument), "%s: %v", id, err)
		_, err = s.CreateObjective(thread.NewObjective{ID: thread.ObjectiveID(id), Title: "x"}, thread.Stamp{})
		assert.True(t, codes.Has(err, codes.InvalidArgument), "%s: %v", id, err)
	}
	for _, id := range []string{"null", "com", "com0", "com10", "lpt", "console", "nul-1"} {
		_, err := s.Spawn(thread.NewThread{ID: thread.ThreadID(id), Objective: "ship", Intent: "x"}, thread.Stamp{})
		assert.NoError(t, err, id)
	}
}
