//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"leslie/test/harness"
)

// This file kills leslie before each call with which it changes the disk or writes to a
// server, as test/torture does, whose tracer it uses: between uploading, appending, the
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
	tracer string
	report *report
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
	k := &killing{fleet: f, tracer: filepath.Join(f.dir, "tracer"), report: newReport(out)}
	build := exec.Command("go", "build", "-tags", harness.Tags, "-o", k.tracer, "leslie/test/torture")
	if said, err := build.CombinedOutput(); err != nil {
		return false, fmt.Errorf("the tracer cannot be built: %w\n%s", err, said)
	}
	step, kills := 1, 0
	if short {
		step = 4
	}
	for _, c := range killCases() {
		calls, died, stood := 0, 0, 0
		for at := 1; ctx.Err() == nil; at += step {
			hit, whole, problem := k.kill(c, at)
			if problem != "" {
				k.report.violation(fmt.Sprintf("%s, killed before call %d: %s", c.name, at, problem))
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
		k.report.say("%s: killed %d times, up to its call %d; after %d of them it stood", c.name, died, calls, stood)
	}
	for i := range k.copies {
		if o := k.call(i, []string{"doctor"}, "", nil); !strings.Contains(string(o.Stdout), `"healthy":true`) {
			k.report.violation(filepath.Base(k.copies[i]) + " is not healthy: " + o.Text())
		}
	}
	verdict := "every promise was kept"
	if n := len(k.report.violations); n > 0 {
		verdict = strconv.Itoa(n) + " violations"
	}
	fmt.Fprintf(out, "faults: killed %d times: %s\n", kills, verdict)
	return len(k.report.violations) == 0, ctx.Err()
}

func (k *killing) all(at int, lines ...string) error {
	for _, text := range lines {
		if o := k.call(at, strings.Fields(text), "", nil); !o.OK() {
			return fmt.Errorf("leslie %s: %s", text, o.Text())
		}
	}
	return nil
}

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
	o := harness.Call{
		Program: k.tracer, Argv: append([]string{"tracer", "kill", strconv.Itoa(at), report, k.leslie}, argv...), Dir: k.copies[0],
		Env: k.environment("writer"), Attr: &syscall.SysProcAttr{Setpgid: true}, Limit: callTimeout,
	}.Run()
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
	if o := k.call(again, argv, "", nil); !o.OK() || o.Warned("W901") != (n > 0) {
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
	if d := harness.Differing(a.records, b.records); len(d) > 0 {
		return 0, "record " + strings.Join(d, ", record ")
	}
	same := func(a, b operation) bool { return a.ID == b.ID && a.Seq == b.Seq }
	if !slices.EqualFunc(a.operations, b.operations, same) {
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
	if o := k.call(0, []string{"publish"}, "", nil); !o.OK() {
		return o.Text()
	}
	want := "the plan of " + id + "\n"
	for i := range k.copies {
		if err := k.all(i, "artifacts "+id); err != nil {
			return err.Error()
		}
		files, err := filesIn(k.folder(i, id))
		if err != nil {
			return err.Error()
		}
		if files[c.file] != want && (c.name != "spawn" || len(files) > 0) {
			return fmt.Sprintf("on machine %d the thread has %q", i+1, files)
		}
	}
	return ""
}
