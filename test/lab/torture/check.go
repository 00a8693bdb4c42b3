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
	"leslie/test/lab"
)

// This file checks a store after a disturbed run.

// side is which of its two states a store is in.
type side string

const (
	sideBefore side = "before"
	sideAfter  side = "after"
)

// statement is what a disturbed call reported of itself.
type statement int

const (
	saidNothing statement = iota // it was killed before it answered
	saidDone
	saidFailed     // and changed nothing
	saidPart       // it failed, and said that it changed something
	saidUnrecorded // it answered, but could not record what it records with its answer
)

// postcondition is the store that a disturbed run left, and what is known of the run.
type postcondition struct {
	*project
	said statement
	// settled: every file must be in place now, not only after the next write.
	settled bool
	// release ends a lasting disturbance; nil when there is none.
	release func() error
	// blind: readers need not see anything until the disturbance is over.
	blind bool
	// mayRemain selects additional files that may remain; nil selects none.
	mayRemain func(name string) bool
}

// equalExceptUnreferenced reports whether two trees are equal, except for additional
// files that no reader uses.
func equalExceptUnreferenced(want, got map[string]string) bool {
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

// readAnswer reads what a call reported. It must be either success, or a storage
// error (T5xx) that changed nothing.
func (r *ready) readAnswer(p *project, o outcome) (a postcondition, problem string) {
	a = postcondition{project: p}
	switch {
	case o.Err != nil:
		return a, o.Err.Error()
	case o.Doc == nil:
		return a, "stdout is not one JSON document: " + o.Text()
	case r.done(o) && r.Unrecorded && !r.stands(o):
		a.said = saidUnrecorded
		return a, ""
	case r.done(o):
		a.said, a.settled = saidDone, !o.Warned("W505") && !o.Warned("W507") && !p.quarantines()
		return a, ""
	case o.Doc.Error == nil || o.Status != 15 || !strings.HasPrefix(o.Code(), "T5"):
		return a, fmt.Sprintf("it ended with %d: %s", o.Status, o.Text())
	case o.Doc.Error.Details["changed"] == false:
		a.said = saidFailed
	case r.Keeps:
		a.said = saidPart
	default:
		return a, "it failed and changed something: " + o.Text()
	}
	return a, ""
}

// quarantines reports whether the state holds steps that could not be carried out;
// the next write carries them out.
func (p *project) quarantines() bool {
	state, _ := os.ReadFile(filepath.Join(p.Dir, lab.StoreDir, lab.StateFile))
	return bytes.Contains(state, []byte(`"quarantined":[{`))
}

// stands reports whether an answer says that what it records was recorded.
func (r *ready) stands(o outcome) bool {
	return o.Doc.At() == r.ref.revision && !slices.ContainsFunc(r.ref.warnings, func(w harness.Warning) bool { return !o.Warned(w.Code) })
}

// check checks the store that a disturbed run left.
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
	case a.said == saidDone && where != sideAfter && !r.Idle && !r.AnswersFirst:
		return where, "it was acknowledged and is lost"
	case a.said == saidFailed && where != sideBefore && !r.Unrecorded: // there the failure itself counts
		return where, "it reported failure but changed the state"
	case a.said == saidUnrecorded && where != sideBefore:
		return where, "it recorded something that its answer says was not recorded"
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

// checkOnce checks the store that a disturbed run left, as check does. If every file
// is as in the reference, it leaves out the readers and the next write: the reference
// has their results.
func (r *ready) checkOnce(a postcondition) (where side, problem string) {
	raw, err := a.rawFiles()
	switch {
	case err != nil || a.blind:
	case a.said == saidFailed && equalExceptUnreferenced(r.raw, raw):
		return sideBefore, ""
	case a.said == saidDone && a.settled && maps.Equal(a.normalized(raw, r.known), r.ref.after.files):
		if a.release != nil {
			if err := a.release(); err != nil {
				return sideAfter, err.Error()
			}
		}
		return sideAfter, a.Healthy() // doctor verifies every checksum
	}
	return r.check(a)
}

// seen returns which state the readers see.
func (r *ready) seen(p *project) (side, string) {
	docs, problem := p.view(r.known, r.Damaged || r.Empty)
	if problem != "" {
		return "", "a reader: " + problem
	}
	if r.byFiles() {
		return r.seenByFiles(p)
	}
	before := diffDocs(r.ref.before.docs, docs)
	if before == "" || r.First != "" && diffDocs(r.ref.first.docs, docs) == "" {
		return sideBefore, ""
	}
	after := diffDocs(r.ref.after.docs, docs)
	if after == "" {
		return sideAfter, ""
	}
	return "", fmt.Sprintf("the state is neither before (%s) nor after (%s)", before, after)
}

// byFiles reports whether the command changes only files, and no record.
func (r *ready) byFiles() bool { return diffDocs(r.ref.before.docs, r.ref.after.docs) == "" }

// seenByFiles is seen for a command that changes no record.
func (r *ready) seenByFiles(p *project) (side, string) {
	now, err := p.files(r.known)
	if err != nil {
		return "", err.Error()
	}
	outside := func(name string) bool {
		return !strings.HasPrefix(name, lab.StoreDir) && !r.temporary(name) && !r.folder(name, now)
	}
	before := diffFiles(filter(r.ref.before.files, outside), filter(now, outside))
	if before == "" {
		return sideBefore, ""
	}
	after := diffFiles(filter(r.ref.after.files, outside), filter(now, outside))
	if after == "" {
		return sideAfter, ""
	}
	if r.OneByOne && eachOf(now, outside, r.ref.before.files, r.ref.after.files) {
		return sideBefore, ""
	}
	return "", fmt.Sprintf("the files are neither before (%s) nor after (%s)", before, after)
}

// eachOf reports whether each file is wholly as before or as after, or absent as in one.
func eachOf(now map[string]string, counts func(string) bool, before, after map[string]string) bool {
	for _, files := range []map[string]string{now, before, after} {
		for name := range files {
			is, there := now[name]
			was, wasThere := before[name]
			will, willBe := after[name]
			if counts(name) && (there != wasThere || is != was) && (there != willBe || is != will) {
				return false
			}
		}
	}
	return true
}

// inPlace checks the files before the next write: each artifact is wholly old or
// wholly new, and every blob that the state names exists.
func (r *ready) inPlace(p *project, where side, settled bool) string {
	now, err := p.files(r.known)
	if err != nil {
		return err.Error()
	}
	before, after := r.ref.before.files, r.ref.after.files
	switch {
	case where == sideBefore && r.pendingFiles():
		return firstTorn(before, r.ref.beforeThen, now)
	case where == sideBefore:
		return diffFiles(filter(before, artifact), filter(now, artifact))
	case settled:
		return diffFiles(filter(after, artifact), filter(now, artifact))
	}
	if blob := missingBlob(after, now); blob != "" {
		return blob + ", which the state names, is missing"
	}
	if r.pendingFiles() { // the killed writer's files were put into place first
		finished := r.ref.beforeThen
		maps.DeleteFunc(now, func(name, is string) bool { return finished[name] == is })
	}
	return firstTorn(before, after, now)
}

// pendingFiles reports whether the fixture's last writer was killed before it put its
// files into place.
func (r *ready) pendingFiles() bool {
	return !r.Again && diffFiles(filter(r.ref.before.files, artifact), filter(r.ref.beforeThen, artifact)) != ""
}

// nextWrite makes the next write and compares everything with an undisturbed store:
// no temporary file remains, and doctor finds nothing.
func (r *ready) nextWrite(a postcondition, where side) string {
	p, want := a.project, r.ref.afterThen
	switch {
	case r.Again && (where == sideBefore || a.said == saidPart || a.said == saidNothing && r.Keeps):
		if o := p.Call(r.argv...); !r.done(o) {
			return "when repeated: " + o.Text()
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
		return (a.mayRemain == nil || !a.mayRemain(name)) && !r.temporary(name) && !r.folder(name, now)
	}
	if d := diffFiles(filter(want, counts), filter(now, counts)); d != "" {
		return "after the next write: " + d
	}
	return p.Healthy()
}

// folder reports whether a name is that of a folder outside the store, which says nothing
// where the files of a command change one by one.
func (r *ready) folder(name string, now map[string]string) bool {
	is := func(files map[string]string) bool { return files[name] == "folder" }
	return r.OneByOne && !strings.HasPrefix(name, lab.StoreDir) && (is(now) || is(r.ref.before.files) || is(r.ref.after.files))
}

// temporary reports whether a file is one that a kill may leave.
func (r *ready) temporary(name string) bool {
	return slices.ContainsFunc(strings.Fields(r.LeavesTemporary), func(prefix string) bool { return strings.HasPrefix(filepath.Base(name), prefix) })
}
