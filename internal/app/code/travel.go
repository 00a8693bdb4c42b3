package code

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file takes the commits of threads to the other machines of a project, and brings theirs
// here. They go with the operation that hands the work on (thread.HandedOn), as a git bundle among
// the content of the project's log, and come when somebody looks at the code. A branch here only
// moves forward; refs/leslie/machines/MACHINE/BRANCH has what came.

// Send takes what a thread's branch has here to the other machines, for an operation that hands its work on:
// nil where nothing is new. Where the worktree is on another machine, that is what
// the branch here has besides. What prevents it, as that the user has it stay, is W815, and the operation goes on without.
// again: what this machine has sent is lost, and goes once more.
func Send(c *app.Call, t thread.Thread, again bool) (sent *thread.CodeSent, bundle []byte) {
	code, machine := t.OwnedCode(), c.Project().Machine()
	if code == nil || machine == "" || code.Machine == "" {
		return nil, nil
	}
	repo, err := OpenRepo(c)
	if err != nil || !InRepo(t, repo) {
		return nil, nil
	}
	if code.State == thread.CodeMaking { // what makes it hands it on, unless somebody has worked there after a kill
		if tip, err := repo.Branch(c.Context(), t.Branch); err != nil || tip == "" || string(tip) == code.Start {
			return nil, nil
		}
	}
	astray := commitsAstray(c, repo, t)
	travel, err := c.Travel()
	stays := err == nil && travel == app.TravelOff
	if err == nil && !stays {
		sent, bundle, err = send(c, repo, t, travel, astray, again)
	}
	if err == nil && !stays || c.Context().Err() != nil {
		return sent, bundle
	}
	reason, sent := "code.travel is off in your configuration", notSent(c, repo, t, astray)
	if !stays {
		reason = codes.Reason(err)
	}
	if !stays || sent != nil { // that the user has them stay is said once
		c.Warn(warnings.CommitsNotSent.New(fact.Of("threadId", t.ID), fact.Of("branch", t.Branch), fact.Of("reason", reason)))
	}
	return sent, nil
}

// commitsAstray is the last of the commits that the worktree of a thread has and its branch lacks, with W815, since
// only the branch is sent; "" for none.
func commitsAstray(c *app.Call, repo *git.Repo, t thread.Thread) git.Commit {
	ctx, code := c.Context(), t.OwnedCode()
	w := repo.Worktree(WorktreeDir(c, t), code.Admin)
	if code.State != thread.CodeReady || code.Machine != c.Project().Machine() || FolderMissing(code.Admin) ||
		w.HasCheckedOut(t.Branch) || w.Busy() != "" {
		return ""
	}
	head, err := repo.Resolve(ctx, w.Head())
	if err != nil || head == "" {
		return ""
	}
	tip, err := repo.Branch(ctx, t.Branch)
	if err != nil || tip == "" {
		return ""
	}
	beside, err := commitsBeyond(ctx, repo, head, []git.Commit{tip, git.Commit(code.Start)})
	if err != nil || len(beside) == 0 {
		return ""
	}
	reason := fact.Plural(len(beside), "commit") + " up to " + string(head)[:12] + " in its worktree that " + t.Branch +
		" lacks, and only the branch is sent"
	c.Warn(warnings.CommitsNotSent.New(fact.Of("threadId", t.ID), fact.Of("branch", t.Branch), fact.Of("reason", reason)))
	return head
}

