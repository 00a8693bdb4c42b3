package merge

import "slices"

// This file finds the answers to the conflicts in an edited file. The text between
// the conflicts is known, line by line.

// segments returns the merged text between the open conflicts of r: before the first,
// between each two, after the last. All but the first and the last have at least one
// line.
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

// misfit says why a text could not be split.
type misfit struct {
	// line is the first line of the text, from 1, that was changed; 0 if unknown.
	line int
	// ambiguous: there is more than one way to split it.
	ambiguous bool
}

// aligned returns the parts of a text between these segments, in order. The text must
// contain every line of every segment, and there must be only one way to split it.
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

// between returns the text between the segments at these places, within the n lines
// after line.
func (v *version) between(line, n int, places []int, segments [][]int32) [][]byte {
	var out [][]byte
	from := 0
	for i, at := range places {
		out = append(out, []byte(v.slice(Range{line + from + 1, line + at})))
		from = at + len(segments[i])
	}
	return append(out, []byte(v.slice(Range{line + from + 1, line + n})))
}

// earliest returns the first possible place of every segment after the one before it.
// If the last possible places (latest) are the same, the split is unique.
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

// latest returns the last possible place of every segment. The segments must fit.
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

// find returns the first index of a run of lines in a text, or -1, in one pass
// (Knuth, Morris and Pratt).
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

// borders returns, for each prefix of a run, the length of the longest proper prefix
// that is also its suffix.
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
