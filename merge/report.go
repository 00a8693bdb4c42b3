package merge

import "slices"

// This file says what became of the sources' lines in a merge without open conflicts.

// Contribution says what became of the lines that a source added or changed, over all
// paths whose result is known.
type Contribution struct {
	Thread string `json:"threadId"`
	// Files is the number of paths that the source changed. Their lines are counted,
	// unless a version is binary or too large to merge by lines.
	Files int `json:"files"`
	// Kept lines are in the result as the source wrote them. Changed ones were replaced
	// by lines that no version has. Dropped ones are not in the result.
	Kept    int `json:"kept"`
	Changed int `json:"changed"`
	Dropped int `json:"dropped"`
}

// Report returns the contribution of each source, in their order. read returns content
// by its hash, like Input.Read. Errors: those of read.
func (p *Plan) Report(sources []Source, read func(hash string) ([]byte, error)) ([]Contribution, error) {
	out := make([]Contribution, len(sources))
	for i, s := range sources {
		out[i].Thread = s.ID
	}
	for _, c := range p.Files {
		if c.Open > 0 || len(c.sides) == 0 {
			continue
		}
		r := reporter{change: c, read: read}
		for _, s := range c.sides {
			i := slices.IndexFunc(out, func(o Contribution) bool { return o.Thread == s.thread })
			if err := r.add(&out[i], s); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// reporter compares the versions of one path with its result.
type reporter struct {
	change Change
	read   func(hash string) ([]byte, error)
	given  map[string]bool // lines of any version
}

// add counts the lines of one side.
func (r *reporter) add(to *Contribution, s side) error {
	to.Files++
	base, is, result, err := r.versions(s)
	if err != nil || is == nil {
		return err
	}
	added := map[int]bool{}
	ids := newInterner(base)
	was, side := ids.cut(base), ids.cut(is)
	for _, c := range diff(was.id, side.id, len(ids)) {
		for i := c.bLo; i < c.bHi; i++ {
			added[i] = true
		}
	}
	to.Kept += len(added)
	final := ids.cut(result)
	changes := diff(side.id, final.id, len(ids))
	elsewhere := map[string]int{} // lines of the result that moved, or came from others
	for _, c := range changes {
		for i := c.bLo; i < c.bHi; i++ {
			elsewhere[final.line(i)]++
		}
	}
	for _, c := range changes {
		gone := 0
		for i := c.aLo; i < c.aHi; i++ {
			switch {
			case !added[i]:
			case elsewhere[side.line(i)] > 0:
				elsewhere[side.line(i)]--
			default:
				gone++
			}
		}
		if gone == 0 {
			continue
		}
		fresh, err := r.fresh(final, c)
		if err != nil {
			return err
		}
		changed := min(gone, fresh)
		to.Kept, to.Changed, to.Dropped = to.Kept-gone, to.Changed+changed, to.Dropped+gone-changed
	}
	return nil
}

// versions returns the texts of a side, its base and the result; is is nil where lines
// are not counted.
func (r *reporter) versions(s side) (base, is, result []byte, err error) {
	after := File{}
	if r.change.Content == nil {
		after = r.change.After
	}
	texts := make([][]byte, 3)
	for i, file := range []File{s.base.File, s.file, after} {
		if file.Size > maxBytes {
			return nil, nil, nil, nil
		}
		if file.There() {
			if texts[i], err = r.read(file.Hash); err != nil {
				return nil, nil, nil, err
			}
		}
	}
	if r.change.Content != nil {
		texts[2] = r.change.Content
	}
	if slices.ContainsFunc(texts, func(text []byte) bool { return len(text) > maxBytes || Binary(text) }) {
		return nil, nil, nil, nil
	}
	return texts[0], texts[1], texts[2], nil
}

// fresh returns how many lines of a change of the result are in no version.
func (r *reporter) fresh(final *version, c change) (n int, err error) {
	if r.given == nil {
		r.given = map[string]bool{}
		files := []File{r.change.Before}
		for _, s := range r.change.sides {
			files = append(files, s.base.File, s.file)
		}
		for _, file := range files {
			if !file.There() || file.Size > maxBytes {
				continue
			}
			text, err := r.read(file.Hash)
			if err != nil {
				return 0, err
			}
			v := interner{}.cut(text)
			for i := range v.len() {
				r.given[v.line(i)] = true
			}
		}
	}
	for i := c.bLo; i < c.bHi; i++ {
		if !r.given[final.line(i)] {
			n++
		}
	}
	return n, nil
}
