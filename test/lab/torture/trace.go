//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"leslie/test/lab"
)

// This file runs leslie under strace and reads the trace.
//
// strace counts calls per thread. leslie's main goroutine stays on the process's first
// thread, so the store's calls have the same numbers as in an undisturbed run. Calls
// that leslie makes concurrently, on any thread, are identified by their path. Whether a
// disturbance hit its target is read from the trace of that run.

// aimedAt separates an injection from the path, relative to the project, that it is for.
const aimedAt = "@"

// aim returns an injection for this point; what is its effect, such as error=EIO. For a
// thread other than the first it uses the path instead of the number. If the path
// contains a random id, it uses the first call of that name.
func (c point) aim(what string) string {
	switch {
	case c.main:
		return fmt.Sprintf("%s:%s:when=%d", c.name, what, c.nth)
	case !c.samePath():
		return fmt.Sprintf("%s:%s:when=1", c.name, what)
	}
	return fmt.Sprintf("%s:%s:when=1%s%s", c.name, what, aimedAt, c.place)
}

// samePath reports whether the point's path is the same in every run.
func (c point) samePath() bool { return c.place != "" && !lab.RandomID.MatchString(c.place) }

// same reports whether two points of one run are the same.
func (c point) same(at point) bool {
	return c.name == at.name && c.nth == at.nth && c.main == at.main && c.thread == at.thread
}

// is reports whether a point of another run is this one.
func (c point) is(at point) bool {
	if c.main {
		return at.main && at.name == c.name && at.nth == c.nth
	}
	plain := func(place string) string { return lab.RandomID.ReplaceAllString(place, "$1-#") }
	return !at.main && at.name == c.name && plain(at.place) == plain(c.place)
}

// tries returns how often to try to hit this point: another thread may make the call
// with its number first.
func (c point) tries() int {
	if c.main {
		return 15
	}
	return 40
}

// point is one system call.
type point struct {
	name   string // renameat
	nth    int    // number among the calls of this name on this thread, as strace counts
	no     int    // number among the row's points of this name, from 1
	main   bool   // on the process's first thread
	thread string // thread id
	ours   bool   // it names a path in the project
	args   []string
	paths  []string // the paths it names, absolute
	place  string   // the first of them, relative to the project, if ours
	result string   // "?" if the process died in it
}

// changingCalls returns the calls that may change the disk, readingCalls those that only
// read.
func changingCalls() []string {
	return []string{
		"open", "openat", "openat2", "creat", "write", "pwrite64", "writev", "pwritev", "pwritev2", "fsync", "fdatasync", "sync_file_range",
		"rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "mknod", "mknodat",
		"truncate", "ftruncate", "fallocate", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "fchownat", "lchown",
		"utimensat", "futimesat", "utime", "utimes", "symlink", "symlinkat", "flock", "copy_file_range", "sendfile", "splice", "ioctl", "close",
		"setxattr", "fsetxattr",
	}
}

func readingCalls() []string {
	return []string{"read", "pread64", "readv", "preadv", "getdents64", "stat", "lstat", "newfstatat", "fstat", "statx", "readlink", "readlinkat", "access", "faccessat2"}
}

// end is the call that ends the process.
const end = "exit_group"

// traced runs leslie under strace with injections such as "fsync:error=EIO:when=2" and
// returns its calls.
func (p *project) traced(injections []string, argv ...string) (outcome, []point) {
	file := p.Dir + ".trace"
	defer os.Remove(file)
	calls := append(append(changingCalls(), readingCalls()...), end)
	if len(injections) > 0 { // only the hits are needed; execve identifies the first thread
		calls = []string{"execve"}
	}
	options := []string{"-f", "-qq", "-y", "-s", "16", "-o", file}
	killing := false
	for _, i := range injections {
		i, path, aimed := strings.Cut(i, aimedAt)
		if aimed { // with the program's own path, for execve
			options = append(options, "-P", filepath.Join(p.Dir, path), "-P", p.leslie)
		}
		name, _, _ := strings.Cut(i, ":")
		calls = append(calls, name)
		options = append(options, "-e", "inject="+i)
		killing = killing || strings.Contains(i, "signal=KILL")
	}
	options = append(options, "-e", "trace=?"+strings.Join(calls, ",?")) // ?: not every strace knows every call
	if !killing {                                                        // faster, and it delivers errors but no signals
		options = append(options, "--seccomp-bpf")
	}
	o := p.Run(p.strace, append(append(options, p.leslie), argv...), "", lab.Interruption{})
	points, err := readTrace(file, p.Dir)
	if err != nil && o.Err == nil {
		o.Err = err
	}
	return o, points
}

// readTrace reads what strace wrote.
func readTrace(file, dir string) ([]point, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	r := traceReader{dir: dir, counts: map[string]int{}, open: map[string]int{}}
	for lines.Scan() {
		r.line(lines.Text())
	}
	return r.points, lines.Err()
}

// traceReader parses the lines of a trace. A call that another thread's line interrupts
// is in two parts.
type traceReader struct {
	dir    string
	first  string // the process's first thread
	points []point
	counts map[string]int // by thread and name
	open   map[string]int // by thread: the point whose second part is missing
}

