package thread

import (
	"encoding/json"
	"slices"
	"strings"
)

// Overlap has paths in which the code, or the artifacts, of a thread and of another conflict,
// and of which both were told.
type Overlap struct {
	With  ThreadID `json:"with"`
	Paths []string `json:"paths"`

	Unknown Unknown `json:"-"`
}

const (
	// maxOverlaps is how many other threads the record of a thread's code remembers.
	maxOverlaps = 50
	// maxOverlapPaths is how many paths it remembers of each.
	maxOverlapPaths = 20
)

// NoteOverlap records that the code of two threads conflicts in these paths, and reports
// whether there is one among them of which they were not told. After maxOverlapPaths
// paths they know enough. The record is the other's: own is never changed, because its
// agent may be about to expect its revision.
func (s *State) NoteOverlap(own, other ThreadID, paths []string) (fresh bool) {
	mine, _ := s.Threads.Get(string(own))
	t, _ := s.Threads.Get(string(other))
	if mine.OwnedCode() == nil || t.OwnedCode() == nil {
		return false
	}
	overlaps, fresh := withOverlap(t.OwnedCode().Overlaps, mine.OwnedCode().Overlaps, own, other, paths)
	if fresh {
		t.Code = slices.Clone(t.Code)
		t.Code[0].Overlaps = overlaps
		s.Threads.Put(t)
	}
	return fresh
}

// NoteArtifactOverlap is NoteOverlap for artifacts.
func (s *State) NoteArtifactOverlap(own, other ThreadID, paths []string) (fresh bool) {
	mine, _ := s.Threads.Get(string(own))
	t, there := s.Threads.Get(string(other))
	if !there {
		return false
	}
	overlaps, fresh := withOverlap(t.Overlaps, mine.Overlaps, own, other, paths)
	if fresh {
		t.Overlaps = overlaps
		s.Threads.Put(t)
	}
	return fresh
}

// withOverlap adds to what the other thread was told of own the paths that neither knows;
// fresh is false if there are none.
func withOverlap(theirs, mine []Overlap, own, other ThreadID, paths []string) (all []Overlap, fresh bool) {
	known, told := toldOf(mine, other), slices.Clone(toldOf(theirs, own))
	for _, path := range paths {
		path = strings.ToValidUTF8(path, "\uFFFD") // as a record keeps it
		if !slices.Contains(known, path) && !slices.Contains(told, path) && len(known)+len(told) < maxOverlapPaths {
			told, fresh = append(told, path), true
		}
	}
	if !fresh {
		return theirs, false
	}
	all = slices.DeleteFunc(slices.Clone(theirs), func(o Overlap) bool { return o.With == own })
	all = append(all, Overlap{With: own, Paths: told})
	return all[max(0, len(all)-maxOverlaps):], true
}

func toldOf(all []Overlap, with ThreadID) []string {
	for _, o := range all {
		if o.With == with {
			return o.Paths
		}
	}
	return nil
}

// keepOverlaps returns a thread's code with the overlaps, the results of checks and what was sent
// to other machines as it has them now: no undo makes untold what was told, nor unknown what is known.
func keepOverlaps(code, now json.RawMessage) json.RawMessage {
	all := listOf[Code](code)
	if len(all) == 0 || Absent(now) {
		return code
	}
	is := soleCode(now)
	all[0].Overlaps, all[0].Checks, all[0].Sent, all[0].SentBeside = is.Overlaps, is.Checks, is.Sent, is.SentBeside
	return encode(all)
}
