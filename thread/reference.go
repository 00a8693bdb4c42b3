package thread

import (
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// NewReference has the parameters of a new reference.
type NewReference struct {
	ID      ReferenceID
	From    string
	Target  string // as the caller wrote it; kept if it cannot be found
	Binding Binding
	Scope   []string
	Content Content
}

// Content is the content of a reference's target.
type Content struct {
	// Unresolved says why the content cannot be accessed, or "" if it can.
	Unresolved string
	Manifest   BlobID // of the frozen files
	Files      int
}

// ReasonMissing is the Unresolved reason for a target that does not exist.
const ReasonMissing = "file not found"

// Refer adds a reference from a thread to another's artifacts. If the same reference
// (from, target, binding, scope) exists, Refer returns it. A target that does not
// exist, or no longer exists, is stored as written, unresolved. Errors: T101 and
// T105 for From, T107 if From is terminated, T106 for a taken id, T201 if the
// references would form a cycle, T105 for an ambiguous target, T903 if the target
// is From itself.
func (s *State) Refer(in NewReference, stamp Stamp) (ref Reference, existed bool, err error) {
	from, err := s.LiveThread(in.From)
	if err != nil {
		return Reference{}, false, err
	}
	target, err := s.referenceTarget(in.Target)
	if err != nil {
		return Reference{}, false, err
	}
	if target == from.ID {
		return Reference{}, false, codes.InvalidArgument.New(
			fact.Of("reason", "a thread cannot refer to itself: '"+string(target)+"'"), fact.Of("threadId", target))
	}
	scope := sortedSet(in.Scope)
	if old, ok := s.sameReference(from.ID, target, in.Binding, scope); ok {
		return old, true, nil
	}
	if route := s.referencePath(target, from.ID); route != nil {
		return Reference{}, false, circular(append([]ThreadID{from.ID}, route...)).
			With(fact.Of("threadId", from.ID)).WithNext("leslie reference list --from " + string(target))
	}
	if _, taken := s.References.Get(string(in.ID)); taken {
		return Reference{}, false, codes.AlreadyExists.New(fact.Of("id", in.ID))
	}
	ref = Reference{
		ID: in.ID, From: from.ID, Target: target, Binding: in.Binding, Scope: scope,
		Created: Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor},
	}
	return s.References.Put(ref.with(s.currentContent(target, in.Content), stamp.Time)), false, nil
}

// currentContent returns found, unless the target's thread no longer exists because
// its spawn was undone since: then the copied content is unresolved.
func (s *State) currentContent(target ThreadID, found Content) Content {
	if found.Unresolved != "" {
		return found
	}
	if _, err := s.Thread(string(target)); codes.Has(err, codes.ThreadNotFound) {
		return Content{Unresolved: ReasonMissing}
	}
	return found
}

// referenceTarget returns the id of the thread that arg names, or arg itself if
// there is none. Errors: T105.
func (s *State) referenceTarget(arg string) (ThreadID, error) {
	t, err := s.Thread(arg)
	switch {
	case err == nil:
		return t.ID, nil
	case codes.Has(err, codes.ThreadNotFound):
		return ThreadID(arg), nil
	}
	return "", err
}

// Refresh records the current content of a reference's target. Errors: T204, T105,
// T107 if the referring thread is terminated.
func (s *State) Refresh(arg string, content Content, stamp Stamp) (Reference, error) {
	ref, err := s.ownReference(arg)
	if err != nil {
		return Reference{}, err
	}
	content = s.currentContent(ref.Target, content)
	if ref.Resolved == (content.Unresolved == "") && ref.Manifest == content.Manifest && ref.Files == content.Files {
		return ref, nil
	}
	return s.References.Put(ref.with(content, stamp.Time)), nil
}

// RemoveReference removes a reference. Errors: T204, T105, T107.
func (s *State) RemoveReference(arg string) (Reference, error) {
	ref, err := s.ownReference(arg)
	if err != nil {
		return Reference{}, err
	}
	s.References.Delete(string(ref.ID))
	return ref, nil
}

