package proctest

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests have two parties, each with its own processes: an agent that asks and
// waits, and a person who decides.

// grant is an approval request in an answer.
type grant struct {
	ApprovalID   string   `json:"approvalId"`
	ThreadID     string   `json:"threadId"`
	Scope        []string `json:"scope"`
	Status       string   `json:"status"`
	ThreadStatus string   `json:"threadStatus"`
	Verdict      string   `json:"verdict"`
}

// grants returns all requests.
func (p *project) grants() []grant {
	p.t.Helper()
	var list struct {
		Items []grant `json:"items"`
		Total int     `json:"total"`
	}
	p.ok("approvals", "--all", "--limit", "0").into(p.t, &list)
	require.Len(p.t, list.Items, list.Total)
	return list.Items
}

// asking starts an agent that asks for deploy and waits, and returns when the request
// exists.
func (p *project) asking(flags ...string) (*started, grant) {
	p.t.Helper()
	rev := *p.ok("status").Revision
	s := p.start(append([]string{"transfer", "main", "--direction", "request_approval", "--scope", "deploy", "--wait", "--as", "agent", "--actor", "bot"}, flags...)...)
	p.ok("wait", "main", "--until", "any", "--since", strconv.FormatInt(rev, 10))
	all := p.grants()
	require.NotEmpty(p.t, all)
	return s, all[len(all)-1]
}

// withMain returns a project with the thread main.
func withMain(t *testing.T) *project {
	t.Helper()
	p := newProject(t)
	p.ok("spawn", "--intent", "Work", "--id", "main")
	return p
}

func (s *started) answered(t *testing.T) answer {
	t.Helper()
	a, err := s.end()
	require.NoError(t, err)
	return a
}

func TestAnAgentWaitsWhileAPersonApproves(t *testing.T) {
	t.Parallel()
	p := withMain(t)
	p.write("main", map[string]string{"plan.md": "plan\n"})
	agent, g := p.asking()
	require.Equal(t, "open", g.Status)
	require.Equal(t, map[string]string{"main": "waiting_human"}, p.threads())
	p.fails("T402", 14, "can", "deploy", "main")
	p.write("main", map[string]string{"plan.md": "another plan\n"})
	approved := p.ok("approve", g.ApprovalID)
	assert.True(t, approved.warned("W402"), "the person is told what has changed")

	a := agent.answered(t)
	require.Equal(t, 0, a.status, "%v", a.Error)
	var got grant
	a.into(t, &got)
	assert.Equal(t, grant{ApprovalID: g.ApprovalID, ThreadID: "main", Scope: []string{"deploy"}, Status: "approved", ThreadStatus: "active"}, got)
	assert.True(t, a.warned("W402"), "and so is the agent")
	p.ok("can", "deploy", "main")
	p.requireHealthy()
}

func TestAnAgentWaitsWhileAPersonRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		person func(p *project, g grant)
		reason string
	}{
		{"denied", func(p *project, g grant) { p.ok("deny", g.ApprovalID, "--reason", "not today") }, "not today"},
		{"withdrawn", func(p *project, g grant) { p.ok("revoke", g.ApprovalID, "--reason", "ask Ann") }, "ask Ann"},
		{"resumed", func(p *project, g grant) { p.ok("resume", "main") }, "the thread was resumed or cancelled without a decision"},
		{"cancelled", func(p *project, g grant) { p.ok("cancel", "main") }, "the thread was resumed or cancelled without a decision"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := withMain(t)
			agent, g := p.asking()
			c.person(p, g)
			a := agent.answered(t)
			require.Equal(t, 14, a.status)
			assert.Equal(t, "T404", a.Error.Code)
			assert.Equal(t, "deploy was denied by ann: "+c.reason+". Repeating the request does not change the decision.", a.Error.Message)
			assert.Equal(t, g.ApprovalID, a.Error.Details["approvalId"])
			assert.Equal(t, true, a.Error.Details["changed"], "the request was made")
			p.fails("T402", 14, "can", "deploy", "main")
			p.requireHealthy()
		})
	}
}

