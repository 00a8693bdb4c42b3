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
)

// This file is the ground that all work on: what they share, how it begins and
// how it ends.

// ground is one store and everybody at work on it.
type ground struct {
	*project
	setup
	report  *report
	stage   *stage
	choirs  choirs
	workers []*worker
	hearers []*observer

	turn    sync.RWMutex // held for reading by who works, for writing by a pause
	told    atomic.Int64 // the highest revision that anybody was told
	changes sync.Map     // revision -> who was told that it is theirs
	ended   atomic.Bool
	until   time.Time
	// interrupted ends early, and everything is looked at all the same.
	interrupted context.Context

	mu        sync.Mutex
	calls     []called // since the last pause
	requested []string // ids of requests that were answered

	world  *world
	ids    []string // of all operations, in order
	offset int64    // of the journal, as far as it was read
	pauses int
}

// gateID is a thread that is never done: what depends on it is never ready, so
// claim --next leaves the plays alone.
const gateID = "choir-gate"

func newGround(p *project, s setup, out io.Writer) *ground {
	g := &ground{project: p, setup: s, report: newReport(out, s), stage: &stage{}, world: newWorld()}
	g.choirs.up = map[string][]string{}
	return g
}

// observers are how many processes follow.
const observers = 3

// begin makes the store and everybody at work.
func (g *ground) begin() error {
	err := g.all("init --here", "objective create Plays --id plays", "objective create Goal --id goal-first",
		"spawn --intent Gate --objective plays --id "+gateID, "suspend "+gateID)
	for i := 0; i < 8 && err == nil; i++ {
		err = g.all(fmt.Sprintf("spawn --intent First --objective goal-first --id first-%d", i))
	}
	if err != nil {
		return err
	}
	for i := range g.processes {
		g.workers = append(g.workers, g.newWorker(i))
	}
	for i := range observers {
		g.hearers = append(g.hearers, g.newObserver(i))
	}
	return g.rehearse()
}

// all calls lines of the ground's own, each of which has to work.
func (g *ground) all(lines ...string) error {
	for _, text := range lines {
		if o := g.own(strings.Fields(text)...); !o.ok() || len(o.doc.Warnings) > 0 {
			return fmt.Errorf("leslie %s: %s", text, o.text())
		}
	}
	return nil
}

// ownActor is the actor of the ground's own calls.
const ownActor = "soak"

// own is a call of the ground's own.
func (g *ground) own(argv ...string) outcome {
	command := argv[0]
	if (command == "objective" || command == "merge") && len(argv) > 1 && !strings.HasPrefix(argv[1], "-") {
		command += " " + argv[1]
	}
	l := line{command: command, argv: append(argv, "--as", "user", "--actor", ownActor), family: true}
	l.reads = command == "init" || command == "doctor"
	o := g.project.call(l.argv, "", end{})
	g.report.count(l, o, end{})
	if problem := l.wrong(o); problem != "" {
		g.violate(nil, "leslie "+shown(l.argv)+": "+problem+"\n    "+o.text())
	}
	g.note(ownActor, l, o)
	return o
}

// over reports whether it is time to end.
func (g *ground) over() bool {
	return g.ended.Load() || g.interrupted.Err() != nil || time.Now().After(g.until)
}

// run lets everybody work, with pauses, until the time is over, somebody has enough
// of it, or something was wrong.
func (g *ground) run(interrupted context.Context) {
	g.interrupted, g.until = interrupted, time.Now().Add(g.length)
	var working, following sync.WaitGroup
	for _, w := range g.workers {
		working.Go(w.work)
	}
	for _, o := range g.hearers {
		following.Go(o.follow)
	}
	for next := time.Now().Add(g.pause); !g.over(); {
		time.Sleep(100 * time.Millisecond)
		if time.Now().After(next) {
			g.rest()
			next = time.Now().Add(g.pause)
		}
	}
	working.Wait()
	g.rest()
	g.readAgain()
	g.ended.Store(true)
	for _, o := range g.hearers {
		o.stop()
	}
	following.Wait()
}

// violate tells what was wrong, and ends it all.
func (g *ground) violate(w *worker, what string) {
	g.ended.Store(true)
	var last []string
	who := "the pause"
	if w != nil {
		g.mu.Lock()
		last = append(last, w.last...)
		g.mu.Unlock()
		who = w.name()
	}
	g.report.violation(who, what, last)
}