// notSent tells the other machines that commits of a thread's branch stay here which could not be sent; nil where
// they know it, or git does not say which.
func notSent(c *app.Call, repo *git.Repo, t thread.Thread, astray git.Commit) *thread.CodeSent {
	code, machine := t.OwnedCode(), c.Project().Machine()
	tip, err := repo.Branch(c.Context(), t.Branch)
	if err != nil || tip == "" || string(tip) == code.Start || code.Machine != machine {
		return nil
	}
	out, was := thread.CodeSent{Tip: code.Start}, code.Sent
	if was != nil && was.Machine == machine {
		out = *was
	} else if was != nil {
		if has, err := repo.Contains(c.Context(), tip, git.Commit(was.Tip)); err == nil && has {
			out.Tip, out.Bundle, out.Includes = was.Tip, was.Bundle, true // the others have that still
		}
	}
	before := out
	out.Held, out.Uncommitted, out.Astray = string(tip), uncommittedIn(c, repo, t), string(astray)
	if out.Held == before.Held && out.Uncommitted == before.Uncommitted && out.Astray == before.Astray {
		return nil
	}
	out.Machine, out.At = machine, c.Now()
	return &out
}

// send is Send in the thread's repository: it bundles the branch, or pushes it.
func send(
	c *app.Call, repo *git.Repo, t thread.Thread, travel app.Travel, astray git.Commit, again bool,
) (*thread.CodeSent, []byte, error) {
	ctx, code := c.Context(), t.OwnedCode()
	tip, err := repo.Branch(ctx, t.Branch)
	if err == nil && tip == "" && code.State == thread.CodeReady && !t.Status.Terminated() {
		err = merging.BranchGone(repo, t)
	}
	if err != nil || tip == "" {
		return nil, nil, err
	}
	next := &thread.CodeSent{
		Machine: c.Project().Machine(), At: c.Now(), Tip: string(tip), Uncommitted: uncommittedIn(c, repo, t),
		Astray: string(astray),
	}
	if was := code.Sent; code.Machine == next.Machine && was != nil && was.Machine != next.Machine {
		next.Includes, err = repo.Contains(ctx, tip, git.Commit(was.Tip))
		if err == nil && next.Includes && was.Held != "" {
			next.Includes, err = repo.Contains(ctx, tip, git.Commit(was.Held))
		}
		if err != nil {
			next.Includes = false // git does not have it
		}
		if !next.Includes {
			if next.Had, err = repo.HasBeenAt(ctx, t.Branch, git.Commit(was.Tip)); err != nil {
				return nil, nil, err
			}
		}
	}
	if code.Machine != next.Machine && !again {
		known, err := isSent(ctx, repo, code, tip)
		if err != nil {
			return nil, nil, err
		}
		newer := slices.ContainsFunc(code.AllSent(), func(was thread.CodeSent) bool {
			return was.Machine == next.Machine && was.Uncommitted != next.Uncommitted
		})
		if known && !newer {
			return nil, nil, nil
		}
	}
	for _, was := range code.AllSent() {
		switch {
		case was.Tip != next.Tip, was.Held == next.Tip, again && was.Machine == next.Machine:
		case was.Machine == next.Machine && was.Uncommitted == next.Uncommitted && was.Astray == next.Astray &&
			was.Held == "":
			return nil, nil, nil
		default: // with the content that the log has
			next.Bundle = was.Bundle
			return next, nil, nil
		}
	}
	if travel == app.TravelByGit {
		if err := push(c, repo, t); err != nil {
			return nil, nil, err
		}
		return next, nil, nil
	}
	found, err := repo.Bundle(ctx, t.Branch, store.MaxFile)
	if err != nil {
		return nil, nil, err
	}
	next.Tip = string(found.Tip)
	return next, found.Data, nil
}

// push pushes a thread's branch to the person's remote. Errors: T802 for a branch that leslie did not make,
// those of git.
func push(c *app.Call, repo *git.Repo, t thread.Thread) error {
	if !t.OwnedCode().Made.Branch {
		return thread.NoCode(t.ID, "its branch was not made by leslie, which pushes no other: push it with git")
	}
	return repo.Push(c.Context(), t.Branch)
}

// isSent reports whether what was sent of a branch has a commit, or the branch began there.
func isSent(ctx context.Context, repo *git.Repo, code *thread.Code, tip git.Commit) (bool, error) {
	others := []git.Commit{git.Commit(code.Start)}
	for _, sent := range code.AllSent() {
		others = append(others, git.Commit(sent.Tip))
	}
	beyond, err := commitsBeyond(ctx, repo, tip, others)
	return err == nil && len(beyond) == 0, err
}

