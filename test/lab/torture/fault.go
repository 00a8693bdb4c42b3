//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/test/lab"
)

// This file makes calls fail: one of them, or all from one on.

// errorsOf returns the errors of a disk that a call can return.
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

// fault returns the injection that makes the call fail.
func (c point) fault(errno string) string {
	return c.aim("error=" + errno)
}

// faults returns the cases in which one call that changes the disk fails.
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

// reads returns the cases in which one call that only reads fails. There are many, so
// each call fails with only one of its errors.
func (r *ready) reads() []work {
	points := numbered(r.points, func(c point) bool {
		looks := slices.Contains(readingCalls(), c.name) || strings.HasPrefix(c.name, "open") && !c.opensToWrite()
		input := len(c.paths) > 0 && filepath.Base(c.paths[0]) == lab.PlanFile
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
				matrix: matrix, row: r.Name, rest: c.String() + "/" + errno, key: errno,
				run: func(dir string) result { return r.fail(dir, c, []string{c.fault(errno)}) },
			})
		}
	}
	return out
}

// permanent returns the cases in which the disk becomes read-only: from a point on every
// call that changes it fails, also when leslie cleans up. open and write do not fail:
// strace cannot tell them from reading and answering.
func (r *ready) permanent() (out []work) {
	for i, c := range r.points {
		if c.main && c.ours && turnsReadOnly(c.name) {
			out = append(out, work{
				matrix: "permanent", row: r.Name, rest: fmt.Sprintf("%s/%d", c.name, len(out)+1), key: "EROFS from there on",
				run: func(dir string) result { return r.fail(dir, c, r.from(i)) },
			})
		}
	}
	return out
}

func turnsReadOnly(name string) bool {
	return slices.Contains(strings.Fields("fsync rename renameat renameat2 link linkat unlink unlinkat rmdir mkdir mkdirat ftruncate fchmod fchmodat"), name)
}

// from returns the injections that make every call from the i-th on fail.
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

// fail disturbs one run and checks its answer and the store. What four tries do not hit,
// hardly any do: other threads always make that call first.
func (r *ready) fail(dir string, c point, injections []string) (res result) {
	for range c.tries() / 2 {
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
		return result{} // it hit a call of the Go runtime, such as the wake-up of a thread
	}
	// The answer could not be written, but the change must be there.
	answerFailed := slices.ContainsFunc(points, func(at point) bool { return at.answers() && at.injected() })
	if answerFailed && slices.ContainsFunc(points, func(at point) bool { return !at.answers() && at.injected() }) {
		return result{} // two threads made their first call of that name: it is unknown which one failed
	}
	if answerFailed && o.Doc == nil && o.Status > 0 {
		where, problem := r.check(postcondition{project: p, said: saidDone, settled: true})
		return result{hit: hit, outcome: unanswered, problem: problem, side: where}
	}
	a, problem := r.readAnswer(p, o)
	if problem != "" {
		return result{hit: hit, problem: problem}
	}
	if !slices.ContainsFunc(points, func(at point) bool { return at.injected() && (at.changes() || at.answers()) }) {
		a.mayRemain = a.isDisplaced // the call that failed, maybe not the intended one, only reads
	}
	acknowledged := a.said == saidDone && a.settled && !r.AnswersFirst && (!r.Unrecorded || len(r.ref.warnings) > 0)
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

// leftBy returns the first file that a failed run left behind, or "". One error must not
// leave any, unless the removal itself failed; then the next writer removes it. A store
// that is being created, or that finishes an earlier operation first, may change more.
func (r *ready) leftBy(a postcondition) string {
	raw, err := a.rawFiles()
	if err != nil || a.said != saidFailed || r.Empty || r.Damaged || r.pendingFiles() {
		return ""
	}
	for _, name := range lab.Sorted(raw) {
		if _, was := r.raw[name]; !was && !unreferenced(name) && !transient(name) {
			return name
		}
	}
	return ""
}

func removes(call string) bool { return strings.HasPrefix(call, "unlink") || call == "rmdir" }

// notOnDisk returns a file whose fsync failed and was not repeated, or "". Files that
// may be lost do not count.
func (p *project) notOnDisk(points []point) string {
	lost := map[string]bool{}
	for _, c := range points {
		if c.name != "fsync" || !c.ours {
			continue
		}
		rel, err := filepath.Rel(p.Dir, c.paths[0])
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

// What a disturbed call reported.
const (
	succeeded        = "success"
	killedAll        = "leslie died"
	unsettled        = "success, W505"
	refused          = "T5xx"
	inPart           = "T5xx, partly"
	unrecordedAnswer = "unrecorded"
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
