//go:build !windows

package app

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

func TestACallThatAnAgentOnlyAsksAboutRunsUntilItEnds(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "ASK[[touch began; until test -e go; do sleep 0.01; done]]", "mute")
	var ahead atomic.Int64
	b.now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	over := make(chan struct{})
	var d *RunResult
	var err error
	var kinds []string
	go func() {
		defer close(over)
		d, err = b.run(func(in *RunRequest) {
			in.Ask = AskAllow
			in.Event = func(e RunEvent) { kinds = append(kinds, e.Kind+" "+e.Text) }
		})
	}()
	until := func(is func() bool) {
		for !is() {
			select {
			case <-over:
				return
			default:
			}
		}
	}
	until(func() bool { _, err := os.Stat(filepath.Join(b.dir, "began")); return err == nil })
	ahead.Store(int64(20 * time.Minute)) // longer than an agent may be silent that calls nothing
	_, failed := Inject(b.call(), InjectRequest{Thread: "it", Type: thread.InjectData, Content: "wakes the run"})
	require.NoError(t, failed)
	until(func() bool { c := b.claim(); return c != nil && c.Until.After(b.now()) }) // the run has looked, and has its claim again
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600))
	<-over
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.Equal(t, 1, d.Attempts)
	assert.Contains(t, kinds, "tool touch began; until test -e go; do sleep 0.01; done")
}

func TestATurnThatAMessageInterruptedIsSpokenOf(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "HANG[[]]")
	_, err := b.run(func(in *RunRequest) {
		meanwhile(in, func() {
			_, err := Inject(b.call(), InjectRequest{Thread: "it", Type: thread.InjectFeedback, Urgency: thread.Immediate, Content: "TALK[[1]]"})
			assert.NoError(t, err)
		})
	})
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	said, err := os.ReadFile(filepath.Join(b.dir, ".leslie", "runs", "it", "transcript.jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(said), `"text":"A message interrupted your last turn`)
}

func TestACommandIsDecidedAsAWhole(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "ASK[[leslie context; touch made]]", "terse")
	_, err := b.run(func(in *RunRequest) { in.Ask = AskDeny })
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.NoFileExists(t, filepath.Join(b.dir, "made"))
	said, err := os.ReadFile(filepath.Join(b.dir, ".leslie", "runs", "it", "transcript.jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(said), `"command":"leslie context; touch made"`)
}

func TestACommandThatIsShownAsAWordIsTheCommandInIt(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "ASK[[leslie context; touch made]] ASK[[touch also]] ASK[[: > asked]]", "quotes")
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, ".leslie", "config.json"), []byte(`{"run": {"deny": ["Bash(touch:*)"]}}`), 0o600))
	_, err := b.run(func(in *RunRequest) { in.Ask = AskAllow })
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.NoFileExists(t, filepath.Join(b.dir, "made"))
	assert.NoFileExists(t, filepath.Join(b.dir, "also"))
	assert.FileExists(t, filepath.Join(b.dir, "asked"))
}

// Whether a person is asked about it first depends on when it comes.
func TestWhatAnAgentAsksForAfterItsTurnIsNotDoneWithoutAnswer(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "LATE[[touch made]]")
	_, err := b.run(nil)
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.NoFileExists(t, filepath.Join(b.dir, "made"))
	said, err := os.ReadFile(filepath.Join(b.dir, ".leslie", "runs", "it", "transcript.jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(said), "late: touch made ")
	assert.Contains(t, string(said), `"kind":"permission"`)
}

func TestAPersonIsAskedAboutAWholeCommandOrNotAtAll(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return "echo " + strings.Repeat("x", n) + "; touch made" }
	b := newRunBench(t, "Work")
	_, err := b.run(func(in *RunRequest) {
		in.times.asking = time.Millisecond
		in.Context = func(*ContextResult, string) (string, []thread.InjectionID) {
			return "ASK[[" + long(100<<10) + "]] ASK[[" + long(10<<10) + "]]", nil
		}
	})
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	open, err := ListApprovals(b.call(), ListApprovalsRequest{})
	require.NoError(t, err)
	require.Len(t, open.Items.Items, 1, "nobody is asked about the other")
	assert.Equal(t, "Bash: "+long(10<<10), open.Items.Items[0].Reason)
	said, err := os.ReadFile(filepath.Join(b.dir, ".leslie", "runs", "it", "transcript.jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(said), "too long for a person to read")
	assert.NoFileExists(t, filepath.Join(b.dir, "made"))
}