func TestAPersonWhoIsLate(t *testing.T) {
	t.Parallel()
	p := withMain(t)
	agent, g := p.asking("--timeout", "300ms")
	a := agent.answered(t)
	require.Equal(t, 14, a.status)
	assert.Equal(t, "T401", a.Error.Code)
	assert.Equal(t, float64(300), a.Error.Details["durationMs"])
	require.Equal(t, []string{"leslie approvals --all"}, a.Error.Next)
	p.fails("T402", 14, "can", "deploy", "main")
	p.ok("approve", g.ApprovalID)
	p.ok("can", "deploy", "main")

	skipped, g := p.asking("--timeout", "300ms", "--fallback", "skip")
	a = skipped.answered(t)
	require.Equal(t, 0, a.status, "%v", a.Error)
	assert.True(t, a.warned("W401"))
	var got grant
	a.into(t, &got)
	assert.Equal(t, "skipped", got.Status)
	p.fails("T102", 11, "approve", g.ApprovalID)
	p.requireHealthy()
}

// Repeating a command with the same request id continues to wait for the same request.
func TestAnInterruptedWaitContinues(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"interrupted": os.Interrupt, "killed": os.Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := withMain(t)
			agent, g := p.asking("--request-id", "r1")
			require.NoError(t, agent.Process.Signal(signal))
			if signal == os.Interrupt {
				a := agent.answered(t)
				require.Equal(t, 130, a.status)
				assert.Equal(t, "T904", a.Error.Code)
				assert.Equal(t, true, a.Error.Details["changed"], "the request stands")
				assert.Equal(t, g.ApprovalID, a.Error.Details["approvalId"])
			} else {
				_ = agent.Wait()
			}
			require.Equal(t, "open", p.grants()[0].Status)

			again := p.start("transfer", "main", "--direction", "request_approval", "--scope", "deploy", "--wait", "--as", "agent", "--actor", "bot", "--request-id", "r1")
			p.ok("approve", g.ApprovalID)
			a := again.answered(t)
			require.Equal(t, 0, a.status, "%v", a.Error)
			var got grant
			a.into(t, &got)
			assert.Equal(t, "approved", got.Status)
			assert.Len(t, p.grants(), 1, "nothing was asked for twice")
			p.requireHealthy()
		})
	}
}

// A person decides at the moment of the deadline: the agent's answer agrees with the
// record.
func TestADecisionAtTheDeadlineIsOneOrTheOther(t *testing.T) {
	t.Parallel()
	rounds, timeout := 12, 150*time.Millisecond
	if testing.Short() {
		rounds = 4
	}
	r := random(t)
	told := map[string]int{}
	for range rounds {
		p := withMain(t)
		agent, g := p.asking("--timeout", timeout.String(), "--fallback", "skip")
		after := time.Duration(r.Float64() * float64(timeout))
		var person answer
		var failed error
		var wg sync.WaitGroup
		wg.Add(1)
		time.AfterFunc(after, func() {
			defer wg.Done()
			person, failed = p.try("approve", g.ApprovalID)
		})
		a := agent.answered(t)
		wg.Wait()
		require.NoError(t, failed)
		require.Equal(t, 0, a.status, "%v", a.Error)
		var got grant
		a.into(t, &got)
		recorded := p.grants()[0]
		require.Equal(t, recorded.Status, got.Status, "after %v; the person was told %v", after, person.Error)
		require.Equal(t, got.Status == "approved", person.status == 0, "the person was told %v", person.Error)
		require.Equal(t, got.Status == "skipped", a.warned("W401"))
		can, err := p.try("can", "deploy", "main")
		require.NoError(t, err)
		require.Equal(t, got.Status == "approved", can.status == 0)
		told[got.Status]++
		p.requireHealthy()
	}
	t.Logf("told: %v", told)
}

