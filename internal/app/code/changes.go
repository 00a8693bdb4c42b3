package code

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/internal/git"
	"leslie/thread"
)

// This file says what a thread changed in its code.

// Changes is what a thread changed in its code. A part without a file is left out.
type Changes struct {
	Branch   string  `json:"branch"`
	Target   *string `json:"target"` // the branch from which it began, null for a commit
	Worktree string  `json:"worktree"`
	Parts    []Part  `json:"parts"`
	// BranchGone: the branch went with its worktree. Kept is the ref that keeps what it had and was not committed.
	BranchGone bool   `json:"branchGone,omitempty"`
	Kept       string `json:"kept,omitempty"`

	repo *git.Repo
	head string // a commit or a tree
	// apart is what others have pushed which the branch cannot be moved forward to; nil for none.
	apart *git.Upstream
}

// PartKind says how far a part of the changes is.
type PartKind string

// The kinds of parts, in their order.
const (
	LandedPart    PartKind = "landed"
	CommittedPart PartKind = "committed"
	// AstrayPart is what is committed in the worktree and not on the thread's branch, because another
	// one, or none, is checked out there.
	AstrayPart      PartKind = "astray"
	UncommittedPart PartKind = "uncommitted"
	// PushedPart is what others have on the branch, as far as it is here, and the thread's has not: a landing brings it.
	PushedPart PartKind = "pushed"
	// MergePart is what a pending merge would bring.
	MergePart PartKind = "merge"
)

// Part is a part of a thread's changes.
type Part struct {
	Kind PartKind `json:"kind"`
	// From and To are the compared commits. To is what landed them in Into, the thread of a
	// merge or the branch of one by hand; it is null for what is not committed, and of a pending
	// merge.
	From string  `json:"from"`
	To   *string `json:"to"`
	Into string  `json:"into,omitempty"`
	// Upstream is where a pushed part is.
	Upstream string `json:"upstream,omitempty"`
	// Commits is how many commits a committed part has that the target lacks, an astray and a pushed one that the
	// branch lacks. Subjects are those of the newest, of a landed part of what landed; at most maxSubjects.
	Commits  int      `json:"commits,omitempty"`
	Subjects []string `json:"subjects,omitempty"`
	// Ids are those of the commits of Subjects.
	Ids     []string `json:"ids,omitempty"`
	Files   []File   `json:"files"`
	Added   int      `json:"added"` // lines
	Removed int      `json:"removed"`
}

// maxSubjects is how many subjects a part has.
const maxSubjects = 10

// FileChange says how a file of the code differs.
type FileChange string

// The changes of files. ModeFile: only the executable bit differs; TypeFile: a file became a
// link or a submodule, or the other way round.
const (
	AddedFile    FileChange = "added"
	DeletedFile  FileChange = "deleted"
	ModifiedFile FileChange = "modified"
	RenamedFile  FileChange = "renamed"
	ModeFile     FileChange = "mode"
	TypeFile     FileChange = "type"
	// ConflictFile: nothing differs yet, because a conflict of a pending merge about the whole file
	// waits for a decision.
	ConflictFile FileChange = "conflict"
)

// File is a changed file of the code.
type File struct {
	Path    string     `json:"path"` // from the top of the repository
	Was     string     `json:"was,omitempty"`
	Change  FileChange `json:"change"`
	Binary  bool       `json:"binary,omitempty"`
	Added   int        `json:"added"`
	Removed int        `json:"removed"`
	Patch   string     `json:"patch,omitempty"` // as git writes it
	// Conflicts is the number of open conflicts of a pending merge in it.
	Conflicts int `json:"conflicts,omitempty"`
}

