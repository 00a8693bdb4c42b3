package screen

import (
	"slices"
	"strings"
	"time"

	"leslie/thread"
)

// This file draws tables.

// Table is rows in columns under a header.
type Table struct {
	Columns []Column
	Rows    [][]Cell // each with a cell a column
}

// Column is a column of a table. Its zero value stays, and is cut only if nothing else
// makes the table fit.
type Column struct {
	Name string
	// DropOrder says which column is left out first where the width is too small for all: 1,
	// then 2; 0 for one that stays.
	DropOrder int
	// Shrinks: its cells are cut before a column is left out, but not to less than
	// enoughCells. CutStart: what is cut is the start of its texts.
	Shrinks, CutStart bool
	// Below: where the width is too small its cells get lines of their own, below their
	// rows, and are never cut: commands to copy.
	Below bool
}

// Cell is a text in a table.
type Cell struct {
	Text  string
	style style
}

// Text is a cell in the terminal's own colours.
func Text(text string) Cell { return Cell{text, plain} }

// Bold is a cell that stands out.
func Bold(text string) Cell { return Cell{text, bold} }

// Good is a cell about what goes well.
func Good(text string) Cell { return Cell{text, green} }

// Faint is a cell that stands back.
func Faint(text string) Cell { return Cell{text, dim} }

// StatusCell is a thread's status: bold if somebody has to do something, coloured if work is
// completed; one that ended stands back.
func StatusCell(s thread.Status) Cell {
	switch s {
	case thread.WaitingHuman, thread.Suspended:
		return Cell{string(s), bold}
	case thread.Completed:
		return Cell{string(s), green}
	case thread.Cancelled, thread.Archived:
		return Cell{string(s), dim}
	}
	return Cell{string(s), plain}
}

// ObjectiveCell is an objective's status.
func ObjectiveCell(s thread.ObjectiveStatus) Cell {
	switch s {
	case thread.ObjectiveCompleted:
		return Cell{string(s), green}
	case thread.ObjectiveCancelled:
		return Cell{string(s), dim}
	}
	return Cell{string(s), plain}
}

// GrantCell is the status of a request or a delegation.
func GrantCell(s thread.GrantStatus) Cell {
	switch s {
	case thread.GrantOpen:
		return Cell{string(s), bold}
	case thread.GrantApproved:
		return Cell{string(s), green}
	}
	return Cell{string(s), dim}
}

// QuestionCell is the status of a question.
func QuestionCell(s thread.QuestionStatus) Cell {
	if s == thread.QuestionOpen {
		return Cell{string(s), bold}
	}
	return Cell{string(s), dim}
}

// WaitingCell is a kind of what waits for a person.
func WaitingCell(kind string) Cell { return Cell{kind, bold} }

// Ago is how long ago a time was, or in how long it will be.
func Ago(t, now time.Time) Cell { return Cell{relative(t, now), dim} }

const (
	enoughCells = 24 // of a text that is cut while other columns can go
	fewestCells = 4  // of any other column
	gapCells    = 2

	belowIndent = "      "
)

// Header returns the names of the columns, nil if none has one.
func (t Table) Header() []string {
	names, named := make([]string, len(t.Columns)), false
	for i, column := range t.Columns {
		names[i], named = column.Name, named || column.Name != ""
	}
	if !named {
		return nil
	}
	return names
}

// Draw draws the table in lines of at most width cells; it leaves out columns and cuts
// texts that do not fit.
func (t Table) Draw(width int, colours bool) []string {
	d := t.measured()
	d.fit(max(width, 1))
	var lines []string
	for n, row := range d.rows {
		lines = append(lines, d.line(row).render(colours))
		for i, column := range t.Columns {
			if column.Below && !slices.Contains(d.left, i) && (n > 0 || t.Header() == nil) {
				lines = append(lines, line{{belowIndent, plain}, {row[i].Text, row[i].style}}.render(colours))
			}
		}
	}
	return lines
}

// layout is a table in the making: its rows with the header, and the columns that are
// left, with their widths.
type layout struct {
	columns []Column
	rows    [][]Cell
	widths  []int
	left    []int // numbers of the columns
}

func (t Table) measured() *layout {
	d := &layout{columns: t.Columns, widths: make([]int, len(t.Columns))}
	for i := range t.Columns {
		d.left = append(d.left, i)
	}
	if names := t.Header(); names != nil {
		header := make([]Cell, len(names))
		for i, name := range names {
			header[i] = Faint(name)
		}
		d.rows = append(d.rows, header)
	}
	for _, row := range t.Rows {
		drawn := make([]Cell, len(row))
		for i, cell := range row {
			if cell.Text == "" {
				cell = Faint("-")
			}
			drawn[i] = Cell{visible(cell.Text), cell.style}
		}
		d.rows = append(d.rows, drawn)
	}
	for _, row := range d.rows {
		for i, cell := range row {
			d.widths[i] = max(d.widths[i], cells(cell.Text))
		}
	}
	return d
}

// fit makes the columns as narrow as they have to be: it leaves out columns where cutting
// texts is not enough, and in the end cuts whatever is widest.
func (d *layout) fit(width int) {
	shrinks := func(c Column) bool { return c.Shrinks }
	every := func(Column) bool { return true }
	if d.least() > width {
		d.left = slices.DeleteFunc(d.left, func(i int) bool { return d.columns[i].Below })
	}
	for goes := 1; d.least() > width && goes <= len(d.columns); goes++ {
		d.left = slices.DeleteFunc(d.left, func(i int) bool { return d.columns[i].DropOrder == goes })
	}
	d.shrink(width, enoughCells, shrinks)
	d.shrink(width, fewestCells, shrinks)
	d.shrink(width, fewestCells, every)
	for d.total() > width && len(d.left) > 1 {
		d.left = d.left[:len(d.left)-1]
	}
	d.shrink(width, 1, every)
}

// least is the width of a line whose texts are cut to what is enough.
func (d *layout) least() int {
	sum := d.total()
	for _, i := range d.left {
		if d.columns[i].Shrinks {
			sum -= max(d.widths[i]-enoughCells, 0)
		}
	}
	return sum
}

// total is the width of a line.
func (d *layout) total() int {
	sum := gapCells * (len(d.left) - 1)
	for _, i := range d.left {
		sum += d.widths[i]
	}
	return sum
}

// shrink makes the widest of some columns narrower until the lines fit, but none
// narrower than least.
func (d *layout) shrink(width, least int, some func(Column) bool) {
	for over := d.total() - width; over > 0; over = d.total() - width {
		widest, next := -1, least
		for _, i := range d.left {
			switch w := d.widths[i]; {
			case !some(d.columns[i]) || w <= least:
			case widest < 0 || w > d.widths[widest]:
				if widest >= 0 {
					next = d.widths[widest]
				}
				widest = i
			default:
				next = max(next, w)
			}
		}
		if widest < 0 {
			return
		}
		// Down to the width of the next, or beyond it by one if both are the same.
		d.widths[widest] = max(d.widths[widest]-over, min(next, d.widths[widest]-1), least)
	}
}

// line is a row with the columns that are left.
func (d *layout) line(row []Cell) line {
	var out line
	for n, i := range d.left {
		text := row[i].Text
		if d.columns[i].CutStart {
			text = cutStart(text, d.widths[i])
		} else {
			text = cut(text, d.widths[i])
		}
		out = append(out, span{text, row[i].style})
		if n < len(d.left)-1 {
			out = append(out, span{strings.Repeat(" ", d.widths[i]-cells(text)+gapCells), plain})
		}
	}
	return out
}
