package merging

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/merge"
	"leslie/thread"
	"leslie/warnings"
)

// This file plans the merge of code. git merges the branches, one source after the other,
// without a worktree; what it cannot merge becomes conflicts like those of artifacts, at
// paths that begin with "code:". Nothing but objects is written before the code lands
// (codeland.go).

// codePrefix begins the path of a file of code in a plan.
const codePrefix = thread.CodePrefix

// isCode reports whether a path of a plan is one of code.
func isCode(path string) bool { return strings.HasPrefix(path, codePrefix) }

// The parts of a merge that --only names.
const (
	OnlyCode      = "code"
	OnlyArtifacts = "artifacts"
)

// codeInputs has what the plan of code depends on: the tips of the branches. It keeps
// what git answered, so that planning again starts no git.
type codeInputs struct {
	ctx     context.Context
	repo    *git.Repo
	branch  string
	in      *git.Worktree // that has the branch checked out; nil for none
	target  party
	into    string     // the target, or the branch on which a thread's code lands
	was     git.Commit // the tip of the branch
	tip     git.Commit // on which the merge is made: was, or a commit of the upstream behind that
	forward *CodeForward
	how     string // thread.LandedMerge, thread.LandedSquash or thread.LandedRebase
	sources []codeSource
	// picks has, for a rebase, the commits of the only source that land one by one.
	picks   []codeSource
	merges  map[[2]git.Commit]git.Merge
	bases   map[thread.ThreadID]git.Commit // that take the place of git's merge base
	began   map[thread.ThreadID]git.Commit // of the upstream, with which a source began
	joined  map[[3]string]git.Commit       // by tree and parents
	blobs   map[versionKey]git.Blob
	hashes  map[string]string // by object, as the plan has it
	other   map[string]string // by object: links and submodules, in words
	changed map[string][]PlannedFile
	reader  *treeReader
}

// codeSource is a thread with commits that the target lacks.
type codeSource struct {
	party
	tip git.Commit
	// taken is the tip if that is not yet on the branch: its uncommitted work.
	taken *git.UncommittedCommit
	base  git.Commit // of a commit that lands alone: the one before it
}

// versionKey is a file as the plan names it.
type versionKey struct {
	hash       string
	executable bool
}

// codePlan is what the merge makes of the code.
type codePlan struct {
	// tree is the result; "" while a conflict is open.
	tree string
	// open is what a source with open conflicts makes of it; nil once there is a tree.
	open *openCode
	// onto is the commit on which the last source was merged.
	onto git.Commit
	// changes is what it changes in the target, once there is a tree.
	changes []PlannedFile
	// unmerged has what git could not merge, by the plan's path, of the source that came
	// last to it.
	unmerged map[string]unmergedCode
}

// openCode is a merge with open conflicts.
type openCode struct {
	merged git.Merge
	plan   *merge.Plan
}

type unmergedCode struct {
	git.Unmerged
	source thread.ThreadID
}

// ownsCode reports whether a thread has a branch to merge, with a worktree here or on another machine.
func ownsCode(t thread.Thread) bool {
	c := t.OwnedCode()
	return c != nil && c.IsCheckedOut()
}

