package screen

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"leslie/internal/fact"
)

// This file has styled text: cutting and wrapping it by the cells of a terminal.

// style is how a terminal shows a text: the parameters of SGR, "" for plain.
type style string

// The styles.
const (
	plain   style = ""
	bold    style = "1"
	dim     style = SGRGrey
	red     style = SGRRed
	green   style = SGRGreen
	magenta style = SGRMagenta
	blue    style = SGRBlue
)

// strong is a style in bold.
func (s style) strong() style {
	if s == plain {
		return bold
	}
	return bold + ";" + s
}

// span is a text in one style.
type span struct {
	text  string
	style style
}

// line is one line of the screen.
type line []span

// cells returns how many cells of the terminal a text takes. It does not depend on the
// environment: characters of ambiguous width take one cell, as in any terminal with
// UTF-8.
func cells(text string) int { return displaywidth.String(text) }

// cells returns how many cells the line takes.
func (l line) cells() int {
	n := 0
	for _, s := range l {
		n += cells(s.text)
	}
	return n
}

// render returns the line as it is printed.
func (l line) render(colours bool) string {
	var b strings.Builder
	for _, s := range l.joined() {
		if colours && s.style != plain && s.text != "" {
			b.WriteString("\x1b[" + string(s.style) + "m" + s.text + "\x1b[0m")
		} else {
			b.WriteString(s.text)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// wrap breaks the line into rows of at most width cells.
func (l line) wrap(width int) []line {
	var rows []line
	var row line
	left := width
	for _, s := range l {
		for text := s.text; text != ""; {
			head := fitting(text, left)
			if head == "" && left < width { // the row is full
				rows, row, left = append(rows, row), nil, width
				continue
			}
			if head == "" { // a character that no row has the room for
				_, size := utf8.DecodeRuneInString(text)
				head = text[:size]
			}
			row = append(row, span{head, s.style})
			left -= cells(head)
			text = text[len(head):]
		}
	}
	if len(row) > 0 || len(rows) == 0 {
		rows = append(rows, row)
	}
	return rows
}

// flow breaks the line between words into rows of at most width cells; a longer word is
// broken as wrap breaks a line.
func (l line) flow(width int) []line {
	var rows []line
	var row, word line
	place := func() {
		if len(row) > 0 && row.cells()+word.trimmed().cells() > width {
			rows, row = append(rows, row), nil
		}
		if row = append(row, word...); row.trimmed().cells() > width {
			broken := row.trimmed().wrap(width)
			spaces := span{strings.Repeat(" ", row.cells()-row.trimmed().cells()), plain}
			rows, row = append(rows, broken[:len(broken)-1]...), append(broken[len(broken)-1], spaces)
		}
		word = nil
	}
	for _, s := range l {
		for part := range strings.SplitAfterSeq(s.text, " ") {
			word = append(word, span{part, s.style})
			if strings.HasSuffix(part, " ") {
				place()
			}
		}
	}
	place()
	return append(rows, row)
}

// trimmed returns the line without spaces at its end.
func (l line) trimmed() line {
	out := slices.Clone(l)
	for n := len(out); n > 0; n-- {
		if out[n-1].text = strings.TrimRight(out[n-1].text, " "); out[n-1].text != "" {
			break
		}
		out = out[:n-1]
	}
	return out
}

// joined returns the line with neighbouring spans of one style as one.
func (l line) joined() line {
	var out line
	for _, s := range l {
		if n := len(out); n > 0 && out[n-1].style == s.style {
			out[n-1].text += s.text
		} else if s.text != "" {
			out = append(out, s)
		}
	}
	return out
}

// Width returns how many cells of a terminal a line with colours takes.
func Width(text string) int {
	return displaywidth.Options{ControlSequences: true}.String(text)
}

// Rows returns how many rows of a terminal a text with colours takes.
func Rows(text string, width int) (rows int) {
	coloured := displaywidth.Options{ControlSequences: true}
	for one := range strings.Lines(text) {
		rows += max(1, (coloured.String(strings.TrimSuffix(one, "\n"))+width-1)/width)
	}
	return rows
}

// Paragraph returns a text as lines of at most width cells behind an indent, broken
// between words; its own lines stay.
func Paragraph(indent, text string, width int) []string {
	var lines []string
	for own := range strings.SplitSeq(text, "\n") {
		rows := (line{{visible(own), plain}}).flow(max(width-cells(indent), 1))
		lines = append(lines, behind(line{{indent, plain}}, rows, false)...)
	}
	return lines
}

// cut returns a text of at most width cells; … stands for what is missing at its end.
func cut(text string, width int) string { return Cut(text, width) }

// Cut returns a text in at most width cells, with … in place of what was cut off.
func Cut(text string, width int) string {
	return displaywidth.TruncateString(text, max(width, 0), "…")
}

// cutStart is cut for a text whose end says more, such as a path.
func cutStart(text string, width int) string {
	if cells(text) <= width {
		return text
	}
	return "…" + ending(text, width-1)
}

// fitting returns the beginning of a text that fits into width cells.
func fitting(text string, width int) string {
	return displaywidth.TruncateString(text, max(width, 0), "")
}

// ending returns the end of a text that fits into width cells.
func ending(text string, width int) string {
	over, at := cells(text)-width, 0
	for g := displaywidth.StringGraphemes(text); over > 0 && g.Next(); {
		over -= g.Width()
		at += len(g.Value())
	}
	return text[at:]
}

// behind returns rows as they are printed, each behind an indent.
func behind(indent line, rows []line, colours bool) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = slices.Concat(indent, row).render(colours)
	}
	return out
}

// tab is what a tab is shown as: a terminal's own tabs would not fit the rows.
const tab = "    "

// visible returns a text without characters that a terminal acts on, or that hide or
// reorder others: they are shown as escapes. What joins emoji to one stays.
func visible(text string) string {
	if !strings.ContainsFunc(text, fact.Hidden) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	for i, r := range runes {
		switch {
		case r == '\t':
			b.WriteString(tab)
		case fact.Hidden(r) && !joinsEmoji(runes, i):
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// joinsEmoji reports whether a rune is a joiner between two emoji, the first perhaps with
// a modifier.
func joinsEmoji(runes []rune, at int) bool {
	const joiner, asEmoji = '\u200D', '\uFE0F'
	if runes[at] != joiner || at == 0 || at+1 == len(runes) {
		return false
	}
	before, after := runes[at-1], runes[at+1]
	return (before == asEmoji || unicode.In(before, unicode.So, unicode.Sk)) && unicode.Is(unicode.So, after)
}

// many formats a count with a word whose plural ends in s.
func many(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return grouped(int64(n)) + " " + thing
}

// grouped formats a number with commas between thousands.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
