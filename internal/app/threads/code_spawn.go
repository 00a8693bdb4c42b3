package threads

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/code"
	"leslie/internal/app/history"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file spawns threads that own code.
//
//	plan    everything that can be checked is checked; nothing is changed
//	op 1    the thread, its code "making"
//	make    git makes branch and worktree, without the store's lock
//	op 2    "ready"; its answer is the request's
//	setup   the configured command; how it ended is operation 3
//
// If git fails, what it made and op 1 are taken back. Where the process was killed, the
// thread is "making": the same call repeated, or leslie code setup, goes on with it.
// Meanwhile a stage of the store says whether the maker is alive (code.Hold).

// SpawnedCode is the code of a new thread.
type SpawnedCode struct {
	Branch string `json:"branch"`
	// Adopted: the branch was there before, and is never deleted.
	Adopted  bool   `json:"adopted,omitempty"`
	Worktree string `json:"worktree"` // absolute
	// Folder is the project's folder in the worktree, "" if that is the worktree.
	Folder string  `json:"folder,omitempty"`
	Head   string  `json:"head"`
	Target *string `json:"target"` // the branch from which it started, null for a commit
	// LandsIn is the branch in which it lands: the parent's, else the one from which it
	// started; "" for none.
	LandsIn string `json:"landsIn,omitempty"`
	// Base is the target's commit then, if Head has its uncommitted work on top of that.
	Base *string `json:"base,omitempty"`
}

// codeSpawn is the code of one spawn.
type codeSpawn struct {
	c      *app.Call
	repo   *git.Repo
	id     thread.ThreadID
	making git.WorktreeSpec
	code   thread.Code
	parent string       // the folder of worktrees, if this call made it
	stands git.Worktree // where the caller is

	resumed bool   // another process began it
	request string // the id of the caller's request
	release func()
}

// spawnCode spawns a thread that owns code.
func spawnCode(c *app.Call, in SpawnRequest, begin func(SpawnRequest, *codeSpawn) (*SpawnResult, error)) (*SpawnResult, error) {
	m, began, err := resumeSpawn(c, in)
	if err != nil {
		return nil, err
	}
	if m == nil {
		if m, began, err = planAndBegin(c, in, begin); errors.Is(err, store.ErrAnswered) {
			first, _, err := app.Answered[SpawnResult](c)
			return first, err
		}
		if err != nil {
			return nil, err
		}
	}
	defer m.release()
	return m.finish(began, in.NoSetup)
}

// planAndBegin plans the spawn and records the thread. An id that the title gives may be
// taken between the two: then it plans again.
func planAndBegin(c *app.Call, in SpawnRequest, begin func(SpawnRequest, *codeSpawn) (*SpawnResult, error)) (*codeSpawn, *SpawnResult, error) {
	for try := 1; ; try++ {
		planned := in
		m, err := planCode(c, &planned)
		if err != nil {
			return nil, nil, err
		}
		began, err := m.beginSpawn(planned, begin)
		if err == nil {
			return m, began, nil
		}
		m.release()
		m.dropParent()
		if in.ID != "" || !codes.Has(err, codes.AlreadyExists) || try == maxNames {
			return nil, nil, err
		}
	}
}

// maxNames is how many ids of a title are tried whose branch or folder is taken.
const maxNames = 10

// beginSpawn records the thread: operation 1. It is not the answer of a request.
func (m *codeSpawn) beginSpawn(in SpawnRequest, begin func(SpawnRequest, *codeSpawn) (*SpawnResult, error)) (*SpawnResult, error) {
	if m.request = m.c.Request().ID; m.request != "" {
		whole := m.c.StoreCall()
		m.c.UnlessAnswered(&whole)
		m.c.Request().ID = ""
		defer func() {
			m.c.UnlessAnswered(nil)
			m.c.Request().ID = m.request
		}()
	}
	return begin(in, m)
}

