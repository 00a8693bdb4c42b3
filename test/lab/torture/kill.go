//go:build linux

package main

import (
	"bytes"
	"os"
	"slices"
)

// This file kills: SIGKILL before each call that changes the disk, before the answer is
// written, and before the process ends.

// A group is a set of calls that leslie makes concurrently: no call of its first thread
// that changes the disk comes between them. A kill undoes nothing, so a kill before any
// of them leaves the same files, and a kill before one counts for all. Attempts aim at
// one after the other, first at those whose path no other group has.

// groups returns the points that are not on the first thread, by group.
func groups(points []point) map[int][]point {
	out := map[int][]point{}
	at := 0
	for _, c := range points {
		switch {
		case c.main && c.ours && c.changes():
			at++
		case !c.main && c.ours && c.changes():
			out[at] = append(out[at], c)
		}
	}
	return out
}

// sameGroup returns the points of the same group, the best targets first.
func (r *ready) sameGroup(c point) []point {
	all := groups(r.points)
	times := map[string]int{}
	for _, group := range all {
		for _, at := range group {
			times[at.place]++
		}
	}
	for _, group := range all {
		if !slices.ContainsFunc(group, c.same) {
			continue
		}
		group = slices.Clone(group)
		slices.SortStableFunc(group, func(a, b point) int {
			return times[a.place] - times[b.place]
		})
		return group
	}
	return []point{c}
}

// kill returns the injection that kills the process when it enters the call.
func (c point) kill() string { return c.aim("signal=KILL") }

// killPoints returns the points at which a row is killed. The end of the process is left
// out if leslie starts other programs: their end has the same number and comes first.
func (r *ready) killPoints() []point {
	others := slices.ContainsFunc(r.points, func(c point) bool { return c.name == end && !c.main })
	return numbered(r.points, func(c point) bool {
		return c.changes() && c.ours || c.answers() || c.name == end && c.main && !others
	})
}

func (r *ready) kills() (out []work) {
	for _, c := range r.killPoints() {
		out = append(out, work{matrix: "kill", row: r.Name, rest: c.String(), run: func(dir string) result { return r.kill(dir, c) }})
	}
	return out
}

// kill kills one run and checks the store, wherever the process really died.
func (r *ready) kill(dir string, c point) (res result) {
	for try := range c.tries() {
		res = r.killOnce(dir, c, try)
		if res.hit || res.problem != "" {
			return res
		}
	}
	return res
}

func (r *ready) killOnce(dir string, c point, try int) result {
	p, err := r.origin.copyTo(dir, 0)
	defer os.RemoveAll(dir)
	if err != nil {
		return result{problem: err.Error()}
	}
	aim, meant := c, []point{c}
	if !c.main {
		meant = r.sameGroup(c)
		aim = meant[try%len(meant)]
	}
	o, points := p.traced([]string{aim.kill()}, r.argv...)
	if o.Status > 0 && bytes.Contains(o.Stderr, []byte("strace: ptrace(")) {
		return result{} // strace failed, because the thread that it looked at died just then
	}
	a, problem := r.readKilledAnswer(p, o)
	if problem != "" {
		return result{problem: problem}
	}
	check := r.check
	if o.Status != -1 { // it was not killed
		check = r.checkOnce
	}
	where, problem := check(a)
	return result{hit: o.Status == -1 && slices.ContainsFunc(meant, func(c point) bool { return diedIn(points, c) }), side: where, problem: problem}
}

// readKilledAnswer reads what a killed call reported, if anything: the answer is written
// before the process ends.
func (r *ready) readKilledAnswer(p *project, o outcome) (postcondition, string) {
	switch {
	case o.Err == nil && o.Status == -1 && len(o.Stdout) == 0:
		return postcondition{project: p}, ""
	case o.Status == -1 && o.Doc != nil && o.Doc.Success == (r.Code == ""):
		o.Status = r.Status
	}
	return r.readAnswer(p, o)
}

// diedIn reports whether the trace of a killed run ends at a point. Several threads may
// have been inside a call.
func diedIn(points []point, c point) bool {
	if !c.main {
		return slices.ContainsFunc(points, func(at point) bool { return c.is(at) && at.died() })
	}
	i := len(points) - 1
	for i >= 0 && !points[i].main {
		i--
	}
	return i >= 0 && points[i].name == c.name && points[i].nth == c.nth && points[i].died()
}
