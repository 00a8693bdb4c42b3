package search

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func words(t testing.TB, texts ...string) Words {
	t.Helper()
	w, ok := Parse(texts)
	require.True(t, ok)
	return w
}

func TestTheLineWithTheWordsIsFound(t *testing.T) {
	t.Parallel()
	const plan = "# Plan\n\nLog in with OAuth.\nRefresh the token,\n\tand refresh its TOKEN again\ntokens\n"
	for name, c := range map[string]struct {
		head  string
		words []string
		body  string
		want  *Found // nil: nothing
	}{
		"one word":                     {"", []string{"oauth"}, plan, &Found{3, "Log in with OAuth.", Whole}},
		"the first line of several":    {"", []string{"token"}, plan, &Found{4, "Refresh the token,", Whole}},
		"a part of a word":             {"", []string{"fresh"}, plan, &Found{4, "Refresh the token,", InLine}},
		"all in one line come first":   {"", []string{"token", "again"}, plan, &Found{5, "and refresh its TOKEN again", Whole}},
		"in several lines":             {"", []string{"oauth", "token"}, plan, &Found{3, "Log in with OAuth.", Apart}},
		"the line with most of them":   {"", []string{"oauth", "refresh", "again"}, plan, &Found{5, "and refresh its TOKEN again", Apart}},
		"one is missing":               {"", []string{"oauth", "refrain"}, plan, nil},
		"one is in the head":           {"docs/oauth.md", []string{"oauth.md", "refresh"}, plan, &Found{4, "Refresh the token,", Apart}},
		"all are in the head":          {"docs/oauth.md", []string{"docs", "oauth"}, "nothing", &Found{0, "docs/oauth.md", Whole}},
		"head and body have parts":     {"docs/oauth.md", []string{"docs", "log"}, plan, &Found{3, "Log in with OAuth.", Apart}},
		"a word with a blank":          {"", []string{"the token"}, plan, &Found{4, "Refresh the token,", Whole}},
		"a word with another blank":    {"", []string{"with token"}, plan, nil},
		"a word of several lines":      {"", []string{"plan\nlog"}, plan, &Found{1, "# Plan", Apart}},
		"the same word twice":          {"", []string{"Plan", "plan"}, plan, &Found{1, "# Plan", Whole}},
		"Greek has two small sigmas":   {"", []string{"ΟΔΟΣ"}, "an\nοδος, οδοσ", &Found{2, "οδος, οδοσ", Whole}},
		"Kelvin and long s":            {"", []string{"k", "SS"}, "300 \u212A and me\u017F\u017Fen", &Found{1, "300 \u212A and me\u017F\u017Fen", InLine}},
		"Chinese":                      {"", []string{"线程"}, "x\n一个线程。\n", &Found{2, "一个线程。", InLine}},
		"bytes that are no UTF-8":      {"", []string{"caf"}, "caf\xe9 ol\xe9", &Found{1, "caf\uFFFD ol\uFFFD", Whole}},
		"a line of Windows":            {"", []string{"two"}, "one\r\ntwo\r\n", &Found{2, "two", Whole}},
		"no line at its end":           {"", []string{"two"}, "one\ntwo", &Found{2, "two", Whole}},
		"signs are found, too":         {"", []string{"a->b"}, "x := a->b;", &Found{1, "x := a->b;", Whole}},
		"nothing in an empty text":     {"", []string{"x"}, "", nil},
		"a whole word behind a part":   {"", []string{"art"}, "party of art", &Found{1, "party of art", Whole}},
		"an underscore joins":          {"", []string{"id"}, "thread_id", &Found{1, "thread_id", InLine}},
		"a file with a byte 0 is none": {"art", []string{"art"}, "art\x00", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 40, 256 << 10} {
				found, ok, err := words(t, c.words...).searcher(size).Read(c.head, iotest.OneByteReader(strings.NewReader(c.body)))
				assert.Equal(t, strings.Contains(c.body, "\x00"), errors.Is(err, ErrBinary))
				require.Equal(t, c.want != nil, ok, "%+v", found)
				if ok {
					assert.Equal(t, *c.want, found, "with pieces of %d bytes", size)
				}
			}
		})
	}
}

func TestALongLineIsShownAroundTheFirstWord(t *testing.T) {
	t.Parallel()
	const wide = "ä線 "
	s := words(t, "needle", "thread").Searcher()
	found, ok := s.Text("", strings.Repeat(wide, 5000)+"THREAD and needle"+strings.Repeat(wide, 5000)+"\nshort")
	require.True(t, ok)
	assert.Equal(t, 1, found.Line)
	assert.True(t, strings.HasPrefix(found.Text, "…") && strings.HasSuffix(found.Text, "…"), found.Text)
	assert.Contains(t, found.Text, "THREAD and needle")
	assert.LessOrEqual(t, utf8.RuneCountInString(found.Text), excerpt+2)

	found, ok = s.Text("", "thread needle "+strings.Repeat(wide, 500))
	require.True(t, ok)
	assert.True(t, strings.HasPrefix(found.Text, "thread needle ") && strings.HasSuffix(found.Text, "…"), found.Text)
}

func TestAWordIsFoundWhereverALineIsCutIntoPieces(t *testing.T) {
	t.Parallel()
	w := words(t, "k\u212Anäh")
	for at := range 300 {
		body := strings.Repeat("é", at/2) + strings.Repeat("x", at%2) + "\u212AkNÄH" + strings.Repeat("y", 200)
		_, ok := w.searcher(1).Text("", body)
		require.True(t, ok, "behind %d characters", at)
	}
}

