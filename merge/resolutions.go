package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// This file parses resolutions.json, the answers of an agent.

// Resolution is an agent's answer to one conflict.
type Resolution struct {
	ConflictID string
	Choice     string // as Decision.Take; "" if there is only a reason
	Text       string // with the choice "text"
	// HasText distinguishes an empty text from none.
	HasText bool
	Reason  string
}

// maxResolutions is the size limit of the list in bytes: a few times the longest text
// that is merged by lines.
const maxResolutions = 4 * maxBytes

// ParseResolutions parses an array of objects with conflictId, choice, text and reason,
// all strings; null counts as absent. It refuses anything ambiguous: other keys, a
// key or a conflict named twice, a missing conflictId, bytes that are not UTF-8,
// anything after the array, more than 32 MiB. The error is a sentence for the author
// of the file. Accept checks whether a conflict exists and a choice fits it.
func ParseResolutions(data []byte) ([]Resolution, error) {
	if len(data) > maxResolutions {
		return nil, fmt.Errorf("it is longer than %d MiB", maxResolutions>>20)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8")
	}
	in := json.NewDecoder(bytes.NewReader(data))
	if err := open(in, '[', "an array of objects"); err != nil {
		return nil, err
	}
	all := []Resolution{}
	seen := map[string]bool{}
	for in.More() {
		r, err := parseResolution(in)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", len(all)+1, err)
		}
		if seen[r.ConflictID] {
			return nil, fmt.Errorf("entry %d: conflict %q is named twice", len(all)+1, r.ConflictID)
		}
		seen[r.ConflictID] = true
		all = append(all, r)
	}
	if err := open(in, ']', "the end of the array"); err != nil {
		return nil, err
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, errors.New("something follows after the array")
	}
	return all, nil
}

// open reads one bracket.
func open(in *json.Decoder, want json.Delim, name string) error {
	token, err := in.Token()
	switch {
	case err == io.EOF:
		return fmt.Errorf("it ends where %s is expected", name)
	case err != nil:
		return fmt.Errorf("it is not valid JSON: %w", err)
	case token != want:
		return fmt.Errorf("%s is expected", name)
	}
	return nil
}

func parseResolution(in *json.Decoder) (Resolution, error) {
	var r Resolution
	if err := open(in, '{', "an object"); err != nil {
		return r, err
	}
	seen := map[string]bool{}
	for in.More() {
		key, value, err := parseMember(in)
		if err != nil {
			return r, err
		}
		if seen[key] {
			return r, fmt.Errorf("%q is named twice", key)
		}
		seen[key] = true
		if err := r.set(key, value); err != nil {
			return r, err
		}
	}
	if err := open(in, '}', "the end of the object"); err != nil {
		return r, err
	}
	if r.ConflictID == "" {
		return r, errors.New("conflictId is missing")
	}
	return r, nil
}

// parseMember reads a key and its value; nil means null.
func parseMember(in *json.Decoder) (key string, value *string, err error) {
	token, err := in.Token()
	if err != nil {
		return "", nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	key, _ = token.(string)
	if token, err = in.Token(); err != nil {
		return "", nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	switch v := token.(type) {
	case nil:
		return key, nil, nil
	case string:
		return key, &v, nil
	default:
		return "", nil, fmt.Errorf("%q is not a string", key)
	}
}

func (r *Resolution) set(key string, value *string) error {
	into := map[string]*string{"conflictId": &r.ConflictID, "choice": &r.Choice, "text": &r.Text, "reason": &r.Reason}[key]
	if into == nil {
		return fmt.Errorf("%q is not a key of a resolution (conflictId, choice, text, reason)", key)
	}
	if value != nil {
		*into = *value
		r.HasText = r.HasText || key == "text"
	}
	return nil
}
