package proctest

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// hold takes the store's lock, as a writing process does.
func (p *project) hold() (release func()) {
	p.t.Helper()
	lock := flock.New(p.path("thread_relations.json.lock"))
	require.NoError(p.t, lock.Lock())
	p.t.Cleanup(func() { _ = lock.Unlock() })
	return func() { require.NoError(p.t, lock.Unlock()) }
}

// startWaiting starts a call and returns when it reports that it waits for the lock.
func (p *project) startWaiting(args ...string) *started {
	p.t.Helper()
	s := p.command(args...)
	stderr, err := s.stderrPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, s.Start())
	line, err := stderr.ReadString('\n')
	require.NoError(p.t, err, "it ended before it said that it waits")
	require.Contains(p.t, line, "waiting for the lock")
	return s
}

// stderrPipe returns the call's standard error, to read while it runs.
func (s *started) stderrPipe() (*bufio.Reader, error) {
	s.Stderr = nil
	pipe, err := s.StderrPipe()
	return bufio.NewReader(pipe), err
}

func TestAWriterGivesUpWhenTheLockStaysHeld(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	was := p.files(".")
	p.hold()

	a := p.fails("T501", 15, "spawn", "--intent", "Wait", "--lock-timeout", "300ms")
	assert.Equal(t, float64(3), a.Error.Details["attempts"], "attempts at 0, 100 and 300 ms")
	assert.GreaterOrEqual(t, a.Error.Details["durationMs"], float64(300))
	assert.Contains(t, a.Error.Message, "File lock failed after 3 attempts")

	require.NotEmpty(t, a.Error.Next)
	first := p.ok(strings.Fields(a.Error.Next[0])[1:]...)
	assert.True(t, first.Success, "the first of next works while the lock is held")
	p.ok("list")
	p.ok("status")

	now := p.files(".")
	delete(was, "logs/leslie.log")
	delete(now, "logs/leslie.log")
	assert.Empty(t, harness.Differing(was, now), "nothing but the log was written")
}

func TestAWaiterContinuesWhenTheLockIsReleased(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	before := p.read("thread_relations.json")
	release := p.hold()
	waiter := p.startWaiting("spawn", "--id", "patient", "--intent", "Wait")

	assert.Equal(t, before, p.read("thread_relations.json"), "it writes nothing while it waits")
	assert.Empty(t, p.threads(), "and readers do not wait")
	release()
	a, err := waiter.end()
	require.NoError(t, err)
	assert.Equal(t, 0, a.status)
	assert.Equal(t, map[string]string{"patient": "active"}, p.threads())
	p.requireHealthy()
}

func TestAKilledWaiterBlocksNobody(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	release := p.hold()
	doomed := p.startWaiting("spawn", "--id", "doomed", "--intent", "Wait")
	require.NoError(t, doomed.Process.Kill())
	require.Error(t, doomed.Wait())
	next := p.startWaiting("spawn", "--id", "next", "--intent", "Wait")
	release()
	a, err := next.end()
	require.NoError(t, err)
	assert.Equal(t, 0, a.status)
	assert.Equal(t, map[string]string{"next": "active"}, p.threads())
	p.requireHealthy()
}

func TestAnInterruptedWaiterHasChangedNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	release := p.hold()
	waiter := p.startWaiting("spawn", "--intent", "Wait")
	require.NoError(t, waiter.Process.Signal(os.Interrupt))
	a, err := waiter.end()
	require.NoError(t, err)
	requireFailure(t, a, "T904", 130)
	release()
	assert.Empty(t, p.threads())
	p.requireHealthy()
}

func TestTwoWritersWithOneRequestMakeOneChange(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	line := []string{"spawn", "--intent", "Only once", "--request-id", "retry/1 $(x)"}
	release := p.hold()
	first, second := p.startWaiting(line...), p.startWaiting(line...)
	release()
	a, err := first.end()
	require.NoError(t, err)
	b, err := second.end()
	require.NoError(t, err)

	assert.Equal(t, 0, a.status)
	assert.Equal(t, 0, b.status)
	assert.JSONEq(t, string(a.Data), string(b.Data), "both get the first answer")
	assert.NotEqual(t, a.warned("W901"), b.warned("W901"), "one of them is told that it was answered before")
	assert.Len(t, p.threads(), 1)
	assert.Len(t, p.journal(), 2)

	late := p.ok(line...)
	assert.JSONEq(t, string(a.Data), string(late.Data))
	assert.True(t, late.warned("W901"))
	p.fails("T903", 2, "spawn", "--intent", "Another line", "--request-id", "retry/1 $(x)")
	assert.Len(t, p.threads(), 1)
	p.requireHealthy()
}

func TestAChangeIsKeptWhenStandardOutputIsClosed(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	s := p.command("spawn", "--id", "unheard", "--intent", "Nobody listens")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	s.Stdout, s.Stderr = w, io.Discard
	require.NoError(t, r.Close())
	require.NoError(t, s.Start())
	require.NoError(t, w.Close())
	_ = s.Wait()
	assert.Equal(t, map[string]string{"unheard": "active"}, p.threads())
	p.requireHealthy()
}
