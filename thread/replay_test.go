package thread_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// The seed is fixed, so that runs are repeatable; 0 chooses a random one.
var seed = flag.Uint64("seed", 1, "play the random operations of this seed; 0 draws one")

func drawn() uint64 {
	if *seed == 0 {
		return rand.Uint64()
	}
	return *seed
}

// Replaying a journal must be exact: the changes of any rules, read back from the
// journal's JSON, lead from the old lines to the new ones, byte for byte, and their
// inversion leads back.
func TestChangesReplayExactly(t *testing.T) {
	t.Parallel()
	first := drawn()
	lives, operations := 24, 150
	if testing.Short() {
		lives = 6
	}
	played := 0
	for life := range lives {
		at := first + uint64(life)
		w := newFixture(t)
		p := &player{fixture: w, r: rand.New(rand.NewPCG(at, 0)), seed: at}
		for range operations {
			played += p.operation(t)
		}
		p.requireSound(t)
	}
	require.Greater(t, played, lives*operations/3, "too few of the random rules succeeded to say anything")
}

// player runs random operations on a fixture.
type player struct {
	*fixture
	r    *rand.Rand
	seed uint64
	n    int // of ids given out
	// done has the operations so far, as in the journal; as is the actor of the next
	// one.
	done []thread.Operation
	as   thread.ActorKind
	undo bool // it undoes
}

// operation runs one to three rules as one operation, checks its replay, and returns
// how many rules changed something.
func (p *player) operation(t *testing.T) (changed int) {
	t.Helper()
	old, rev := lines(p.State), p.Revision
	p.as, p.undo = []thread.ActorKind{thread.User, thread.Agent}[p.r.IntN(2)], false
	for range 1 + p.r.IntN(3) {
		was := len(p.Changes())
		if err := p.rule(); err != nil {
			require.Len(t, p.Changes(), was, "-seed %d, revision %d: a rule failed with %v and changed something", p.seed, rev, err)
		} else if len(p.Changes()) > was {
			changed++
		}
	}
	op := p.commit()
	op.As = p.as
	if p.undo {
		op.Command = "undo"
	}
	read := recorded(t, op)
	p.done = append(p.done, recorded(t, op))

	replayed := thread.NewState(rev, old, nil)
	require.NoError(t, replayed.Apply(read), "-seed %d, revision %d", p.seed, rev)
	require.Equal(t, op.Seq, replayed.Revision)
	requireLines(t, lines(p.State), lines(replayed), "-seed %d, revision %d: the replay differs", p.seed, rev)

	for i := range read.Changes {
		c := &read.Changes[i]
		c.Before, c.After = c.After, c.Before
	}
	undone := thread.NewState(op.Seq, lines(p.State), nil)
	require.NoError(t, undone.Apply(read), "-seed %d, revision %d", p.seed, rev)
	requireLines(t, old, lines(undone), "-seed %d, revision %d: the inversion differs", p.seed, rev)
	if len(op.Changes) == 0 {
		requireLines(t, old, lines(p.State), "-seed %d, revision %d: no changes, other lines", p.seed, rev)
	}
	return changed
}

// recorded returns an operation as read back from a journal that, like the store's,
// does not escape HTML characters.
func recorded(t *testing.T, op thread.Operation) (read thread.Operation) {
	t.Helper()
	op.Changes = slices.Clone(op.Changes) // as the journal has them
	for i, c := range op.Changes {
		op.Changes[i] = c.Slim()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(op))
	require.NoError(t, json.Unmarshal(b.Bytes(), &read))
	return read
}

