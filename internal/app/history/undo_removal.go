package history

import (
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/thread"
)

// This file undoes removals of worktrees, by bringing them back, and drops, which are several
// operations.

// undoOf undoes one operation, or of a drop all that are in effect.
func undoOf(c *app.Call, op thread.Operation, newer *NewerOperation, dryRun bool) (*UndoResult, error) {
	if op.Command != app.DropCommand {
		u := NewUndoing(c, op, dryRun)
		u.result.Newer = newer
		return u.Run()
	}
	ops, err := dropWith(c, op)
	if err != nil {
		return nil, err
	}
	d, err := undoDrop(c, op, ops, dryRun)
	if err == nil {
		d.Newer = newer
	}
	return d, err
}

// dropWith returns the operations of a drop that are not undone, the newest first: those on its
// thread that stand together. Errors: those of reading.
func dropWith(c *app.Call, op thread.Operation) (ops []thread.Operation, err error) {
	known := undone{}
	_, _, err = c.Store().FindOperation(c.Context(), func(o thread.Operation) bool {
		back := known.has(o)
		switch {
		case o.Seq > op.Seq || !o.Concerns(op.ThreadID) || o.Steps():
			return false
		case o.Command != app.DropCommand:
			return true
		}
		if _, began := thread.RemovedIn(o); !began && !back && !thread.OnlyLost(o) && !ofMerge(o) { // a merge that was given up stays so
			ops = append(ops, o)
		}
		return false
	}, string(op.ThreadID))
	return ops, err
}

// undoDrop undoes the operations of a drop, each in an operation of its own; the last one is the
// call's.
func undoDrop(c *app.Call, drop thread.Operation, ops []thread.Operation, dryRun bool) (_ *UndoResult, err error) {
	for _, op := range ops { // before the first one is undone
		if id, _ := thread.RemovedIn(op); id != "" {
			if err := code.CheckRestorable(c, id); err != nil {
				return nil, err
			}
		}
	}
	all := NewUndoing(c, drop, dryRun).result
	for i, op := range ops {
		call := c
		if i < len(ops)-1 {
			call = c.ForCommand("undo")
		}
		d := &UndoResult{}
		if id, _ := thread.RemovedIn(op); dryRun && i > 0 && id == "" { // it fits only what those before it leave
			for _, change := range op.Changes {
				d.Records = append(d.Records, UndoneRecord{change.Record, "changed"})
			}
		} else if d, err = NewUndoing(call, op, dryRun).Run(); err != nil {
			return nil, err
		}
		if call != c {
			c.Include(call)
		}
		all.ThreadID, all.DryRun, all.Changed = app.OrNull(drop.ThreadID), dryRun, all.Changed || d.Changed
		for _, r := range d.Records {
			if !slices.ContainsFunc(all.Records, func(has UndoneRecord) bool { return has.Record == r.Record }) {
				all.Records = append(all.Records, r)
			}
		}
		if d.Code != nil {
			all.Code = d.Code
		}
	}
	return &all, nil
}

// bringBack undoes a removal: see code.Restore.
func (u *Undoing) bringBack(id thread.ThreadID) (*UndoResult, error) {
	d := u.result
	d.ThreadID, d.DryRun, d.Records = &id, u.dryRun, []UndoneRecord{{thread.TableThreads + "/" + string(id), "changed"}}
	t, err := code.Owner(u.c, string(id))
	if err != nil {
		return nil, err
	}
	d.Code = &UndoneCode{Branch: t.Branch, How: Restored}
	if how := t.OwnedCode().Removed; how != nil {
		d.Code.Commit, d.Code.Uncommitted = how.Tip, how.Rescue != ""
	}
	if u.dryRun {
		return &d, nil
	}
	restored, err := code.Restore(u.c, code.RestoreRequest{Thread: string(id), Undoes: &u.op})
	if err != nil {
		return nil, err
	}
	d.Changed = restored.Changed
	return &d, nil
}

// notAgain refuses to remove a worktree again by undoing what brought it back.
func (u *Undoing) notAgain() error {
	id, _ := thread.RemovedIn(u.first)
	if id == "" && u.first.Command != app.DropCommand {
		return nil
	}
	if u.first.Command == app.DropCommand {
		return u.conflict("it brought back a thread that was dropped").WithHint("Drop it again with leslie drop " + string(u.first.ThreadID))
	}
	return u.conflict("it brought a worktree back").WithHint("Remove it again with leslie code remove " + string(id))
}

// isBack reports whether a removal has no effect any more, because the worktree is back.
func (w *walk) isBack(op thread.Operation) bool {
	id, began := thread.RemovedIn(op)
	if id == "" || began {
		return id != ""
	}
	t, err := code.Owner(w.c, string(id))
	return codes.Has(err, codes.ThreadNotFound) || err == nil && t.OwnedCode().Removed == nil
}