// uncommittedIn is how many files and folders are not committed in a thread's worktree, or in one that is left here of
// code that is elsewhere, or removed; 0 where git cannot say it.
func uncommittedIn(c *app.Call, repo *git.Repo, t thread.Thread) int {
	dir, code := WorktreeDir(c, t), t.OwnedCode()
	w := repo.Worktree(dir, code.Admin)
	switch {
	case code.State == thread.CodeElsewhere, code.State == thread.CodeRemoved:
		in, err := repo.CheckedOut(c.Context(), t.Branch)
		if err != nil || in == nil || in.Missing {
			return 0
		}
		w = in.Worktree
	case code.State != thread.CodeReady || FolderMissing(dir) || FolderMissing(code.Admin):
		return 0
	}
	status, err := w.Status(c.Context())
	if err != nil {
		return 0
	}
	return len(status.Dirty) + len(status.Untracked)
}

// notCome says why commits that another machine has sent are not here, and what brings them.
type notCome struct{ reason, hint, next, brings string }

func (n *notCome) Error() string { return n.reason }

// NotHere says of an error of commits that are not here why, and which line brings them; "" for another error.
func NotHere(err error) (reason, brings string) {
	if why, ok := errors.AsType[*notCome](err); ok {
		return why.reason, why.line()
	}
	return "", ""
}

// line is the line that brings the commits, or says more.
func (n *notCome) line() string { return cmp.Or(n.brings, n.next) }

// warn adds W816 for a thread of which a machine has commits.
func (n *notCome) warn(c *app.Call, id thread.ThreadID, machine string) {
	c.Warn(warnings.CommitsNotHere.New(fact.Of("threadId", id), fact.Of("machine", machine),
		fact.Of("reason", n.reason), fact.Of("next", n.line())))
}

// arrive brings the commits here that other machines have sent of threads. What prevents it is
// W816 for whoever only looks, or T802.
func arrive(c *app.Call, repo *git.Repo, threads ...thread.Thread) error {
	type coming struct {
		thread.Thread
		sent thread.CodeSent
	}
	var from []coming
	var refs []string
	for _, t := range threads {
		for _, sent := range t.OwnedCode().AllSent() {
			if sent.Machine != c.Project().Machine() && InRepo(t, repo) {
				from, refs = append(from, coming{t, sent}), append(refs, "refs/heads/"+t.Branch, git.MachineRef(sent.Machine, t.Branch))
			}
		}
	}
	tips, err := repo.Tips(c.Context(), refs)
	if err != nil {
		return err
	}
	fetched := map[string]error{}
	fetch := func(branch string) error { // once for all in a folder: each takes as long
		folder := path.Dir(branch)
		if _, been := fetched[folder]; !been || folder == "." {
			fetched[folder] = repo.Fetch(c.Context(), branch)
		}
		return fetched[folder]
	}
	for _, t := range from {
		sent, err := t.sent, bring(c, repo, t.Thread, t.sent, tips, fetch)
		var why *notCome
		if !errors.As(err, &why) && err != nil && c.Context().Err() == nil { // a sandbox may not write the repository, say
			why = &notCome{reason: codes.Reason(err), hint: "Repeat the call where the repository can be written", next: "leslie code " + string(t.ID)}
		}
		switch {
		case why == nil:
			if err != nil {
				return err
			}
			warnOfHeld(c, repo, t.ID, sent)
		case c.Request().ReadOnly:
			why.warn(c, t.ID, sent.Machine)
		default:
			hint, next := why.hint, why.next
			if !strings.HasPrefix(next, "leslie ") {
				next = "leslie code " + string(t.ID)
			}
			return thread.NoCode(t.ID, "what "+sent.Machine+" has sent of its commits is not here: "+why.reason).
				WithHint(hint).WithNext(next).WithCause(why)
		}
	}
	return nil
}

