package proctest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file limits the system calls of a command by counting them: calls on files,
// fsyncs, bytes written. Counts do not depend on the machine, and must not grow with the
// store. make bench measures times.

// filing are the calls that are counted: all by which files and folders are looked
// at, read and changed.
const filing = "openat,newfstatat,fstat,readlinkat,getdents64,read,pread64,write,pwrite64,fsync,renameat,linkat,mkdirat,unlinkat,flock"

// asked counts the system calls of one command.
type asked struct {
	calls   int
	syncs   int
	written int // bytes, without what goes to stdout
}

// watched runs a command under strace, with a file for each thread (-ff): in a single file
// one thread's call splits another's into "unfinished" and "resumed", and the second part
// does not name the file.
func (p *project) watched(strace string, args ...string) (out asked) {
	p.t.Helper()
	dir := p.t.TempDir()
	c := p.command(args...)
	c.Args = append([]string{strace, "-ff", "-qq", "-y", "-s", "0", "-o", filepath.Join(dir, "trace"), "-e", "trace=" + filing, c.Path}, args...)
	c.Path = strace
	require.NoError(p.t, c.Start())
	a, err := c.end()
	require.NoError(p.t, err)
	require.True(p.t, a.Success, "%s: %s", c.line, c.stdout.String())
	traces, err := filepath.Glob(filepath.Join(dir, "trace.*"))
	require.NoError(p.t, err)
	for _, trace := range traces {
		text, err := os.ReadFile(trace)
		require.NoError(p.t, err)
		out.count(p.t, string(text))
	}
	require.Positive(p.t, out.calls, "%s: strace told of no call", c.line)
	return out
}

// ended is a line of a thread's trace: a call, the descriptor that it was made on, and
// what it gave.
var ended = regexp.MustCompile(`^([a-z0-9_]+)\((\d+<)?.* = (-?\d+)`)

func (a *asked) count(t testing.TB, trace string) {
	t.Helper()
	for line := range strings.Lines(trace) {
		require.NotContains(t, line, "resumed>", "a thread's trace holds whole calls")
		m := ended.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		a.calls++
		switch n, _ := strconv.Atoi(m[3]); {
		case m[1] == "fsync":
			a.syncs++
		case m[1] == "write" && m[2] != "1<":
			a.written += max(n, 0)
		}
	}
}

// spawns writes a file of n lines for batch.
func (p *project) spawns(name string, n int) string {
	p.t.Helper()
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, "[\"spawn\",\"--objective\",\"goal\",\"--id\",\"%s-%05d\",\"--tag\",\"many\",\"--intent\",\"One of many\"]\n", name, i)
	}
	file := filepath.Join(p.dir, name+".jsonl")
	require.NoError(p.t, os.WriteFile(file, []byte(lines.String()), 0o644))
	return file
}

// historyPage is how many operations of the history to read.
const historyPage = 5

// crowd returns a project with n threads, made by batches.
func crowd(t testing.TB, n int) *project {
	t.Helper()
	p := newProject(t)
	for done := 0; done < n; done += 1_000 {
		p.ok("batch", p.spawns(fmt.Sprintf("t%d", done/1_000), min(n-done, 1_000)))
	}
	// The last writes leave no pending work, and fill a page of history: the length of a
	// batch's line must not count.
	for i := range historyPage + 1 {
		p.ok("update", "t0-00000", "--title", fmt.Sprintf("Title %d", i))
	}
	return p
}

func straceOrSkip(t *testing.T) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is missing; the store's own steps are counted in store/cost_test.go all the same")
	}
	return strace
}

// A line of a batch that makes a thread checks whether its folder exists, and makes it,
// both relative to one open folder.
func TestSystemCallsOfALineOfABatch(t *testing.T) {
	t.Parallel()
	strace, p := straceOrSkip(t), newProject(t)
	few := p.watched(strace, "batch", p.spawns("few", 100))
	many := p.watched(strace, "batch", p.spawns("many", 300))
	t.Logf("%d calls and %d fsyncs for 100 lines, %d and %d for 300", few.calls, few.syncs, many.calls, many.syncs)
	assert.LessOrEqual(t, many.calls-few.calls, 200*2+20)
	assert.Equal(t, few.syncs, many.syncs)
}

// A new state is fsynced twice: by the store, before it sets the backup, and by renameio,
// which finds nothing left to write. One call for each folder above the project looks for links:
// the numbers are those for /dev/shm/NAME/001. Two calls find out when the caller was heard of, two
// look for configurations that cannot be used, and two whether the lock that was taken is that of the file which
// is at its name then.
func TestSystemCallsOfACommand(t *testing.T) {
	t.Parallel()
	strace := straceOrSkip(t)
	few, many := crowd(t, 20), crowd(t, 3_000)
	for _, p := range []*project{few, many} {
		require.NoError(t, os.WriteFile(filepath.Join(p.dir, ".leslie", "threads", "t0-00007", "plan.md"), []byte("The plan\n"), 0o644))
	}
	for _, c := range []struct {
		line         []string
		calls, syncs int // at most
	}{
		{[]string{"--version"}, 14, 0},
		{[]string{"status", "t0-00003"}, 53, 0},
		{[]string{"list", "--limit", "20"}, 38, 0},
		{[]string{"list", "--ready", "--limit", "20"}, 38, 0},
		{[]string{"history", "--limit", strconv.Itoa(historyPage)}, 48, 0},
		{[]string{"update", "t0-00004", "--title", "Another"}, 91, 4},
		{[]string{"lifecycle", "t0-00005", "--action", "suspend"}, 91, 4},
		{[]string{"spawn", "--objective", "goal", "--id", "one-more", "--intent", "One more"}, 104, 5},
		{[]string{"reference", "--from", "t0-00006", "--target", "t0-00007"}, 330, 21},
	} {
		name := strings.Join(c.line, " ")
		a, b := few.watched(strace, c.line...), many.watched(strace, c.line...)
		t.Logf("%-60s %3d and %3d calls, %d fsyncs, %d and %d bytes", name, a.calls, b.calls, b.syncs, a.written, b.written)
		above := strings.Count(many.dir, "/") - strings.Count("/dev/shm/NAME/001", "/")
		assert.LessOrEqual(t, b.calls, c.calls+max(above, 0), name)
		assert.LessOrEqual(t, b.syncs, c.syncs, name)
		assert.InDelta(t, a.calls, b.calls, 8, "%s: calls may not grow with the store", name)
		if c.syncs == 0 {
			assert.Zero(t, b.written, "%s writes", name)
			continue
		}
		state, err := os.Stat(filepath.Join(many.dir, ".leslie", "thread_relations.json"))
		require.NoError(t, err)
		assert.Less(t, b.written-int(state.Size()), 2_000, "%s: the state once, and a line", name)
	}
}
