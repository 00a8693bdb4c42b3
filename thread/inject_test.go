package thread_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

// injected injects into a thread and commits.
func (w *fixture) injected(id string, urgency thread.Urgency, content string) thread.Injection {
	w.t.Helper()
	i, _, err := w.Inject(thread.NewInjection{
		ID: thread.InjectionID(fmt.Sprintf("inj-%08d", w.Revision)), Thread: id, Type: thread.InjectFeedback, Urgency: urgency, Content: content,
	}, w.stamp(thread.User))
	require.NoError(w.t, err)
	w.commit()
	return i
}

func (w *fixture) it() thread.Thread {
	w.t.Helper()
	t, err := w.Thread("it")
	require.NoError(w.t, err)
	return t
}

func TestAThreadAcceptsInjectionsUntilItIsTerminated(t *testing.T) {
	t.Parallel()
	for _, status := range thread.Statuses() {
		w := standing(t, status)
		stamp := w.stamp(thread.Agent)
		i, th, err := w.Inject(thread.NewInjection{ID: "inj-1", Thread: "it", Type: thread.InjectData, Urgency: thread.NextStep, Content: "x\xff"}, stamp)
		if status.Terminated() {
			failed(t, err, codes.NotWritable, map[string]any{"threadId": thread.ThreadID("it"), "status": status})
			assert.Empty(t, w.Changes())
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, thread.Injection{
			ID: "inj-1", Type: thread.InjectData, Urgency: thread.NextStep, Content: "x\uFFFD",
			Created: thread.Attribution{At: stamp.Time, As: thread.Agent, Actor: "ann"},
		}, i)
		assert.Equal(t, []thread.Injection{i}, th.Injections)
		assert.Equal(t, status, th.Status)
		assert.Equal(t, w.Revision+1, th.Revision)
	}
	w := standing(t, thread.Active)
	_, _, err := w.Inject(thread.NewInjection{ID: "inj-1", Thread: "is"}, w.stamp(thread.User))
	failed(t, err, codes.ThreadNotFound, nil)
}

func TestAThreadHasAtMostAHundredUnseenInjections(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	var all []thread.InjectionID
	for range 100 {
		all = append(all, w.injected("it", thread.NextStep, "x").ID)
	}
	in := thread.NewInjection{ID: "inj-more", Thread: "it", Type: thread.InjectData, Urgency: thread.Immediate, Content: "x"}
	_, _, err := w.Inject(in, w.stamp(thread.User))
	e := failed(t, err, codes.TooLarge, map[string]any{"limit": 100, "threadId": thread.ThreadID("it")})
	assert.Equal(t, "the number of injections that 'it' has not seen is larger than 100. Nothing was changed.", e.Error())
	assert.Equal(t, []string{"leslie status it"}, e.Next())
	assert.Empty(t, w.Changes())

	_, err = w.See("it", all[:1], w.stamp(thread.Agent))
	require.NoError(t, err)
	w.commit()
	_, _, err = w.Inject(in, w.stamp(thread.User))
	require.NoError(t, err)
}

func TestImmediateInjectionsComeFirstThenTheOldest(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	for _, urgency := range []thread.Urgency{thread.NextStep, thread.Immediate, thread.NextStep, thread.Immediate} {
		w.injected("it", urgency, fmt.Sprint(w.Revision))
	}
	seen := w.injected("it", thread.Immediate, "seen")
	_, err := w.See("it", []thread.InjectionID{seen.ID}, w.stamp(thread.Agent))
	require.NoError(t, err)
	var order []string
	for _, i := range w.it().Unseen() {
		order = append(order, i.Content)
	}
	first := w.it().Injections[0].Content
	var n int
	_, err = fmt.Sscan(first, &n)
	require.NoError(t, err)
	assert.Equal(t, []string{fmt.Sprint(n + 1), fmt.Sprint(n + 3), first, fmt.Sprint(n + 2)}, order)
}

