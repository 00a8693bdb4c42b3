package screen

import "strings"

// Row draws cells in one line of exactly width cells: left from the left, cut where there is
// no room, and right at the right edge, cut to half of the line.
func Row(width int, colours bool, left, right []Cell) string {
	tail := fitted(right, width/2)
	room := width
	if n := tail.cells(); n > 0 {
		room = max(width-n-1, 0)
	}
	head := fitted(left, room)
	if gap := width - head.cells() - tail.cells(); gap > 0 {
		head = append(head, span{strings.Repeat(" ", gap), plain})
	}
	head = append(head, tail...)
	drawn := head.render(colours)
	// render leaves out the spaces at the end of a line.
	return drawn + strings.Repeat(" ", max(width-Width(drawn), 0))
}

// fitted returns cells as a line of at most width cells.
func fitted(all []Cell, width int) line {
	var out line
	for _, c := range all {
		text := visible(strings.ReplaceAll(c.Text, "\n", " "))
		if n := cells(text); n > width {
			return append(out, span{cut(text, width), c.style})
		}
		width -= cells(text)
		out = append(out, span{text, c.style})
	}
	return out
}