// gatherCode reads the branches; nil if there is no code to merge. Errors: T801, T803 for
// a branch that is gone, T804 for a source with uncommitted work that is not to be
// taken, T805, T808; T802 if
// only code is to be merged and a thread has none.
func gatherCode(p *Planning, found parties) (*codeInputs, error) {
	landed, err := repairLanding(p, found.Target)
	if err != nil || landed || !p.record.TakesCode() {
		return nil, err
	}
	if err := codeReady(p, found.MergeParties); err != nil {
		return nil, err
	}
	if !bringsCode(p.record, found.MergeParties) {
		return nil, nil
	}
	sources := slices.DeleteFunc(slices.Clone(found.Sources), func(t thread.Thread) bool { return !ownsCode(t) })
	owner := found.Target
	if owner.OwnedCode() == nil {
		owner = sources[0]
	}
	repo, err := p.call.Repository(owner)
	if err != nil {
		return nil, err
	}
	in := &codeInputs{
		ctx: p.call.Context, repo: repo, branch: found.Branch, target: party{Thread: found.Target}, into: p.record.Into(),
		merges: map[[2]git.Commit]git.Merge{}, bases: map[thread.ThreadID]git.Commit{}, began: map[thread.ThreadID]git.Commit{}, joined: map[[3]string]git.Commit{}, blobs: map[versionKey]git.Blob{}, hashes: map[string]string{}, other: map[string]string{},
		changed: map[string][]PlannedFile{},
	}
	worktrees, err := repo.Worktrees(in.ctx)
	if err != nil {
		return nil, err
	}
	if owner.ID == found.Target.ID && p.record.Onto == "" {
		in.tip, err = in.tipOf(owner, worktrees)
	} else {
		in.tip, err = in.tipOfBranch(owner)
	}
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(worktrees, func(w git.Listed) bool { return w.Branch == in.branch && !w.Missing }); i >= 0 {
		in.in = &worktrees[i].Worktree
	}
	in.was, in.how = in.tip, codeRecord(p).How()
	if err := in.isDecidedHere(p); err != nil {
		return nil, err
	}
	for _, t := range sources {
		if err := in.add(p, t, worktrees); err != nil {
			return nil, err
		}
	}
	if err := in.moveForward(p); err != nil {
		return nil, err
	}
	if err := in.elsewhereFrom(p); err != nil {
		return nil, err
	}
	if in.how == thread.LandedRebase && len(in.sources) > 0 {
		if err := in.pick(); err != nil {
			return nil, err
		}
	}
	if len(in.sources) == 0 {
		return nil, nil
	}
	if in.in != nil && owner.ID != found.Target.ID {
		p.moves = in.in.Dir
	}
	in.reader = p.inputs.reader
	return in, nil
}

// isDecidedHere is T305 for a merge that waits for decisions on another machine, about commits that the branch here
// lacks: it would land beside them, and what was to be decided would come back as a conflict of git.
func (in *codeInputs) isDecidedHere(p *Planning) error {
	code := codeRecord(p)
	if p.looking || code.Tip == "" || p.call.Machine == "" || code.Machine == p.call.Machine {
		return nil
	}
	has, err := in.repo.Contains(in.ctx, in.was, git.Commit(code.Tip)) // an error if it is not here
	if has || in.ctx.Err() != nil {
		return err
	}
	return codes.MergePending.New(fact.Of("target", p.record.Target), fact.Of("mergeId", p.record.ID)).
		WithHint("It waits for decisions on " + code.Machine + ", about commits of " + in.branch + " up to " + code.Tip[:12] +
			", which are not in " + in.branch + " here: decide there, or push " + in.branch + " there and git pull here. " +
			"leslie merge abort " + string(p.record.ID) + " gives it up")
}

// tipOf returns the commit of a thread's branch.
func (in *codeInputs) tipOf(t thread.Thread, worktrees []git.Listed) (git.Commit, error) {
	if i := slices.IndexFunc(worktrees, func(w git.Listed) bool { return w.Branch == t.Branch && w.Head != "" }); i >= 0 {
		return SentTip(in.ctx, in.repo, t.OwnedCode(), worktrees[i].Head)
	}
	tip, err := in.repo.Branch(in.ctx, t.Branch)
	if err == nil {
		tip, err = SentTip(in.ctx, in.repo, t.OwnedCode(), tip)
	}
	if err == nil && tip == "" && t.OwnedCode().State == thread.CodeElsewhere {
		return "", thread.NotSent(t)
	}
	if err == nil && tip == "" {
		gone, now := BranchGone(in.repo, t), "leslie update "+string(t.ID)+" --branch "
		i := slices.IndexFunc(worktrees, func(w git.Listed) bool {
			return w.Admin == t.OwnedCode().Admin && w.Branch != "" && w.Branch != t.Branch
		})
		if i < 0 {
			return "", gone.WithHint(gone.Hint() + "; or name its branch of now with " + now + "B")
		}
		err = gone.WithHint("Its worktree has '" + worktrees[i].Branch + "' checked out; if that is the branch, record it: " + now + worktrees[i].Branch)
	}
	return tip, err
}

