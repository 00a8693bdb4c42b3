package merging

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file reads the inputs of a plan: the trees of the threads, and the newest
// content that they are known to have shared.

// treeReader reads trees and their contents, and stores nothing. It caches what it
// reads, so that planning again reads nothing.
type treeReader struct {
	files    Files
	where    map[thread.BlobID]place // of each hash
	contents map[thread.BlobID][]byte
}

type place struct {
	id   thread.ThreadID
	path string
}

func newTreeReader(files Files) *treeReader {
	return &treeReader{files: files, where: map[thread.BlobID]place{}, contents: map[thread.BlobID][]byte{}}
}

// list lists a thread's files in a scope with their hashes, and returns the paths that
// are not regular files. Errors: T508 for what is too large to merge or share, T507,
// T509, T904.
func (r *treeReader) list(ctx context.Context, id thread.ThreadID, set scope.Set) (m store.Manifest, skipped []string, err error) {
	entries, err := r.files.HashedIn(ctx, id, set)
	folder := store.Dir + "/" + store.ThreadsDir + "/" + string(id)
	for _, e := range entries {
		switch {
		case e.Type == store.TypeFile && e.SHA256 == "":
			return nil, nil, codes.TooLarge.New(fact.Of("what", e.Path), fact.Of("limit", "64 MiB"), fact.Of("path", folder+"/"+e.Path), fact.Of("threadId", id))
		case e.Type == store.TypeFile && len(m) == store.MaxFiles:
			return nil, nil, codes.TooLarge.New(fact.Of("what", "The snapshot of '"+string(id)+"'"), fact.Of("limit", "10,000 files"), fact.Of("path", folder), fact.Of("threadId", id))
		case e.Type == store.TypeFile:
			m = append(m, store.FileAt{Path: e.Path, SHA256: e.SHA256, Size: e.Size, Executable: e.Executable, ModTime: e.ModTime})
			r.where[e.SHA256] = place{id, e.Path}
		case e.Type != store.TypeFolder:
			skipped = append(skipped, e.Path)
		}
	}
	return m, skipped, err
}

// read returns content by its hash and caches it: planning asks only for texts of a
// few megabytes at most. Its error is errMoved if the file was saved again after it
// was listed.
func (r *treeReader) read(hash string) ([]byte, error) {
	data, err := r.content(hash)
	if err == nil {
		r.contents[thread.BlobID(hash)] = data
	}
	return data, err
}

// content is like read for content that is needed once and may be large; it does not
// cache.
func (r *treeReader) content(hash string) ([]byte, error) {
	id := thread.BlobID(hash)
	if data, known := r.contents[id]; known {
		return data, nil
	}
	at, listed := r.where[id]
	if !listed {
		return r.files.Blob(id)
	}
	data, err := r.files.ReadArtifact(at.id, at.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && blobOf(data) != id:
		return nil, errMoved
	}
	return data, err
}

// blobOf returns the blob id of content.
func blobOf(data []byte) thread.BlobID {
	sum := sha256.Sum256(data)
	return thread.BlobID(hex.EncodeToString(sum[:]))
}

// party is one thread of a merge with its content.
type party struct {
	thread.Thread
	manifest store.Manifest
	others   map[string]bool // links and the like, which are not read
	set      scope.Set       // what of the scope it has
}

// parties has the threads of a merge, and what each source shared with the target.
type parties struct {
	thread.MergeParties
	direct   [][]thread.Common
	indirect [][]thread.IndirectBase
}

func partiesOf(s *thread.State, found thread.MergeParties) parties {
	p := parties{MergeParties: found}
	for _, t := range found.Sources {
		p.direct = append(p.direct, s.Common(found.Target.ID, t.ID))
		p.indirect = append(p.indirect, s.IndirectBases(found.Target.ID, t.ID))
	}
	return p
}

// mergeInputs has everything that a plan depends on.
type mergeInputs struct {
	target  party
	sources []party
	input   merge.Input
	reader  *treeReader
	// unread is why a base could not be looked up.
	unread error
	code   *codeInputs // nil: no code is merged
}