func TestASeenInjectionDropsItsContent(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	a, b := w.injected("it", thread.NextStep, "one"), w.injected("it", thread.NextStep, "two")
	stamp := w.stamp(thread.Agent)
	th, err := w.See("it", []thread.InjectionID{a.ID, "inj-nobody"}, stamp)
	require.NoError(t, err)
	want := a
	want.Content, want.Seen = "", &thread.Attribution{At: stamp.Time, As: thread.Agent, Actor: "ann"}
	assert.Equal(t, []thread.Injection{want, b}, th.Injections)
	assert.Equal(t, []thread.Injection{b}, th.Unseen())
	w.commit()

	again, err := w.See("it", []thread.InjectionID{a.ID}, w.stamp(thread.User))
	require.NoError(t, err)
	assert.Equal(t, th, again, "who saw it first has seen it")
	assert.Empty(t, w.Changes())
	_, err = w.See("is", nil, stamp)
	failed(t, err, codes.ThreadNotFound, nil)
}

func TestAnArchivedThreadKeepsUnseenInjections(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	i := w.injected("it", thread.NextStep, "late")
	w.moved("it", thread.Done, thread.Archive)
	th, err := w.See("it", []thread.InjectionID{i.ID}, w.stamp(thread.Agent))
	require.NoError(t, err)
	assert.Equal(t, []thread.Injection{i}, th.Injections)
	assert.Empty(t, w.Changes(), "records of archived threads are never rewritten")
}

func TestTheNewestTwentySeenInjectionsAreKeptAndEveryUnseenOne(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	waits := w.injected("it", thread.NextStep, "waits")
	var all []thread.InjectionID
	for range 25 {
		all = append(all, w.injected("it", thread.NextStep, "x").ID)
	}
	_, err := w.See("it", all[:24], w.stamp(thread.Agent))
	require.NoError(t, err)
	w.commit()
	var kept []thread.InjectionID
	for _, i := range w.it().Injections {
		kept = append(kept, i.ID)
	}
	assert.Equal(t, append([]thread.InjectionID{waits.ID}, all[4:]...), kept)
	_, err = w.See("it", all[24:], w.stamp(thread.Agent))
	require.NoError(t, err)
	assert.Len(t, w.it().Injections, 21)
	assert.Equal(t, waits, w.it().Injections[0])
	assert.Equal(t, all[5], w.it().Injections[1].ID)
}

func TestInjectionsReplayFromTheJournal(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	for n := range 60 {
		old, rev := lines(w.State), w.Revision
		if unseen := w.it().Unseen(); n%3 == 2 {
			_, err := w.See("it", []thread.InjectionID{unseen[0].ID}, w.stamp(thread.Agent))
			require.NoError(t, err)
		} else {
			_, _, err := w.Inject(thread.NewInjection{
				ID: thread.InjectionID(fmt.Sprintf("inj-%08d", n)), Thread: "it", Type: thread.InjectData, Urgency: thread.Immediate, Content: "<b>\n\u2028\xff",
			}, w.stamp(thread.User))
			require.NoError(t, err)
		}
		op := recorded(t, w.commit())
		replayed := thread.NewState(rev, old, nil)
		require.NoError(t, replayed.Apply(op))
		requireLines(t, lines(w.State), lines(replayed), "revision %d", op.Seq)
	}
}

// A forked State shares slices with the original.
func TestAForkedStateIsIndependent(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	for _, content := range []string{"one", "two", "three"} { // so that the slice has room
		w.injected("it", thread.NextStep, content)
	}
	was := w.it()
	one, other := w.Fork(), w.Fork()
	for i, s := range []*thread.State{one, other} {
		_, _, err := s.Inject(thread.NewInjection{ID: thread.InjectionID(fmt.Sprint("inj-", i)), Thread: "it", Content: "x"}, w.stamp(thread.User))
		require.NoError(t, err)
	}
	th, err := one.Thread("it")
	require.NoError(t, err)
	assert.Equal(t, thread.InjectionID("inj-0"), th.Injections[3].ID)
	_, err = w.Fork().See("it", []thread.InjectionID{was.Injections[0].ID}, w.stamp(thread.Agent))
	require.NoError(t, err)
	assert.Equal(t, "one", w.it().Injections[0].Content)
	assert.Nil(t, w.it().Injections[0].Seen)
}

func TestAnInjectionIDIsTakenIfAnyThreadHasIt(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	i := w.injected("it", thread.NextStep, `"injectionId":"inj-forged"`)
	assert.True(t, w.InjectionExists(string(i.ID)))
	assert.False(t, w.InjectionExists("inj-forged"), "content is no id")
}

