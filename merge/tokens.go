package merge

// This file compares texts by any unit that the caller cuts them into.

// TokenChange says that tokens [ToFirst,ToEnd) of one text replace tokens [FromFirst,FromEnd)
// of another, counted from 0. One of the two runs may be empty, never both.
type TokenChange struct{ FromFirst, FromEnd, ToFirst, ToEnd int }

// DiffTokens returns the changes that turn one sequence of tokens (words, lines) into
// another, in order, found as changes of lines are (diff.go).
func DiffTokens(from, to []string) []TokenChange {
	in := make(interner, len(from))
	number := func(tokens []string) []int32 {
		ids := make([]int32, len(tokens))
		for i, token := range tokens {
			ids[i] = in.number(token)
		}
		return ids
	}
	a, b := number(from), number(to)
	var out []TokenChange
	for _, c := range diff(a, b, len(in)) {
		out = append(out, TokenChange{c.aLo, c.aHi, c.bLo, c.bHi})
	}
	return out
}
