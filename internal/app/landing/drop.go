package landing

import (
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merges"
	"leslie/internal/app/runs"
	"leslie/internal/app/threads"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/thread"
)

// DropRequest throws threads away.
type DropRequest struct {
	Threads []string
	Yes     bool // do it; otherwise the answer says what would go
}

// Faults returns what is wrong with the request.
func (in DropRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Ids("Threads", in.Threads...)
	if len(in.Threads) == 0 {
		k.Add("Threads", "", "is missing")
	}
	return k.Faults
}

// DropResult says what went, or would go.
type DropResult struct {
	Dropped bool           `json:"dropped"`
	Items   []*DroppedItem `json:"items"`
	app.Change
}

// DroppedItem is a thread that is thrown away.
type DroppedItem struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Title    string          `json:"title"`
	Status   thread.Status   `json:"status"` // before
	// Running: an agent runs on it, and is stopped.
	Running  bool    `json:"running,omitempty"`
	Branch   *string `json:"branch"`   // of its code, null for none
	Worktree *string `json:"worktree"` // that leslie made, and removes
	// Changes is how much of its code would be lost elsewhere; nil if git cannot say it.
	Changes *app.CodeAmount `json:"changes,omitempty"`
	// Merge is its landing that waits, which is given up; "" for none.
	Merge thread.MergeID `json:"merge,omitempty"`
	// Dependents are the threads that go on and depend on it: they begin without its work.
	Dependents []thread.ThreadID `json:"dependents,omitempty"`
	// Lost has the ignored files and folders of the worktree that are too large to be kept.
	Lost []string `json:"lost,omitempty"`
	// Ref keeps the commits of the branch and what was not committed.
	Ref string `json:"ref,omitempty"`
	// Kept says why its worktree or branch stays.
	Kept string `json:"kept,omitempty"`
	// Back has the lines that bring it back, in their order.
	Back []string `json:"back,omitempty"`
}

// Drop throws threads away: it stops the run of each, cancels it, removes its worktree and the
// branch that leslie made, and archives it, unless they are on another machine. A ref keeps what is
// on no other branch. Repeated, it finishes what a killed call has begun. Errors: T101, T105, T402
// for an agent that neither spawned nor holds a thread; T903 for a thread with others below it that
// go on and are not dropped; those of stopping a run, of code.Remove and of a write: then what the answer names is
// gone.
func Drop(c *app.Call, in DropRequest) (*DropResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	d := &DropResult{Items: []*DroppedItem{}}
	c.EnableCache()
	if !in.Yes {
		c.ReadOnly()
	}
	all, err := dropped(c, in)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		item := &DroppedItem{ThreadID: t.ID, Title: t.Title, Status: t.Status, Running: t.LastRun().Going()}
		if owned := t.OwnedCode(); owned != nil {
			item.Branch = app.OrNull(t.Branch)
			if owned.Made.Worktree && owned.State != thread.CodeRemoved {
				item.Worktree = app.OrNull(code.WorktreeDir(c, t))
			}
			item.Changes = code.AmountOf(c, t.ID)
		}
		d.Items = append(d.Items, item)
	}
	if err := d.addConcerned(c, all); err != nil {
		return nil, err
	}
	for i, t := range all { // before the first one is cancelled
		if t.LastRun().Going() { // which is stopped first
			continue
		}
		found, err := code.CheckRemovable(c, t)
		if err != nil {
			return nil, err
		}
		d.Items[i].Lost = found.Dropped
	}
	if !in.Yes {
		return d, nil
	}
	for i, t := range all {
		err := drop(c, t, d.Items[i])
		d.Changed = d.Changed || c.Changed()
		if err != nil {
			return nil, err
		}
	}
	d.Dropped = true
	return d, nil
}

// addConcerned adds the landings that wait, and the threads that depend on what is dropped. Errors: those of a view.
func (d *DropResult) addConcerned(c *app.Call, all []thread.Thread) error {
	_, err := c.View(func(s *thread.State) error {
		for i, t := range all {
			item := d.Items[i]
			pending, _ := s.PendingLanding(t.ID)
			item.Merge, item.Dependents = pending.ID, slices.DeleteFunc(s.RelationsOf(t).DependedOnBy, func(id thread.ThreadID) bool {
				return s.StatusOf(id).Terminated() || isAmong(all, id)
			})
		}
		return nil
	})
	return err
}

func isAmong(all []thread.Thread, id thread.ThreadID) bool {
	return slices.ContainsFunc(all, func(t thread.Thread) bool { return t.ID == id })
}

