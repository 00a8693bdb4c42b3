package code

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
	"leslie/warnings"
)

// This file runs single checks of a thread's code, and knows how they ended: where its
// branch begins, and on what is to land from the queue. A check runs once on a tree.

// checking is a thread's worktree, in which checks run.
type checking struct {
	t        thread.Thread
	commands map[string]string
	repo     *git.Repo
	worktree git.Worktree
	folder   string // the project's, in the worktree
	tree     string // of what is in the worktree now
}

// newChecking finds the worktree. Errors: T801, T802, T509, T903, T904.
func newChecking(c *app.Call, t thread.Thread) (*checking, error) {
	code := t.OwnedCode()
	if code.State != thread.CodeReady {
		return nil, thread.NoCode(t.ID, "its worktree is "+string(code.State)).With(fact.Of("state", code.State))
	}
	commands, _, err := ChecksOf(c)
	if err != nil {
		return nil, err
	}
	repo, err := RepoOf(c, t)
	if err != nil {
		return nil, err
	}
	dir := WorktreeDir(c, t)
	k := &checking{t: t, commands: commands, repo: repo, worktree: repo.Worktree(dir, code.Admin), folder: WorkFolder(c, repo.Top, dir)}
	k.tree, err = k.worktree.Content(c.Context())
	return k, err
}

// run runs a check on what is in the worktree now, and says how it ended. Errors: T114,
// with which the result is there as well if the check ran; T509, T904.
func (k *checking) run(c *app.Call, name string) (thread.CodeEvidence, error) {
	command, ok := k.commands[name]
	if !ok {
		return thread.CodeEvidence{}, notAccepted(k.t, name, "no configuration that the user trusts has it under code.checks")
	}
	result, err := external.Run(c.Context(), external.Job{Command: command, Dir: k.folder, Env: slotEnviron(c, k.t.ID, k.t.OwnedCode().Slot), Timeout: acceptTime})
	reason, err := whyFailed(result, err)
	if err != nil {
		return thread.CodeEvidence{}, err
	}
	e := thread.CodeEvidence{Check: name, Command: command, Tree: k.tree, Exit: result.Status, Reason: reason, Tail: ending(result.Tail), At: c.Now()}
	if k.tree, err = k.worktree.Content(c.Context()); err != nil {
		return e, err
	}
	if k.tree != e.Tree {
		e.Tree = ""
	}
	if reason != "" {
		err = failedCheck(k.t, e, result.Tail)
	}
	return e, err
}

// once is run unless it is known how the check ended on what is there.
func (k *checking) once(c *app.Call, name string) (e thread.CodeEvidence, err error) {
	known := false
	if _, err := c.View(func(s *thread.State) error {
		e, known = s.KnownCheck(name, k.commands[name], k.tree)
		return nil
	}); err != nil {
		return e, err
	}
	switch e.Begin = false; {
	case !known:
		return k.run(c, name)
	case e.Reason != "":
		return e, failedCheck(k.t, e, e.Tail)
	}
	return e, nil
}

// whyFailed says why a check did not succeed, "" if it did. Errors: T904 and others that
// say nothing of the check.
func whyFailed(result external.Result, err error) (string, error) {
	switch {
	case codes.Has(err, codes.AgentTimeout):
		return "it has not ended within " + acceptTime.String(), nil
	case codes.Has(err, codes.AgentConnection), codes.Has(err, codes.AgentUnavailable):
		if errors.Unwrap(err) == nil {
			return "a signal ended it", nil
		}
		return "it could not be run: " + codes.Reason(errors.Unwrap(err)), nil
	case err != nil:
		return "", err
	case result.Verdict != external.Done:
		return "it ended with status " + strconv.Itoa(result.Status), nil
	}
	return "", nil
}

// failedCheck is T114 of a check that ran.
func failedCheck(t thread.Thread, e thread.CodeEvidence, output string) error {
	reason := e.Reason
	if t.OwnedCode().FailsAtBegin(e.Check) != nil {
		reason += ", as it does where the branch begins"
	}
	return notAccepted(t, e.Check, reason).With(fact.Of("command", e.Command), fact.Of("exit", e.Exit), fact.Of("output", output))
}

// checkCommand is the operation by which it is recorded how checks ended.
const checkCommand = "check"

// noteChecks records how checks ended. It is a service on top of what was asked: where it
// cannot be recorded, they run again.
func noteChecks(c *app.Call, id thread.ThreadID, found ...thread.CodeEvidence) {
	found = slices.DeleteFunc(found, func(e thread.CodeEvidence) bool { return e.Check == "" })
	if len(found) == 0 {
		return
	}
	one := c.Project().Call(c.Context(), c.Caller(), app.Request{LockTimeout: app.SeenTimeout})
	_, _ = one.System(checkCommand, c.Now(), func(s *thread.State, _ thread.Stamp) thread.ThreadID {
		s.NoteChecks(id, found...)
		return id
	})
}

