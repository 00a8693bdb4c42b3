package merge

import "slices"

// This file finds the conflicts of a file in what an editor made of it: the text
// between them is known, line by line.

// segments are the stretches of merged text between the open conflicts of r:
// before the first, between each two, after the last. All but the first and the
// last have a line.
func (r *Result) segments() []string {
	out := []string{""}
	for i, h := range r.Hunks {
		if h.Kind == Conflicting {
			out = append(out, "")
			continue
		}
		out[len(out)-1] += r.clean(i)
	}
	return out
}

// misfit is why a text could not be cut.
type misfit struct {
	// line is the first line of the text, from 1, that is not as it was; 0 when
	// that cannot be told.
	line int
	// ambiguous: there is more than one way to cut it.
	ambiguous bool
}

// aligned gives what stands in a text between these segments, in their order. Every
// line of every segment has to be there, and the cut has to be the only one.
func aligned(text []byte, segments []string) ([][]byte, *misfit) {
	in := newInterner(text)
	v := in.cut(text)
	known := make([][]int32, len(segments))
	for i, s := range segments {
		known[i] = in.cut([]byte(s)).id
	}
	first, last := known[0], known[len(known)-1]
	if n := shared(v.id, first); n < len(first) {
		return nil, &misfit{line: n + 1}
	}
	rest := v.id[len(first):]
	if n := shared(reversed(rest), reversed(last)); n < len(last) {
		return nil, &misfit{line: max(1, v.len()-n)}
	}
	middle := rest[:len(rest)-len(last)]
	places, ok := earliest(middle, known[1:len(known)-1])
	if !ok {
		return nil, &misfit{}
	}
	if !slices.Equal(places, latest(middle, known[1:len(known)-1])) {
		return nil, &misfit{ambiguous: true}
	}
	return v.between(len(first), len(middle), places, known[1:len(known)-1]), nil
}

// between is what stands between the places of segments, in the n lines from
// line on.
func (v *version) between(line, n int, places []int, segments [][]int32) [][]byte {
	var out [][]byte
	from := 0
	for i, at := range places {
		out = append(out, []byte(v.slice(Range{line + from + 1, line + at})))
		from = at + len(segments[i])
	}
	return append(out, []byte(v.slice(Range{line + from + 1, line + n})))
}

// earliest puts every segment as early as it can stand after the one before it. If
// the last places they can have are the same, there is no other way.
func earliest(text []int32, segments [][]int32) ([]int, bool) {
	places := make([]int, 0, len(segments))
	from := 0
	for _, s := range segments {
		at := find(text[from:], s)
		if at < 0 {
			return nil, false
		}
		places = append(places, from+at)
		from += at + len(s)
	}
	return places, true
}

// latest puts every segment as late as it can stand; they do fit.
func latest(text []int32, segments [][]int32) []int {
	var mirrored [][]int32
	for _, s := range slices.Backward(segments) {
		mirrored = append(mirrored, reversed(s))
	}
	places, _ := earliest(reversed(text), mirrored)
	slices.Reverse(places)
	for i := range places {
		places[i] = len(text) - places[i] - len(segments[i])
	}
	return places
}

// find is where a run of lines first stands in a text, -1 for nowhere, in one
// pass (Knuth, Morris and Pratt).
func find(text, run []int32) int {
	next := borders(run)
	have := 0
	for i, id := range text {
		for have > 0 && run[have] != id {
			have = next[have-1]
		}
		if run[have] == id {
			have++
		}
		if have == len(run) {
			return i - have + 1
		}
	}
	return -1
}

// borders is, for each beginning of a run, how much of it ends like it begins.
func borders(run []int32) []int {
	out := make([]int, len(run))
	for i, have := 1, 0; i < len(run); i++ {
		for have > 0 && run[have] != run[i] {
			have = out[have-1]
		}
		if run[have] == run[i] {
			have++
		}
		out[i] = have
	}
	return out
}

func shared(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func reversed(ids []int32) []int32 {
	out := slices.Clone(ids)
	slices.Reverse(out)
	return out
}
