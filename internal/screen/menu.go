package screen

import (
	"strings"
)

// This file draws the choices that a person has.

// Menu is a question with choices.
type Menu struct {
	Question string // "" for none
	Choices  []Choice

	Width   int
	Colours bool
}

// answerCells is the room that stays for the answer behind the choices.
const answerCells = 10

// Choice is one word that answers a question.
type Choice struct {
	Word string
	// Key is a letter of the word that means it; or, for the id of a thread, a number.
	Key string
	ID  bool
	// About explains the choice.
	About string
}

// parts returns the choice with its key in brackets: "[o]urs".
func (c Choice) parts() line {
	before, after, inside := strings.Cut(c.Word, c.Key)
	if !inside || c.ID {
		before, after = "", " "+visible(c.Word)
	}
	return line{{before + "[", plain}, {c.Key, bold}, {"]" + after, plain}}
}

// Draw draws the question and the choices in as few lines as fit; the last one ends where
// the answer is typed.
func (m Menu) Draw() []string {
	var pieces []line
	for word := range strings.FieldsSeq(visible(m.Question)) {
		pieces = append(pieces, line{{word, plain}})
	}
	for _, c := range m.Choices {
		pieces = append(pieces, c.parts())
	}
	pieces = append(pieces, line{{"[", plain}, {"?", bold}, {"]:", plain}})
	width := max(m.Width-answerCells, 20)
	var rows []line
	var row line
	for _, piece := range pieces {
		if len(row) > 0 && row.cells()+1+piece.cells() > width {
			rows, row = append(rows, row), nil
		}
		if len(row) > 0 {
			row = append(row, span{" ", plain})
		}
		row = append(row, piece...)
	}
	return behind(nil, append(rows, row), m.Colours)
}

// Explain draws what each choice means.
func (m Menu) Explain() []string {
	wide := 0
	for _, c := range m.Choices {
		wide = max(wide, cells(visible(c.Word)))
	}
	wide = min(wide, m.Width/3)
	var out []string
	for _, c := range m.Choices {
		indent := line{{"  ", plain}, {c.Key, bold}, {"  ", plain}, {padded(cut(visible(c.Word), wide), wide), plain}, {"  ", plain}}
		rows := line{{visible(c.About), plain}}.flow(max(m.Width-indent.cells(), 20))
		out = append(out, behind(indent, rows[:1], m.Colours)...)
		out = append(out, behind(line{{strings.Repeat(" ", indent.cells()), plain}}, rows[1:], m.Colours)...)
	}
	return out
}
