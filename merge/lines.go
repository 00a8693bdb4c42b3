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
func (in interner) cut(text []byte) *version {
	v := &version{text: string(text)}
	n := strings.Count(v.text, "\n") + 1
	v.start = make([]int, 0, n+1)
	v.id = make([]int32, 0, n)
	for at := 0; at < len(v.text); {
		end := len(v.text)
		if i := strings.IndexByte(v.text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		v.start = append(v.start, at)
		v.id = append(v.id, in.number(v.text[at:end]))
		at = end
	}
	v.start = append(v.start, len(v.text))
	return v
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
