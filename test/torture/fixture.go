//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"leslie/test/harness"
)

// This file prepares the store of a row and measures its reference.

// fixture is a store that is being prepared. After the first failure, err, its methods
// do nothing.
type fixture struct {
	*project
	err error
}

func (f *fixture) ok(line string) { f.ends(0, line) }

func (f *fixture) ends(status int, line string) {
	if f.err != nil {
		return
	}
	if o := f.call(f.filled(strings.Fields(line))...); o.Err != nil || o.Status != status {
		f.err = fmt.Errorf("leslie %s ended with %d: %s", line, o.Status, o.Text())
	}
}

// filled replaces {merge}, {ref}, {op} and their like with the newest id of that kind.
func (p *project) filled(argv []string) []string {
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = arg
		if kind, is := strings.CutPrefix(arg, "{"); is {
			kind = strings.TrimSuffix(kind, "}")
			out[i] = p.newest(kind)
		}
	}
	return out
}

// newest returns the last id of a kind in the state file.
func (p *project) newest(kind string) (id string) {
	data, err := os.ReadFile(p.path(statePath))
	if err != nil {
		return ""
	}
	for _, found := range randomID.FindAllString(string(data), -1) {
		if strings.HasPrefix(found, kind+"-") {
			id = found
		}
	}
	return id
}

func (f *fixture) put(name, content string) {
	if f.err != nil {
		return
	}
	full := filepath.Join(f.dir, name)
	f.err = errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(content), 0o644))
}

func (f *fixture) write(thread, name, content string) {
	f.put(filepath.Join(storeDir, "threads", thread, name), content)
}

// prepend puts a line in front of a file of the store.
func (f *fixture) prepend(name, line string) {
	if f.err != nil {
		return
	}
	raw, err := os.ReadFile(f.path(name))
	if f.err = err; err == nil {
		f.put(filepath.Join(storeDir, name), line+string(raw))
	}
}

func (f *fixture) remove(thread, name string) {
	if f.err == nil {
		f.err = os.Remove(f.path(filepath.Join("threads", thread, name)))
	}
}

// halve truncates a file of the store to half its size.
func (f *fixture) halve(name string) {
	if f.err != nil {
		return
	}
	info, err := os.Stat(f.path(name))
	if err == nil {
		err = os.Truncate(f.path(name), info.Size()/2)
	}
	f.err = err
}

// crash runs a command and kills it after its commit, at the first call that puts a file
// into place.
func (f *fixture) crash(line string) {
	if f.err != nil {
		return
	}
	if f.strace == "" {
		f.err = errNoStrace
		return
	}
	argv := strings.Fields(line)
	at, err := f.commitOf(argv)
	if err != nil {
		f.err = err
		return
	}
	for range at.tries() {
		o, _ := f.traced([]string{at.kill()}, argv...)
		if o.Status == -1 {
			return
		}
	}
	f.err = errors.New("leslie " + line + " could not be killed")
}

