package main

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file writes answers as YAML. Both formats come from one document, so they
// cannot say different things; that a YAML library reads the same from both is held
// by tests. The library itself is not here: what it prepares at its start took as
// long as everything else that happens before a command runs.

// toYAML writes a JSON document as YAML 1.2, keys in the same order, in two
// spaces' steps. Texts of several lines are blocks; what a reader of YAML 1.1 or
// 1.2 could take for something else than text is quoted.
func toYAML(doc []byte) []byte {
	y := yamlText{dec: json.NewDecoder(bytes.NewReader(doc))}
	y.dec.UseNumber()
	if y.value(0, false) != nil {
		return doc // JSON is YAML
	}
	return append(y.out, '\n')
}

type yamlText struct {
	dec *json.Decoder
	out []byte
}

// value writes the next value; item says that it is one of a list, whose first
// key stands behind the dash.
func (y *yamlText) value(indent int, item bool) error {
	tok, err := y.dec.Token()
	if err != nil {
		return err
	}
	open, nested := tok.(json.Delim)
	if !nested {
		y.scalar(tok, indent)
		return nil
	}
	if !y.dec.More() {
		y.write(map[json.Delim]string{'{': " {}", '[': " []"}[open])
	}
	for first := true; y.dec.More(); first = false {
		switch {
		case first && item:
			y.write(" ")
		case len(y.out) > 0:
			y.line(indent)
		}
		if open == '{' {
			key, err := y.dec.Token()
			if err != nil {
				return err
			}
			name, ok := key.(string)
			if !ok {
				return io.ErrUnexpectedEOF
			}
			y.key(yamlString(name), indent)
		} else {
			y.write("-")
		}
		if err := y.value(indent+2, open == '['); err != nil {
			return err
		}
	}
	_, err = y.dec.Token() // the closing bracket
	return err
}

// key writes a key. A long one wants a mark: a reader does not look further for the
// colon.
func (y *yamlText) key(name string, indent int) {
	if len(name) > 1000 {
		y.write("? " + name)
		y.line(indent)
		name = ""
	}
	y.write(name + ":")
}

func (y *yamlText) write(text string) { y.out = append(y.out, text...) }

func (y *yamlText) line(indent int) { y.write("\n" + strings.Repeat(" ", indent)) }

func (y *yamlText) scalar(tok json.Token, indent int) {
	switch v := tok.(type) {
	case string:
		if isBlock(v) {
			y.block(v, indent)
			return
		}
		y.write(" " + yamlString(v))
	case json.Number:
		y.write(" " + v.String())
	case bool:
		y.write(map[bool]string{true: " true", false: " false"}[v])
	default:
		y.write(" null")
	}
}

// isBlock reports whether a text is written line by line: one of several lines,
// whose first says how far all are indented, and which holds nothing that would
// have to be escaped.
func isBlock(text string) bool {
	return strings.Contains(text, "\n") && !strings.ContainsAny(text[:1], " \t\n") &&
		strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !printable(r) }) < 0
}

func (y *yamlText) block(text string, indent int) {
	body, closed := strings.CutSuffix(text, "\n")
	switch {
	case !closed:
		y.write(" |-")
	case strings.HasSuffix(body, "\n"):
		y.write(" |+")
	default:
		y.write(" |")
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line == "" {
			y.write("\n")
			continue
		}
		y.line(indent)
		y.write(line)
	}
}

// printable are the characters that stand for themselves in every YAML.
func printable(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r <= 0xa0, r == '\u2028', r == '\u2029', r == '\ufeff', r == utf8.RuneError, r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}

// yamlString is a text as it is where that is plain, else in double quotes.
func yamlString(text string) string {
	if isPlain(text) {
		return text
	}
	out := []byte{'"'}
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\t':
			out = append(out, `\t`...)
		case printable(r):
			out = utf8.AppendRune(out, r)
		default:
			const digits = "0123456789abcdef"
			out = append(out, '\\', 'U')
			for shift := 28; shift >= 0; shift -= 4 {
				out = append(out, digits[r>>shift&15])
			}
		}
	}
	return string(append(out, '"'))
}

// isPlain reports whether a text may stand without quotes: it begins with a letter
// or a slash, holds nothing that means something to YAML, and is no word that means
// something.
func isPlain(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	if first != '/' && !unicode.IsLetter(first) || strings.HasSuffix(text, " ") || strings.HasSuffix(text, ":") ||
		strings.Contains(text, ": ") || strings.Contains(text, " #") {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool { return !printable(r) }) < 0 && !slices.Contains(yamlWords(), strings.ToLower(text))
}

// yamlWords are the texts that YAML 1.1 or 1.2 takes for a truth or for nothing.
func yamlWords() []string {
	return []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
}
