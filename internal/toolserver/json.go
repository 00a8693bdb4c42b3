package toolserver

import (
	"slices"

	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/warnings"
)

// rawJSON is JSON that is written as it is.
type rawJSON []byte

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// with returns an object with the fields of another behind its own.
func (r rawJSON) with(more rawJSON) rawJSON {
	if len(r) == len("{}") {
		return more
	}
	return slices.Concat(r[:len(r)-1], []byte(","), more[1:])
}

// refused is the answer of a call that failed; Data is what it found all the same.
type refused struct {
	Error *app.ErrorReply `json:"error"`
	Data  rawJSON         `json:"data,omitempty"`
}

// beside is what stands beside the fields of an answer.
type beside struct {
	Warnings warnings.List `json:"warnings"`
}

// encoded is a value of this file as JSON.
func encoded(v any) rawJSON {
	raw, err := fact.JSON(v)
	if err != nil { // they have nothing that cannot be encoded
		panic(err)
	}
	return raw
}
