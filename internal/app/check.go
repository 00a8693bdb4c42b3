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

// This file validates requests before anything is read for them. A caller with its own
// names for a request's fields (such as flags) asks a request for its faults first.
// Every use case validates again and refuses with T903.

// Limits of requests.
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
	// With is another field that the fault concerns, "" for none.
	With string `json:"-"`
}

// Sentence formats the fault for a message.
func (f Fault) Sentence() string {
	if f.Nearest != "" {
		return f.Problem + " (did you mean " + f.Nearest + "?)"
	}
	return f.Problem
}

// Names returns the caller's name for a request's field; nil: the field's own name.
type Names func(field string) string

// checks collects the faults of one request.
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

// add adds a fault; its sentence starts with the field's name.
func (k *checks) add(field, value, format string, args ...any) {
	k.faults = append(k.faults, Fault{Field: field, Value: value, Problem: k.name(field) + " " + fmt.Sprintf(format, args...)})
}

// with adds a fault that concerns another field as well.
func (k *checks) with(other, field, value, format string, args ...any) {
	k.add(field, value, format, args...)
	k.faults[len(k.faults)-1].With = other
}

// needed adds a fault if a required field is missing.
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

// ids adds faults for texts that are neither ids nor id prefixes; "" is ignored.
func (k *checks) ids(field string, ids ...string) {
	for _, id := range ids {
		if id != "" && !thread.ValidID(id) {
			k.add(field, id, "must be an id (a letter or digit, then letters, digits, '-', '_'; at most %d), not %s", thread.MaxID, quoted(id))
		}
	}
}

// oneOf adds a fault if value is not one of the words of the field.
func oneOf[T ~string](k *checks, field string, value T, words ...T) {
	if !slices.Contains(words, value) {
		k.add(field, string(value), "must be %s, not %s", orList(words), strconv.Quote(string(value)))
	}
}

// refused returns T903 for faults (details: fields), nil for none.
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

// orList formats words as "a, b or c".
func orList[T ~string](words []T) string {
	if len(words) < 2 {
		return joined(words)
	}
	return joined(words[:len(words)-1]) + " or " + string(words[len(words)-1])
}
