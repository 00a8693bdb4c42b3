//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"leslie/test/harness"
	"leslie/test/lab"
)

// This file prepares the store of a row and measures its reference.

// dieAfterCommit runs a command and kills it after its commit, at the first call that puts a
// file into place.
func (p *project) dieAfterCommit(argv []string) error {
	if p.strace == "" {
		return errNoStrace
	}
	at, err := p.commitOf(argv)
	if err != nil {
		return err
	}
	for range at.tries() {
		if o, _ := p.traced([]string{at.kill()}, argv...); o.Status == -1 {
			return nil
		}
	}
	return errors.New("leslie " + strings.Join(argv, " ") + " could not be killed")
}

// commitOf runs a command on copies of the project and returns the first point after its
// commit at which a file is put into place. Another copy is tried where strace failed.
func (p *project) commitOf(argv []string) (point, error) {
	var o outcome
	for n := range 3 {
		trial, err := p.copyTo(fmt.Sprintf("%s.trial-%d", p.Dir, n), 0)
		if err != nil {
			return point{}, err
		}
		var points []point
		o, points = trial.traced(nil, argv...)
		at, ok := afterCommit(trial, points)
		_ = os.RemoveAll(trial.Dir)
		if ok {
			return at, nil
		}
	}
	return point{}, fmt.Errorf("no commit was seen in leslie %s: %s", strings.Join(argv, " "), o.Text())
}

var errNoStrace = errors.New("strace is missing")

// afterCommit returns the first point after the rename of the state at which a file is
// put into place.
func afterCommit(p *project, points []point) (point, bool) {
	committed := false
	for _, c := range points {
		if committed && c.main && c.ours && (c.name == "renameat" || c.name == "linkat") {
			return c, true
		}
		committed = committed || commits(c, p)
	}
	return point{}, false
}

// commits reports whether a call renames a new state into place.
func commits(c point, p *project) bool {
	return strings.HasPrefix(c.name, "rename") && len(c.paths) == 2 && c.paths[1] == p.Path(lab.StateFile) && !strings.HasPrefix(c.result, "-1")
}

// reference is a row's store before and after its command, and the files of each of the
// two after one more write. Undisturbed runs measure it.
type reference struct {
	before, after         snapshot
	beforeThen, afterThen map[string]string

	first    snapshot // after the row's first command
	revision int64    // of the answer
	warnings []harness.Warning
}

// ready is a row with its fixture and its reference.
type ready struct {
	lab.Row
	origin *project
	argv   []string          // with ids filled in
	raw    map[string]string // every file of origin, unchanged
	known  map[string]bool
	ref    reference
	ran    *project // where an undisturbed run was
	points []point  // of that run; none without strace
}

// prepareCommon makes the store of which each row that is not empty gets a copy.
func (r *rig) prepareCommon() (*project, error) {
	p := r.project(filepath.Join(r.dir, "common"), 0)
	f := &lab.Fixture{Project: &p.Project, Err: os.Mkdir(p.Dir, 0o755)}
	lab.Common(f)
	return p, f.Err
}

// begin puts into place what the fixture of a row begins with.
func (r *rig) begin(of lab.Row, dir string) error {
	if of.Empty {
		return os.Mkdir(dir, 0o755)
	}
	common, err := r.common()
	if err == nil {
		_, err = common.copyTo(dir, 0)
	}
	return err
}

// prepare makes a row's store and measures its reference.
func (r *rig) prepare(of lab.Row, dir string) (*ready, error) {
	origin := r.project(dir, 0)
	f := &lab.Fixture{Project: &origin.Project, Err: r.begin(of, dir), Die: origin.dieAfterCommit}
	if of.Prepare != nil {
		of.Prepare(f)
	}
	if f.Err != nil {
		return nil, f.Err
	}
	raw, err := origin.rawFiles()
	if err != nil {
		return nil, err
	}
	out := &ready{Row: of, origin: origin, argv: origin.Filled(strings.Fields(of.Argv)), raw: raw, known: idsIn(raw)}
	return out, out.measure()
}