// dropped finds the threads, those below others first. Errors: see Drop.
func dropped(c *app.Call, in DropRequest) (all []thread.Thread, err error) {
	_, err = c.View(func(s *thread.State) error {
		all = nil
		for _, id := range in.Threads {
			t, err := s.Thread(id)
			if err == nil {
				err = s.MayDrop(t, c.Speaking(s, c.Stamp()))
			}
			if err != nil {
				return err
			}
			if !isAmong(all, t.ID) {
				all = append(all, t)
			}
		}
		for _, t := range all {
			open := slices.DeleteFunc(s.OpenChildren(t.ID), func(id thread.ThreadID) bool { return isAmong(all, id) })
			if len(open) > 0 {
				return codes.InvalidArgument.New(fact.Of("reason", "threads below '"+string(t.ID)+"' go on: "+app.Joined(open)), fact.Of("threadId", t.ID), fact.Of("children", open)).
					WithHint("Drop them too, by naming them first").WithNext("leslie list --tree")
			}
		}
		slices.SortStableFunc(all, func(a, b thread.Thread) int { return depth(s, b) - depth(s, a) })
		return nil
	})
	return all, err
}

// depth is how many threads are above a thread.
func depth(s *thread.State, t thread.Thread) (n int) {
	for t.ParentID != "" {
		n++
		t, _ = s.Threads.Peek(string(t.ParentID))
	}
	return n
}

// drop throws one thread away, each step in an operation of its own, which leslie undo takes back
// together.
func drop(c *app.Call, t thread.Thread, item *DroppedItem) error {
	id := string(t.ID)
	if item.Running {
		call := c.ForCommand("run stop")
		_, err := runs.Stop(call, runs.StopRequest{Thread: id, Now: true})
		c.Include(call)
		if err != nil {
			return err
		}
	}
	lifecycle := func(action thread.Action) func(*app.Call) error {
		return func(call *app.Call) error {
			_, err := threads.Lifecycle(call, threads.LifecycleRequest{Thread: id, Action: action, Reason: "dropped"})
			return err
		}
	}
	var steps []func(*app.Call) error
	if item.Merge != "" {
		steps = append(steps, func(call *app.Call) error {
			_, err := merges.Abort(call, merges.AbortRequest{Merge: string(item.Merge)})
			return err
		})
	}
	if !t.Status.Terminated() {
		steps = append(steps, lifecycle(thread.Cancel))
	}
	if t.OwnedCode() != nil && t.Status != thread.Archived {
		steps = append(steps, func(call *app.Call) error { return item.removeCode(call, t) })
	}
	elsewhere := t.OwnedCode() != nil && t.OwnedCode().State == thread.CodeElsewhere // archived once that is gone
	if t.Status != thread.Archived && !elsewhere {
		steps = append(steps, lifecycle(thread.Archive))
	}
	last := thread.OperationID("")
	for _, do := range steps {
		call := c.ForCommand(app.DropCommand)
		call.SetContinues(last)
		err := do(call)
		c.Include(call)
		if err != nil {
			return err
		}
		if call.Changed() {
			last = call.Stamp().Operation
		}
	}
	if last != "" {
		item.Back = []string{"leslie undo " + string(last)}
		if dir := code.WorktreeDir(c, t); dir != "" && code.CallerIsIn(c, dir) { // the shell's folder is gone
			item.Back = append([]string{"cd " + external.Word(c.Project().Root())}, item.Back...)
		}
		if item.Running {
			item.Back = append(item.Back, "leslie run "+id)
		}
	}
	return nil
}

// removeCode removes the worktree and the branch that leslie made, or what is left of them.
func (item *DroppedItem) removeCode(c *app.Call, t thread.Thread) (err error) {
	switch owned := t.OwnedCode(); owned.State {
	case thread.CodeRemoved:
		item.Ref, err = code.DropBranch(c, t.ID)
		return err
	case thread.CodeElsewhere:
		item.Kept = "its worktree and branch on " + owned.Machine + ", until leslie drop there throws them away"
		return nil
	}
	removed, err := code.Remove(c, code.RemoveRequest{Thread: string(t.ID), DropBranch: true})
	switch {
	case err != nil:
		return err
	case removed.State == nil:
		item.Kept = "leslie did not make its worktree and its branch"
		return nil
	case !removed.BranchKept:
	case !t.OwnedCode().Made.Branch:
		item.Kept = "the branch " + removed.Branch + ", which leslie did not make"
	default: // its worktree had something else checked out
		call := c.ForCommand(app.DropCommand)
		call.SetContinues(c.Stamp().Operation)
		ref, err := code.DropBranch(call, t.ID)
		c.Include(call)
		if err != nil {
			return err
		}
		if item.Ref = ref; ref == "" {
			item.Kept = "the branch " + removed.Branch + ", which somebody else has checked out"
		}
		return nil
	}
	item.Ref = removed.Ref
	return nil
}
