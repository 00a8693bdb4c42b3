//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/lab"
)

// sample is output of strace -f -y: aligned results, a call in two parts, a signal,
// another thread, an injected error, a killed process.
const sample = `
7  openat(AT_FDCWD</p>, "/proc/self/cgroup", O_RDONLY|O_CLOEXEC) = 3</proc/7/cgroup>
7  openat(5</p/.leslie>, "a, b.tmp", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0644) = 8</p/.leslie/a, b.tmp>
8  write(4<anon_inode:[eventfd]>, "\1\0\0\0\0\0\0\0", 8) = 8
7  --- SIGURG {si_signo=SIGURG, si_code=SI_TKILL, si_pid=7, si_uid=0} ---
7  write(8</p/.leslie/a, b.tmp>, "/x) = y"..., 6)   = 6
7  renameat(13</p/.leslie/tmp/op>, "thread", 12</p/.leslie/threads>, "c" <unfinished ...>
8  futex(0x1, FUTEX_WAKE) = 1
7  <... renameat resumed>)            = 0
7  fsync(8</p/.leslie/a, b.tmp>)      = -1 EIO (Input/output error) (INJECTED)
7  write(1<pipe:[1]>, "{}", 2)        = 2
7  exit_group(0)                      = ?
8  ???( <unfinished ...>
8  +++ killed by SIGKILL +++
7  +++ killed by SIGKILL +++
`

func parsed(t *testing.T, text string) []point {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace")
	require.NoError(t, os.WriteFile(file, []byte(strings.TrimSpace(text)+"\n"), 0o600))
	points, err := readTrace(file, "/p")
	require.NoError(t, err)
	return points
}

func TestATraceIsReadCallByCall(t *testing.T) {
	t.Parallel()
	points := parsed(t, sample)
	var names []string
	for _, c := range points {
		names = append(names, c.name)
	}
	require.Equal(t, []string{"openat", "openat", "write", "write", "renameat", "futex", "fsync", "write", "exit_group"}, names)

	create := points[1]
	assert.Equal(t, []string{"/p/.leslie/a, b.tmp"}, create.paths)
	assert.Equal(t, 2, create.nth, "as strace counts")
	assert.True(t, create.ours && create.opensToWrite())
	assert.False(t, points[0].ours || points[0].opensToWrite())
	assert.False(t, points[2].main, "another thread")
	assert.Equal(t, 1, points[3].nth, "each thread has a count of its own")
	assert.Equal(t, create.paths, points[3].paths, "written data is not a path")
	assert.Equal(t, "6", points[3].result, "a string may contain anything")
	assert.Equal(t, []string{"/p/.leslie/tmp/op/thread", "/p/.leslie/threads/c"}, points[4].paths, "both parts are joined")
	assert.Equal(t, "0", points[4].result)
	assert.True(t, points[6].injected())
	assert.True(t, points[7].answers())
	assert.True(t, diedIn(points, points[8]))
	assert.False(t, diedIn(points, points[7]))
}

func TestPointsAreNumberedByName(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range numbered(parsed(t, sample), func(c point) bool { return c.ours && c.changes() || c.answers() || c.name == end }) {
		names = append(names, c.String())
	}
	assert.Equal(t, []string{"openat/1", "write/1", "renameat/1", "fsync/1", "write/2", "exit_group/1"}, names)
}

// steps parses calls in short form: what they do, and their paths.
func steps(text string) (out []point) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		words := strings.Fields(line)
		c := point{name: words[0], main: true, ours: true, args: []string{"8"}, result: "0"}
		for _, w := range words[1:] {
			c.paths = append(c.paths, filepath.Join("/p", w))
		}
		switch c.name {
		case "create":
			c.name, c.args = "openat", []string{"8", "O_WRONLY|O_CREAT"}
		case "answer":
			c.name, c.args, c.ours = "write", []string{"1<pipe>"}, false
		}
		out = append(out, c)
	}
	return out
}

const wellOrdered = `
create .leslie/thread_relations.json.tmp
write .leslie/thread_relations.json.tmp
fsync .leslie/thread_relations.json.tmp
mkdirat .leslie/tmp/op
create .leslie/tmp/op/file
write .leslie/tmp/op/file
fsync .leslie/tmp/op/file
fsync .leslie/tmp/op
fsync .leslie/tmp
renameat .leslie/thread_relations.json.tmp .leslie/thread_relations.json
fsync .leslie
renameat .leslie/tmp/op/file .leslie/threads/file
fsync .leslie/threads
create .leslie/operations.jsonl
write .leslie/operations.jsonl
fsync .leslie/operations.jsonl
answer
`

func checked(text string) result { return checkedAs(lab.Row{}, text) }

func checkedAs(r lab.Row, text string) result {
	old := map[string]bool{"/p/.leslie/operations.jsonl": true}
	return checkOrder(inFolder("/p"), steps(text), r, func(name string) bool { return old[name] })
}

func TestAWellOrderedRunHasNothingUnsynced(t *testing.T) {
	t.Parallel()
	res := checked(wellOrdered)
	assert.Empty(t, res.problem)
	assert.True(t, res.hit)
	assert.Equal(t, 1, res.commits)
	assert.Equal(t, 7, res.syncs)
}

func TestACopyWritesItsDestination(t *testing.T) {
	t.Parallel()
	copied := strings.ReplaceAll(wellOrdered, "write .leslie/tmp/op/file", "copy_file_range .leslie/threads/main/plan.md .leslie/tmp/op/file")
	assert.Empty(t, checked(copied).problem, "the source was on disk before")
	assert.Contains(t, checked(strings.Replace(copied, "fsync .leslie/tmp/op/file\n", "", 1)).problem, "the bytes of .leslie/tmp/op/file")
}

// Each fsync is needed.
func TestAMissingFsyncIsFound(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(strings.TrimSpace(wellOrdered)+"\n", "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "fsync") {
			res := checked(strings.Join(lines[:i], "") + strings.Join(lines[i+1:], ""))
			assert.Contains(t, res.problem, "is not on disk", "without %s", line)
		}
	}
}

func TestANewFileOfTheJournalNeedsItsNameOnDisk(t *testing.T) {
	t.Parallel()
	res := checked(strings.ReplaceAll(wellOrdered, "operations.jsonl", "archive.jsonl"))
	assert.Contains(t, res.problem, "the name .leslie/archive.jsonl")
}

func TestNothingChangesAfterTheAnswer(t *testing.T) {
	t.Parallel()
	assert.Empty(t, checked(wellOrdered+"write .leslie/logs/leslie.log\n").problem)
	for _, late := range []string{
		"renameat .leslie/thread_relations.json.tmp .leslie/thread_relations.json", "write .leslie/operations.jsonl", "unlinkat .leslie/tmp/op",
	} {
		assert.Contains(t, checked(wellOrdered+late+"\n").problem, "after the answer", late)
	}
}

func TestWhatWasReadIsRecordedAfterTheAnswer(t *testing.T) {
	t.Parallel()
	reads := lab.Row{AnswersFirst: true}
	late := strings.Replace("answer"+wellOrdered, "\nanswer\n", "\n", 1)
	assert.Empty(t, checkedAs(reads, late).problem)
	assert.Contains(t, checkedAs(reads, wellOrdered).problem, "before the answer")
}
