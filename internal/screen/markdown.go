package screen

import (
	"slices"
	"strings"
)

// This file draws Markdown, as far as leslie's documents have it: headings, paragraphs, lists, blocks
// of code, tables, quotations, and in a line code, links, bold and italics. A library would be read at
// the start of every command: goldmark takes 1.4 ms of 3.8 there, gomarkdown 0.8 ms, both for tables
// that they make first.

const codeIndent = "    " // of a block of code

// Markdown draws a document in lines of at most width cells, but blocks of code as they are: a person
// copies from them. Headings are bold and code is coloured, or have their marks if colours is false.
// Images and comments are left out. refer returns what a reader is told of a link's address, "" for
// nothing beside the link's text.
func Markdown(source string, width int, colours bool, refer func(address string) string) []string {
	d := &document{width: width, colours: colours, refer: refer}
	d.blocks(strings.Split(strings.ReplaceAll(source, "\t", tab), "\n"), "", "")
	for len(d.lines) > 0 && d.lines[len(d.lines)-1] == "" {
		d.lines = d.lines[:len(d.lines)-1]
	}
	return d.lines
}

// document is a document while it is drawn.
type document struct {
	width   int
	colours bool
	refer   func(address string) string
	lines   []string
}

// blocks draws blocks, the first line behind first and the others behind indent.
func (d *document) blocks(source []string, first, indent string) {
	for len(source) > 0 {
		text := source[0]
		n := 1 // lines of the block
		begun := len(d.lines)
		switch {
		case text == "":
			if begun > 0 && d.lines[begun-1] != "" && first == indent {
				d.lines = append(d.lines, "")
			}
		case strings.HasPrefix(text, "<!--"):
			n = min(while(source, func(line string) bool { return !strings.HasSuffix(line, "-->") })+1, len(source))
		case strings.HasPrefix(text, "```"):
			inside := while(source[1:], func(line string) bool { return line != "```" })
			n = min(inside+2, len(source))
			for _, code := range source[1 : inside+1] {
				d.lines = append(d.lines, strings.TrimRight(indent+codeIndent+visible(code), " "))
			}
		case strings.HasPrefix(text, "#"):
			d.heading(text, first, indent)
		case strings.HasPrefix(text, "|"):
			n = while(source, func(line string) bool { return strings.HasPrefix(line, "|") })
			d.table(source[:n], indent)
		case strings.HasPrefix(text, ">"):
			n = while(source, func(line string) bool { return strings.HasPrefix(line, ">") })
			quoted := make([]string, n)
			for i := range quoted {
				quoted[i] = strings.TrimPrefix(strings.TrimPrefix(source[i], ">"), " ")
			}
			d.blocks(quoted, first+"| ", indent+"| ")
		case listMark(text) != "":
			n = d.item(source, first, indent)
		default:
			n = while(source, func(line string) bool { return !beginsBlock(line) })
			n = max(n, 1)
			d.flow(d.inline(strings.Join(source[:n], " "), plain), first, indent)
		}
		source = source[n:]
		if len(d.lines) > begun {
			first = indent
		}
	}
}

// while is for how many lines, from the first one on, is holds.
func while(lines []string, is func(string) bool) int {
	if i := slices.IndexFunc(lines, func(line string) bool { return !is(line) }); i >= 0 {
		return i
	}
	return len(lines)
}

// beginsBlock reports whether a line ends the paragraph before it.
func beginsBlock(text string) bool {
	return text == "" || listMark(text) != "" || strings.HasPrefix(text, "```") || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "|") ||
		strings.HasPrefix(text, ">") || strings.HasPrefix(text, "<!--")
}

// listMark returns the mark with which an item of a list begins, "" for another line.
func listMark(text string) string {
	if digits := len(text) - len(strings.TrimLeft(text, "0123456789")); digits > 0 && strings.HasPrefix(text[digits:], ". ") {
		return text[:digits+2]
	}
	if strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "* ") {
		return "- "
	}
	return ""
}

// item draws the item of a list with which source begins, and returns how many lines it has: what follows
// and is indented, or goes on with its paragraph.
func (d *document) item(source []string, first, indent string) int {
	mark := listMark(source[0])
	space := strings.Repeat(" ", len(mark))
	own := []string{source[0][len(mark):]}
	n := 1
	for ; n < len(source); n++ {
		inside, indented := strings.CutPrefix(source[n], space)
		lazy := !beginsBlock(source[n]) && own[n-1] != ""
		blank := source[n] == "" && n+1 < len(source) && strings.HasPrefix(source[n+1], space)
		if !indented && !lazy && !blank {
			break
		}
		own = append(own, inside)
	}
	d.blocks(own, first+mark, indent+space)
	return n
}

func (d *document) heading(text, first, indent string) {
	marks := text[:len(text)-len(strings.TrimLeft(text, "#"))]
	title := d.inline(strings.TrimSpace(text[len(marks):]), bold)
	if !d.colours {
		title = append(line{{marks + " ", plain}}, title...)
	}
	d.flow(title, first, indent)
}

// flow draws a line of any length, broken between words.
func (d *document) flow(l line, first, indent string) {
	if l.trimmed().cells() == 0 {
		return
	}
	for _, row := range l.flow(max(d.width-len(indent), 1)) {
		d.lines = append(d.lines, append(line{{first, plain}}, row.trimmed()...).render(d.colours))
		first = indent
	}
}

