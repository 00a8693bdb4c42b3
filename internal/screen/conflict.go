package screen

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/merge"
)

// This file draws a conflict of a merge.

// Conflict is the view of one conflict.
type Conflict struct {
	merge.Conflict
	// Number and Total are its position among all conflicts of the merge.
	Number, Total int
	// Titles has the titles of threads.
	Titles map[string]string
	// Files has the file of each side, and Base that of the base, if the whole file is in
	// conflict.
	Files []File
	Base  File
	// Decided is how it is decided so far, "" for an open one.
	Decided string

	Width   int
	Colours bool
	// All draws every line of long sides, and long lines as they are.
	All bool
	// More says how to see what is left out, as a clause: "v shows all".
	More string
}

// File is a file of a thread.
type File struct {
	Size     int64
	Modified time.Time // zero if unknown
}

// Drawing is a view as lines of the screen.
type Drawing struct {
	Lines []string
	// Shortened: the view left something out.
	Shortened bool
}

const (
	// shownLines is how many lines of a side are shown; of a longer one, its ends or what
	// is around its changes.
	shownLines = 20
	// shownRows is how many rows of the screen one line takes; in a longer one, stretches
	// without changes are left out.
	shownRows = 4
	// keptCells is how much of such a stretch stays on either side.
	keptCells = 24
)

// Gutters of lines: a line of a side that differs from the base, any other one of a side
// or the base, and a line that all have in common.
const (
	changedGutter = "  > "
	sameGutter    = "    "
	commonGutter  = "  │ "
)

// Draw draws the conflict: its place, what it is about, and the sides with the base
// between the lines around it.
func (v Conflict) Draw() Drawing {
	d := &drawing{view: v, width: max(v.Width, 20)}
	d.crlf = crlf(append(v.texts(), v.Context.Before, v.Context.After)...)
	d.head()
	d.common(v.Context.Before)
	d.sides()
	d.common(v.Context.After)
	return d.Drawing
}

func (v Conflict) texts() []string {
	out := []string{v.Conflict.Base.Text}
	for _, s := range v.Sides {
		out = append(out, s.Text)
	}
	return out
}

// drawing is a drawing in progress.
type drawing struct {
	Drawing
	view  Conflict
	width int
	crlf  bool
}

// say adds a line about the conflict.
func (d *drawing) say(indent string, l line) {
	d.Lines = append(d.Lines, behind(line{{indent, plain}}, l.flow(d.width-cells(indent)), d.view.Colours)...)
}

// show adds a line of a text behind a gutter.
func (d *drawing) show(gutter span, l line) {
	d.Lines = append(d.Lines, behind(line{gutter}, l.wrap(d.width-cells(gutter.text)), d.view.Colours)...)
}

// head names the conflict and its place.
func (d *drawing) head() {
	v := d.view
	l := line{{"conflict " + strconv.Itoa(v.Number) + " of " + strconv.Itoa(v.Total), bold}, {"  " + visible(v.Path), bold}}
	if v.Of > 1 {
		l = append(l, span{" " + strconv.Itoa(v.Hunk) + "/" + strconv.Itoa(v.Of), plain})
	}
	l = append(l, span{"  " + string(v.Kind) + "  " + v.ID, dim})
	d.say("", l)
	d.say("  ", line{{v.about(), plain}})
	if v.Decided != "" {
		d.say("  ", line{{"decided so far: " + visible(v.Decided), bold}})
	}
}

// about says in words what the conflict is about.
func (v Conflict) about() string {
	switch v.Kind {
	case merge.AddAdd:
		return "they added the file independently"
	case merge.ModifyDelete:
		return "one side changed the file and another deleted it"
	case merge.Mode:
		return "they differ only in whether the file is executable"
	case merge.BinaryFile:
		return "it is no text, so one side has to be chosen"
	case merge.TooLarge:
		return "it is too large to merge by lines, so one side has to be chosen"
	case merge.PathClash:
		return visible(v.Detail)
	}
	if v.Whole() {
		return "the sources have different bases, so the file is in conflict as a whole"
	}
	return "they changed the same lines"
}

// common draws lines that all versions have, so that they cannot be taken for a side.
func (d *drawing) common(text string) {
	for _, one := range linesOf(text, d.crlf) {
		room := d.width - cells(commonGutter)
		if !d.view.All && cells(one) > room {
			one, d.Shortened = cut(one, room), true
		}
		d.show(span{commonGutter, dim}, line{{one, dim}})
	}
}

// sideStyle is the style of what a side changed.
func sideStyle(i int) style { return []style{green, magenta, blue}[min(i, 2)] }

// sides draws the sides, with the base after the first.
func (d *drawing) sides() {
	v := d.view
	base := linesOf(v.Conflict.Base.Text, d.crlf)
	var replaced []marked // the base, with what the sides replace
	var drawn [][]marked
	for _, s := range v.Sides {
		is := linesOf(s.Text, d.crlf)
		drawn = append(drawn, marks(base, is))
		if !s.Absent {
			replaced = also(replaced, marks(is, base))
		}
	}
	for i, s := range v.Sides {
		d.say("  ", v.label(i))
		switch {
		case s.Absent:
			d.note("(no such file)")
		case v.Whole() && s.Lines == merge.Range{}:
			d.note(v.fact(i, s))
		case s.Text == "" && !v.Whole():
			d.note("(no lines)")
		case s.Text == "":
			d.note("(an empty file)")
		}
		d.side(drawn[i], sideStyle(i))
		if v.endsDiffer() && s.Text != "" && !strings.HasSuffix(s.Text, "\n") {
			d.note("(no line end after the last line)")
		}
		if i == 0 {
			d.base(replaced)
		}
	}
}

