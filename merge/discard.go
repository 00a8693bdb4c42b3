package merge

import "math/bits"

// Before the search, two kinds of lines are discarded and marked as changed: lines
// that the other text does not contain, which no diff could keep, and lines that it
// contains so often that, among lines it does not contain, they would split a change
// rather than help to align it. The classic Unix diff programs call these "confusing
// lines". The figures are those of git's diff, because equal figures give equal
// diffs.
const (
	// manyCap limits the threshold for "often" in long texts.
	manyCap = 1024
	// neighbourhood is how many lines are examined on each side of a frequent line.
	neighbourhood = 100
	// confusion: a frequent line is misleading if fewer than one in four of the
	// lines around it are frequent.
	confusion = 4
)

// kept has the lines that take part in the search: their numbers, their positions,
// and the marks of their text.
type kept struct {
	id   []int32
	at   []int
	gone []bool
}

// rarity says how often the other text contains a line.
type rarity uint8

const (
	unseen rarity = iota // never
	seen
	often
)

// discard selects the lines of [lo,hi) that take part in the search, and marks the
// others as gone. inOther has the number of occurrences of each line in the other
// text.
func discard(lines []int32, lo, hi int, inOther []int32, gone []bool) kept {
	rare := rarities(lines[lo:hi], inOther, min(sqrtish(len(lines)), manyCap))
	k := kept{gone: gone, id: make([]int32, 0, len(rare)), at: make([]int, 0, len(rare))}
	for i, r := range rare {
		if r == unseen || r == often && misleading(rare, i) {
			gone[lo+i] = true
			continue
		}
		k.id = append(k.id, lines[lo+i])
		k.at = append(k.at, lo+i)
	}
	return k
}

func rarities(lines, inOther []int32, many int) []rarity {
	rare := make([]rarity, len(lines))
	for i, id := range lines {
		switch n := int(inOther[id]); {
		case n == 0:
			rare[i] = unseen
		case n < many:
			rare[i] = seen
		default:
			rare[i] = often
		}
	}
	return rare
}

// misleading reports whether a frequent line is among lines without a partner: there
// is one on each side before the nearest line that is seen but not frequent, and
// together they clearly outnumber the frequent ones.
func misleading(rare []rarity, i int) bool {
	lonelyUp, oftenUp := around(rare, i, -1)
	if lonelyUp == 0 {
		return false
	}
	lonelyDown, oftenDown := around(rare, i, +1)
	if lonelyDown == 0 {
		return false
	}
	lonely, frequent := lonelyUp+lonelyDown, oftenUp+oftenDown+2
	return frequent*confusion < frequent+lonely
}

// around counts the unseen and the frequent lines next to i in one direction.
func around(rare []rarity, i, step int) (lonely, frequent int) {
	for n := 1; n <= neighbourhood; n++ {
		j := i + n*step
		if j < 0 || j >= len(rare) || rare[j] == seen {
			break
		}
		if rare[j] == unseen {
			lonely++
		} else {
			frequent++
		}
	}
	return lonely, frequent
}

// sqrtish returns the smallest power of two whose square exceeds n, a cheap
// approximation of the square root within a factor of two.
func sqrtish(n int) int { return 1 << ((bits.Len(uint(n)) + 1) / 2) }
