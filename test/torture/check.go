//go:build linux

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/test/harness"
)

// This file checks a store after a disturbance.

// side is which of its two states a store is in.
type side string

const (
	sideBefore side = "before"
	sideAfter  side = "after"
)

// statement is what a disturbed call reported of itself.
type statement int

const (
	saidNothing statement = iota // it died first
	saidDone
	saidFailed     // and changed nothing
	saidPart       // it failed, and said that a part of it stands
	saidUnrecorded // it is done but for what it writes beside its answer
)

// postcondition is a store that a disturbed run left, and what is known of the run.
type postcondition struct {
	*project
	said statement
	// settled: everything has to be in its place at once, not only after the
	// next write.
	settled bool
	// release ends a disturbance that lasts; nil when there is none.
	release func() error
	// blind: while the disturbance lasts readers need not see anything.
	blind bool
	// mayRemain picks files that may be left beside the others; nil picks none.
	mayRemain func(name string) bool
}

// sameBut reports whether a tree is another one, but for what may lie about and
// is read by nobody.
func sameBut(want, got map[string]string) bool {
	for name, is := range got {
		was, there := want[name]
		if there && was != is || !there && !unreferenced(name) && !transient(name) {
			return false
		}
	}
	for name := range want {
		if _, there := got[name]; !there {
			return false
		}
	}
	return true
}

// readAnswer is what a call that ended said. Only done, or failed with a code of the
// storage and nothing changed, is an honest answer.
func (r *ready) readAnswer(p *project, o outcome) (a postcondition, problem string) {
	a = postcondition{project: p}
	switch {
	case o.Err != nil:
		return a, o.Err.Error()
	case o.Doc == nil:
		return a, "stdout is not one JSON document: " + o.Text()
	case r.done(o) && r.unrecorded && !r.stands(o):
		a.said = saidUnrecorded
		return a, ""
	case r.done(o):
		a.said, a.settled = saidDone, !o.Warned("W505") && !o.Warned("W507") && !p.quarantines()
		return a, ""
	case o.Doc.Error == nil || o.Status != 15 || !strings.HasPrefix(o.Code(), "T5"):
		return a, fmt.Sprintf("it ended with %d: %s", o.Status, o.Text())
	case o.Doc.Error.Details["changed"] == false:
		a.said = saidFailed
	case r.keeps:
		a.said = saidPart
	default:
		return a, "it failed and changed something: " + o.Text()
	}
	return a, ""
}

// quarantines reports whether the state keeps steps that could not be carried out:
// the next write does them.
func (p *project) quarantines() bool {
	state, _ := os.ReadFile(filepath.Join(p.dir, storeDir, statePath))
	return bytes.Contains(state, []byte(`"quarantined":[{`))
}

// stands reports whether an answer says that what was written beside it stands.
func (r *ready) stands(o outcome) bool {
	return o.Doc.At() == r.ref.revision && !slices.ContainsFunc(r.ref.warnings, func(w harness.Warning) bool { return !o.Warned(w.Code) })
}

// check looks at what a disturbed run left.
func (r *ready) check(a postcondition) (where side, problem string) {
	if a.blind {
		if err := a.release(); err != nil {
			return "", err.Error()
		}
	}
	where, problem = r.seen(a.project)
	if problem != "" {
		return where, problem
	}
	switch {
	case a.said == saidDone && where != sideAfter && !r.idle:
		return where, "it was acknowledged and is not there"
	case a.said == saidFailed && where != sideBefore:
		return where, "it failed and stands"
	case a.said == saidUnrecorded && where != sideBefore:
		return where, "what it wrote beside its answer stands, and it does not say so"
	}
	if problem := r.inPlace(a.project, where, a.settled); problem != "" {
		return where, problem
	}
	if a.release != nil && !a.blind {
		if err := a.release(); err != nil {
			return where, err.Error()
		}
	}
	return where, r.nextWrite(a, where)
}

// checkOnce looks at what a disturbed run left, as check does. Where each file is
// just what the reference knows, what readers and the next write make of it was
// measured, and is not asked again.
func (r *ready) checkOnce(a postcondition) (where side, problem string) {
	raw, err := a.rawFiles()
	switch {
	case err != nil || a.blind:
	case a.said == saidFailed && sameBut(r.raw, raw):
		return sideBefore, ""
	case a.said == saidDone && a.settled && maps.Equal(a.normalized(raw, r.known), r.ref.after.files):
		return sideAfter, healthy(a.project) // who reads every sum
	}
	return r.check(a)
}

