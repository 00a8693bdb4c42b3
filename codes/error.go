package codes

import (
	"errors"
	"slices"

	"leslie/internal/fact"
)

// Error is a failure with a code: what happened (Facts), what to do (Hint and
// Next, where the call knows better than the table) and why (the cause, which
// errors.Is and errors.As reach). It is immutable: the With methods return a
// changed copy, so an error may be shared and enriched on its way up.
type Error struct {
	code  Code
	facts fact.List
	hint  string
	next  []string
	cause error
}

// New states a failure. The facts fill the code's message template and are
// what the caller sees in details, in this order.
func (c Code) New(facts ...fact.Fact) *Error {
	return &Error{code: c, facts: fact.New(facts...)}
}

// Wrap states a failure and keeps what caused it.
func (c Code) Wrap(cause error, facts ...fact.Fact) *Error {
	return &Error{code: c, facts: fact.New(facts...), cause: cause}
}

// Code returns the code.
func (e *Error) Code() Code { return e.code }

// Facts returns what is known, in order. It is read, never written to.
func (e *Error) Facts() fact.List { return e.facts }

// Hint says what to do: the call's own advice, else the table's, filled with
// the facts.
func (e *Error) Hint() string {
	if e.hint != "" {
		return e.hint
	}
	entry := e.code.Entry()
	return entry.withID(e.facts).Fill(entry.Hint)
}

// Next returns up to three command lines that can be run as they stand: the
// call's own, else the table's first one where its facts fill it. The slice is
// the caller's.
func (e *Error) Next() []string {
	if e.next != nil {
		return slices.Clone(e.next)
	}
	return e.code.Entry().defaultNext(e.facts)
}

// Error is the message: the template filled with the facts, then the code's
// explanation. The cause is not part of it; Unwrap leads there.
func (e *Error) Error() string { return e.code.Entry().Message(e.facts) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is an Error of the same code, so that
// errors.Is(err, codes.LockFailed.New()) asks for the code alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.code == e.code
}

// With returns the error with these facts set.
func (e *Error) With(facts ...fact.Fact) *Error {
	out := *e
	out.facts = e.facts.With(facts...)
	return &out
}

// WithHint returns the error with this advice in place of the table's.
func (e *Error) WithHint(hint string) *Error {
	out := *e
	out.hint = hint
	return &out
}

// WithNext returns the error with these lines in place of the table's. Each
// line runs as it stands, is safe and makes progress; none takes a side.
func (e *Error) WithNext(lines ...string) *Error {
	out := *e
	out.next = append(make([]string, 0, len(lines)), lines...)
	return &out
}

// WithCause returns the error with this cause.
func (e *Error) WithCause(cause error) *Error {
	out := *e
	out.cause = cause
	return &out
}

// Of returns the outermost coded error of err's chain, nil when it has none.
func Of(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Has reports whether the outermost coded error of err carries c.
func Has(err error, c Code) bool {
	e := Of(err)
	return e != nil && e.code == c
}
