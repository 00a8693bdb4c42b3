//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"leslie/test/harness"
	"leslie/test/lab"
)

// This file kills leslie before each call with which it changes the disk or writes to a
// server, as test/lab/torture does, whose tracer it uses: between uploading, appending, the
// journal and the state. Afterwards two machines must agree that the operation stands as a
// whole or not at all, and repeating it must make it stand once.

// killCase is a command that is killed. prepare makes what it works on, and argv is the
// command, both for a name that is used once.
type killCase struct {
	name    string
	prepare func(k *killing, id string) error
	argv    func(id string) []string
	// shows returns what is wrong with what the command has made, in each copy.
	file string // that travels with the operation, in the folder of the thread of the id
}

func killCases() []killCase {
	return []killCase{
		{name: "checkpoint", prepare: (*killing).threadWithFile, argv: func(id string) []string { return []string{"checkpoint", id} }, file: "plan.md"},
		{name: "done", prepare: (*killing).threadWithFile, argv: func(id string) []string { return []string{"done", id} }, file: "plan.md"},
		{name: "spawn", prepare: (*killing).parentWithFile, argv: func(id string) []string {
			return []string{"spawn", "--intent", "Its child", "--parent", "p-" + id, "--inherit", "full", "--id", id}
		}, file: "plan.md"},
	}
}

// killing is the two machines, of which the first is killed.
type killing struct {
	*fleet
	self   string // this program, as the tracer
	report *lab.Report
}

// killAll kills at each step of each case.
func killAll(ctx context.Context, s setup, short bool, out io.Writer) (kept bool, err error) {
	s.copies = 2
	f, err := newFleet(ctx, s, 1)
	if f != nil {
		defer func() { f.close(kept && !s.keep, out) }()
	}
	if err != nil {
		return false, err
	}
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	k := &killing{fleet: f, self: self, report: lab.NewReport(out, "-kills")}
	step, kills := 1, 0
	if short {
		step = 4
	}
	for _, c := range killCases() {
		calls, died, stood := 0, 0, 0
		for at := 1; ctx.Err() == nil; at += step {
			hit, whole, problem := k.kill(c, at)
			if problem != "" {
				k.report.Violate("faults", fmt.Sprintf("%s, killed before call %d: %s", c.name, at, problem))
			}
			if !hit {
				break
			}
			calls, died = at, died+1
			if whole {
				stood++
			}
		}
		kills += died
		k.report.Say("%s: killed %d times, up to its call %d; after %d of them it stood", c.name, died, calls, stood)
	}
	for i := range k.copies {
		if problem := k.machine("writer", i).Healthy(); problem != "" {
			k.report.Violate("faults", filepath.Base(k.copies[i])+": "+problem)
		}
	}
	return k.report.Conclude(fmt.Sprintf("faults: killed %d times", kills)), ctx.Err()
}

func (k *killing) all(at int, lines ...string) error { return k.machine("writer", at).All(lines...) }

func (k *killing) threadWithFile(id string) error {
	// Made on the other machine: the killed call has to catch up, too.
	if err := k.all(1, "spawn --intent Work --objective goal --id "+id); err != nil {
		return err
	}
	if err := k.all(0, "status"); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(k.folder(0, id), "plan.md"), []byte("the plan of "+id+"\n"), 0o644)
}

func (k *killing) parentWithFile(id string) error {
	if err := k.threadWithFile("p-" + id); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(k.folder(0, "p-"+id), "plan.md"), []byte("the plan of "+id+"\n"), 0o644)
}

// kill kills one call before its call at of the system. hit: it had as many. whole: the
// operation stood.
func (k *killing) kill(c killCase, at int) (hit, whole bool, problem string) {
	id := fmt.Sprintf("%s-%d", c.name, at)
	if err := c.prepare(k, id); err != nil {
		return false, false, err.Error()
	}
	if err := k.all(1, "update first --title "+id); err != nil { // something to catch up with
		if err := k.all(1, "spawn --intent First --objective goal --id first"); err != nil {
			return false, false, err.Error()
		}
	}
	argv := append(c.argv(id), "--request-id", "r-"+id)
	report := filepath.Join(k.scratch, id)
	o := k.machine("writer", 0).Run(k.self, lab.TracerArgs(lab.Kills, at, report, k.leslie, argv), "", lab.Interruption{})
	hit = o.Killed
	if o.Err != nil || !hit && !o.OK() {
		return hit, false, o.Text()
	}
	// The other machine looks first, or the killed one.
	for _, i := range [][]int{{1, 0}, {0, 1}}[at%2] {
		if err := k.all(i, "status"); err != nil {
			return hit, false, err.Error()
		}
	}
	n, problem := k.stands(id)
	if problem == "" && o.OK() && n != 1 {
		problem = "it answered, and is not there"
	}
	if problem != "" {
		return hit, n > 0, problem
	}
	again := at % 3 % 2
	if o := k.call(again, argv...); !o.OK() || o.Warned("W901") != (n > 0) {
		return hit, n > 0, fmt.Sprintf("it stood %d times, and repeated on machine %d it says %s", n, again+1, o.Text())
	}
	if err := k.all(1-again, "status"); err != nil {
		return hit, n > 0, err.Error()
	}
	if now, problem := k.stands(id); problem != "" || now != 1 {
		return hit, n > 0, fmt.Sprintf("repeated, it stands %d times: %s", now, problem)
	}
	return hit, n > 0, k.travelled(c, id)
}

// stands returns how often the operation of an id is in the history; both machines must
// agree.
func (k *killing) stands(id string) (n int, problem string) {
	a, err := k.read(0)
	if err != nil {
		return 0, err.Error()
	}
	b, err := k.read(1)
	if err != nil {
		return 0, err.Error()
	}
	if d := harness.Differing(a.texts(), b.texts()); len(d) > 0 {
		return 0, "record " + strings.Join(d, ", record ")
	}
	if !a.same(b) {
		return 0, fmt.Sprintf("the histories differ: %d and %d operations", len(a.operations), len(b.operations))
	}
	for _, op := range a.operations {
		if op.RequestID == "r-"+id {
			n++
		}
	}
	return n, ""
}

// travelled checks that the file of a thread is the same on both machines. Where the other
// machine carried the request out, the first has an edit that nobody published: it does so.
func (k *killing) travelled(c killCase, id string) string {
	if o := k.call(0, "publish"); !o.OK() {
		return o.Text()
	}
	want := "the plan of " + id + "\n"
	for i := range k.copies {
		if err := k.all(i, "artifacts "+id); err != nil {
			return err.Error()
		}
		files, err := lab.Artifacts(k.folder(i, id))
		if err != nil {
			return err.Error()
		}
		if files[c.file] != want && (c.name != "spawn" || len(files) > 0) {
			return fmt.Sprintf("on machine %d the thread has %q", i+1, files)
		}
	}
	return ""
}
