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
	MaxTitle   = 200      // characters
	MaxTag     = 100      // characters
	MaxTags    = 100      // of one request
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

// Checks collects the faults of one request.
type Checks struct {
	Name   Names
	Faults []Fault
}

// NewChecks begins to check a request whose fields have these names for the caller.
func NewChecks(name Names) *Checks {
	if name == nil {
		name = func(field string) string { return field }
	}
	return &Checks{Name: name}
}

// Add adds a fault; its sentence starts with the field's name.
func (k *Checks) Add(field, value, format string, args ...any) {
	k.Faults = append(k.Faults, Fault{Field: field, Value: value, Problem: k.Name(field) + " " + fmt.Sprintf(format, args...)})
}

// With adds a fault that concerns another field as well.
func (k *Checks) With(other, field, value, format string, args ...any) {
	k.Add(field, value, format, args...)
	k.Faults[len(k.Faults)-1].With = other
}

// Needed adds a fault if a required field is missing.
func (k *Checks) Needed(field, value string) {
	if strings.TrimSpace(value) == "" {
		k.Add(field, "", "is missing")
	}
}

// Title checks a title.
func (k *Checks) Title(field, title string) {
	if n := utf8.RuneCountInString(title); n > MaxTitle {
		k.Add(field, "", "is %d characters long; at most %d", n, MaxTitle)
	}
}

// Tags checks tags.
func (k *Checks) Tags(field string, tags []string) {
	if len(tags) > MaxTags {
		k.Add(field, "", "is given %d times; at most %d", len(tags), MaxTags)
	}
	for _, tag := range tags {
		switch {
		case strings.TrimSpace(tag) == "":
			k.Add(field, tag, "is empty")
		case utf8.RuneCountInString(tag) > MaxTag:
			k.Add(field, tag, "takes at most %d characters", MaxTag)
		}
	}
}

// Content checks the text of a message or comment.
func (k *Checks) Content(field, text string) {
	k.Needed(field, text)
	if len(text) > MaxContent {
		k.Add(field, "", "is longer than %d KiB", MaxContent>>10)
	}
}

// Ids adds faults for texts that are neither ids, id prefixes nor names of branches; "" is ignored.
func (k *Checks) Ids(field string, ids ...string) {
	for _, id := range ids {
		if id != "" && !thread.NamesThread(id) {
			k.noID(field, id)
		}
	}
}

// NewID adds a fault for a text that cannot be the id of something new; "" is ignored.
func (k *Checks) NewID(field, id string) {
	if id != "" && !thread.ValidID(id) {
		k.noID(field, id)
	}
}

func (k *Checks) noID(field, id string) {
	k.Add(field, id, "must be an id (%s), not %s", thread.IDForm, Quoted(id))
}

// OneOf adds a fault if value is not one of the words of the field.
func OneOf[T ~string](k *Checks, field string, value T, words ...T) {
	if !slices.Contains(words, value) {
		k.Add(field, string(value), "must be %s, not %s", OrList(words), strconv.Quote(string(value)))
	}
}

// FaultsError returns T903 for faults (details: fields), nil for none.
func FaultsError(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	sentences := make([]string, len(faults))
	for i, f := range faults {
		sentences[i] = f.Sentence()
	}
	return codes.InvalidArgument.New(fact.Of("reason", strings.Join(sentences, "; ")), fact.Of("fields", faults))
}

// OrList reads as "a, b or c".
func OrList[T ~string](words []T) string {
	if len(words) < 2 {
		return Joined(words)
	}
	return Joined(words[:len(words)-1]) + " or " + string(words[len(words)-1])
}