// SentTip is where the branch of code is that has its worktree on another machine: at what that has
// sent, if this is here, unless the branch here, at tip, goes on from there. For other code it is tip.
func SentTip(ctx context.Context, repo *git.Repo, code *thread.Code, tip git.Commit) (git.Commit, error) {
	if code.State != thread.CodeElsewhere || code.Sent == nil || code.Sent.Tip == string(tip) {
		return tip, nil
	}
	sent, err := repo.Resolve(ctx, code.Sent.Tip)
	if err != nil || sent == "" || tip == "" {
		return cmp.Or(sent, tip), err
	}
	if further, err := repo.Contains(ctx, tip, sent); err != nil || further {
		return tip, err
	}
	return sent, nil
}

// BranchGone is T802 for a thread whose branch somebody deleted, with the line that makes it again
// where its worktree was last.
func BranchGone(repo *git.Repo, t thread.Thread) *codes.Error {
	err := thread.NoCode(t.ID, "its branch '"+t.Branch+"' is gone").WithNext("leslie code " + string(t.ID))
	code := t.OwnedCode()
	w := repo.Worktree("", code.Admin)
	if last := w.LastTip(t.Branch); last != "" && code.State == thread.CodeReady && code.Made.Branch {
		return err.WithHint("leslie code restore " + string(t.ID) + " makes it again where its worktree had it last (" +
			string(last)[:12] + ")")
	}
	if sent := code.Sent; sent != nil && code.State == thread.CodeReady {
		return err.WithHint("leslie code restore " + string(t.ID) + " makes it again where it was sent last (" + sent.Tip[:12] + "), and names later commits that git still has")
	} else if sent != nil {
		return err.WithHint("Make it again where it was sent last: git branch " + external.Word(t.Branch) + " " + sent.Tip[:12] +
			" (git reflog and git fsck --lost-found name what came after)")
	}
	if last := w.LastHead(); last != "" {
		return err.WithHint("Make it again where its worktree was last: git branch " + external.Word(t.Branch) + " " + string(last)[:12])
	}
	return err.WithHint("Find its last commit (git fsck --lost-found, or a clone that has it), then make it again: git branch " + external.Word(t.Branch) + " COMMIT")
}

// tipOfBranch returns the commit of a branch, of no thread, in which a source lands. Errors: T802.
func (in *codeInputs) tipOfBranch(source thread.Thread) (git.Commit, error) {
	tip, err := in.repo.Branch(in.ctx, in.branch)
	switch {
	case err != nil || tip != "":
		return tip, err
	case in.into == in.branch:
		return "", thread.NoCode(source.ID, "there is no branch '"+in.branch+"' with a commit on which it could land").
			WithHint("Name another branch: leslie land " + string(source.ID) + " --onto BRANCH").WithNext("leslie code " + string(source.ID))
	}
	return "", thread.NoCode(source.ID, "the branch from which it began, '"+in.branch+"', is gone").
		WithHint("Merge it into a thread with code, give " + in.into + " a worktree (leslie update " + in.into +
			" --worktree DIR), or merge without code: --only artifacts").WithNext("leslie code " + string(source.ID))
}

// add adds a source that has commits which the target lacks. Uncommitted work is taken or
// refused, because it would be left behind without a word.
func (in *codeInputs) add(p *Planning, t thread.Thread, worktrees []git.Listed) error {
	if _, err := p.call.Repository(t); err != nil { // with the commits that other machines have sent
		return err
	}
	tip, err := in.tipOf(t, worktrees)
	if err != nil {
		return err
	}
	if err := in.sent(p, t, tip); err != nil {
		return err
	}
	source := codeSource{party: party{Thread: t}, tip: tip}
	for _, w := range worktrees {
		if p.looking || !worksIn(t, w) {
			continue
		}
		if here, err := lookable(t, w); err != nil {
			return err
		} else if !here {
			continue
		}
		if err := w.CheckIdle(); err != nil {
			return thread.Busy(err, t.ID)
		}
		status, err := w.Status(in.ctx)
		if err == nil {
			err = in.elsewhere(t, w, tip, status.Clean())
		}
		if err != nil {
			return err
		}
		paths := append(slices.Clone(status.Dirty), status.Untracked...)
		switch {
		case len(paths) == 0:
		case t.OwnedCode().State == thread.CodeElsewhere && status.Head != tip: // taken, it would leave out what the thread has since
			return codes.Of(uncommitted(p, t.ID, w.Dir, paths)).WithNext("leslie code " + string(t.ID)).
				WithHint("That worktree is left from before the thread went to " + t.OwnedCode().Machine + ", and lacks its newest commits. " +
					"leslie code setup " + string(t.ID) + " brings them into it; commit the files there, or move them away, then repeat the call")
		case codeRecord(p).Uncommitted == TakeUncommitted && source.taken == nil:
			if err := in.take(p, &source, w.Worktree); err != nil {
				return err
			}
		default:
			return uncommitted(p, t.ID, w.Dir, paths)
		}
	}
	if err := in.addPushed(p, &source, worktrees); err != nil {
		return err
	}
	has, err := in.repo.Contains(in.ctx, in.tip, source.tip)
	if err != nil {
		return err
	}
	base, err := CodeBase(in.ctx, in.repo, t.OwnedCode(), in.branch, in.tip, source.tip)
	switch {
	case err != nil:
		return err
	case has && base == "": // unless what it brought was reverted
		return nil
	case base == source.tip: // it has landed without its commits
		return nil
	}
	in.sources = append(in.sources, source)
	return in.warnRewritten(p, source)
}

