// Bench measures leslie beside floors: what an empty program costs, what reading
// the same bytes costs, what replacing them durably costs. It says what a command
// costs as a multiple of its floor, since milliseconds are the machine's and
// multiples are leslie's, and which of the targets of docs/performance.md are met.
//
// All runs alternate: leslie, floor, leslie, floor, ..., so that a busy moment
// falls on both. Times are of whole processes, from start to end, with their own
// user and system time and their peak memory as the kernel counts them.
//
// Where git, taskwarrior and sqlite3 are installed, they stand beside. What the
// binary cannot do yet is left out with a line.
//
// Usage: go run ./bench -leslie bin/leslie [-short] [-only REGEXP] [-runs N]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
)

func main() {
	var o options
	flag.StringVar(&o.leslie, "leslie", "bin/leslie", "the binary to measure")
	flag.BoolVar(&o.short, "short", false, "small stores and few runs: a look, not a measurement")
	flag.IntVar(&o.runs, "runs", 0, "measure each command so often (default 31, with -short 7)")
	flag.BoolVar(&o.keep, "keep", false, "leave the stores behind")
	only := flag.String("only", "", "only parts whose name this matches: "+partNames())
	make := flag.String("make", "", "make a store in this folder, which leslie init prepared, and stop (with -live, -archived, -operations)")
	var p plan
	flag.IntVar(&p.live, "live", 100, "with -make: threads that are not archived")
	flag.IntVar(&p.archived, "archived", 0, "with -make: archived threads")
	flag.IntVar(&p.operations, "operations", 0, "with -make: further operations in the journal")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := func() (err error) {
		if *make != "" {
			return makeStore(*make, p)
		}
		if o.only, err = regexp.Compile(*only); err != nil {
			return err
		}
		return run(ctx, o)
	}()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	leslie string
	short  bool
	runs   int
	keep   bool
	only   *regexp.Regexp
}

// run builds the floors, measures part by part, and prints the report.
func run(ctx context.Context, o options) error {
	if o.runs == 0 {
		o.runs = 31
		if o.short {
			o.runs = 7
		}
	}
	binary, err := filepath.Abs(o.leslie)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "leslie-bench-")
	if err != nil {
		return err
	}
	if !o.keep {
		defer os.RemoveAll(dir)
	}
	b := &bench{ctx: ctx, options: o, leslie: binary, dir: dir, report: &report{}}
	if err := b.prepare(); err != nil {
		return err
	}
	for _, p := range parts() {
		if !o.only.MatchString(p.name) {
			continue
		}
		b.say("%s", p.name)
		if err := p.run(b); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	fmt.Print(b.report.String())
	return nil
}
