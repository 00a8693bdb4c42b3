// Package fact provides an ordered list of named values that describe one outcome. An
// error's details, a warning's context and a log line are the same facts in three
// renderings: a JSON object, a filled template, logfmt pairs. The list keeps them
// once, in the order in which they were given.
//
// What belongs here: the list and its renderings. The tables in codes and warnings
// say which facts a code has and what they mean.
package fact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Fact is one named value. Keys are camelCase. A value is anything that encoding/json
// can encode. Three types look the same in every rendering: a time.Duration as Go
// prints it ("1m30s"), a time.Time as RFC 3339 in UTC and whole seconds, an error as
// its message. For a duration that programs compute with, use Ms.
type Fact struct {
	Key   string
	Value any
}

// Of returns a fact.
func Of(key string, value any) Fact { return Fact{Key: key, Value: value} }

// Ms returns a duration as a fact in whole milliseconds with the key name + "Ms".
func Ms(name string, d time.Duration) Fact {
	return Fact{Key: name + "Ms", Value: d.Milliseconds()}
}

// List is an ordered list of facts with unique keys.
type List []Fact

// New returns a list of these facts that shares no memory with them. If a key is given
// twice, the later value gets the earlier place.
func New(facts ...Fact) List { return List(nil).With(facts...) }

// Get returns the value of key.
func (l List) Get(key string) (any, bool) {
	for _, f := range l {
		if f.Key == key {
			return f.Value, true
		}
	}
	return nil, false
}

// Text returns the value of key as text for a sentence, "" if absent.
func (l List) Text(key string) string {
	v, ok := l.Get(key)
	if !ok {
		return ""
	}
	return text(v)
}

// With returns a copy of the list with these facts set: it replaces the value of an
// existing key in its place, and appends a new key.
func (l List) With(facts ...Fact) List {
	out := append(make(List, 0, len(l)+len(facts)), l...)
next:
	for _, f := range facts {
		for i := range out {
			if out[i].Key == f.Key {
				out[i] = f
				continue next
			}
		}
		out = append(out, f)
	}
	return out
}

// Fill replaces every {name} in template with the fact of that name. An unknown name
// stays, so that tests notice it.
func (l List) Fill(template string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(template, '{')
		if open < 0 {
			break
		}
		end := strings.IndexByte(template[open:], '}')
		if end < 0 {
			break
		}
		end += open
		b.WriteString(template[:open])
		if v, ok := l.Get(template[open+1 : end]); ok {
			b.WriteString(text(v))
		} else {
			b.WriteString(template[open : end+1])
		}
		template = template[end+1:]
	}
	b.WriteString(template)
	return b.String()
}

// MarshalJSON encodes the list as one JSON object in its order. It does not escape HTML
// characters, because the reader is a person or a model.
func (l List) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range l {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := JSON(f.Key)
		if err != nil {
			return nil, err
		}
		value, err := JSON(wire(f.Value))
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON decodes an object in its order, for answers stored under a request id:
// encoded again, it has the same bytes, including numbers and nested objects. null
// gives an empty list.
func (l *List) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	tok, err := dec.Token()
	if err != nil {
		return fmt.Errorf("facts: %w", err)
	}
	if tok == nil {
		*l = nil
		return nil
	}
	if tok != json.Delim('{') {
		return fmt.Errorf("facts: want an object, not %v", tok)
	}
	out := List{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return fmt.Errorf("facts: %w", err)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("facts: %w", err)
		}
		name, _ := key.(string)
		out = out.With(Fact{Key: name, Value: value(raw)})
	}
	*l = out
	return nil
}

// value decodes strings and keeps everything else as JSON, so that no number loses
// digits and no nested object its order.
func value(raw json.RawMessage) any {
	var s string
	if raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return raw
}

// AppendLogfmt appends the list as logfmt pairs, each preceded by a space.
func (l List) AppendLogfmt(b []byte) []byte {
	for _, f := range l {
		b = append(b, ' ')
		b = append(b, f.Key...)
		b = append(b, '=')
		b = AppendValue(b, text(f.Value))
	}
	return b
}

// AppendValue appends s as a logfmt value: bare if that is unambiguous, otherwise
// quoted with Go's escapes, so that no value can forge a pair or a line.
func AppendValue(b []byte, s string) []byte {
	if bare(s) {
		return append(b, s...)
	}
	return strconv.AppendQuote(b, s)
}

func bare(s string) bool {
	if s == "" || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r <= ' ' || r == '=' || r == '"' || r == '\\' || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// wire converts v to the form used in all renderings, if encoding/json would differ.
func wire(v any) any {
	switch v := v.(type) {
	case time.Duration:
		return v.String()
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	case error:
		return v.Error()
	}
	return v
}

// text returns a value for a sentence or a pair: a string as it is, a list of strings
// with commas, anything else as JSON.
func text(v any) string {
	switch v := wire(v).(type) {
	case string:
		return v
	case []string:
		return strings.Join(v, ", ")
	case fmt.Stringer:
		return v.String()
	default:
		return jsonText(v)
	}
}

func jsonText(v any) string {
	raw, err := JSON(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	var s string // also for null, which leaves the string empty
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, ", ")
	}
	return string(raw)
}

// Escaped replaces, in a document of JSON, the characters of texts that control a terminal or
// that are not seen, by their escapes: the document means the same.
func Escaped(doc []byte) []byte {
	if !bytes.ContainsFunc(doc, Unseen) {
		return doc
	}
	out := make([]byte, 0, len(doc)+16)
	for _, r := range string(doc) {
		if !Unseen(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// Unseen reports whether a character controls a terminal, or is invisible. A line feed does
// not count.
func Unseen(r rune) bool { return r != '\n' && Hidden(r) }

// Hidden reports whether a terminal acts on a character, or it hides or reorders others.
func Hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// Visible returns a text with the characters that hides names as escapes (\x1b, \u202e). What is not UTF-8
// becomes U+FFFD.
func Visible(text string, hides func(rune) bool) string {
	if !strings.ContainsFunc(text, hides) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hides(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Plural is a count with a word whose plural ends in s.
func Plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// JSON encodes v as in answers: compact, without HTML escapes and without a newline.
// Errors: those of encoding/json.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
