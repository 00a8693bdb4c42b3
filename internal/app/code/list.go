package code

import (
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/git"
	"leslie/thread"
)

// This file looks at the code of threads. It is the only command that asks git how a
// worktree stands: the others show what is recorded.

// ListRequest names threads that own code; none means all.
type ListRequest struct {
	Threads         []string
	app.ActorFilter     // who has claimed the thread
	Limit           int // look at the first of them; 0: at all
	withPushed      bool
}

// ListResult has the code of threads, ordered as in a list.
type ListResult struct {
	app.Items[Item]
	Archived int `json:"archived,omitempty"` // how many archived threads own code, if no other does
}

// Item is a thread's code as git sees it. A member that is nil is not known: the time
// was up, or the folder cannot be read.
type Item struct {
	ThreadID thread.ThreadID  `json:"threadId"`
	State    thread.CodeState `json:"state"` // lost: its worktree is not there
	Branch   string           `json:"branch"`
	Worktree string           `json:"worktree"` // absolute; "" if it is elsewhere
	// Machine is where the code is that is elsewhere, and Uncommitted how many files were not
	// committed there when the thread was last handed on.
	Machine     string `json:"machine,omitempty"`
	Uncommitted int    `json:"uncommitted,omitempty"`
	// NotSent has the machines with commits that they could not send, and that are not here.
	NotSent []string `json:"notSent,omitempty"`
	// NotCommitted has how many files were not committed on other machines, that of Machine among them, when they
	// handed the thread on.
	NotCommitted []NotCommitted `json:"notCommitted,omitempty"`
	// Left is what this machine has of it that the other has not; nil for nothing.
	Left *app.CodeLeft `json:"left,omitempty"`
	// Later is what other machines have sent of it that did not land with it.
	Later []app.CodeLater `json:"later,omitempty"`
	// CheckedOut is what the worktree has checked out if it is not the thread's branch, ""
	// for a detached head.
	CheckedOut *string `json:"checkedOut,omitempty"`
	// Astray is how many commits the worktree has then that the branch lacks.
	Astray int     `json:"astray,omitempty"`
	Head   *string `json:"head,omitempty"`
	// BranchGone: somebody deleted the thread's branch. Restorable: leslie code restore makes it again.
	BranchGone bool    `json:"branchGone,omitempty"`
	Restorable bool    `json:"restorable,omitempty"`
	Target     *string `json:"target"` // the branch from which it started, null for a commit
	// Ahead is how many commits of its own it has that the target has not: what it took over
	// from threads that are not below it does not count, nor what a merge by hand brought of
	// their branches and those from which they started. Behind is how many the target has
	// that it has not.
	Ahead  *int `json:"ahead,omitempty"`
	Behind *int `json:"behind,omitempty"`
	// Files, Added and Removed are how many files and lines that changes: the committed part of
	// Changes.
	Files   *int `json:"files,omitempty"`
	Added   *int `json:"added,omitempty"`
	Removed *int `json:"removed,omitempty"`
	// Dirty and Untracked are numbers of paths that are not committed.
	Dirty     *int    `json:"dirty,omitempty"`
	Untracked *int    `json:"untracked,omitempty"`
	Busy      *string `json:"busy,omitempty"` // what is in progress, "" for nothing
	// Conflicts has the paths in which a merge into the target would conflict now.
	Conflicts *[]string `json:"conflicts,omitempty"`
	// Pushed is the upstream of the branch that has commits which the branch lacks, as it was
	// fetched last.
	Pushed *PushedCode `json:"pushed,omitempty"`
	// LandedAs is the newest landing of code that was removed with its worktree.
	LandedAs *thread.CodeLanded `json:"landedAs,omitempty"`
	// Landed: the target has all that is committed, as commits or only what they change (a
	// squash), or leslie has merged it into a branch of a thread that does not build on it.
	Landed *bool `json:"landed,omitempty"`
	// LandedElsewhere: it landed on another machine of the project, and this clone does not have that
	// commit yet.
	LandedElsewhere *thread.CodeLanded `json:"landedElsewhere,omitempty"`
	// LandedGone says of LandedAs that its branch has it no longer: GoneFromBranch or RevertedThere.
	LandedGone string `json:"landedGone,omitempty"`
	// Moved says that somebody moved the worktree or its repository, and which line records
	// where it is.
	Moved string `json:"moved,omitempty"`
	// Late: git did not say all of it in time.
	Late bool `json:"late,omitempty"`

	owner  thread.Thread
	origin thread.CodeOrigin
	beyond int // how many commits it has that the target has not, whoever made them
	// withPushed: what others have pushed counts where the branch can be moved forward to it, as a landing does.
	withPushed bool
}

