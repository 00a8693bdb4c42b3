package journal

import (
	"bytes"
	"slices"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/jsonl"
	"leslie/thread"
)

// LargeOperation is from how many bytes on an operation is decoded only in part.
const LargeOperation = 16 << 10

// Operation is the one that made a revision. The state has it as JSON, and so has the
// journal, with a few members more.
type Operation struct {
	Entry
	// Held are the state's quarantined steps, which the journal's line has as well.
	Held []thread.Quarantined

	part bool   // the entry is only what is in front of the changes
	text []byte // the entry as JSON, once it was made or read
}

// Decode reads an operation as JSON. What a large one changed is not decoded, because
// nobody who reads a record needs it: see All.
func Decode(text []byte) (*Operation, bool) {
	o := &Operation{text: text}
	if at := bytes.Index(text, []byte(`,"changes":[`)); at > 0 && len(text) > LargeOperation {
		head := append(slices.Clone(text[:at]), '}')
		if o.part = thread.Decode(head, &o.Entry) == nil && o.Seq > 0; o.part {
			return o, true
		}
		o.Entry = Entry{}
	}
	if thread.Decode(text, &o.Entry) != nil {
		return nil, false
	}
	o.restore()
	return o, true
}

// All is all of the operation. Errors: T901 for one that cannot be decoded although
// the state's checksum matches.
func (o *Operation) All() (e Entry, err error) {
	if !o.part {
		return o.Entry, nil
	}
	if err := thread.Decode(o.text, &e); err != nil {
		return e, codes.Internal.Wrap(err, fact.Of("reason", "the state's operation cannot be read"))
	}
	e.restore()
	return e, nil
}

// WithChain is the operation with another hash of its line in a project's log. Errors:
// T901.
func (o *Operation) WithChain(chain string) (*Operation, error) {
	e, err := o.All()
	e.Chain = chain
	return &Operation{Entry: e, Held: o.Held}, err
}

// JSON is the operation as the state has it. It is made once: the state and the
// journal have the same, and a batch makes it long. Errors: T901.
func (o *Operation) JSON() ([]byte, error) {
	var err error
	if o.text == nil {
		o.text, err = jsonl.Marshal(o.slim())
	}
	return o.text, err
}

// Line is the operation as a line of the journal, with the steps that are not done.
// Errors: T901.
func (o *Operation) Line(undone []thread.Step) ([]byte, error) {
	text, err := o.JSON()
	if err == nil && len(undone) > 0 {
		text, err = withKey(text, "pending", undone)
	}
	if err == nil && len(o.Held) > 0 {
		text, err = withKey(text, "quarantined", o.Held)
	}
	if err != nil {
		return nil, err
	}
	return jsonl.Seal(text), nil
}

// withKey is an object with one more key, the last.
func withKey(object []byte, key string, v any) ([]byte, error) {
	value, err := jsonl.Marshal(v)
	if err != nil {
		return nil, err
	}
	return slices.Concat(object[:len(object)-1], []byte(`,"`+key+`":`), value, []byte("}")), nil
}

// Adopts reports whether the operation archived records that the state before it did not
// have: those of an import.
func (o *Operation) Adopts() bool {
	if o == nil {
		return false
	}
	if o.part && !bytes.Contains(o.text, []byte(`"archived":[`)) {
		return false
	}
	e, err := o.All()
	if err != nil || len(e.Archived) == 0 {
		return false
	}
	removed := map[string]bool{}
	for _, c := range e.Changes {
		removed[c.Record] = true
	}
	return slices.ContainsFunc(e.Archived, func(c thread.Change) bool { return !removed[c.Record] })
}
