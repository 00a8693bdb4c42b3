//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"leslie/test/lab"
)

// setup holds the flags.
type setup struct {
	leslie, server  string
	length          time.Duration // without a fault
	rounds          int           // of each fault
	copies, workers int
	seed            uint64
	only            string
	disks, keep     bool
	tls             bool // servers that offer TLS
}

func main() {
	if status, is := lab.Tracer(); is {
		os.Exit(status)
	}
	var s setup
	flag.StringVar(&s.leslie, "leslie", "", "the `binary`; built from the source by default")
	flag.StringVar(&s.server, "server", "bin/nats-server", "the `program` nats-server")
	flag.DurationVar(&s.length, "for", time.Minute, "how long to run without a fault")
	flag.IntVar(&s.rounds, "rounds", 10, "how many rounds of each fault")
	flag.IntVar(&s.copies, "copies", 8, "the number of machines")
	flag.IntVar(&s.workers, "workers", 12, "the number of parallel processes")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()%1_000_000), "the random seed; it does not determine the order of the processes")
	flag.StringVar(&s.only, "only", "", "only rounds of the `fault`, or the measurement, with this name")
	flag.BoolVar(&s.disks, "disks", os.Geteuid() == 0, "give each server a disk of its own, for power cuts (root)")
	flag.BoolVar(&s.keep, "keep", false, "keep the copies; after a violation they are always kept")
	kills := flag.Bool("kills", false, "kill leslie at each of its steps, with one server")
	measure := flag.Bool("measure", false, "measure, and check nothing")
	short := flag.Bool("short", false, "one round of each fault, or every fourth kill")
	flag.Parse()
	if flag.NArg() > 0 || s.copies < 2 || s.workers < 1 {
		fmt.Fprintln(os.Stderr, "faults: expected only flags, at least two copies and one worker")
		os.Exit(2)
	}
	if *short {
		s.length, s.rounds = 15*time.Second, 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	what := faultRounds
	switch {
	case *kills:
		what = killAll
	case *measure:
		what = measureAll
	}
	kept, err := what(ctx, s, *short, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
	}
	if err != nil || !kept {
		os.Exit(1)
	}
}

// faultRounds runs the workers and the faults, and reports whether every promise was kept.
func faultRounds(ctx context.Context, s setup, _ bool, out io.Writer) (kept bool, err error) {
	f, err := newFleet(ctx, s, 3)
	if f != nil {
		defer func() { f.close(kept && !s.keep, out) }()
	}
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "faults: %d copies, %d processes, -seed %d\n", s.copies, s.workers, s.seed)
	r := newRun(f, s, out)
	if err := r.begin(); err != nil {
		return false, err
	}
	r.rounds(ctx)
	return r.report.end(r), nil
}