// sent warns of what a source, at tip, has on other machines and was not committed there, and of
// commits that its branch here has and that machine lacks: they stay out.
func (in *codeInputs) sent(p *Planning, t thread.Thread, tip git.Commit) error {
	code := t.OwnedCode()
	if p.looking {
		return nil
	}
	p.call.Warn(t.UncommittedElsewhere(p.call.Machine)...)
	if code.State != thread.CodeElsewhere || code.Sent == nil {
		return nil
	}
	here, err := in.repo.Branch(in.ctx, t.Branch)
	if err != nil || here == "" || here == tip {
		return err
	}
	alone, _, err := in.repo.Count(in.ctx, here, tip)
	if err == nil && alone > 0 {
		p.call.Warn(t.CodeBehind(t.Branch+" on this machine", alone, "git merge "+t.Branch))
	}
	return err
}

// addPushed adds what others have pushed to a source's branch, as far as it was fetched, if the
// branch can be moved forward to it. Otherwise it says that this stays out. What others have
// pushed to the branch of the target's parent lands there, not here.
func (in *codeInputs) addPushed(p *Planning, source *codeSource, worktrees []git.Listed) error {
	if source.ID == in.target.ParentID {
		return nil
	}
	u, ahead, err := in.repo.AheadOf(in.ctx, source.Branch, source.tip, source.OwnedCode().Target)
	if err != nil || !ahead {
		return err
	}
	forward := u.Behind == 0 && source.taken == nil
	if forward {
		source.tip = u.Commit
	}
	switch {
	case p.looking:
	case forward:
		p.call.Warn(warnings.UpstreamMerged.New(fact.Of("threadId", source.ID), fact.Of("branch", source.Branch), fact.Of("upstream", u.Name), fact.Of("count", u.Ahead)))
	default:
		brings := Bringing(in.ctx, in.repo, source.Thread, p.call.Machine, source.tip, u)
		next := external.Line(append([]string{"git"}, brings...)...) + " on " + source.Branch
		if i := slices.IndexFunc(worktrees, func(w git.Listed) bool { return w.Branch == source.Branch && !w.Missing }); i >= 0 {
			next = external.Line(append([]string{"git", "-C", worktrees[i].Dir}, brings...)...)
		}
		p.call.Warn(source.CodeBehind(u.Name, u.Ahead, next))
	}
	return nil
}

// Bringing returns the arguments of git that bring the branch of a thread, at its tip on a machine, what others have of
// it: a merge, or a move to there if they have made anew all that is here.
func Bringing(
	ctx context.Context, repo *git.Repo, t thread.Thread, machine string, tip git.Commit, u git.Upstream,
) []string {
	for _, sent := range t.OwnedCode().AllSent() {
		if sent.Machine != machine && sent.Tip == string(u.Commit) && slices.Contains(sent.Was, string(tip)) {
			return []string{"reset", "--keep", u.Name}
		}
	}
	return repo.Brings(ctx, tip, u)
}

