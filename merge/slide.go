package merge

// If the line next to a change equals the line at the change's other end, the change
// can be moved by one line: of three equal lines any one may be the new one. The
// position decides whether changes of two sides touch, so every diff must choose in
// the same way. These are the rules of git's merge:
//
//   - a group of changed lines that meets another one while sliding joins it;
//   - a group that can line up with changed lines of the other text does so, at the
//     lowest such position, because both then read as one change;
//   - any other group moves as far down as possible.

// group is a run of changed lines [lo,hi) of one text, possibly empty, between
// two unchanged lines or the ends. Groups of two texts correspond by number:
// before the first unchanged line, between the first and the second, and so on.
type group struct {
	gone   []bool
	lo, hi int
}

// firstGroup returns the group at the start of a text.
func firstGroup(gone []bool) group { return group{gone, 0, runEnd(gone, 0)} }

// next moves to the following group; it returns false at the end.
func (g *group) next() bool {
	if g.hi == len(g.gone) {
		return false
	}
	g.lo = g.hi + 1
	g.hi = runEnd(g.gone, g.lo)
	return true
}

// previous moves to the group before, which must exist.
func (g *group) previous() {
	g.hi = g.lo - 1
	g.lo = g.hi
	g.reachUp()
}

// reachUp includes the changed lines directly above.
func (g *group) reachUp() {
	for g.lo > 0 && g.gone[g.lo-1] {
		g.lo--
	}
}

func (g *group) empty() bool { return g.lo == g.hi }

// up moves the group up by one line and joins a group that it meets; it returns false
// if it cannot move.
func (g *group) up(lines []int32) bool {
	if g.lo == 0 || lines[g.lo-1] != lines[g.hi-1] {
		return false
	}
	g.lo--
	g.hi--
	g.gone[g.lo], g.gone[g.hi] = true, false
	g.reachUp()
	return true
}

// down is like up in the other direction.
func (g *group) down(lines []int32) bool {
	if g.hi == len(g.gone) || lines[g.lo] != lines[g.hi] {
		return false
	}
	g.gone[g.lo], g.gone[g.hi] = false, true
	g.lo++
	g.hi = runEnd(g.gone, g.hi)
	return true
}

// slide moves the changed groups of one text to their final positions, given the marks
// of the other text, which it does not change.
func slide(lines []int32, gone, goneOther []bool) {
	g, other := firstGroup(gone), firstGroup(goneOther)
	for {
		if !g.empty() {
			settle(lines, &g, &other)
		}
		if !g.next() {
			return
		}
		other.next()
	}
}

// settle slides one group; other moves along, so that both stay in step.
func settle(lines []int32, g, other *group) {
	for {
		size := g.hi - g.lo
		for g.up(lines) {
			other.previous()
		}
		highest, matched := g.hi, !other.empty()
		for g.down(lines) {
			other.next()
			matched = matched || !other.empty()
		}
		if g.hi-g.lo != size {
			continue // it joined another group and may now move further
		}
		if matched && g.hi != highest {
			for other.empty() && g.up(lines) {
				other.previous()
			}
		}
		return
	}
}
