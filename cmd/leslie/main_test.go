package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
	"leslie/internal/ledger/ledgertest"
	"leslie/test/harness"
)

// update rewrites scripts and golden files instead of comparing them.
var update = flag.Bool("update", false, "refresh scripts and golden files")

// TestMain makes the test binary act as leslie if it is called by that name, so that
// scripts can run real processes.
func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "leslie" {
		runtime.LockOSThread() // as main does
		os.Exit(runProcess(atTestClock(notingWaits(processEnv()))))
	}
	testscript.Main(cleaning{m}, map[string]func(){"as-nobody": asNobody, "fake-agent": fakeAgent})
}

// testClock is the environment variable with the time at which a process's clock starts,
// so that what its screen says of times is always the same.
const testClock = "LESLIE_TEST_CLOCK"

// testStep is the environment variable with how far a process's clock moves at each look at
// it, instead of with the time, so that a call takes as long as a test wants.
const testStep = "LESLIE_TEST_STEP"

// atTestClock returns the environment of a process whose clock starts at testClock.
func atTestClock(e cli.Env) cli.Env {
	start, err := time.Parse(time.RFC3339, e.Getenv(testClock))
	if err != nil {
		return e
	}
	began := time.Now()
	e.Now = func() time.Time { return start.Add(time.Since(began)) }
	if step, err := time.ParseDuration(e.Getenv(testStep)); err == nil {
		var looks atomic.Int64
		e.Now = func() time.Time { return start.Add(time.Duration(looks.Add(1)) * step) }
	}
	return e
}

// testWaits is the environment variable with the file to which a process adds how long it
// would wait between two tries of an agent, instead of waiting.
const testWaits = "LESLIE_TEST_WAITS"

// schedule is what testWaits has after the ten tries of one agent.
const schedule = "100ms\n200ms\n400ms\n800ms\n1.6s\n3.2s\n5s\n5s\n5s\n"

// notingWaits returns the environment of a process that waits as testWaits says.
func notingWaits(e cli.Env) cli.Env {
	path := e.Getenv(testWaits)
	if path == "" {
		return e
	}
	e.Retry.Wait = func(ctx context.Context, d time.Duration) error {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(f, d)
		return errors.Join(ctx.Err(), err, f.Close())
	}
	return e
}

// cleaning removes what all tests share.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	harness.UsualUmask()
	if err := harness.UseMemory(); err != nil {
		panic(err)
	}
	bin, err := installLeslie()
	if err != nil {
		panic(err)
	}
	status := c.M.Run()
	for _, dir := range []string{bin, projectDir} {
		if dir != "" {
			_ = os.RemoveAll(dir)
		}
	}
	return status
}

// bench is a project folder and an environment for calls in this process: the clock does
// not move and ids count up.
type bench struct {
	cli.Env
	vars     map[string]string
	out, err bytes.Buffer
	ids      int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	b := &bench{vars: map[string]string{}}
	b.Env = cli.Env{
		Version: cli.Unversioned, Commands: commands(),
		Stdin: strings.NewReader(""), Stdout: &b.out, Stderr: &b.err,
		Columns: func() int { return 80 }, Rows: func() int { return 24 },
		Dir: filepath.Join(root, "project"), Home: filepath.Join(root, "home"),
		Login: func() string { return "kim" }, Session: func() string { return "" },
		Getenv: func(key string) string { return b.vars[key] }, Environ: os.Environ,
		Jitter:      func(limit time.Duration) time.Duration { return limit },
		Now:         func() time.Time { return time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC) },
		WithTimeout: context.WithTimeout, Engine: &ledgertest.Memory{Replicas: 3}, Host: func() string { return "laptop" },
		NewID: func(prefix string) string {
			b.ids++
			return prefix + fmt.Sprintf("%08d", b.ids)
		},
	}
	require.NoError(t, os.Mkdir(b.Dir, 0o755))
	require.NoError(t, os.Mkdir(b.Home, 0o755))
	return b
}

// memory is the engine of the bench's logs.
func (b *bench) memory() *ledgertest.Memory { return b.Engine.(*ledgertest.Memory) }

// newProject returns a bench with a store, the objective ship and the threads main and
// part, a child of main. The store is made once and copied, so a test takes only the time
// of its own writes.
func newProject(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	require.NoError(t, os.CopyFS(b.Dir, os.DirFS(project(t))))
	b.ids = 100
	return b
}

var (
	makeProject sync.Once
	projectDir  string
)

func project(t *testing.T) string {
	makeProject.Do(func() {
		dir, err := os.MkdirTemp("", "leslie-project")
		require.NoError(t, err)
		b := newBench(t)
		b.Dir, projectDir = dir, dir
		b.must(t, "init")
		b.must(t, "objective", "create", "Ship it", "--id", "ship")
		b.must(t, "spawn", "--intent", "Write the parser", "--id", "main")
		b.must(t, "spawn", "--intent", "Write its tests", "--id", "part", "--parent", "main")
	})
	require.NotEmpty(t, projectDir, "the project that tests copy could not be made")
	return projectDir
}

// leslie runs one call and returns its exit status; out and err have its output.
func (b *bench) leslie(args ...string) int {
	return b.perform(context.Background(), commands().All(), args...)
}

func (b *bench) perform(ctx context.Context, all []*cli.Command, args ...string) int {
	b.out.Reset()
	b.err.Reset()
	return cli.RunWith(ctx, all, args, b.Env)
}

func (b *bench) must(t *testing.T, args ...string) {
	t.Helper()
	require.Zero(t, b.leslie(args...), "leslie %s\n%s", strings.Join(args, " "), &b.err)
}

func (b *bench) write(t *testing.T, path, content string) {
	t.Helper()
	path = filepath.Join(b.Dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	require.NoError(t, os.Chtimes(path, b.Now(), b.Now()))
}

// answer is an envelope as a caller reads it.
type answer struct {
	Success  *bool
	Revision *int
	Error    *struct {
		Code, Kind, Message, Hint string
		Recoverable, Retryable    *bool
		Next                      []string
		Details                   map[string]any
	}
	Data     map[string]any
	Warnings []struct {
		Code, Message string
		Context       map[string]any
	}
}

// document decodes what must be exactly one JSON document and a newline.
func document(t *testing.T, raw []byte) answer {
	t.Helper()
	var a answer
	dec := json.NewDecoder(bytes.NewReader(raw))
	require.NoError(t, dec.Decode(&a), "stdout is no JSON document: %q", raw)
	assert.False(t, dec.More(), "stdout holds more than one document: %q", raw)
	assert.True(t, bytes.HasSuffix(raw, []byte("\n")), "the answer ends with a newline")
	require.NotNil(t, a.Success, "success is always there: %s", raw)
	return a
}

// golden compares with a file of testdata/golden, character by character.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}