// ChangesOf asks git what a thread that owns code changed: what has landed of it, what its
// branch has beyond that and its target, as git diff TARGET...BRANCH shows it, what others have pushed
// to it that a landing brings, too, and what is not committed in its worktree. W809 for what they have
// pushed and a landing does not bring. Without patches the files have only counts. Errors: T801, T802
// while the worktree is being made, T509, T904.
func ChangesOf(c *app.Call, t thread.Thread, patches bool) (*Changes, error) {
	l, err := lookForChanges(c, t, patches)
	if err != nil {
		return nil, err
	}
	if err := l.repo.ReadPrograms(c.Context()); err != nil {
		return nil, err
	}
	var ofBranch, uncommitted []Part
	var branchErr, worktreeErr error
	looks := []func(){ // the longest first
		func() { uncommitted, worktreeErr = l.uncommitted() },
		func() { ofBranch, branchErr = l.ofBranch() },
	}
	SeveralAtOnce(len(looks), func(i int) { looks[i]() })
	if err := cmp.Or(branchErr, worktreeErr); err != nil {
		return nil, err
	}
	for i := range uncommitted {
		uncommitted[i].From = cmp.Or(uncommitted[i].From, l.found.head)
	}
	if u := l.found.apart; u != nil && t.OwnedCode().State == thread.CodeReady {
		c.Warn(t.CodeBehind(u.Name, u.Ahead, bringingLine(c, l.repo, t, git.Commit(l.found.head), *u)))
	}
	l.found.Parts = append(l.found.Parts, slices.Concat(ofBranch, uncommitted)...)
	if len(l.found.Parts) > 0 {
		return l.found, nil
	}
	return l.found, kept(c.Context(), l.repo, t)
}

// lookForChanges opens the repository in which the parts are looked for.
func lookForChanges(c *app.Call, t thread.Thread, patches bool) (l changesLook, err error) {
	if err := t.Unmade(); err != nil {
		return l, err
	}
	repo, err := RepoOf(c, t)
	if err != nil {
		return l, err
	}
	d := &Changes{Branch: t.Branch, Target: app.OrNull(app.BranchOf(t.OwnedCode().Target)), Worktree: WorktreeDir(c, t), Parts: []Part{}, repo: repo}
	return changesLook{c.Context(), repo, t, d, patches}, nil
}

// MergeChanges asks git what a pending merge would bring. Without patches the files have only
// counts. Errors: T801, T904.
func MergeChanges(ctx context.Context, d *merging.CodeDiff, patches bool) (*Changes, error) {
	files, err := d.Repo.Diff(ctx, string(d.From), d.Tree, patches)
	if err != nil {
		return nil, err
	}
	part := Part{Kind: MergePart, From: string(d.From), Into: d.Into, Files: []File{}}
	part.addFiles(files)
	for _, path := range slices.Sorted(maps.Keys(d.Open)) {
		i := slices.IndexFunc(part.Files, func(f File) bool { return f.Path == path })
		if i < 0 {
			i, part.Files = len(part.Files), append(part.Files, File{Path: path, Change: ConflictFile})
		}
		part.Files[i].Conflicts = d.Open[path]
	}
	out := &Changes{Branch: d.Branch, Parts: []Part{}, repo: d.Repo, head: d.Tree}
	if len(part.Files) > 0 {
		out.Parts = append(out.Parts, part)
	}
	return out, nil
}

// find finds the tip of the branch, or what it was when it was removed, and that of its
// target; "" for a branch that is gone.
func (d *Changes) find(ctx context.Context, repo *git.Repo, t thread.Thread) (target git.Commit, err error) {
	code, own := t.OwnedCode(), "refs/heads/"+t.Branch
	refs := []string{own}
	if code.Target != "" {
		refs = append(refs, code.Target)
	}
	tips, err := repo.Tips(ctx, refs)
	if err != nil {
		return "", err
	}
	head, err := OwnTip(ctx, repo, code, tips[own])
	if err != nil {
		return "", err
	}
	if head == "" && code.Removed != nil {
		d.BranchGone, d.Kept = true, code.Removed.Ref
		head, err = repo.Resolve(ctx, code.Removed.Tip)
	}
	d.head = string(head)
	return tips[code.Target], err
}

// OwnTip is the tip of a thread's branch, of code that is elsewhere as far as it was sent; "" if a branch
// of its name is somebody else's: the worktree was removed, and it lacks what the thread's branch had then.
func OwnTip(ctx context.Context, repo *git.Repo, code *thread.Code, tip git.Commit) (git.Commit, error) {
	if code.State == thread.CodeElsewhere {
		return merging.SentTip(ctx, repo, code, tip)
	}
	how := code.Removed
	if tip == "" || code.State != thread.CodeRemoved || how == nil || how.Tip == "" || string(tip) == how.Tip {
		return tip, nil
	}
	had, err := repo.Resolve(ctx, how.Tip)
	if err != nil || had == "" {
		return "", err
	}
	if has, err := repo.Contains(ctx, tip, had); err != nil || has {
		return tip, err
	}
	return "", nil
}

// changesLook finds the parts of a thread's changes.
type changesLook struct {
	ctx     context.Context
	repo    *git.Repo
	owner   thread.Thread
	found   *Changes
	patches bool
}