// moveForward lets a branch that is behind its upstream, as it was fetched last, move forward
// to the newest commit there that a source has: else a merge would bring the commits of others
// as the source's, and a squash make one commit of them. A branch that has commits of its own
// stays where it is, and a squash leaves those of others out.
func (in *codeInputs) moveForward(p *Planning) error {
	if len(in.sources) == 0 {
		return nil
	}
	u, ahead, err := in.repo.AheadOf(in.ctx, in.branch, in.was, "")
	if err != nil || !ahead {
		return err
	}
	for _, s := range in.sources {
		common, err := in.repo.MergeBase(in.ctx, u.Commit, s.tip)
		if err != nil {
			return err
		}
		if has, err := in.repo.Contains(in.ctx, in.was, common); err != nil || has {
			if err != nil {
				return err
			}
			continue
		}
		in.began[s.ID] = common
		if further, err := in.repo.Contains(in.ctx, common, in.tip); err != nil {
			return err
		} else if further {
			in.tip = common
		}
	}
	if p.record.Onto == "" && u.Behind == 0 && in.tip != in.was { // all of it is of the thread's own branch
		in.tip = u.Commit
	}
	switch {
	case in.tip != in.was:
		_, commits, err := in.repo.Count(in.ctx, in.was, in.tip)
		if err != nil {
			return err
		}
		in.forward = &CodeForward{u.Name, commits}
		return in.dropLanded()
	case len(in.began) > 0 && !p.looking:
		behind := in.target.Thread
		if p.record.Onto != "" {
			behind.ID = thread.ThreadID(in.branch)
		}
		p.call.Warn(behind.CodeBehind(u.Name, u.Ahead, "git merge "+external.Word(u.Name)+" on "+in.branch))
	}
	return nil
}

// elsewhereFrom finds, where code lands on another branch than the one from which it began, the commit of that with which its
// own commits begin: a squash and a rebase leave out what is below, and a merge cannot, which it says.
func (in *codeInputs) elsewhereFrom(p *Planning) error {
	for _, s := range in.sources {
		from := strings.TrimPrefix(s.OwnedCode().Target, "refs/heads/")
		if p.record.Onto == "" || from == "" || from == in.branch || in.began[s.ID] != "" {
			continue
		}
		tip, err := in.repo.Branch(in.ctx, from)
		if err != nil || tip == "" {
			return err
		}
		base, err := in.ownBase(s, from, tip)
		if err != nil || base == "" {
			return err
		}
		if has, err := in.repo.Contains(in.ctx, in.tip, base); err != nil || has {
			return err
		}
		in.began[s.ID] = base
		if in.how != thread.LandedMerge || p.looking {
			continue
		}
		others, _, err := in.repo.Count(in.ctx, base, in.tip)
		if err != nil {
			return err
		}
		p.call.Warn(warnings.OthersLand.New(fact.Of("threadId", s.ID), fact.Of("branch", in.branch), fact.Of("from", from), fact.Of("count", others)))
	}
	return nil
}

// ownBase is the commit of the branch from which a source's code began, at tip, behind which its own commits are; "" if
// it is not known.
func (in *codeInputs) ownBase(s codeSource, from string, tip git.Commit) (git.Commit, error) {
	base, err := in.repo.MergeBase(in.ctx, tip, s.tip)
	if err != nil || base != s.tip {
		return base, err
	}
	for _, l := range s.OwnedCode().Landed { // it is there already
		if l.Tip == string(s.tip) && l.Onto == from && l.From != "" {
			return in.repo.MergeBase(in.ctx, git.Commit(l.From), s.tip)
		}
	}
	return git.Commit(s.OwnedCode().Start), nil
}

// pick finds the commits of the only source that land one by one: its own that are no merges.
// Without one there is nothing to merge.
func (in *codeInputs) pick() error {
	source := in.sources[0]
	since, err := CodeBase(in.ctx, in.repo, source.OwnedCode(), in.branch, in.tip, source.tip)
	if err != nil {
		return err
	}
	if since == "" {
		since = in.began[source.ID]
	}
	commits, err := in.repo.CommitsToRebase(in.ctx, cmp.Or(since, in.tip), source.tip)
	for _, c := range commits {
		one := source
		one.tip, one.base, one.Title = c.Commit, c.Parent, string(c.Commit)[:12]+" "+c.Subject
		in.picks = append(in.picks, one)
	}
	if len(commits) == 0 {
		in.sources = nil
	}
	return err
}

// dropLanded drops the sources that have no commits beyond where the branch moves.
func (in *codeInputs) dropLanded() error {
	for i := 0; i < len(in.sources); {
		has, err := in.repo.Contains(in.ctx, in.tip, in.sources[i].tip)
		if err != nil {
			return err
		}
		if has {
			in.sources = slices.Delete(in.sources, i, i+1)
			continue
		}
		i++
	}
	return nil
}