// endsDiffer reports whether only some sides end in a line feed.
func (v Conflict) endsDiffer() bool {
	with, without := false, false
	for _, text := range v.texts() {
		if text != "" {
			with, without = with || strings.HasSuffix(text, "\n"), without || !strings.HasSuffix(text, "\n")
		}
	}
	return with && without
}

// label names a side: its role, thread and title.
func (v Conflict) label(i int) line {
	s := v.Sides[i]
	l := line{{s.Role, sideStyle(i).strong()}, {": " + visible(s.Thread), sideStyle(i)}}
	title := s.Title
	if title == "" {
		title = v.Titles[s.Thread]
	}
	if title != "" && title != s.Thread {
		l = append(l, span{"  " + cut(visible(title), max(v.Width/2, 10)), plain})
	}
	return l
}

// fact describes a side that is not shown as text.
func (v Conflict) fact(i int, s merge.ConflictSide) string {
	var f File
	if i < len(v.Files) {
		f = v.Files[i]
	}
	if v.Kind == merge.Mode {
		if s.Executable {
			return "executable"
		}
		return "not executable"
	}
	return f.describe(s.Hash)
}

// describe returns size, date and hash of a file.
func (f File) describe(hash string) string {
	out := grouped(f.Size) + " bytes"
	if f.Size == 1 {
		out = "1 byte"
	}
	if !f.Modified.IsZero() {
		out += ", saved " + f.Modified.UTC().Format("2006-01-02 15:04:05Z")
	}
	return out + ", sha256 " + hash[:min(12, len(hash))]
}

// base draws the base, if there is one.
func (d *drawing) base(lines []marked) {
	b := d.view.Conflict.Base
	if b.From == "" && b.Hash == "" && b.Text == "" {
		return
	}
	d.say("  ", line{{"base", bold}, {": " + visible(b.From), plain}})
	switch {
	case b.Text != "":
	case b.Hash != "" && d.view.Kind != merge.Mode && b.Lines == merge.Range{}:
		d.note(d.view.Base.describe(b.Hash))
	case d.view.Kind == merge.AddAdd:
		d.note("(no such file)")
	case !d.view.Whole():
		d.note("(no lines)")
	}
	d.lines(lines, func(marked) span { return span{sameGutter, plain} }, plain, bold)
}

func (d *drawing) note(text string) { d.say(sameGutter, line{{text, dim}}) }

// side draws the lines of a side.
func (d *drawing) side(lines []marked, colour style) {
	d.lines(lines, func(m marked) span {
		if m.changed {
			return span{changedGutter, colour}
		}
		return span{sameGutter, plain}
	}, plain, colour.strong())
}

// lines draws lines, of a long text only some.
func (d *drawing) lines(all []marked, gutter func(marked) span, same, changed style) {
	left := 0
	gap := func() {
		if left > 0 {
			text := "… " + many(left, "line")
			if d.view.More != "" {
				text += " (" + d.view.More + ")"
			}
			d.note(text)
			d.Shortened = true
		}
		left = 0
	}
	shown := d.choose(all)
	for i, m := range all {
		if !shown[i] {
			left++
			continue
		}
		gap()
		d.show(gutter(m), d.short(m.parts, same, changed))
	}
	gap()
}

// choose says which lines of a text are shown: all of a short one, what is around the
// changes if these are few, otherwise its ends.
func (d *drawing) choose(all []marked) []bool {
	shown := make([]bool, len(all))
	show := func(from, to int) {
		for i := max(from, 0); i < min(to, len(all)); i++ {
			shown[i] = true
		}
	}
	if d.view.All || len(all) <= shownLines {
		show(0, len(all))
		return shown
	}
	changes := 0
	for i, m := range all {
		if m.changed {
			changes++
			show(i-1, i+2)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(shown), func(on bool) bool { return !on })); changes == 0 || n > shownLines {
		clear(shown)
		show(0, shownLines/2)
		show(len(all)-shownLines/2, len(all))
	}
	return shown
}

// short returns the parts of a line in their styles. In a line of many rows it leaves out
// long stretches without changes, and then the rest.
func (d *drawing) short(parts []part, same, changed style) line {
	room := shownRows * (d.width - len(sameGutter))
	var l line
	for _, p := range parts {
		l = append(l, span{p.text, same})
		if p.changed {
			l[len(l)-1].style = changed
		}
	}
	if d.view.All || l.cells() <= room {
		return l
	}
	d.Shortened = true
	for i, p := range parts {
		if n := cells(p.text); !p.changed && n > 3*keptCells && len(parts) > 1 {
			l[i].text = " … " + ending(p.text, keptCells)
			if i > 0 {
				l[i].text = fitting(p.text, keptCells) + l[i].text
			}
			if i == len(parts)-1 {
				l[i].text = fitting(p.text, keptCells) + " …"
			}
		}
	}
	if l.cells() <= room {
		return l
	}
	var out line
	for _, s := range l {
		if n := cells(s.text); n < room-2 {
			out, room = append(out, s), room-n
			continue
		}
		s.text = fitting(s.text, room-2)
		return append(out, s, span{" …", dim})
	}
	return out
}
