package merge

// change says that lines [aLo,aHi) of a gave way to lines [bLo,bHi) of b, lines
// counted from 0. One of the two runs may be empty, never both.
type change struct{ aLo, aHi, bLo, bHi int }

// diff lists the changes that turn a into b, in order; between two of them
// stands at least one line that both have. a and b hold line numbers of one
// interner, all below ids.
//
// The work is done in four steps, each in its own file or function: the ends
// that both have in common are set aside; lines that cannot help or would
// mislead are left out (discard.go); what remains goes through the divide and
// conquer of Myers (myers.go); and changes that could stand in several places
// are slid to one of them (slide.go). The answer is short but, beyond the cost
// cap of myers.go, not always the shortest.
func diff(a, b []int32, ids int) []change {
	goneA, goneB := make([]bool, len(a)), make([]bool, len(b))
	mark(a, b, ids, goneA, goneB)
	slide(a, goneA, goneB)
	slide(b, goneB, goneA)
	return changes(goneA, goneB)
}

// mark sets goneA and goneB for the lines that have no partner on the other
// side. The lines left unmarked are equal in number and pair up in order.
func mark(a, b []int32, ids int, goneA, goneB []bool) {
	head, tail := commonEnds(a, b)
	count := tally{inA: occurrences(a, ids), inB: occurrences(b, ids)}
	left := discard(a, head, len(a)-tail, count.inB, goneA)
	right := discard(b, head, len(b)-tail, count.inA, goneB)
	newSearch(left, right).solve(box{0, len(left.id), 0, len(right.id)})
}

// tally holds how often each line occurs in either text.
type tally struct{ inA, inB []int32 }

func occurrences(lines []int32, ids int) []int32 {
	count := make([]int32, ids)
	for _, id := range lines {
		count[id]++
	}
	return count
}

// commonEnds counts the equal lines at the start, and those at the end that the
// start has not taken.
func commonEnds(a, b []int32) (head, tail int) {
	shorter := min(len(a), len(b))
	for head < shorter && a[head] == b[head] {
		head++
	}
	for tail < shorter-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// changes reads the marks: runs of marked lines between pairs of unmarked ones.
func changes(goneA, goneB []bool) []change {
	var out []change
	for i, j := 0, 0; i < len(goneA) || j < len(goneB); i, j = i+1, j+1 {
		c := change{aLo: i, bLo: j}
		i, j = runEnd(goneA, i), runEnd(goneB, j)
		if c.aHi, c.bHi = i, j; c.aLo < i || c.bLo < j {
			out = append(out, c)
		}
	}
	return out
}

// runEnd is the first unmarked place from i on.
func runEnd(gone []bool, i int) int {
	for i < len(gone) && gone[i] {
		i++
	}
	return i
}
