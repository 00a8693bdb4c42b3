package thread

import (
	"encoding/json"
	"slices"
	"strings"
)

// CodeOverlap has paths in which the code of a thread and that of another conflict, and of
// which both were told.
type CodeOverlap struct {
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
	known, told := mine.OwnedCode().toldOf(other), slices.Clone(t.OwnedCode().toldOf(own))
	for _, path := range paths {
		path = strings.ToValidUTF8(path, "\uFFFD") // as a record keeps it
		if !slices.Contains(known, path) && !slices.Contains(told, path) && len(known)+len(told) < maxOverlapPaths {
			told, fresh = append(told, path), true
		}
	}
	if fresh {
		others := slices.DeleteFunc(slices.Clone(t.Code[0].Overlaps), func(o CodeOverlap) bool { return o.With == own })
		others = append(others, CodeOverlap{With: own, Paths: told})
		t.Code = slices.Clone(t.Code)
		t.Code[0].Overlaps = others[max(0, len(others)-maxOverlaps):]
		s.Threads.Put(t)
	}
	return fresh
}

func (c *Code) toldOf(with ThreadID) []string {
	for _, o := range c.Overlaps {
		if o.With == with {
			return o.Paths
		}
	}
	return nil
}

// keepOverlaps returns a thread's code with the overlaps that it has now: no undo makes
// untold what was told.
func keepOverlaps(code, now json.RawMessage) json.RawMessage {
	all := listOf[Code](code)
	if len(all) == 0 || Absent(now) {
		return code
	}
	all[0].Overlaps = soleCode(now).Overlaps
	return encode(all)
}