// An agent repeats merge continue while a person approves: the merge is applied once, and
// not before the approval.
func TestAMergeIsAppliedOnceItsPlanIsApproved(t *testing.T) {
	t.Parallel()
	rounds := orInShort(8, 3)
	for i := range rounds {
		p := withMain(t)
		p.ok("spawn", "--intent", "Part", "--id", "part")
		p.write("part", map[string]string{"plan.md": fmt.Sprintf("plan %d\n", i)})
		a, err := p.try("merge", "--sources", "part", "--target", "main", "--require-approval", "--as", "agent")
		require.NoError(t, err)
		require.Equal(t, "T402", a.Error.Code)
		id, _ := a.Error.Details["mergeId"].(string)
		approval, _ := a.Error.Details["approvalId"].(string)

		agents := make([]answer, 3)
		var wg sync.WaitGroup
		for n := range agents {
			wg.Go(func() {
				for {
					a, err := p.try("merge", "continue", id, "--as", "agent")
					if agents[n] = a; err != nil || a.status != 14 {
						return
					}
					p.try("wait", "main", "--until", "decision", "--timeout", "20s")
				}
			})
		}
		require.Empty(t, p.artifacts("main"))
		_, err = p.succeed("approve", approval)
		require.NoError(t, err)
		wg.Wait()
		applied := 0
		for _, a := range agents {
			switch {
			case a.status == 0:
				applied++
			default: // the others find it applied
				require.Contains(t, []string{"T303", "T304"}, a.Error.Code, "%s", a.Error.Message)
			}
		}
		require.Equal(t, 1, applied)
		require.Equal(t, map[string]string{"plan.md": fmt.Sprintf("plan %d\n", i)}, p.artifacts("main"))
		require.Len(t, p.grants(), 1)
		require.Equal(t, "approved", p.grants()[0].Status)
		p.requireHealthy()
	}
}

// A person revokes the approval while the agent continues the merge: it is applied as
// approved, or not at all.
func TestAMergeIsAppliedOrNotWhenItsApprovalIsRevokedAtTheSameTime(t *testing.T) {
	t.Parallel()
	rounds := orInShort(8, 3)
	applied, r := 0, random(t)
	for range rounds {
		p := withMain(t)
		p.ok("spawn", "--intent", "Part", "--id", "part")
		p.write("part", map[string]string{"plan.md": "plan\n"})
		a, err := p.try("merge", "--sources", "part", "--target", "main", "--require-approval", "--as", "agent")
		require.NoError(t, err)
		id, _ := a.Error.Details["mergeId"].(string)
		approval, _ := a.Error.Details["approvalId"].(string)
		p.ok("approve", approval)
		agent := p.start("merge", "continue", id, "--as", "agent")
		revoked := make(chan error, 1)
		time.AfterFunc(time.Duration(r.IntN(60))*time.Millisecond, func() {
			_, err := p.try("revoke", approval)
			revoked <- err
		})
		got := agent.answered(t)
		require.NoError(t, <-revoked)
		if got.status == 0 {
			applied++
			require.Equal(t, map[string]string{"plan.md": "plan\n"}, p.artifacts("main"))
			continue
		}
		require.Equal(t, "T402", got.Error.Code)
		require.Empty(t, p.artifacts("main"))
		p.requireHealthy()
	}
	t.Logf("%d of %d were applied", applied, rounds)
}

// Two people decide one request: one of them gets an error.
func TestOnlyOneOfTwoDecisionsCounts(t *testing.T) {
	t.Parallel()
	for range 6 {
		p := withMain(t)
		agent, g := p.asking()
		yes, no := p.start("approve", g.ApprovalID), p.start("deny", g.ApprovalID, "--reason", "no")
		a, b := yes.answered(t), no.answered(t)
		require.ElementsMatch(t, []int{0, 11}, []int{a.status, b.status})
		told := agent.answered(t)
		want := map[int]string{0: "approved", 14: "denied"}[told.status]
		require.Equal(t, want, p.grants()[0].Status)
		require.Equal(t, a.status == 0, told.status == 0)
		p.requireHealthy()
	}
}

// A hook runs can while others write: it never waits and always answers.
func TestCanAnswersWhileOthersWrite(t *testing.T) {
	t.Parallel()
	p := withMain(t)
	release := p.hold()
	p.fails("T402", 14, "can", "deploy", "main")
	p.ok("can", "read", "main")
	release()
	p.ok("transfer", "main", "--direction", "delegate", "--scope", "deploy")
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for w := range 3 {
		wg.Go(func() {
			for i := range 8 {
				_, err := p.succeed("update", "main", "--title", fmt.Sprintf("title %d %d", w, i))
				errs <- err
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 16 {
				_, err := p.succeed("can", "deploy", "main")
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	p.requireHealthy()
}
