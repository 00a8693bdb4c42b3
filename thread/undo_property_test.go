package thread_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

// This file runs random operations and undoes them. It compares the result of an undo
// with the records of the State before and after the operation, field by field.

// tables has the records of a State: record -> field -> JSON, without the fields that
// every change updates.
type tables map[string]map[string]string

func fieldsOf(records thread.Records) tables {
	out := tables{}
	for table, lines := range records {
		for _, line := range lines {
			var raw map[string]json.RawMessage
			if err := json.Unmarshal(line.JSON, &raw); err != nil {
				panic(err)
			}
			record := map[string]string{}
			for name, value := range raw {
				if name != "revision" && name != "updatedAt" {
					record[name] = string(value)
				}
			}
			if claim, ok := raw["claim"]; ok { // it goes on while its holder works, whatever is undone
				record["claim"] = holderOf(claim)
			}
			out[table+"/"+line.ID] = record
		}
	}
	return out
}

// differences returns the fields in which two States differ.
func differences(want, got tables) (out []string) {
	for _, side := range []tables{want, got} {
		for record, fields := range side {
			for name := range fields {
				// Reverted ranges are never removed.
				if name != "reverted" && want[record][name] != got[record][name] {
					out = append(out, fmt.Sprintf("%s %s: %q, not %q", record, name, got[record][name], want[record][name]))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func holderOf(claim json.RawMessage) string {
	var c thread.Claim
	if err := json.Unmarshal(claim, &c); err != nil {
		panic(err)
	}
	return c.Holder
}

// undoer runs operations and keeps every earlier State.
type undoer struct {
	*player
	was map[thread.Revision]tables
}

func newUndoer(t *testing.T, at uint64) *undoer {
	return &undoer{
		player: &player{fixture: newFixture(t), r: rand.New(rand.NewPCG(at, 1)), seed: at},
		was:    map[thread.Revision]tables{0: {}},
	}
}

func (u *undoer) play(t *testing.T) {
	t.Helper()
	u.operation(t)
	u.was[u.Revision] = fieldsOf(lines(u.State))
}

// tryUndo undoes an operation on a fresh copy of the State. A refusal must change
// nothing.
func (u *undoer) tryUndo(t *testing.T, op thread.Operation, as thread.ActorKind) (tables, error) {
	t.Helper()
	s := thread.NewState(u.Revision, lines(u.State), u.archive)
	in, err := s.Invert(op, u.stamp(as))
	if err != nil {
		require.NotNil(t, codes.Of(err), "-seed %d: %v has no code", u.seed, err)
		require.Empty(t, s.Changes(), "-seed %d: an undo of %d failed with %v and changed something", u.seed, op.Seq, err)
		return nil, err
	}
	require.NotEmpty(t, s.Changes(), "-seed %d: an undo of %d that changed nothing", u.seed, op.Seq)
	require.Equal(t, s.Changes(), in.Changes, "-seed %d", u.seed)
	u.requireSoundly(t, s, op)
	return fieldsOf(lines(s)), nil
}

// requireSoundly asserts the invariants of every State after an undo.
func (u *undoer) requireSoundly(t *testing.T, s *thread.State, op thread.Operation) {
	t.Helper()
	records := lines(s)
	cold := &archive{all: u.archive.all, lines: map[string][]thread.Line{}, taken: u.archive.taken}
	cold.settle(records)
	after := &player{fixture: &fixture{State: thread.NewState(s.Revision+1, records, cold), t: t, archive: cold}, seed: u.seed}
	defer func() {
		if t.Failed() {
			t.Logf("undone: %d %s", op.Seq, op.Changes)
		}
	}()
	after.requireSound(t)
	for o := range after.Objectives.All() {
		for status, n := range after.CountsOf(o) {
			require.False(t, o.Done() && n > 0 && !status.Terminated(), "-seed %d: %s is done with threads that are %s", u.seed, o.ID, status)
		}
	}
	for th := range after.Threads.All() {
		for _, id := range append(slices.Clone(th.DependsOn), th.ParentID) {
			if id != "" {
				_, err := after.Thread(string(id))
				require.NoError(t, err, "-seed %d: %s names %s", u.seed, th.ID, id)
			}
		}
	}
}

func lives(t *testing.T) (first uint64, n int) {
	t.Helper()
	if *seed > 1 {
		return *seed, 1
	}
	n = 12
	if testing.Short() {
		n = 4
	}
	return drawn(), n
}

// touches reports whether an operation changed a record of a table.
func touches(op thread.Operation, table string) bool {
	return slices.ContainsFunc(op.Changes, func(c thread.Change) bool { return strings.HasPrefix(c.Record, table+"/") })
}

// mayRefuse reports whether undoing the very last operation may be refused with this
// error: only for what can never be undone.
func mayRefuse(err error) bool {
	if codes.Has(err, codes.NotWritable) {
		return true // the operation itself ended a thread whose files it changed
	}
	reasons := regexp.MustCompile(`merge '.*' (is|was|is no longer)|it restored files|deadline of|archive|nothing that can be undone`)
	return codes.Has(err, codes.UndoConflict) && reasons.MatchString(err.Error())
}

func TestUndoOfTheLastOperationGivesTheStateBeforeIt(t *testing.T) {
	t.Parallel()
	first, n := lives(t)
	undone, refused := 0, 0
	for life := range n {
		u := newUndoer(t, first+uint64(life))
		for range 120 {
			u.play(t)
			op := u.done[len(u.done)-1]
			if len(op.Changes) == 0 {
				continue
			}
			got, err := u.tryUndo(t, op, thread.User)
			switch {
			case err != nil:
				require.True(t, mayRefuse(err), "-seed %d, revision %d: %v\n%s", u.seed, op.Seq, err, op.Changes)
				refused++
			case !touches(op, thread.TableMerges): // an applied merge does not begin to wait again
				require.Empty(t, differences(u.was[op.Seq-1], got), "-seed %d, revision %d: %s", u.seed, op.Seq, op.Changes)
				undone++
			}
		}
	}
	t.Logf("%d undone, %d refused", undone, refused)
	assert.Greater(t, undone, 3*refused, "most operations can be undone")
}

func TestUndoOfAnEarlierOperationKeepsAllThatWasDoneSince(t *testing.T) {
	t.Parallel()
	first, n := lives(t)
	undone, refused := 0, 0
	for life := range n {
		u := newUndoer(t, first+uint64(life))
		for range 120 {
			u.play(t)
			op := u.done[max(0, len(u.done)-2-u.r.IntN(10))]
			got, err := u.tryUndo(t, op, thread.User)
			if err != nil {
				require.True(t, codes.Has(err, codes.UndoConflict) || codes.Has(err, codes.NotWritable), "-seed %d: %v", u.seed, err)
				refused++
				continue
			}
			undone++
			u.requireKept(t, op, got)
		}
	}
	t.Logf("%d undone, %d refused", undone, refused)
	assert.Greater(t, undone, n*10, "too few undone to say anything")
}

// requireKept asserts that fields changed by later operations are unchanged by the
// undo, and that fields changed by the operation have their old values.
func (u *undoer) requireKept(t *testing.T, op thread.Operation, got tables) {
	t.Helper()
	before, then, now := u.was[op.Seq-1], u.was[op.Seq], u.was[u.Revision]
	names := maps.Clone(now)
	maps.Copy(names, got)
	for record := range names {
		say := func(what string) string { return fmt.Sprintf("-seed %d: %s %s", u.seed, record, what) }
		_, was := now[record]
		_, is := got[record]
		switch {
		case was && !is:
			require.NotContains(t, before, record, say("is gone"))
			require.Equal(t, withoutClaim(then[record]), withoutClaim(now[record]), say("is gone although it was changed"))
		case !was && is:
			require.Contains(t, before, record, say("came back"))
			require.NotContains(t, then, record, say("came back although a later operation took it away"))
		default:
			u.requireFieldsKept(t, record, before[record], then[record], now[record], got[record])
		}
	}
}

func withoutClaim(record map[string]string) map[string]string {
	out := maps.Clone(record)
	delete(out, "claim")
	return out
}

func (u *undoer) requireFieldsKept(t *testing.T, record string, before, then, now, got map[string]string) {
	t.Helper()
	fields := map[string]bool{}
	for _, one := range []map[string]string{before, then, now, got} {
		for name := range one {
			fields[name] = true
		}
	}
	for name := range fields {
		settled := name == "status" && strings.Contains(before[name]+now[name]+got[name], "waiting_human")
		switch {
		case name == "archived", name == "checkpoints", name == "claim", name == "injections", name == "reverted", name == "undone", settled:
			continue // more than values: they have tests of their own
		case got[name] == now[name]:
			continue
		}
		require.Equal(t, then[name], now[name], "-seed %d: %s of %s was changed since and is %s", u.seed, name, record, got[name])
		require.Equal(t, before[name], got[name], "-seed %d: %s of %s goes back to what it was", u.seed, name, record)
	}
}

// An undo by an agent never grants anything, never withdraws an open request, and never
// changes a person's decision.
func TestAnAgentGainsNothingByUndo(t *testing.T) {
	t.Parallel()
	first, n := lives(t)
	undone, refused := 0, 0
	for life := range n {
		u := newUndoer(t, first+uint64(life))
		for range 160 {
			u.play(t)
			op := u.done[max(0, len(u.done)-1-u.r.IntN(6))]
			now := u.was[u.Revision]
			got, err := u.tryUndo(t, op, thread.Agent)
			if op.As != thread.Agent {
				failed(t, err, codes.PermissionDenied, nil)
			}
			if err != nil {
				if codes.Has(err, codes.PermissionDenied) {
					refused++
				}
				continue
			}
			undone++
			u.requireNothingGranted(t, now, got)
		}
	}
	t.Logf("%d undone, %d denied", undone, refused)
	assert.Greater(t, undone, n*10, "too few undone to say anything")
}

func (u *undoer) requireNothingGranted(t *testing.T, now, got tables) {
	t.Helper()
	for record, g := range got {
		if !strings.HasPrefix(record, thread.TableApprovals+"/") {
			continue
		}
		_, live := now[thread.TableThreads+"/"+strings.Trim(g["threadId"], `"`)]
		if g["status"] == `"approved"` && live {
			require.Equal(t, `"approved"`, now[record]["status"], "-seed %d: %s was granted by undo", u.seed, record)
		}
	}
	for record, was := range now {
		switch {
		case strings.HasPrefix(record, thread.TableApprovals+"/") && was["status"] == `"open"`:
			require.Equal(t, `"open"`, got[record]["status"], "-seed %d: %s is not asked any more", u.seed, record)
		case strings.HasPrefix(record, thread.TableApprovals+"/") && strings.Contains(was["decided"], `"user"`):
			require.Equal(t, was, got[record], "-seed %d: a person's decision", u.seed)
		case strings.HasPrefix(record, thread.TableThreads+"/") && was["status"] == `"waiting_human"`:
			require.Equal(t, `"waiting_human"`, got[record]["status"], "-seed %d: %s does not wait any more", u.seed, record)
		}
	}
}

// Undo, undo, redo, redo: the records are as before each, and the operations in between
// can be undone and redone again.
func TestRedoGivesTheStateBeforeTheUndo(t *testing.T) {
	t.Parallel()
	first, n := lives(t)
	redone, refused := 0, 0
	for life := range n {
		u := newUndoer(t, first+uint64(life))
		for range 60 {
			u.play(t)
			steps := 1 + u.r.IntN(4)
			var undos []thread.Operation
			states := []tables{u.was[u.Revision]}
			for _, op := range slices.Backward(slices.Clone(u.done[max(0, len(u.done)-steps):])) {
				if undo, ok := u.reverse(t, op); ok {
					undos = append(undos, undo)
					states = append(states, u.was[u.Revision])
				} else {
					break
				}
			}
			for i, undo := range slices.Backward(undos) {
				_, ok := u.reverse(t, undo)
				if !ok {
					refused++
					break
				}
				redone++
				require.Equal(t, states[i], u.was[u.Revision], "-seed %d, revision %d: %s", u.seed, undo.Seq, undo.Changes)
			}
		}
	}
	t.Logf("%d redone, %d refused", redone, refused)
	assert.Greater(t, redone, 4*refused, "nearly every undo can be redone")
}

// reverse undoes or redoes an operation, as an operation of its own; ok is false if the
// rules refuse it.
func (u *undoer) reverse(t *testing.T, op thread.Operation) (done thread.Operation, ok bool) {
	t.Helper()
	in, err := u.Invert(op, u.stamp(thread.User))
	if err != nil {
		require.NotNil(t, codes.Of(err), "-seed %d: %v has no code", u.seed, err)
		require.Empty(t, u.Changes(), "-seed %d: an undo of %d failed with %v and changed something", u.seed, op.Seq, err)
		return done, false
	}
	done = u.commit()
	done.As, done.Command = thread.User, "undo"
	done.Reversal = thread.Reversal{Undoes: op.ID, Redoes: op.Undoes}
	for _, r := range in.Replaced {
		done.Files = append(done.Files, thread.Replaced{ThreadID: r.ThreadID, List: "back-" + r.List})
	}
	if op.Undoes != "" { // a redo restores what the undo replaced, and nothing else
		require.ElementsMatch(t, op.Files, in.Replaced, "-seed %d", u.seed)
	}
	done = recorded(t, done)
	u.done = append(u.done, done)
	u.was[u.Revision] = fieldsOf(lines(u.State))
	return done, true
}
