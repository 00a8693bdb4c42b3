package merge

// Follow returns where lines of one text are in another: from the first to the last of them
// that the line merge's diff finds there. gone says that it finds none. Lines beyond the end
// of from are left out. Both texts must not be TooLargeToDiff.
func Follow(from, to []byte, lines Range) (now Range, gone bool) {
	in := newInterner(from)
	a := in.cut(from)
	b := in.cut(to)
	lo, hi := max(lines.First-1, 0), min(lines.Last, a.len())
	at, shift := 0, 0 // lines of a from at on are at+shift in b
	first, last := 0, 0
	keep := func(end int) {
		from, to := max(lo, at), min(hi, end)
		if from >= to {
			return
		}
		if first == 0 {
			first = from + shift + 1
		}
		last = to + shift
	}
	for _, c := range diff(a.id, b.id, len(in)) {
		keep(c.aLo)
		at, shift = c.aHi, c.bHi-c.aHi
	}
	keep(a.len())
	return Range{First: first, Last: last}, first == 0
}

// LinesOf returns lines of a text as they are in it, and how many lines it has.
func LinesOf(text []byte, lines Range) (quote string, count int) {
	v := newInterner(text).cut(text)
	lo, hi := max(lines.First-1, 0), min(lines.Last, v.len())
	if lo >= hi {
		return "", v.len()
	}
	return v.text[v.start[lo]:v.start[hi]], v.len()
}