// ownReference returns the reference that arg names if its thread accepts changes.
func (s *State) ownReference(arg string) (Reference, error) {
	ref, err := s.Reference(arg)
	if err != nil {
		return Reference{}, err
	}
	if _, err := s.LiveThread(string(ref.From)); err != nil {
		return Reference{}, err
	}
	return ref, nil
}

// ReferencesFrom returns the references of a thread, ordered by creation time, then
// id. It does not read the archive: for an archived thread use
// ArchivedReferencesFrom.
func (s *State) ReferencesFrom(id ThreadID) []Reference {
	return s.references(pattern("from", string(id)), func(ref Reference) bool { return ref.From == id })
}

// ReferencesTo returns the references to a thread.
func (s *State) ReferencesTo(id ThreadID) []Reference {
	return s.references(pattern("target", string(id)), func(ref Reference) bool { return ref.Target == id })
}

// AllReferences returns every reference of the State.
func (s *State) AllReferences() []Reference {
	return s.references(nil, func(Reference) bool { return true })
}

// ReferencesWithArchived returns every reference, also those of archived threads.
func (s *State) ReferencesWithArchived() ([]Reference, error) {
	lines, err := s.archivedLines(TableReferences)
	if err != nil {
		return nil, err
	}
	all := s.AllReferences()
	for _, line := range lines {
		all = append(all, decode[Reference](line.JSON))
	}
	return inOrder(all), nil
}

// ArchivedReferencesFrom returns the references of an archived thread.
func (s *State) ArchivedReferencesFrom(id ThreadID) ([]Reference, error) {
	lines, err := s.archivedLines(TableReferences)
	if err != nil {
		return nil, err
	}
	var out []Reference
	for _, line := range lines {
		if ref := decode[Reference](line.JSON); ref.From == id {
			out = append(out, ref)
		}
	}
	return inOrder(out), nil
}

func (s *State) references(mark []byte, keep func(Reference) bool) []Reference {
	return inOrder(s.References.where(string(mark), keep))
}

func inOrder(refs []Reference) []Reference {
	slices.SortStableFunc(refs, func(a, b Reference) int { return byTime(a.Created.At, b.Created.At) })
	return refs
}

func (ref Reference) with(c Content, at time.Time) Reference {
	ref.Resolved, ref.Unresolved = c.Unresolved == "", c.Unresolved
	ref.Manifest, ref.Files, ref.TakenAt = c.Manifest, c.Files, at
	return ref
}

func (s *State) sameReference(from, target ThreadID, binding Binding, scope []string) (Reference, bool) {
	for _, ref := range s.ReferencesFrom(from) {
		if ref.Target == target && ref.Binding == binding && slices.Equal(ref.Scope, scope) {
			return ref, true
		}
	}
	return Reference{}, false
}

// referencePath returns a shortest path along references from one thread to another,
// both ends included; nil if there is none. It does no work for a thread without
// references, which is the usual case.
func (s *State) referencePath(from, to ThreadID) []ThreadID {
	if from != to && len(s.ReferencesFrom(from)) == 0 {
		return nil
	}
	out := map[ThreadID][]ThreadID{}
	for _, line := range s.References.Lines() {
		a, b := s.endsOf(line)
		out[a] = append(out[a], b)
	}
	return path(from, to, func(id ThreadID) []ThreadID { return out[id] })
}

// path returns a shortest path from one thread to another, both ends included; nil
// if there is none.
func path(from, to ThreadID, next func(ThreadID) []ThreadID) []ThreadID {
	previous := map[ThreadID]ThreadID{from: ""}
	queue := []ThreadID{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at == to {
			var route []ThreadID
			for ; at != ""; at = previous[at] {
				route = append(route, at)
			}
			slices.Reverse(route)
			return route
		}
		for _, id := range next(at) {
			if _, seen := previous[id]; !seen {
				previous[id] = at
				queue = append(queue, id)
			}
		}
	}
	return nil
}

func circular(route []ThreadID) *codes.Error {
	names := make([]string, len(route))
	for i, id := range route {
		names[i] = string(id)
	}
	return codes.CircularReference.New(fact.Of("path", strings.Join(names, " -> ")), fact.Of("threads", names))
}
