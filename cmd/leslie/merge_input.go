package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
)

// This file gathers what a merge is planned from: the trees of its threads and
// the newest content that they are known to have shared.

// shelf reads trees. A writer's keeps what it reads as blobs; a reader's (status,
// --dry-run) keeps nothing and so works where nothing may be written.
type shelf interface {
	// snapshot lists the thread's files in the scope, with hashes, and names
	// what is no regular file.
	snapshot(ctx context.Context, id thread.ThreadID, set scope.Set) (m store.Manifest, skipped []string, err error)
	// read gives content by its hash.
	read(hash string) ([]byte, error)
}

// keptShelf is the shelf of a writer.
type keptShelf struct {
	st    *store.Store
	stage *store.Stage
}

func (k keptShelf) snapshot(ctx context.Context, id thread.ThreadID, set scope.Set) (store.Manifest, []string, error) {
	return k.stage.Snapshot(ctx, id, set)
}

func (k keptShelf) read(hash string) ([]byte, error) { return k.stage.Blob(thread.BlobID(hash)) }

// looseShelf is the shelf of a reader.
type looseShelf struct {
	st    *store.Store
	where map[string]place // of each hash
}

type place struct {
	id   thread.ThreadID
	path string
}

func (l looseShelf) snapshot(ctx context.Context, id thread.ThreadID, set scope.Set) (store.Manifest, []string, error) {
	entries, err := l.st.HashedIn(ctx, id, set)
	var m store.Manifest
	var skipped []string
	for _, e := range entries {
		switch {
		case e.Type == store.TypeFile && e.SHA256 == "":
			return nil, nil, codes.TooLarge.New(fact.Of("what", e.Path), fact.Of("limit", "64 MiB"), fact.Of("path", threadPath(id)+"/"+e.Path), fact.Of("threadId", id))
		case e.Type == store.TypeFile:
			m = append(m, store.FileAt{Path: e.Path, SHA256: e.SHA256, Size: e.Size, Executable: e.Executable})
			l.where[string(e.SHA256)] = place{id, e.Path}
		case e.Type != store.TypeFolder:
			skipped = append(skipped, e.Path)
		}
	}
	return m, skipped, err
}

func (l looseShelf) read(hash string) ([]byte, error) {
	if at, ok := l.where[hash]; ok {
		return l.st.ReadArtifact(at.id, at.path)
	}
	return l.st.Blob(thread.BlobID(hash))
}

// party is one thread of a merge with what it holds.
type party struct {
	thread.Thread
	manifest store.Manifest
	others   map[string]bool // links and the like, which are not read
}

// parties are the threads of a merge with what each source shared with the
// target.
type parties struct {
	thread.MergeParties
	direct [][]thread.Common
	thirds [][]thread.IndirectBase
}

func partiesOf(s *thread.State, found thread.MergeParties) parties {
	p := parties{MergeParties: found}
	for _, t := range found.Sources {
		p.direct = append(p.direct, s.Common(found.Target.ID, t.ID))
		p.thirds = append(p.thirds, s.IndirectBases(found.Target.ID, t.ID))
	}
	return p
}

// gathering is everything that a plan is made from.
type gathering struct {
	target  party
	sources []party
	input   merge.Input
	// unread is why a base could not be looked up.
	unread error
}

// plan is the merge that was gathered. Errors: those of merge.Make, and T509
// where a base is there and could not be read: planned without it, the merge
// would be another one.
func (g *gathering) plan() (*merge.Plan, error) {
	p, err := merge.Make(g.input)
	if err == nil {
		err = g.unread
	}
	return p, err
}

// undecided is the plan as it would be if nobody had decided anything.
func (g *gathering) undecided() (*merge.Plan, error) {
	in := g.input
	in.Decisions = nil
	return merge.Make(in)
}

