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
	Revision *int64          `json:"revision"` // nil without a store
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

// Warning is one entry of the answer's warnings.
type Warning struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Context map[string]any `json:"context"`
}

// Read parses stdout, which must be one JSON document and nothing else.
func Read(stdout []byte) (*Document, error) {
	var doc Document
	d := json.NewDecoder(bytes.NewReader(stdout))
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("stdout is not a JSON document: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("stdout contains more than one JSON document")
	}
	return &doc, nil
}

// Code returns the error's code, or "".
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

// At returns the answer's revision, or 0.
func (d *Document) At() int64 {
	if d == nil || d.Revision == nil {
		return 0
	}
	return *d.Revision
}
