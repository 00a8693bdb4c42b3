//go:build !windows

package runs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/apptest"
	"leslie/internal/app/threads"
	"leslie/internal/runner"
	"leslie/thread"
)

// newRunBench is a project with the thread it, whose agent does what the intent says.
func newRunBench(t *testing.T, intent string, words ...string) *apptest.Project {
	t.Helper()
	b := apptest.New(t)
	b.Now = time.Now
	b.Environment().NewID = func(prefix string) string { return prefix + strings.ToLower(rand.Text()[:8]) } // processes are found by them
	program, err := os.Executable()
	require.NoError(t, err)
	b.Environment().Environ = os.Environ
	b.Environment().Home = t.TempDir()
	b.Environment().Config = filepath.Join(b.Environment().Home, ".leslie", "config.json")
	require.NoError(t, os.Mkdir(filepath.Join(b.Environment().Home, ".leslie"), 0o755))
	config, err := json.Marshal(map[string]any{"run": map[string]any{"agent": "fake", "agents": map[string]any{
		"fake": map[string]any{"command": []string{program}, "env": map[string]string{"FAKE_AGENT": "1", "FAKE_STATE": t.TempDir(), "FAKE": strings.Join(words, " ")}},
	}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(b.Environment().Config, config, 0o600))
	_, err = threads.Spawn(b.Person(), threads.SpawnRequest{ID: "it", Title: "It", Intent: intent})
	require.NoError(t, err)
	return b
}

// run runs the thread; change may change the request.
func run(b *apptest.Project, change func(*Request)) (*Result, error) {
	in := Request{Thread: "it", Context: func(d *threads.ContextResult, _ string) (string, []thread.InjectionID) {
		shown := []thread.InjectionID{}
		text := d.Thread.Intent
		for _, i := range d.Thread.Unseen() {
			shown, text = append(shown, i.ID), i.Content+"\n"+text
		}
		return text, shown
	}, times: runTimes{restart: []time.Duration{time.Millisecond}, agent: runner.Times{Cancel: 5 * time.Second, End: 5 * time.Second}}}
	if change != nil {
		change(&in)
	}
	return Run(b.Person(), in)
}

// requests are all that were made of a person.
func requests(b *apptest.Project) (all []app.ApprovalRecord) {
	b.T.Helper()
	_, err := b.Person().View(func(s *thread.State) error {
		found, err := s.AllApprovals()
		for _, g := range found {
			all = append(all, app.ApprovalOf(g, b.Now()))
		}
		return err
	})
	require.NoError(b.T, err)
	return all
}

// approve approves a request, as a person does.
func approve(b *apptest.Project, id thread.ApprovalID) {
	b.T.Helper()
	decide(b, id, thread.Approve, "")
}

// decide decides a request, as a person does.
func decide(b *apptest.Project, id thread.ApprovalID, decision thread.GrantDecision, reason string) {
	b.T.Helper()
	_, err := app.Write(b.Person(), func(s *thread.State, stamp thread.Stamp) (*app.Change, thread.ThreadID, error) {
		_, t, err := s.DecideGrant(string(id), decision, reason, stamp)
		return &app.Change{}, t.ID, err
	})
	require.NoError(b.T, err)
}

// decidedLate is a run that asked and ended without an answer, and another one after a person's
// decision. It asks nobody again, and uses the decision.
func decidedLate(t *testing.T, decision thread.GrantDecision, reason string) *apptest.Project {
	t.Helper()
	b := newRunBench(t, "ASK[[touch asked]]")
	d, err := run(b, func(in *Request) { in.times.asking = time.Millisecond })
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.Equal(t, thread.RunWaits, d.Stop)
	assert.Equal(t, thread.WaitingHuman, d.ThreadStatus)
	open := requests(b)
	require.Len(t, open, 1)
	assert.Contains(t, d.Reason, string(open[0].ApprovalID))
	decide(b, open[0].ApprovalID, decision, reason)
	require.NoError(t, forget(b))
	_, err = run(b, nil)
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	all := requests(b)
	require.Len(t, all, 1, "nobody was asked again")
	assert.NotNil(t, all[0].Until, "it was used")
	return b
}

func TestAnAnswerThatComesLateCountsForTheNextEqualCall(t *testing.T) {
	t.Parallel()
	b := decidedLate(t, thread.Approve, "")
	assert.FileExists(t, filepath.Join(b.Dir, "asked"))
}

func TestADenialThatComesLateCountsForTheNextEqualCall(t *testing.T) {
	t.Parallel()
	b := decidedLate(t, thread.Deny, "not here")
	assert.NoFileExists(t, filepath.Join(b.Dir, "asked"))
	said, err := os.ReadFile(filepath.Join(b.Dir, ".leslie", "runs", "it", "transcript.jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(said), "a person said no: not here")
}

func TestARunThatHasUsedItsLimitIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "USAGE[[70 30 0.5]] ASK[[touch asked]]")
	limited := func(in *Request) { in.times.asking, in.MaxTokens = time.Millisecond, 100 }
	d, err := run(b, limited)
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	require.Equal(t, thread.RunWaits, d.Stop)
	open := requests(b)
	approve(b, open[0].ApprovalID)
	again, err := run(b, limited)
	require.True(t, codes.Has(err, codes.RunBudget), "%v", err)
	assert.Equal(t, thread.RunBudget, again.Stop)
	assert.Equal(t, d.Turns, again.Turns)
	assert.Nil(t, claim(b))
}

// changeAgent changes what the fake agent has in its environment.
func changeAgent(b *apptest.Project, change func(env map[string]string)) {
	b.T.Helper()
	path := b.Environment().Config
	data, err := os.ReadFile(path)
	require.NoError(b.T, err)
	var all struct {
		Run struct {
			Agent  string `json:"agent"`
			Agents map[string]struct {
				Command []string          `json:"command"`
				Env     map[string]string `json:"env"`
			} `json:"agents"`
		} `json:"run"`
	}
	require.NoError(b.T, json.Unmarshal(data, &all))
	change(all.Run.Agents["fake"].Env)
	data, err = json.Marshal(all)
	require.NoError(b.T, err)
	require.NoError(b.T, os.WriteFile(path, data, 0o600))
}

func TestEveryReminderCountsWhateverItsReason(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		agent  string // FAKE
		prompt string // added to every prompt
		note   string // a message before the run
		hidden bool   // the agent is not shown it
		want   int    // turns
	}{
		"nothing happens":                       {want: 3},
		"a message is read":                     {note: "a note", want: 3},
		"a message is read without a word":      {agent: "wordless", note: "a note", want: 3},
		"a message is never shown":              {note: "a note", hidden: true, want: 3},
		"the same call is refused in all turns": {prompt: "ASK[[touch made]]", want: 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newRunBench(t, "TALK[[1]]", test.agent)
			changeAgent(b, func(env map[string]string) {
				env["FAKE_PROMPT"] = test.prompt
				if test.prompt != "" {
					delete(env, "FAKE_STATE") // it does it again
				}
			})
			if test.note != "" {
				_, err := threads.Inject(b.Person(), threads.InjectRequest{Thread: "it", Type: thread.InjectData, Content: test.note})
				require.NoError(t, err)
			}
			d, err := run(b, func(in *Request) {
				in.Ask = AskDeny
				if test.hidden {
					in.Context = func(d *threads.ContextResult, _ string) (string, []thread.InjectionID) {
						return d.Thread.Intent, nil
					}
				}
			})
			require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
			assert.Equal(t, thread.RunUnfinished, d.Stop)
			assert.Equal(t, test.want, d.Turns)
			_, err = b.Person().View(func(s *thread.State) error {
				it, err := s.Thread("it")
				assert.Equal(t, test.hidden, s.UnreadOf(it).Count > 0, "what was shown is read")
				return err
			})
			require.NoError(t, err)
		})
	}
}