// isHeld reports whether another machine has a commit of a thread that it did not send, "" for none, and that is not
// here.
func isHeld(ctx context.Context, repo *git.Repo, held string) bool {
	if held == "" {
		return false
	}
	at, err := repo.Resolve(ctx, held)
	return err == nil && at == ""
}

// warnOfHeld adds W816 if another machine has commits of a thread that it did not send, and they are not here.
func warnOfHeld(c *app.Call, repo *git.Repo, id thread.ThreadID, sent thread.CodeSent) {
	publish := "leslie publish " + string(id)
	if isHeld(c.Context(), repo, sent.Held) {
		(&notCome{
			reason: "it has commits up to " + sent.Held[:12] + " that it did not send",
			brings: onMachine(sent, publish) + " (where code.travel is off, git push there and git fetch here)",
		}).warn(c, id, sent.Machine)
	}
	if isHeld(c.Context(), repo, sent.Astray) {
		(&notCome{
			reason: "its worktree has commits up to " + sent.Astray[:12] + " that the branch lacks",
			brings: onMachine(sent, "git merge "+sent.Astray[:12]+" on the branch, then "+publish+","),
		}).warn(c, id, sent.Machine)
	}
}

// onMachine says of a line that it is for the machine that has sent commits.
func onMachine(sent thread.CodeSent, line string) string { return "On " + sent.Machine + ", " + line }

// bring brings the commits here that another machine has sent of one thread, and moves its branch
// forward to the thread's own, unless a worktree has that checked out, or leslie did not make it. tips has
// where the refs are, fetch fetches a branch with git.
func bring(
	c *app.Call, repo *git.Repo, t thread.Thread, sent thread.CodeSent, tips map[string]git.Commit,
	fetch func(branch string) error,
) error {
	ctx, own := c.Context(), "refs/heads/"+t.Branch
	tip, came := git.Commit(sent.Tip), git.MachineRef(sent.Machine, t.Branch)
	if tips[own] == "" && t.Status.Terminated() && t.OwnedCode().LandedAt(sent.Tip) {
		if at, err := repo.Resolve(ctx, sent.Tip); err != nil || at != "" {
			return err // it is where it landed, and needs no branch
		}
	}
	if tips[came] != tip {
		if err := commitsCome(c, repo, t, sent, fetch); err != nil {
			return err
		}
		if err := repo.UpdateRef(ctx, came, tip, git.AnyOldValue, "leslie: from "+sent.Machine); err != nil {
			return err
		}
	}
	has, code := tips[own], t.OwnedCode()
	switch {
	case has == tip, code.State == thread.CodeRemoved, code.Sent == nil || sent.Machine != code.Sent.Machine:
		return nil
	case has == "":
		return unlessMoved(repo.UpdateRef(ctx, own, tip, "", "leslie: from "+sent.Machine))
	case !code.Made.Branch: // a person's
		return nil
	}
	forward, err := repo.Contains(ctx, tip, has)
	if err != nil || !forward && !madeAnew(c, t, has) {
		return err
	}
	if in, err := repo.CheckedOut(ctx, t.Branch); err != nil || in != nil {
		return err
	}
	err = repo.UpdateRef(ctx, own, tip, has, "leslie: from "+sent.Machine)
	if err == nil && !forward {
		warnMadeAnew(c, t, has)
	}
	return unlessMoved(err)
}

// unlessMoved drops git.ErrMoved: somebody else has moved the branch, and the next look sees it.
func unlessMoved(err error) error {
	if errors.Is(err, git.ErrMoved) {
		return nil
	}
	return err
}

