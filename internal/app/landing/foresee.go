package landing

import (
	"slices"
	"strings"

	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merging"
	"leslie/thread"
)

// This file says, in a dry run, what a landing meets and what goes with it.

// foresee says what has to happen before a landing, and what becomes of the thread, its worktree and
// its branch. Errors: those of reading.
func foresee(c *app.Call, at landsAt, in Request, item *Item) error {
	conf, err := c.Settings()
	if err != nil {
		return err
	}
	open := 0
	if _, err := c.View(func(s *thread.State) error {
		item.Waits = nil
		wait := func(err error) {
			if err != nil {
				what, _, _ := strings.Cut(err.Error(), ". ")
				item.Waits = append(item.Waits, what)
			}
		}
		wait(s.Reviewed([]thread.ThreadID{at.thread.ID}, func(c thread.Comment) bool { return strings.HasPrefix(c.Path, thread.CodePrefix) }))
		wait(c.RespectClaim(s, string(at.thread.ID), c.Stamp()))
		if in.Unread != merging.LeaveUnread {
			wait(s.HaveRead([]thread.ThreadID{at.thread.ID}))
		}
		if !c.ByPerson() && at.owner == "" {
			_, err := s.Can(string(at.thread.ID), thread.Land, conf.Policy, c.Now())
			wait(err)
		}
		open = len(s.OpenChildren(at.thread.ID))
		return nil
	}); err != nil {
		return err
	}
	for _, machine := range item.NotHere {
		item.Waits = append(item.Waits, "what "+machine+" has of its commits is not here: leslie code "+
			string(at.thread.ID)+" says what brings it")
	}
	if item.Merge.Reused > 0 {
		item.Waits = append(item.Waits, "the decisions of the landing that was undone are shown once more; the same line again lands with them")
	}
	if in.Keep || open > 0 && !at.thread.Status.Terminated() {
		return nil
	}
	item.Completed = !at.thread.Status.Terminated()
	switch owned := at.thread.OwnedCode(); {
	case owned.State == thread.CodeElsewhere:
		item.Kept = code.StaysElsewhere(owned)
		return nil
	case owned.State != thread.CodeReady || !owned.Made.Worktree:
		return nil
	}
	found, err := code.CheckRemovable(c, at.thread)
	switch {
	case err != nil:
		item.Kept = err.Error()
	case found.Changed+found.Untracked > 0 && in.Uncommitted != merging.TakeUncommitted:
		item.Kept = "it has work that is not committed"
	default:
		item.Removed, item.Lost = &RemovedCode{Worktree: code.WorktreeDir(c, at.thread)}, found.Dropped
		if at.thread.OwnedCode().Made.Branch {
			item.Removed.Branch = at.thread.Branch
		}
	}
	return nil
}

// meet says which of several landings on one branch would meet what lands before them. Errors: those of
// code.Pairs.
func (d *Result) meet(c *app.Call, ids []string) error {
	pairs, err := code.Pairs(c, code.ListRequest{Threads: ids})
	if err != nil {
		return err
	}
	for i, later := range d.Items {
		for _, earlier := range d.Items[:i] {
			at := slices.IndexFunc(pairs.Items.Items, func(p code.Pair) bool {
				return slices.Contains(p.Threads[:], later.ThreadID) && slices.Contains(p.Threads[:], earlier.ThreadID)
			})
			if at >= 0 && earlier.Branch == later.Branch {
				later.Waits = append(later.Waits, "it conflicts with "+string(earlier.ThreadID)+", which lands before it, in "+app.Joined(pairs.Items.Items[at].Paths))
			}
		}
	}
	return nil
}
