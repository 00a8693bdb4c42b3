package merge

import (
	"io/fs"
	"strings"
	"unicode"
)

// This file detects paths that cannot exist together in one tree: a file where a
// folder is needed, anything below a link or special file, names that differ only in
// case. Only paths that are new to the target can cause such conflicts; existing
// ones stay.

// pathConflicts turns new paths that cannot be written into path conflicts. A decision
// to leave one path out admits the paths that only it blocked.
func (p *planner) pathConflicts() {
	var coming []*planned
	for _, f := range p.files {
		if _, contested := p.in.Contested[f.Path]; f.comes() && !contested {
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

// comes reports whether the change adds a path to the target.
func (f *planned) comes() bool {
	return !f.Before.There() && (f.Open > 0 || f.After.There())
}

// blocked returns for each new path what blocks it, "" for nothing.
func (p *planner) blocked(coming []*planned) []string {
	w := p.layout(coming)
	out := make([]string, len(coming))
	for i, f := range coming {
		out[i] = w.blocks(f.Path)
	}
	return out
}

// refuse turns blocked paths into conflicts.
func (p *planner) refuse(files []*planned, details []string) {
	for i, f := range files {
		if details[i] == "" {
			continue
		}
		d := p.pathConflict(f, details[i])
		f.Change = Change{Path: f.Path, How: Waiting, ID: d.ID, Before: f.Before, Open: 1, Sides: f.Sides, sides: f.sides}
		f.conflicts = []Conflict{d}
	}
}

// clash resolves a blocked path if there is a decision to leave the target as it is,
// the only choice without a rename. It returns false without such a decision.
func (p *planner) clash(f *planned, detail string) bool {
	d := p.pathConflict(f, detail)
	decision, ok := p.in.Decisions[d.ID]
	if !ok || d.Fits(decision.Take) != nil {
		return false
	}
	f.Change = Change{Path: f.Path, How: Decided, ID: d.ID, Before: f.Before, Sides: f.Sides, sides: f.sides}
	d.Status, d.How, d.Result = Resolved, decision.How, resultOf(decision, f.Change)
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
	d.ID = identities{}.of(d) // one per path: unique without a number
	return d
}

// layout has the paths of the target after the plan is carried out.
type layout struct {
	others map[string]bool // links and special files
	files  map[string]bool
	// folders has folders that are not empty; held has all names that the target
	// keeps.
	folders, held map[string]bool
	// spelled has, by case-folded name, the first two names in byte order.
	spelled map[string][2]string
}

func (p *planner) layout(coming []*planned) layout {
	w := layout{others: p.in.Tree.Others, files: map[string]bool{}, folders: map[string]bool{}, held: map[string]bool{},
		spelled: map[string][2]string{}}
	gone := map[string]bool{}
	for _, f := range p.files {
		gone[f.Path] = f.Deletes()
	}
	for name := range p.in.Tree.Files {
		if !gone[name] {
			w.files[name] = true
			w.add(name, w.held)
		}
	}
	for name := range w.others {
		w.add(name, w.held)
	}
	seen := map[string]bool{}
	for _, f := range coming {
		w.files[f.Path] = true
		w.add(f.Path, seen)
	}
	return w
}

// add enters a name and its parent folders; done has those already entered.
func (w layout) add(name string, done map[string]bool) {
	for dir := parent(name); dir != "" && !(done[dir] && w.folders[dir]); dir = parent(dir) {
		w.folders[dir] = true
		w.spell(dir, done)
	}
	w.spell(name, done)
}

func (w layout) spell(name string, done map[string]bool) {
	done[name] = true
	key := caseFolded(name)
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

// blocks returns what prevents a new path from being written, "" for nothing.
func (w layout) blocks(name string) string {
	if !fs.ValidPath(name) || name == "." {
		return "it is not a path inside the folder"
	}
	if w.folders[name] {
		return name + " is a folder with files"
	}
	for at := name; at != ""; at = parent(at) {
		switch {
		case w.others[at]:
			return at + " is a link or a special file"
		case at != name && w.files[at]:
			return at + " is a file, but a folder is needed"
		}
		if other := w.twin(at); other != "" {
			return at + " differs from " + other + " only in case"
		}
	}
	return ""
}

// twin returns another name that differs only in case, unless the target already has
// both.
func (w layout) twin(name string) string {
	s := w.spelled[caseFolded(name)]
	switch {
	case w.held[name]:
		return ""
	case s[0] != name:
		return s[0]
	default:
		return s[1]
	}
}

// parent returns the folder of a path, "" at the top.
func parent(name string) string {
	return name[:max(0, strings.LastIndexByte(name, '/'))]
}

// caseFolded returns a key that is equal for names that differ only in case, as defined
// by strings.EqualFold.
func caseFolded(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}