// measure measures what undisturbed runs leave twice: if they differ, disturbed ones
// cannot be compared with them.
func (r *ready) measure() error {
	first, err := r.undisturbed(r.origin.Dir + ".undisturbed-0")
	if err != nil {
		return err
	}
	second, err := r.undisturbed(r.origin.Dir + ".undisturbed-1")
	if err != nil {
		return err
	}
	if d := first.diff(second); d != "" {
		return errors.New("two undisturbed runs differ: " + d)
	}
	r.ref = first
	return r.measureBefore(r.origin.Dir + ".before")
}

func (a reference) diff(b reference) string {
	return lab.FirstOf(diffDocs(a.first.docs, b.first.docs), diffFiles(a.first.files, b.first.files),
		diffDocs(a.after.docs, b.after.docs), diffFiles(a.after.files, b.after.files), diffFiles(a.afterThen, b.afterThen))
}

// undisturbed measures what a run leaves.
func (r *ready) undisturbed(dir string) (ref reference, err error) {
	p, err := r.origin.copyTo(dir, 0)
	defer os.RemoveAll(dir)
	if err != nil {
		return ref, err
	}
	o, points := r.runIn(p)
	if !r.done(o) {
		return ref, fmt.Errorf("undisturbed, it ended with %d: %s", o.Status, o.Text())
	}
	r.ran, r.points = p, points
	ref.revision, ref.warnings = o.Doc.At(), o.Doc.Warnings
	if ref.after, err = r.take(p); err != nil {
		return ref, err
	}
	if ref.afterThen, err = r.then(p); err != nil || r.First == "" {
		return ref, err
	}
	ref.first, err = r.afterFirst(dir + "-first")
	return ref, err
}

// measureBefore measures the store before a run.
func (r *ready) measureBefore(dir string) error {
	p, err := r.origin.copyTo(dir, 0)
	defer os.RemoveAll(dir)
	if err != nil {
		return err
	}
	if r.ref.before, err = r.take(p); err != nil || r.Again {
		return err
	}
	r.ref.beforeThen, err = r.then(p)
	return err
}

// afterFirst returns the store after the row's first command.
func (r *ready) afterFirst(dir string) (snapshot, error) {
	p, err := r.origin.copyTo(dir, 0)
	defer os.RemoveAll(dir)
	if err != nil {
		return snapshot{}, err
	}
	if o := p.Call(strings.Fields(r.First)...); o.Err != nil {
		return snapshot{}, o.Err
	}
	return r.take(p)
}

// runIn runs the row's command, under strace if there is one.
func (r *ready) runIn(p *project, injections ...string) (outcome, []point) {
	if r.origin.strace == "" {
		return p.Call(r.argv...), nil
	}
	return p.traced(injections, r.argv...)
}

// done reports whether a call ended as an undisturbed one.
func (r *ready) done(o outcome) bool {
	return o.Err == nil && o.Doc != nil && o.Status == r.Status && o.Code() == r.Code
}

func (r *ready) take(p *project) (snapshot, error) { return p.take(r.known, r.Damaged || r.Empty) }

// then makes one more write and returns the files.
func (r *ready) then(p *project) (map[string]string, error) {
	if problem := r.write(p); problem != "" {
		return nil, errors.New(problem)
	}
	return p.files(r.known)
}

// write runs the next writing command. It copies a thread's files, which shows whether
// it waited for the files of the operation before.
func (r *ready) write(p *project) (problem string) {
	line := []string{"spawn", "--id", "go-on", "--intent", "Go on", "--objective", "ship", "--parent", "main", "--inherit", "full"}
	if r.Empty {
		line = []string{"objective", "create", "Go on", "--id", "go-on"}
	}
	o := p.Call(line...)
	if o.Err != nil || o.Status != 0 || o.Doc == nil || len(o.Doc.Warnings) > 0 && !r.Damaged {
		return "the next write: " + o.Text()
	}
	return ""
}
