package app

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/internal/nearest"
	"leslie/thread"
)

// This file runs the checks that a thread's code has to pass before an agent completes
// the thread. They run in its worktree, without the store's lock.

// acceptTime is how long one check may take.
const acceptTime = 30 * time.Minute

// checksOf returns the commands of code.checks that may run, and the names of those that
// may not because only the project has them and the user does not trust it. Errors: T509,
// T903 for the configuration.
func checksOf(c *Call) (may map[string]string, untrusted []string, err error) {
	user, project, err := configs(c)
	if err != nil {
		return nil, nil, err
	}
	may = map[string]string{}
	if user.trusts(c.project.root) {
		maps.Copy(may, project.Code.Checks)
	}
	maps.Copy(may, user.Code.Checks)
	for _, name := range sortedKeys(project.Code.Checks) {
		if _, ok := may[name]; !ok {
			untrusted = append(untrusted, name)
		}
	}
	return may, untrusted, nil
}

// checkAccept returns T903 for checks that could not run.
func checkAccept(c *Call, names []string) error {
	if len(names) == 0 {
		return nil
	}
	may, untrusted, err := checksOf(c)
	if err != nil {
		return err
	}
	var faults []Fault
	for i, name := range names {
		_, ok := may[name]
		switch {
		case slices.Contains(untrusted, name):
			faults = append(faults, Fault{Field: "Accept", Value: name, Problem: "only the project's configuration has the check " + quoted(name) + ", and you do not trust the project", Allowed: sortedKeys(may)})
		case !ok:
			faults = append(faults, Fault{
				Field: "Accept", Value: name, Problem: "no configuration has a check " + quoted(name) + " under code.checks", Nearest: nearest.Name(name, sortedKeys(may)), Allowed: sortedKeys(may),
			})
		case slices.Contains(names[:i], name):
			faults = append(faults, Fault{Field: "Accept", Value: name, Problem: "the check " + quoted(name) + " is named twice"})
		}
	}
	return refused(faults)
}

// accepted is what checks found of a thread's code.
type accepted struct {
	thread   thread.ThreadID
	evidence []thread.CodeEvidence
}

// covers reports whether these checks, in this order, succeeded for a thread.
func (a accepted) covers(id thread.ThreadID, checks []string) bool {
	return a.thread == id && slices.EqualFunc(a.evidence, checks, func(e thread.CodeEvidence, name string) bool { return e.Check == name })
}

// notChecked says, as the error of a rule, that the checks of a thread have to run first.
type notChecked struct {
	error
	thread thread.Thread
}

func (n *notChecked) Unwrap() error { return n.error }

// record records, inside a rule that completes a thread, that its checks succeeded; a
// *notChecked if they have not run.
func (a accepted) record(s *thread.State, id string, stamp thread.Stamp) error {
	t, err := s.Thread(id)
	if err != nil {
		return err
	}
	checks := t.Unaccepted(stamp)
	switch {
	case len(checks) == 0:
		return nil
	case !a.covers(t.ID, checks):
		return &notChecked{notAccepted(t, checks[0], "it has not run on what the thread is now"), t}
	}
	_, err = s.ChangeCode(id, nil, stamp, func(_ *thread.Thread, code *thread.Code) { code.Evidence = a.evidence })
	return err
}

// accept runs the checks of a thread until one does not succeed. Errors: T114; T801,
// T802 without a worktree to run them in; T509, T904.
func accept(c *Call, t thread.Thread) (accepted, error) {
	code := t.OwnedCode()
	if code.State != thread.CodeReady {
		return accepted{}, thread.NoCode(t.ID, "its worktree is "+string(code.State)).With(fact.Of("state", code.State))
	}
	may, _, err := checksOf(c)
	if err != nil {
		return accepted{}, err
	}
	repo, err := repoOf(c, t)
	if err != nil {
		return accepted{}, err
	}
	dir := worktreeDir(c, t)
	out, worktree := accepted{thread: t.ID}, repo.Worktree(dir, code.Admin)
	tree, err := worktree.Content(c.ctx)
	if err != nil {
		return accepted{}, err
	}
	for _, name := range code.Accept {
		command, ok := may[name]
		if !ok {
			return accepted{}, notAccepted(t, name, "no configuration that the user trusts has it under code.checks")
		}
		result, err := external.Run(c.ctx, external.Job{Command: command, Dir: workFolder(c, repo.Top, dir), Env: slotEnviron(c, t.ID, code.Slot), Timeout: acceptTime})
		if err := failedCheck(t, name, result, err); err != nil {
			return accepted{}, err
		}
		evidence := thread.CodeEvidence{Check: name, Tree: tree, Exit: result.Status, Tail: ending(result.Tail), At: c.now()}
		if tree, err = worktree.Content(c.ctx); err != nil {
			return accepted{}, err
		}
		if tree != evidence.Tree {
			evidence.Tree = ""
		}
		out.evidence = append(out.evidence, evidence)
	}
	return out, nil
}

// failedCheck returns T114 for a check that did not succeed, T904 if the call has ended.
func failedCheck(t thread.Thread, name string, result external.Result, err error) error {
	var reason string
	switch {
	case codes.Has(err, codes.AgentTimeout):
		reason = "it has not ended within " + acceptTime.String()
	case codes.Has(err, codes.AgentConnection), codes.Has(err, codes.AgentUnavailable):
		reason = "it could not be run: " + codes.Reason(errors.Unwrap(err))
		if errors.Unwrap(err) == nil {
			reason = "a signal ended it"
		}
	case err != nil:
		return err
	case result.Verdict != external.Done:
		reason = "it ended with status " + strconv.Itoa(result.Status)
	default:
		return nil
	}
	return notAccepted(t, name, reason).With(fact.Of("exit", result.Status), fact.Of("output", result.Tail))
}

func notAccepted(t thread.Thread, check, reason string) *codes.Error {
	return codes.AcceptanceFailed.New(fact.Of("check", check), fact.Of("threadId", t.ID), fact.Of("reason", reason))
}

// keptOutput is how much of a successful check's output is recorded, in bytes.
const keptOutput = 1000

// ending returns the end of an output, whole lines if there are several.
func ending(output string) string {
	if len(output) <= keptOutput {
		return output
	}
	output = output[len(output)-keptOutput:]
	if _, rest, ok := strings.Cut(output, "\n"); ok && rest != "" {
		return rest
	}
	return strings.ToValidUTF8(output, "")
}

// placeEnviron is the environment of a program that works on a thread's code.
func placeEnviron(c *Call, id thread.ThreadID) []string {
	return append(git.WithoutRepository(environ(c)), "LESLIE_THREAD="+string(id), "LESLIE_ROOT="+c.project.root)
}

// slotEnviron is placeEnviron in the thread's own worktree.
func slotEnviron(c *Call, id thread.ThreadID, slot int) []string {
	return append(placeEnviron(c, id), "LESLIE_SLOT="+strconv.Itoa(slot))
}