// between is the part of what differs between two commits, if anything does.
func (l changesLook) between(part Part, from, to git.Commit) ([]Part, error) {
	files, err := l.repo.Diff(l.ctx, string(from), string(to), l.patches)
	text := string(to)
	part.From, part.To = string(from), &text
	return withFiles(part, files), err
}

// withFiles is a part with its files; none without.
func withFiles(part Part, files []git.FileDiff) []Part {
	if len(files) == 0 {
		return nil
	}
	part.addFiles(files)
	return []Part{part}
}

func (p *Part) addFiles(files []git.FileDiff) {
	for _, f := range files {
		p.Files = append(p.Files, File{Path: f.Path, Was: f.Was, Change: changeOf(f), Binary: f.Binary, Added: f.Added, Removed: f.Removed, Patch: f.Patch})
		p.Added, p.Removed = p.Added+f.Added, p.Removed+f.Removed
	}
}

func (p *Part) addCommits(all []git.CommitSummary) {
	for _, c := range all {
		p.Subjects, p.Ids = append(p.Subjects, c.Subject), append(p.Ids, string(c.Commit))
	}
}

func changeOf(f git.FileDiff) FileChange {
	switch {
	case f.Was != "":
		return RenamedFile
	case !f.Old.There():
		return AddedFile
	case !f.New.There():
		return DeletedFile
	case f.Old.File() != f.New.File() || f.Old.Submodule() != f.New.Submodule():
		return TypeFile
	case f.Old.Object == f.New.Object:
		return ModeFile
	}
	return ModifiedFile
}

// ofBranch is what has landed, and what the branch has beyond its target.
func (l changesLook) ofBranch() ([]Part, error) {
	target, err := l.found.find(l.ctx, l.repo, l.owner)
	if err != nil {
		return nil, err
	}
	if state := l.owner.OwnedCode().State; l.found.head == "" && (state == thread.CodeReady || state == thread.CodeLost) {
		return nil, merging.BranchGone(l.repo, l.owner)
	} else if l.found.head == "" && state == thread.CodeElsewhere {
		return nil, thread.NotSent(l.owner)
	}
	looks := []func(target git.Commit) ([]Part, error){l.landed, l.committed, l.pushed, l.astray}
	found, failed := make([][]Part, len(looks)), make([]error, len(looks))
	SeveralAtOnce(len(looks), func(i int) { found[i], failed[i] = looks[i](target) })
	return slices.Concat(found...), cmp.Or(failed...)
}

// landed is what each merge of leslie brought; where there was none, what one by hand did.
func (l changesLook) landed(target git.Commit) (parts []Part, err error) {
	code, found := l.owner.OwnedCode(), false
	for _, landing := range code.Landed {
		commit, err := l.repo.Resolve(l.ctx, landing.Commit)
		if err != nil {
			return nil, err
		}
		if landing.Pulled || commit == "" {
			continue
		}
		found = true
		part := Part{Kind: LandedPart, Into: landing.Place()}
		if landing.Tip != "" && landing.From != "" { // the tip of a squash may be gone
			newest, _ := l.repo.Newest(l.ctx, maxSubjects, git.Commit(landing.Tip), git.Commit(landing.From))
			part.addCommits(newest)
		}
		from := cmp.Or(git.Commit(landing.From), commit+"^1") // as earlier versions recorded it
		one, err := l.between(part, from, commit)
		if parts = append(parts, one...); err != nil {
			return nil, err
		}
	}
	head := git.Commit(l.found.head)
	if found || head == "" || target == "" || string(head) == code.Start || code.TakenBack(string(head)) {
		return parts, nil
	}
	if has, err := l.repo.Contains(l.ctx, target, head); err != nil || !has {
		return nil, err
	}
	from, to := git.Commit(code.Start), head
	merge, err := l.repo.MergeThatBrought(l.ctx, head, target)
	if err != nil {
		return nil, err
	}
	if merge != "" {
		from, to = merge+"^1", merge
	}
	return l.between(Part{Kind: LandedPart, Into: *l.found.Target}, from, to)
}

// committed is what the branch has beyond its target.
func (l changesLook) committed(target git.Commit) (parts []Part, err error) {
	head := git.Commit(l.found.head)
	if head == "" || head == target {
		return nil, nil
	}
	part := Part{Kind: CommittedPart}
	if target != "" { // which may be behind in this clone, and behind where the branch began
		if err := l.addNewest(&part, head, target, git.Commit(l.owner.OwnedCode().Start)); err != nil {
			return nil, err
		}
	}
	base, err := baseOf(l.ctx, l.repo, l.owner, head, target)
	if err != nil {
		return nil, err
	}
	return l.between(part, base, head)
}

