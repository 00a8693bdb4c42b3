package thread

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file compares what is read from bytes (scan.go, page.go) with what is read from
// decoded records, with texts that look like parts of records.

// odd returns texts that look like parts of a record.
func odd() []string {
	return []string{
		"plain", "", `","status":"cancelled","x":"`, `"status":"active"`, `\`, `\"`, `\\","created":{"at":"1999-01-01T00:00:00Z"`,
		`"created":{"at":"1999-01-01T00:00:00Z"}`, "line\nbreak\t", "<&>\u2028 é 漢", `"dependsOn":["t-1"]`, `"t-1"`, `"objectiveId":"obj-1"`,
	}
}

// invented returns a State with n threads, their references, and an archive.
func invented(t testing.TB, rng *rand.Rand, n int) *State {
	t.Helper()
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	at := func() time.Time {
		return time.Date(2026, 1, 1, 0, 0, rng.IntN(20), rng.IntN(3)*120_000_000, time.UTC)
	}
	id := func(i int) ThreadID { return ThreadID(fmt.Sprintf("t-%d", i)) }
	source := NewState(0, nil, nil)
	for i := range n {
		th := Thread{
			ID: id(i), ObjectiveID: ObjectiveID(pick("obj-1", "obj-2")), Title: pick(odd()...), Intent: pick(odd()...), Reason: pick(odd()...),
			Status: Statuses()[rng.IntN(5)], Executor: Executor(pick("human", "agent")), Inherit: InheritNone,
			Created: Attribution{At: at(), As: User, Actor: pick(odd()...)}, Updated: at(),
		}
		if p := Priority(rng.IntN(8)); p <= LowestPriority {
			th.Priority = &p
		}
		if i > 0 && rng.IntN(2) == 0 {
			th.ParentID = id(rng.IntN(i))
		}
		for range rng.IntN(3) {
			th.Tags = append(th.Tags, pick(odd()...))
			th.DependsOn = append(th.DependsOn, id(rng.IntN(n+2)))
		}
		if rng.IntN(4) == 0 {
			until := noonish.Add(time.Duration(rng.IntN(20)-10) * time.Minute)
			th.Claim = &Claim{Holder: pick(odd()...), Until: until}
		}
		if rng.IntN(3) == 0 {
			th.Shared = []Share{{With: id(0), Manifest: "m", Scope: []string{pick(odd()...)}, How: "spawn"}}
		}
		source.Threads.Put(th)
	}
	for i := range n {
		source.References.Put(Reference{
			ID: ReferenceID(fmt.Sprintf("r-%d", i)), From: id(rng.IntN(n)), Target: id(rng.IntN(n + 2)), Binding: Live,
			Unresolved: pick(odd()...), Scope: []string{pick(odd()...)}, TakenAt: at(), Created: Attribution{At: at(), Actor: pick(odd()...)},
		})
	}
	source.Objectives.Put(Objective{ID: "obj-1", Archived: rng.IntN(2)})
	source.Objectives.Put(Objective{ID: "obj-2"})
	cold := threadArchive{}
	records := Records{}
	for _, table := range Tables() {
		records[table] = laterRecords(rng, source.Lines(table))
	}
	records[TableThreads] = slices.DeleteFunc(slices.Clone(records[TableThreads]), func(l Line) bool {
		if rng.IntN(5) > 0 {
			return false
		}
		th := decode[Thread](l.JSON)
		th.Status = Archived
		cold.threads = append(cold.threads, Line{ID: l.ID, JSON: encode(th)})
		return true
	})
	return NewState(1, records, cold)
}

// laterRecords gives some records members that only a later version has, whose parts are
// named like those of this one.
func laterRecords(rng *rand.Rand, lines []Line) []Line {
	const later = `"review":{"status":"active","objectiveId":"obj-1","parentId":"t-0","executor":"human","from":"t-0","target":"t-0",` +
		`"title":"Later","priority":0,"dependsOn":["t-0"],"claim":{"until":"2026-01-01T12:00:00Z"},"mistakes":{"count":1},` +
		`"created":{"at":"1999-01-01T00:00:00Z"},"updatedAt":"1999-01-01T00:00:00Z","steps":[[{"a":[]}],"]}",1.5e3,true,null,{}]}`
	out := slices.Clone(lines)
	for i, line := range out {
		switch text := string(line.JSON); rng.IntN(4) {
		case 0:
			out[i].JSON = []byte("{" + later + "," + text[1:])
		case 1:
			out[i].JSON = []byte(text[:len(text)-1] + "," + later + "}")
		}
	}
	return out
}

// threadArchive is an archive that has only threads.
type threadArchive struct {
	ArchiveSource
	threads []Line
}

func (s threadArchive) Exists(ThreadID) bool { return false }

func (s threadArchive) Alike(ThreadID) ThreadID { return "" }

func (s threadArchive) Archived(table string) ([]Line, error) {
	if table != TableThreads {
		return nil, nil
	}
	return s.threads, nil
}

// noonish returns a time near noon at which claims expire.
var noonish = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// wholeList computes a list from all decoded records.
func wholeList(t testing.TB, s *State, f Filter) (out []Thread) {
	t.Helper()
	for th := range s.Threads.All() {
		if f.passes(th, s.Readiness()) {
			out = append(out, th)
		}
	}
	if f.All || f.Status == Archived {
		lines, err := s.archivedLines(TableThreads)
		require.NoError(t, err)
		for _, line := range lines {
			if th := decode[Thread](line.JSON); f.passes(th, s.Readiness()) {
				out = append(out, th)
			}
		}
	}
	return inOrderOf(out, f.Order)
}

// inOrderOf sorts decoded threads.
func inOrderOf(all []Thread, order Order) []Thread {
	inListOrder(all)
	if order == ByTurn {
		slices.SortStableFunc(all, func(a, b Thread) int { return cmp.Compare(a.Priority.Level(), b.Priority.Level()) })
	}
	if order == ByUrgency {
		slices.SortStableFunc(all, func(a, b Thread) int {
			return cmp.Or(cmp.Compare(a.Status.urgency(), b.Status.urgency()), b.Updated.Compare(a.Updated))
		})
	}
	return all
}

// withNewest returns the first limit threads of a list, the last of them replaced by the
// newest of all if it is not among them. A thread that waits is never replaced.
func withNewest(all []Thread, limit int) []Thread {
	newest := inListOrder(slices.Clone(all))[len(all)-1]
	first := slices.Clone(all[:limit])
	if first[limit-1].Status.urgency() > 0 && !slices.ContainsFunc(first, func(t Thread) bool { return t.ID == newest.ID }) {
		first[limit-1] = newest
	}
	return inOrderOf(first, ByUrgency)
}

func TestFirstReturnsTheStartOfTheWholeList(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(1, seed))
		s := invented(t, rng, 1+rng.IntN(40))
		for range 20 {
			f := Filter{Ready: rng.IntN(3) == 0, All: rng.IntN(3) == 0}
			f.Status = append(Statuses(), "", "")[rng.IntN(8)]
			f.Objective = []ObjectiveID{"", "obj-1", "obj-3"}[rng.IntN(3)]
			f.Parent = []ThreadID{"", "", "t-0", "t-1"}[rng.IntN(4)]
			f.Tag = append(odd(), "", "", "", "")[rng.IntN(len(odd())+4)]
			f.Executor = []Executor{"", "", ByHuman, ByAgent}[rng.IntN(4)]
			if f.Order = []Order{ByCreation, ByUrgency}[rng.IntN(2)]; f.Ready {
				f.Order = ByTurn
			}
			limit := rng.IntN(12)
			f.Now = noonish.Add(time.Duration(rng.IntN(20)-10) * time.Minute)
			want := wholeList(t, s, f)
			list, err := s.List(f)
			require.NoError(t, err)
			require.Equal(t, append([]Thread{}, want...), list, "%+v", f)
			got, err := s.First(f, limit)
			require.NoError(t, err)
			require.Equal(t, len(want), got.Total, "%+v", f)
			switch {
			case limit == 0 || limit >= len(want):
			case f.Order == ByUrgency:
				want = withNewest(want, limit)
			default:
				want = want[:limit]
			}
			require.Equal(t, append([]Thread{}, want...), got.Threads, "%+v, limit %d", f, limit)
		}
	}
}

func TestScannedLinesMatchDecodedRecords(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(2, seed))
		s := invented(t, rng, 1+rng.IntN(40))
		counts, archived := map[ObjectiveID]Counts{}, 0
		for o := range s.Objectives.All() {
			counts[o.ID] = Counts{}
			if archived += o.Archived; o.Archived > 0 {
				counts[o.ID][Archived] = o.Archived
			}
		}
		all := Counts{}
		if archived > 0 {
			all[Archived] = archived
		}
		for _, line := range s.Lines(TableThreads) {
			th := decode[Thread](line.JSON)
			counts[th.ObjectiveID][th.Status]++
			all[th.Status]++
			assert.Equal(t, th.Status, statusIn(line.JSON))
			at, ok := createdIn(line.JSON)
			require.True(t, ok)
			when, err := time.Parse(time.RFC3339Nano, string(at)+"Z")
			require.NoError(t, err)
			assert.True(t, th.Created.At.Equal(when), "%s", line.JSON)
		}
		_, counted := s.AllCounts()
		assert.Equal(t, all, counted)
		for o := range s.Objectives.All() {
			assert.Equal(t, counts[o.ID], s.CountsOf(o))
		}
		for th := range s.Threads.All() {
			assert.Equal(t, relations(s, th), s.RelationsOf(th))
			assert.Equal(t, tied(s, func(r Reference) bool { return r.From == th.ID }), s.ReferencesFrom(th.ID))
			assert.Equal(t, tied(s, func(r Reference) bool { return r.Target == th.ID }), s.ReferencesTo(th.ID))
			assert.Equal(t, way(s, th.ID, "t-0"), s.referencePath(th.ID, "t-0"))
		}
		assert.Equal(t, tied(s, func(Reference) bool { return true }), s.AllReferences())
		assert.Equal(t, Candidates(slices.Collect(s.Threads.All())), s.ThreadCandidates())
	}
}

// relations, tied and way use all decoded records.
func relations(s *State, t Thread) Relations {
	r := Relations{Children: []ThreadID{}, DependsOn: append([]ThreadID{}, t.DependsOn...), DependedOnBy: []ThreadID{}}
	var all []Thread
	for o := range s.Threads.All() {
		all = append(all, o)
	}
	for _, o := range inListOrder(all) {
		if o.ParentID == t.ID {
			r.Children = append(r.Children, o.ID)
		}
		if slices.Contains(o.DependsOn, t.ID) {
			r.DependedOnBy = append(r.DependedOnBy, o.ID)
		}
	}
	return r
}

func tied(s *State, keep func(Reference) bool) (out []Reference) {
	for ref := range s.References.All() {
		if keep(ref) {
			out = append(out, ref)
		}
	}
	return inOrder(out)
}

func way(s *State, from, to ThreadID) []ThreadID {
	out := map[ThreadID][]ThreadID{}
	for ref := range s.References.All() {
		out[ref.From] = append(out[ref.From], ref.Target)
	}
	return path(from, to, func(id ThreadID) []ThreadID { return out[id] })
}

func TestAnEscapedTextIsNotReadFromBytes(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"status":"a\"b"}`, `{"status":"a\u0062"}`, `{"status":"a`, `{"state":"a"}`, ``, `{`, `{"`, `{"status`, `{"status"`, `{"status":`, `{"status":"a\`,
		`{"a":{"status":"a"}}`, `{"a":[{"status":"a"}]}`, `{"a":1,`, `{"a":{`, `{"a":[`, `{"a":"\"`, `{ "status":"a"}`, `["status","a"]`, `{"status":{"status":"a"}}`,
	} {
		_, ok := field([]byte(line), "status")
		assert.False(t, ok, line)
	}
	text, ok := field([]byte(`{"title":"\"status\":\"no\"","n":[{"status":"no"},"]\\"],"status":"yes"}`), "status")
	assert.True(t, ok)
	assert.Equal(t, "yes", string(text))
}

func TestATimeInAnotherFormIsDecoded(t *testing.T) {
	t.Parallel()
	line := func(at string) Line {
		return Line{ID: at, JSON: []byte(`{"threadId":"` + at + `","status":"active","created":{"at":"` + at + `","as":"user","actor":"a"},"updatedAt":"2026-01-01T00:00:00Z","revision":1}`)}
	}
	// Ordered by time; two have a UTC offset.
	lines := []Line{
		line("2026-01-01T12:00:00+09:00"), line("2026-01-01T03:00:01Z"), line("2026-01-01T03:00:01.2Z"), line("2026-01-01T03:00:01.211Z"),
		line("2026-01-01T01:00:02-02:00"), line("2026-01-01T03:00:03Z"),
	}
	want := []ThreadID{}
	for _, l := range lines {
		want = append(want, ThreadID(l.ID))
	}
	sorted := slices.SortedFunc(slices.Values(lines), func(a, b Line) int { return strings.Compare(a.ID, b.ID) })
	s := NewState(1, Records{TableThreads: sorted}, nil)
	for limit := range len(lines) {
		page, err := s.First(Filter{}, limit)
		require.NoError(t, err)
		got := []ThreadID{}
		for _, th := range page.Threads {
			got = append(got, th.ID)
		}
		shown := want
		if limit > 0 {
			shown = want[:limit]
		}
		assert.Equal(t, shown, got)
	}
}

func TestAllCountsAreThoseOfEachObjective(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		s := invented(t, rand.New(rand.NewPCG(seed, 4)), 40)
		s.Objectives.Put(Objective{ID: "obj-1", Archived: 2})
		s.Objectives.Put(Objective{ID: "obj-2"})
		of, _ := s.AllCounts()
		for o := range s.Objectives.All() {
			assert.Equal(t, s.CountsOf(o), of[o.ID], "seed %d", seed)
		}
	}
}

// StalledThreads decides from bytes; this decides from records.
func TestStalledThreadsAreThoseOfTheRecords(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		s := invented(t, rand.New(rand.NewPCG(seed, 3)), 40)
		var suspended, resumable, unmerged []ThreadID
		for _, th := range inListOrder(slices.Collect(s.Threads.All())) {
			children := s.Threads.where("", func(o Thread) bool { return o.ParentID == th.ID })
			busy := slices.ContainsFunc(children, func(o Thread) bool { return !o.Status.Terminated() })
			parent, there := s.Threads.Peek(string(th.ParentID))
			switch {
			case th.Status == Suspended && th.Mistakes == nil && len(children) > 0 && !busy:
				resumable = append(resumable, th.ID)
			case th.Status == Suspended:
				suspended = append(suspended, th.ID)
			case th.Status == Completed && there && !parent.Status.Terminated() && !parent.mergedSince(th):
				unmerged = append(unmerged, th.ID)
			}
		}
		got := s.StalledThreads(0)
		names := func(p Page) (out []ThreadID) {
			for _, th := range p.Threads {
				out = append(out, th.ID)
			}
			return out
		}
		assert.Equal(t, suspended, names(got.Suspended), "seed %d", seed)
		assert.Equal(t, resumable, names(got.Resumable), "seed %d", seed)
		assert.Equal(t, unmerged, names(got.Unmerged), "seed %d", seed)
		assert.Equal(t, len(suspended), s.StalledThreads(1).Suspended.Total, "seed %d", seed)
	}
}
