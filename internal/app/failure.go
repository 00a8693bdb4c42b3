package app

import (
	"leslie/codes"
	"leslie/internal/fact"
)

// This file has the form in which programs read a failure, on a command line or not.

// ErrorReply is a failure in an answer for programs.
type ErrorReply struct {
	Code        codes.Code `json:"code"`
	Kind        string     `json:"kind"`
	Message     string     `json:"message"`
	Hint        string     `json:"hint"`
	Recoverable bool       `json:"recoverable"`
	Retryable   bool       `json:"retryable"`
	Next        []string   `json:"next,omitempty"`
	Details     fact.List  `json:"details"`
}

// Failed adds to err what every error has: the operation, and whether it changed
// something. (A committed change is never an error but W505; only a bug in leslie can
// follow it.) An err without a code becomes T902.
func Failed(err error, operation string, changed bool) *codes.Error {
	e := codes.Of(err)
	if e == nil {
		e = codes.Unknown.Wrap(err, fact.Of("reason", err.Error()))
	}
	e = e.With(fact.Of("operation", operation))
	if _, said := e.Facts().Get("changed"); !said {
		e = e.With(fact.Of("changed", changed))
	}
	if stoppedHalfway(e) && e.Hint() == codes.Interrupted.Entry().Hint { // no use case has set a more specific hint
		e = e.WithHint("The changes recorded until then are kept; see the history").WithNext("leslie history")
	}
	return e
}

// ReplyOf returns a failure that is complete (Failed) as programs read it.
func ReplyOf(failure *codes.Error) *ErrorReply {
	entry, details := failure.Code().Entry(), failure.Facts()
	retryable := entry.Retryable && !stoppedHalfway(failure)
	if _, said := details.Get("retryAfterMs"); retryable && !said {
		details = details.With(fact.Of("retryAfterMs", entry.RetryAfterMs))
	}
	return &ErrorReply{
		Code: failure.Code(), Kind: entry.Kind, Message: failure.Error(), Hint: failure.Hint(),
		Recoverable: entry.Recoverable, Retryable: retryable, Next: failure.Next(), Details: details,
	}
}

// stoppedHalfway reports whether a call was interrupted after it had changed
// something: the same call would repeat the change or conflict with it.
func stoppedHalfway(e *codes.Error) bool {
	changed, _ := e.Facts().Get("changed")
	return e.Code() == codes.Interrupted && changed == true
}
