package merge

import "strings"

// An item is one line of a Markdown list.
type item struct {
	// line is the whole line without its ending.
	line string
	// indent is the column of the marker; tabs advance to multiples of four.
	indent int
	// numbered is true for "1." and false for "-".
	numbered bool
	// box is the index in line of the check box state, 0 without a box.
	box int
}

// with returns the item with another check box state.
func (it item) with(state byte) item {
	if it.box > 0 {
		it.line = it.line[:it.box] + string(state) + it.line[it.box+1:]
	}
	return it
}

// name returns the item's line independent of its check box: two lines with the same
// name are the same item, ticked or not.
func (it item) name() string { return it.with(' ').line }

// parseItem parses a line without its ending as a CommonMark list item: a bullet or a
// number, blanks, text. It rejects lines that only look like one: a thematic break,
// an item without text, an item that opens a code block.
func parseItem(line string) (item, bool) {
	rest := strings.TrimLeft(line, " \t")
	it := item{line: line, indent: columns(line[:len(line)-len(rest)])}
	marker := bullet(rest)
	it.numbered = marker > 1
	text := strings.TrimLeft(rest[marker:], " \t")
	if marker == 0 || text == "" || len(text) == len(rest)-marker || thematic(rest) || fence(text) != "" {
		return item{}, false
	}
	if boxed(text) {
		it.box = len(line) - len(text) + 1
	}
	return it, true
}

// bullet returns the length of the list marker at the start of s, 0 without one.
func bullet(s string) int {
	if s == "" {
		return 0
	}
	if strings.IndexByte("-*+", s[0]) >= 0 {
		return 1
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits == 0 || digits > 9 || digits == len(s) || strings.IndexByte(".)", s[digits]) < 0 {
		return 0
	}
	return digits + 1
}

// boxed reports whether an item's text starts with a check box followed by text.
func boxed(text string) bool {
	return len(text) > 4 && text[0] == '[' && strings.IndexByte(" xX", text[1]) >= 0 && text[2] == ']' &&
		strings.IndexByte(" \t", text[3]) >= 0
}

// columns returns the width of leading blanks.
func columns(blanks string) int {
	const tab = 4
	n := 0
	for _, c := range blanks {
		if c == '\t' {
			n += tab - n%tab
		} else {
			n++
		}
	}
	return n
}

// thematic reports whether a line is a thematic break: three or more of one of * - _,
// and otherwise only blanks.
func thematic(line string) bool {
	return line != "" && strings.IndexByte("*-_", line[0]) >= 0 &&
		strings.Trim(line, line[:1]+" \t") == "" && strings.Count(line, line[:1]) >= 3
}

// fence returns the run of backticks or tildes that opens a code block, "" if s does
// not start with one.
func fence(s string) string {
	if s == "" || s[0] != '`' && s[0] != '~' {
		return ""
	}
	run := s[:len(s)-len(strings.TrimLeft(s, s[:1]))]
	if len(run) < 3 || s[0] == '`' && strings.Contains(s[len(run):], "`") {
		return ""
	}
	return run
}

// prose reports for every line of a Markdown text, and for the position after the
// last, whether it is prose: not in a code block, a comment or the front matter,
// where a dash does not start a list item.
func prose(v *version) []bool {
	out := make([]bool, v.len()+1)
	for i := frontMatter(v); i <= v.len(); {
		out[i] = true
		if i == v.len() {
			break
		}
		i = pastBlock(v, i, out)
	}
	return out
}

// pastBlock returns the index after line i, or after the block that line i opens. For
// a block that is never closed it is beyond the end of the text.
func pastBlock(v *version, i int, out []bool) int {
	open := strings.TrimSpace(v.line(i))
	if n := bullet(open); n > 0 {
		open = strings.TrimSpace(open[n:])
	}
	closes := func(string) bool { return true }
	if run := fence(open); run != "" {
		closes = func(line string) bool {
			return strings.HasPrefix(line, run) && strings.Trim(line, run[:1]) == ""
		}
		i++
	} else if strings.HasPrefix(open, "<!--") {
		closes = func(line string) bool { return strings.Contains(line, "-->") }
	}
	for ; i < v.len(); i++ {
		if closes(strings.TrimSpace(v.line(i))) {
			return i + 1
		}
	}
	return len(out)
}

// frontMatter returns the number of lines of the metadata block at the top.
func frontMatter(v *version) int {
	if v.len() == 0 || strings.TrimRight(v.line(0), " \t\r\n") != "---" {
		return 0
	}
	for i := 1; i < v.len(); i++ {
		if end := strings.TrimRight(v.line(i), " \t\r\n"); end == "---" || end == "..." {
			return i + 1
		}
	}
	return 0
}
