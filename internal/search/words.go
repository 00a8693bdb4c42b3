package search

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MostWords is how many words one search may have.
const MostWords = 32

// Words is what is searched for.
type Words struct {
	folded [][]byte
	// plain: JSON writes none of the words' characters in another way.
	plain bool
	*folding
}

// Parse returns the words of some texts: each line of a text is one, without the blanks
// around it. ok is false if there are none, or more than MostWords.
func Parse(texts []string) (w Words, ok bool) {
	w.plain, w.folding = true, newFolding()
	for _, text := range texts {
		for line := range strings.SplitSeq(text, "\n") {
			word := w.fold(nil, []byte(strings.TrimSpace(line)))
			if len(word) == 0 || slices.ContainsFunc(w.folded, func(known []byte) bool { return bytes.Equal(known, word) }) {
				continue
			}
			w.folded = append(w.folded, word)
			w.plain = w.plain && !bytes.ContainsFunc(word, inJSON)
		}
	}
	return w, len(w.folded) > 0 && len(w.folded) <= MostWords
}

// inJSON reports whether JSON may write a character in another way than as it is.
func inJSON(r rune) bool {
	return r < ' ' || strings.ContainsRune("\"\\/<>&\u007f\u2028\u2029\uFFFD", r)
}

// set is a set of words, by their numbers.
type set uint32

func (s set) count() int { return bits.OnesCount32(uint32(s)) }

// all is the set of all words.
func (w Words) all() set { return set(1<<len(w.folded) - 1) }

// in returns the words that a folded text has.
func (w Words) in(folded []byte) (found set) {
	for i, word := range w.folded {
		if bytes.Contains(folded, word) {
			found |= 1 << i
		}
	}
	return found
}

// longest is the length of the longest word, in bytes of its folded form.
func (w Words) longest() (n int) {
	for _, word := range w.folded {
		n = max(n, len(word))
	}
	return n
}

// whole reports whether each of the words is in a folded line as a whole, and not as a
// part of a longer one.
func (w Words) whole(folded []byte) bool {
	for _, word := range w.folded {
		if !wholeIn(folded, word) {
			return false
		}
	}
	return true
}

func wholeIn(line, word []byte) bool {
	for at := 0; ; {
		i := bytes.Index(line[at:], word)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(word)
		before, _ := utf8.DecodeLastRune(line[:from])
		after, _ := utf8.DecodeRune(line[to:])
		if !(part(before) && part(firstOf(word))) && !(part(after) && part(lastOf(word))) {
			return true
		}
		at = from + 1
	}
}

func firstOf(b []byte) rune { r, _ := utf8.DecodeRune(b); return r }
func lastOf(b []byte) rune  { r, _ := utf8.DecodeLastRune(b); return r }

// part reports whether a character is part of a word. No character at all is none.
func part(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// folding is how texts are folded: see fold.
type folding struct {
	// two has what characters of two bytes fold to.
	two [0x800]rune
}

func newFolding() *folding {
	f := &folding{}
	for r := range f.two {
		f.two[r] = foldRune(rune(r))
	}
	return f
}

// fold appends a text in the form in which texts are compared: for each character the
// one that stands for all that differ only in case. Bytes that are no UTF-8 stay. No
// text gets longer: no character folds to one of more bytes.
func (f *folding) fold(to, text []byte) []byte {
	to = slices.Grow(to, len(text))
	out := to[len(to) : len(to)+len(text)]
	n := 0
	for i := 0; i < len(text); {
		if len(text)-i >= 8 {
			if eight := binary.LittleEndian.Uint64(text[i:]); eight&highBits == 0 {
				binary.LittleEndian.PutUint64(out[n:], lower(eight))
				i, n = i+8, n+8
				continue
			}
		}
		switch c := text[i]; {
		case 'A' <= c && c <= 'Z':
			out[n] = c + ('a' - 'A')
			i, n = i+1, n+1
		case c < 0xC2 || 0xE3 <= c && c <= 0xE9: // what begins so is caseless, or no character
			out[n] = c
			i, n = i+1, n+1
		default:
			r, size := utf8.DecodeRune(text[i:])
			switch size {
			case 1:
				out[n] = c
				n++
			case 2:
				n += utf8.EncodeRune(out[n:], f.two[r])
			default:
				n += utf8.EncodeRune(out[n:], foldRune(r))
			}
			i += size
		}
	}
	return to[:len(to)+n]
}

const (
	ones     = 0x0101010101010101
	highBits = 0x80 * ones
)

// lower returns eight characters of ASCII in lower case. A sum has the high bit where the
// character is large enough for it; capital letters are those between two such limits.
func lower(eight uint64) uint64 {
	capital := (eight + (0x80-'A')*ones) &^ (eight + (0x80-'Z'-1)*ones) & highBits
	return eight | capital>>2
}

// foldRune returns the smallest of the characters that differ from one only in case; of
// ASCII letters the small one.
func foldRune(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	if 'A' <= least && least <= 'Z' {
		return least + ('a' - 'A')
	}
	return least
}
