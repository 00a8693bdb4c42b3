//go:build linux

package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"leslie/test/lab"
)

// This file is what all workers share.

// run is one run.
type run struct {
	*fleet
	setup   setup
	report  *report
	workers []*worker
	ended   atomic.Bool

	sight *lab.Sight // of the first copy

	mu       sync.Mutex
	requests map[string]*request
}

// freshFor is how old what workers know of the project may be.
const freshFor = 2 * time.Second

func newRun(f *fleet, s setup, out io.Writer) *run {
	r := &run{fleet: f, setup: s, requests: map[string]*request{}, sight: &lab.Sight{Name: f.path(0, lab.StateFile), Fresh: freshFor}}
	r.report = &report{Report: lab.NewReport(out, fmt.Sprint("-seed ", s.seed))}
	for i := range s.workers {
		r.workers = append(r.workers, r.newWorker(i+1))
	}
	return r
}

// begin makes the first threads.
func (r *run) begin() error {
	for i := range 8 {
		if err := r.machine("writer", i%len(r.copies)).All(fmt.Sprintf("spawn --intent First --objective goal --id first-%d", i)); err != nil {
			return err
		}
	}
	return nil
}

// work has all workers work for some time. It calls fault, if that is not nil, meanwhile.
func (r *run) work(length time.Duration, fault func()) {
	var working sync.WaitGroup
	until := time.Now().Add(length)
	for _, w := range r.workers {
		working.Go(func() { w.work(until) })
	}
	if fault != nil {
		time.Sleep(length / 4)
		fault()
	}
	working.Wait()
}

// violate reports a violation and ends the run.
func (r *run) violate(format string, args ...any) {
	r.ended.Store(true)
	r.report.Violate("faults", fmt.Sprintf(format, args...))
}