// pushed is what others have on the branch beyond its tip, as far as it is here, if the branch can be moved forward to
// it.
func (l changesLook) pushed(git.Commit) ([]Part, error) {
	head := git.Commit(l.found.head)
	if head == "" || l.found.BranchGone {
		return nil, nil
	}
	u, ahead, err := l.repo.AheadOf(l.ctx, l.owner.Branch, head, l.owner.OwnedCode().Target)
	if err != nil || !ahead {
		return nil, err
	}
	if landed, err := hasLanded(l.ctx, l.repo, l.owner, u.Commit); err != nil || landed {
		return nil, err
	}
	if u.Behind > 0 {
		l.found.apart = &u
		return nil, nil
	}
	part := Part{Kind: PushedPart, Upstream: u.Name}
	if err := l.addNewest(&part, u.Commit, head); err != nil {
		return nil, err
	}
	return l.between(part, head, u.Commit)
}

// astray is what the worktree has committed that the branch lacks.
func (l changesLook) astray(git.Commit) ([]Part, error) {
	w, there := l.worktree()
	head := git.Commit(l.found.head)
	if !there || head == "" || w.HasCheckedOut(l.owner.Branch) {
		return nil, nil
	}
	at, err := l.repo.Resolve(l.ctx, w.Head())
	if err != nil || at == "" || at == head {
		return nil, err
	}
	part := Part{Kind: AstrayPart}
	if err := l.addNewest(&part, at, head); err != nil || part.Commits == 0 {
		return nil, err
	}
	base, err := l.repo.MergeBase(l.ctx, head, at)
	if err != nil {
		return nil, err
	}
	return l.between(part, cmp.Or(base, head), at)
}

// addNewest counts the commits that a tip has and none of other commits has, and adds the newest of them.
func (l changesLook) addNewest(part *Part, tip git.Commit, without ...git.Commit) error {
	all, err := l.repo.CommitsNotIn(l.ctx, []git.Commit{tip}, without)
	if part.Commits = len(all); err != nil || part.Commits == 0 {
		return err
	}
	newest, err := l.repo.Newest(l.ctx, maxSubjects, tip, without...)
	part.addCommits(newest)
	return err
}

// worktree is the thread's worktree, if it is there.
func (l changesLook) worktree() (w git.Worktree, there bool) {
	code := l.owner.OwnedCode()
	if code.State != thread.CodeReady || FolderMissing(l.found.Worktree) || FolderMissing(code.Admin) {
		return w, false
	}
	return l.repo.Worktree(l.found.Worktree, code.Admin), true
}

// baseOf is the commit since which a thread's code has what its target lacks: the base of a
// merge, or where the branch began if the target is gone ("").
func baseOf(ctx context.Context, repo *git.Repo, t thread.Thread, head, target git.Commit) (git.Commit, error) {
	code := t.OwnedCode()
	if target == "" {
		return git.Commit(code.Start), nil
	}
	recorded, err := merging.CodeBase(ctx, repo, code, app.BranchOf(code.Target), target, head)
	if err != nil || recorded != "" {
		return recorded, err
	}
	common, err := repo.MergeBase(ctx, target, head)
	start := git.Commit(code.Start)
	if err != nil || common == "" || common == start {
		return cmp.Or(common, start), err
	}
	if in, err := repo.Contains(ctx, target, start); err != nil || in { // an error: it is not here
		return common, nil
	}
	if in, err := repo.Contains(ctx, head, start); err != nil || !in { // it was rebased
		return common, nil
	}
	return start, nil // the target is behind in this clone
}

// uncommitted is what is not committed in the worktree. It follows a commit that is named only if
// that is not the branch's.
func (l changesLook) uncommitted() ([]Part, error) {
	w, there := l.worktree()
	if !there {
		return nil, nil
	}
	part := Part{Kind: UncommittedPart}
	if !w.HasCheckedOut(l.owner.Branch) {
		at, err := l.repo.Resolve(l.ctx, w.Head())
		if err != nil {
			return nil, err
		}
		part.From = string(at)
	}
	files, err := w.Uncommitted(l.ctx, l.patches)
	return withFiles(part, files), err
}

