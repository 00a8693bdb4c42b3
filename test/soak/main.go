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
)

// setup is what the flags say.
type setup struct {
	leslie    string
	length    time.Duration
	pause     time.Duration // from one to the next
	processes int
	seed      uint64
	keep      bool
}

func main() {
	var s setup
	flag.StringVar(&s.leslie, "leslie", "", "the binary; built from the source when none is named")
	flag.DurationVar(&s.length, "for", 5*time.Minute, "how long")
	flag.IntVar(&s.processes, "processes", 16, "so many at once")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()%1_000_000), "what is drawn; not which process comes first")
	flag.BoolVar(&s.keep, "keep", false, "keep the store; one in which something was wrong is always kept")
	short := flag.Bool("short", false, "about half a minute")
	flag.Parse()
	if flag.NArg() > 0 || s.processes < 1 || s.processes > 99 {
		fmt.Fprintln(os.Stderr, "soak: flags alone, and 1 to 99 processes")
		os.Exit(2)
	}
	s.pause = 20 * time.Second
	if *short {
		s.length, s.pause = 25*time.Second, 8*time.Second
	}
	held, err := soak(s, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	if err != nil || !held {
		os.Exit(1)
	}
}

// soak runs the workers and says whether everything held.
func soak(s setup, out io.Writer) (held bool, err error) {
	dir, err := os.MkdirTemp("", "leslie-soak-")
	if err != nil {
		return false, err
	}
	defer func() {
		if held && !s.keep {
			_ = os.RemoveAll(dir)
		} else {
			fmt.Fprintln(out, "the store is kept:", filepath.Join(dir, "project"))
		}
	}()
	p, err := furnish(dir, s.leslie)
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

// furnish puts the binary, an empty home and a project into a folder.
func furnish(dir, leslie string) (*project, error) {
	p := &project{leslie: filepath.Join(dir, "leslie"), dir: filepath.Join(dir, "project"), home: filepath.Join(dir, "home"), scratch: filepath.Join(dir, "scratch")}
	for _, d := range []string{p.dir, p.home, p.scratch} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	return p, harness.CopyOrBuild(leslie, p.leslie)
}
