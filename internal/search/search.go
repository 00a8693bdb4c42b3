package search

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Closeness says how closely together a text has the words.
type Closeness int

// Apart: in several lines. InLine: in one line. Whole: in one line, and none of them as a
// part of a longer word.
const (
	Apart Closeness = iota
	InLine
	Whole
)

// Found says where a text has the words.
type Found struct {
	// Line is the line that has most of them, the first of several, from 1; 0 is the head.
	Line int
	// Text is that line without the blanks around it; of a long one, what is around the
	// first word. It is UTF-8.
	Text      string
	Closeness Closeness
}

// ErrBinary says that a text is none: it has a byte 0.
var ErrBinary = errors.New("it is not text")

// Searcher searches texts one after the other, and keeps its memory for the next. It is
// for one goroutine.
type Searcher struct {
	words  Words
	raw    []byte
	folded []byte
}

const (
	// piece is how much of a text is in memory at once, in bytes.
	piece = 256 << 10
	// excerpt is how many characters of a line a result has, and before how many of them
	// the first word, at most.
	excerpt, before = 160, 40
)

// Searcher returns a searcher for the words.
func (w Words) Searcher() *Searcher { return w.searcher(piece) }

func (w Words) searcher(size int) *Searcher {
	// A line that is longer than a piece is searched in parts that share what a word may
	// take: up to three times as many bytes as its folded form.
	return &Searcher{words: w, raw: make([]byte, max(size, 8*w.longest()+utf8.UTFMax))}
}

// JSON reports whether a text in JSON may have all words in its strings. It is only sure
// where it says no.
func (s *Searcher) JSON(text []byte) bool {
	if !s.words.plain {
		return true
	}
	s.folded = s.words.fold(s.folded[:0], text)
	return s.words.in(s.folded) == s.words.all()
}

// Text is Read for a text in memory.
func (s *Searcher) Text(head, body string) (found Found, ok bool) {
	found, ok, _ = s.Read(head, strings.NewReader(body)) // which has no error but ErrBinary
	return found, ok
}

// Read searches a text with a head of one line, such as a name. ok is false unless head
// and body have all words, and the body at least one of them or the head all. It does not
// read on once a line has all words. Errors: ErrBinary, those of body.
func (s *Searcher) Read(head string, body io.Reader) (found Found, ok bool, err error) {
	t := text{Searcher: s}
	s.folded = s.words.fold(s.folded[:0], []byte(head))
	inHead := s.words.in(s.folded)
	wholeHead := inHead == s.words.all() && s.words.whole(s.folded)
	if err := t.read(body); err != nil {
		return Found{}, false, err
	}
	switch {
	case inHead|t.seen != s.words.all():
		return Found{}, false, nil
	case t.best == s.words.all():
		return t.found, true, nil
	case inHead == s.words.all():
		found = Found{Text: s.around([]byte(head)), Closeness: InLine}
		if wholeHead {
			found.Closeness = Whole
		}
		return found, true, nil
	}
	return t.found, true, nil // which lacks some of the words: Apart
}

// text is a text that is being read.
type text struct {
	*Searcher
	seen  set // the words that it had so far
	best  set // those of the line that had most of them
	line  int // how many lines came before the piece
	found Found
}

func (t *text) read(body io.Reader) error {
	kept := 0 // bytes from the piece before
	for {
		n, err := io.ReadFull(body, t.raw[kept:])
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		data := t.raw[:kept+n]
		if bytes.IndexByte(data[kept:], 0) >= 0 {
			return ErrBinary
		}
		whole, next := data, len(data)
		if end := bytes.LastIndexByte(data, '\n') + 1; !last && end > 0 {
			whole, next = data[:end], end
		} else if !last {
			next = t.shared(data)
		}
		t.search(whole)
		if last || t.best == t.words.all() {
			return nil
		}
		t.line += bytes.Count(data[:next], []byte("\n"))
		kept = copy(t.raw, data[next:])
	}
}

// shared returns where the next part of a long line begins, so that no word is cut in two.
func (t *text) shared(data []byte) int {
	at := len(data) - 3*t.words.longest() - utf8.UTFMax
	for back := 0; back < utf8.UTFMax && at > 1 && !utf8.RuneStart(data[at]); back++ {
		at--
	}
	return max(at, 1)
}

// search searches a piece: whole lines, or a part of one.
func (t *text) search(data []byte) {
	t.folded = t.words.fold(t.folded[:0], data)
	here := t.words.in(t.folded)
	t.seen |= here
	if here.count() <= t.best.count() {
		return // no line of it is better
	}
	bestAt := -1
	var bestLine []byte
	for i, word := range t.words.folded {
		if here&(1<<i) == 0 {
			continue
		}
		for at := 0; at < len(t.folded); {
			hit := bytes.Index(t.folded[at:], word)
			if hit < 0 {
				break
			}
			from := bytes.LastIndexByte(t.folded[:at+hit], '\n') + 1
			end := len(t.folded)
			if n := bytes.IndexByte(t.folded[at+hit:], '\n'); n >= 0 {
				end = at + hit + n
			}
			line := t.folded[from:end]
			has := t.words.in(line)
			if has.count() > t.best.count() || bestAt >= 0 && has.count() == t.best.count() && from < bestAt {
				t.best, bestAt, bestLine = has, from, line
			}
			if t.best.count() == here.count() && bestAt <= from {
				break
			}
			at = end + 1
		}
	}
	if bestAt < 0 {
		return
	}
	t.found = Found{Line: t.line + 1 + bytes.Count(t.folded[:bestAt], []byte("\n"))}
	if t.best == t.words.all() {
		t.found.Closeness = InLine
		if t.words.whole(bestLine) {
			t.found.Closeness = Whole
		}
	}
	t.found.Text = t.around(lineOf(data, t.found.Line-t.line-1))
}

// lineOf returns a line by its number, from 0. Folding keeps the number of lines.
func lineOf(data []byte, n int) []byte {
	for range n {
		data = data[bytes.IndexByte(data, '\n')+1:]
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return line
}

// around returns what of a line a result shows.
func (s *Searcher) around(line []byte) string {
	line = bytes.TrimSpace(line)
	if utf8.RuneCount(line) <= excerpt {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	at := s.first(line)
	from := at
	for n := 0; n < before && from > 0; n++ {
		_, size := utf8.DecodeLastRune(line[:from])
		from -= size
	}
	to := from
	for n := 0; n < excerpt && to < len(line); n++ {
		_, size := utf8.DecodeRune(line[to:])
		to += size
	}
	text := strings.TrimFunc(strings.ToValidUTF8(string(line[from:to]), "\uFFFD"), unicode.IsSpace)
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}

// first returns where in a line the first of the words begins, in bytes of the line.
func (s *Searcher) first(line []byte) int {
	folded := s.words.fold(nil, line)
	least := len(folded)
	for _, word := range s.words.folded {
		if i := bytes.Index(folded, word); i >= 0 {
			least = min(least, i)
		}
	}
	at, n := 0, 0
	for at < len(line) && n < least {
		r, size := utf8.DecodeRune(line[at:])
		if r == utf8.RuneError && size == 1 {
			n++
		} else {
			n += utf8.RuneLen(foldRune(r))
		}
		at += size
	}
	return at
}
