package merge

import (
	"bytes"
	"strings"
)

// version is one text split into lines. Lines are numbered from 0 here, and from 1 in
// the exported API.
type version struct {
	text string
	// start has the offset of each line, and finally the length of text.
	start []int
	// id has the number of each line: within one interner, two lines are equal
	// exactly if their numbers are.
	id []int32
}

// interner gives equal lines equal numbers, from 0 upward, so that the diff compares
// integers and can use them as indexes.
type interner map[string]int32

// newInterner returns an interner with capacity for the lines of one text.
func newInterner(text []byte) interner { return make(interner, bytes.Count(text, []byte("\n"))+1) }

// cut splits text after every line feed and numbers its lines.
func (in interner) cut(text []byte) *version { return in.cutAs(text, nil) }

// cutAs is cut for a text that is derived from another: a line that also comes next
// in the other text, as most do, needs no lookup.
func (in interner) cutAs(text []byte, from *trail) *version {
	v := &version{text: string(text)}
	n := strings.Count(v.text, "\n") + 1
	v.start = make([]int, 0, n+1)
	v.id = make([]int32, 0, n)
	for at := 0; at < len(v.text); {
		end := len(v.text)
		if i := strings.IndexByte(v.text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := v.text[at:end]
		id, known := from.next(line)
		if !known {
			id = in.number(line)
			from.meet(id)
		}
		v.start = append(v.start, at)
		v.id = append(v.id, id)
		at = end
	}
	v.start = append(v.start, len(v.text))
	return v
}

// trail is a text, and the position in it that corresponds to the text being split.
type trail struct {
	text  *version
	at    int
	place []int32 // of the line with this number, from 1; 0: none
}

func newTrail(text *version, ids int) *trail {
	t := &trail{text: text, place: make([]int32, ids)}
	for i, id := range text.id {
		t.place[id] = int32(i) + 1
	}
	return t
}

// next returns the number of a line if that line comes next.
func (t *trail) next(line string) (id int32, known bool) {
	if t == nil || t.at >= t.text.len() || t.text.line(t.at) != line {
		return 0, false
	}
	t.at++
	return t.text.id[t.at-1], true
}

// meet moves to the position after the line with this number. A line that the text
// does not contain counts as a replacement of the next one.
func (t *trail) meet(id int32) {
	switch {
	case t == nil:
	case int(id) < len(t.place) && t.place[id] > 0:
		t.at = int(t.place[id])
	default:
		t.at++
	}
}

func (in interner) number(line string) int32 {
	n, known := in[line]
	if !known {
		n = int32(len(in))
		in[line] = n
	}
	return n
}

// len returns the number of lines.
func (v *version) len() int { return len(v.id) }

// line returns line i with its ending.
func (v *version) line(i int) string { return v.text[v.start[i]:v.start[i+1]] }

// slice returns the text of the lines of r.
func (v *version) slice(r Range) string { return v.text[v.start[r.First-1]:v.start[r.Last]] }

// lines returns the lines of r.
func (v *version) lines(r Range) []string {
	out := make([]string, 0, r.Len())
	for i := r.First; i <= r.Last; i++ {
		out = append(out, v.line(i-1))
	}
	return out
}

// join concatenates lines.
func join(lines []string) []byte { return []byte(strings.Join(lines, "")) }
