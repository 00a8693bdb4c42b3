package app

import (
	"encoding/json"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file runs one use case for several threads as one operation, all or none. It is a
// batch (draft.go) whose lines differ only in the thread.

// SeveralResult has the results for several threads, in the order of the request.
type SeveralResult[T any] struct {
	Items []*T `json:"items"`
	Change
}

// OperandError says why one of several threads was refused.
type OperandError struct {
	Thread  string     `json:"threadId"` // as the caller named it
	Code    codes.Code `json:"code"`
	Message string     `json:"message"`
}

// Several runs a use case that writes for each thread, all in one operation or none.
// Errors: that of the first thread that is refused (details: errors has all of them), and
// those of a write.
func Several[T any](c *Call, threads []string, one func(c *Call, id string) (*T, error)) (*SeveralResult[T], error) {
	in := BatchRequest{Unnumbered: true}
	for i, id := range threads {
		in.Lines = append(in.Lines, BatchLine{Number: i + 1, Caller: c.caller, Do: func(line *Call) (any, error) { return one(line, id) }})
	}
	done, err := Batch(c, in)
	if err != nil {
		return nil, byThread(err, threads)
	}
	d := &SeveralResult[T]{Items: []*T{}, Change: done.Change}
	for _, item := range done.Items.Items {
		switch data := item.Data.(type) {
		case *T:
			d.Items = append(d.Items, data)
		case json.RawMessage: // kept for a request
			kept := new(T)
			if err := json.Unmarshal(data, kept); err != nil {
				return nil, codes.Internal.Wrap(err, fact.Of("reason", "a stored answer cannot be read"))
			}
			d.Items = append(d.Items, kept)
		}
	}
	return d, nil
}

// byThread names the threads in the errors of a batch's lines.
func byThread(err error, threads []string) error {
	e := codes.Of(err)
	if e == nil {
		return err
	}
	found, _ := e.Facts().Get("errors")
	lines, ok := found.([]LineError)
	if !ok {
		return err
	}
	var out []OperandError
	for _, l := range lines {
		out = append(out, OperandError{Thread: threads[l.Line-1], Code: l.Code, Message: l.Message})
	}
	e = e.With(fact.Of("errors", out))
	if len(out) < len(threads) { // the others could have been
		e = e.WithHint(strings.TrimSuffix(e.Hint(), ".") + "; all or none: nothing was changed for the others")
	}
	return e
}
