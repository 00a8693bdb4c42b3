package app

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"leslie/codes"
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
// Meanwhile a stage of the store says whether the maker is alive (holdCode).

// SpawnedCode is the code of a new thread.
type SpawnedCode struct {
	Branch   string `json:"branch"`
	Worktree string `json:"worktree"` // absolute
	// Folder is the project's folder in the worktree, "" if that is the worktree.
	Folder string  `json:"folder,omitempty"`
	Head   string  `json:"head"`
	Target *string `json:"target"` // the branch from which it started, null for a commit
	// Base is the target's commit then, if Head has its uncommitted work on top of that.
	Base *string `json:"base,omitempty"`
}

// codeSpawn is the code of one spawn.
type codeSpawn struct {
	c      *Call
	repo   *git.Repo
	id     thread.ThreadID
	making git.Making
	code   thread.Code
	parent string // the folder of worktrees, if this call made it

	resumed bool       // another process began it
	request store.Call // as the caller made it
	release func()
}

// spawnCode spawns a thread that owns code.
func spawnCode(c *Call, in SpawnRequest, begin func(SpawnRequest, *codeSpawn) (*SpawnResult, error)) (*SpawnResult, error) {
	m, began, err := resumeSpawn(c, in)
	if err != nil {
		return nil, err
	}
	if m == nil {
		if m, err = planCode(c, &in); err != nil {
			return nil, err
		}
		defer m.release()
		if began, err = m.begin(in, begin); err != nil {
			m.dropParent()
			if errors.Is(err, errAnswered) {
				first, _, err := answered[SpawnResult](c)
				return first, err
			}
			return nil, err
		}
	} else {
		defer m.release()
	}
	return m.finish(began, in.NoSetup)
}

// errAnswered says that the same request has got its answer meanwhile.
var errAnswered = errors.New("the request is answered")

// begin records the thread: operation 1. It is not the answer of a request.
func (m *codeSpawn) begin(in SpawnRequest, begin func(SpawnRequest, *codeSpawn) (*SpawnResult, error)) (*SpawnResult, error) {
	request := m.c.request.ID
	m.request, m.c.request.ID = m.c.storeCall(), ""
	defer func() { m.c.request.ID = request }()
	return begin(in, m)
}