// notBegun checks, inside the rule of operation 1, that no other process has begun the same
// request.
func (m *codeSpawn) notBegun(s *thread.State) error {
	if m.request == "" {
		return nil
	}
	for _, t := range s.ThreadsWithCode() {
		if t.OwnedCode().State == thread.CodeMaking && t.OwnedCode().Call == m.code.Call {
			return codes.WorktreeBusy.New(fact.Of("what", "The same request"), fact.Of("path", "the worktree of '"+string(t.ID)+"'"), fact.Of("threadId", t.ID))
		}
	}
	return nil
}

// finish makes the worktree and records it: operation 2. Then it runs the setup.
func (m *codeSpawn) finish(d *SpawnResult, noSetup bool) (*SpawnResult, error) {
	c := m.c
	w, err := code.Make(c, m.repo, m.id, m.code, m.making)
	if err != nil {
		return nil, m.takeBack(err, false)
	}
	if err := code.CopyIncluded(c, m.repo, m.making.Dir); err != nil {
		return nil, m.takeBack(err, !m.resumed)
	}
	if !m.resumed {
		c.GoOn()
	}
	c.Request().Expect = nil
	d, err = app.Write(c, func(s *thread.State, stamp thread.Stamp) (*SpawnResult, thread.ThreadID, error) {
		t, err := s.ChangeCode(string(m.id), []thread.CodeState{thread.CodeMaking}, stamp, func(_ *thread.Thread, code *thread.Code) {
			code.State, code.Admin, code.Call = thread.CodeReady, w.Admin, ""
		})
		if err != nil {
			return nil, "", err
		}
		d.Revision = t.Revision
		d.Code = &SpawnedCode{Branch: t.Branch, Adopted: m.making.Existing, Worktree: m.making.Dir, Head: m.code.Start, Target: app.OrNull(app.BranchOf(m.code.Target)), LandsIn: s.LandsIn(t)}
		if base := m.code.Base; base != nil {
			d.Code.Base = &base.MergeBase
		}
		if folder := code.WorkFolder(c, m.repo.Top, m.making.Dir); folder != m.making.Dir {
			d.Code.Folder = folder
		}
		m.code.Slot = t.OwnedCode().Slot
		return d, t.ID, nil
	})
	if err != nil || noSetup || c.Replayed() {
		return d, err
	}
	up := code.SetupRun{C: c, ID: m.id, Dir: m.making.Dir, Folder: cmp.Or(d.Code.Folder, m.making.Dir), Slot: m.code.Slot}
	_, at, err := up.Run()
	if err != nil {
		return nil, err
	}
	d.Revision = max(d.Revision, at)
	code.RunChecksAtStart(c, m.id)
	return d, nil
}

// takeBack takes back what was made and the thread, and returns why; finished says that
// this call has finished the worktree. If that fails, too, the thread stays as it is, for
// the next call to go on with.
func (m *codeSpawn) takeBack(why error, finished bool) error {
	c := m.c
	ctx, cancel := c.Cleaning()
	defer cancel()
	e := codes.Of(why)
	if e == nil {
		return why
	}
	stays := func(error) error {
		return e.With(fact.Of("changed", true), fact.Of("threadId", m.id)).WithNext("leslie code " + string(m.id))
	}
	if err := m.repo.Unmake(ctx, m.making, finished); err != nil {
		return stays(err)
	}
	if base := m.code.Base; base != nil {
		_ = m.repo.UpdateRef(ctx, thread.BaseRef(m.id, 0), "", git.AnyOldValue, "leslie: take back") // one that stays only keeps a commit
	}
	m.dropParent()
	back := c.Project().Call(ctx, c.Caller(), app.Request{Command: "undo", LockTimeout: c.Request().LockTimeout})
	op, ok, err := back.Store().FindOperation(ctx, func(op thread.Operation) bool { return spawned(op, m.id) }, string(m.id))
	if err != nil || !ok {
		return stays(err)
	}
	back.Request().Params = func() json.RawMessage { raw, _ := fact.JSON(map[string]any{"operation": op.ID}); return raw }
	u := history.NewUndoing(back, op, false)
	u.Invert = (*thread.State).TakeBackCode
	if _, err := u.Run(); err != nil {
		return stays(err)
	}
	c.SetChanged(false)
	return why
}

