package proctest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// This file builds the binary and holds what the tests share: a project, calls in it, and
// reading its files.

var seed = flag.Uint64("seed", 0, "draw the random moments of this seed; 0 draws one")

// binary is the leslie under test, built by TestMain.
var binary string

func TestMain(m *testing.M) {
	if playsAgent() {
		return
	}
	flag.Parse()
	status, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func buildAndRun(m *testing.M) (status int, err error) {
	if err := harness.UseMemory(); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "leslie-proctest-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "leslie")
	if err := harness.Build(binary); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// random returns a random source for one test, and prints its seed if the test fails.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("random moments: -seed %d", s)
		}
	})
	return rand.New(rand.NewPCG(s, 0))
}

// project is a folder with a store, and its own home folder.
type project struct {
	t          testing.TB
	dir, home  string
	flags, env []string // of every call
}

// newProject makes a project with one objective.
func newProject(t testing.TB) *project {
	t.Helper()
	return projectIn(t, t.TempDir())
}

// newProjectOnDisk makes one on disk, where fsyncs take time, so that processes run at
// the same time.
func newProjectOnDisk(t testing.TB) *project {
	t.Helper()
	return projectIn(t, harness.DiskDir(t))
}

func projectIn(t testing.TB, dir string) *project {
	t.Helper()
	p := &project{t: t, dir: dir, home: t.TempDir()}
	p.ok("init", "--no-agents", "--here")
	p.ok("objective", "create", "Hold", "--id", "goal")
	return p
}

// answer is the result of a call.
type answer struct {
	harness.Document
	line   string
	status int
	stderr string
}

func (a answer) warned(code string) bool { return a.Document.Warned(code) }

// into decodes the data.
func (a answer) into(t testing.TB, v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.Data, v), "%s: %s", a.line, a.Data)
}

// started is a running call.
type started struct {
	*exec.Cmd
	line           string
	stdout, stderr bytes.Buffer
}

func (p *project) command(args ...string) *started {
	args = slices.Concat(args, p.flags)
	s := &started{Cmd: exec.Command(binary, args...), line: "leslie " + strings.Join(args, " ")}
	s.Dir = p.dir
	s.Env = append(harness.Environment(p.home, os.TempDir()), p.env...)
	s.Stdout, s.Stderr = &s.stdout, &s.stderr
	return s
}

// start starts a call.
func (p *project) start(args ...string) *started {
	p.t.Helper()
	s := p.command(args...)
	require.NoError(p.t, s.Start(), "%s", s.line)
	return s
}

// end waits for a call and reads its answer: one JSON document, whose success agrees with
// the exit status.
func (s *started) end() (answer, error) {
	err := s.Wait()
	a := answer{line: s.line, status: s.ProcessState.ExitCode(), stderr: s.stderr.String()}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return a, err
	}
	doc, err := harness.Read(s.stdout.Bytes())
	if err != nil {
		return a, fmt.Errorf("%s: exit status %d, %w\nstdout: %s\nstderr: %s", s.line, a.status, err, s.stdout.String(), a.stderr)
	}
	a.Document = *doc
	if a.Success != (a.status == 0) || a.Success == (a.Error != nil) {
		return a, fmt.Errorf("%s: exit status %d with %s", s.line, a.status, s.stdout.String())
	}
	return a, nil
}

// orInShort returns many, or few with -short.
func orInShort(many, few int) int {
	if testing.Short() {
		return few
	}
	return many
}

// try makes a call. The error is non-nil if the answer is malformed. Safe for concurrent
// use.
func (p *project) try(args ...string) (answer, error) {
	s := p.command(args...)
	if err := s.Start(); err != nil {
		return answer{}, err
	}
	return s.end()
}

// succeed is try for a call that must succeed.
func (p *project) succeed(args ...string) (answer, error) {
	a, err := p.try(args...)
	if err == nil && a.status != 0 {
		err = fmt.Errorf("%s: exit status %d, %s %s", a.line, a.status, a.Error.Code, a.Error.Message)
	}
	return a, err
}

func (p *project) ok(args ...string) answer {
	p.t.Helper()
	a, err := p.succeed(args...)
	require.NoError(p.t, err)
	return a
}

// fails makes a call that must fail with this code and status, and change nothing.
func (p *project) fails(code string, status int, args ...string) answer {
	p.t.Helper()
	a, err := p.try(args...)
	require.NoError(p.t, err)
	requireFailure(p.t, a, code, status)
	return a
}