// warnRewritten warns of a source whose branch has lost what was merged into the target:
// neither that tip nor the merge itself is in it.
func (in *codeInputs) warnRewritten(p *Planning, source codeSource) error {
	landed := source.OwnedCode().Landed
	for i := len(landed) - 1; i >= 0 && !p.looking; i-- {
		if string(landed[i].Into) != in.into && landed[i].Onto != in.into {
			continue
		}
		for _, commit := range []string{landed[i].Tip, landed[i].Commit} {
			if has, err := continues(in.ctx, in.repo, source.tip, commit); err != nil || has {
				return err
			}
		}
		p.call.Warn(warnings.HistoryRewritten.New(fact.Of("threadId", source.ID), fact.Of("branch", source.Branch), fact.Of("commit", landed[i].Tip), fact.Of("into", in.into)))
		break
	}
	return nil
}

// maxUncommitted is how many uncommitted paths an error names.
const maxUncommitted = 20

// plan merges the sources one after the other, up to the first that has an open
// conflict: what comes after it depends on the answers.
func (in *codeInputs) plan(decisions map[string]merge.Decision) (files []merge.Change, conflicts []merge.Conflict, made *codePlan, err error) {
	made = &codePlan{unmerged: map[string]unmergedCode{}}
	now, tree, steps := in.tip, "", in.sources
	if in.how == thread.LandedRebase {
		steps = in.picks
	}
	for i, source := range steps {
		merged, err := in.merged(now, source)
		if err != nil {
			return nil, nil, nil, err
		}
		plan, err := in.conflicts(source, merged, decisions)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, u := range merged.Unmerged {
			made.unmerged[codePrefix+u.Path] = unmergedCode{u, source.ID}
		}
		files = slices.DeleteFunc(files, func(f merge.Change) bool { // decided for an earlier source
			return slices.ContainsFunc(plan.Files, func(g merge.Change) bool { return g.Path == f.Path })
		})
		files, conflicts = append(files, plan.Files...), append(conflicts, plan.Conflicts...)
		if plan.Open() > 0 {
			made.open = &openCode{merged, plan}
			return files, conflicts, made, nil
		}
		if tree, err = in.resolved(merged, plan); err != nil {
			return nil, nil, nil, err
		}
		if i < len(steps)-1 {
			if now, err = in.join(tree, now, source); err != nil {
				return nil, nil, nil, err
			}
		}
	}
	made.tree, made.onto = tree, now
	made.changes, err = in.changes(tree)
	return files, conflicts, made, err
}

func (in *codeInputs) merged(ours git.Commit, source codeSource) (git.Merge, error) {
	key := [2]git.Commit{ours, source.tip}
	if m, known := in.merges[key]; known {
		return m, nil
	}
	base, err := source.base, error(nil)
	if in.how != thread.LandedRebase {
		base, err = CodeBase(in.ctx, in.repo, source.OwnedCode(), in.branch, ours, source.tip)
	}
	if err != nil {
		return git.Merge{}, err
	}
	if base == "" && in.how == thread.LandedSquash { // the commits of others that it began with are not its own
		base = in.began[source.ID]
	}
	if in.how != thread.LandedRebase {
		in.bases[source.ID] = base
	}
	m, err := in.repo.MergeTree(in.ctx, in.in, base, ours, source.tip)
	if err == nil {
		err = in.read(m)
	}
	if err == nil {
		in.merges[key] = m
	}
	return m, err
}

// join returns a commit of what is merged so far, on which the next source is merged: of a
// rebase a copy of the source's commit, or the same one again if that brings nothing.
func (in *codeInputs) join(tree string, onto git.Commit, source codeSource) (c git.Commit, err error) {
	key := [3]string{tree, string(onto), string(source.tip)}
	if c, known := in.joined[key]; known {
		return c, nil
	}
	if in.how == thread.LandedRebase {
		c, err = in.repo.Copy(in.ctx, source.tip, tree, onto)
	} else {
		c, err = in.repo.TemporaryCommit(in.ctx, tree, onto, source.tip)
	}
	if err == nil {
		in.joined[key] = c
	}
	return c, err
}