// NotCommitted is how many files of a thread were not committed on a machine.
type NotCommitted struct {
	Machine string `json:"machine"`
	Files   int    `json:"files"`
}

// PushedCode is what others have pushed to a branch.
type PushedCode struct {
	Upstream string `json:"upstream"` // "origin/leslie/health"
	Commits  int    `json:"commits"`
	// Next is the line that brings them.
	Next string `json:"next,omitempty"`
}

const (
	// codeTime is how long Code looks at worktrees at most.
	codeTime = 10 * time.Second
	// codeAtOnce is how many programs of git run at once.
	codeAtOnce = 4
)

// List looks at the code of threads. Errors: T903, T101, T105, T802 for a thread without code,
// T801, those of reading.
func List(c *app.Call, in ListRequest) (*ListResult, error) {
	d, err := recorded(c, in)
	if err == nil && len(d.Items.Items) > 0 {
		err = lookAtCode(c, d.Items.Items)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// recorded is List as far as nobody asks git. Errors: T903, T101, T105, T802 for a thread without code, those of
// reading.
func recorded(c *app.Call, in ListRequest) (*ListResult, error) {
	c.ReadOnly()
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	holder := in.Actor(c)
	var owners []thread.Thread
	var origins []thread.CodeOrigin
	var shown app.Items[thread.Thread]
	archived := 0
	_, err := c.View(func(s *thread.State) error {
		if owners = nil; len(in.Threads) == 0 {
			owners = s.ThreadsWithCode()
		}
		for _, id := range in.Threads {
			t, err := s.OwnCode(id)
			if err != nil {
				return err
			}
			owners = append(owners, t)
		}
		if holder != "" {
			owners = slices.DeleteFunc(owners, func(t thread.Thread) bool { return !t.HeldBy(holder, c.Now()) })
		}
		shown = app.First(owners, in.Limit)
		owners = shown.Items
		origins = s.CodeOrigins(owners)
		if archived = 0; len(owners) > 0 || holder != "" {
			return nil
		}
		all, err := s.First(thread.Filter{Status: thread.Archived}, 0)
		for _, t := range all.Threads {
			if t.OwnedCode() != nil {
				archived++
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	items := make([]Item, len(owners))
	for i, t := range owners {
		items[i] = itemOf(c, t)
		items[i].origin, items[i].withPushed = origins[i], in.withPushed
	}
	return &ListResult{app.Items[Item]{Items: items, Total: shown.Total, Truncated: shown.Truncated}, archived}, nil
}

// Standing says in words how the code stands: that its branch is gone, what is in progress in the
// worktree, that it has landed, else its state.
func (item Item) Standing() string {
	switch {
	case item.Machine != "" && (item.Landed == nil || !*item.Landed):
		return "on " + item.Machine
	case item.BranchGone:
		return "its branch is gone"
	case item.Busy != nil && *item.Busy != "":
		return *item.Busy
	case item.LandedGone == RevertedThere:
		return "reverted in " + item.LandedAs.Onto
	case item.LandedGone != "":
		return "not in " + item.LandedAs.Place() + " any more"
	case item.Landed != nil && *item.Landed && (item.State == thread.CodeReady || item.State == thread.CodeRemoved || item.State == thread.CodeElsewhere):
		return "landed"
	}
	return item.State.Words()
}

// itemOf returns what is recorded of a thread's code.
func itemOf(c *app.Call, t thread.Thread) Item {
	item := Item{
		ThreadID: t.ID, State: t.OwnedCode().State, Branch: t.Branch, Worktree: WorktreeDir(c, t),
		Target: app.OrNull(app.BranchOf(t.OwnedCode().Target)), owner: t,
	}
	if code := t.OwnedCode(); code.State == thread.CodeElsewhere {
		item.Machine = code.Machine
		if code.Sent != nil {
			item.Uncommitted = code.Sent.Uncommitted
		}
	}
	for _, sent := range t.OwnedCode().NotCommittedOn(c.Project().Machine()) {
		item.NotCommitted = append(item.NotCommitted, NotCommitted{sent.Machine, sent.Uncommitted})
	}
	if how := t.OwnedCode().Removed; t.OwnedCode().State == thread.CodeRemoved && how != nil && (how.Landed || t.OwnedCode().LandedAt(how.Tip)) {
		item.Landed = new(true)
		if l, ok := t.OwnedCode().LastLanded(); ok {
			item.LandedAs = &l
		}
	}
	return item
}

// lookAtCode asks git about all items. The end of codeTime is no error: what is not
// known then is left out, and those items are Late.
func lookAtCode(c *app.Call, items []Item) error {
	repo, err := OpenRepo(c)
	if err != nil {
		noteLate(items, err)
		return err
	}
	ctx, cancel := c.Project().Environment().Timeout(c.Context(), codeTime)
	defer cancel()
	owners := make([]thread.Thread, len(items))
	for i, item := range items {
		owners[i] = item.owner
	}
	refs := map[string]bool{}
	for _, item := range items {
		addRefs(refs, append(slices.Concat(item.origin.Below, item.origin.Others), item.owner))
	}
	var tips map[string]git.Commit
	var upstreams git.Upstreams
	if err = arrive(c, repo, owners...); err == nil {
		tips, err = repo.Tips(ctx, slices.Sorted(maps.Keys(refs)))
	}
	if err == nil {
		upstreams, err = repo.Upstreams(ctx, branchesOf(items)...)
	}
	if err == nil {
		err = repo.ReadPrograms(ctx)
	}
	if err != nil {
		noteLate(items, err)
		return unlessLate(c, err)
	}
	aside := LookAside(c, owners...)
	for _, l := range aside.SentLater() {
		i := slices.IndexFunc(items, func(item Item) bool { return item.ThreadID == l.ThreadID })
		items[i].Later = append(items[i].Later, l)
	}
	left, late := aside.LeftHere(), aside.End()
	for i := range items {
		if at := slices.IndexFunc(left, func(l app.CodeLeft) bool { return l.ThreadID == items[i].ThreadID }); at >= 0 {
			items[i].Left = &left[at]
		}
	}
	failed := make([]error, len(items))
	SeveralAtOnce(len(items), func(i int) { failed[i] = items[i].look(ctx, c, repo, tips, upstreams) })
	for i, err := range failed {
		noteLate(items[i:i+1], err)
		items[i].Late = items[i].Late || late
	}
	for _, err := range failed {
		if err := unlessLate(c, err); err != nil {
			return err
		}
	}
	return nil
}

// noteLate notes the items whose look an error ended, if that says that the time was up.
func noteLate(items []Item, err error) {
	for i := range items {
		items[i].Late = codes.Has(err, codes.Interrupted)
	}
}

func branchesOf(items []Item) (branches []string) {
	for _, item := range items {
		branches = append(branches, item.Branch)
	}
	return branches
}

// addRefs adds the branches of threads, and those from which they started.
func addRefs(refs map[string]bool, threads []thread.Thread) {
	for _, t := range threads {
		refs["refs/heads/"+t.Branch] = true
		if target := t.OwnedCode().Target; target != "" {
			refs[target] = true
		}
	}
}

// SeveralAtOnce calls do with each number below n, for codeAtOnce of them at a time.
func SeveralAtOnce(n int, do func(i int)) {
	var workers sync.WaitGroup
	var next atomic.Int64
	for range min(codeAtOnce, n) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	workers.Wait()
}

// unlessLate drops the end of the look's own time, and what makes a single worktree
// unreadable; the call's own end stays an error.
func unlessLate(c *app.Call, err error) error {
	if c.Context().Err() != nil || !codes.Has(err, codes.Interrupted) && !codes.Has(err, codes.GitUnavailable) {
		return err
	}
	return nil
}

// look asks git about one worktree.
func (item *Item) look(ctx context.Context, c *app.Call, repo *git.Repo, tips map[string]git.Commit, upstreams git.Upstreams) error {
	code := item.owner.OwnedCode()
	if !InRepo(item.owner, repo) || code.Repo != "" && FolderMissing(item.Worktree) {
		item.Moved = MovedText(c, repo, item.owner)
	}
	if !InRepo(item.owner, repo) {
		if item.Moved != "" && code.State == thread.CodeReady {
			item.State = thread.CodeLost
		}
		return nil
	}
	for _, sent := range code.AllSent() {
		if sent.Machine != c.Project().Machine() && (isHeld(ctx, repo, sent.Held) || isHeld(ctx, repo, sent.Astray)) {
			item.NotSent = append(item.NotSent, sent.Machine)
		}
	}
	if item.LandedAs != nil {
		gone, err := landingGone(ctx, repo, item.owner, *item.LandedAs)
		if err == nil && gone != "" {
			if err = item.noteElsewhere(ctx, repo, *item.LandedAs); item.LandedElsewhere != nil {
				gone = ""
			}
		}
		if err != nil {
			return err
		}
		if item.LandedGone = gone; gone != "" {
			item.Landed = new(false)
		}
	}
	head, err := OwnTip(ctx, repo, code, tips["refs/heads/"+item.Branch])
	if err != nil {
		return err
	}
	if code.State == thread.CodeReady || code.State == thread.CodeLost {
		if FolderMissing(item.Worktree) || FolderMissing(code.Admin) {
			item.State = thread.CodeLost
		} else {
			w := repo.Worktree(item.Worktree, code.Admin)
			busy := w.Busy()
			item.State, item.Busy = thread.CodeReady, &busy
			status, err := w.Status(ctx)
			if err != nil {
				return err
			}
			if head == "" {
				head = status.Head
			}
			dirty, untracked := len(status.Dirty), len(status.Untracked)
			item.Dirty, item.Untracked = &dirty, &untracked
			if status.Branch != item.Branch {
				item.CheckedOut = &status.Branch
				if head != "" && status.Head != "" && head != status.Head {
					if item.Astray, _, err = repo.Count(ctx, status.Head, head); err != nil {
						return err
					}
				}
			}
		}
	}
	if item.State == thread.CodeReady || item.State == thread.CodeLost {
		if item.BranchGone = tips["refs/heads/"+item.Branch] == ""; item.BranchGone {
			item.Restorable = code.Made.Branch && (code.Sent != nil || repo.Worktree("", code.Admin).LastTip(item.Branch) != "")
		}
	}
	if head == "" || item.BranchGone {
		item.Dirty, item.Untracked = nil, nil // of all files, compared with nothing
		return nil
	}
	text := string(head)
	item.Head = &text
	u, ahead, err := repo.Ahead(ctx, upstreams, item.Branch, head, code.Target)
	if err != nil {
		return err
	}
	if ahead && item.withPushed && u.Behind == 0 {
		head, ahead = u.Commit, false
	}
	if err := item.compare(ctx, repo, head, tips); err != nil || !ahead {
		return err
	}
	if item.Landed != nil && *item.Landed {
		*item.Landed, err = hasLanded(ctx, repo, item.owner, u.Commit)
		if err != nil || *item.Landed {
			return err
		}
	}
	item.Pushed = &PushedCode{Upstream: u.Name, Commits: u.Ahead}
	if code.State == thread.CodeReady {
		item.Pushed.Next = bringingLine(c, repo, item.owner, head, u)
	}
	return nil
}

// compare counts what the code and its target have that the other has not.
func (item *Item) compare(ctx context.Context, repo *git.Repo, head git.Commit, tips map[string]git.Commit) error {
	code := item.owner.OwnedCode()
	target := tips[code.Target]
	if target == "" { // the branch is gone, or it began at a commit
		return item.sinceStart(ctx, repo, head)
	}
	ahead, behind := 0, 0
	if target != head {
		var err error
		if ahead, behind, err = repo.Count(ctx, head, target); err != nil {
			return err
		}
	}
	landed := ahead == 0 && string(head) != code.Start && !code.TakenBack(string(head))
	if at, is := code.LandingAt(string(head)); is && !landed {
		var err error
		if landed, err = landingThere(ctx, repo, item.owner, at); err == nil && !landed {
			err = item.noteElsewhere(ctx, repo, at)
			landed = item.LandedElsewhere != nil
		}
		if err != nil {
			return err
		}
	}
	item.beyond = ahead
	own, err := item.own(ctx, repo, head, tips)
	if err == nil && ahead == 0 && code.TakenBack(string(head)) { // the target has the commits, and their revert
		var base git.Commit
		if base, err = baseOf(ctx, repo, item.owner, head, target); err == nil {
			own, _, err = repo.Count(ctx, head, base)
		}
		item.beyond = own
	}
	if err != nil {
		return err
	}
	item.Ahead, item.Behind, item.Landed = &own, &behind, &landed
	if err := item.measure(ctx, repo, head, target); err != nil || landed {
		return err
	}
	return item.predict(ctx, repo, head, target)
}

// noteElsewhere notes that a landing has yet to be pulled.
func (item *Item) noteElsewhere(ctx context.Context, repo *git.Repo, l thread.CodeLanded) error {
	elsewhere, err := landedElsewhere(ctx, repo, item.owner.OwnedCode(), l)
	if elsewhere {
		item.LandedElsewhere = &l
	}
	return err
}

// sinceStart counts what the code has beyond the commit at which it began.
func (item *Item) sinceStart(ctx context.Context, repo *git.Repo, head git.Commit) error {
	start, err := repo.Resolve(ctx, item.owner.OwnedCode().Start)
	if err != nil || start == "" {
		return err
	}
	if item.beyond, _, err = repo.Count(ctx, head, start); err != nil {
		return err
	}
	item.Ahead = new(item.beyond)
	return item.measure(ctx, repo, head, "")
}

// measure counts the files and lines that the code changes beyond its target.
func (item *Item) measure(ctx context.Context, repo *git.Repo, head, target git.Commit) error {
	var part Part
	if item.beyond > 0 {
		base, err := baseOf(ctx, repo, item.owner, head, target)
		if err != nil {
			return err
		}
		files, err := repo.Diff(ctx, string(base), string(head), false)
		if err != nil {
			return err
		}
		part.addFiles(files)
	}
	files := len(part.Files)
	item.Files, item.Added, item.Removed = &files, &part.Added, &part.Removed
	return nil
}

// own counts the commits that the code has beyond its target, which may be behind in this clone, and where it began,
// and that no merge from a thread which is not below it brought. Git does not say on which branch a commit was made:
// its own are those that no other branch has, and else those on its own line of first
// parents or on that of a thread below it.
func (item *Item) own(ctx context.Context, repo *git.Repo, head git.Commit, tips map[string]git.Commit) (int, error) {
	if item.beyond == 0 {
		return 0, nil
	}
	owned := item.owner.OwnedCode()
	of, without := []git.Commit{head}, []git.Commit{tips[owned.Target], git.Commit(owned.Start)}
	for _, l := range item.origin.TakenOver {
		without = append(without, git.Commit(l.Tip))
	}
	own, err := repo.CommitsNotIn(ctx, of, slices.Concat(without, item.others(tips)))
	if err == nil && len(own) < item.beyond {
		err = item.addMade(ctx, repo, of, without, tips, own)
	}
	for _, l := range item.origin.TakenOver {
		delete(own, git.Commit(l.Commit))
	}
	return len(own), err
}

// others returns the tips of the branches that bring what is not the thread's own.
func (item *Item) others(tips map[string]git.Commit) (commits []git.Commit) {
	refs := map[string]bool{}
	addRefs(refs, item.origin.Others)
	for _, t := range append(slices.Clone(item.origin.Below), item.owner) {
		delete(refs, "refs/heads/"+t.Branch)
	}
	for ref := range refs {
		if tip := tips[ref]; tip != "" {
			commits = append(commits, tip)
		}
	}
	return commits
}

// addMade adds the commits that others have too, but that were made by the thread or one
// below it. What a fast-forward brought was not.
func (item *Item) addMade(ctx context.Context, repo *git.Repo, of, without []git.Commit, tips map[string]git.Commit,
	own map[git.Commit]bool,
) error {
	all, err := repo.CommitsNotIn(ctx, of, without)
	if err != nil {
		return err
	}
	moved, err := repo.FastForwards(ctx, item.Branch)
	if err != nil {
		return err
	}
	for _, t := range item.origin.Below {
		if tip := tips["refs/heads/"+t.Branch]; tip != "" {
			of = append(of, tip)
		}
		for _, l := range t.OwnedCode().Landed {
			of = append(of, git.Commit(l.Tip))
		}
	}
	made, err := repo.OwnCommitsNotIn(ctx, of, slices.AppendSeq(without, maps.Keys(moved)))
	for commit := range made {
		if all[commit] {
			own[commit] = true
		}
	}
	return err
}

// FolderMissing reports whether a folder is not there, or not a folder.
func FolderMissing(dir string) bool {
	info, err := os.Stat(dir)
	return err != nil || !info.IsDir()
}