func TestAnErrorOfATextIsToldAndNothingIsFound(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, ok, err := words(t, "plan").Searcher().Read("plan.md", io.MultiReader(strings.NewReader("a plan, so far"), iotest.ErrReader(broken)))
	assert.ErrorIs(t, err, broken)
	assert.False(t, ok)
}

func TestWhatHasNoWordsIsRefused(t *testing.T) {
	t.Parallel()
	_, ok := Parse([]string{" ", "\n"})
	assert.False(t, ok)
	var many []string
	for i := range MostWords + 1 {
		many = append(many, strings.Repeat("x", i+1))
	}
	_, ok = Parse(many)
	assert.False(t, ok)
	w, ok := Parse(many[:MostWords])
	require.True(t, ok)
	_, ok = w.Searcher().Text("", many[MostWords-1])
	assert.True(t, ok)
}

func TestJSONIsPassedOverOnlyIfItCannotHaveTheWords(t *testing.T) {
	t.Parallel()
	record := []byte(`{"title":"Größe \"x\" \u2028","intent":"a\nb"}`)
	for word, may := range map[string]bool{"GRÖSSE": false, "größe": true, `"x"`: true, "a\\b": true, "x\u2028y": true, "z": false} {
		assert.Equal(t, may, words(t, word).Searcher().JSON(record), word)
	}
}

func TestEveryCharacterFoldsAsTheStandardLibraryHasIt(t *testing.T) {
	t.Parallel()
	f := newFolding()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) && string(f.fold(nil, []byte(string(r)))) != string(foldRune(r)) {
			t.Fatalf("%U is folded in another way in a text", r)
		}
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if foldRune(r) != foldRune(other) {
				t.Fatalf("%U and %U differ only in case", r, other)
			}
		}
		if !strings.EqualFold(string(foldRune(r)), string(r)) {
			t.Fatalf("%U folds to %U", r, foldRune(r))
		}
	}
}

func TestTextsFoldTheirCapitalLettersOnly(t *testing.T) {
	t.Parallel()
	var all []byte
	for c := range 256 {
		all = append(all, byte(c))
	}
	want := bytes.Clone(all)
	for i := range 26 {
		want['A'+i] = byte('a' + i)
	}
	assert.Equal(t, want, newFolding().fold(nil, all))
}

// naive is Read without pieces, for a text without a byte 0.
func naive(w Words, head, body string) (line int, closeness Closeness, ok bool) {
	has := func(text string) set { return w.in(w.fold(nil, []byte(text))) }
	seen, best := set(0), set(0)
	for i, text := range strings.Split(body, "\n") {
		seen |= has(text)
		if has(text).count() > best.count() {
			best, line, closeness = has(text), i+1, Apart
			if best == w.all() {
				closeness = InLine
				if w.whole(w.fold(nil, []byte(text))) {
					closeness = Whole
				}
			}
		}
	}
	switch {
	case has(head)|seen != w.all():
		return 0, 0, false
	case best == w.all():
		return line, closeness, true
	case has(head) == w.all():
		closeness = InLine
		if w.whole(w.fold(nil, []byte(head))) {
			closeness = Whole
		}
		return 0, closeness, true
	}
	return line, Apart, true
}

// What is found does not depend on how a text is cut into pieces.
func FuzzLines(f *testing.F) {
	f.Add("plan.md", "a\nToken refresh\nrefresh", "token", "REFRESH", uint8(3))
	f.Add("", strings.Repeat("é", 90)+"\u212Aelvin\n\xff", "kelvin", "é", uint8(1))
	f.Add("x", "\r\n\r\n", "x", "\r", uint8(0))
	f.Fuzz(func(t *testing.T, head, body, one, two string, size uint8) {
		w, ok := Parse([]string{one, two})
		if !ok || strings.Contains(body, "\x00") {
			return
		}
		line, closeness, want := naive(w, head, body)
		// Large enough that every line is whole in some piece.
		longest := 0
		for text := range strings.SplitSeq(body, "\n") {
			longest = max(longest, len(text))
		}
		found, got, err := w.searcher(longest+2+int(size)).Read(head, strings.NewReader(body))
		require.NoError(t, err)
		require.Equal(t, want, got)
		if got {
			require.Equal(t, line, found.Line)
			require.Equal(t, closeness, found.Closeness)
			require.True(t, utf8.ValidString(found.Text))
			require.LessOrEqual(t, utf8.RuneCountInString(found.Text), excerpt+2)
		}
		// In pieces that cut lines, all words are found still.
		_, got, err = w.searcher(int(size)).Read(head, strings.NewReader(body))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func BenchmarkRead(b *testing.B) {
	for name, text := range map[string]string{"english": "The quick brown fox jumps over the lazy dog and runs away.\n", "german": "Die Größe der Änderung überrascht natürlich niemanden mehr.\n", "chinese": "一个线程是一个工作单元，它属于一个目标。\n"} {
		b.Run(name, func(b *testing.B) {
			body := strings.Repeat(text, 10<<20/len(text))
			s := words(b, "token", "refresh").Searcher()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, ok := s.Text("", body); ok {
					b.Fatal("found")
				}
			}
		})
	}
}
