package merge

import (
	"bytes"
	"slices"
)

// This file plans one path: the result is one of the versions, a line merge, or a
// conflict of the whole file.

// filePlan plans one path that at least one source changed.
type filePlan struct {
	*planner
	path  string
	ours  File
	sides []side
	// texts caches what was read, by hash.
	texts map[string][]byte
	// folded is the result without its executable bit, if only the bit is in
	// conflict.
	folded File
}

// plan applies the rules for paths, the simplest first.
func (f *filePlan) plan() (*planned, error) {
	if file, ok := f.fold(); ok {
		return f.take(file)
	}
	if f.deletion() {
		return f.whole(ModifyDelete)
	}
	return f.text()
}

// fold returns the version to which the others lead without a merge: a source whose
// base is the target's version replaces it (ours = base: take theirs), and another
// source may continue from there. It returns false if versions changed in parallel.
func (f *filePlan) fold() (File, bool) {
	now, left := f.ours, f.sides
	for len(left) > 0 {
		var stuck []side
		for _, s := range left {
			switch {
			case s.file.Hash == now.Hash, s.bitAlone():
			case s.base.Hash == now.Hash && (s.file.There() || s.base.same(now)):
				now = s.file
			default:
				stuck = append(stuck, s)
			}
		}
		if len(stuck) == len(left) {
			return File{}, false
		}
		left = stuck
	}
	return now, now.There() || !slices.ContainsFunc(f.sides, side.bitAlone)
}

// bitAlone reports whether the source changed only the executable bit, which is
// merged separately while the file exists.
func (s side) bitAlone() bool { return s.file.There() && s.file.Hash == s.base.Hash }

// take plans a path whose content is decided; only its executable bit is left.
func (f *filePlan) take(file File) (*planned, error) {
	if !file.There() {
		return f.planned(Change{How: Deleted}), nil
	}
	executable, sure := f.executable()
	if !sure {
		f.folded = file
		return f.whole(Mode)
	}
	file.Executable = executable
	c := Change{How: Taken, After: file}
	switch {
	case file.same(f.ours):
		return nil, nil
	case file.Hash == f.ours.Hash:
		c.How = ModeOnly
	}
	return f.planned(c), nil
}

// executable merges the executable bit. With only two values, two changes from one
// base cannot differ, so the result is sure if there was a base. If sides without a
// base disagree, sure is false and set is true.
func (f *filePlan) executable() (set, sure bool) {
	from := f.ours
	for _, s := range f.sides {
		if !from.There() {
			from = s.file
		}
	}
	set, sure = from.Executable, true
	for _, s := range f.sides {
		switch {
		case !s.file.There() || s.file.Executable == from.Executable:
		case !s.base.There():
			set, sure = true, false
		case s.file.Executable != s.base.Executable:
			set = s.file.Executable
		}
	}
	return set, sure
}

// deletion reports whether one version exists and another one was deleted. A file
// that sources only added is not deleted in the target.
func (f *filePlan) deletion() bool {
	gone, there := !f.ours.There() && !f.onlyAdded(), f.ours.There()
	for _, s := range f.sides {
		gone = gone || !s.file.There()
		there = there || s.file.There()
	}
	return gone && there
}

// onlyAdded reports whether no source shared the path with the target.
func (f *filePlan) onlyAdded() bool {
	for _, s := range f.sides {
		if s.base.There() {
			return false
		}
	}
	return true
}

// oneBase reports whether all sides have the same base.
func (f *filePlan) oneBase() bool {
	for _, s := range f.sides {
		if s.base.Hash != f.sides[0].base.Hash {
			return false
		}
	}
	return true
}

// text merges by lines: all sides at once if they have one base. Sides with
// different bases are merged one after the other; if that leaves a conflict, the
// whole file is in conflict, because parts of different merges cannot be combined.
func (f *filePlan) text() (*planned, error) {
	kind, err := f.unreadable()
	if err != nil {
		return nil, err
	}
	if kind != "" {
		return f.whole(kind)
	}
	if !f.oneBase() {
		return f.inTurn()
	}
	sides := [][]byte{f.texts[f.ours.Hash]}
	for _, s := range f.sides {
		sides = append(sides, f.texts[s.file.Hash])
	}
	r, conflicts := f.answered(Texts(f.texts[f.sides[0].base.Hash], sides...), f.sides)
	return f.merged(r, conflicts), nil
}