// beginTime is how long the checks of a new thread may take together.
const beginTime = 10 * time.Minute

// RunChecksAtStart runs a new thread's checks where its branch begins, and warns of those that
// fail already (W811). They run in a worktree that is removed afterwards, so that what they
// write is not in the thread's own, where somebody may work by now. What cannot be run says
// nothing, and the thread stands in any case.
func RunChecksAtStart(c *app.Call, id thread.ThreadID) {
	var t thread.Thread
	if _, err := c.View(func(s *thread.State) error { t, _ = s.Threads.Peek(string(id)); return nil }); err != nil {
		return
	}
	if code := t.OwnedCode(); code == nil || len(code.Accept) == 0 {
		return
	}
	ctx, cancel := c.Project().Environment().Timeout(c.Context(), beginTime)
	defer cancel()
	one := c.Project().Call(ctx, c.Caller(), app.Request{})
	k, err := newChecking(one, t)
	if err == nil && !k.known(one, t.OwnedCode().Accept) {
		var remove func()
		if k, remove, err = k.elsewhere(one); err == nil {
			defer remove()
		}
	}
	if err != nil {
		return
	}
	var found []thread.CodeEvidence
	for _, name := range t.OwnedCode().Accept {
		e, err := k.once(one, name)
		if e.Check == "" || err != nil && !codes.Has(err, codes.AcceptanceFailed) {
			break
		}
		e.Begin = true
		found = append(found, e)
	}
	noteChecks(c, id, found...)
	for _, e := range found {
		WarnBegin(c, id, e)
	}
}

// known reports whether it is known of all these checks how they ended on what is there.
func (k *checking) known(c *app.Call, names []string) (all bool) {
	_, err := c.View(func(s *thread.State) error {
		all = !slices.ContainsFunc(names, func(name string) bool {
			_, known := s.KnownCheck(name, k.commands[name], k.tree)
			return !known
		})
		return nil
	})
	return err == nil && all
}

// elsewhere checks the commit at which the thread's branch begins out in a worktree of its
// own, prepared as the thread's is, until remove is called. Errors: those of CheckOutForValidation and of
// CopyIncluded; T807.
func (k *checking) elsewhere(c *app.Call) (at *checking, remove func(), err error) {
	t, repo := k.t, k.repo
	kept, release, err := checkOutPrivate(c, t.ID, repo, git.Commit(t.OwnedCode().Start))
	if err != nil {
		return nil, nil, err
	}
	remove = func() {
		_ = repo.RemovePrivate(kept) // code prune removes one that stays
		release()
	}
	at = &checking{t: t, commands: k.commands, repo: repo, worktree: repo.InPrivate(kept), folder: WorkFolder(c, repo.Top, kept.Dir)}
	if err = CopyIncluded(c, repo, kept.Dir); err == nil {
		up := SetupRun{C: c, ID: t.ID, Dir: kept.Dir, Folder: at.folder, Slot: t.OwnedCode().Slot}
		err = up.again()
	}
	if err == nil {
		at.tree, err = at.worktree.Content(c.Context())
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return at, remove, nil
}

// WarnBegin is W811 for a check that fails where a thread's branch begins.
func WarnBegin(c *app.Call, id thread.ThreadID, e thread.CodeEvidence) {
	if e.Reason != "" {
		c.Warn(warnings.CheckFailsAtBegin.New(fact.Of("threadId", id), fact.Of("check", e.Check), fact.Of("reason", e.Reason),
			fact.Of("command", e.Command), fact.Of("output", strings.Join(e.LastLines(), "\n"))))
	}
}

// CheckedSources are the sources of a merge of code whose checks have to succeed.
func CheckedSources(s *thread.State, m thread.Merge) (out []thread.Thread) {
	if !m.TakesCode() || m.Landing() {
		return nil
	}
	for _, id := range m.Sources {
		if t, _ := s.Threads.Peek(string(id)); t.OwnedCode() != nil && t.OwnedCode().State == thread.CodeReady && len(t.OwnedCode().Accept) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// RunChecksNow returns T114 if what is in a thread's worktree fails one of its checks, and
// records how they ended.
func RunChecksNow(c *app.Call, t thread.Thread) error {
	k, err := newChecking(c, t)
	if err != nil {
		return err
	}
	var found []thread.CodeEvidence
	for _, name := range t.OwnedCode().Accept {
		var e thread.CodeEvidence
		e, err = k.once(c, name)
		if found = append(found, e); err != nil {
			break
		}
	}
	noteChecks(c, t.ID, found...)
	return err
}