// inline returns a text with its code, links, bold and italics.
func (d *document) inline(text string, s style) (out line) {
	var word strings.Builder // what has no marks
	put := func(l line) {
		out = append(append(out, span{visible(word.String()), s}), l...)
		word.Reset()
	}
	for text != "" {
		if text[0] == '\\' && len(text) > 1 && strings.IndexByte("\\`*_[]|<>#", text[1]) >= 0 {
			word.WriteByte(text[1])
			text = text[2:]
			continue
		}
		if inside, rest, ok := enclosed(text, "**", "**"); ok {
			put(d.inline(inside, bold))
			text = rest
		} else if inside, rest, ok := enclosed(text, "*", "*"); ok && !strings.HasPrefix(inside, " ") {
			put(d.inline(inside, bold))
			text = rest
		} else if inside, rest, ok := enclosed(text, "`", "`"); ok {
			put(d.code(strings.ReplaceAll(inside, `\|`, "|")))
			text = rest
		} else if _, rest, ok := enclosed(text, "![", ")"); ok {
			put(nil)
			text = rest
		} else if inside, rest, ok := enclosed(text, "<http", ">"); ok {
			put(line{{visible("http" + inside), s}})
			text = rest
		} else if words, address, rest, ok := link(text); ok {
			put(d.inline(words, s))
			if more := d.refer(address); more != "" {
				put(slices.Concat(line{{" (", s}}, d.code(more), line{{")", s}}))
			}
			text = rest
		} else {
			word.WriteByte(text[0])
			text = text[1:]
		}
	}
	put(nil)
	return out
}

// enclosed returns what is between two marks at the beginning of a text.
func enclosed(text, begin, end string) (inside, rest string, ok bool) {
	if after, has := strings.CutPrefix(text, begin); has {
		inside, rest, ok = strings.Cut(after, end)
	}
	return inside, rest, ok && inside != ""
}

// link returns the parts of a link at the beginning of a text.
func link(text string) (words, address, rest string, ok bool) {
	if words, rest, ok = enclosed(text, "[", "]("); !ok || strings.Contains(words, "]") {
		return "", "", "", false
	}
	address, rest, ok = strings.Cut(rest, ")")
	return words, address, rest, ok
}

// code sets a piece of code off.
func (d *document) code(text string) line {
	if d.colours {
		return line{{visible(text), blue}}
	}
	return line{{"`" + visible(text) + "`", plain}}
}

// table draws a table; texts that do not fit beside each other are broken between words in their columns.
// Where not even that fits, each row is a paragraph a cell, behind the name of its column.
func (d *document) table(source []string, indent string) {
	var rows [][]line
	var widths, words []int
	for y, text := range source {
		if y == 1 { // the line below the names
			continue
		}
		s := plain
		if y == 0 {
			s = dim
		}
		var row []line
		for i, cell := range tableCells(text) {
			l := d.inline(cell, s)
			if row = append(row, l); len(row) > len(widths) {
				widths, words = append(widths, 0), append(words, 0)
			}
			widths[i], words[i] = max(widths[i], l.cells()), max(words[i], l.longestWord())
		}
		rows = append(rows, row)
	}
	fits := narrow(widths, words, d.width-len(indent)-gapCells*(len(widths)-1))
	for y, row := range rows {
		switch {
		case slices.IndexFunc(row, func(l line) bool { return l.cells() > 0 }) < 0: // a header without names
		case fits:
			d.row(row, widths, indent)
		case y > 0:
			d.record(rows[0], row, indent)
		}
	}
}

// tableCells splits a row of a table at each '|' that is not escaped.
func tableCells(text string) (cells []string) {
	begun := 0
	text = strings.TrimSuffix(strings.TrimPrefix(text, "|"), "|")
	for i := range len(text) {
		if text[i] == '|' && (i == 0 || text[i-1] != '\\') {
			cells = append(cells, strings.TrimSpace(text[begun:i]))
			begun = i + 1
		}
	}
	return append(cells, strings.TrimSpace(text[begun:]))
}

// row draws the cells of a row beside each other.
func (d *document) row(row []line, widths []int, indent string) {
	var texts [][]line
	height := 0
	for i, l := range row {
		texts = append(texts, l.flow(widths[i]))
		height = max(height, len(texts[i]))
	}
	for y := range height {
		drawn := line{{indent, plain}}
		for i, own := range texts {
			var part line
			if y < len(own) {
				part = own[y].trimmed()
			}
			drawn = append(append(drawn, part...), span{strings.Repeat(" ", max(widths[i]-part.cells(), 0)+gapCells), plain})
		}
		d.lines = append(d.lines, drawn.render(d.colours))
	}
}

// record draws the cells of a row below each other.
func (d *document) record(names, row []line, indent string) {
	first := indent
	for i, l := range row {
		if l.cells() == 0 {
			continue
		}
		if i > 0 && names[i].cells() > 0 {
			l = slices.Concat(names[i], line{{": ", dim}}, l)
		}
		d.flow(l, first, indent+"  ")
		first = indent + "  "
	}
}

// longestWord returns how many cells the longest word of a line takes.
func (l line) longestWord() (n int) {
	var text strings.Builder
	for _, s := range l {
		text.WriteString(s.text)
	}
	for word := range strings.FieldsSeq(text.String()) {
		n = max(n, cells(word))
	}
	return n
}

// narrow makes the widest of some columns narrower until all fit into a width, none narrower than its
// longest word. It reports whether they fit.
func narrow(widths, words []int, width int) bool {
	for {
		sum, widest := 0, -1
		for i, w := range widths {
			sum += w
			if w > words[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if sum <= width || widest < 0 {
			return sum <= width
		}
		widths[widest]--
	}
}
