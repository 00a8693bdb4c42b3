//go:build linux

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"leslie/test/harness"
	"leslie/test/lab"
)

func main() {
	if playsAgent() {
		return
	}
	if status, is := lab.Tracer(); is {
		os.Exit(status)
	}
	var pick choice
	leslie := flag.String("leslie", "", "the `binary`; built from the source by default")
	flag.StringVar(&pick.only, "only", "", "run only the cases with this `name` or prefix: kill/spawn, fault/spawn/renameat/3/EIO")
	flag.BoolVar(&pick.short, "short", false, "run only a sample: every n-th case")
	flag.Uint64Var(&pick.seed, "seed", uint64(time.Now().UnixNano()%1_000_000), "which sample -short runs")
	flag.BoolVar(&pick.list, "list", false, "print the names of the cases, and run none")
	workers := flag.Int("workers", runtime.NumCPU(), "the number of parallel runs")
	flag.Parse()
	kept, err := torture(*leslie, pick, *workers, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
	}
	if err != nil || !kept {
		os.Exit(1)
	}
}

// torture runs the selected cases and reports whether every promise was kept.
func torture(leslie string, pick choice, workers int, out io.Writer) (kept bool, err error) {
	r, clean, err := newRig(pick.short)
	defer clean()
	if err == nil {
		err = r.install(leslie)
	}
	if err != nil {
		return false, err
	}
	how := "all cases"
	if pick.short {
		how = fmt.Sprintf("-short -seed %d", pick.seed)
	}
	if pick.only != "" {
		how = "-only " + pick.only
	}
	rep := newReport(out, how)
	matrices := r.matrices(rep)
	cases := append(r.cases(pick, workers, rep, matrices), r.codeCases(pick, workers, rep)...)
	if pick.list {
		for _, w := range cases {
			fmt.Fprintln(out, w.name())
		}
		return true, nil
	}
	each(r, workers, cases, func(dir string, w work) { rep.add(w, w.run(dir)) })
	return rep.end(), nil
}

// newRig makes the folders of a rig: one for the binary, on a file system that allows
// execution, and one for the stores.
func newRig(short bool) (r *rig, clean func(), err error) {
	var made []string
	clean = func() {
		for _, dir := range made {
			_ = os.RemoveAll(dir)
		}
	}
	for _, below := range []string{"", harness.MemoryDir()} {
		dir, err := os.MkdirTemp(below, "leslie-torture-")
		if err != nil {
			return nil, clean, err
		}
		made = append(made, dir)
		if dir, err = filepath.EvalSymlinks(dir); err == nil { // as strace prints it
			err = os.Chmod(dir, 0o755) // another user must reach it, too
		}
		if err != nil {
			return nil, clean, err
		}
		made[len(made)-1] = dir
	}
	r = &rig{dir: made[1], home: filepath.Join(made[1], "home"), leslie: filepath.Join(made[0], "leslie"), short: short}
	r.common = sync.OnceValues(r.prepareCommon)
	return r, clean, nil
}

// install makes the home folder, and builds or copies the binary.
func (r *rig) install(leslie string) error {
	if err := os.Mkdir(r.home, 0o755); err != nil {
		return err
	}
	return harness.CopyOrBuild(leslie, r.leslie)
}

// matrix is one kind of disturbance.
type matrix struct {
	name  string
	cases func(*ready) []work
}

// matrices returns those that this machine can run, and reports the others.
func (r *rig) matrices(rep *report) []matrix {
	var out []matrix
	if name, err := exec.LookPath("strace"); err == nil && traces(name) {
		r.strace = name
		out = append(out, matrix{"order", (*ready).order}, matrix{"kill", (*ready).kills}, matrix{"fault", (*ready).faults},
			matrix{"permanent", (*ready).permanent}, matrix{"read", (*ready).reads})
	} else {
		rep.skip("kill, fault, permanent, read, order", "strace is missing, or is not allowed to trace")
	}
	if why := mountable(r.home); why == "" {
		out = append(out, matrix{"diskfull", (*ready).fullDisks})
	} else {
		rep.skip("diskfull", why)
	}
	return append(out, matrix{"permissions", (*ready).permissions})
}

// traces reports whether strace works here: a sandbox may forbid it.
func traces(strace string) bool {
	return exec.Command(strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=write", "true").Run() == nil
}

// cases prepares the rows and returns the selected cases.
func (r *rig) cases(pick choice, workers int, rep *report, matrices []matrix) []work {
	rows := lab.Rows()
	found := make([][]work, len(rows))
	var mu sync.Mutex
	each(r, workers, indexes(rows), func(_ string, i int) {
		row := rows[i]
		wanted := slices.ContainsFunc(matrices, func(m matrix) bool { return pick.wants(m.name, row.Name) })
		if !wanted {
			return
		}
		made, err := r.prepare(row, filepath.Join(r.dir, row.Name))
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == errNoStrace:
			rep.skip(row.Name, err.Error())
		case err != nil:
			rep.fail(row.Name, err)
		default:
			for _, m := range matrices {
				if pick.wants(m.name, row.Name) {
					found[i] = append(found[i], pick.of(m.cases(made))...)
				}
			}
		}
	})
	var out []work
	for _, m := range matrices { // one table after the other
		for _, works := range found {
			for _, w := range works {
				if w.matrix == m.name {
					out = append(out, w)
				}
			}
		}
	}
	return out
}

// codeCases prepares the rows that start git, and the run, and returns the selected cases.
func (r *rig) codeCases(pick choice, workers int, rep *report) (out []work) {
	rows := slices.DeleteFunc(lab.GitRows(), func(row lab.GitRow) bool { return !pick.wants("git", row.Name) })
	runs := pick.wants("run", "run")
	if len(rows) == 0 && !runs {
		return nil
	}
	places, err := r.newStations(workers)
	if err != nil {
		rep.skip("git, run", err.Error())
		return nil
	}
	found := make([][]work, len(rows))
	each(r, workers, indexes(rows), func(_ string, i int) {
		made, err := places.prepareCode(rows[i])
		if err != nil {
			rep.fail(rows[i].Name, err)
			return
		}
		found[i] = pick.of(made.cases())
	})
	out = slices.Concat(found...)
	if !runs {
		return out
	}
	made, err := places.prepareRun()
	if err != nil {
		rep.fail("run", err)
		return out
	}
	return append(out, pick.of(made.cases())...)
}

func indexes[T any](items []T) []int {
	out := make([]int, len(items))
	for i := range items {
		out[i] = i
	}
	return out
}