// commitOf runs a command on copies of the fixture and returns the first point after its
// commit at which a file is put into place. Another copy is tried where strace failed.
func (f *fixture) commitOf(argv []string) (point, error) {
	var o outcome
	for n := range 3 {
		trial, err := f.copyTo(fmt.Sprintf("%s.trial-%d", f.dir, n), 0)
		if err != nil {
			return point{}, err
		}
		var points []point
		o, points = trial.traced(nil, argv...)
		at, ok := afterCommit(trial, points)
		_ = os.RemoveAll(trial.dir)
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
	return strings.HasPrefix(c.name, "rename") && len(c.paths) == 2 && c.paths[1] == p.path(statePath) && !strings.HasPrefix(c.result, "-1")
}

// reference is a row's store before and after its command, and each of the two after one
// more write. Undisturbed runs measure it.
type reference struct {
	before, after, beforeThen, afterThen snapshot

	first    snapshot // after the row's first command
	revision int64    // of the answer
	warnings []harness.Warning
}

// ready is a row with its fixture and its reference.
type ready struct {
	row
	origin *project
	argv   []string          // with ids filled in
	raw    map[string]string // every file of origin, unchanged
	known  map[string]bool
	ref    reference
	points []point // of an undisturbed run; none without strace
}

// prepare makes a row's store and measures its reference.
func (r *rig) prepare(of row, dir string) (*ready, error) {
	origin := &project{rig: r, dir: dir}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	f := &fixture{project: origin}
	if !of.empty {
		common(f)
	}
	if of.prepare != nil {
		of.prepare(f)
	}
	if f.err != nil {
		return nil, f.err
	}
	raw, err := origin.rawFiles()
	if err != nil {
		return nil, err
	}
	out := &ready{row: of, origin: origin, argv: origin.filled(of.argv), raw: raw, known: idsIn(raw)}
	return out, out.measure()
}

// measure measures the reference twice: if undisturbed runs differ, disturbed ones
// cannot be compared with them.
func (r *ready) measure() error {
	var first reference
	for i := range 2 {
		now, err := r.undisturbed(fmt.Sprintf("%s.undisturbed-%d", r.origin.dir, i))
		if err != nil {
			return err
		}
		if i == 0 {
			first = now
			continue
		}
		if d := first.diff(now); d != "" {
			return errors.New("two undisturbed runs differ: " + d)
		}
	}
	r.ref = first
	return nil
}

func (a reference) diff(b reference) string {
	for _, pair := range [][2]snapshot{{a.before, b.before}, {a.first, b.first}, {a.after, b.after}, {a.beforeThen, b.beforeThen}, {a.afterThen, b.afterThen}} {
		if d := diffDocs(pair[0].docs, pair[1].docs); d != "" {
			return d
		}
		if d := diffFiles(pair[0].files, pair[1].files); d != "" {
			return d
		}
	}
	return ""
}

// undisturbed measures the reference once.
func (r *ready) undisturbed(dir string) (ref reference, err error) {
	p, err := r.origin.copyTo(dir, 0)
	if err != nil {
		return ref, err
	}
	defer os.RemoveAll(dir)
	if ref.before, err = r.take(p); err != nil {
		return ref, err
	}
	o, points := r.run(p)
	if !r.done(o) {
		return ref, fmt.Errorf("undisturbed, it ended with %d: %s", o.Status, o.Text())
	}
	r.points = points
	ref.revision, ref.warnings = o.Doc.At(), o.Doc.Warnings
	if ref.after, err = r.take(p); err != nil {
		return ref, err
	}
	if ref.afterThen, err = r.then(p); err != nil || r.again {
		return ref, err
	}
	other, err := r.origin.copyTo(dir+"-before", 0)
	if err != nil {
		return ref, err
	}
	defer os.RemoveAll(other.dir)
	if ref.beforeThen, err = r.then(other); err != nil || r.row.first == nil {
		return ref, err
	}
	ref.first, err = r.afterFirst(dir + "-first")
	return ref, err
}

// afterFirst returns the store after the row's first command.
func (r *ready) afterFirst(dir string) (snapshot, error) {
	p, err := r.origin.copyTo(dir, 0)
	defer os.RemoveAll(dir)
	if err != nil {
		return snapshot{}, err
	}
	if o := p.call(r.row.first...); o.Err != nil {
		return snapshot{}, o.Err
	}
	return r.take(p)
}

// run runs the row's command, under strace if there is one.
func (r *ready) run(p *project, injections ...string) (outcome, []point) {
	if r.origin.strace == "" {
		return p.call(r.argv...), nil
	}
	return p.traced(injections, r.argv...)
}

// done reports whether a call ended as an undisturbed one.
func (r *ready) done(o outcome) bool {
	return o.Err == nil && o.Doc != nil && o.Status == r.status && o.Code() == r.code
}

func (r *ready) take(p *project) (snapshot, error) { return p.take(r.known, r.damaged || r.empty) }

// then makes one more write and takes a snapshot.
func (r *ready) then(p *project) (snapshot, error) {
	if problem := r.write(p); problem != "" {
		return snapshot{}, errors.New(problem)
	}
	return r.take(p)
}

// write runs the next writing command. It copies a thread's files, which shows whether
// it waited for the files of the operation before.
func (r *ready) write(p *project) (problem string) {
	line := []string{"spawn", "--id", "go-on", "--intent", "Go on", "--objective", "ship", "--parent", "main", "--inherit", "full"}
	if r.empty {
		line = []string{"objective", "create", "Go on", "--id", "go-on"}
	}
	o := p.call(line...)
	if o.Err != nil || o.Status != 0 || o.Doc == nil || len(o.Doc.Warnings) > 0 && !r.damaged {
		return "the next write: " + o.Text()
	}
	return ""
}
