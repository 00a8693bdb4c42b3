package app

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"leslie/codes"
	"leslie/internal/git"
	"leslie/thread"
)

// This file looks at the code of threads. It is the only command that asks git how a
// worktree stands: the others show what is recorded.

// CodeRequest names threads that own code; none means all.
type CodeRequest struct {
	Threads []string
}

// CodeResult has the code of threads, ordered as in a list.
type CodeResult struct{ Items[CodeItem] }

// CodeItem is a thread's code as git sees it. A member that is nil is not known: the time
// was up, or the folder cannot be read.
type CodeItem struct {
	ThreadID thread.ThreadID  `json:"threadId"`
	State    thread.CodeState `json:"state"` // lost: its worktree is not there
	Branch   string           `json:"branch"`
	Worktree string           `json:"worktree"` // absolute
	// CheckedOut is what the worktree has checked out if it is not the thread's branch, ""
	// for a detached head.
	CheckedOut *string `json:"checkedOut,omitempty"`
	Head       *string `json:"head,omitempty"`
	Target     *string `json:"target"` // the branch from which it started, null for a commit
	// Ahead and Behind are how many commits it has that the target has not, and the other
	// way round.
	Ahead  *int `json:"ahead,omitempty"`
	Behind *int `json:"behind,omitempty"`
	// Dirty and Untracked are numbers of paths that are not committed.
	Dirty     *int    `json:"dirty,omitempty"`
	Untracked *int    `json:"untracked,omitempty"`
	Busy      *string `json:"busy,omitempty"` // what is in progress, "" for nothing
	// Conflicts has the paths in which a merge into the target would conflict now.
	Conflicts *[]string `json:"conflicts,omitempty"`
	// Landed: the target has all that is committed.
	Landed *bool `json:"landed,omitempty"`

	owner thread.Thread
}

const (
	// codeTime is how long Code looks at worktrees at most.
	codeTime = 10 * time.Second
	// codeAtOnce is how many programs of git run at once.
	codeAtOnce = 4
)

// Code looks at the code of threads. Errors: T101, T105, T802 for a thread without code,
// T801, those of reading.
func Code(c *Call, in CodeRequest) (*CodeResult, error) {
	c.readOnly()
	var owners []thread.Thread
	_, err := c.view(func(s *thread.State) error {
		if owners = nil; len(in.Threads) == 0 {
			owners = s.ThreadsWithCode()
			return nil
		}
		for _, id := range in.Threads {
			t, err := s.OwnCode(id)
			if err != nil {
				return err
			}
			owners = append(owners, t)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	items := make([]CodeItem, len(owners))
	for i, t := range owners {
		items[i] = itemOf(c, t)
	}
	if len(items) > 0 {
		if err := lookAtCode(c, items); err != nil {
			return nil, err
		}
	}
	return &CodeResult{Items[CodeItem]{Items: items, Total: len(items)}}, nil
}

// itemOf returns what is recorded of a thread's code.
func itemOf(c *Call, t thread.Thread) CodeItem {
	return CodeItem{
		ThreadID: t.ID, State: t.OwnedCode().State, Branch: t.Branch, Worktree: worktreeDir(c, t),
		Target: orNull(branchOf(t.OwnedCode().Target)), owner: t,
	}
}

// lookAtCode asks git about all items. The end of codeTime is no error: what is not
// known then is left out.
func lookAtCode(c *Call, items []CodeItem) error {
	repo, err := openRepo(c)
	if err != nil {
		return err
	}
	ctx, cancel := c.project.env.timeout(c.ctx, codeTime)
	defer cancel()
	var refs []string
	for _, item := range items {
		refs = append(refs, "refs/heads/"+item.Branch)
		if target := item.owner.OwnedCode().Target; target != "" {
			refs = append(refs, target)
		}
	}
	tips, err := repo.Tips(ctx, refs)
	if err == nil {
		err = repo.ReadPrograms(ctx)
	}
	if err != nil {
		return unlessLate(c, err)
	}
	failed := make([]error, len(items))
	severalAtOnce(len(items), func(i int) { failed[i] = items[i].look(ctx, repo, tips) })
	for _, err := range failed {
		if err := unlessLate(c, err); err != nil {
			return err
		}
	}
	return nil
}

// severalAtOnce calls do with each number below n, for codeAtOnce of them at a time.
func severalAtOnce(n int, do func(i int)) {
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
func unlessLate(c *Call, err error) error {
	if c.ctx.Err() != nil || !codes.Has(err, codes.Interrupted) && !codes.Has(err, codes.GitUnavailable) {
		return err
	}
	return nil
}

// look asks git about one worktree.
func (item *CodeItem) look(ctx context.Context, repo *git.Repo, tips map[string]git.Commit) error {
	code := item.owner.OwnedCode()
	if code.Repo != repo.Admin {
		return nil
	}
	head := tips["refs/heads/"+item.Branch]
	if code.State == thread.CodeReady || code.State == thread.CodeLost {
		if missing(item.Worktree) || missing(code.Admin) {
			item.State = thread.CodeLost
		} else {
			w := repo.Worktree(item.Worktree, code.Admin)
			busy := w.Busy()
			item.State, item.Busy = thread.CodeReady, &busy
			status, err := w.Status(ctx)
			if err != nil {
				return err
			}
			head = status.Head
			dirty, untracked := len(status.Dirty), len(status.Untracked)
			item.Dirty, item.Untracked = &dirty, &untracked
			if status.Branch != item.Branch {
				item.CheckedOut = &status.Branch
			}
		}
	}
	if head == "" {
		return nil
	}
	text := string(head)
	item.Head = &text
	return item.compare(ctx, repo, head, tips[code.Target])
}

// compare counts what the code and its target have that the other has not.
func (item *CodeItem) compare(ctx context.Context, repo *git.Repo, head, target git.Commit) error {
	if target == "" {
		return nil
	}
	ahead, behind := 0, 0
	if target != head {
		var err error
		if ahead, behind, err = repo.Count(ctx, head, target); err != nil {
			return err
		}
	}
	code := item.owner.OwnedCode()
	landed := ahead == 0 && string(head) != code.Start && !code.TakenBack(string(head))
	for _, l := range code.Landed { // a squash leaves the commits ahead
		landed = landed || l.Tip == string(head)
	}
	item.Ahead, item.Behind, item.Landed = &ahead, &behind, &landed
	if landed {
		return nil
	}
	return item.predict(ctx, repo, head, target)
}

// missing reports whether a folder is not there, or not a folder.
func missing(dir string) bool {
	info, err := os.Stat(dir)
	return err != nil || !info.IsDir()
}