// inTurn merges sides of different bases one after the other.
func (f *filePlan) inTurn() (*planned, error) {
	now := f.texts[f.ours.Hash]
	var all []Conflict
	for i, s := range f.sides {
		r, conflicts := f.answered(Text(f.texts[s.base.Hash], now, f.texts[s.file.Hash]), f.sides[i:i+1])
		merged, clean := r.Merged()
		if !clean {
			return f.whole(f.contentKind())
		}
		now, all = merged, append(all, conflicts...)
	}
	out := f.content(now, settledBy(all))
	out.conflicts = all
	return out, nil
}

// unreadable reads all versions, and returns the kind of conflict if they cannot be
// merged by lines.
func (f *filePlan) unreadable() (ConflictKind, error) {
	files := []File{f.ours}
	for _, s := range f.sides {
		files = append(files, s.file, s.base.File)
	}
	for _, file := range files {
		if file.Size > maxBytes {
			return TooLarge, nil
		}
	}
	for _, file := range files {
		text, err := f.read(file)
		switch {
		case err != nil:
			return "", err
		case Binary(text):
			return BinaryFile, nil
		case len(text) > maxBytes || countLines(text) > maxLines:
			return TooLarge, nil
		}
	}
	return "", nil
}

// derived reports whether files are clearly derived from one version: each is equal to
// it, or the two have more than half of the lines of the longer one in common. For a
// file that does not exist it returns false.
func (f *filePlan) derived(from File, files ...File) (bool, error) {
	for _, file := range files {
		switch {
		case !file.There() || file.Size > maxBytes || from.Size > maxBytes:
			return false, nil
		case file.Hash == from.Hash:
			continue
		}
		was, err := f.read(from)
		if err != nil {
			return false, err
		}
		is, err := f.read(file)
		if err != nil || Binary(was) || Binary(is) || 2*linesInCommon(was, is) <= max(countLines(was), countLines(is)) {
			return false, err
		}
	}
	return true, nil
}

// linesInCommon returns the number of lines that both texts have in the same order.
func linesInCommon(a, b []byte) int {
	in := newInterner(a)
	was, is := in.cut(a), in.cut(b)
	n := was.len()
	for _, c := range diff(was.id, is.id, len(in)) {
		n -= c.aHi - c.aLo
	}
	return n
}

// read returns a version's content, nil for one that does not exist.
func (f *filePlan) read(file File) ([]byte, error) {
	if text, known := f.texts[file.Hash]; known || !file.There() {
		return text, nil
	}
	text, err := f.in.Read(file.Hash)
	if err == nil {
		f.texts[file.Hash] = text
	}
	return text, err
}

// countLines returns the number of lines, including a last line without line ending.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// answered applies mergers and decisions to the conflicts of a line merge of the
// target with sides. It returns the result and all conflicts, resolved or not.
func (f *filePlan) answered(r *Result, sides []side) (*Result, []Conflict) {
	r, _ = Settle(f.path, r, f.in.Mergers...)
	var contested []int
	for i, h := range r.Hunks {
		if h.Kind == Conflicting || h.Kind == Settled {
			contested = append(contested, i)
		}
	}
	var conflicts []Conflict
	var answers []Answer
	for n, hunk := range contested {
		d := f.conflictOf(r, hunk, sides)
		d.Hunk, d.Of = n+1, len(contested)
		d.ID = f.ids.of(d)
		if text, ok := d.decided(f.in.Decisions); ok {
			d.Status, d.How, d.settled = Resolved, f.in.Decisions[d.ID].How, false
			answers = append(answers, Answer{hunk, r.ended(hunk, text), d.How})
			d.Result = &ConflictResult{Take: f.in.Decisions[d.ID].Take, Text: string(text)}
		} else if d.settled {
			d.Result = &ConflictResult{Text: string(r.Hunks[hunk].Text)}
		}
		conflicts = append(conflicts, d)
	}
	return r.Answered(answers...), conflicts
}