// Any injection gives exactly one line that decodes to it and contains no terminal
// control characters.
func TestAnInjectionIsAlwaysOneLine(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 0))
	contents := []string{"", "a\nb\r\nc", "\u2028\u2029\u0085\v\f", "\x1b[2J\u009b2J\x7f", "\U000e0041\u202e\ufeff", `{"injectionId":"inj-2"}`, "\"}\n{", "ü 漢 😀"}
	for range 2000 {
		raw := make([]byte, r.IntN(40))
		for i := range raw {
			raw[i] = byte(r.UintN(256))
		}
		contents = append(contents, strings.ToValidUTF8(string(raw), "?"))
	}
	for _, content := range contents {
		in := thread.Injection{
			ID: "inj-1", Type: thread.InjectConstraint, Urgency: thread.Immediate, Content: content,
			Created: thread.Attribution{At: noon, As: thread.User, Actor: "a\nb"},
		}
		line := in.Line()
		require.Equal(t, -1, strings.IndexFunc(line, func(r rune) bool {
			return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
		}), "%q", line)
		var got map[string]string
		require.NoError(t, json.Unmarshal([]byte(line), &got))
		require.Equal(t, map[string]string{
			"injectionId": "inj-1", "type": "constraint", "urgency": "immediate", "content": content,
			"createdAt": noon.Format(time.RFC3339), "as": "user", "actor": "a\nb",
		}, got)
	}
}

func TestASeenConstraintKeepsItsBeginning(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	inject := func(id thread.InjectionID, kind thread.InjectionType, content string) {
		_, _, err := w.Inject(thread.NewInjection{ID: id, Thread: "it", Type: kind, Urgency: thread.NextStep, Content: content}, w.stamp(thread.User))
		require.NoError(t, err)
	}
	see := func(ids ...thread.InjectionID) {
		_, err := w.See("it", ids, w.stamp(thread.Agent))
		require.NoError(t, err)
	}
	long := strings.Repeat("é", thread.MaxConstraint)
	inject("inj-1", thread.InjectConstraint, long)
	inject("inj-2", thread.InjectConstraint, long+"x")
	inject("inj-3", thread.InjectFeedback, long)
	see("inj-1", "inj-2", "inj-3")
	held := w.it().SeenConstraints()
	require.Len(t, held, 2, "newest first")
	assert.Equal(t, []any{thread.InjectionID("inj-2"), long, true}, []any{held[0].ID, held[0].Content, held[0].Cut})
	assert.Equal(t, []any{thread.InjectionID("inj-1"), long, false}, []any{held[1].ID, held[1].Content, held[1].Cut})
	assert.Empty(t, w.it().Injections[2].Content)

	for i := range 30 {
		id := thread.InjectionID(fmt.Sprintf("inj-more-%d", i))
		inject(id, thread.InjectData, "x")
		see(id)
	}
	assert.Len(t, w.it().SeenConstraints(), 2, "other injections do not push them out")
	assert.Len(t, w.it().Injections, 22)
	_, err := w.Lifecycle("it", thread.Done, "", w.stamp(thread.User))
	require.NoError(t, err)
	assert.Empty(t, w.it().SeenConstraints(), "the thread has ended")
}

func TestTheNearestWorktreeSaysForWhichThreadSomebodyWorks(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("ship")
	for id, tree := range map[string]string{"out": "/wt", "in": "/wt/in", "one": "shared", "two": "shared", "gone": "/gone", "none": ""} {
		w.threads(id)
		_, err := w.Edit(id, thread.Edit{Worktree: &tree}, w.stamp(thread.User))
		require.NoError(t, err)
	}
	_, err := w.Lifecycle("gone", thread.Done, "", w.stamp(thread.User))
	require.NoError(t, err)
	for dir, want := range map[string]thread.ThreadID{
		"/wt": "out", "/wt/sub": "out", "/wt/in": "in", "/wt/in/deep/er": "in", "/wt/inside": "out", "/wtx": "", "shared": "", "shared/x": "", "/gone": "", "x": "",
	} {
		got, ok := w.WorktreeOwner(dir)
		assert.Equal(t, want != "", ok, dir)
		if ok {
			assert.Equal(t, want, got.ID, dir)
		}
	}
}
