//go:build unix

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"leslie/test/harness"
	"leslie/test/lab"
)

// setup holds the flags.
type setup struct {
	leslie    string
	length    time.Duration
	pause     time.Duration // time between two pauses
	processes int
	seed      uint64
	keep      bool
}

func main() {
	var s setup
	flag.StringVar(&s.leslie, "leslie", "", "the `binary`; built from the source by default")
	flag.DurationVar(&s.length, "for", 5*time.Minute, "how long to run")
	flag.IntVar(&s.processes, "processes", 16, "the number of parallel processes")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()%1_000_000), "the random seed; it does not determine the order of the processes")
	flag.BoolVar(&s.keep, "keep", false, "keep the store; after a violation it is always kept")
	short := flag.Bool("short", false, "run for about half a minute")
	flag.Parse()
	if flag.NArg() > 0 || s.processes < 1 || s.processes > 99 {
		fmt.Fprintln(os.Stderr, "soak: expected only flags, and 1 to 99 processes")
		os.Exit(2)
	}
	s.pause = 20 * time.Second
	if *short {
		s.length, s.pause = 25*time.Second, 8*time.Second
	}
	kept, err := soak(s, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	if err != nil || !kept {
		os.Exit(1)
	}
}

// soak runs the workers and reports whether every promise was kept.
func soak(s setup, out io.Writer) (kept bool, err error) {
	dir, err := os.MkdirTemp("", "leslie-soak-")
	if err != nil {
		return false, err
	}
	defer func() {
		if kept && !s.keep {
			_ = os.RemoveAll(dir)
		} else {
			fmt.Fprintln(out, "the store is in", filepath.Join(dir, "project"))
		}
	}()
	p, err := newProject(dir, s.leslie)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "soak: %d processes for %s, -seed %d\n", s.processes, s.length, s.seed)
	g := newRun(p, s, out)
	if err := g.begin(); err != nil {
		return false, err
	}
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	g.run(interrupted)
	return g.report.end(g), nil
}

// callTimeout is the longest a call may take; waiting for the lock takes at most 21.3 s.
const callTimeout = 90 * time.Second

// newProject makes a folder with the binary, an empty home and a project.
func newProject(dir, leslie string) (*lab.Project, error) {
	p := &lab.Project{Leslie: filepath.Join(dir, "leslie"), Dir: filepath.Join(dir, "project"), Home: filepath.Join(dir, "home"),
		Temp: filepath.Join(dir, "scratch"), Limit: callTimeout, Attr: lab.Apart()}
	for _, d := range []string{p.Dir, p.Home, p.Temp} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	return p, harness.CopyOrBuild(leslie, p.Leslie)
}
