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

// Line is one stored record: its id and its JSON, without a newline.
type Line struct {
	ID   string
	JSON []byte
}

// Change is one record before and after an operation. Before is nil for a new
// record, After for a record that left the State.
type Change struct {
	Record string          `json:"record"` // TABLE/ID
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
	// Same names the members that the change leaves as they are and does not repeat:
	// they are null in Before and After. See Whole.
	Same []string `json:"same,omitempty"`
}

type record[R any] interface {
	recordID() string
	label() string
	revision() Revision
	withRevision(Revision) R
}

// Table has the records of one kind, ordered by id. It keeps records as the bytes
// that were read, decodes a record only on access, and writes unchanged records
// back byte for byte.
//
// A record that Get returns is a value: changing it has no effect before Put. Its
// slices are shared, so clone them before you change them.
type Table[R record[R]] struct {
	name  string
	base  []Line // ordered by id; never changed
	slots map[string]*slot[R]
	next  func() Revision // the revision of a changed record
	edits int             // number of changes
	// sees, if not nil, is a recorded value as this machine sees it, records what is recorded of
	// one that it has changed, where was is recorded now: see State.On.
	sees    func(R) R
	records func(was []byte, r R) R
}

// slot is a record that was decoded or changed.
type slot[R any] struct {
	value       R
	before, now []byte   // nil: does not exist
	was         Revision // of the record before, in the State or in the archive; 0: did not exist
	relied      bool     // a rule looked it up by its id
}

func newTable[R record[R]](name string, base []Line, next func() Revision) Table[R] {
	return Table[R]{name: name, base: base, slots: map[string]*slot[R]{}, next: next}
}

// fork returns a copy of the table that can be changed independently.
func (t *Table[R]) fork(next func() Revision) Table[R] {
	out := newTable[R](t.name, t.base, next)
	for id, s := range t.slots {
		own := *s
		out.slots[id] = &own
	}
	return out
}

// begunAs reports whether two tables were created from the same lines.
func (t *Table[R]) begunAs(o *Table[R]) bool {
	if len(t.base) > 0 && len(t.base) == len(o.base) && &t.base[0] == &o.base[0] {
		return true
	}
	return slices.EqualFunc(t.base, o.base, func(a, b Line) bool { return a.ID == b.ID && bytes.Equal(a.JSON, b.JSON) })
}

// Get returns the record with exactly this id. A rule that calls Get relies on the
// record: see State.Stale.
func (t *Table[R]) Get(id string) (R, bool) {
	s := t.slot(id)
	if s == nil || s.now == nil {
		var none R
		return none, false
	}
	s.relied = true
	return s.value, true
}

// Peek is like Get, but the rule does not rely on the record.
func (t *Table[R]) Peek(id string) (R, bool) {
	s := t.slot(id)
	if s == nil || s.now == nil {
		var none R
		return none, false
	}
	return s.value, true
}

// archived returns the record of an archived line. Like Get, it counts as relying on
// the record.
func (t *Table[R]) archived(line Line) R {
	r := t.decoded(line.JSON)
	if t.slot(line.ID) == nil {
		t.slots[line.ID] = &slot[R]{value: r, was: r.revision(), relied: true}
	}
	return r
}

// line returns a current record without decoding it.
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

// Put stores a record and returns it with its revision. Storing an unchanged record
// has no effect, and its revision stays the same.
func (t *Table[R]) Put(r R) R {
	id := r.recordID()
	s := t.slot(id)
	if s == nil {
		s = &slot[R]{}
		t.slots[id] = s
	}
	if s.now != nil {
		now := t.encoded(s, r.withRevision(s.value.revision()))
		// A newer leslie has its members in another order.
		if bytes.Equal(now, s.now) || holdsUnknown(reflect.ValueOf(r)) && bytes.Equal(now, t.encoded(s, s.value)) {
			return s.value
		}
	}
	s.value = r.withRevision(t.next())
	s.now = t.encoded(s, s.value)
	t.edits++
	return s.value
}

// Note stores a record that exists, with the revision that it has: a change of which
// nobody needs to learn before their own, see State.Stale.
func (t *Table[R]) Note(r R) R {
	s := t.slot(r.recordID())
	if now := t.encoded(s, r.withRevision(s.value.revision())); !bytes.Equal(now, s.now) {
		s.value, s.now = r.withRevision(s.value.revision()), now
		t.edits++
	}
	return s.value
}

// Delete removes a record from the State.
func (t *Table[R]) Delete(id string) {
	if s := t.slot(id); s != nil && s.now != nil {
		s.now = nil
		t.edits++
	}
}

// All yields the records ordered by id.
func (t *Table[R]) All() iter.Seq[R] {
	return func(yield func(R) bool) {
		for _, line := range t.Lines() {
			if !yield(t.slot(line.ID).value) {
				return
			}
		}
	}
}

// where returns the records whose line contains mark and for which keep returns
// true, ordered by id. It decodes only lines that contain mark, so finding a few
// among many records is cheap.
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

// Len returns the number of records.
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

// Lines returns the current records as lines ordered by id.
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

// alike returns the id of a record that differs from id in upper and lower case at most, "" for none. It looks at all
// ids, and makes no list of them: a batch asks for each of its lines.
func (t *Table[R]) alike(id string) string {
	is := func(other string) bool { return len(other) == len(id) && strings.EqualFold(other, id) }
	for other, s := range t.slots {
		if s.now != nil && is(other) {
			return other
		}
	}
	for _, line := range t.base {
		if !is(line.ID) {
			continue
		}
		if s, changed := t.slots[line.ID]; !changed || s.now != nil {
			return line.ID
		}
	}
	return ""
}

// withPrefix returns the ids that start with prefix, sorted.
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

// changedAfter returns the record that was relied on or changed and has the newest
// revision after rev; of several, the one with the smallest id.
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

// apply sets a record to the result of a recorded change.
func (t *Table[R]) apply(id string, c Change) error {
	var value R
	base, _ := t.line([]byte(id))
	after := c.Whole(base)
	if !Absent(after) {
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
	if t.sees != nil {
		s.value = t.sees(value)
	}
	return nil
}

// decoded is a recorded value as this machine sees it.
func (t *Table[R]) decoded(raw []byte) R {
	r := decode[R](raw)
	if t.sees != nil {
		return t.sees(r)
	}
	return r
}

// encoded is what is recorded of a value that this machine has changed.
func (t *Table[R]) encoded(s *slot[R], r R) []byte {
	if t.records != nil && s.now != nil {
		r = t.records(s.now, r)
	}
	return encode(r)
}

// slot returns the decoded record, or nil if there is none.
func (t *Table[R]) slot(id string) *slot[R] {
	if s, ok := t.slots[id]; ok {
		return s
	}
	i := sort.Search(len(t.base), func(i int) bool { return t.base[i].ID >= id })
	if i == len(t.base) || t.base[i].ID != id {
		return nil
	}
	raw := t.base[i].JSON
	value := t.decoded(raw)
	s := &slot[R]{value: value, before: raw, now: raw, was: value.revision()}
	t.slots[id] = s
	return s
}

// encode returns a record as one line. Records contain nothing that encoding/json
// cannot encode.
func encode(v any) []byte {
	data, err := Encode(v)
	if err != nil {
		panic(codes.Internal.Wrap(err, fact.Of("reason", "a record cannot be written as JSON")))
	}
	return data
}

// decode decodes a record that leslie wrote. The checksum of the file has been
// verified, so a record that does not parse is a bug in leslie.
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
