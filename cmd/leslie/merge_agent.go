package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/retry"
	"leslie/merge"
	"leslie/thread"
)

// This file asks an agent about one file: a fresh folder with the versions, the
// conflicts and a prompt; its answer is judged by package merge. It has two
// attempts; the second is told why the first was refused.

const agentAttempts = 2

func (m *merging) timeout() time.Duration {
	if d, err := time.ParseDuration(m.c.text("agent-timeout")); err == nil {
		return d
	}
	return defaultAgentTimeout
}

// askAgent asks about the open conflicts of a path. What the agent declines or
// fails at stays open, with the reason on record (W303).
func (m *merging) askAgent(path string) error {
	command := m.agentCommand()
	if command == "" {
		m.declinedBy(path, "no agent is configured")
		return nil
	}
	may, err := m.mayResolve()
	if err != nil {
		return err
	}
	if !may {
		m.declinedBy(path, leftToPeople)
		return nil
	}
	reason := ""
	for range agentAttempts {
		f, ok := m.file(path)
		if !ok || f.Open == 0 {
			return nil
		}
		decisions, refused, err := m.agentAttempt(command, f, reason)
		if err != nil {
			if reason, err = unavailable(err); err != nil {
				return err
			}
			break // it never answered: there is nothing to do better
		}
		if refused == "" {
			late, err := m.answered(decisions)
			if late {
				m.declinedBy(path, "what was decided meanwhile stands")
			}
			if codes.Has(err, codes.PermissionDenied) { // it was taken back meanwhile
				m.declinedBy(path, leftToPeople)
				return nil
			}
			return err
		}
		reason = refused
		if strings.HasPrefix(refused, declinedPrefix) {
			break
		}
	}
	m.declinedBy(path, reason)
	return m.decideBy(func(have map[string]thread.Decision) (map[string]thread.Decision, error) { return have, nil },
		map[string]string{path: reason})
}

// leftToPeople is why an agent is not asked.
const leftToPeople = "the policy leaves conflicts to a person (resolve_conflict)"

// mayResolve reports whether the target may have its conflicts resolved by an
// agent.
func (m *merging) mayResolve() (bool, error) {
	_, err := m.c.view(func(s *thread.State) error { return s.MayResolve(m.record, m.settings.policy, m.c.now()) })
	if codes.Has(err, codes.PermissionDenied) {
		return false, nil
	}
	return err == nil, err
}

// declinedPrefix begins the reason of an agent that does not want to.
const declinedPrefix = "it declined"

func (m *merging) file(path string) (merge.Change, bool) {
	for _, f := range m.plan.Files {
		if f.Path == path {
			return f, true
		}
	}
	return merge.Change{}, false
}

// agentAttempt runs the agent once. refused says why its answer was not taken.
func (m *merging) agentAttempt(command string, f merge.Change, earlier string) (out []choice, refused string, err error) {
	dir, err := os.MkdirTemp("", "leslie-agent-")
	if err != nil {
		return nil, "", codes.WriteFailed.Wrap(err, fact.Of("path", os.TempDir()), fact.Of("reason", plainReason(err)))
	}
	defer os.RemoveAll(dir)
	open := m.openOf(f.Path)
	marked, err := m.givenText(f)
	if err != nil {
		return nil, "", err
	}
	if err := m.writeTask(dir, f, open, marked, earlier); err != nil {
		return nil, "", err
	}
	var result external.Result
	err = retry.Retry(m.c.ctx, agentRetry(), func(ctx context.Context, _ int) error {
		var err error
		result, err = external.Run(ctx, external.Job{Command: command, Dir: dir, Env: append(m.c.env.environ(), taskEnv(dir)...), Timeout: m.timeout()})
		if err == nil && result.Verdict == external.TryAgain {
			err = codes.AgentConnection.New(fact.Of("reason", "it asked to be tried again (exit status 75)"))
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	switch result.Verdict {
	case external.Declined:
		return nil, declinedPrefix + lastLine(result.Tail), nil
	case external.Failed:
		return nil, "it ended with " + strconv.Itoa(result.Status) + lastLine(result.Tail), nil
	}
	return m.judge(dir, f, marked)
}

// agentRetry starts an agent again whose connection was lost: twice, soon.
func agentRetry() retry.Policy {
	return retry.Policy{MaxAttempts: 3, InitialDelay: 100 * time.Millisecond, MaxDelay: time.Second, Multiplier: 2, Retryable: []codes.Code{codes.AgentConnection}}
}

func lastLine(tail string) string {
	lines := strings.Split(strings.TrimSpace(tail), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + cut(last, 200)
	}
	return ""
}

func (m *merging) openOf(path string) []merge.Conflict {
	var out []merge.Conflict
	for _, d := range m.disputes() {
		if d.Path == path && d.Status == merge.Unresolved {
			out = append(out, d)
		}
	}
	return out
}

// givenText is what the agent gets as merged: the file with markers, or the
// target's version of one that is in conflict as a whole.
func (m *merging) givenText(f merge.Change) ([]byte, error) {
	if f.Merge != nil {
		return f.Marked(m.plan.Conflicts).Text, nil
	}
	if !f.Before.There() {
		return nil, nil
	}
	return m.g.input.Read(f.Before.Hash)
}

// judge reads the agent's answer and takes it or says why not.
func (m *merging) judge(dir string, f merge.Change, given []byte) (out []choice, refused string, err error) {
	work := merge.Work{Before: given}
	if work.After, err = readAnswer(filepath.Join(dir, "merged")); err != nil {
		return nil, "the file merged cannot be read", nil
	}
	raw, err := readAnswer(filepath.Join(dir, "resolutions.json"))
	switch {
	case err == nil:
		if work.Resolutions, err = merge.ParseResolutions(raw); err != nil {
			return nil, "resolutions.json: " + err.Error(), nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, "resolutions.json cannot be read", nil
	}
	judgement := merge.Accept(f, m.plan.Conflicts, work)
	if judgement.Refused != "" {
		return nil, judgement.Refused, nil
	}
	for _, a := range judgement.Accepted {
		made := thread.Decision{Take: a.Decision.Take, How: merge.ByAgent, Actor: "agent", Reason: a.Reason}
		if made.Take == merge.TakeText {
			if made.Text, err = m.keepText(a.Decision.Text); err != nil {
				return nil, "", err
			}
		}
		out = append(out, choice{a.ConflictID, made})
	}
	return out, "", nil
}
