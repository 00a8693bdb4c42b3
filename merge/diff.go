package merge

// change says that lines [bLo,bHi) of b replace lines [aLo,aHi) of a, counted from 0.
// One of the two runs may be empty, never both.
type change struct{ aLo, aHi, bLo, bHi int }

// diff returns the changes that turn a into b, in order. At least one common line is
// between two changes. a and b have line numbers of one interner, all below ids.
//
// diff works in four steps, each in its own file or function: it removes the common
// prefix and suffix; it discards lines that cannot help or would mislead
// (discard.go); it searches the rest with Myers's divide and conquer (myers.go); and
// it moves changes with several possible positions to one of them (slide.go). The
// result is short but, beyond the cost cap of myers.go, not always the shortest.
func diff(a, b []int32, ids int) []change {
	goneA, goneB := make([]bool, len(a)), make([]bool, len(b))
	mark(a, b, ids, goneA, goneB)
	slide(a, goneA, goneB)
	slide(b, goneB, goneA)
	return changes(goneA, goneB)
}

// mark sets goneA and goneB for the lines without a partner in the other text. The
// unmarked lines of both texts correspond one to one, in order.
func mark(a, b []int32, ids int, goneA, goneB []bool) {
	head, tail := commonEnds(a, b)
	count := tally{inA: occurrences(a, ids), inB: occurrences(b, ids)}
	left := discard(a, head, len(a)-tail, count.inB, goneA)
	right := discard(b, head, len(b)-tail, count.inA, goneB)
	newSearch(left, right).solve(box{0, len(left.id), 0, len(right.id)})
}

// tally has the number of occurrences of each line in either text.
type tally struct{ inA, inB []int32 }

func occurrences(lines []int32, ids int) []int32 {
	count := make([]int32, ids)
	for _, id := range lines {
		count[id]++
	}
	return count
}

// commonEnds returns the length of the common prefix, and that of the common suffix
// of the rest.
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

// changes converts the marks to changes: runs of marked lines between pairs of
// unmarked ones.
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

// runEnd returns the first unmarked index from i on.
func runEnd(gone []bool, i int) int {
	for i < len(gone) && gone[i] {
		i++
	}
	return i
}