// gatherMerge reads the threads and their bases. Errors: T203 for a pattern that
// matches in none of them, T508, T509, and T505 where blobs are kept.
func (c *call) gatherMerge(st *store.Store, sh shelf, p parties, set scope.Set) (*gathering, error) {
	g := &gathering{target: party{Thread: p.Target}}
	for _, t := range p.Sources {
		g.sources = append(g.sources, party{Thread: t})
	}
	all := []*party{&g.target}
	for i := range g.sources {
		all = append(all, &g.sources[i])
	}
	unmatched := set.Strings()
	for _, one := range all {
		missed, err := c.readParty(st, sh, one, set)
		if err != nil {
			return nil, err
		}
		unmatched = slices.DeleteFunc(unmatched, func(p string) bool { return !slices.Contains(missed, p) })
	}
	if len(unmatched) > 0 {
		return nil, codes.ScopeNotFound.New(fact.Of("path", unmatched[0]), fact.Of("threadId", p.Target.ID), fact.Of("paths", unmatched))
	}
	tree, err := c.targetTree(st, g.target, set)
	if err != nil {
		return nil, err
	}
	g.input = merge.Input{Target: string(p.Target.ID), Tree: tree, Read: sh.read, Mergers: []merge.Merger{merge.List}}
	b := bases{st: st, set: set, unread: &g.unread, manifests: map[thread.BlobID]store.Manifest{}, parsed: map[string]scope.Set{}}
	for i, s := range g.sources {
		g.input.Sources = append(g.input.Sources, merge.Source{
			ID: string(s.ID), Title: s.Title, Tree: merge.Tree{Files: filesAt(s.manifest), Others: s.others}, Base: b.of(p.direct[i], p.thirds[i]),
		})
	}
	return g, nil
}

// readParty snapshots one thread; missed are the patterns that match nothing in
// it, which is no fault as long as they match in another.
func (c *call) readParty(st *store.Store, sh shelf, one *party, set scope.Set) (missed []string, err error) {
	for _, path := range set.Exact() {
		if err := st.CheckPath(one.ID, path); err != nil {
			return nil, err
		}
	}
	entries, err := st.ArtifactsIn(one.ID, set)
	if err != nil {
		return nil, err
	}
	missed = set.Unmatched(matchable(entries))
	if len(missed) > 0 {
		var rest []string
		for _, p := range set.Strings() {
			if !slices.Contains(missed, p) {
				rest = append(rest, p)
			}
		}
		if len(rest) == 0 {
			return missed, nil
		}
		if set, err = scope.Parse(rest); err != nil {
			return nil, err
		}
	}
	var skipped []string
	one.manifest, skipped, err = sh.snapshot(c.ctx, one.ID, set)
	c.warnSkipped(skipped)
	one.others = map[string]bool{}
	for _, path := range skipped {
		one.others[path] = true
	}
	return missed, err
}

// targetTree is the target with everything that could stand in the way: also
// what the scope does not mean, by name alone.
func (c *call) targetTree(st *store.Store, target party, set scope.Set) (merge.Tree, error) {
	t := merge.Tree{Files: filesAt(target.manifest), Others: map[string]bool{}}
	entries, err := st.Artifacts(target.ID)
	for _, e := range entries {
		switch {
		case e.Type == store.TypeLink || e.Type == store.TypeOther:
			t.Others[e.Path] = true
		case e.Type == store.TypeFile && !set.Match(e.Path):
			t.Files[e.Path] = merge.File{Hash: "outside the scope"}
		}
	}
	return t, err
}

func filesAt(m store.Manifest) map[string]merge.File {
	out := make(map[string]merge.File, len(m))
	for _, f := range m {
		out[f.Path] = fileAt(f)
	}
	return out
}

func fileAt(f store.FileAt) merge.File {
	return merge.File{Hash: string(f.SHA256), Size: f.Size, Executable: f.Executable}
}

