package screen

import "strconv"

// This file draws errors and warnings.

// Notice is an error or a warning as its published line: KIND code=CODE msg="MESSAGE" and
// facts as key=value. What a person reads stands out; the rest stands back.
type Notice struct {
	Kind    string // error or warning
	Code    string
	Message string
	Facts   string // with a space before each
	Colours bool
}

// Draw draws the notice as one line, however narrow the screen: who searches or copies it
// from a terminal gets what is published.
func (n Notice) Draw() string {
	kind := bold
	if n.Kind == "error" {
		kind = red
	}
	quoted := strconv.Quote(n.Message)
	l := line{{n.Kind, kind}, {" code=" + n.Code + ` msg="`, dim}, {quoted[1 : len(quoted)-1], bold}, {`"` + n.Facts, dim}}
	return l.render(n.Colours)
}

// Labelled draws a text behind a label, wrapped between words. The width is in cells; 0 is
// unknown, so nothing is wrapped.
func Labelled(label, text string, width int, colours bool) []string {
	return hanging(line{{label, bold}, {" " + visible(text), plain}}, width, colours)
}

// hanging draws a line; if it takes several rows, all but the first are indented.
func hanging(l line, width int, colours bool) []string {
	const indent = "  "
	if width <= 0 || l.cells() <= width {
		return []string{l.render(colours)}
	}
	rows := l.flow(max(width-cells(indent), 1))
	return append([]string{rows[0].render(colours)}, behind(line{{indent, plain}}, rows[1:], colours)...)
}
