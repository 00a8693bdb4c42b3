//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"leslie/test/harness"
	"leslie/test/lab"
)

// This file checks everything while nobody works: what was acknowledged against the
// history, and the copies against each other.

// inspect checks everything; after is what happened before it.
func (r *run) inspect(after string) {
	before := r.report.Broken
	if !r.caughtUp() {
		return
	}
	var first contents
	for i := range r.copies {
		c, err := r.read(i)
		if err != nil {
			r.violate("%v", err)
			return
		}
		if i == 0 {
			first = c
			r.checkHistory(c)
			continue
		}
		for _, d := range harness.Differing(first.texts(), c.texts()) {
			r.violate("%s and %s: record %s", filepath.Base(r.copies[0]), filepath.Base(r.copies[i]), d)
		}
		if !first.same(c) {
			r.violate("%s and %s have other histories: %d and %d operations", filepath.Base(r.copies[0]), filepath.Base(r.copies[i]), len(first.operations), len(c.operations))
		}
	}
	r.checkFiles()
	for i := range r.copies {
		p := r.machine("writer", i)
		for _, problem := range append(lab.Leftovers(p.Path(".")), p.Healthy()) {
			if problem != "" {
				r.violate("%s: %s", filepath.Base(p.Dir), problem)
			}
		}
	}
	if r.report.Broken > before {
		r.report.Say("that was after: %s", after)
		return
	}
	r.report.Say("%s: %d operations, all as they have to be", after, len(first.operations))
}

// caughtUp has every copy catch up by one look at the project. Servers that have just been
// started again may need a moment, so a copy that was not answered asks again.
func (r *run) caughtUp() bool {
	var revision int64
	for i := range r.copies {
		var o lab.Outcome
		for begun := time.Now(); ; {
			o = r.call(i, "status")
			if o.OK() && !o.Warned("W508") || time.Since(begun) > healed {
				break
			}
		}
		if i == 0 {
			revision = o.Revision()
		}
		if !o.OK() || o.Warned("W508") || o.Revision() != revision {
			r.violate("%s is at revision %d, the first copy at %d: %s", r.copies[i], o.Revision(), revision, o.Text())
			return false
		}
	}
	return true
}

// checkHistory replays the history, and compares it with the records and with what was answered.
func (r *run) checkHistory(c contents) {
	model, requested, ids := lab.NewModel(), map[string][]lab.Operation{}, map[string]int64{}
	for _, op := range c.operations {
		for _, problem := range model.Apply(op) {
			r.violate("%s", problem)
		}
		if at := ids[op.ID]; at > 0 {
			r.violate("%s is operation %d and %d", op.ID, at, op.Seq)
		}
		if ids[op.ID] = op.Seq; op.RequestID != "" {
			requested[op.RequestID] = append(requested[op.RequestID], op)
		}
	}
	for _, problem := range model.Differing(c.records) {
		r.violate("%s", problem)
	}
	for id, q := range r.requests {
		if problem := q.wrong(requested[id]); problem != "" {
			r.violate("%s: %s:%s", q.text, problem, q.where)
		}
	}
}

// wrong compares what was answered to a request with its operations.
func (q *request) wrong(ops []lab.Operation) string {
	switch {
	case q.acknowledged && len(ops) == 0:
		return "it was acknowledged and is lost"
	case !q.acknowledged && !q.unsure && !q.failed && len(ops) > 0:
		return fmt.Sprintf("nothing was changed, and operation %d did it", ops[0].Seq)
	case q.revision > 0 && !q.many && ops[0].Seq != q.revision:
		return fmt.Sprintf("it was acknowledged as %d and is operation %d", q.revision, ops[0].Seq)
	}
	return ""
}

// checkedThreads is how many threads' files are compared.
const checkedThreads = 6

// checkFiles publishes what each copy has, and compares the files of some threads.
func (r *run) checkFiles() {
	state, err := lab.ReadState(r.path(0, lab.StateFile))
	if err != nil {
		r.violate("%v", err)
		return
	}
	ids := lab.Sorted(state.Threads)
	for range 2 { // the first may bring other machines' versions, which the second publishes
		for i := range r.copies {
			if o := r.call(i, "publish", "--as", "user", "--actor", "check"); !o.OK() {
				r.violate("leslie publish in %s: %s", r.copies[i], o.Text())
				return
			}
		}
	}
	for len(ids) > checkedThreads {
		at := int(r.setup.seed+uint64(len(r.requests))) % len(ids)
		ids = slices.Delete(ids, at, at+1)
	}
	for _, id := range ids {
		var first map[string]string
		for i := range r.copies {
			if o := r.call(i, "artifacts", id); !o.OK() {
				r.violate("leslie artifacts %s in %s: %s", id, r.copies[i], o.Text())
				return
			}
			files, err := lab.Artifacts(r.folder(i, id))
			if err != nil {
				r.violate("%v", err)
				return
			}
			if i == 0 {
				first = files
			}
			for _, d := range harness.Differing(first, files) {
				r.violate("thread %s in %s and %s: %s", id, filepath.Base(r.copies[0]), filepath.Base(r.copies[i]), d)
			}
		}
	}
}
