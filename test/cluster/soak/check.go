//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leslie/test/harness"
)

// This file checks everything while nobody works: what was acknowledged against the
// history, and the copies against each other.

// inspect checks everything; after is what happened before it.
func (r *run) inspect(after string) {
	before := len(r.report.violations)
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
			r.checkHistory(c.operations)
			continue
		}
		for _, d := range harness.Differing(first.records, c.records) {
			r.violate("%s and %s: record %s", filepath.Base(r.copies[0]), filepath.Base(r.copies[i]), d)
		}
		same := slices.EqualFunc(first.operations, c.operations, func(a, b operation) bool {
			return a.Seq == b.Seq && a.ID == b.ID && a.RequestID == b.RequestID && a.Command == b.Command && a.Time.Equal(b.Time)
		})
		if !same {
			r.violate("%s and %s have other histories: %d and %d operations", filepath.Base(r.copies[0]), filepath.Base(r.copies[i]), len(first.operations), len(c.operations))
		}
	}
	r.checkFiles()
	for i := range r.copies {
		o := r.call(i, []string{"doctor"}, "", nil)
		var d struct{ Healthy bool }
		if o.Into(&d); !o.OK() || !d.Healthy {
			r.violate("%s is not healthy: %s", r.copies[i], o.Text())
		}
	}
	if len(r.report.violations) > before {
		r.report.say("that was after: %s", after)
		return
	}
	r.report.say("%s: %d operations, all as they have to be", after, len(first.operations))
}

// caughtUp has every copy catch up by one look at the project. Servers that have just been
// started again may need a moment, so a copy that was not answered asks again.
func (r *run) caughtUp() bool {
	var revision int64
	for i := range r.copies {
		var o harness.Outcome
		for begun := time.Now(); ; {
			o = r.call(i, []string{"status"}, "", nil)
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

// checkHistory compares the history with what was answered.
func (r *run) checkHistory(all []operation) {
	requested, ids, held := map[string][]operation{}, map[string]int64{}, map[string]claim{}
	for i, op := range all {
		if op.Seq != int64(i+1) {
			r.violate("operation %d is at place %d", op.Seq, i+1)
			return
		}
		if at := ids[op.ID]; at > 0 {
			r.violate("%s is operation %d and %d", op.ID, at, op.Seq)
		}
		if ids[op.ID] = op.Seq; op.RequestID != "" {
			requested[op.RequestID] = append(requested[op.RequestID], op)
		}
		if problem := follow(held, op); problem != "" {
			r.violate("operation %d, %s: %s", op.Seq, op.Command, problem)
		}
	}
	for id, q := range r.requests {
		if problem := q.wrong(requested[id]); problem != "" {
			r.violate("%s: %s:%s", q.text, problem, q.where)
		}
	}
	for id, ops := range requested {
		if len(ops) > 1 {
			r.violate("request %s was carried out %d times", id, len(ops))
		}
	}
}

// wrong compares what was answered to a request with its operations.
func (q *request) wrong(ops []operation) string {
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

// claim is the claim on a thread.
type claim struct {
	Holder string    `json:"holder"`
	Until  time.Time `json:"until"`
}

// follow tracks claims, and returns a problem if an operation claims a thread that another
// actor holds.
func follow(held map[string]claim, op operation) string {
	for _, c := range op.Changes {
		id, is := strings.CutPrefix(c.Record, "threads/")
		if !is || slices.Contains(c.Same, "claim") {
			continue
		}
		var t struct {
			Claim *claim `json:"claim"`
		}
		_ = json.Unmarshal(c.After, &t)
		was, there := held[id]
		if t.Claim == nil {
			delete(held, id)
			continue
		}
		held[id] = *t.Claim
		if there && was.Holder != t.Claim.Holder && op.Time.Before(was.Until) && op.Command != "undo" {
			return fmt.Sprintf("%s claims %s, which %s holds until %s", t.Claim.Holder, id, was.Holder, was.Until.Format(time.RFC3339Nano))
		}
	}
	return ""
}

// checkedThreads is how many threads' files are compared.
const checkedThreads = 6

// checkFiles publishes what each copy has, and compares the files of some threads.
func (r *run) checkFiles() {
	r.seen = time.Time{}
	ids := slices.Clone(r.threads())
	slices.Sort(ids)
	for range 2 { // the first may bring other machines' versions, which the second publishes
		for i := range r.copies {
			if o := r.call(i, []string{"publish", "--as", "user", "--actor", "check"}, "", nil); !o.OK() {
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
			if o := r.call(i, []string{"artifacts", id}, "", nil); !o.OK() {
				r.violate("leslie artifacts %s in %s: %s", id, r.copies[i], o.Text())
				return
			}
			files, err := filesIn(r.folder(i, id))
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

// filesIn reads a thread's folder, without what is leslie's own.
func filesIn(folder string) (map[string]string, error) {
	files := map[string]string{}
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(name, ".") && name != ".", name == "inherited", name == "context":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		data, err := fs.ReadFile(root, name)
		files[name] = string(data)
		return err
	})
	return files, err
}