// planned is what a merge does: to artifacts, and with code as well.
type planned struct {
	artifacts *merge.Plan
	all       *merge.Plan
	code      *codePlan // nil: no code is merged
}

// plan computes the merge of what was read with these decisions. Errors: those of
// merge.Make and of git, and T509 if a base exists and could not be read, because a plan
// without it would be a different merge.
func (in *mergeInputs) plan(decisions map[string]merge.Decision) (out planned, err error) {
	input := in.input
	input.Decisions = decisions
	if out.artifacts, err = merge.Make(input); err == nil {
		err = in.unread
	}
	if err == nil {
		out.all, out.code, err = in.withCode(out.artifacts, decisions)
	}
	return out, err
}

// withoutArtifacts is gather for a landing on a branch of no thread, which has no artifacts.
func withoutArtifacts(c Call, p parties) *mergeInputs {
	return &mergeInputs{target: party{Thread: p.Target}, reader: newTreeReader(c.Files), input: merge.Input{Target: string(p.Target.ID)}}
}

// gather reads the threads and their bases. Errors: T203 for a pattern that matches in
// none of them, unless the patterns are what the target inherited; T507, T508, T509.
func gather(c Call, p parties, set scope.Set) (*mergeInputs, error) {
	in := &mergeInputs{target: party{Thread: p.Target}}
	for _, t := range p.Sources {
		in.sources = append(in.sources, party{Thread: t})
	}
	all := []*party{&in.target}
	for i := range in.sources {
		all = append(all, &in.sources[i])
	}
	in.reader = newTreeReader(c.Files)
	unmatched := set.Strings()
	for _, one := range all {
		missed, err := one.read(c, in.reader, set)
		if err != nil {
			return nil, err
		}
		unmatched = slices.DeleteFunc(unmatched, func(p string) bool { return !slices.Contains(missed, p) })
	}
	if len(unmatched) > 0 && !slices.Equal(set.Strings(), p.Target.InheritedScope()) {
		return nil, codes.ScopeNotFound.New(fact.Of("path", unmatched[0]), fact.Of("threadId", p.Target.ID), fact.Of("paths", unmatched))
	}
	tree, err := in.target.tree(c, set)
	if err != nil {
		return nil, err
	}
	in.input = merge.Input{Target: string(p.Target.ID), Tree: tree, Read: in.reader.read, Mergers: []merge.Merger{merge.List, merge.Table}}
	b := bases{files: c.Files, set: set, unread: &in.unread, manifests: map[thread.BlobID]store.Manifest{}, parsed: map[string]scope.Set{}}
	for i, one := range in.sources {
		in.input.Sources = append(in.input.Sources, merge.Source{
			ID: string(one.ID), Title: one.Title, Tree: merge.Tree{Files: filesAt(one.manifest), Others: one.others}, Base: b.of(p.direct[i], p.indirect[i]),
		})
	}
	return in, nil
}

// read lists one thread; missed has the patterns that match nothing in it, which is
// fine if they match in another thread.
func (p *party) read(c Call, reader *treeReader, set scope.Set) (missed []string, err error) {
	for _, path := range set.Exact() {
		if err := c.Files.CheckPath(p.ID, path); err != nil {
			return nil, err
		}
	}
	entries, err := c.Files.ArtifactsIn(p.ID, set)
	if err != nil {
		return nil, err
	}
	missed = set.Unmatched(matchable(entries))
	if len(missed) > 0 {
		rest := slices.DeleteFunc(set.Strings(), func(pattern string) bool { return slices.Contains(missed, pattern) })
		if len(rest) == 0 {
			p.set = set
			return missed, nil
		}
		if set, err = scope.Parse(rest); err != nil {
			return nil, err
		}
	}
	p.set = set
	var skipped []string
	p.manifest, skipped, err = reader.list(c.Context, p.ID, set)
	c.Warn(warnings.LeftOut(skipped)...)
	p.others = map[string]bool{}
	for _, path := range skipped {
		p.others[path] = true
	}
	return missed, err
}

// parties returns the target and the sources, in this order.
func (in *mergeInputs) parties() []party { return append([]party{in.target}, in.sources...) }

