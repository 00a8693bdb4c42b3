package fact_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/fact"
)

func TestWhatIsUnseenIsEscapedInADocument(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é 漢": `"plain é 漢"`, "\u009b31m\u202e\x7f": `"\u009b31m\u202e\u007f"`, "\U000e0001": `"\udb40\udc01"`, "a\nb": `"a\nb"`,
	} {
		doc, err := fact.JSON(text)
		require.NoError(t, err)
		doc = fact.Escaped(doc)
		assert.Equal(t, want, string(doc))
		var back string
		require.NoError(t, json.Unmarshal(doc, &back))
		assert.Equal(t, text, back, "it means the same")
	}
}

func TestAListIsOneOrderedJSONObject(t *testing.T) {
	t.Parallel()
	l := fact.New(
		fact.Of("threadId", "thread-xyz"),
		fact.Of("attempts", 10),
		fact.Of("allowed", []string{"done", "cancel"}),
		fact.Ms("duration", 21300*time.Millisecond),
	)
	got, err := l.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, `{"threadId":"thread-xyz","attempts":10,"allowed":["done","cancel"],"durationMs":21300}`, string(got))
}

func TestAnEmptyListIsAnEmptyObject(t *testing.T) {
	t.Parallel()
	for _, l := range []fact.List{nil, {}, fact.New()} {
		got, err := json.Marshal(l)
		require.NoError(t, err)
		assert.Equal(t, `{}`, string(got))
	}
}

func TestJSONDoesNotEscapeHTML(t *testing.T) {
	t.Parallel()
	got, err := fact.New(fact.Of("line", "a < b && c > d")).MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, `{"line":"a < b && c > d"}`, string(got))
}

func TestAValueThatJSONCannotEncodeIsAnError(t *testing.T) {
	t.Parallel()
	_, err := fact.New(fact.Of("f", func() {})).MarshalJSON()
	assert.Error(t, err)
}