func TestANewRefusalStartsTheCountOfRemindersAgain(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "TALK[[1]]", "")
	changeAgent(b, func(env map[string]string) {
		env["FAKE_PROMPT"] = "ASK[[touch 1]] STOP[[1]] ASK[[touch 2]] STOP[[2]] ASK[[touch 3]] STOP[[3]] ASK[[touch 4]]"
	})
	d, err := run(b, func(in *Request) { in.Ask = AskDeny })
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.Equal(t, 6, d.Turns, "four with a refusal, and two more")
}

func TestANewMessageStartsTheCountOfRemindersAgain(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "TALK[[1]]", "wordless")
	turns := 0
	d, err := run(b, func(in *Request) {
		in.Event = func(e Event) {
			if e.Kind != "turn" {
				return
			}
			if turns++; turns == 3 {
				_, err := threads.Inject(b.Person(), threads.InjectRequest{Thread: "it", Type: thread.InjectData, Content: "a note"})
				assert.NoError(t, err)
			}
		}
	})
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.Equal(t, 6, d.Turns)
}

// forget makes the fake agent do again what it has done.
func forget(b *apptest.Project) error {
	user, err := app.ReadConfig(b.Environment().Config, true)
	if err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(user.Run.Agents["fake"].Env["FAKE_STATE"], "*"))
	for _, name := range names {
		err = os.WriteFile(name, nil, 0o600)
	}
	return err
}

// claim is that of the thread.
func claim(b *apptest.Project) (held *thread.Claim) {
	_, err := b.Person().View(func(s *thread.State) error {
		t, err := s.Thread("it")
		held = t.Claim
		return err
	})
	require.NoError(b.T, err)
	return held
}

func TestAnAgentThatDiesIsStartedAgainAndThenGivenUp(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "CRASH[[once]] TALK[[1]]")
	d, err := run(b, nil)
	require.True(t, codes.Has(err, codes.RunUnfinished), "it went on: %v", err)
	assert.Equal(t, 2, d.Attempts)
	b = newRunBench(t, "CRASH[[]]", "noload")
	d, err = run(b, nil)
	require.True(t, codes.Has(err, codes.AgentConnection), "%v", err)
	assert.Equal(t, thread.RunFailed, d.Stop)
	assert.Equal(t, codes.AgentConnection, d.Code)
	assert.Nil(t, claim(b))
}