// commitsCome adds to the repository what another machine has sent, if it is not there. Errors:
// a *notCome.
func commitsCome(
	c *app.Call, repo *git.Repo, t thread.Thread, sent thread.CodeSent, fetch func(branch string) error,
) error {
	ctx := c.Context()
	at, err := repo.Resolve(ctx, sent.Tip)
	if err != nil || at != "" {
		return err
	}
	all := "git -C " + external.Word(repo.Top) + " fetch --all"
	lacks := &git.LacksError{Commits: []git.Commit{git.Commit(sent.Tip)}}
	if sent.Bundle != "" {
		bundle, err := c.Store().Blob(sent.Bundle)
		if err != nil {
			why := &notCome{reason: codes.Reason(err), hint: "Repeat the call when the project's servers answer", next: "leslie remote status"}
			if codes.Has(err, codes.RemoteDamaged) {
				why.brings = onMachine(sent, "leslie publish "+string(t.ID))
				why.hint = "The servers have lost it: leslie publish " + string(t.ID) + " on " + sent.Machine + " stores it again"
			}
			return why
		}
		if err = repo.Unbundle(ctx, bundle); err == nil || !errors.As(err, &lacks) {
			return err
		}
	}
	if travel, err := c.Travel(); err == nil && travel == app.TravelByGit {
		if err := fetch(t.Branch); err != nil {
			return &notCome{reason: codes.Reason(err), hint: "Fetch it with git, then repeat the call: " + all, next: all}
		}
		if at, err := repo.Resolve(ctx, sent.Tip); err != nil || at != "" {
			return err
		}
	}
	hint := all + " brings what the others have pushed; then repeat the call. What that does not bring has to be pushed on " +
		sent.Machine + " first"
	reason := lacks.Error()
	if sent.Bundle == "" {
		reason = "no branch that was fetched has its commit " + sent.Tip[:12]
	}
	return &notCome{reason: reason, hint: hint, next: all}
}

// mostLandings is how many of the newest landings on a branch are looked for.
const mostLandings = 10

// WarnOfLandingsElsewhere adds W809 if threads have landed on a branch on other machines, and it does
// not have that here: to land on it lets the two branches part.
func WarnOfLandingsElsewhere(c *app.Call, branch string) {
	if c.Project().Machine() == "" {
		return
	}
	type landing struct {
		id   thread.ThreadID
		code *thread.Code
		thread.CodeLanded
	}
	var all []landing
	if _, err := c.View(func(s *thread.State) error {
		all = nil
		for _, t := range s.ThreadsWithCode() {
			if l, ok := t.OwnedCode().LastLanded(); ok && l.Onto == branch {
				all = append(all, landing{t.ID, t.OwnedCode(), l})
			}
		}
		return nil
	}); err != nil || len(all) == 0 {
		return
	}
	repo, err := OpenRepo(c)
	if err != nil {
		return
	}
	slices.SortFunc(all, func(a, b landing) int { return b.At.Compare(a.At) })
	tip, err := repo.Branch(c.Context(), branch)
	if err != nil || tip == "" {
		return
	}
	var lacks []string
	fetched := true
	for _, l := range all[:min(len(all), mostLandings)] {
		has, notHere := repo.Contains(c.Context(), tip, git.Commit(l.Commit)) // an error if the commit is not here
		if notHere == nil && has {
			continue
		}
		if elsewhere, err := landedElsewhere(c.Context(), repo, l.code, l.CodeLanded); err == nil && elsewhere {
			lacks, fetched = append(lacks, string(l.id)), fetched && notHere == nil
		}
	}
	if len(lacks) > 0 {
		from := "other machines, which landed " + app.Joined(lacks)
		if !fetched {
			from += " and may have to push it first"
		}
		c.Warn(thread.Thread{ID: thread.ThreadID(branch)}.CodeBehind(from, len(lacks), "git pull --no-rebase"))
	}
}

// BringCommits brings the commits here that other machines have sent of threads, as far as they can be had.
func BringCommits(c *app.Call, owners []thread.Thread) {
	if len(owners) == 0 {
		return
	}
	if repo, err := OpenRepo(c); err == nil {
		for _, t := range owners {
			_ = arrive(c, repo, t)
		}
	}
}