// bases looks up what threads shared. Manifests are read once.
type bases struct {
	st        *store.Store
	set       scope.Set
	manifests map[thread.BlobID]store.Manifest
	parsed    map[string]scope.Set
	unread    *error // the first manifest that could not be read
	frozen    bool   // what was frozen counts as well
}

// of gives the base of a path between target and source: of everything that is
// known to have been among their artifacts, the newest. Only where they had no such
// file in common does a frozen copy count, and then merge looks whether they went on
// from it (merge.Base).
func (b bases) of(direct []thread.Common, thirds []thread.IndirectBase) func(path string) merge.Base {
	return func(path string) merge.Base {
		if !b.set.Match(path) {
			return merge.Base{} // the scope leaves it alone
		}
		best := b.best(direct, thirds, path)
		if best.There() || best.at > 0 && best.From == "" { // or it cannot be read
			return best.Base
		}
		all := b
		all.frozen = true
		if beside := all.best(direct, thirds, path); beside.There() {
			beside.Detached = true
			return beside.Base
		}
		return best.Base
	}
}

func (b bases) best(direct []thread.Common, thirds []thread.IndirectBase, path string) known {
	best := b.newest(direct, path, func(known) bool { return true })
	for _, third := range thirds {
		for _, through := range b.through(third, path) {
			if through.at > best.at {
				best = through
			}
		}
	}
	return best
}

// known is a base with its revision; at is 0 when nothing is known.
type known struct {
	merge.Base
	at thread.Revision
}

// through is what came to both by way of a third thread. What it gave to both is
// the older of the two, since the newer one went on from that; what one gave to
// it has to be older than what it gave to the other. A path that it did not have
// says nothing about where theirs is from.
func (b bases) through(third thread.IndirectBase, path string) []known {
	var out []known
	there := func(k known) bool { return k.There() }
	toA, toB := b.newest(third.ToA, path, there), b.newest(third.ToB, path, there)
	if toA.at > 0 && toB.at > 0 {
		older := toA
		if toB.at < toA.at {
			older = toB
		}
		out = append(out, older)
	}
	before := func(limit known) func(known) bool {
		return func(k known) bool { return k.There() && k.at < limit.at }
	}
	return append(out, b.newest(third.FromA, path, before(toB)), b.newest(third.FromB, path, before(toA)))
}

// newest is the newest content of the path that passes. Where it cannot be read
// which that is, there is no base as of then: an older one is none.
func (b bases) newest(all []thread.Common, path string, pass func(known) bool) known {
	for _, share := range all {
		if share.Frozen && !b.frozen || !b.covers(share, path) {
			continue
		}
		k := known{Base: merge.Base{From: share.From}, at: share.At}
		m, ok := b.manifest(share.Manifest)
		if !ok {
			k.File.Hash = "unreadable"
		} else if f, ok := m.Find(path); ok {
			k.File = fileAt(f)
		}
		switch {
		case !pass(k):
		case ok:
			return k
		default:
			return known{at: share.At}
		}
	}
	return known{}
}

func (b bases) covers(share thread.Common, path string) bool {
	if len(share.Scope) == 0 {
		return true
	}
	key := joined(share.Scope)
	set, ok := b.parsed[key]
	if !ok {
		set, _ = scope.Parse(share.Scope)
		b.parsed[key] = set
	}
	return set.Match(path)
}

// manifest reads what was shared. One that is damaged or missing counts as not
// known: a merge then asks more, and never guesses. One that the system does not
// give out may be known the next time, so it ends the merge.
func (b bases) manifest(id thread.BlobID) (store.Manifest, bool) {
	if m, ok := b.manifests[id]; ok {
		return m, m != nil
	}
	m, err := b.st.Manifest(id)
	switch {
	case err != nil:
		m = nil
		if !errors.Is(err, store.ErrDamaged) && !errors.Is(err, fs.ErrNotExist) && *b.unread == nil {
			*b.unread = err
		}
	case m == nil:
		m = store.Manifest{}
	}
	b.manifests[id] = m
	return m, m != nil
}
