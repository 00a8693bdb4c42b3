package thread

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file reverts one recorded change of one record. If a field that the operation
// changed still has the value that the operation gave it, it gets back its old
// value. All other fields stay as they are, whoever changed them since.
//
// A few fields are not single values: a counter is decreased, a claim may have
// expired, checkpoints are removed one by one, and injections are never reverted.

// fields has a record's fields by name, in their canonical encoding.
type fields map[string]json.RawMessage

// fieldsOf returns the fields of a record in the journal, nil for no record.
func fieldsOf[R any](raw json.RawMessage) fields {
	if Absent(raw) {
		return nil
	}
	return split(encode(decode[R](raw)))
}

// Absent reports whether a value of a change says that there is no record.
func Absent(raw []byte) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }

func split(record []byte) fields { return decode[fields](record) }

// bookkeeping reports whether a field follows from other changes: an undo leaves it alone.
func bookkeeping(name string) bool {
	return name == "revision" || name == "updatedAt" || name == "published"
}

// differing returns the sorted names of the fields in which two records differ.
func differing(a, b fields) []string {
	names := map[string]bool{}
	for _, one := range []fields{a, b} {
		for name := range one {
			if !bookkeeping(name) && !bytes.Equal(a[name], b[name]) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// takeBack inverts one change.
func takeBack[R record[R]](v *inverting, t *Table[R], c Change, id string) error {
	before, after := fieldsOf[R](c.Before), fieldsOf[R](c.After)
	var now fields
	if r, there := t.Get(id); there {
		now = split(encode(r))
	}
	switch {
	case before == nil && after == nil:
		return nil
	case after == nil:
		return bringBack(v, t, c, now)
	case now == nil:
		return &revertedValue{v.conflict(named(c.Record) + " is gone: it was undone or archived since").With(fact.Of("record", c.Record))}
	case before == nil:
		if err := v.asMade(c.Record, after, now); err != nil {
			return err
		}
		t.Delete(id)
		return nil
	}
	back, err := v.fields(c.Record, before, after, now)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(back)
	if err != nil {
		return codes.Internal.Wrap(err)
	}
	t.Put(decode[R](raw))
	return nil
}

// bringBack restores a record that the operation removed.
func bringBack[R record[R]](v *inverting, t *Table[R], c Change, now fields) error {
	switch {
	case now == nil:
		t.Put(decode[R](c.Before))
		return nil
	case len(differing(fieldsOf[R](c.Before), now)) == 0:
		return v.alreadyUndone()
	}
	return v.conflict(named(c.Record) + " exists again with other values").With(fact.Of("record", c.Record))
}

// asMade returns T110 for a record that has changed since the operation created it.
// An expired claim does not count.
func (v *inverting) asMade(record string, made, now fields) error {
	if code := listOf[Code](now["code"]); len(code) > 0 && !v.failed {
		return v.codeConflict()
	}
	for _, name := range differing(made, now) {
		if name == "claim" && v.held(now[name]) == nil {
			continue
		}
		return v.changedSince(record, name, now)
	}
	return nil
}

// fields returns a record with the changes of the operation reverted.
func (v *inverting) fields(record string, before, after, now fields) (fields, error) {
	changed := differing(before, after)
	if v.holdsAlready(changed, before, after, now) {
		return nil, v.alreadyUndone()
	}
	back := maps.Clone(now)
	for _, name := range changed {
		value, err := v.field(record, name, before, after, now)
		if err != nil {
			return nil, err
		}
		if value == nil {
			delete(back, name)
		} else {
			back[name] = value
		}
	}
	return back, nil
}

// holdsAlready reports whether every changed field has its old value, and none the
// value that the operation gave it.
func (v *inverting) holdsAlready(changed []string, before, after, now fields) bool {
	for _, name := range changed {
		if !bytes.Equal(now[name], before[name]) || v.special(name) != nil {
			return false
		}
	}
	return len(changed) > 0 && !slices.ContainsFunc(changed, func(name string) bool { return bytes.Equal(now[name], after[name]) })
}

// threeWay returns the value that a field gets back; ok is false if the field was
// changed since.
type threeWay func(before, after, now json.RawMessage) (back json.RawMessage, ok bool, err error)

// special returns how to revert a field that is not a single value, nil for others.
func (v *inverting) special(name string) threeWay {
	switch name {
	case "archived":
		return countedBack
	case "claim":
		return v.claimBack
	case "checkpoints":
		return v.checkpointsBack
	case "code":
		return v.codeBack
	case "injections":
		return v.injectionsBack
	case "run":
		return runBack
	case "undone":
		return undoneBack
	case "reverted":
		return v.rangesBack
	}
	return nil
}

func (v *inverting) field(record, name string, before, after, now fields) (json.RawMessage, error) {
	back, ok := before[name], bytes.Equal(now[name], after[name])
	if special := v.special(name); special != nil {
		var err error
		if back, ok, err = special(before[name], after[name], now[name]); err != nil {
			return nil, err
		}
	}
	switch {
	case ok:
		return back, nil
	case name == "shared" && v.mergedSince(now[name]):
		return nil, v.conflict("a later merge depends on it").With(fact.Of("record", record), fact.Of("field", name))
	case bytes.Equal(now[name], before[name]):
		return nil, v.alreadyUndone()
	}
	return nil, v.changedSince(record, name, now)
}

func (v *inverting) mergedSince(shared json.RawMessage) bool {
	return slices.ContainsFunc(listOf[Share](shared), func(s Share) bool { return s.At > v.op.Seq })
}

// undoneBack leaves the decisions of an undone merge as they are if they have changed
// since: a later try took them.
func undoneBack(before, after, now json.RawMessage) (json.RawMessage, bool, error) {
	if bytes.Equal(now, after) {
		return before, true, nil
	}
	return now, true, nil
}

// rangesBack removes the ranges that an undo added, because a redo returns the thread's
// files to those from before the undo. Otherwise it leaves the ranges as they are: see
// withReverted. A range that was joined with another stays, too.
func (v *inverting) rangesBack(before, after, now json.RawMessage) (json.RawMessage, bool, error) {
	if !v.op.Steps() {
		return now, true, nil
	}
	was, is := listOf[RevertedRange](before), listOf[RevertedRange](after)
	with := func(all []RevertedRange, r RevertedRange) bool {
		return slices.ContainsFunc(all, func(o RevertedRange) bool { return o.After == r.After && o.Until == r.Until })
	}
	back := slices.DeleteFunc(listOf[RevertedRange](now), func(r RevertedRange) bool { return with(is, r) && !with(was, r) })
	for _, r := range was {
		if !with(is, r) && !with(back, r) {
			back = append(back, r)
		}
	}
	if len(back) == 0 {
		return nil, true, nil
	}
	slices.SortStableFunc(back, func(a, b RevertedRange) int { return cmp.Compare(a.Until, b.Until) })
	return encode(back), true, nil
}

// changedSince returns T110 for a field of a record. A caller with the journal can
// search back from the record's revision for the operation that changed it.
func (v *inverting) changedSince(record, field string, now fields) error {
	var at Revision
	_ = json.Unmarshal(now["revision"], &at)
	return v.conflict(field+" of "+named(record)+" was changed since").
		With(fact.Of("record", record), fact.Of("field", field), fact.Of("revision", at))
}

// named returns a record's name for a sentence: "thread 'main'".
func named(record string) string {
	table, id, _ := strings.Cut(record, "/")
	return strings.TrimSuffix(table, "s") + " '" + id + "'"
}

// countedBack subtracts what the operation added to a counter.
func countedBack(before, after, now json.RawMessage) (json.RawMessage, bool, error) {
	n := valueOf[int](now) - valueOf[int](after) + valueOf[int](before)
	return encode(n), n >= 0, nil
}

// valueOf decodes a field that may be absent.
func valueOf[T any](raw json.RawMessage) (value T) {
	if !Absent(raw) {
		value = decode[T](raw)
	}
	return value
}

func listOf[T any](raw json.RawMessage) []T { return valueOf[[]T](raw) }

// held returns a valid claim, nil for none.
func (v *inverting) held(raw json.RawMessage) *Claim {
	return heldOf(valueOf[*Claim](raw), v.stamp.Time)
}

func heldOf(c *Claim, now time.Time) *Claim { return Thread{Claim: c}.Held(now) }

// claimBack reverts a claim. A claim that was only extended stays, because each
// write of its holder extends it. A claim that expired since prevents nothing.
func (v *inverting) claimBack(before, after, now json.RawMessage) (json.RawMessage, bool, error) {
	was, is, stands := valueOf[*Claim](before), valueOf[*Claim](after), valueOf[*Claim](now)
	switch {
	case sameHolder(was, is):
		return now, true, nil
	case is == nil:
		return before, heldOf(stands, v.stamp.Time) == nil, nil
	}
	return before, sameHolder(is, stands), nil
}

func sameHolder(a, b *Claim) bool {
	return a != nil && b != nil && a.Holder == b.Holder
}

// checkpointsBack removes the checkpoints that the operation created, and restores
// those that were dropped to make room for them.
func (v *inverting) checkpointsBack(before, after, now json.RawMessage) (json.RawMessage, bool, error) {
	was, is, back := listOf[Checkpoint](before), listOf[Checkpoint](after), listOf[Checkpoint](now)
	with := func(all []Checkpoint, c Checkpoint) bool {
		return slices.ContainsFunc(all, func(o Checkpoint) bool { return o.ID == c.ID || c.Name != "" && o.Name == c.Name })
	}
	for _, c := range is {
		switch {
		case with(was, c):
		case !with(back, c):
			return nil, false, v.conflict("its checkpoint '" + string(c.ID) + "' is gone: it was undone, or dropped for newer ones")
		default:
			back = slices.DeleteFunc(back, func(o Checkpoint) bool { return o.ID == c.ID })
		}
	}
	for _, c := range was {
		switch {
		case with(is, c):
		case with(back, c):
			return nil, false, v.conflict("another checkpoint has the id or the name of '" + string(c.ID) + "'")
		default:
			back = append(back, c)
		}
	}
	if len(back) == 0 {
		return nil, true, nil
	}
	slices.SortStableFunc(back, func(a, b Checkpoint) int { return byTime(a.Created.At, b.Created.At) })
	return encode(back), true, nil
}

// runBack keeps what is recorded of a run: what an agent did is not undone with it.
func runBack(_, _, now json.RawMessage) (json.RawMessage, bool, error) { return now, true, nil }

// injectionsBack refuses to remove an injection, and keeps the mark that it was seen.
func (v *inverting) injectionsBack(before, after, now json.RawMessage) (json.RawMessage, bool, error) {
	was := listOf[Injection](before)
	for _, i := range listOf[Injection](after) {
		if !slices.ContainsFunc(was, func(o Injection) bool { return o.ID == i.ID }) {
			return nil, false, v.conflict("the injection was delivered").
				WithHint("Inject a correction with leslie inject, or withdraw it with --withdraw while it is unseen")
		}
	}
	return now, true, nil
}