// rule runs one random rule, which may be refused.
func (p *player) rule() error {
	stamp := p.stamp(p.as)
	switch p.r.IntN(22) {
	case 0:
		_, err := p.CreateObjective(thread.NewObjective{ID: thread.ObjectiveID(p.newID("obj-")), Title: `<b> & "quotes" ` + "\u2028"}, stamp)
		return err
	case 1:
		_, err := p.FinishObjective(p.any(thread.TableObjectives), stamp)
		return err
	case 2, 3, 4:
		_, err := p.Spawn(thread.NewThread{
			ID: thread.ThreadID(p.newID("thread-")), Objective: p.any(thread.TableObjectives), Parent: p.maybe(thread.TableThreads),
			Title: "T", Intent: strings.Repeat("multi\nline ", 30), Tags: p.tags(), DependsOn: p.some(thread.TableThreads), Shared: "m1",
		}, stamp)
		return err
	case 5:
		title := fmt.Sprint("title ", p.r.IntN(3))
		_, err := p.Edit(p.any(thread.TableThreads), thread.Edit{
			Title: &title, AddTags: p.tags(), DropTags: p.tags(), AddDepends: p.some(thread.TableThreads),
		}, stamp)
		return err
	case 6, 7:
		_, _, err := p.Refer(thread.NewReference{
			ID: thread.ReferenceID(p.newID("ref-")), From: p.any(thread.TableThreads), Target: p.any(thread.TableThreads),
			Binding: []thread.Binding{thread.Frozen, thread.Live}[p.r.IntN(2)], Scope: p.tags(), Content: p.content(),
		}, stamp)
		return err
	case 8:
		_, err := p.Refresh(p.any(thread.TableReferences), p.content(), stamp)
		return err
	case 9:
		_, err := p.RemoveReference(p.any(thread.TableReferences))
		return err
	case 10, 11:
		return p.merge(stamp)
	case 12:
		if len(p.done) == 0 {
			return nil
		}
		recent := p.done[max(0, len(p.done)-8):]
		_, err := p.Invert(recent[p.r.IntN(len(recent))], stamp)
		p.undo = p.undo || err == nil
		return err
	case 17:
		_, _, err := p.Checkpoint(thread.NewCheckpoint{
			ID: thread.CheckpointID(p.newID("ckpt-")), Thread: p.any(thread.TableThreads), Name: []string{"", "a", "b"}[p.r.IntN(3)],
			Manifest: "m1", Undo: []thread.BlobID{"", "u"}[p.r.IntN(2)],
		}, stamp)
		return err
	case 18:
		id := p.any(thread.TableThreads)
		if p.r.IntN(3) == 0 {
			_, err := p.Release(id, "", stamp)
			return err
		}
		_, err := p.Claim(id, time.Hour, stamp)
		return err
	case 13, 14, 15, 16:
		return p.grant(stamp)
	}
	action := thread.Actions()[p.r.IntN(len(thread.Actions()))]
	_, err := p.Lifecycle(p.any(thread.TableThreads), action, "why", stamp)
	return err
}

// merge begins, decides, ends or applies a merge.
func (p *player) merge(stamp thread.Stamp) error {
	target, sources := p.any(thread.TableThreads), p.some(thread.TableThreads)
	pending := p.any(thread.TableMerges)
	switch p.r.IntN(4) {
	case 0:
		m := thread.Merge{ID: thread.MergeID(p.newID("merge-")), Target: thread.ThreadID(target), Scope: p.tags(), Strategy: []thread.Strategy{thread.Interactive, thread.HumanOnly}[p.r.IntN(2)]}
		for _, source := range sources {
			m.Sources = append(m.Sources, thread.ThreadID(source))
		}
		_, err := p.BeginMerge(m, stamp)
		return err
	case 1:
		declined := map[string]string{}
		for _, path := range p.tags() {
			declined[path] = "why <not>"
		}
		_, err := p.Decide(thread.MergeID(pending), func(have map[string]thread.Decision) (map[string]thread.Decision, error) {
			out := map[string]thread.Decision{}
			for id, d := range have {
				if p.r.IntN(3) > 0 {
					out[id] = d
				}
			}
			for _, id := range p.tags() {
				out[id] = thread.Decision{Take: "ours", How: "user", Reason: fmt.Sprint(p.n)}
			}
			return out, nil
		}, declined, thread.DefaultPolicy(), stamp)
		return err
	case 2:
		_, err := p.EndMerge(pending, "it was aborted", stamp)
		return err
	}
	var shares []thread.Share
	for _, source := range sources {
		shares = append(shares, thread.Share{With: thread.ThreadID(source), Manifest: thread.BlobID(fmt.Sprint("m", p.n)), Scope: p.tags(), How: "merge", Undo: "u"})
	}
	_, err := p.RecordMerge(thread.ThreadID(target), shares, stamp)
	return err
}