// Only leaves the files that match, under their path or the one before, without the commits, which may be
// about others. It returns the paths from which the patterns that match nothing are told.
func (d *Changes) Only(match func(path string) bool) (paths []string) {
	parts := []Part{}
	for _, p := range d.Parts {
		all := p.Files
		p.Files, p.Added, p.Removed, p.Commits, p.Subjects, p.Ids = nil, 0, 0, 0, nil, nil
		for _, f := range all {
			if !match(f.Path) && (f.Was == "" || !match(f.Was)) {
				continue
			}
			paths = append(paths, f.Path)
			if f.Was != "" {
				paths = append(paths, f.Was)
			}
			p.Files, p.Added, p.Removed = append(p.Files, f), p.Added+f.Added, p.Removed+f.Removed
		}
		if len(p.Files) > 0 {
			parts = append(parts, p)
		}
	}
	d.Parts = parts
	return paths
}

// Paths returns the paths of all files of the thread's branch, or of what a merge makes. Errors:
// T801, T904.
func (d *Changes) Paths(ctx context.Context) ([]string, error) {
	if d.head == "" {
		return nil, nil
	}
	return d.repo.Paths(ctx, d.head)
}

// AmountOf asks git how much a thread changed in its code; nil if git cannot say that within
// OverlapTime.
func AmountOf(c *app.Call, id thread.ThreadID) *app.CodeAmount { return AmountsOf(c, id)[id] }

// StandingOf is AmountOf, and how the thread's code stands, nil where the records cannot be read.
func StandingOf(c *app.Call, id thread.ThreadID) (item *Item, amount *app.CodeAmount) {
	found := soon(c, ListRequest{Threads: []string{string(id)}})
	if len(found) > 0 {
		item = &found[0]
	}
	return item, amountsOf(found)[id]
}

// AmountToLand is AmountOf with what others have pushed that a landing brings, too.
func AmountToLand(c *app.Call, id thread.ThreadID) *app.CodeAmount {
	return amountsOf(soon(c, ListRequest{Threads: []string{string(id)}, withPushed: true}))[id]
}

// SubjectsOf returns the subjects of the newest commits that a thread's branch has beyond its
// target and where it began; nil if git cannot say it.
func SubjectsOf(c *app.Call, t thread.Thread) []string {
	const few = 5 // for a prompt
	repo, err := RepoOf(c, t)
	if err != nil {
		return nil
	}
	without := []git.Commit{git.Commit(t.OwnedCode().Start)}
	if target := t.OwnedCode().Target; target != "" {
		without = append(without, git.Commit(target))
	}
	newest, err := repo.Newest(c.Context(), few, git.Commit("refs/heads/"+t.Branch), without...)
	if err != nil {
		return nil
	}
	var part Part
	part.addCommits(newest)
	return part.Subjects
}

// StatusOf asks git how a thread's code stands and how much it changed, with what has landed; an amount is nil
// where git cannot say it within OverlapTime.
func StatusOf(c *app.Call, id thread.ThreadID) (item *Item, amount *app.CodeAmount) {
	item, amount = StandingOf(c, id)
	all := map[thread.ThreadID]*app.CodeAmount{id: amount}
	if item == nil || !item.Late {
		addLanded(c, all, id)
	}
	return item, all[id]
}

// AmountsWithLanded is AmountsOf, and for a thread of which nothing is left to land how much its
// last landing brought.
func AmountsWithLanded(c *app.Call, ids ...thread.ThreadID) map[thread.ThreadID]*app.CodeAmount {
	all := AmountsOf(c, ids...)
	addLanded(c, all, ids...)
	return all
}

// addLanded adds what landed of threads of which nothing is left to land, within OverlapTime.
func addLanded(c *app.Call, all map[thread.ThreadID]*app.CodeAmount, ids ...thread.ThreadID) {
	ctx, cancel := c.Project().Environment().Timeout(c.Context(), OverlapTime)
	defer cancel()
	ids = slices.DeleteFunc(slices.Clone(ids), func(id thread.ThreadID) bool { return all[id] != nil && all[id].Commits > 0 })
	landed := make([]*app.CodeAmount, len(ids))
	SeveralAtOnce(len(ids), func(i int) { landed[i] = LandedAmount(c.Within(ctx), ids[i]) })
	for i, id := range ids {
		if landed[i] == nil {
			continue
		}
		if now := all[id]; now != nil {
			landed[i].Uncommitted, landed[i].Astray = now.Uncommitted, now.Astray
		}
		all[id] = landed[i]
	}
}