// seen says which state the readers see.
func (r *ready) seen(p *project) (side, string) {
	docs, problem := p.view(r.known, r.damaged || r.empty)
	if problem != "" {
		return "", "a reader: " + problem
	}
	if r.byFiles() {
		return r.seenByFiles(p)
	}
	before := unlikeDocs(r.ref.before.docs, docs)
	if before == "" || r.row.first != nil && unlikeDocs(r.ref.first.docs, docs) == "" {
		return sideBefore, ""
	}
	after := unlikeDocs(r.ref.after.docs, docs)
	if after == "" {
		return sideAfter, ""
	}
	return "", fmt.Sprintf("the state is neither before (%s) nor after (%s)", before, after)
}

// byFiles reports whether the command changes files alone, and no record.
func (r *ready) byFiles() bool { return unlikeDocs(r.ref.before.docs, r.ref.after.docs) == "" }

// seenByFiles is seen for a command that changes no record.
func (r *ready) seenByFiles(p *project) (side, string) {
	now, err := p.files(r.known)
	if err != nil {
		return "", err.Error()
	}
	outside := func(name string) bool {
		return !strings.HasPrefix(name, storeDir) && (r.leavesTemporary == "" || !strings.HasPrefix(name, r.leavesTemporary))
	}
	before := unlikeFiles(only(r.ref.before.files, outside), only(now, outside))
	if before == "" {
		return sideBefore, ""
	}
	after := unlikeFiles(only(r.ref.after.files, outside), only(now, outside))
	if after == "" {
		return sideAfter, ""
	}
	return "", fmt.Sprintf("the files are neither before (%s) nor after (%s)", before, after)
}

// inPlace compares the files at once: artifacts are wholly old or wholly new,
// one by one, and what the state names is there.
func (r *ready) inPlace(p *project, where side, settled bool) string {
	now, err := p.files(r.known)
	if err != nil {
		return err.Error()
	}
	before, after := r.ref.before.files, r.ref.after.files
	switch {
	case where == sideBefore && r.pendingFiles():
		return mixed(before, r.ref.beforeThen.files, now)
	case where == sideBefore:
		return unlikeFiles(only(before, artifact), only(now, artifact))
	case settled:
		return unlikeFiles(only(after, artifact), only(now, artifact))
	}
	if blob := missingBlob(after, now); blob != "" {
		return blob + ", which the state names, is missing"
	}
	if r.pendingFiles() { // what the dead writer lacks was put into place first
		lacks := r.ref.beforeThen.files
		maps.DeleteFunc(now, func(name, is string) bool { return lacks[name] == is })
	}
	return mixed(before, after, now)
}

// pendingFiles reports whether the prepared store's last writer died and left files to
// the next one.
func (r *ready) pendingFiles() bool {
	return !r.again && unlikeFiles(only(r.ref.before.files, artifact), only(r.ref.beforeThen.files, artifact)) != ""
}

// nextWrite makes the next write and compares everything with a store that was
// never disturbed: nothing temporary is left, and doctor finds nothing.
func (r *ready) nextWrite(a postcondition, where side) string {
	p, want := a.project, r.ref.afterThen
	switch {
	case r.again && (where == sideBefore || a.said == saidPart || a.said == saidNothing && r.keeps):
		if o := p.call(r.argv...); !r.done(o) {
			return "the same line again: " + o.Text()
		}
	case where == sideBefore:
		want = r.ref.beforeThen
	}
	if problem := r.write(p); problem != "" {
		return problem
	}
	now, err := p.files(r.known)
	if err != nil {
		return err.Error()
	}
	counts := func(name string) bool {
		return (a.mayRemain == nil || !a.mayRemain(name)) && (r.leavesTemporary == "" || !strings.HasPrefix(name, r.leavesTemporary))
	}
	if d := unlikeFiles(only(want.files, counts), only(now, counts)); d != "" {
		return "after the next write: " + d
	}
	return healthy(p)
}

// healthy asks doctor.
func healthy(p *project) string {
	o := p.call("doctor")
	if o.Status != 0 || o.Doc == nil || !bytes.Contains(o.Doc.Data, []byte(`"healthy":true`)) {
		return "doctor: " + o.Text()
	}
	return ""
}
