package app

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file says what is wrong with a request, before anything is read for it.
// A caller that has names of its own for a request's fields (the flags of a
// command line) asks a request for its faults; every use case asks again and
// refuses with T903, so a caller that did not ask is told too.

// The limits of what a request may hold.
const (
	maxTitle   = 200      // characters
	maxTag     = 100      // characters
	maxTags    = 100      // of one request
	MaxContent = 64 << 10 // bytes of an intent or an injection
)

// Fault is one thing that is wrong with a request.
type Fault struct {
	Field   string   `json:"field"`   // of the request
	Problem string   `json:"problem"` // a sentence, with the field as its caller calls it
	Value   string   `json:"value,omitempty"`
	Nearest string   `json:"nearest,omitempty"` // the value that was probably meant
	Allowed []string `json:"allowed,omitempty"`
	// With is another field that the fault is about, "" for none.
	With string `json:"-"`
}

// Sentence is the fault as it reads in a message.
func (f Fault) Sentence() string {
	if f.Nearest != "" {
		return f.Problem + " (did you mean " + f.Nearest + "?)"
	}
	return f.Problem
}

// Names tells what a caller calls a request's field; nil: as it is.
type Names func(field string) string

// checks gathers the faults of one request.
type checks struct {
	name   Names
	faults []Fault
}

func newChecks(name Names) *checks {
	if name == nil {
		name = func(field string) string { return field }
	}
	return &checks{name: name}
}

// add notes a fault; its sentence begins with the field's name.
func (k *checks) add(field, value, format string, args ...any) {
	k.faults = append(k.faults, Fault{Field: field, Value: value, Problem: k.name(field) + " " + fmt.Sprintf(format, args...)})
}

// with notes a fault that is about another field as well.
func (k *checks) with(other, field, value, format string, args ...any) {
	k.add(field, value, format, args...)
	k.faults[len(k.faults)-1].With = other
}

// needed is a fault of a field that must be given.
func (k *checks) needed(field, value string) {
	if strings.TrimSpace(value) == "" {
		k.add(field, "", "is missing")
	}
}

func (k *checks) title(field, title string) {
	if n := utf8.RuneCountInString(title); n > maxTitle {
		k.add(field, "", "is %d characters long; at most %d", n, maxTitle)
	}
}

func (k *checks) tags(field string, tags []string) {
	if len(tags) > maxTags {
		k.add(field, "", "is given %d times; at most %d", len(tags), maxTags)
	}
	for _, tag := range tags {
		switch {
		case strings.TrimSpace(tag) == "":
			k.add(field, tag, "is empty")
		case utf8.RuneCountInString(tag) > maxTag:
			k.add(field, tag, "takes at most %d characters", maxTag)
		}
	}
}

func (k *checks) content(field, text string) {
	k.needed(field, text)
	if len(text) > MaxContent {
		k.add(field, "", "is longer than %d KiB", MaxContent>>10)
	}
}

// ids are faults of what is no id, nor the beginning of one; "" is none.
func (k *checks) ids(field string, ids ...string) {
	for _, id := range ids {
		if id != "" && !thread.ValidID(id) {
			k.add(field, id, "must be an id (a letter or digit, then letters, digits, '-', '_'; at most %d), not %s", thread.MaxID, quoted(id))
		}
	}
}

// oneOf is a fault of a word that is none of those that the field takes.
func oneOf[T ~string](k *checks, field string, value T, words ...T) {
	if !slices.Contains(words, value) {
		k.add(field, string(value), "must be %s, not %s", orList(words), strconv.Quote(string(value)))
	}
}

// refused is T903 for a request with faults (details: fields), nil for one without.
func refused(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	sentences := make([]string, len(faults))
	for i, f := range faults {
		sentences[i] = f.Sentence()
	}
	return codes.InvalidArgument.New(fact.Of("reason", strings.Join(sentences, "; ")), fact.Of("fields", faults))
}

// orList reads as "a, b or c".
func orList[T ~string](words []T) string {
	if len(words) < 2 {
		return joined(words)
	}
	return joined(words[:len(words)-1]) + " or " + string(words[len(words)-1])
}