// read keeps the content of what git could not merge, for plan and rendering.
func (in *codeInputs) read(m git.Merge) error {
	var objects []string
	for _, u := range m.Unmerged {
		for _, b := range []git.Blob{u.Base, u.Ours, u.Theirs} {
			if b.There() && !b.Submodule() && !slices.Contains(objects, b.Object) {
				objects = append(objects, b.Object)
			}
		}
	}
	contents, err := in.repo.Blobs(in.ctx, objects)
	if err != nil {
		return err
	}
	for _, u := range m.Unmerged {
		for _, b := range []git.Blob{u.Base, u.Ours, u.Theirs} {
			if b.There() {
				in.keep(b, contents[b.Object])
			}
		}
	}
	return nil
}

// keep remembers a version by the hash under which the plan knows it. What is no regular
// file, a link or a submodule, has a content that no file has.
func (in *codeInputs) keep(b git.Blob, content []byte) {
	switch {
	case b.Submodule():
		in.other[b.Object] = "commit " + b.Object[:12] + " of a submodule"
	case !b.File():
		in.other[b.Object] = "a link to " + string(content)
	}
	if !b.File() {
		content = []byte("\x00" + b.Mode + " " + b.Object)
	}
	id := blobOf(content)
	in.reader.contents[id] = content
	in.blobs[versionKey{string(id), b.Mode == "100755"}] = b
	in.hashes[b.Object] = string(id)
}

// file is a version as the plan has it.
func (in *codeInputs) file(b git.Blob) merge.File {
	if !b.There() {
		return merge.File{}
	}
	id := in.hashes[b.Object]
	return merge.File{Hash: id, Size: int64(len(in.reader.contents[thread.BlobID(id)])), Executable: b.Mode == "100755"}
}

// conflicts plans what git could not merge of one source. The lines are merged as git
// merges them: neither lists nor tables have rules of their own.
func (in *codeInputs) conflicts(source codeSource, m git.Merge, decisions map[string]merge.Decision) (*merge.Plan, error) {
	input := merge.Input{
		Target: in.into, Tree: merge.Tree{Files: map[string]merge.File{}}, Read: in.reader.read, Decisions: decisions, Contested: map[string]string{},
	}
	theirs, bases := map[string]merge.File{}, map[string]merge.File{}
	for _, u := range m.Unmerged {
		path := codePrefix + u.Path
		put := func(files map[string]merge.File, b git.Blob) {
			if b.There() {
				files[path] = in.file(b)
			}
		}
		put(input.Tree.Files, u.Ours)
		put(theirs, u.Theirs)
		put(bases, u.Base)
		if reason := in.structural(m, u); reason != "" {
			input.Contested[path] = reason
		}
	}
	input.Sources = []merge.Source{{
		ID: string(source.ID), Title: source.Title, Tree: merge.Tree{Files: theirs},
		Base: func(path string) merge.Base { return merge.Base{File: bases[path], From: "git merge-base"} },
	}}
	plan, err := merge.Make(input)
	if err != nil || !in.contest(input, m, plan) {
		return plan, err
	}
	return merge.Make(input)
}

// contest adds what git does not merge and the plan did.
func (in *codeInputs) contest(input merge.Input, m git.Merge, plan *merge.Plan) (more bool) {
	for _, u := range m.Unmerged {
		path := codePrefix + u.Path
		known := slices.ContainsFunc(plan.Conflicts, func(c merge.Conflict) bool { return c.Path == path })
		if !known && (u.Ours.There() || u.Theirs.There()) {
			input.Contested[path], more = cmp.Or(messageOf(m, u.Path), "git cannot merge it"), true
		}
	}
	return more
}

// structural says why a conflict is not one of lines, "" if it is.
func (in *codeInputs) structural(m git.Merge, u git.Unmerged) string {
	reason, versions := "", ""
	for i, b := range []git.Blob{u.Base, u.Ours, u.Theirs} {
		if b.There() && !b.File() {
			reason = "it is a link or a submodule"
			versions += "; " + []string{"base", "ours", "theirs"}[i] + ": " + in.other[b.Object]
		}
	}
	for _, message := range m.Messages {
		if !slices.Contains(message.Paths, u.Path) || !strings.HasPrefix(message.Kind, "CONFLICT") {
			continue
		}
		switch message.Kind {
		case "CONFLICT (contents)", "CONFLICT (modify/delete)", "CONFLICT (binary)":
		default:
			reason = message.Text
		}
	}
	if reason != "" {
		return cmp.Or(messageOf(m, u.Path), reason) + versions
	}
	return ""
}

