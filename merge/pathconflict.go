package merge

import (
	"io/fs"
	"strings"
	"unicode"
)

// This file keeps the plan from writing what cannot stand in one tree: a file
// where a folder is needed, anything through a link or special file, names equal
// but for case. Only paths that are new to the target can be in the way of
// something: what it holds already stays as it is.

// pathConflicts turns new paths that cannot stand into conflicts of paths. A
// decision to leave one out lets those in that only it was in the way of.
func (p *planner) pathConflicts() {
	var coming []*planned
	for _, f := range p.files {
		if f.comes() {
			coming = append(coming, f)
		}
	}
	details := p.blocked(coming)
	var left []*planned
	for i, f := range coming {
		if details[i] == "" || !p.clash(f, details[i]) {
			left = append(left, f)
		}
	}
	if len(left) == len(coming) {
		p.refuse(left, details)
		return
	}
	p.refuse(left, p.blocked(left))
}

// comes reports whether the target would get a path that it lacks.
func (f *planned) comes() bool {
	return !f.Before.There() && (f.Open > 0 || f.After.There())
}

// blocked says for each path that comes what is in its way, "" for nothing.
func (p *planner) blocked(coming []*planned) []string {
	w := p.way(coming)
	out := make([]string, len(coming))
	for i, f := range coming {
		out[i] = w.blocks(f.Path)
	}
	return out
}

// refuse makes conflicts of the paths that are blocked.
func (p *planner) refuse(files []*planned, details []string) {
	for i, f := range files {
		if details[i] == "" {
			continue
		}
		d := p.pathConflict(f, details[i])
		f.Change = Change{Path: f.Path, How: Waiting, ID: d.ID, Before: f.Before, Open: 1, Sides: f.Sides}
		f.conflicts = []Conflict{d}
	}
}

// clash settles a blocked path for which it was decided that the target stays as
// it is; anything else begins with a rename. False when that was not decided.
func (p *planner) clash(f *planned, detail string) bool {
	d := p.pathConflict(f, detail)
	decision, ok := p.in.Decisions[d.ID]
	if !ok || d.Fits(decision.Take) != nil {
		return false
	}
	d.Status, d.How = Resolved, decision.How
	f.Change = Change{Path: f.Path, How: Decided, ID: d.ID, Before: f.Before, Sides: f.Sides}
	f.conflicts = []Conflict{d}
	return true
}

func (p *planner) pathConflict(f *planned, detail string) Conflict {
	d := Conflict{Path: f.Path, Kind: PathClash, Hunk: 1, Of: 1, Status: Unresolved, Detail: detail,
		Sides: []ConflictSide{{Role: TakeOurs, Thread: p.in.Target, Absent: true}}}
	for _, s := range f.sides {
		d.Sides = append(d.Sides, ConflictSide{Role: TakeTheirs, Thread: s.thread, Title: s.title,
			Absent: !s.file.There(), Hash: s.file.Hash, Executable: s.file.Executable})
	}
	d.ID = identities{}.of(d) // one a path: unique without a number
	return d
}

// way is what the target will hold once the plan is carried out.
type way struct {
	others map[string]bool // links and special files
	files  map[string]bool
	// folders hold something; held are the names that the target keeps, of every
	// sort.
	folders, held map[string]bool
	// spelled holds, by what names have in common whatever their case, the first
	// two of them in the order of their bytes.
	spelled map[string][2]string
}

func (p *planner) way(coming []*planned) way {
	w := way{others: p.in.Tree.Others, files: map[string]bool{}, folders: map[string]bool{}, held: map[string]bool{},
		spelled: map[string][2]string{}}
	gone := map[string]bool{}
	for _, f := range p.files {
		gone[f.Path] = f.Deletes()
	}
	for name := range p.in.Tree.Files {
		if !gone[name] {
			w.files[name] = true
			w.stands(name, w.held)
		}
	}
	for name := range w.others {
		w.stands(name, w.held)
	}
	seen := map[string]bool{}
	for _, f := range coming {
		w.files[f.Path] = true
		w.stands(f.Path, seen)
	}
	return w
}

// stands enters a name and the folders that it lies in; done are those known.
func (w way) stands(name string, done map[string]bool) {
	for dir := parent(name); dir != "" && !(done[dir] && w.folders[dir]); dir = parent(dir) {
		w.folders[dir] = true
		w.spell(dir, done)
	}
	w.spell(name, done)
}

func (w way) spell(name string, done map[string]bool) {
	done[name] = true
	key := folded(name)
	s := w.spelled[key]
	switch {
	case s[0] == name || s[1] == name:
	case s[0] == "":
		s[0] = name
	case name < s[0]:
		s[0], s[1] = name, s[0]
	case s[1] == "" || name < s[1]:
		s[1] = name
	}
	w.spelled[key] = s
}

// blocks says what keeps a new path from being written, "" for nothing.
func (w way) blocks(name string) string {
	if !fs.ValidPath(name) || name == "." {
		return "it is no path inside a folder"
	}
	if w.folders[name] {
		return "a folder with files stands at " + name
	}
	for at := name; at != ""; at = parent(at) {
		switch {
		case w.others[at]:
			return "a link or special file stands at " + at
		case at != name && w.files[at]:
			return "the file " + at + " stands where a folder is needed"
		}
		if other := w.twin(at); other != "" {
			return at + " differs from " + other + " only in case"
		}
	}
	return ""
}

// twin is another name that is equal but for case, unless the target lives with
// both already.
func (w way) twin(name string) string {
	s := w.spelled[folded(name)]
	switch {
	case w.held[name]:
		return ""
	case s[0] != name:
		return s[0]
	default:
		return s[1]
	}
}

// parent is the folder that a path lies in, "" at the top.
func parent(name string) string {
	return name[:max(0, strings.LastIndexByte(name, '/'))]
}

// folded is what a name has in common with those equal but for case, as
// strings.EqualFold judges.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}
