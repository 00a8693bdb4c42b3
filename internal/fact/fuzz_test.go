package fact_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/internal/fact"
)

// FuzzFacts: a decoded object is encoded again with the same bytes, including numbers
// and nested objects, each key once.
func FuzzFacts(f *testing.F) {
	for _, s := range []string{
		`null`, `{}`, `{"a":1,"b":"x","c":[1.50,{"z":1,"a":2}],"d":null,"e":1e400}`, `{"a":1,"a":2}`, `{"<":"&","\u2028":"\ud800"}`,
		`{"c":[1.50,{"&":0,"<":"\u2028"}]}`, `[1]`, `{"a":9007199254740993}`, `{"n":3, "r": [ "x" , "y" ] }`, `{"a":1}{`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var l fact.List
		if json.Unmarshal(data, &l) != nil {
			return
		}
		written := asAnswered(t, l)
		plain, again := object(t, data), object(t, written)
		if plain != nil {
			require.Equal(t, plain, again)
			require.Len(t, l, len(plain), "each key stands in it once")
		}
		var back fact.List
		require.NoError(t, json.Unmarshal(written, &back))
		require.Equal(t, string(written), string(asAnswered(t, back)))
		for _, one := range l {
			require.Equal(t, l.Text(one.Key), back.Text(one.Key))
		}
	})
}

// asAnswered encodes a list as in answers, the log and the journal: without escaping
// HTML characters.
func asAnswered(t *testing.T, l fact.List) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(l))
	return b.Bytes()
}

// object decodes JSON independently, keeping numbers as written.
func object(t *testing.T, data []byte) (m map[string]any) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&m), "what is taken is an object")
	return m
}

// FuzzLogfmt: a line of pairs can be parsed back, whatever the values contain.
func FuzzLogfmt(f *testing.F) {
	f.Add("plain", "two words", "")
	f.Add("a=b", `"x" y=z`, "x\nerror code=T101")
	f.Add(`\`, `"`, "\xff\u2028")
	f.Add("b=1 c=2", "a\" b=\"", " ")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		line := string(fact.New(fact.Of("a", a), fact.Of("b", b), fact.Of("c", []string{c, a})).AppendLogfmt(nil))
		want := [][2]string{{"a", a}, {"b", b}, {"c", c + ", " + a}}
		require.Equal(t, want, pairs(t, line))
	})
}

// pairs parses logfmt independently: a key, "=", and a value that is quoted or ends at
// the next space.
func pairs(t *testing.T, line string) (out [][2]string) {
	for line != "" {
		key, rest, ok := strings.Cut(strings.TrimPrefix(line, " "), "=")
		require.True(t, ok, "%q is no pair", line)
		value := rest
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			require.NoError(t, err)
			value, err = strconv.Unquote(quoted)
			require.NoError(t, err)
			line = rest[len(quoted):]
		} else if at := strings.IndexByte(rest, ' '); at >= 0 {
			value, line = rest[:at], rest[at:]
		} else {
			line = ""
		}
		require.True(t, strings.HasPrefix(rest, `"`) || !strings.ContainsAny(value, `="`), "%q can be read in two ways", line)
		out = append(out, [2]string{key, value})
	}
	return out
}
