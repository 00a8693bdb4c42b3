//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file lets calls fail: one of them, or everything from one on.

// errorsOf are the errors that a call can return, of those that a disk gives.
func errorsOf(c point) []string {
	switch {
	case c.answers():
		return []string{"EIO", "ENOSPC", "EINTR"}
	case strings.HasPrefix(c.name, "open") && c.opensToWrite(), c.name == "creat":
		return []string{"EIO", "ENOSPC", "EDQUOT", "EMFILE", "EROFS", "EACCES", "EINTR"}
	case strings.HasPrefix(c.name, "open"):
		return []string{"EIO", "EMFILE", "EACCES", "EINTR"}
	}
	for _, of := range []struct{ names, errors string }{
		{"write pwrite64 writev pwritev copy_file_range sendfile splice fallocate close", "EIO ENOSPC EDQUOT EINTR"},
		{"fsync fdatasync", "EIO ENOSPC EDQUOT EROFS EINTR"},
		{"rename renameat renameat2 mkdir mkdirat mknodat symlinkat", "EIO ENOSPC EDQUOT EROFS EACCES EINTR"},
		{"link linkat", "EIO ENOSPC EDQUOT EROFS EACCES EPERM EINTR"}, // EPERM: a disk without hard links
		{"unlink unlinkat rmdir", "EIO EROFS EACCES EINTR"},
		{"truncate ftruncate chmod fchmod fchmodat fchmodat2 utimensat", "EIO EROFS EACCES EINTR"},
		{"flock", "EIO EINTR"},
		{"read pread64 getdents64", "EIO EINTR"},
		{"fstat", "EIO"},
		{"newfstatat statx readlinkat access faccessat2", "EIO EACCES"},
	} {
		if slices.Contains(strings.Fields(of.names), c.name) {
			return strings.Fields(of.errors)
		}
	}
	return nil
}

// fault is the injection that lets the call fail.
func (c point) fault(errno string) string {
	return c.aim("error=" + errno)
}

// faults are the cases in which one call that changes the disk fails.
func (r *ready) faults() (out []work) {
	written := map[string]bool{}
	points := numbered(r.points, func(c point) bool {
		if c.opensToWrite() && len(c.paths) > 0 {
			written[c.paths[len(c.paths)-1]] = true
		}
		closes := c.name == "close" && len(c.paths) > 0 && written[c.paths[0]]
		return (c.changes() || closes) && c.ours || c.answers()
	})
	return r.failing("fault", points, everyError)
}

// reads are those in which one that only looks does. There are so many of them
// that the errors go round: each call fails with one.
func (r *ready) reads() []work {
	points := numbered(r.points, func(c point) bool {
		looks := slices.Contains(looking(), c.name) || strings.HasPrefix(c.name, "open") && !c.opensToWrite()
		input := len(c.paths) > 0 && filepath.Base(c.paths[0]) == planFile
		return looks && c.ours && !input
	})
	return r.failing("read", points, oneError)
}

func everyError(_ int, of []string) []string { return of }

func oneError(i int, of []string) []string {
	if len(of) == 0 {
		return nil
	}
	return of[i%len(of):][:1]
}

func (r *ready) failing(matrix string, points []point, pick func(i int, of []string) []string) (out []work) {
	for i, c := range points {
		for _, errno := range pick(i, errorsOf(c)) {
			out = append(out, work{
				matrix: matrix, row: r.name, rest: c.String() + "/" + errno, key: errno,
				run: func(dir string) result { return r.fail(dir, c, []string{c.fault(errno)}) },
			})
		}
	}
	return out
}

// permanent are the cases in which a disk turns read-only: from a point on every
// call that changes it fails, and so does what tries to clean up. Opens and
// writes are left alone: they cannot be told from reading and answering.
func (r *ready) permanent() (out []work) {
	for i, c := range r.points {
		if c.main && c.ours && turnsReadOnly(c.name) {
			out = append(out, work{
				matrix: "permanent", row: r.name, rest: fmt.Sprintf("%s/%d", c.name, len(out)+1), key: "EROFS from there on",
				run: func(dir string) result { return r.fail(dir, c, r.from(i)) },
			})
		}
	}
	return out
}

func turnsReadOnly(name string) bool {
	return slices.Contains(strings.Fields("fsync rename renameat renameat2 link linkat unlink unlinkat rmdir mkdir mkdirat ftruncate fchmod fchmodat"), name)
}

