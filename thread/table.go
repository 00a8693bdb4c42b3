package thread

import (
	"bytes"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"sort"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// Line is one record as it rests: its id and its JSON, without a newline.
type Line struct {
	ID   string
	JSON []byte
}

// Change is one record before and after an operation. Before is nil for a new
// record, After for one that left the State.
type Change struct {
	Record string          `json:"record"` // TABLE/ID
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

type record[R any] interface {
	recordID() string
	revision() Revision
	withRevision(Revision) R
}

// Table is the records of one kind, in the order of their ids. The records lie
// as the bytes that were read; one is decoded when it is asked for, and one
// that nobody changes is written back as it was.
//
// A record that Get returns is a value: changing it changes nothing until it
// is Put. Its slices are shared and must be cloned before they are changed.
type Table[R record[R]] struct {
	name  string
	base  []Line // in the order of ids; never changed
	slots map[string]*slot[R]
	next  func() Revision // the revision that a change gets
	edits int             // how often a record was changed
}

// slot is a record that was decoded or changed.
type slot[R any] struct {
	value       R
	before, now []byte   // nil: not there
	was         Revision // of the record before, in the State or in the archive; 0: not there
	relied      bool     // a rule looked it up by its id
}

func newTable[R record[R]](name string, base []Line, next func() Revision) Table[R] {
	return Table[R]{name: name, base: base, slots: map[string]*slot[R]{}, next: next}
}

// fork is a table that begins as this one stands.
func (t *Table[R]) fork(next func() Revision) Table[R] {
	out := newTable[R](t.name, t.base, next)
	for id, s := range t.slots {
		own := *s
		out.slots[id] = &own
	}
	return out
}

// begunAs reports whether two tables were made of the same lines in memory.
func (t *Table[R]) begunAs(o *Table[R]) bool {
	return len(t.base) == len(o.base) && (len(t.base) == 0 || &t.base[0] == &o.base[0])
}

// Get returns the record with exactly this id. A rule that gets a record
// relies on it: see State.Stale.
func (t *Table[R]) Get(id string) (R, bool) {
	s := t.slot(id)
	if s == nil || s.now == nil {
		var none R
		return none, false
	}
	s.relied = true
	return s.value, true
}

// Peek is Get for a reader that does not rely on the record.
func (t *Table[R]) Peek(id string) (R, bool) {
	s := t.slot(id)
	if s == nil || s.now == nil {
		var none R
		return none, false
	}
	return s.value, true
}

// archived returns a record that an archived line holds. A rule that looks it up
// relies on it as on one of Get.
func (t *Table[R]) archived(line Line) R {
	r := decode[R](line.JSON)
	if t.slot(line.ID) == nil {
		t.slots[line.ID] = &slot[R]{value: r, was: r.revision(), relied: true}
	}
	return r
}

// line is a record as it rests now, without decoding it.
func (t *Table[R]) line(id []byte) (raw []byte, there bool) {
	if s, ok := t.slots[string(id)]; ok {
		return s.now, s.now != nil
	}
	i := sort.Search(len(t.base), func(i int) bool { return t.base[i].ID >= string(id) })
	if i == len(t.base) || t.base[i].ID != string(id) {
		return nil, false
	}
	return t.base[i].JSON, true
}

// Put writes a record and returns it as it now stands. One that is as it was
// stays as it was, its revision too.
func (t *Table[R]) Put(r R) R {
	id := r.recordID()
	s := t.slot(id)
	if s == nil {
		s = &slot[R]{}
		t.slots[id] = s
	}
	if s.now != nil {
		same := r.withRevision(s.value.revision())
		now := encode(same)
		// A newer leslie has its members in another order.
		if bytes.Equal(now, s.now) || holdsUnknown(reflect.ValueOf(r)) && bytes.Equal(now, encode(s.value)) {
			return s.value
		}
	}
	s.value = r.withRevision(t.next())
	s.now = encode(s.value)
	t.edits++
	return s.value
}

// Delete takes a record out of the State.
func (t *Table[R]) Delete(id string) {
	if s := t.slot(id); s != nil && s.now != nil {
		s.now = nil
		t.edits++
	}
}

// All yields the records in the order of their ids.
func (t *Table[R]) All() iter.Seq[R] {
	return func(yield func(R) bool) {
		for _, line := range t.Lines() {
			if !yield(t.slot(line.ID).value) {
				return
			}
		}
	}
}

// where returns the records whose line holds mark and that keep wants, in the
// order of their ids. Only those lines are decoded, so that looking for a few
// among many costs no more than reading past the others.
func (t *Table[R]) where(mark string, keep func(R) bool) []R {
	var out []R
	part := needle(mark)
	for _, line := range t.Lines() {
		if !bytes.Contains(line.JSON, part) {
			continue
		}
		if r := t.slot(line.ID).value; keep(r) {
			out = append(out, r)
		}
	}
	return out
}

// Len is the number of records.
func (t *Table[R]) Len() int {
	n := len(t.base)
	for _, s := range t.slots {
		switch {
		case s.before == nil && s.now != nil:
			n++
		case s.before != nil && s.now == nil:
			n--
		}
	}
	return n
}

// Lines returns the records as they rest, in the order of their ids.
func (t *Table[R]) Lines() []Line {
	var fresh []Line
	changed := false
	for id, s := range t.slots {
		if s.before == nil && s.now != nil {
			fresh = append(fresh, Line{id, s.now})
		}
		changed = changed || !bytes.Equal(s.before, s.now)
	}
	if !changed {
		return t.base
	}
	slices.SortFunc(fresh, func(a, b Line) int { return strings.Compare(a.ID, b.ID) })
	return t.merged(fresh)
}

// withPrefix returns the ids that begin with prefix, in order.
func (t *Table[R]) withPrefix(prefix string) []string {
	lines := t.Lines()
	i := sort.Search(len(lines), func(i int) bool { return lines[i].ID >= prefix })
	var ids []string
	for ; i < len(lines) && strings.HasPrefix(lines[i].ID, prefix); i++ {
		ids = append(ids, lines[i].ID)
	}
	return ids
}

func (t *Table[R]) ids() []string {
	lines := t.Lines()
	ids := make([]string, len(lines))
	for i, line := range lines {
		ids[i] = line.ID
	}
	return ids
}

func (t *Table[R]) changes() []Change {
	var out []Change
	for id, s := range t.slots {
		if !bytes.Equal(s.before, s.now) {
			out = append(out, Change{Record: t.name + "/" + id, Before: s.before, After: s.now})
		}
	}
	return out
}

func (t *Table[R]) changed() bool {
	for _, s := range t.slots {
		if !bytes.Equal(s.before, s.now) {
			return true
		}
	}
	return false
}

// changedAfter returns the relied-on or changed record with the newest
// revision after rev; of several the one whose id comes first.
func (t *Table[R]) changedAfter(rev Revision) (id string, at Revision) {
	for name, s := range t.slots {
		if s.was <= rev || !s.relied && bytes.Equal(s.before, s.now) {
			continue
		}
		if s.was > at || s.was == at && name < id {
			id, at = name, s.was
		}
	}
	return id, at
}

// apply sets a record to what a recorded change says.
func (t *Table[R]) apply(id string, after []byte) error {
	var value R
	if len(after) > 0 && !bytes.Equal(after, []byte("null")) {
		if err := Decode(after, &value); err != nil {
			return err
		}
		if value.recordID() != id {
			return codes.Internal.New(fact.Of("reason", "the record "+t.name+"/"+id+" carries another id"))
		}
	} else {
		after = nil
	}
	s := t.slot(id)
	if s == nil {
		s = &slot[R]{}
		t.slots[id] = s
	}
	s.value, s.now = value, after
	return nil
}

// slot returns the decoded record, nil when there is none.
func (t *Table[R]) slot(id string) *slot[R] {
	if s, ok := t.slots[id]; ok {
		return s
	}
	i := sort.Search(len(t.base), func(i int) bool { return t.base[i].ID >= id })
	if i == len(t.base) || t.base[i].ID != id {
		return nil
	}
	raw := t.base[i].JSON
	value := decode[R](raw)
	s := &slot[R]{value: value, before: raw, now: raw, was: value.revision()}
	t.slots[id] = s
	return s
}

// encode writes a record as one line. Records hold nothing that encoding/json
// cannot write.
func encode(v any) []byte {
	data, err := Encode(v)
	if err != nil {
		panic(codes.Internal.Wrap(err, fact.Of("reason", "a record cannot be written as JSON")))
	}
	return data
}

// decode reads a record that leslie wrote: the state's checksum has vouched for
// the bytes, so one that does not parse is a fault of leslie's own.
func decode[R any](raw []byte) R {
	var r R
	if err := Decode(raw, &r); err != nil {
		panic(unreadable(err))
	}
	return r
}

func unreadable(err error) error {
	return codes.Internal.Wrap(err, fact.Of("reason", "a record with a good checksum cannot be read"))
}