func TestAnAgentThatDiesAndMayUseNothingMoreIsParked(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "CRASH[[]]", "spent")
	d, err := run(b, nil)
	require.True(t, codes.Has(err, codes.AgentLimited), "%v", err)
	assert.Equal(t, thread.RunLimited, d.Stop)
	assert.Equal(t, 2, d.Attempts)
	assert.Nil(t, claim(b))
}

func TestAnAgentThatIsSilentIsGivenUp(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "HANG[[]]", "noload")
	d, err := run(b, func(in *Request) { in.times.silent, in.times.tool = 50*time.Millisecond, 50*time.Millisecond })
	require.True(t, codes.Has(err, codes.AgentTimeout), "%v", err)
	assert.Equal(t, 2, d.Attempts)
}

// meanwhile calls do when the agent has begun its turn.
func meanwhile(in *Request, do func()) {
	done := false
	in.Event = func(e Event) {
		if e.Kind == "text" && !done {
			done = true
			go do()
		}
	}
}

func TestATurnThatGoesOnAfterItsThreadIsEnded(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "HANG[[]]")
	d, err := run(b, func(in *Request) {
		in.times.finish = time.Millisecond
		meanwhile(in, func() {
			_, err := threads.Lifecycle(b.Person(), threads.LifecycleRequest{Thread: "it", Action: thread.Done})
			assert.NoError(t, err)
		})
	})
	require.NoError(t, err)
	assert.Equal(t, thread.RunDone, d.Stop)
	assert.Equal(t, thread.Completed, d.ThreadStatus)
}

func TestARunThatIsStoppedWhenItsThreadIsDoneIsDone(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "HANG[[]]")
	stopped := make(chan struct{})
	d, err := run(b, func(in *Request) {
		meanwhile(in, func() {
			defer close(stopped)
			_, err := threads.Lifecycle(b.Person(), threads.LifecycleRequest{Thread: "it", Action: thread.Done})
			assert.NoError(t, err)
			_, err = Stop(b.Person(), StopRequest{Thread: "it"})
			assert.NoError(t, err)
		})
	})
	<-stopped
	require.NoError(t, err)
	assert.Equal(t, thread.RunDone, d.Stop)
	assert.Empty(t, d.Reason)
}

func TestARunEndsWhenSomebodyElseTakesItsThread(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "HANG[[]]")
	taken := make(chan struct{})
	d, err := run(b, func(in *Request) {
		meanwhile(in, func() {
			defer close(taken)
			_, err := threads.Release(b.Person(), threads.HolderRequest{Thread: "it"})
			assert.NoError(t, err)
			_, err = threads.Claim(b.Person(), threads.ClaimRequest{Thread: "it"})
			assert.NoError(t, err)
		})
	})
	<-taken
	require.True(t, codes.Has(err, codes.Claimed), "%v", err)
	assert.Equal(t, thread.RunFailed, d.Stop)
	require.NotNil(t, claim(b), "the other's claim stays")
	assert.Equal(t, "kim", claim(b).Holder)
}

func TestAnInterruptedRunEndsItsAgentAndGoesOnLater(t *testing.T) {
	t.Parallel()
	b := newRunBench(t, "HANG[[]] TALK[[1]]")
	ctx, cancel := context.WithCancel(context.Background())
	in := Request{Thread: "it", Context: func(d *threads.ContextResult, _ string) (string, []thread.InjectionID) { return d.Thread.Intent, nil }}
	meanwhile(&in, cancel)
	d, err := Run(b.Call(ctx, app.Caller{As: thread.User, Actor: "kim"}, app.Request{Command: "run"}), in)
	require.True(t, codes.Has(err, codes.Interrupted), "%v", err)
	assert.Equal(t, thread.RunInterrupted, d.Stop)
	again, err := run(b, nil)
	require.True(t, codes.Has(err, codes.RunUnfinished), "%v", err)
	assert.Equal(t, d.SessionID, again.SessionID)
	assert.Equal(t, d.RunID, again.RunID, "it was parked")
}

// A process has the lock for a moment before its id is in it, where that of one before may be.
func TestTheLoopIsStoppedWhoseIdComesLate(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	dir, release, err := b.Person().Store().HoldLoop(t.Context())
	require.NoError(t, err)
	defer release()
	standsIn := func() *exec.Cmd {
		cmd := exec.Command("sleep", "60")
		require.NoError(t, cmd.Start())
		require.NoError(t, os.WriteFile(filepath.Join(dir, "lock"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600))
		return cmd
	}
	before := standsIn()
	stopped := make(chan error, 1)
	var d *StopLoopResult
	go func() {
		var err error
		d, err = StopLoop(b.Person(), StopLoopRequest{})
		stopped <- err
	}()
	require.ErrorContains(t, before.Wait(), "terminated")
	require.ErrorContains(t, standsIn().Wait(), "terminated")
	release()
	require.NoError(t, <-stopped)
	assert.True(t, d.Changed)
}
