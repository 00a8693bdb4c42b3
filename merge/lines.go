package merge

import (
	"bytes"
	"strings"
)

// version is one text cut into lines. Lines are numbered from 0 here and from 1
// in what the package exports.
type version struct {
	text string
	// start holds where each line begins, and the length of text at its end.
	start []int
	// id holds for each line the number that stands for its bytes: within one
	// interner two lines are equal exactly when their numbers are.
	id []int32
}

// interner gives equal lines equal numbers, counted from 0 upward, so that the
// diff compares integers and can use them as indexes.
type interner map[string]int32

// newInterner has room for the lines of one text.
func newInterner(text []byte) interner { return make(interner, bytes.Count(text, []byte("\n"))+1) }

// cut splits text after every line feed and numbers its lines.
func (in interner) cut(text []byte) *version { return in.cutAs(text, nil) }

// cutAs is cut for a text that went on from another: where a line is the one that
// follows there, which most are, it need not be looked up.
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

// trail is a text, and where the one that is being cut has come in it.
type trail struct {
	text  *version
	at    int
	place []int32 // of a line with this number, from 1; 0: it has none
}

func newTrail(text *version, ids int) *trail {
	t := &trail{text: text, place: make([]int32, ids)}
	for i, id := range text.id {
		t.place[id] = int32(i) + 1
	}
	return t
}

// next is the number of a line if it is the one that follows.
func (t *trail) next(line string) (id int32, known bool) {
	if t == nil || t.at >= t.text.len() || t.text.line(t.at) != line {
		return 0, false
	}
	t.at++
	return t.text.id[t.at-1], true
}

// meet goes on behind a line with this number; a line that the text does not
// have stands in the place of one that it has.
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

// len is the number of lines.
func (v *version) len() int { return len(v.id) }

// line is line i with its ending.
func (v *version) line(i int) string { return v.text[v.start[i]:v.start[i+1]] }

// slice is the text of the lines of r.
func (v *version) slice(r Range) string { return v.text[v.start[r.First-1]:v.start[r.Last]] }

// lines is the lines of r, one by one.
func (v *version) lines(r Range) []string {
	out := make([]string, 0, r.Len())
	for i := r.First; i <= r.Last; i++ {
		out = append(out, v.line(i-1))
	}
	return out
}

// join is lines put back together.
func join(lines []string) []byte { return []byte(strings.Join(lines, "")) }