// spawned reports whether an operation made a thread.
func spawned(op thread.Operation, id thread.ThreadID) bool {
	for _, ch := range op.Changes {
		if ch.Record == thread.TableThreads+"/"+string(id) && (len(ch.Before) == 0 || string(ch.Before) == "null") {
			return true
		}
	}
	return false
}

// dropParent removes the folder of worktrees if this call made it and it is empty.
func (m *codeSpawn) dropParent() {
	if m.parent != "" {
		_ = os.Remove(m.parent)
	}
}

// callDigest identifies a call, so that the same call repeated is known.
func callDigest(c *app.Call) string {
	h := sha256.New()
	_, _ = io.WriteString(h, c.Request().Command+"\x00"+c.Request().ID+"\x00")
	_, _ = h.Write(c.Params())
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// resumeSpawn finds the thread that the same call began before its process was killed, by
// its request id or by the id of its thread; nil if there is none.
func resumeSpawn(c *app.Call, in SpawnRequest) (*codeSpawn, *SpawnResult, error) {
	if c.Request().ID == "" && in.ID == "" {
		return nil, nil, nil
	}
	t, ok, err := begun(c)
	if err != nil || !ok {
		return nil, nil, err
	}
	m := &codeSpawn{c: c, id: t.ID, resumed: true}
	if m.release, err = code.Hold(c, t.ID); err != nil {
		return nil, nil, err
	}
	var d *SpawnResult
	if t, ok, err = begun(c); err == nil && ok { // nobody else has finished it by now
		m.code, m.making = *t.OwnedCode(), code.WorktreeSpecOf(c, t)
		if m.repo, err = code.RepoOf(c, t); err == nil {
			d, err = spawnResultOf(c, t)
		}
	}
	if err != nil || !ok {
		m.release()
		return nil, nil, err
	}
	return m, d, nil
}

// begun returns the thread that the same call is making.
func begun(c *app.Call) (found thread.Thread, ok bool, err error) {
	call := callDigest(c)
	_, err = c.View(func(s *thread.State) error {
		for _, t := range s.ThreadsWithCode() {
			if code := t.OwnedCode(); code.State == thread.CodeMaking && code.Call == call {
				found, ok = t, true
			}
		}
		return nil
	})
	return found, ok, err
}

// spawnResultOf is the result of a spawn whose thread was recorded before.
func spawnResultOf(c *app.Call, t thread.Thread) (d *SpawnResult, err error) {
	_, err = c.View(func(s *thread.State) error {
		d = newSpawnResult(c, t)
		for _, ref := range s.ReferencesFrom(t.ID) {
			d.References = append(d.References, artifacts.ReferenceOf(c, ref))
		}
		d.Claim = app.CurrentClaim(c, t)
		return nil
	})
	if err == nil && len(t.Shared) > 0 {
		m, err := c.Store().Manifest(t.Shared[0].Manifest)
		if err != nil {
			return nil, err
		}
		d.Inherited.Scope, d.Inherited.Files = t.Shared[0].Scope, len(m)
	}
	return d, err
}

// planCode checks everything that can be checked, and chooses the new thread's id.
func planCode(c *app.Call, in *SpawnRequest) (m *codeSpawn, err error) {
	m = &codeSpawn{c: c}
	var parent thread.Thread
	_, err = c.View(func(s *thread.State) error {
		n := in.newThread()
		n.ID = c.NewThreadID(s, in.ID, in.Title)
		in.nameObjective(c, s, &n)
		t, err := s.Spawn(n, c.Stamp()) // on what was read: whatever it refuses is refused before git is asked
		m.id, parent.ID = t.ID, t.ParentID
		if t.ParentID != "" {
			parent, _ = s.Threads.Get(string(t.ParentID))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := code.ValidateCheckNames(c, in.Accept); err != nil {
		return nil, err
	}
	m.code.Accept = in.Accept
	if m.repo, err = code.OpenRepo(c); err != nil {
		return nil, err
	}
	if m.stands, err = m.repo.WorktreeOf(c.Context(), c.Caller().Dir); err != nil {
		return nil, err
	}
	if err := m.start(in, parent); err != nil {
		return nil, err
	}
	if err := m.adopt(in); err != nil {
		return nil, err
	}
	if err := m.uncommitted(in, parent); err != nil {
		return nil, err
	}
	if err := m.lookAt(m.making.Start); err != nil {
		return nil, err
	}
	if err := m.warnBehind(parent); err != nil {
		return nil, err
	}
	if err := m.holdNames(in); err != nil {
		m.dropParent()
		return nil, err
	}
	m.code.State, m.code.Repo, m.code.Start = thread.CodeMaking, m.repo.Admin, cmp.Or(m.code.Start, string(m.making.Start))
	m.code.Made, m.code.Call = thread.CodeMade{Branch: !m.making.Existing, Worktree: true}, callDigest(c)
	in.ID, in.Branch, in.Worktree = string(m.id), m.making.Branch, c.Project().Worktree(m.making.Dir)
	return m, nil
}

// holdNames names the branch and the folder, and holds the thread's id for this call. An id
// that the title gave is another one if somebody has such a branch or folder, or makes one.
func (m *codeSpawn) holdNames(in *SpawnRequest) error {
	c := m.c
	names, err := code.NamesNow(c, m.repo)
	if err != nil {
		return err
	}
	dir := ""
	if in.Worktree == "" {
		made := false
		if dir, made, err = names.MakeWorktrees(c); err != nil {
			return err
		}
		if made {
			m.parent = dir
		}
	}
	var tried []thread.ThreadID
	for {
		m.making.Branch = cmp.Or(in.Branch, strings.ReplaceAll(names.Branch, app.IDInBranch, string(m.id)))
		m.making.Dir = cmp.Or(in.Worktree, filepath.Join(dir, string(m.id)))
		if err = m.repo.Check(c.Context(), m.making); err == nil {
			m.release, err = code.Hold(c, m.id)
		}
		tried = append(tried, m.id)
		if in.ID != "" || !codes.Has(err, codes.BranchTaken) && !codes.Has(err, codes.WorktreeBusy) || len(tried) == maxNames {
			return err
		}
		if _, err := c.View(func(s *thread.State) error {
			m.id = c.NewThreadID(s, "", in.Title, tried...)
			return nil
		}); err != nil {
			return err
		}
	}
}

// base is the revision that a base names: a ref or a commit, else the branch of a thread, which owner is.
func (m *codeSpawn) base(named string) (revision string, owner thread.Thread) {
	if commit, err := m.repo.Resolve(m.c.Context(), named); err != nil || commit != "" {
		return named, owner
	}
	if t, err := code.Owner(m.c, named); err == nil {
		return "refs/heads/" + t.Branch, t
	}
	return named, owner
}

// tipOf is the newest commit of a thread's code, with those that other machines have sent; "" if its branch is gone.
// Errors: T801; T802 for commits that are not here.
func (m *codeSpawn) tipOf(t thread.Thread) (git.Commit, error) {
	repo, err := code.RepoOf(m.c, t)
	if err != nil {
		return "", err
	}
	tip, err := repo.Branch(m.c.Context(), t.Branch)
	if err == nil {
		tip, err = code.OwnTip(m.c.Context(), repo, t.OwnedCode(), tip)
	}
	if err == nil && tip == "" && t.OwnedCode().State == thread.CodeElsewhere {
		err = thread.NotSent(t)
	}
	return tip, err
}

// adopt takes the branch that the request names if it is there: what it has beyond where it
// began is the thread's. Errors: T803 if it is checked out or a thread has it, T903 for what does
// not go with it.
func (m *codeSpawn) adopt(in *SpawnRequest) error {
	if in.Branch == "" {
		return nil
	}
	ctx := m.c.Context()
	tip, err := m.repo.Branch(ctx, in.Branch)
	if err != nil || tip == "" {
		return err
	}
	for _, given := range []struct{ field, value string }{{"Base", in.Base}, {"Uncommitted", in.Uncommitted}} {
		if given.value != "" {
			return app.FaultsError([]app.Fault{{Field: given.field, Value: given.value, Problem: "does not go with the branch '" + in.Branch + "', which is there already"}})
		}
	}
	if _, err := m.c.View(func(s *thread.State) error {
		for _, t := range s.ThreadsWithCode() {
			if t.Branch == in.Branch {
				return thread.BranchTaken(in.Branch, "thread '"+string(t.ID)+"' has it").WithNext("leslie code " + string(t.ID))
			}
		}
		return nil
	}); err != nil {
		return err
	}
	all, err := m.repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.Branch == in.Branch {
			return thread.BranchTaken(in.Branch, "it is checked out in "+w.Dir).
				WithHint("To work on it where it is: leslie spawn, without --code, then leslie update ID --worktree " + w.Dir + ". Or check out something else there")
		}
	}
	base, err := m.repo.MergeBase(ctx, m.making.Start, tip)
	m.making.Existing, m.making.Start, m.code.Start = true, tip, string(cmp.Or(base, tip))
	return err
}

// start finds where the branch starts: at the base, else at the tip of the parent's
// branch, else at what the worktree has checked out in which the caller stands. Errors: T903 for the base, T802
// for the parent, T801 without a commit.
func (m *codeSpawn) start(in *SpawnRequest, parent thread.Thread) error {
	revision, from := m.stands.Head(), thread.Thread{}
	switch {
	case in.Base != "":
		revision, from = m.base(in.Base)
	case parent.OwnedCode() != nil:
		revision, from = "refs/heads/"+parent.Branch, parent
	}
	ctx := m.c.Context()
	var commit git.Commit
	var err error
	if from.ID != "" {
		commit, err = m.tipOf(from)
	} else {
		commit, err = m.repo.Resolve(ctx, revision)
	}
	if err != nil {
		return err
	}
	switch {
	case commit != "":
	case in.Base != "":
		return app.FaultsError([]app.Fault{{Field: "Base", Value: in.Base, Problem: "the repository has no commit " + app.Quoted(in.Base)}})
	case parent.OwnedCode() != nil:
		return thread.NoCode(parent.ID, "its branch '"+parent.Branch+"' is gone").
			WithHint("Name the branch with leslie update --branch, or where to start with --base").WithNext("leslie code " + string(parent.ID))
	default:
		return code.NoRepo("the repository has no commit to start from").
			WithHint("Make the first commit with git commit, then repeat the call; threads without code need none")
	}
	m.making.Start = commit
	m.code.Target, err = m.repo.Ref(ctx, revision)
	return err
}

// uncommitted takes the work that is not committed where the branch starts, in the
// parent's worktree, else in that of the caller, or warns of it. A worktree that is not there has
// none. Errors of taking it: T805, T808; T903 if the worktree is not on the parent's branch.
func (m *codeSpawn) uncommitted(in *SpawnRequest, parent thread.Thread) error {
	if in.Base != "" || m.making.Existing {
		return nil
	}
	m.c.Warn(parent.UncommittedElsewhere(m.c.Project().Machine())...)
	dir, admin := m.stands.Dir, m.stands.Admin
	if owner := parent.OwnedCode(); owner != nil {
		dir, admin = code.WorktreeDir(m.c, parent), owner.Admin
	}
	if code.FolderMissing(dir) || code.FolderMissing(admin) {
		return nil
	}
	if in.Uncommitted == takeUncommitted {
		return m.take(dir, admin, parent)
	}
	status, err := m.repo.Worktree(dir, admin).Status(m.c.Context())
	if paths := slices.Concat(status.Dirty, status.Untracked); err == nil && len(paths) > 0 {
		m.c.Warn(warnings.UncommittedLeft.NewOfPaths(paths, nil, fact.Of("path", dir), fact.Of("count", len(paths))))
	}
	return err
}

// warnBehind warns if the branch from which this one starts lacks commits of its own
// target: of the branch from which the parent's started, else of its upstream, as far as
// that was fetched.
func (m *codeSpawn) warnBehind(parent thread.Thread) error {
	from, target := m.code.Target, ""
	owner := parent.OwnedCode()
	var err error
	switch {
	case from == "" || m.making.Existing:
		return nil
	case owner != nil && from == "refs/heads/"+parent.Branch:
		target = owner.Target
	default:
		if target, err = m.repo.Upstream(m.c.Context(), from); err != nil {
			return err
		}
	}
	if target == "" {
		return nil
	}
	tip, err := m.repo.Resolve(m.c.Context(), target)
	if err != nil || tip == "" {
		return err
	}
	_, behind, err := m.repo.Count(m.c.Context(), m.making.Start, tip)
	if err == nil && behind > 0 {
		m.c.Warn(warnings.BaseBehind.New(fact.Of("branch", app.BranchOf(from)), fact.Of("target", app.BranchOf(target)), fact.Of("count", behind)))
	}
	return err
}

// take lets the branch start with the uncommitted work of a worktree.
func (m *codeSpawn) take(dir, admin string, parent thread.Thread) error {
	var landings []thread.Merge
	if _, err := m.c.View(func(s *thread.State) error { landings = s.Landings(); return nil }); err != nil {
		return err
	}
	if err := merging.CheckLandings(m.c.Context(), m.repo, landings, app.BranchOf(m.code.Target), dir); err != nil {
		return err
	}
	from := cmp.Or(app.BranchOf(m.code.Target), "HEAD")
	taken, err := m.repo.Worktree(dir, admin).CommitUncommitted(m.c.Context(), "Uncommitted work of "+cmp.Or(string(parent.ID), from)+"\n\nleslie took it into "+string(m.id)+".", m.c.Caller().Actor)
	switch {
	case err != nil || taken.Commit == "":
		return err
	case taken.Head != m.making.Start || taken.Branch != app.BranchOf(m.code.Target):
		return app.FaultsError([]app.Fault{{Field: "Uncommitted", Value: takeUncommitted, Problem: "needs " + from + " in " + dir + ", which has something else checked out"}})
	}
	m.code.Base = &thread.CodeBase{MergeBase: string(taken.Head), Commit: string(taken.Commit), Target: m.code.Target, Inherited: true}
	m.making.Start = taken.Commit
	return nil
}

// lookAt refuses a commit that has a store of its own in the project's place, which the
// worktree would have, too, and warns of submodules, which stay empty.
func (m *codeSpawn) lookAt(start git.Commit) error {
	below, err := filepath.Rel(m.repo.Top, m.c.Project().Root())
	if err != nil {
		return codes.Internal.Wrap(err)
	}
	const modules = ".gitmodules"
	paths := append([]string{modules}, code.StorePaths(below)...)
	found, err := m.repo.Tracked(m.c.Context(), start, paths...)
	if err != nil {
		return err
	}
	for _, path := range found {
		if path != modules {
			return code.NoRepo("git tracks " + path + ", so the worktree would have a store of its own").
				WithHint("Let git forget it and commit that: git rm -r --cached " + store.Dir)
		}
		m.c.Warn(warnings.Submodules.New(fact.Of("path", m.making.Dir)))
	}
	return nil
}
