package page

import (
	"slices"
	"strings"
	"time"

	"leslie/internal/app"
	"leslie/internal/screen"
)

// This file writes lists as tables: drawn for the width of a person's terminal, and with
// columns as wide as they have to be for everybody else.

// Column is a column of a table of items: what it has of an item, and how it fits a
// person's terminal.
type Column[T any] struct {
	screen.Column
	Cell func(T) screen.Cell
	// MaxChars is how many characters a text has for anybody else, 0 for all.
	MaxChars int
	// Used: only where some item has it. Extra: only for a person, or with --time.
	HideIfEmpty, PersonOnly bool
}

// Text returns the cells of a column of plain texts.
func Text[T any, S ~string](of func(T) S) func(T) screen.Cell {
	return func(item T) screen.Cell { return screen.Text(string(of(item))) }
}

// TableOf writes items as a table; nothing when there are none.
func TableOf[T any](p *Page, items []T, columns []Column[T]) {
	if len(items) == 0 {
		return
	}
	columns = slices.DeleteFunc(columns, func(col Column[T]) bool {
		some := func(item T) bool { return col.Cell(item).Text != "" }
		return col.PersonOnly && p.Width == 0 && !p.Timed || col.HideIfEmpty && !slices.ContainsFunc(items, some)
	})
	t := screen.Table{Rows: make([][]screen.Cell, len(items))}
	for _, col := range columns {
		t.Columns = append(t.Columns, col.Column)
	}
	for i, item := range items {
		row := make([]screen.Cell, len(columns))
		for n, col := range columns {
			row[n] = col.Cell(item)
			if p.Width == 0 && col.MaxChars > 0 {
				row[n].Text = app.Cut(row[n].Text, col.MaxChars)
			}
		}
		t.Rows[i] = row
	}
	p.Draw(t)
}

// Draw writes a table.
func (p *Page) Draw(t screen.Table) {
	if p.Width > 0 {
		for _, line := range t.Draw(p.Width, p.Coloured) {
			p.Line("%s", Styled(line))
		}
		return
	}
	rows := make([][]string, 0, len(t.Rows)+1)
	if header := t.Header(); header != nil {
		rows = append(rows, header)
	}
	for _, cells := range t.Rows {
		row := make([]string, len(cells))
		for i, cell := range cells {
			row[i] = cell.Text
		}
		rows = append(rows, row)
	}
	p.rows(rows)
}

// Wrapped writes a line, for a person broken between words.
func (p *Page) Wrapped(text string) {
	if p.Width > 0 {
		p.Paragraph("", text)
	} else {
		p.Line("%s", text)
	}
}

// Paragraph writes a text for a person, broken between words.
func (p *Page) Paragraph(indent, text string) {
	for _, line := range screen.Paragraph(indent, strings.TrimRight(text, "\n"), p.Width) {
		p.Line("%s", Styled(line))
	}
}

// plainTable is a table of texts; the last column is the one that is cut.
func plainTable(header []string, rows [][]string) screen.Table {
	t := screen.Table{Rows: make([][]screen.Cell, len(rows))}
	for i, name := range header {
		t.Columns = append(t.Columns, screen.Column{Name: name, Shrinks: i == len(header)-1})
	}
	for i, row := range rows {
		for _, cell := range row {
			t.Rows[i] = append(t.Rows[i], screen.Text(cell))
		}
	}
	return t
}

// When is a cell with a time; nil is none.
func (p *Page) When(t *time.Time) screen.Cell {
	switch {
	case t == nil:
		return screen.Text("")
	case p.Relative:
		return screen.Ago(*t, p.Now())
	}
	return screen.Faint(t.Format(time.RFC3339))
}

// At is a time in a line.
func (p *Page) At(t time.Time) string { return p.When(&t).Text }