func (p *player) newID(prefix string) string {
	p.n++
	return fmt.Sprintf("%s%08d", prefix, p.n*7919%100_000_000)
}

// any returns a random id of a table, rarely one of an archived or unknown record.
func (p *player) any(table string) string {
	from := p.Lines(table)
	if cold := p.archive.lines[table]; p.r.IntN(8) == 0 && len(cold) > 0 {
		from = cold
	}
	if len(from) == 0 || p.r.IntN(40) == 0 {
		return "nobody"
	}
	return from[p.r.IntN(len(from))].ID
}

func (p *player) maybe(table string) string {
	if p.r.IntN(2) == 0 {
		return ""
	}
	return p.any(table)
}

func (p *player) some(table string) (out []string) {
	for range p.r.IntN(3) {
		out = append(out, p.any(table))
	}
	return out
}

func (p *player) tags() (out []string) {
	for range p.r.IntN(3) {
		out = append(out, string(rune('a'+p.r.IntN(4))))
	}
	return out
}

func (p *player) content() thread.Content {
	return []thread.Content{{Manifest: "m1", Files: 1}, {Manifest: "m2", Files: 2}, {Unresolved: thread.ReasonMissing}}[p.r.IntN(3)]
}

// grant requests or delegates capabilities, decides, or lets time pass.
func (p *player) grant(stamp thread.Stamp) error {
	in := thread.NewGrant{
		ID: thread.ApprovalID(p.newID("appr-")), Thread: p.any(thread.TableThreads), Scope: []string{"deploy", "read"}[p.r.IntN(2):],
		Reason: "why <not>", Timeout: time.Duration(p.r.IntN(5)) * time.Minute, Fallback: []thread.Fallback{"", thread.Skip, thread.AutoApprove}[p.r.IntN(3)],
	}
	switch p.r.IntN(6) {
	case 0:
		_, _, err := p.Delegate(in, thread.DefaultPolicy(), stamp)
		return err
	case 1:
		p.Expire(stamp)
		return nil
	case 2:
		_, err := p.HandOff(in.Thread, []thread.Executor{thread.ByHuman, thread.ByAgent}[p.r.IntN(2)], "why", stamp)
		return err
	case 3:
		m, ok := p.Merges.Peek(p.any(thread.TableMerges))
		if !ok {
			return nil
		}
		in.Fallback, in.Plan = thread.Block, thread.BlobID(fmt.Sprint("p", p.r.IntN(2)))
		_, _, err := p.AskMerge(m, in, stamp)
		return err
	case 4:
		_, _, err := p.Request(in, stamp)
		return err
	}
	d := []thread.GrantDecision{thread.Approve, thread.Deny, thread.Revoke}[p.r.IntN(3)]
	_, _, err := p.DecideGrant(p.any(thread.TableApprovals), d, "so", stamp)
	return err
}

// requireGrants asserts that a thread waits exactly while it has an open request, that
// no grant outlives its thread's record, and that only a person, or a deadline set by
// a person, granted anything beyond the policy.
func (p *player) requireGrants(t *testing.T) {
	t.Helper()
	for th := range p.Threads.All() {
		open := len(p.OpenRequests(th.ID)) > 0
		require.Equal(t, open, th.Status == thread.WaitingHuman, "-seed %d: %s is %s, a request is open: %v", p.seed, th.ID, th.Status, open)
		why, err := p.Can(string(th.ID), "deploy", thread.DefaultPolicy(), p.stamp(thread.User).Time)
		if err != nil {
			continue
		}
		g, ok := p.Approvals.Peek(string(why.Grant))
		require.True(t, ok, "-seed %d", p.seed)
		person := g.Decided.As == thread.User || g.DecidedByDeadline() && g.Created.As == thread.User
		require.True(t, person, "-seed %d: %s has deploy by %+v", p.seed, th.ID, g)
	}
	for g := range p.Approvals.All() {
		_, live := p.Threads.Peek(string(g.ThreadID))
		require.True(t, live, "-seed %d: %s stayed without its thread", p.seed, g.ID)
	}
}

