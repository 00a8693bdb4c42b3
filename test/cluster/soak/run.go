//go:build linux

package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// This file is what all workers share.

// run is one run of soak.
type run struct {
	*fleet
	setup   setup
	report  *report
	workers []*worker
	ended   atomic.Bool

	mu       sync.Mutex
	requests map[string]*request
	seen     time.Time // when the lists below were read
	known    []string  // threads
	open     []string  // approvals
}

func newRun(f *fleet, s setup, out io.Writer) *run {
	r := &run{fleet: f, setup: s, report: newReport(out), requests: map[string]*request{}}
	for i := range s.workers {
		r.workers = append(r.workers, r.newWorker(i+1))
	}
	return r
}

// begin makes the first threads.
func (r *run) begin() error {
	for i := range 8 {
		if o := r.call(i%len(r.copies), []string{"spawn", "--intent", "First", "--objective", "goal", "--id", fmt.Sprintf("first-%d", i)}, "", nil); !o.OK() {
			return fmt.Errorf("leslie spawn: %s", o.Text())
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

// threads returns the threads as they were not long ago, approvals the open requests.
func (r *run) threads() []string {
	known, _ := r.snapshot()
	return known
}

func (r *run) approvals() []string {
	_, open := r.snapshot()
	return open
}

// snapshotEvery is how old what workers know of the project may be.
const snapshotEvery = 2 * time.Second

func (r *run) snapshot() (known, open []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.seen) < snapshotEvery {
		return r.known, r.open
	}
	var list struct{ Items []struct{ ThreadID string } }
	var asked struct{ Items []struct{ ApprovalID string } }
	threads, approvals := r.call(0, []string{"list", "--limit", "0", "--offline"}, "", nil), r.call(0, []string{"approvals", "--offline"}, "", nil)
	threads.Into(&list)
	approvals.Into(&asked)
	r.seen, r.known, r.open = time.Now(), nil, nil
	for _, t := range list.Items {
		r.known = append(r.known, t.ThreadID)
	}
	for _, a := range asked.Items {
		r.open = append(r.open, a.ApprovalID)
	}
	return r.known, r.open
}

// violate reports a violation and ends the run.
func (r *run) violate(format string, args ...any) {
	r.ended.Store(true)
	r.report.violation(fmt.Sprintf(format, args...))
}