// LandedAmount is how much the last landing of a thread brought, without a count of commits that
// git no longer has; nil if git cannot say it.
func LandedAmount(c *app.Call, id thread.ThreadID) *app.CodeAmount {
	t, err := Owner(c, string(id))
	if err != nil {
		return nil
	}
	l, landed := t.OwnedCode().LastLanded()
	if how := t.OwnedCode().Removed; !landed && how != nil && how.Landed {
		return landedByHand(c, t)
	}
	repo, err := RepoOf(c, t)
	if err != nil || !landed || l.From == "" {
		return nil
	}
	base := git.Commit(l.From)
	if l.Onto != "" && "refs/heads/"+l.Onto != t.OwnedCode().Target && l.How != thread.LandedMerge { // without those with which it began
		if target, err := repo.Resolve(c.Context(), t.OwnedCode().Target); err == nil && target != "" {
			if base, err = repo.MergeBase(c.Context(), target, git.Commit(l.Tip)); err != nil {
				return nil
			}
		}
	}
	tip := git.Commit(l.Tip)
	if l.How == thread.LandedRebase { // without what the branch had merged, or lost, since
		tip, base = git.Commit(l.Commit), git.Commit(l.From)
	}
	commits, _, err := repo.Count(c.Context(), tip, base)
	if err != nil {
		commits = 0
	}
	files, err := repo.Diff(c.Context(), l.From, l.Commit, false)
	if err != nil {
		return nil
	}
	gone, err := landingGone(c.Context(), repo, t, l)
	if err != nil {
		return nil
	}
	var p Part
	p.addFiles(files)
	return &app.CodeAmount{Commits: commits, Files: len(p.Files), Added: p.Added, Removed: p.Removed, Landed: gone == ""}
}

// landedByHand is LandedAmount of code that leslie has not landed; nil for commits that are not in
// the target, as of a squash.
func landedByHand(c *app.Call, t thread.Thread) *app.CodeAmount {
	l, err := lookForChanges(c, t, false)
	if err != nil {
		return nil
	}
	target, err := l.found.find(l.ctx, l.repo, t)
	if err != nil {
		return nil
	}
	parts, err := l.landed(target)
	if err != nil || len(parts) == 0 {
		return nil
	}
	return &app.CodeAmount{Files: len(parts[0].Files), Added: parts[0].Added, Removed: parts[0].Removed, Landed: true}
}

// AmountsOf is AmountOf of several threads, together within OverlapTime.
func AmountsOf(c *app.Call, ids ...thread.ThreadID) map[thread.ThreadID]*app.CodeAmount {
	named := make([]string, len(ids))
	for i, id := range ids {
		named[i] = string(id)
	}
	return amountsOf(soon(c, ListRequest{Threads: named}))
}

func amountsOf(items []Item) map[thread.ThreadID]*app.CodeAmount {
	out := map[thread.ThreadID]*app.CodeAmount{}
	for _, item := range items {
		if item.Ahead == nil || item.Files == nil {
			continue
		}
		amount := &app.CodeAmount{Commits: *item.Ahead, Files: *item.Files, Added: *item.Added, Removed: *item.Removed, Landed: item.Landed != nil && *item.Landed}
		if amount.Astray = item.Astray; item.Dirty != nil {
			amount.Uncommitted = *item.Dirty + *item.Untracked
		}
		out[item.ThreadID] = amount
	}
	return out
}

// FullyLanded returns those threads that have no commit which has not landed, as far as git says it
// within OverlapTime.
func FullyLanded(c *app.Call, ids []string) (landed []thread.ThreadID) {
	for _, item := range soon(c, ListRequest{Threads: ids}) {
		if item.Ahead != nil && (*item.Ahead == 0 || item.Landed != nil && *item.Landed) {
			landed = append(landed, item.ThreadID)
		}
	}
	return landed
}

// soon is List of some threads within OverlapTime: what git cannot say by then is left out; nil where the records
// cannot be read.
func soon(c *app.Call, in ListRequest) []Item {
	if len(in.Threads) == 0 {
		return nil
	}
	ctx, cancel := c.Project().Environment().Timeout(c.Context(), OverlapTime)
	defer cancel()
	d, err := recorded(c.Within(c.Context()), in)
	if err != nil {
		return nil
	}
	_ = lookAtCode(c.Within(ctx), d.Items.Items)
	return d.Items.Items
}
