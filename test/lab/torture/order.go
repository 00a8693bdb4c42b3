//go:build linux

package main

import (
	"path/filepath"
	"slices"
	"strings"

	"leslie/test/lab"
)

// This file reads from a trace what a power cut could lose. It follows every file and
// folder that a run makes, writes or renames: bytes are on disk after an fsync of the
// file, a name after an fsync of its folder. It checks at two moments:
//
//   - at the commit, the rename of the state: everything that the new state names,
//     including archived records and blobs, must be on disk;
//   - at the answer: everything must be on disk.

// unsynced holds what is not on disk yet, by path.
type unsynced struct {
	root  string
	bytes map[string]bool // files with bytes written since their last fsync
	names map[string]bool // names made since the last fsync of their folder
	files map[string]bool // all files that the run made
	syncs int
}

func newUnsynced(root string) *unsynced {
	return &unsynced{root: root, bytes: map[string]bool{}, names: map[string]bool{}, files: map[string]bool{}}
}

// missing returns what is not on disk, of the paths that counts selects.
func (l *unsynced) missing(counts func(rel string) bool) []string {
	var out []string
	for _, kind := range []struct {
		what  string
		paths map[string]bool
	}{{"the bytes of ", l.bytes}, {"the name ", l.names}} {
		for p := range kind.paths {
			if rel, err := filepath.Rel(l.root, p); err == nil && counts(rel) {
				out = append(out, kind.what+rel)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (l *unsynced) rel(at string) string {
	rel, err := filepath.Rel(l.root, at)
	if err != nil {
		return at
	}
	return rel
}

// take follows one successful call.
func (l *unsynced) take(c point, existed func(string) bool) {
	if len(c.paths) == 0 {
		return
	}
	at := c.paths[0]
	if c.name == "copy_file_range" || c.name == "splice" { // from the first to the second
		at = c.paths[len(c.paths)-1]
	}
	if !strings.HasPrefix(at, l.root+"/") && at != l.root {
		return // a copy for a validator, outside the project
	}
	switch {
	case c.opensToWrite():
		if c.creates() && !existed(at) {
			l.names[at], l.files[at] = true, true
		}
	case slices.Contains([]string{"write", "pwrite64", "writev", "ftruncate", "copy_file_range", "splice", "sendfile", "fallocate"}, c.name):
		l.bytes[at] = true
	case c.name == "fsync" || c.name == "fdatasync":
		l.synced(at)
	case strings.HasPrefix(c.name, "mkdir"):
		l.names[at] = true
	case strings.HasPrefix(c.name, "link"):
		l.copied(at, c.paths[1])
	case strings.HasPrefix(c.name, "rename"):
		l.moved(at, c.paths[1])
	case strings.HasPrefix(c.name, "unlink") || c.name == "rmdir":
		delete(l.bytes, at)
		delete(l.names, at)
		delete(l.files, at)
	}
}

func (c point) creates() bool {
	return c.name == "creat" || slices.ContainsFunc(c.args, func(arg string) bool { return strings.Contains(arg, "O_CREAT") })
}

// synced follows an fsync: a file's bytes, or the names in a folder, are on disk.
func (l *unsynced) synced(at string) {
	l.syncs++
	delete(l.bytes, at)
	for name := range l.names {
		if filepath.Dir(name) == at {
			delete(l.names, name)
		}
	}
}

func (l *unsynced) copied(from, to string) {
	l.names[to], l.files[to] = true, true
	if l.bytes[from] {
		l.bytes[to] = true
	}
}

// moved follows a rename, including everything below a folder.
func (l *unsynced) moved(from, to string) {
	for _, paths := range []map[string]bool{l.bytes, l.names, l.files} {
		delete(paths, to)
		for p := range paths {
			if p == from || strings.HasPrefix(p, from+"/") {
				delete(paths, p)
				paths[to+strings.TrimPrefix(p, from)] = true
			}
		}
	}
	l.names[to] = true
}

// volatile reports whether a path may be lost: locks and the log.
func volatile(rel string) bool {
	base := filepath.Base(rel)
	return strings.HasSuffix(base, ".lock") || base == "lock" && strings.HasPrefix(rel, lab.StoreDir+"/tmp/") ||
		rel == lab.StoreDir+"/logs" || strings.HasPrefix(rel, lab.StoreDir+"/logs/")
}

// countsAtCommit leaves out the new state's name, which is the commit; the backup and
// displaced files, which nothing relies on; and empty staging folders.
func (l *unsynced) countsAtCommit(rel string) bool {
	switch {
	case volatile(rel), rel == lab.StoreDir+"/"+lab.StateFile, rel == lab.StoreDir+"/"+lab.BackupFile, strings.Contains(rel, ".set-aside-"):
		return false
	case strings.HasPrefix(rel, lab.StoreDir+"/tmp/"):
		return l.holds(filepath.Join(l.root, rel))
	}
	return true
}

// holds reports whether a path is a file that this run made, or a folder with one,
// locks aside.
func (l *unsynced) holds(at string) bool {
	for p := range l.files {
		rel, _ := filepath.Rel(l.root, p)
		if (p == at || strings.HasPrefix(p, at+"/")) && !volatile(rel) {
			return true
		}
	}
	return false
}

func countsInAnswer(rel string) bool {
	return !volatile(rel) && !strings.HasPrefix(rel, lab.StoreDir+"/tmp/") && rel != lab.StoreDir+"/tmp"
}

// order checks the trace of the row's undisturbed run, if it changes anything.
func (r *ready) order() []work {
	if r.Idle {
		return nil
	}
	existed := func(name string) bool {
		rel, _ := filepath.Rel(r.ran.Dir, name)
		_, there := r.raw[rel]
		return there
	}
	return []work{{matrix: "order", row: r.Name, run: func(string) result { return checkOrder(r.ran, r.points, r.Row, existed) }}}
}

// checkOrder follows a trace of a row's command from the first call to the answer. If there
// was no store before, it checks only at the answer.
func checkOrder(p *project, points []point, r lab.Row, existed func(string) bool) result {
	l := newUnsynced(p.Dir)
	commitsSeen, answered := 0, false
	for _, c := range points {
		if strings.HasPrefix(c.result, "-1") {
			continue
		}
		if c.ours {
			l.take(c, existed)
		}
		switch {
		case answered && !r.AnswersFirst && c.ours && c.changes() && c.name != "flock" && !volatile(l.rel(c.paths[len(c.paths)-1])):
			return result{problem: "after the answer, " + c.name + " changes " + l.rel(c.paths[len(c.paths)-1])}
		case r.AnswersFirst && !answered && commits(c, p):
			return result{problem: "before the answer, " + c.name + " records that it was read"}
		case commits(c, p):
			commitsSeen++
			if lacks := l.missing(l.countsAtCommit); len(lacks) > 0 && !r.Empty {
				return result{problem: "at the commit, " + strings.Join(lacks, ", ") + " is not on disk"}
			}
		case c.answers():
			answered = true
			if lacks := l.missing(countsInAnswer); len(lacks) > 0 {
				return result{problem: "at the answer, " + strings.Join(lacks, ", ") + " is not on disk"}
			}
		}
	}
	if !answered {
		return result{problem: "no answer was seen"}
	}
	return result{hit: true, commits: commitsSeen, syncs: l.syncs}
}
