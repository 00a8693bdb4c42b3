package codes

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"leslie/internal/fact"
)

// Error is an error with a code: what happened (Facts), what to do (Hint and
// Next, if the call knows better than the table) and why (the cause, which
// errors.Is and errors.As find). It is immutable: the With methods return a
// changed copy, so callers may share an error and add to it.
type Error struct {
	code  Code
	facts fact.List
	hint  string
	next  []string
	cause error

	candidates []Candidate
	meant      int // how many candidates there are, of which some may not be listed
}

// Candidate is a record that a caller may mean: its id, and what it is in a few words.
type Candidate struct{ ID, Label string }

// String is the candidate inside a sentence: "merge-a1b2c3d4 (into main)".
func (c Candidate) String() string {
	if c.Label == "" {
		return c.ID
	}
	return c.ID + " (" + c.Label + ")"
}

// New returns an error with this code. The facts fill the code's message
// template; users see them in details, in this order.
func (c Code) New(facts ...fact.Fact) *Error {
	return &Error{code: c, facts: fact.New(facts...)}
}

// Wrap is New with a cause.
func (c Code) Wrap(cause error, facts ...fact.Fact) *Error {
	return &Error{code: c, facts: fact.New(facts...), cause: cause}
}

// Code returns the code.
func (e *Error) Code() Code { return e.code }

// Facts returns the facts in order. Callers must not modify the list.
func (e *Error) Facts() fact.List { return e.facts }

// Hint says what to do: the call's own hint, otherwise the table's, filled with
// the facts.
func (e *Error) Hint() string {
	if e.hint != "" {
		return e.hint
	}
	entry := e.code.Entry()
	return entry.withID(e.facts).Fill(entry.Hint)
}

// Next returns up to three command lines that can be run unchanged: the call's
// own, otherwise the table's line if the facts fill it. The caller owns the
// slice.
func (e *Error) Next() []string {
	if e.next != nil {
		return slices.Clone(e.next)
	}
	return e.code.Entry().defaultNext(e.facts)
}

// Error returns the message: the template filled with the facts, then the code's
// explanation. The message does not include the cause.
func (e *Error) Error() string { return e.code.Entry().Message(e.facts) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is an Error with the same code, so that
// errors.Is(err, codes.LockFailed.New()) compares codes only.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.code == e.code
}

// With returns a copy of the error with these facts set.
func (e *Error) With(facts ...fact.Fact) *Error {
	out := *e
	out.facts = e.facts.With(facts...)
	return &out
}

// WithHint returns a copy of the error with this hint instead of the table's.
func (e *Error) WithHint(hint string) *Error {
	out := *e
	out.hint = hint
	return &out
}

// WithNext returns a copy of the error with these lines instead of the table's.
// Each line must run unchanged, be safe and make progress; none may take a side.
func (e *Error) WithNext(lines ...string) *Error {
	out := *e
	out.next = append(make([]string, 0, len(lines)), lines...)
	return &out
}

// WithCandidates returns a copy of the error with what the caller may mean, for a person
// to read. Programs get ids among the facts. The first are enough if there are many; count
// says how many.
func (e *Error) WithCandidates(count int, first ...Candidate) *Error {
	out := *e
	out.meant, out.candidates = count, first
	return &out
}

// Candidates returns what the caller may mean, and how many more there are.
func (e *Error) Candidates() (first []Candidate, more int) {
	return e.candidates, max(0, e.meant-len(e.candidates))
}

// WithCause returns a copy of the error with this cause.
func (e *Error) WithCause(cause error) *Error {
	out := *e
	out.cause = cause
	return &out
}

// Of returns the outermost Error in err's chain, or nil.
func Of(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Has reports whether the outermost Error in err's chain has the code c.
func Has(err error, c Code) bool {
	e := Of(err)
	return e != nil && e.code == c
}

// OfPath wraps an error of the system about a file or folder, for T505 and T509.
func (c Code) OfPath(path string, err error) *Error {
	return c.Wrap(err, fact.Of("path", path), fact.Of("reason", Reason(err)))
}

// Reason describes the cause of an error for its fact "reason": the same fact of a coded
// error, otherwise the error's text without a path, which has its own fact.
func Reason(err error) string {
	if e := Of(err); e != nil {
		if reason := e.Facts().Text("reason"); reason != "" {
			return reason
		}
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return strings.TrimSpace(err.Error())
}
