//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"leslie/test/lab"
)

// This file is one run of soak: what all workers share, its beginning and its end.

// soakRun is one store, the workers and the observers.
type soakRun struct {
	*lab.Project
	setup
	report    *report
	sight     *lab.Sight
	newest    newestOperations
	groups    mergeGroups
	workers   []*worker
	observers []*observer

	pausing  sync.RWMutex // held for reading by workers, for writing by a pause
	reported atomic.Int64 // the highest revision that any answer reported
	changes  sync.Map     // revision -> the worker it was acknowledged to
	ended    atomic.Bool
	until    time.Time
	// interrupted ends the run early; the last check still happens.
	interrupted context.Context

	mu        sync.Mutex
	calls     []callRecord // since the last pause
	requested []string     // ids of requests that were answered

	model  *lab.Model
	ids    []string // of all operations, in order
	offset int64    // how far the journal was read
	pauses int
}

// gateID is a thread that never completes. The scenarios' threads depend on it, so they
// are never ready, and claim --next does not claim them.
const gateID = "group-gate"

// freshFor is how old what the workers know of the store may be.
const freshFor = 300 * time.Millisecond

func newRun(p *lab.Project, s setup, out io.Writer) *soakRun {
	r := &soakRun{Project: p, setup: s, model: lab.NewModel(), sight: &lab.Sight{Name: p.Path(lab.StateFile), Fresh: freshFor}}
	r.report = &report{Report: lab.NewReport(out, fmt.Sprint("-seed ", s.seed)), made: map[string]int{}}
	r.groups.up = map[string][]string{}
	return r
}

// observerCount is how many processes observe.
const observerCount = 3

// begin makes the store, the workers and the observers.
func (r *soakRun) begin() error {
	err := r.all("init --here", "objective create Scenarios --id scenarios", "objective create Goal --id goal-first",
		"spawn --intent Gate --objective scenarios --id "+gateID, "suspend "+gateID)
	for i := 0; i < 8 && err == nil; i++ {
		err = r.all(fmt.Sprintf("spawn --intent First --objective goal-first --id first-%d", i))
	}
	if err != nil {
		return err
	}
	for i := range r.processes {
		r.workers = append(r.workers, r.newWorker(i))
	}
	for i := range observerCount {
		r.observers = append(r.observers, r.newObserver(i))
	}
	return r.newGeneration()
}

// all runs commands of soak itself, which must all succeed.
func (r *soakRun) all(lines ...string) error {
	for _, text := range lines {
		if o := r.own(strings.Fields(text)...); !o.OK() || len(o.Doc.Warnings) > 0 {
			return fmt.Errorf("leslie %s: %s", text, o.Text())
		}
	}
	return nil
}

// ownActor is the actor of calls by soak itself.
const ownActor = "soak"

// own runs a command of soak itself.
func (r *soakRun) own(argv ...string) lab.Outcome {
	command := argv[0]
	if (command == "objective" || command == "merge") && len(argv) > 1 && !strings.HasPrefix(argv[1], "-") {
		command += " " + argv[1]
	}
	l := line{Command: command, Argv: append(argv, lab.Who(command, "user", ownActor)...), Scenario: true}
	l.Reads = command == "init" || command == "doctor"
	o := r.Call(l.Argv...)
	r.report.Count(l, o, lab.Interruption{})
	if problem := l.Wrong(o); problem != "" {
		r.violate(nil, "leslie "+shown(l.Argv)+": "+problem+"\n    "+o.Text())
	}
	r.note(ownActor, l, o)
	return o
}

// over reports whether it is time to end.
func (r *soakRun) over() bool {
	return r.ended.Load() || r.interrupted.Err() != nil || time.Now().After(r.until)
}

// run lets all workers work, with pauses, until the time is over, an interrupt, or a
// violation.
func (r *soakRun) run(interrupted context.Context) {
	r.interrupted, r.until = interrupted, time.Now().Add(r.length)
	var working, following sync.WaitGroup
	for _, w := range r.workers {
		working.Go(w.work)
	}
	for _, o := range r.observers {
		following.Go(o.follow)
	}
	for next := time.Now().Add(r.pause); !r.over(); {
		time.Sleep(100 * time.Millisecond)
		if time.Now().After(next) {
			r.pauseAndCheck()
			next = time.Now().Add(r.pause)
		}
	}
	working.Wait()
	r.pauseAndCheck()
	r.rereadJournal()
	r.ended.Store(true)
	for _, o := range r.observers {
		o.stop()
	}
	following.Wait()
}

// violate reports a violation and ends the run.
func (r *soakRun) violate(w *worker, what string) {
	r.ended.Store(true)
	var last []string
	who := "the pause"
	if w != nil {
		r.mu.Lock()
		last = append(last, w.last...)
		r.mu.Unlock()
		who = w.Name
	}
	r.report.Violate(who, what, last...)
}