// movedSince returns the threads whose files are not what they were.
func (in *mergeInputs) movedSince(was *mergeInputs) (out []thread.ThreadID) {
	before := was.parties()
	for i, now := range in.parties() {
		if !sameFiles(before[i].manifest, now.manifest) {
			out = append(out, now.ID)
		}
	}
	return out
}

// sameFiles reports whether two listings have the same files, whenever they were saved.
func sameFiles(a, b store.Manifest) bool {
	return slices.EqualFunc(a, b, func(x, y store.FileAt) bool {
		return x.Path == y.Path && x.SHA256 == y.SHA256 && x.Executable == y.Executable
	})
}

// matchable returns the entries in the form that patterns match: a folder ends in "/".
func matchable(entries []store.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Path
		if e.Type == store.TypeFolder {
			out[i] += "/"
		}
	}
	return out
}

// tree returns the target with everything that could block a new path, including names
// outside the scope.
func (p *party) tree(c Call, set scope.Set) (merge.Tree, error) {
	t := merge.Tree{Files: filesAt(p.manifest), Others: map[string]bool{}}
	entries, err := c.Files.Artifacts(p.ID)
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
		out[f.Path] = store.MergeFile(f)
	}
	return out
}

// bases looks up what threads shared. It reads each manifest once.
type bases struct {
	files     Files
	set       scope.Set
	manifests map[thread.BlobID]store.Manifest
	parsed    map[string]scope.Set
	unread    *error // the first manifest that could not be read
	frozen    bool   // what was frozen counts as well
}

// of returns a function for the base of a path between target and source: the newest
// content that is known to have been among the artifacts of both. Only if they had no
// such file in common, a frozen copy counts, and merge then checks whether they are
// derived from it (merge.Base).
func (b bases) of(direct []thread.Common, indirect []thread.IndirectBase) func(path string) merge.Base {
	return func(path string) merge.Base {
		if !b.set.Match(path) {
			return merge.Base{} // the scope leaves it alone
		}
		best := b.best(direct, indirect, path)
		if best.There() || best.at > 0 && best.From == "" { // or it cannot be read
			return best.Base
		}
		all := b
		all.frozen = true
		if detached := all.best(direct, indirect, path); detached.There() {
			detached.Detached = true
			return detached.Base
		}
		return best.Base
	}
}

func (b bases) best(direct []thread.Common, indirect []thread.IndirectBase, path string) known {
	best := b.newest(direct, path, func(known) bool { return true })
	for _, one := range indirect {
		for _, through := range b.through(one, path) {
			if through.at > best.at {
				best = through
			}
		}
	}
	return best
}

// known is a base with its revision; at is 0 if nothing is known.
type known struct {
	merge.Base
	at thread.Revision
}

// through returns what both received through a third thread. If it gave to both, the
// older content counts, because the newer one is derived from it; if one gave to it,
// that must be older than what it gave to the other. A path that the third thread did
// not have says nothing about the origin of theirs.
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

// newest returns the newest content of the path that passes. If a manifest that might
// have it cannot be read, there is no base: an older one would be wrong.
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
			k.File = store.MergeFile(f)
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
	key := strings.Join(share.Scope, "\x00")
	set, ok := b.parsed[key]
	if !ok {
		set, _ = scope.Parse(share.Scope)
		b.parsed[key] = set
	}
	return set.Match(path)
}

// manifest reads a manifest of shared content. A damaged or missing one counts as
// unknown: the merge then has more conflicts, and never guesses. One that the system
// cannot read now may be readable later, so it ends the merge.
func (b bases) manifest(id thread.BlobID) (store.Manifest, bool) {
	if m, ok := b.manifests[id]; ok {
		return m, m != nil
	}
	m, err := b.files.Manifest(id)
	switch {
	case err != nil:
		m = nil
		if !store.IsDamaged(err) && !errors.Is(err, fs.ErrNotExist) && *b.unread == nil {
			*b.unread = err
		}
	case m == nil:
		m = store.Manifest{}
	}
	b.manifests[id] = m
	return m, m != nil
}