// merged plans a path after its line merge.
func (f *filePlan) merged(r *Result, conflicts []Conflict) *planned {
	if len(conflicts) == 0 {
		text, _ := r.Merged()
		return f.content(text, Merged)
	}
	d := f.wholeConflict(f.contentKind())
	id := f.ids.of(d)
	if decision, ok := f.in.Decisions[id]; ok && d.Fits(decision.Take) == nil {
		return f.overruled(d, id, decision, conflicts)
	}
	text, clean := r.Merged()
	out := f.planned(Change{How: Waiting})
	if clean {
		out = f.content(text, settledBy(conflicts))
	}
	out.ID, out.Merge, out.conflicts = id, r, conflicts
	for _, d := range conflicts {
		if d.Status == Unresolved {
			out.Open++
		}
	}
	return out
}

// overruled plans a path with a decision about the whole file, which overrides
// decisions about its parts.
func (f *filePlan) overruled(d Conflict, id string, decision Decision, conflicts []Conflict) *planned {
	c := Change{How: Decided, ID: id}
	c.After, c.Content = f.chosen(d, decision)
	out := f.planned(c)
	for _, part := range conflicts {
		part.Status, part.How, part.Result = Resolved, decision.How, resultOf(decision, c)
		out.conflicts = append(out.conflicts, part)
	}
	return out
}

// settledBy says how conflicts, none of which is open, were resolved.
func settledBy(conflicts []Conflict) How {
	how := Merged
	for _, d := range conflicts {
		switch {
		case d.settled:
			if how == Merged {
				how = How(d.How)
			}
		default:
			how = Decided
		}
	}
	return how
}

// content plans a path that gets new content. Empty content for a path that the
// target lacks means no file: that is what "ours" means there.
func (f *filePlan) content(text []byte, how How) *planned {
	if len(text) == 0 && !f.ours.There() {
		return f.planned(Change{How: how})
	}
	executable, sure := f.executable()
	after := fileOf(text, executable)
	if !sure && how == Decided {
		after = f.orSide(after)
	}
	return f.planned(Change{How: how, After: after, Content: append([]byte{}, text...)})
}

// orSide returns the file with the executable bit of the side whose text was chosen.
func (f *filePlan) orSide(file File) File {
	sides := slices.DeleteFunc(f.versions(), func(v File) bool { return v.Hash != file.Hash })
	if len(sides) > 0 {
		file.Executable = slices.ContainsFunc(sides, func(v File) bool { return v.Executable })
	}
	return file
}

// whole plans a path that is in conflict as a whole.
func (f *filePlan) whole(kind ConflictKind) (*planned, error) {
	for _, file := range f.versions() {
		if kind != ModifyDelete || file.Size > maxBytes {
			continue // already read, or not shown
		}
		if _, err := f.read(file); err != nil {
			return nil, err
		}
	}
	d := f.wholeConflict(kind)
	d.ID = f.ids.of(d)
	c := Change{How: Waiting, ID: d.ID, Open: 1}
	if decision, ok := f.in.Decisions[d.ID]; ok && d.Fits(decision.Take) == nil {
		d.Status, d.How = Resolved, decision.How
		c.How, c.Open = Decided, 0
		c.After, c.Content = f.chosen(d, decision)
		d.Result = resultOf(decision, c)
	}
	out := f.planned(c)
	out.conflicts = []Conflict{d}
	return out, nil
}

// planned fills in the common fields of a change.
func (f *filePlan) planned(c Change) *planned {
	c.Path, c.Before, c.Sides, c.sides = f.path, f.ours, []string{f.in.Target}, f.sides
	for _, s := range f.sides {
		c.Sides = append(c.Sides, s.thread)
	}
	return &planned{Change: c}
}

// versions returns all files of the conflict, the bases last.
func (f *filePlan) versions() []File {
	files := []File{f.ours}
	for _, s := range f.sides {
		files = append(files, s.file)
	}
	for _, s := range f.sides {
		files = append(files, s.base.File)
	}
	return files
}