func (r *traceReader) line(text string) {
	pid, rest, ok := strings.Cut(text, " ")
	rest = strings.TrimLeft(rest, " ")
	if !ok || strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "+++") {
		return
	}
	if r.first == "" {
		r.first = pid
	}
	if resumed, is := strings.CutPrefix(rest, "<... "); is {
		if i, known := r.open[pid]; known {
			_, tail, _ := strings.Cut(resumed, "resumed>")
			r.finish(&r.points[i], strings.Join(r.points[i].args, ", ")+tail)
			delete(r.open, pid)
		}
		return
	}
	name, tail, ok := strings.Cut(rest, "(")
	if !ok || strings.Contains(name, "?") {
		return
	}
	r.counts[pid+" "+name]++
	r.points = append(r.points, point{name: name, nth: r.counts[pid+" "+name], main: pid == r.first, thread: pid, result: "?"})
	at := &r.points[len(r.points)-1]
	if head, unfinished := strings.CutSuffix(tail, " <unfinished ...>"); unfinished {
		r.open[pid] = len(r.points) - 1
		at.args = splitArgs(head)
		r.locate(at)
		return
	}
	r.finish(at, tail)
}

// finish parses the arguments and the result of a call.
func (r *traceReader) finish(at *point, tail string) {
	args, result := tail, "?"
	if i := strings.LastIndex(tail, " = "); i >= 0 { // strace pads with spaces before it
		args, result = strings.TrimSuffix(strings.TrimRight(tail[:i], " "), ")"), tail[i+len(" = "):]
	}
	at.args, at.result = splitArgs(args), result
	r.locate(at)
}

func (r *traceReader) locate(at *point) {
	at.paths = r.named(at)
	at.ours = slices.ContainsFunc(at.paths, func(p string) bool { return p == r.dir || strings.HasPrefix(p, r.dir+"/") })
	if at.ours {
		at.place, _ = strings.CutPrefix(at.paths[0], r.dir+"/")
	}
}

// splitArgs splits a list of arguments at its top-level commas.
func splitArgs(text string) (args []string) {
	depth, quoted, from := 0, false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case strings.ContainsRune("{[<", rune(c)):
			depth++
		case strings.ContainsRune("}]>", rune(c)):
			depth--
		case c == ',' && depth <= 0:
			args = append(args, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	return append(args, strings.TrimSpace(text[from:]))
}

// named returns the absolute paths that a call names.
func (r *traceReader) named(at *point) []string {
	var out []string
	for i := 0; i < len(at.args); i++ {
		switch arg := at.args[i]; {
		case at.takesNames() && folderArg(arg) && i+1 < len(at.args) && strings.HasPrefix(at.args[i+1], `"`):
			out = append(out, join(fdPath(arg), unquote(at.args[i+1])))
			i++
		case folderArg(arg):
			if p := fdPath(arg); strings.HasPrefix(p, "/") {
				out = append(out, p)
			}
		case !strings.Contains(at.name, "write") && strings.HasPrefix(arg, `"/`):
			out = append(out, unquote(arg))
		}
	}
	return out
}

// takesNames reports whether a call takes names relative to an open folder.
func (c point) takesNames() bool {
	return c.name == "statx" || c.name != "fstat" && strings.HasSuffix(strings.TrimSuffix(c.name, "2"), "at")
}

// folderArg reports whether an argument is a file descriptor: 5</path>, AT_FDCWD</path>.
func folderArg(arg string) bool {
	return strings.HasSuffix(strings.TrimSuffix(arg, "(deleted)"), ">") && strings.Contains(arg, "<")
}

func fdPath(arg string) string {
	_, rest, _ := strings.Cut(arg, "<")
	return strings.TrimSuffix(strings.TrimSuffix(rest, "(deleted)"), ">")
}

func unquote(arg string) string {
	if s, err := strconv.Unquote(arg); err == nil {
		return s
	}
	return strings.Trim(arg, `".`)
}

func join(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// answers reports whether a call writes to stdout.
func (c point) answers() bool { return c.name == "write" && strings.HasPrefix(c.args[0], "1<") }

// opensToWrite reports whether an open creates, truncates or writes.
func (c point) opensToWrite() bool {
	return c.name == "creat" || strings.HasPrefix(c.name, "open") && slices.ContainsFunc(c.args, func(arg string) bool {
		return strings.Contains(arg, "O_CREAT") || strings.Contains(arg, "O_WRONLY") || strings.Contains(arg, "O_RDWR") || strings.Contains(arg, "O_TRUNC")
	})
}

// changes reports whether a call changes the disk or the lock. Closing a file on a local
// disk does not.
func (c point) changes() bool {
	if strings.HasPrefix(c.name, "open") {
		return c.opensToWrite()
	}
	return c.name != "close" && slices.Contains(changingCalls(), c.name)
}

// injected reports whether strace made a call fail.
func (c point) injected() bool { return strings.Contains(c.result, "(INJECTED)") }

// died reports whether the process died in a call.
func (c point) died() bool { return strings.HasPrefix(c.result, "?") }

func (c point) String() string { return fmt.Sprintf("%s/%d", c.name, c.no) }

// numbered returns the points that want selects, each with its number.
func numbered(points []point, want func(point) bool) []point {
	counts := map[string]int{}
	var out []point
	for _, c := range points {
		if want(c) {
			counts[c.name]++
			c.no = counts[c.name]
			out = append(out, c)
		}
	}
	return out
}
