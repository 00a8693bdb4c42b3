package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Document is the envelope of every answer.
type Document struct {
	Success  bool            `json:"success"`
	Revision *int64          `json:"revision"` // nil where there is no store to have one
	Data     json.RawMessage `json:"data"`
	Error    *Error          `json:"error"`
	Warnings []Warning       `json:"warnings"`
}

// Error is why a call failed.
type Error struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Hint    string         `json:"hint"`
	Next    []string       `json:"next"`
	Details map[string]any `json:"details"`
}

// Warning is what a call has to say although it succeeded, or failed with
// something else.
type Warning struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Context map[string]any `json:"context"`
}

// Read reads stdout, which has to be one JSON document and nothing else.
func Read(stdout []byte) (*Document, error) {
	var doc Document
	d := json.NewDecoder(bytes.NewReader(stdout))
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("stdout is no JSON document: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("stdout holds more than one JSON document")
	}
	return &doc, nil
}

// Code is that of the error; "" where there is none, or no document.
func (d *Document) Code() string {
	if d == nil || d.Error == nil {
		return ""
	}
	return d.Error.Code
}

// Warned reports whether the answer has a warning with this code.
func (d *Document) Warned(code string) bool {
	return d != nil && slices.ContainsFunc(d.Warnings, func(w Warning) bool { return w.Code == code })
}

// At is the revision that the answer speaks of; 0 where there is none.
func (d *Document) At() int64 {
	if d == nil || d.Revision == nil {
		return 0
	}
	return *d.Revision
}
