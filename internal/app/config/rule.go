package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"leslie/internal/app"
	"leslie/internal/permit"
)

// This file adds rules to the text of the user's configuration. All that is there stays
// as it is, comments and spaces included.

// WithRules returns a configuration with more rules in run.always; data is nil if there
// is no file. Errors: T903 for a configuration that cannot be used.
func WithRules(path string, data []byte, rules []permit.Rule) ([]byte, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{\n  \"run\": {\n  }\n}\n")
	}
	before, err := app.ParseConfig(path, slices.Clone(data), true)
	if err != nil {
		return nil, err
	}
	want := before
	want.Run.Always = slices.Concat(before.Run.Always, rules)
	root, err := hujson.Parse(slices.Clone(data))
	if err != nil {
		return nil, app.BadConfig(path, "", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	list, err := ruleList(rules)
	if err != nil {
		return nil, err
	}
	for _, inserted := range withList(root, data, list) {
		if after, err := app.ParseConfig(path, slices.Clone(inserted), true); err == nil && sameConfig(after, want) {
			return inserted, nil
		}
	}
	return nil, app.BadConfig(path, "run.always", "no rule can be added where it stands: add it yourself: "+list)
}

// sameConfig reports whether two files say the same.
func sameConfig(a, b app.Config) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// ruleList returns rules as the inside of a list in JSON.
func ruleList(rules []permit.Rule) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, r := range rules {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := enc.Encode(r.String()); err != nil {
			return "", err
		}
		b.Truncate(b.Len() - 1) // its newline
	}
	return b.String(), nil
}

// withList returns texts that have list in run.always, the one that looks best first.
// Each leaves what is there where it is; whoever calls looks whether it says what it should.
func withList(root hujson.Value, data []byte, list string) [][]byte {
	insert := func(at int, text string) []byte {
		return slices.Concat(data[:at], []byte(text), data[at:])
	}
	if v := root.Find("/run/always"); v != nil {
		all, is := v.Value.(*hujson.Array)
		if !is {
			return nil
		}
		if len(all.Elements) == 0 {
			return [][]byte{insert(v.StartOffset+1, list)}
		}
		last := all.Elements[len(all.Elements)-1]
		plain := insert(last.EndOffset, ", "+list)
		rest := data[last.EndOffset : v.EndOffset-1]
		line := bytes.LastIndexByte(rest, '\n')
		if line < 0 {
			return [][]byte{plain}
		}
		own := slices.Concat(data[:last.EndOffset], []byte(","), rest[:line], []byte("\n"+indentOf(data, last.StartOffset)+list), rest[line:], data[v.EndOffset-1:])
		behindComma := insert(last.EndOffset+line, "\n"+indentOf(data, last.StartOffset)+list+",")
		return [][]byte{own, behindComma, plain}
	}
	at, text := &root, `"run": {"always": [`+list+`]}`
	if run := root.Find("/run"); run != nil {
		at, text = run, `"always": [`+list+`]`
	}
	object, is := at.Value.(*hujson.Object)
	if !is {
		return nil
	}
	space, comma := object.AfterExtra, ""
	if len(object.Members) > 0 {
		space, comma = object.Members[0].Name.BeforeExtra, ","
	}
	first := bytes.IndexByte(space, '\n')
	if first < 0 {
		if comma != "" {
			comma = ", "
		}
		return [][]byte{insert(at.StartOffset+1, text+comma)}
	}
	own := "\n" + leading(space[first+1:])
	if comma == "" && len(bytes.TrimSpace(space)) == 0 {
		own = "\n" + indentOf(data, at.StartOffset) + "  "
	}
	return [][]byte{insert(at.StartOffset+1, own+text+comma)}
}

// indentOf returns the spaces at the beginning of the line of a place.
func indentOf(data []byte, at int) string {
	return leading(data[bytes.LastIndexByte(data[:at], '\n')+1 : at])
}

// leading returns the spaces and tabs with which a text begins.
func leading(text []byte) string {
	return string(text[:len(text)-len(bytes.TrimLeft(text, " \t"))])
}
