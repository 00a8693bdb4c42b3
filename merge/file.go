package merge

import (
	"bytes"
	"slices"
)

// This file plans one path: whether one version is the answer, or a line merge,
// or a conflict of the whole file.

// filePlan plans one path that at least one source changed.
type filePlan struct {
	*planner
	path  string
	ours  File
	sides []side
	// texts remembers what was read, by hash.
	texts map[string][]byte
	// folded is the answer but for the executable bit, when only that is open.
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

// fold is the version that the others lead to: a source that began from what
// the target holds replaces it (O = B: take T), and then another one may follow
// on from there. It is false when a source changed what had changed.
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

// bitAlone reports whether the source changed no more than the executable bit,
// which is merged on its own while there is a file.
func (s side) bitAlone() bool { return s.file.There() && s.file.Hash == s.base.Hash }

// take plans a path whose content is clear; what is left is its executable bit.
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

// executable merges the executable bit on its own. Two values leave no room for
// two different changes, so that it is clear wherever there was a base; false
// when sides that share none have it differently, and then it is set.
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

// deletion reports whether some version is there and another one was deleted.
// That the target lacks what sources only added is no deletion.
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

// oneBase reports whether all sides began from the same content.
func (f *filePlan) oneBase() bool {
	for _, s := range f.sides {
		if s.base.Hash != f.sides[0].base.Hash {
			return false
		}
	}
	return true
}

// text merges by lines: all sides at once when they began from one base. Sides
// with other bases come in turn as long as nothing is left in conflict; else the
// file is in conflict as a whole, since parts of different merges do not fit
// together.
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

// unreadable reads all versions, and names the kind of conflict that keeps them
// from being merged by lines.
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

// resumeIfUnblocked reports whether files evidently go on from one version: each is that, or
// shares more than half of the lines of the longer one with it. A file that is not
// there says nothing.
func (f *filePlan) goOn(from File, files ...File) (bool, error) {
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

// linesInCommon counts the lines that stand in both texts in the same order.
func linesInCommon(a, b []byte) int {
	in := newInterner(a)
	was, is := in.cut(a), in.cut(b)
	n := was.len()
	for _, c := range diff(was.id, is.id, len(in)) {
		n -= c.aHi - c.aLo
	}
	return n
}

// read is a version's content, nothing for one that is not there.
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

// countLines counts a last line without an end as well.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// answered lets mergers and decisions answer the conflicts of a line merge
// of the target with sides, and tells of all its conflicts.
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

// overruled plans a path whose content somebody decided as a whole, whatever its
// parts say.
func (f *filePlan) overruled(d Conflict, id string, decision Decision, conflicts []Conflict) *planned {
	c := Change{How: Decided, ID: id}
	c.After, c.Content = f.chosen(d, decision)
	out := f.planned(c)
	for _, part := range conflicts {
		part.Status, part.How = Resolved, decision.How
		out.conflicts = append(out.conflicts, part)
	}
	return out
}

// settledBy says how conflicts without an open one among them were settled.
func settledBy(conflicts []Conflict) How {
	how := Merged
	for _, d := range conflicts {
		switch {
		case d.settled:
			if how == Merged {
				how = ByList
			}
		default:
			how = Decided
		}
	}
	return how
}

// content plans a path that gets new content. Nothing where the target had
// nothing stays nothing: that is what "ours" is there.
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

// orSide is the file of the side whose text was chosen: its bit was chosen with it.
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
			continue // read already, or not to be shown
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
	}
	out := f.planned(c)
	out.conflicts = []Conflict{d}
	return out, nil
}

// planned completes a change.
func (f *filePlan) planned(c Change) *planned {
	c.Path, c.Before, c.Sides = f.path, f.ours, []string{f.in.Target}
	for _, s := range f.sides {
		c.Sides = append(c.Sides, s.thread)
	}
	return &planned{Change: c, sides: f.sides}
}

// versions are all files that the conflict is about, the bases last.
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