// messageOf is what git says of a conflict in a path.
func messageOf(m git.Merge, path string) string {
	for _, message := range m.Messages {
		if slices.Contains(message.Paths, path) && strings.HasPrefix(message.Kind, "CONFLICT") {
			return message.Text
		}
	}
	return ""
}

// resolved returns the tree with what the plan made of the conflicts. One that is open stands
// between markers, or leaves the target's file as it is if it is about the whole of it.
func (in *codeInputs) resolved(m git.Merge, plan *merge.Plan) (string, error) {
	with := map[string]git.Blob{}
	var paths []string
	var contents [][]byte
	for _, u := range m.Unmerged {
		with[u.Path] = u.Ours
		i := slices.IndexFunc(plan.Files, func(f merge.Change) bool { return f.Path == codePrefix+u.Path })
		if i < 0 {
			continue
		}
		f := plan.Files[i]
		b, known := in.blobs[versionKey{f.After.Hash, f.After.Executable}]
		switch {
		case f.Open > 0 && f.Merge == nil:
		case f.Open > 0:
			with[u.Path] = git.Blob{Mode: fileMode(f.Before)}
			paths, contents = append(paths, u.Path), append(contents, f.Marked(plan.Conflicts).Text)
		case !f.After.There():
			with[u.Path] = git.Blob{}
		case known:
			with[u.Path] = b
		default:
			content, err := in.reader.content(f.After.Hash)
			if f.Content != nil {
				content, err = f.Content, nil
			}
			if err != nil {
				return "", err
			}
			with[u.Path] = git.Blob{Mode: fileMode(f.After)}
			paths, contents = append(paths, u.Path), append(contents, content)
		}
	}
	objects, err := in.repo.PutBlobs(in.ctx, contents)
	if err != nil {
		return "", err
	}
	for i, path := range paths {
		with[path] = git.Blob{Mode: with[path].Mode, Object: objects[i]}
	}
	return in.repo.Replace(in.ctx, m.Tree, with)
}

// fileMode is the mode of a file as git writes it.
func fileMode(f merge.File) string {
	if f.Executable {
		return "100755"
	}
	return "100644"
}

// withCode adds the plan of code to that of artifacts.
func (in *mergeInputs) withCode(artifacts *merge.Plan, decisions map[string]merge.Decision) (*merge.Plan, *codePlan, error) {
	if in.code == nil {
		return artifacts, nil, nil
	}
	files, conflicts, made, err := in.code.plan(decisions)
	if err != nil {
		return nil, nil, err
	}
	plan := &merge.Plan{Files: slices.Concat(artifacts.Files, files), Conflicts: slices.Concat(artifacts.Conflicts, conflicts)}
	slices.SortStableFunc(plan.Files, func(a, b merge.Change) int { return cmp.Compare(a.Path, b.Path) })
	return plan, made, nil
}

// version returns a source's file at a path of the plan, and its base.
func (in *mergeInputs) version(made *codePlan, source, path string) (file merge.File, base merge.Base) {
	if isCode(path) {
		if made != nil {
			if u, ok := made.unmerged[path]; ok && string(u.source) == source {
				return in.code.file(u.Theirs), merge.Base{File: in.code.file(u.Base)}
			}
		}
		return file, base
	}
	for _, s := range in.input.Sources {
		if s.ID == source {
			file = s.Tree.Files[path]
			if s.Base != nil {
				base = s.Base(path)
			}
		}
	}
	return file, base
}

// changes lists what a tree changes in the code of the target, as a plan lists artifacts:
// before and after are objects of git.
func (in *codeInputs) changes(tree string) ([]PlannedFile, error) {
	if known, ok := in.changed[tree]; ok {
		return known, nil
	}
	differ, err := in.repo.Changes(in.ctx, string(in.tip), tree)
	if err != nil {
		return nil, err
	}
	out := []PlannedFile{}
	for _, c := range differ {
		out = append(out, PlannedFile{
			Path: codePrefix + c.Path, Before: thread.BlobID(c.Old.Object), After: thread.BlobID(c.New.Object), Executable: c.New.Mode == "100755",
		})
	}
	in.changed[tree] = out
	return out, nil
}
