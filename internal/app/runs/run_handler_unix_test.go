//go:build !windows

package runs

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
	"leslie/internal/acp"
	"leslie/internal/app/threads"
	"leslie/thread"
)

func TestACallThatAnAgentOnlyAsksAboutRunsUntilItEnds(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "ASK[[touch began; until test -e go; do sleep 0.01; done]]", "mute")
	var ahead atomic.Int64
	b.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	over := make(chan struct{})
	var d *Result
	var err error
	var kinds []string
	go func() {
		defer close(over)
		d, err = run(b, func(in *Request) {
			in.Ask = AskAllow
			in.Event = func(e Event) { kinds = append(kinds, e.Kind+" "+e.Text) }
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
	until(func() bool { _, err := os.Stat(filepath.Join(b.Dir, "began")); return err == nil })
	ahead.Store(int64(20 * time.Minute)) // longer than an agent may be silent that calls nothing
	_, failed := threads.Inject(b.Person(), threads.InjectRequest{Thread: "it", Type: thread.InjectData, Content: "wakes the run"})
	require.NoError(t, failed)
	until(func() bool { c := claim(b); return c != nil && c.Until.After(b.Now()) }) // the run has looked, and has its claim again
	require.NoError(t, os.WriteFile(filepath.Join(b.Dir, "go"), nil, 0o600))
	<-over
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.Equal(t, 1, d.Attempts)
	assert.Contains(t, kinds, "tool touch began; until test -e go; do sleep 0.01; done")
}

func TestATurnThatAMessageInterruptedIsSpokenOf(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "HANG[[]]")
	_, err := run(b, func(in *Request) {
		meanwhile(in, func() {
			_, err := threads.Inject(b.Person(), threads.InjectRequest{Thread: "it", Type: thread.InjectFeedback, Urgency: thread.Immediate, Content: "TALK[[1]]"})
			assert.NoError(t, err)
		})
	})
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	said, err := os.ReadFile(filepath.Join(b.Dir, ".leslie", "runs", "it", "transcript.jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(said), `"text":"A message interrupted your last turn`)
}

func TestACommandIsDecidedAsAWhole(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "ASK[[leslie context; touch made]]", "terse")
	_, err := run(b, func(in *Request) { in.Ask = AskDeny })
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.NoFileExists(t, filepath.Join(b.Dir, "made"))
	said, err := os.ReadFile(filepath.Join(b.Dir, ".leslie", "runs", "it", "transcript.jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(said), `"command":"leslie context; touch made"`)
}

func TestACommandThatIsShownAsAWordIsTheCommandInIt(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "ASK[[leslie context; touch made]] ASK[[touch also]] ASK[[: > asked]]", "quotes")
	require.NoError(t, os.WriteFile(filepath.Join(b.Dir, ".leslie", "config.json"), []byte(`{"run": {"deny": ["Bash(touch:*)"]}}`), 0o600))
	_, err := run(b, func(in *Request) { in.Ask = AskAllow })
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.NoFileExists(t, filepath.Join(b.Dir, "made"))
	assert.NoFileExists(t, filepath.Join(b.Dir, "also"))
	assert.FileExists(t, filepath.Join(b.Dir, "asked"))
}

// Whether a person is asked about it first depends on when it comes.
func TestWhatAnAgentAsksForAfterItsTurnIsNotDoneWithoutAnswer(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "LATE[[touch made]]")
	_, err := run(b, nil)
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.NoFileExists(t, filepath.Join(b.Dir, "made"))
	said, err := os.ReadFile(filepath.Join(b.Dir, ".leslie", "runs", "it", "transcript.jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(said), "late: touch made ")
	assert.Contains(t, string(said), `"kind":"permission"`)
}

func TestAPersonIsAskedAboutAWholeCommandOrNotAtAll(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return "echo " + strings.Repeat("x", n) + "; touch made" }
	b := newRunBench(t, "Work")
	_, err := run(b, func(in *Request) {
		in.times.asking = time.Millisecond
		in.Context = func(*threads.ContextResult, string) (string, []thread.InjectionID) {
			return "ASK[[" + long(100<<10) + "]] ASK[[" + long(10<<10) + "]]", nil
		}
	})
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	open := requests(b)
	require.Len(t, open, 1, "nobody is asked about the other")
	assert.Equal(t, "Bash: "+long(10<<10), open[0].Reason)
	said, err := os.ReadFile(filepath.Join(b.Dir, ".leslie", "runs", "it", "transcript.jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(said), "too long for a person to read")
	assert.NoFileExists(t, filepath.Join(b.Dir, "made"))
}

func TestASessionThatGoesOnCountingIsNotCountedTwice(t *testing.T) {
	t.Parallel()
	usd := func(n float64) []thread.Cost { return []thread.Cost{{Amount: n, Currency: "USD"}} }
	for name, tc := range map[string]struct {
		h    *handler
		said float64
		want float64
	}{
		"a new session":                   {&handler{}, 2, 2},
		"a new session after another":     {&handler{earlier: usd(3)}, 2, 5},
		"a session that goes on counting": {&handler{earlier: usd(3), resumed: true}, 4, 4},
		"a session that begins anew":      {&handler{earlier: usd(3), resumed: true}, 2, 5},
		"the session of an earlier run":   {&handler{before: usd(3), resumed: true}, 4, 1},
	} {
		assert.Equal(t, usd(tc.want), tc.h.costs(acp.Cost{Amount: tc.said, Currency: "USD"}), name)
	}
	h := handler{earlier: usd(3)}
	assert.Equal(t, []thread.Cost{{Amount: 1, Currency: "EUR"}, {Amount: 3, Currency: "USD"}}, h.costs(acp.Cost{Amount: 1, Currency: "EUR"}))
}
