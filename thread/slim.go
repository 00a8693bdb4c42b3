package thread

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// This file leaves long texts that an operation does not change out of the journal. A
// thread's intent may have many thousand words, and each change of its status would
// repeat them twice in the journal, and once more in the state.

// longText is the length, in bytes of JSON, from which a change does not repeat an
// unchanged member.
const longText = 256

// Slim returns the change without the long texts and lists that are equal before and
// after: they are null on both sides, and Same names them.
func (c Change) Slim() Change {
	if c.Same != nil || Absent(c.Before) || Absent(c.After) || len(c.After) < longText || len(c.Before) < longText {
		return c
	}
	before, after := members(c.Before), members(c.After)
	var same []string
	for i := range after {
		m := &after[i]
		if len(m.value) < longText || !text(c.Record, *m) {
			continue
		}
		at := slices.IndexFunc(before, func(b member) bool { return b.name == m.name && bytes.Equal(b.value, m.value) })
		if at < 0 {
			continue
		}
		same = append(same, m.name)
		m.value, before[at].value = json.RawMessage("null"), json.RawMessage("null")
	}
	if same == nil {
		return c
	}
	slim := Change{Record: c.Record, Before: object(before), After: object(after), Same: same}
	if !bytes.Equal(slim.Whole(c.Before), c.After) { // not formatted as leslie writes it
		return c
	}
	return slim
}

// text reports whether a member may be left out: a string, or one of a thread's lists
// that only grow. The rules of undo need all others.
func text(record string, m member) bool {
	return m.value[0] == '"' ||
		strings.HasPrefix(record, TableThreads+"/") && slices.Contains([]string{"shared", "injections", "checkpoints"}, m.name)
}

// Whole returns the record after the change, given the record before it, which has the
// members in Same.
func (c Change) Whole(base []byte) json.RawMessage {
	if len(c.Same) == 0 || Absent(c.After) || Absent(base) {
		return c.After
	}
	was, is := members(base), members(c.After)
	for i := range is {
		at := slices.IndexFunc(was, func(b member) bool { return b.name == is[i].name })
		if at >= 0 && slices.Contains(c.Same, is[i].name) {
			is[i].value = was[at].value
		}
	}
	return object(is)
}

// object returns the JSON object with these members.
func object(all []member) json.RawMessage {
	var list []byte
	for _, m := range all {
		list = append(append(list, m.head()...), m.value...)
	}
	return enclose('{', list, '}')
}

// SlimParams returns the parameters of an operation without the long texts that its new
// records contain, and where those are: record and member by parameter.
func SlimParams(params json.RawMessage, changes []Change) (slim json.RawMessage, texts map[string]string) {
	if len(params) < longText {
		return params, nil
	}
	all := members(params)
	for i := range all {
		p := &all[i]
		if len(p.value) < longText || p.value[0] != '"' {
			continue
		}
		for _, c := range changes {
			if len(c.After) < len(p.value) || !bytes.Contains(c.After, p.value) {
				continue
			}
			for _, m := range members(c.After) {
				if bytes.Equal(m.value, p.value) {
					if texts == nil {
						texts = map[string]string{}
					}
					texts[p.name], p.value = c.Record+"/"+m.name, json.RawMessage("null")
					break
				}
			}
			if texts[p.name] != "" {
				break
			}
		}
	}
	slim = object(all)
	if texts == nil || !bytes.Equal(WholeParams(slim, texts, changes), params) {
		return params, nil
	}
	return slim, texts
}

// WholeParams undoes SlimParams.
func WholeParams(params json.RawMessage, texts map[string]string, changes []Change) json.RawMessage {
	if len(texts) == 0 {
		return params
	}
	all := members(params)
	for i, p := range all {
		at := texts[p.name]
		end := strings.LastIndexByte(at, '/')
		if end < 0 {
			continue
		}
		for _, c := range changes {
			if c.Record != at[:end] {
				continue
			}
			for _, m := range members(c.After) {
				if m.name == at[end+1:] {
					all[i].value = m.value
				}
			}
		}
	}
	return object(all)
}