// from are the injections that let everything fail from the i-th call on.
func (r *ready) from(i int) (out []string) {
	counts := map[string]int{}
	for _, before := range r.points[:i] {
		if before.main {
			counts[before.name]++
		}
	}
	names := map[string]bool{}
	for _, at := range r.points[i:] {
		if at.main && turnsReadOnly(at.name) && !names[at.name] {
			names[at.name] = true
			out = append(out, fmt.Sprintf("%s:error=EROFS:when=%d+", at.name, counts[at.name]+1))
		}
	}
	return out
}

// fail disturbs one run and judges what it said and left.
func (r *ready) fail(dir string, c point, injections []string) (res result) {
	for range c.tries() {
		res = r.failOnce(dir, c, injections)
		if res.hit || res.problem != "" {
			return res
		}
	}
	return res
}

func (r *ready) failOnce(dir string, c point, injections []string) result {
	p, err := r.origin.copyTo(dir, 0)
	defer os.RemoveAll(dir)
	if err != nil {
		return result{problem: err.Error()}
	}
	o, points := p.traced(injections, r.argv...)
	hit := slices.ContainsFunc(points, func(at point) bool {
		return c.is(at) && at.injected() && (at.ours || at.answers())
	})
	if slices.ContainsFunc(points, func(at point) bool { return at.injected() && !at.ours && !at.answers() }) {
		return result{} // it came to a call of the runtime's own, such as the wake-up of a thread
	}
	// Nobody can be told; what stands has to stand.
	mute := slices.ContainsFunc(points, func(at point) bool { return at.answers() && at.injected() })
	if mute && slices.ContainsFunc(points, func(at point) bool { return !at.answers() && at.injected() }) {
		return result{} // two threads had their first call of the name: nobody knows what could not be told
	}
	if mute && o.Doc == nil && o.Status > 0 {
		where, problem := r.check(postcondition{project: p, said: saidDone, settled: true})
		return result{hit: hit, outcome: unanswered, problem: problem, side: where}
	}
	a, problem := r.readAnswer(p, o)
	if problem != "" {
		return result{hit: hit, problem: problem}
	}
	if !slices.ContainsFunc(points, func(at point) bool { return at.injected() && (at.changes() || at.answers()) }) {
		a.mayRemain = a.aside // what failed, perhaps not what was meant to, only looked
	}
	acknowledged := a.said == saidDone && a.settled && (!r.unrecorded || len(r.ref.warnings) > 0)
	if lost := p.notOnDisk(points); lost != "" && acknowledged {
		return result{hit: hit, problem: lost + " is not on disk, and no W505 says so"}
	}
	once := len(injections) == 1 && !strings.HasSuffix(injections[0], "+")
	if left := r.leftBy(a); left != "" && once && c.changes() && !removes(c.name) {
		return result{hit: hit, problem: "it failed and left " + left}
	}
	where, problem := r.checkOnce(a)
	return result{hit: hit, outcome: a.outcome(), problem: problem, side: where}
}

// leftBy is what a failed run left beside what there was. One error is no reason
// to: only where removing it is what failed it may stay, for the next writer. A
// store that is made, or that owes an earlier operation its files, comes further.
func (r *ready) leftBy(a postcondition) string {
	raw, err := a.rawFiles()
	if err != nil || a.said != saidFailed || r.empty || r.damaged || r.pendingFiles() {
		return ""
	}
	for _, name := range sorted(raw) {
		if _, was := r.raw[name]; !was && !unreferenced(name) && !transient(name) {
			return name
		}
	}
	return ""
}

func removes(call string) bool { return strings.HasPrefix(call, "unlink") || call == "rmdir" }

// notOnDisk is what an fsync that failed was to put on disk, and no later one
// did; "" when there is no such thing that counts.
func (p *project) notOnDisk(points []point) string {
	lost := map[string]bool{}
	for _, c := range points {
		if c.name != "fsync" || !c.ours {
			continue
		}
		rel, err := filepath.Rel(p.dir, c.paths[0])
		switch {
		case err != nil || volatile(rel):
		case c.injected():
			lost[rel] = true
		case c.result == "0":
			delete(lost, rel)
		}
	}
	for rel := range lost {
		return rel
	}
	return ""
}

// What a disturbed call that ended honestly said.
const (
	succeeded        = "success"
	unsettled        = "success, W505"
	refused          = "T5xx"
	inPart           = "T5xx, in part"
	unrecordedAnswer = "unnoted"
	unanswered       = "no answer"
)

func (a postcondition) outcome() string {
	switch {
	case a.said == saidDone && a.settled:
		return succeeded
	case a.said == saidDone:
		return unsettled
	case a.said == saidPart:
		return inPart
	case a.said == saidUnrecorded:
		return unrecordedAnswer
	}
	return refused
}