func requireFailure(t testing.TB, a answer, code string, status int) {
	t.Helper()
	require.NotNil(t, a.Error, "%s succeeded", a.line)
	require.Equal(t, code, a.Error.Code, "%s: %s", a.line, a.Error.Message)
	require.Equal(t, status, a.status, "%s", a.line)
	require.Equal(t, false, a.Error.Details["changed"], "%s", a.line)
}

// path returns the path of a file in the store's folder.
func (p *project) path(rel string) string {
	return filepath.Join(p.dir, ".leslie", filepath.FromSlash(rel))
}

func (p *project) read(rel string) []byte {
	p.t.Helper()
	data, err := os.ReadFile(p.path(rel))
	require.NoError(p.t, err)
	return data
}

// files returns the content of the files below a folder by path, or nil if the folder
// does not exist.
func (p *project) files(rel string) map[string]string {
	p.t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(p.path(rel)), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(p.path(rel), path))
		out[path] = string(data)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(p.t, err)
	return out
}

// write puts artifacts into a thread's folder, as its owner would.
func (p *project) write(thread string, artifacts map[string]string) {
	p.t.Helper()
	for name, content := range artifacts {
		to := filepath.Join(p.path("threads/"+thread), filepath.FromSlash(name))
		require.NoError(p.t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(p.t, os.WriteFile(to, []byte(content), 0o644))
	}
}

// threads returns the status of the listed threads by id.
func (p *project) threads() map[string]string {
	p.t.Helper()
	a := p.ok("list", "--all", "--limit", "0")
	assert.Empty(p.t, a.Warnings, "%s", a.line)
	return statuses(p.t, a)
}

func statuses(t testing.TB, list answer) map[string]string {
	t.Helper()
	var data struct {
		Items []struct {
			ThreadID string `json:"threadId"`
			Status   string `json:"status"`
		} `json:"items"`
		Total     int  `json:"total"`
		Truncated bool `json:"truncated"`
	}
	list.into(t, &data)
	require.False(t, data.Truncated)
	require.Len(t, data.Items, data.Total)
	out := map[string]string{}
	for _, item := range data.Items {
		out[item.ThreadID] = item.Status
	}
	require.Len(t, out, data.Total, "a thread is listed twice")
	return out
}

// requireHealthy asserts what must be true after any kill: the next writing command
// succeeds and leaves no staged files, every thread has its folder and every folder its
// thread, the journal has no gap, and doctor finds nothing.
func (p *project) requireHealthy() {
	p.t.Helper()
	a := p.ok("objective", "create", "After the storm")
	require.Empty(p.t, a.Warnings, "the next writing command warns")
	left, err := os.ReadDir(p.path("tmp"))
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(p.t, err)
	}
	require.Empty(p.t, left, "staging is left behind")

	folders, err := os.ReadDir(p.path("threads"))
	require.NoError(p.t, err)
	var names []string
	for _, f := range folders {
		names = append(names, f.Name())
	}
	require.Equal(p.t, slices.Sorted(maps.Keys(p.threads())), names, "threads and folders")

	require.Equal(p.t, *a.Revision, int64(len(p.journal())), "operations in the journal")
	var checked struct {
		Healthy  bool              `json:"healthy"`
		Findings []json.RawMessage `json:"findings"`
	}
	p.ok("doctor").into(p.t, &checked)
	require.True(p.t, checked.Healthy, "%s", checked.Findings)
}

// journal reads the journal and asserts that it has no gap. A line that a kill has cut off stays and
// is skipped, as leslie does: what it began is in the lines that follow, or never happened.
func (p *project) journal() (operations []string) {
	p.t.Helper()
	for i, line := range strings.Split(strings.TrimSuffix(string(p.read("operations.jsonl")), "\n"), "\n") {
		var op struct {
			Seq     int    `json:"seq"`
			Command string `json:"command"`
		}
		if strings.HasPrefix(line, "{") && !json.Valid([]byte(line)) {
			continue
		}
		require.NoError(p.t, json.Unmarshal([]byte(line), &op), "line %d of the journal", i+1)
		require.Equal(p.t, len(operations)+1, op.Seq, "line %d of the journal", i+1)
		operations = append(operations, op.Command)
	}
	return operations
}
