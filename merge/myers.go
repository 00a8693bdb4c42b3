package merge

import "math"

// The search follows E. W. Myers, "An O(ND) Difference Algorithm and Its
// Variations", Algorithmica 1 (1986), section 4b: furthest reaching paths grow step
// by step from both corners of the edit graph until they meet, the meeting point
// divides the problem in two, and each part is solved in the same way. It needs one
// number per diagonal and direction.
//
// With a's line x and b's line y as axes, diagonal k has the points with x - y = k.
// If several shortest paths exist, the order of the diagonals decides: from the
// highest to the lowest, and of two paths to a point the one that has consumed more
// of a. git's diff decides in the same way, so do not change the order.
//
// Cost is capped: if the two fronts have not met after costCap steps, the box is
// divided where the path that came furthest ends. The part that this path has passed
// costs at most costCap, so the cap does not apply to it again. The cost for texts
// without common lines is therefore proportional to their length, not to its square.
// git has the same cap while fewer than 65,533 lines of both texts take part in the
// search, and raises it beyond that; here it is constant, so that ten times the lines
// take ten times as long.
const costCap = 256

// search has the two texts and, per diagonal, how far the paths reach.
type search struct {
	left, right kept
	// fwd and bwd have the x reached on diagonal k at index k+off.
	fwd, bwd []int
	off      int
}

// box is a part of the edit graph: lines [aLo,aHi) against [bLo,bHi).
type box struct{ aLo, aHi, bLo, bHi int }

// span has the diagonals that a front has reached.
type span struct{ lo, hi int }

func newSearch(left, right kept) *search {
	diagonals := len(left.id) + len(right.id) + 3
	return &search{
		left: left, right: right,
		fwd: make([]int, diagonals), bwd: make([]int, diagonals),
		off: len(right.id) + 1,
	}
}

// solve marks, within the box, the lines that are not part of the common
// subsequence.
func (s *search) solve(b box) {
	for {
		b = s.trim(b)
		if b.aLo == b.aHi || b.bLo == b.bHi {
			s.left.drop(b.aLo, b.aHi)
			s.right.drop(b.bLo, b.bHi)
			return
		}
		x, y := s.split(b)
		s.solve(box{b.aLo, x, b.bLo, y})
		b = box{x, b.aHi, y, b.bHi}
	}
}

// drop marks the kept lines [lo,hi) as gone from their text.
func (k kept) drop(lo, hi int) {
	for _, at := range k.at[lo:hi] {
		k.gone[at] = true
	}
}

// trim removes equal lines from both ends of the box.
func (s *search) trim(b box) box {
	a, c := s.left.id, s.right.id
	for b.aLo < b.aHi && b.bLo < b.bHi && a[b.aLo] == c[b.bLo] {
		b.aLo++
		b.bLo++
	}
	for b.aLo < b.aHi && b.bLo < b.bHi && a[b.aHi-1] == c[b.bHi-1] {
		b.aHi--
		b.bHi--
	}
	return b
}

// split returns where to divide a box that is not empty in either direction.
func (s *search) split(b box) (x, y int) {
	first, last := b.aLo-b.bLo, b.aHi-b.bHi
	f, r := span{first, first}, span{last, last}
	s.fwd[first+s.off], s.bwd[last+s.off] = b.aLo, b.aHi
	// The fronts meet on a forward step exactly if the corners' diagonals differ by
	// an odd number.
	odd := (first-last)&1 != 0
	for cost := 1; ; cost++ {
		f = s.widen(s.fwd, f, b, -1)
		if x, k, met := s.forward(b, f, r, odd); met {
			return x, x - k
		}
		r = s.widen(s.bwd, r, b, math.MaxInt)
		if x, k, met := s.backward(b, f, r, !odd); met {
			return x, x - k
		}
		if cost >= costCap {
			return s.furthest(b, f, r)
		}
	}
}

// widen extends a front by one diagonal on either side, or shrinks it by one if it has
// reached the corner of the box. It puts wall beyond its ends, so that no path comes
// from there.
func (s *search) widen(at []int, d span, b box, wall int) span {
	if d.lo > b.aLo-b.bHi {
		d.lo--
		at[d.lo-1+s.off] = wall
	} else {
		d.lo++
	}
	if d.hi < b.aHi-b.bLo {
		d.hi++
		at[d.hi+1+s.off] = wall
	} else {
		d.hi--
	}
	return d
}

// forward takes one step from the upper left corner on every second diagonal of f,
// each followed by all equal lines. If meet is set, it stops where a path meets the
// backward front, at line x of a on diagonal k.
func (s *search) forward(b box, f, r span, meet bool) (x, k int, met bool) {
	a, c, fwd, bwd, off := s.left.id[:b.aHi], s.right.id[:b.bHi], s.fwd, s.bwd, s.off
	for k = f.hi; k >= f.lo; k -= 2 {
		x = max(fwd[k-1+off]+1, fwd[k+1+off])
		for x < len(a) && x-k < len(c) && a[x] == c[x-k] {
			x++
		}
		fwd[k+off] = x
		if meet && r.lo <= k && k <= r.hi && bwd[k+off] <= x {
			return x, k, true
		}
	}
	return 0, 0, false
}

// backward is forward from the lower right corner.
func (s *search) backward(b box, f, r span, meet bool) (x, k int, met bool) {
	a, c, fwd, bwd, off := s.left.id, s.right.id, s.fwd, s.bwd, s.off
	for k = r.hi; k >= r.lo; k -= 2 {
		x = min(bwd[k-1+off], bwd[k+1+off]-1)
		for x > b.aLo && x-k > b.bLo && a[x-1] == c[x-k-1] {
			x--
		}
		bwd[k+off] = x
		if meet && f.lo <= k && k <= f.hi && x <= fwd[k+off] {
			return x, k, true
		}
	}
	return 0, 0, false
}

// furthest returns the end of the path that has come furthest in either direction. A
// path may have stepped over the edge of the box; its end is moved back to the edge.
func (s *search) furthest(b box, f, r span) (x, y int) {
	fx, fsum := 0, -1
	for k := f.hi; k >= f.lo; k -= 2 {
		x := min(s.fwd[k+s.off], b.aHi, b.bHi+k)
		if sum := x + x - k; sum > fsum {
			fx, fsum = x, sum
		}
	}
	rx, rsum := 0, math.MaxInt
	for k := r.hi; k >= r.lo; k -= 2 {
		x := max(s.bwd[k+s.off], b.aLo, b.bLo+k)
		if sum := x + x - k; sum < rsum {
			rx, rsum = x, sum
		}
	}
	if b.aHi+b.bHi-rsum < fsum-(b.aLo+b.bLo) {
		return fx, fsum - fx
	}
	return rx, rsum - rx
}
