// Bench compares leslie with baselines ("floors"): an empty program, one that reads the
// same bytes, one that replaces them durably. It prints each command's cost as a multiple
// of its floor, because milliseconds depend on the machine, and which targets of
// docs/internals/performance.md are met.
//
// All runs alternate (leslie, floor, leslie, floor, ...), so that a busy moment affects
// both. Times are those of whole processes, with their CPU time and peak memory as the
// kernel counts them.
//
// git, taskwarrior and sqlite3 are measured, too, where they are installed. The report
// names what was left out.
//
// Usage: go run ./test/bench -leslie bin/leslie [-short] [-only REGEXP] [-runs N]
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
	flag.BoolVar(&o.short, "short", false, "small stores and few runs")
	flag.IntVar(&o.runs, "runs", 0, "how many times to run each command (default 31, with -short 7)")
	flag.BoolVar(&o.keep, "keep", false, "keep the stores")
	only := flag.String("only", "", "measure only the parts whose name matches: "+partNames())
	make := flag.String("make", "", "only create a store in this folder, where leslie init ran before (with -live, -archived, -operations)")
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

// run builds the baselines, measures part by part, and prints the report.
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