// requireSound asserts the invariants of every State.
func (p *player) requireSound(t *testing.T) {
	t.Helper()
	archived := map[thread.ObjectiveID]int{}
	cold, err := p.List(thread.Filter{Status: thread.Archived})
	require.NoError(t, err)
	for _, th := range cold {
		archived[th.ObjectiveID]++
	}
	for o := range p.Objectives.All() {
		require.Equal(t, archived[o.ID], o.Archived, "-seed %d: archived threads of %s", p.seed, o.ID)
		if o.Done() {
			require.Equal(t, thread.ObjectiveCompleted, o.Status(p.CountsOf(o)))
		}
	}
	depends := map[thread.ThreadID][]thread.ThreadID{}
	for th := range p.Threads.All() {
		require.NotEqual(t, thread.Archived, th.Status, "-seed %d: %s is archived and in the State", p.seed, th.ID)
		depends[th.ID] = th.DependsOn
	}
	waiting := map[thread.ThreadID]bool{}
	for m := range p.Merges.All() {
		require.False(t, waiting[m.Target], "-seed %d: two merges wait for %s", p.seed, m.Target)
		waiting[m.Target] = true
	}
	p.requireBases(t)
	p.requireGrants(t)
	refers := map[thread.ThreadID][]thread.ThreadID{}
	for ref := range p.References.All() {
		_, live := p.Threads.Peek(string(ref.From))
		require.True(t, live, "-seed %d: %s stayed without its thread", p.seed, ref.ID)
		refers[ref.From] = append(refers[ref.From], ref.Target)
	}
	require.False(t, cyclic(depends), "-seed %d: dependencies form a cycle", p.seed)
	require.False(t, cyclic(refers), "-seed %d: references form a cycle", p.seed)
}

// requireBases asserts that no share is from the future or covered by a newer one,
// except what a spawn gave, and that Common is symmetric and ordered newest first.
func (p *player) requireBases(t *testing.T) {
	t.Helper()
	for a := range p.Threads.All() {
		for i, share := range a.Shared {
			require.LessOrEqual(t, share.At, p.Revision, "-seed %d", p.seed)
			for _, newer := range a.Shared[i+1:] {
				covered := newer.With == share.With && len(newer.Scope) == 0 && share.How != "spawn"
				require.False(t, covered && newer.At > share.At, "-seed %d: %s keeps what a newer share covers", p.seed, a.ID)
			}
			mine, theirs := p.Common(a.ID, share.With), p.Common(share.With, a.ID)
			require.ElementsMatch(t, mine, theirs, "-seed %d", p.seed)
			require.True(t, slices.IsSortedFunc(mine, func(x, y thread.Common) int { return int(y.At - x.At) }), "-seed %d: newest first", p.seed)
		}
	}
}

// cyclic removes nodes without outgoing edges until nothing changes.
func cyclic(edges map[thread.ThreadID][]thread.ThreadID) bool {
	for {
		left := len(edges)
		for id, next := range edges {
			if !slices.ContainsFunc(next, func(to thread.ThreadID) bool { _, ok := edges[to]; return ok }) {
				delete(edges, id)
			}
		}
		if len(edges) == 0 || len(edges) == left {
			return len(edges) > 0
		}
	}
}

func lines(s *thread.State) thread.Records {
	out := thread.Records{}
	for _, table := range thread.Tables() {
		out[table] = s.Lines(table)
	}
	return out
}

func requireLines(t *testing.T, want, got thread.Records, format string, args ...any) {
	t.Helper()
	for _, table := range thread.Tables() {
		require.Equal(t, texts(want[table]), texts(got[table]), append([]any{format}, args...)...)
	}
}

func texts(lines []thread.Line) []string {
	out := []string{}
	for _, line := range lines {
		out = append(out, line.ID+" "+string(line.JSON))
	}
	return out
}