func TestValuesLookTheSameInEveryRendering(t *testing.T) {
	t.Parallel()
	type id string
	at := time.Date(2026, 2, 9, 17, 0, 0, 123, time.FixedZone("CET", 3600))
	cases := []struct {
		name       string
		value      any
		json, text string
	}{
		{"a string", "it's <b>", `"it's <b>"`, "it's <b>"},
		{"a named string", id("thread-a"), `"thread-a"`, "thread-a"},
		{"a number", 41, `41`, "41"},
		{"a bool", true, `true`, "true"},
		{"nothing", nil, `null`, ""},
		{"strings", []string{"a", "b c"}, `["a","b c"]`, "a, b c"},
		{"named strings", []id{"thread-a", "thread-b"}, `["thread-a","thread-b"]`, "thread-a, thread-b"},
		{"numbers", []int{1, 2}, `[1,2]`, "[1,2]"},
		{"a duration", 90 * time.Second, `"1m30s"`, "1m30s"},
		{"a time", at, `"2026-02-09T16:00:00Z"`, "2026-02-09T16:00:00Z"},
		{"an error", errors.New("disk full"), `"disk full"`, "disk full"},
		{"an object", map[string]int{"a": 1}, `{"a":1}`, `{"a":1}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := fact.New(fact.Of("v", c.value))
			got, err := l.MarshalJSON()
			require.NoError(t, err)
			assert.Equal(t, `{"v":`+c.json+`}`, string(got), "JSON")
			assert.Equal(t, c.text, l.Text("v"), "text")
			assert.Equal(t, "<"+c.text+">", l.Fill("<{v}>"), "a sentence")
		})
	}
}

func TestAnAbsentFactHasNoText(t *testing.T) {
	t.Parallel()
	_, ok := fact.New(fact.Of("a", 1)).Get("b")
	assert.False(t, ok)
	assert.Empty(t, fact.New(fact.Of("a", 1)).Text("b"))
}

func TestFillReplacesKnownNamesAndKeepsOthers(t *testing.T) {
	t.Parallel()
	l := fact.New(fact.Of("id", "{from}"), fact.Of("from", "active"))
	cases := map[string]string{
		"":                       "",
		"no names":               "no names",
		"'{id}' is {from}":       "'{from}' is active",
		"{from}{from}":           "activeactive",
		"{unknown} and {from}":   "{unknown} and active",
		"an open brace {from":    "an open brace {from",
		"{} and {from}":          "{} and active",
		"a closing one } {from}": "a closing one } active",
	}
	for template, want := range cases {
		assert.Equal(t, want, l.Fill(template), "template %q", template)
	}
}

func TestWithReplacesInPlaceAndAppendsInACopy(t *testing.T) {
	t.Parallel()
	before := append(make(fact.List, 0, 8), fact.Of("a", 1), fact.Of("b", 2))
	after := before.With(fact.Of("a", 10), fact.Of("c", 3), fact.Of("c", 30))
	assert.Equal(t, fact.List{fact.Of("a", 1), fact.Of("b", 2)}, before)
	assert.Equal(t, fact.List{fact.Of("a", 10), fact.Of("b", 2), fact.Of("c", 30)}, after)

	other := before.With(fact.Of("d", 4))
	assert.Equal(t, fact.Of("c", 30), after[2], "two lists made from one share no memory")
	assert.Equal(t, fact.Of("d", 4), other[2])
}

func TestNewKeepsACopyAndAKeyOnce(t *testing.T) {
	t.Parallel()
	given := []fact.Fact{fact.Of("a", 1), fact.Of("b", 2), fact.Of("a", 3)}
	l := fact.New(given...)
	given[1] = fact.Of("x", 0)
	assert.Equal(t, fact.List{fact.Of("a", 3), fact.Of("b", 2)}, l)
}

func TestReadingBackGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	const kept = `{"z":"a<b","n":12345678901234567890,"f":1.50,"no":null,"yes":true,"options":[{"what":"w","command":"c"}],"paths":["b","a"],"o":{"y":1,"a":2}}`
	var l fact.List
	require.NoError(t, json.Unmarshal([]byte(kept), &l))
	got, err := l.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, kept, string(got))
	assert.Equal(t, "b, a", l.Text("paths"), "and reads as before")
	assert.Equal(t, "12345678901234567890", l.Text("n"))
	assert.Equal(t, "a<b", l.Text("z"))
	assert.Empty(t, l.Text("no"))
}

func TestReadingBackRefusesAnythingButAnObject(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{``, `[]`, `"a"`, `3`, `{"a":`, `{"a" 1}`} {
		l := fact.New(fact.Of("kept", 1))
		err := l.UnmarshalJSON([]byte(bad))
		require.Error(t, err, "input %q", bad)
		assert.NotContains(t, err.Error(), "%!", "input %q", bad)
		assert.Equal(t, fact.New(fact.Of("kept", 1)), l, "input %q leaves the list", bad)
	}
	l := fact.New(fact.Of("a", 1))
	require.NoError(t, json.Unmarshal([]byte(`null`), &l))
	assert.Empty(t, l)
}

func TestLogfmtQuotesOnlyWhatNeedsIt(t *testing.T) {
	t.Parallel()
	l := fact.New(
		fact.Of("threadId", "thread-xyz"),
		fact.Of("reason", "file not found"),
		fact.Of("empty", ""),
		fact.Of("path", `a"b=c\d`),
		fact.Of("forged", "x\nerror code=T101"),
		fact.Of("bidi", "a\u202eb"),
		fact.Of("n", 3),
	)
	want := ` threadId=thread-xyz reason="file not found" empty="" path="a\"b=c\\d" forged="x\nerror code=T101" bidi="a\u202eb" n=3`
	assert.Equal(t, want, string(l.AppendLogfmt(nil)))
}

func FuzzAppendValue(f *testing.F) {
	for _, s := range []string{"", "plain", "two words", "a=b", `"`, `\`, "\n", "\r\nerror code=T101", "\u2028", "\u00a0", "\xff", "é", "\x1b[31m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := string(fact.AppendValue([]byte("k="), s))[2:]
		require.NotEmpty(t, got)
		require.True(t, utf8.ValidString(got), "the value %q leaves bytes that are no text", s)
		for _, r := range got {
			require.True(t, r == ' ' || strconv.IsPrint(r), "the value %q leaves %q in the line", s, r)
		}
		if got[0] != '"' {
			require.Equal(t, s, got, "a bare value is the value")
			require.False(t, strings.ContainsAny(got, " =\"\\"), "the bare value %q would forge a pair", got)
			return
		}
		back, err := strconv.Unquote(got)
		require.NoError(t, err)
		require.Equal(t, s, back, "a quoted value reads back as it was")
	})
}
