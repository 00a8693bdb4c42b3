package main

import (
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/screen"
)

// This file writes lists as tables: drawn for the width of a person's terminal, and with
// columns as wide as they have to be for everybody else.

// column is a column of a table of items: what it has of an item, and how it fits a
// person's terminal.
type column[T any] struct {
	screen.Column
	cell func(T) screen.Cell
	// most is how many characters a text has for anybody else, 0 for all.
	most int
	// used: only where some item has it. extra: only for a person, or with --time.
	used, extra bool
}

// text returns the cells of a column of plain texts.
func text[T any, S ~string](of func(T) S) func(T) screen.Cell {
	return func(item T) screen.Cell { return screen.Text(string(of(item))) }
}

// orZero is a value that may be null.
func orZero[T any](value *T) (v T) {
	if value != nil {
		v = *value
	}
	return v
}

// tableOf writes items as a table; nothing when there are none.
func tableOf[T any](p *page, items []T, columns []column[T]) {
	if len(items) == 0 {
		return
	}
	columns = slices.DeleteFunc(columns, func(col column[T]) bool {
		some := func(item T) bool { return col.cell(item).Text != "" }
		return col.extra && p.width == 0 && !p.timed || col.used && !slices.ContainsFunc(items, some)
	})
	t := screen.Table{Rows: make([][]screen.Cell, len(items))}
	for _, col := range columns {
		t.Columns = append(t.Columns, col.Column)
	}
	for i, item := range items {
		row := make([]screen.Cell, len(columns))
		for n, col := range columns {
			row[n] = col.cell(item)
			if p.width == 0 && col.most > 0 {
				row[n].Text = cut(row[n].Text, col.most)
			}
		}
		t.Rows[i] = row
	}
	p.draw(t)
}

// draw writes a table.
func (p *page) draw(t screen.Table) {
	if p.width > 0 {
		for _, line := range t.Draw(p.width, p.coloured) {
			p.line("%s", styled(line))
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

// wrapped writes a line, for a person broken between words.
func (p *page) wrapped(text string) {
	if p.width > 0 {
		p.paragraph("", text)
	} else {
		p.line("%s", text)
	}
}

// paragraph writes a text for a person, broken between words.
func (p *page) paragraph(indent, text string) {
	for _, line := range screen.Paragraph(indent, strings.TrimRight(text, "\n"), p.width) {
		p.line("%s", styled(line))
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

// when is a cell with a time; nil is none.
func (p *page) when(t *time.Time) screen.Cell {
	switch {
	case t == nil:
		return screen.Text("")
	case p.relative:
		return screen.Ago(*t, p.now())
	}
	return screen.Faint(t.Format(time.RFC3339))
}

// at is a time in a line.
func (p *page) at(t time.Time) string { return p.when(&t).Text }

// timeFlag is --time of every list with times.
func timeFlag() cli.Flag {
	return newOption("time", oneOf("iso", "relative"), "how text has times (relative for a person at a terminal, else iso)")
}