// notAnswered checks, inside the rule of operation 1, that no other process has answered
// or begun the same request.
func (m *codeSpawn) notAnswered(s *thread.State) error {
	if m.request.Request == "" {
		return nil
	}
	done, err := m.c.store.Answered(m.c.ctx, m.request)
	switch {
	case err != nil:
		return err
	case done != nil:
		return errAnswered
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
	w, err := makeCode(c, m.repo, m.id, m.code, m.making)
	if err != nil {
		return nil, m.takeBack(err, false)
	}
	if err := copyIncluded(c, m.repo, m.making.Dir); err != nil {
		return nil, m.takeBack(err, !m.resumed)
	}
	c.stamp = nil // another operation
	c.request.Expect = nil
	d, err = write(c, func(s *thread.State, stamp thread.Stamp) (*SpawnResult, thread.ThreadID, error) {
		t, err := s.ChangeCode(string(m.id), []thread.CodeState{thread.CodeMaking}, stamp, func(_ *thread.Thread, code *thread.Code) {
			code.State, code.Admin, code.Call = thread.CodeReady, w.Admin, ""
		})
		if err != nil {
			return nil, "", err
		}
		d.Revision = t.Revision
		d.Code = &SpawnedCode{Branch: t.Branch, Worktree: m.making.Dir, Head: m.code.Start, Target: orNull(branchOf(m.code.Target))}
		if base := m.code.Base; base != nil {
			d.Code.Base = &base.MergeBase
		}
		if folder := workFolder(c, m.repo.Top, m.making.Dir); folder != m.making.Dir {
			d.Code.Folder = folder
		}
		m.code.Slot = t.OwnedCode().Slot
		return d, t.ID, nil
	})
	if err != nil || noSetup || c.replayed {
		return d, err
	}
	up := setUp{c: c, id: m.id, dir: m.making.Dir, folder: cmp.Or(d.Code.Folder, m.making.Dir), slot: m.code.Slot}
	_, at, err := up.run()
	if err != nil {
		return nil, err
	}
	d.Revision = max(d.Revision, at)
	return d, nil
}

// makeCode makes the worktree of a thread, and the ref that keeps what its branch begins
// with. Errors: those of git.Repo.Make.
func makeCode(c *Call, repo *git.Repo, id thread.ThreadID, code thread.Code, making git.Making) (git.Worktree, error) {
	if base := code.Base; base != nil {
		if err := repo.UpdateRef(c.ctx, thread.BaseRef(id, 0), git.Commit(base.Commit), git.Any, "leslie: spawn"); err != nil {
			return git.Worktree{}, err
		}
	}
	return repo.Make(c.ctx, making)
}

// takeBack takes back what was made and the thread, and returns why; finished says that
// this call has finished the worktree. If that fails, too, the thread stays as it is, for
// the next call to go on with.
func (m *codeSpawn) takeBack(why error, finished bool) error {
	c := m.c
	ctx, cancel := cleaning(c)
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
		_ = m.repo.UpdateRef(ctx, thread.BaseRef(m.id, 0), "", git.Any, "leslie: take back") // one that stays only keeps a commit
	}
	m.dropParent()
	back := c.project.Call(ctx, c.caller, Request{Command: "undo", LockTimeout: c.request.LockTimeout})
	op, ok, err := back.store.FindOperation(ctx, func(op thread.Operation) bool { return spawned(op, m.id) }, string(m.id))
	if err != nil || !ok {
		return stays(err)
	}
	back.request.Params = func() json.RawMessage { raw, _ := fact.JSON(map[string]any{"operation": op.ID}); return raw }
	u := newUndoing(back, op, false)
	u.invert = (*thread.State).TakeBackCode
	if _, err := u.run(); err != nil {
		return stays(err)
	}
	c.changed = false
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
func callDigest(c *Call) string {
	h := sha256.New()
	_, _ = io.WriteString(h, c.request.Command+"\x00"+c.request.ID+"\x00")
	_, _ = h.Write(c.params())
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// resumeSpawn finds the thread that the same call began before its process was killed, by
// its request id or by the id of its thread; nil if there is none.
func resumeSpawn(c *Call, in SpawnRequest) (*codeSpawn, *SpawnResult, error) {
	if c.request.ID == "" && in.ID == "" {
		return nil, nil, nil
	}
	t, ok, err := begun(c)
	if err != nil || !ok {
		return nil, nil, err
	}
	m := &codeSpawn{c: c, id: t.ID, resumed: true}
	if m.release, err = holdCode(c, t.ID); err != nil {
		return nil, nil, err
	}
	var d *SpawnResult
	if t, ok, err = begun(c); err == nil && ok { // nobody else has finished it by now
		m.code, m.making = *t.OwnedCode(), makingOf(c, t)
		if m.repo, err = repoOf(c, t); err == nil {
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
func begun(c *Call) (found thread.Thread, ok bool, err error) {
	call := callDigest(c)
	_, err = c.view(func(s *thread.State) error {
		for _, t := range s.ThreadsWithCode() {
			if code := t.OwnedCode(); code.State == thread.CodeMaking && code.Call == call {
				found, ok = t, true
			}
		}
		return nil
	})
	return found, ok, err
}

// makingOf is what git makes for a thread.
func makingOf(c *Call, t thread.Thread) git.Making {
	return git.Making{Dir: worktreeDir(c, t), Branch: t.Branch, Start: git.Commit(t.OwnedCode().Start)}
}

// spawnResultOf is the result of a spawn whose thread was recorded before.
func spawnResultOf(c *Call, t thread.Thread) (d *SpawnResult, err error) {
	_, err = c.view(func(s *thread.State) error {
		d = newSpawnResult(c, t)
		for _, ref := range s.ReferencesFrom(t.ID) {
			d.References = append(d.References, referenceOf(c, ref))
		}
		d.Claim = currentClaim(t, c.now())
		return nil
	})
	if err == nil && len(t.Shared) > 0 {
		m, err := c.store.Manifest(t.Shared[0].Manifest)
		if err != nil {
			return nil, err
		}
		d.Inherited.Scope, d.Inherited.Files = t.Shared[0].Scope, len(m)
	}
	return d, err
}

// planCode checks everything that can be checked, and chooses the new thread's id.
func planCode(c *Call, in *SpawnRequest) (m *codeSpawn, err error) {
	m = &codeSpawn{c: c}
	var parent thread.Thread
	_, err = c.view(func(s *thread.State) error {
		n := in.newThread()
		n.ID = thread.ThreadID(c.newID(in.ID, thread.PrefixThread, func(id string) bool { return s.Exists(thread.ThreadID(id)) }))
		t, err := s.Spawn(n, c.operation()) // on what was read: whatever it refuses is refused before git is asked
		m.id, parent.ID = t.ID, t.ParentID
		if t.ParentID != "" {
			parent, _ = s.Threads.Get(string(t.ParentID))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := checkAccept(c, in.Accept); err != nil {
		return nil, err
	}
	m.code.Accept = in.Accept
	if m.repo, err = openRepo(c); err != nil {
		return nil, err
	}
	if err := m.start(in, parent); err != nil {
		return nil, err
	}
	if err := m.uncommitted(in, parent); err != nil {
		return nil, err
	}
	names, err := namesOfCode(c, m.repo)
	if err != nil {
		return nil, err
	}
	m.making.Branch = cmp.Or(in.Branch, strings.ReplaceAll(names.branch, idInBranch, string(m.id)))
	if m.making.Dir = in.Worktree; in.Worktree == "" {
		dir, made, err := names.makeWorktrees(c)
		if err != nil {
			return nil, err
		}
		if made {
			m.parent = dir
		}
		m.making.Dir = filepath.Join(dir, string(m.id))
	}
	if err = m.repo.Check(c.ctx, m.making); err == nil {
		err = m.lookAt(m.making.Start)
	}
	if err == nil {
		err = m.warnBehind(parent)
	}
	if err == nil {
		m.release, err = holdCode(c, m.id)
	}
	if err != nil {
		m.dropParent()
		return nil, err
	}
	m.code.State, m.code.Repo, m.code.Start = thread.CodeMaking, m.repo.Admin, string(m.making.Start)
	m.code.Made, m.code.Call = thread.CodeMade{Branch: true, Worktree: true}, callDigest(c)
	in.ID, in.Branch, in.Worktree = string(m.id), m.making.Branch, c.project.worktree(m.making.Dir)
	return m, nil
}

// start finds where the branch starts: at the base, else at the tip of the parent's
// branch, else at what the main worktree has checked out. Errors: T903 for the base, T802
// for the parent, T801 without a commit.
func (m *codeSpawn) start(in *SpawnRequest, parent thread.Thread) error {
	revision := "HEAD"
	owner := parent.OwnedCode()
	switch {
	case in.Base != "":
		revision = in.Base
	case owner != nil:
		revision = "refs/heads/" + parent.Branch
	}
	ctx := m.c.ctx
	commit, err := m.repo.Resolve(ctx, revision)
	if err != nil {
		return err
	}
	switch {
	case commit != "":
	case in.Base != "":
		return refused([]Fault{{Field: "Base", Value: in.Base, Problem: "the repository has no commit " + quoted(in.Base)}})
	case owner != nil:
		return thread.NoCode(parent.ID, "its branch '"+parent.Branch+"' is gone").
			WithHint("Name the branch with leslie update --branch, or where to start with --base").WithNext("leslie code " + string(parent.ID))
	default:
		return noRepo("the repository has no commit to start from")
	}
	m.making.Start = commit
	m.code.Target, err = m.repo.Ref(ctx, revision)
	return err
}

// uncommitted takes the work that is not committed where the branch starts, in the
// parent's worktree, else in the main one, or warns of it. A worktree that is not there has
// none. Errors of taking it: T805, T808; T903 if the worktree is not on the parent's branch.
func (m *codeSpawn) uncommitted(in *SpawnRequest, parent thread.Thread) error {
	if in.Base != "" {
		return nil
	}
	dir, admin := m.repo.Top, m.repo.Admin
	if owner := parent.OwnedCode(); owner != nil {
		dir, admin = worktreeDir(m.c, parent), owner.Admin
	}
	if missing(dir) || missing(admin) {
		return nil
	}
	if in.Uncommitted == takeUncommitted {
		return m.take(dir, admin, parent)
	}
	status, err := m.repo.Worktree(dir, admin).Status(m.c.ctx)
	if n := len(status.Dirty) + len(status.Untracked); err == nil && n > 0 {
		m.c.warn(warnings.UncommittedLeft.New(fact.Of("path", dir), fact.Of("count", n)))
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
	case from == "":
		return nil
	case owner != nil && from == "refs/heads/"+parent.Branch:
		target = owner.Target
	default:
		if target, err = m.repo.Upstream(m.c.ctx, from); err != nil {
			return err
		}
	}
	if target == "" {
		return nil
	}
	tip, err := m.repo.Resolve(m.c.ctx, target)
	if err != nil || tip == "" {
		return err
	}
	_, behind, err := m.repo.Count(m.c.ctx, m.making.Start, tip)
	if err == nil && behind > 0 {
		m.c.warn(warnings.BaseBehind.New(fact.Of("branch", branchOf(from)), fact.Of("target", branchOf(target)), fact.Of("count", behind)))
	}
	return err
}

// take lets the branch start with the uncommitted work of a worktree.
func (m *codeSpawn) take(dir, admin string, parent thread.Thread) error {
	var landings []thread.Merge
	if _, err := m.c.view(func(s *thread.State) error { landings = s.Landings(); return nil }); err != nil {
		return err
	}
	if err := merging.CheckLandings(m.c.ctx, m.repo, landings, branchOf(m.code.Target), dir); err != nil {
		return err
	}
	from := cmp.Or(branchOf(m.code.Target), "HEAD")
	taken, err := m.repo.Worktree(dir, admin).Take(m.c.ctx, "Uncommitted work of "+cmp.Or(string(parent.ID), from)+"\n\nleslie took it into "+string(m.id)+".", m.c.caller.Actor)
	switch {
	case err != nil || taken.Commit == "":
		return err
	case taken.Head != m.making.Start || taken.Branch != branchOf(m.code.Target):
		return refused([]Fault{{Field: "Uncommitted", Value: takeUncommitted, Problem: "needs " + from + " in " + dir + ", which has something else checked out"}})
	}
	m.code.Base = &thread.CodeBase{MergeBase: string(taken.Head), Commit: string(taken.Commit), Target: m.code.Target, Inherited: true}
	m.making.Start = taken.Commit
	return nil
}

// lookAt refuses a commit that has a store of its own in the project's place, which the
// worktree would have, too, and warns of submodules, which stay empty.
func (m *codeSpawn) lookAt(start git.Commit) error {
	below, err := filepath.Rel(m.repo.Top, m.c.project.root)
	if err != nil {
		return codes.Internal.Wrap(err)
	}
	const modules = ".gitmodules"
	paths := []string{modules}
	for _, name := range []string{store.StateFile, store.BackupFile, store.LockFile} {
		paths = append(paths, filepath.ToSlash(filepath.Join(below, store.Dir, name)))
	}
	found, err := m.repo.Tracked(m.c.ctx, start, paths...)
	if err != nil {
		return err
	}
	for _, path := range found {
		if path != modules {
			return noRepo("git tracks " + path + ", so the worktree would have a store of its own").
				WithHint("Let git forget it and commit that: git rm -r --cached " + store.Dir)
		}
		m.c.warn(warnings.Submodules.New(fact.Of("path", m.making.Dir)))
	}
	return nil
}
