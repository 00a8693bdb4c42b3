package merge

import "math/bits"

// Before the search, two kinds of lines are taken out and marked as changed:
// those that the other text does not have at all, which no diff could keep, and
// those that it has so often that, standing among lines it does not have, they
// would rather tear a change apart than carry it. The idea is that of "confusing
// lines" in the classic Unix diff programs; the figures are those that git's
// diff is known to use, because equal figures are what makes equal diffs.
const (
	// manyCap bounds how often is "often" in long texts.
	manyCap = 1024
	// neighbourhood is how many lines on each side of an often seen line are
	// looked at.
	neighbourhood = 100
	// confusion is the share of often seen lines below which they are misled by
	// those around them: fewer than one in four.
	confusion = 4
)

// kept is what takes part in the search: line numbers with where they stood,
// and the marks of the text they came from.
type kept struct {
	id   []int32
	at   []int
	gone []bool
}

// rarity says how a line meets the other text.
type rarity uint8

const (
	unseen rarity = iota // the other text does not have it
	seen
	often
)

// discard chooses the lines of [lo,hi) that take part in the search, and marks
// the others as gone. inOther holds how often each line occurs in the other text.
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

// misleading tells whether an often seen line stands among lines without
// partner: on each side, up to the nearest line that is seen but not often,
// there is one, and together they clearly outnumber the often seen ones.
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

// around counts the unseen and the often seen lines next to i in one direction.
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

// sqrtish is the least power of two whose square exceeds n: cheap, and within a
// factor of two of the square root.
func sqrtish(n int) int { return 1 << ((bits.Len(uint(n)) + 1) / 2) }
