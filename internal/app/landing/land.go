package landing

import (
	"cmp"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merges"
	"leslie/internal/app/merging"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/thread"
)

// Request lands the code of threads.
type Request struct {
	Threads []string
	// Ready: in place of Threads, all that are completed, pass their checks and have not
	// landed, in the order with the fewest conflicts.
	Ready bool
	// Onto is the branch; "": that of the parent's code, else the one from which the code
	// began. A branch of a thread gets the artifacts, too.
	Onto string
	// How is what the branch gets: thread.LandedMerge, a merge commit; thread.LandedSquash, one
	// ordinary commit; thread.LandedRebase, the thread's own commits on top. "": what code.land
	// of the configuration says, else a merge commit.
	How     string
	Message string // of the commit; "": title and intent of the thread
	// Keep: the thread stays as it is, with its worktree and its branch.
	Keep   bool
	DryRun bool // show what would happen without changing anything
	// Strategy, Uncommitted and Unread are those of merges.Request.
	Strategy            thread.Strategy
	Uncommitted, Unread string
	merges.Resolvers
}

// Faults returns what is wrong with the request.
func (in Request) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Ids("Threads", in.Threads...)
	switch {
	case len(in.Threads) == 0 && !in.Ready:
		k.Add("Threads", "", "is missing")
	case len(in.Threads) > 0 && in.Ready:
		k.With("Threads", "Ready", "", "goes without %s: it names all that is ready", k.Name("Threads"))
	}
	for i, id := range in.Threads {
		if slices.Contains(in.Threads[:i], id) {
			k.Add("Threads", id, "names %s twice", app.Quoted(id))
		}
	}
	if in.How != "" {
		app.OneOf(k, "How", in.How, thread.LandedMerge, thread.LandedSquash, thread.LandedRebase)
	}
	if in.How == thread.LandedRebase && in.Message != "" {
		k.With("How", "Message", in.Message, "goes without %s: each commit keeps its own", k.Name("How"))
	}
	if in.Message != "" && strings.TrimSpace(in.Message) == "" {
		k.Add("Message", in.Message, "is empty")
	}
	of := merges.Request{Strategy: in.Strategy, Uncommitted: in.Uncommitted, Unread: in.Unread, Resolvers: in.Resolvers}
	of.HowFaults(k)
	return k.Faults
}

// MessageOf returns the message of the commit that lands a thread, as it is without one of the
// caller's. Errors: T101, T105, T802, those of reading.
func MessageOf(c *app.Call, id string) (*string, error) {
	c.ReadOnly()
	t, err := code.Owner(c, id)
	if err != nil {
		return nil, err
	}
	return new(merging.Words(t)), nil
}

// Result has what became of each thread, in the order in which they landed.
type Result struct {
	DryRun bool    `json:"dryRun"`
	Items  []*Item `json:"items"`
	app.Change
}

// Item is the landing of one thread.
type Item struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Branch   string          `json:"branch"` // on which it lands
	// Target is the thread that has the branch, and gets the artifacts; null for none.
	Target *thread.ThreadID `json:"target"`
	Status merging.Status   `json:"status"`
	How    string           `json:"how"`    // merge, squash or rebase
	Commit *string          `json:"commit"` // on the branch, of a rebase the last; null before it has landed
	// Changes is how much the thread changed; nil if git cannot say it.
	Changes *app.CodeAmount `json:"changes,omitempty"`
	// FailedChecks are the checks of the thread that failed when they last ran.
	FailedChecks []string `json:"failedChecks,omitempty"`
	// Completed: the thread is, by this call.
	Completed bool `json:"completed,omitempty"`
	// Removed is what went afterwards; Kept says why something stays.
	Removed *RemovedCode `json:"removed,omitempty"`
	Kept    string       `json:"kept,omitempty"`
	// Waits says, in a dry run, what has to happen before the landing.
	Waits []string `json:"waits,omitempty"`
	// Lost has the ignored files and folders of the worktree that are too large to be kept, in a dry run.
	Lost []string `json:"lost,omitempty"`
	// Undo is the line that takes the landing back, or where only the worktree went, brings that back.
	Undo string `json:"undo,omitempty"`
	// NotHere has the machines of which commits of the thread are not here.
	NotHere []string `json:"notHere,omitempty"`
	// Error says why it has not landed, if several were to.
	Error *merges.LandingFailure `json:"error,omitempty"`
	// Merge is the merge in full.
	Merge *merges.Result `json:"merge,omitempty"`
}

// RemovedCode is what a landing removes.
type RemovedCode struct {
	Worktree string `json:"worktree"`
	Branch   string `json:"branch,omitempty"` // "" if it stays
	// Ref keeps the commits that no branch has, and what was not committed; "" for neither.
	Ref string `json:"ref,omitempty"`
	// Ignored is how many files that git ignores the ref keeps, too.
	Ignored int `json:"ignored,omitempty"`
	// Remotes are those of git that have a branch of its name, as they were fetched or pushed to last.
	Remotes []string `json:"remotes,omitempty"`
}

// Land lands the code of threads, each in operations of its own: where one cannot land, the
// rest goes on. A line that is repeated goes on with the merge that is pending. Errors: T101,
// T105, T107, T802 for a thread whose code has no branch on which it could land, T402 for an
// agent that may not; those of merges.Merge. A result accompanies the error of a merge that is
// pending, and that of the first of several.
func Land(c *app.Call, in Request) (*Result, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if in.DryRun {
		c.ReadOnly()
	}
	conf, err := c.Configured()
	if err == nil && !in.DryRun {
		err = c.MayWrite() // before git makes anything for it
	}
	if err != nil {
		return nil, err
	}
	d := &Result{DryRun: in.DryRun, Items: []*Item{}}
	c.EnableCache()
	ids := in.Threads
	if in.Ready {
		if ids, err = ready(c); err != nil {
			return nil, err
		}
	}
	var all []landsAt
	for _, id := range ids { // before anything lands
		at, err := place(c, id, in.Onto)
		if err == nil {
			at.how = cmp.Or(in.How, at.how, conf.Land, thread.LandedMerge)
			one := in
			one.How = at.how
			err = app.FaultsError(one.Faults(nil)) // of a message, with what is configured
		}
		if err == nil && at.owner != "" && in.Message != "" {
			err = codes.InvalidArgument.New(fact.Of("reason", "'"+string(at.owner)+"' has the branch "+at.branch+", and a merge into a thread has a message of its own"),
				fact.Of("threadId", at.thread.ID)).WithHint("Land it without a message")
		}
		if err != nil {
			return nil, err
		}
		all = append(all, at)
	}
	var first error
	for _, at := range all {
		one := c.Next(requestOf(c, len(ids) == 1))
		at.asked, in.How = in.How, at.how
		item, err := land(one, at, in)
		c.Include(one)
		if len(ids) == 1 {
			if item == nil {
				return nil, err
			}
			d.Items, d.Changed = append(d.Items, item), one.Changed()
			return d, err
		}
		if e := codes.Of(err); e != nil {
			if item == nil {
				item = &Item{ThreadID: at.thread.ID, Branch: at.branch, Target: app.OrNull(at.owner), Status: merging.Pending}
			}
			item.Error = &merges.LandingFailure{Code: e.Code(), Message: e.Error(), Next: append([]string{}, e.Next()...)}
			first = cmp.Or(first, err)
		}
		d.Items, d.Changed = append(d.Items, item), d.Changed || one.Changed()
		if codes.Has(err, codes.Interrupted) {
			break
		}
	}
	if in.DryRun && len(ids) > 1 && first == nil {
		first = d.meet(c, ids)
	}
	return d, first
}

// requestOf is the request of a call that lands one thread. Only that of a line with one thread
// has the line's request id: its answer is the line's.
func requestOf(c *app.Call, sole bool) app.Request {
	r := *c.Request()
	if !sole {
		r.ID, r.Expect = "", nil
	}
	return r
}

// land lands one thread.
func land(c *app.Call, at landsAt, in Request) (*Item, error) {
	code.WarnOfLandingsElsewhere(c, at.branch)
	if err := code.CheckStillLanded(c, at.thread, at.branch); err != nil {
		return nil, err
	}
	item := &Item{ThreadID: at.thread.ID, Branch: at.branch, Target: app.OrNull(at.owner), How: in.How}
	for _, e := range at.thread.OwnedCode().FailedChecks() {
		item.FailedChecks = append(item.FailedChecks, e.Check)
	}
	result, err := merge(c, at, in)
	if result != nil {
		item.Status, item.Merge = result.Status, result
		if result.Code != nil {
			item.Commit, item.How = result.Code.Commit, result.Code.How
		}
	}
	if err != nil {
		if result == nil {
			item = nil
		}
		return item, err
	}
	switch {
	case result.Status == merging.NothingToDo:
		item.Changes = code.AmountOf(c, at.thread.ID)
	case result.Status == merging.Planned:
		item.Changes = code.AmountToLand(c, at.thread.ID)
	case item.Commit != nil:
		item.Changes = code.LandedAmount(c, at.thread.ID)
	}
	item.NotHere = c.NotHere(at.thread.ID)
	hasLanded := result.Status == merging.Merged || result.Status == merging.NothingToDo &&
		(item.Changes != nil && item.Changes.Landed || at.thread.OwnedCode().State == thread.CodeRemoving)
	landing := thread.OperationID("")
	if result.Status == merging.Merged && item.Commit != nil && !c.Replayed() {
		landing = c.Stamp().Operation
		item.Undo = "leslie undo " + string(landing)
	}
	if item.Undo != "" {
		code.WarnOfSubmodules(c, at.thread.ID)
	}
	if item.Status == merging.Planned {
		if err := foresee(c, at, in, item); err != nil {
			return nil, err
		}
	}
	if hasLanded && !in.Keep && !in.DryRun {
		follow(c, at.thread.ID, landing, item)
	}
	return item, nil
}

// landsAt is where the code of a thread lands.
type landsAt struct {
	thread thread.Thread
	branch string
	owner  thread.ThreadID // has the branch; "" for none
	how    string          // of the landing that is pending; "" for none
	asked  string          // how the caller wants it, "" for whatever holds
	// pending is the landing that waits, nil for none.
	pending *thread.Merge
}

// place finds where the code of a thread lands. Errors: T101, T105, T107, T802, T903.
func place(c *app.Call, id, onto string) (at landsAt, err error) {
	_, err = c.View(func(s *thread.State) error {
		at = landsAt{}
		if at.thread, err = s.OwnCode(id); err != nil {
			return err
		}
		pending, waits := s.PendingLanding(at.thread.ID)
		if waits {
			at.pending = &pending
		}
		if at.thread.Status == thread.Cancelled {
			return codes.NotWritable.New(fact.Of("threadId", at.thread.ID), fact.Of("status", at.thread.Status)).
				WithHint("What was cancelled does not land: leslie reopen " + string(at.thread.ID) + " has it go on")
		}
		switch at.branch = strings.TrimPrefix(onto, "refs/heads/"); {
		case at.branch == at.thread.Branch:
			return codes.InvalidArgument.New(fact.Of("reason", "'"+at.branch+"' is the branch of '"+string(at.thread.ID)+"' itself"), fact.Of("threadId", at.thread.ID))
		case onto == "":
			at.branch = s.LandsIn(at.thread)
			if waits {
				at.branch, at.how = pending.Onto, pending.Code.How()
			}
		}
		if at.branch == "" {
			return thread.NoCode(at.thread.ID, "it began at a commit, and not at a branch on which it could land").
				WithHint("Name the branch on which it lands: leslie land " + string(at.thread.ID) + " --onto BRANCH").WithNext("leslie code " + string(at.thread.ID))
		}
		if owner, ok := s.BranchOwner(at.branch); ok {
			at.owner = owner.ID
		}
		return nil
	})
	c.SetTarget(at.thread.ID)
	if err == nil {
		err = mayLand(c, at)
	}
	return at, err
}

// mayLand refuses an agent that may not land on a branch of no thread, where it cannot ask for
// it: a thread that has ended asks for nothing. Errors: T402.
func mayLand(c *app.Call, at landsAt) error {
	if c.ByPerson() || at.owner != "" || !at.thread.Status.Terminated() {
		return nil
	}
	conf, err := c.Settings()
	if err != nil {
		return err
	}
	_, err = c.View(func(s *thread.State) error {
		_, err := s.Can(string(at.thread.ID), thread.Land, conf.Policy, c.Now())
		return err
	})
	if e := codes.Of(err); e != nil {
		return e.WithHint("A person decides: leslie status shows them that it waits to land, and they run leslie land " + string(at.thread.ID)).WithNext("leslie diff " + string(at.thread.ID) + " --code")
	}
	return err
}

// merge carries the landing out.
func merge(c *app.Call, at landsAt, in Request) (*merges.Result, error) {
	m := merges.Request{
		Sources: []string{string(at.thread.ID)}, Target: string(at.owner), Strategy: in.Strategy, DryRun: in.DryRun, Squash: in.How == thread.LandedSquash, Rebase: in.How == thread.LandedRebase,
		MergeCommit: at.asked == thread.LandedMerge, Uncommitted: in.Uncommitted, Unread: in.Unread, Resolvers: in.Resolvers,
	}
	if at.owner != "" {
		return merges.Merge(c, m)
	}
	// A person who lands has decided it; an agent needs the capability, or asks for approval.
	m.RequireApproval = !c.ByPerson()
	if err := require(c, at, m.RequireApproval, in.DryRun); err != nil {
		return nil, err
	}
	return merges.LandOnBranch(c, m, at.branch, in.Message)
}

// require lets a person land what an agent has asked for: their line is the approval. Where a person has
// tried to land, an agent goes on with its own approval.
func require(c *app.Call, at landsAt, approval, dryRun bool) error {
	if dryRun || at.pending == nil || at.pending.RequireApproval == approval {
		return nil
	}
	call := c.ForCommand("land")
	_, err := app.Write(call, func(s *thread.State, _ thread.Stamp) (*Result, thread.ThreadID, error) {
		s.RequireApproval(at.thread.ID, approval)
		return &Result{}, at.thread.ID, nil
	})
	c.Include(call)
	return err
}

// follow completes a thread whose code has landed, and removes its worktree and the branch that
// leslie made, where nothing of it is lost. Undoing the landing undoes both.
func follow(c *app.Call, id thread.ThreadID, landing thread.OperationID, item *Item) {
	if why := complete(c, id, landing, item); why != "" {
		item.Kept = why
		return
	}
	next := c.ForCommand("code remove")
	next.SetContinues(landing)
	removed, why, err := code.RemoveLanded(next, id)
	c.Include(next)
	switch {
	case err != nil:
		item.Kept = err.Error()
		return
	case removed == nil:
		item.Kept = why
		return
	}
	item.Removed = &RemovedCode{Worktree: removed.Worktree, Ref: removed.Ref}
	if item.Undo == "" {
		item.Undo = "leslie undo " + string(next.Stamp().Operation)
	}
	if removed.Rescue != nil {
		item.Removed.Ignored = removed.Rescue.Ignored
	}
	if !removed.BranchKept {
		item.Removed.Branch = removed.Branch
		item.Removed.Remotes = code.RemotesWith(c, removed.Branch)
	}
}

// complete completes a thread that goes on. why says why it does not.
func complete(c *app.Call, id thread.ThreadID, landing thread.OperationID, item *Item) (why string) {
	var t thread.Thread
	open := 0
	if _, err := c.View(func(s *thread.State) (err error) {
		t, err = s.Thread(string(id))
		open = len(s.OpenChildren(id))
		return err
	}); err != nil {
		return err.Error()
	}
	switch {
	case t.Status.Terminated():
		return ""
	case open > 0:
		return string(id) + " is " + string(t.Status) + ", with threads below it that are not completed"
	}
	done := c.ForCommand("done")
	done.SetContinues(landing)
	_, err := threads.Lifecycle(done, threads.LifecycleRequest{Thread: string(id), Action: thread.Done, Landed: true})
	c.Include(done)
	if err != nil {
		return string(id) + " is not completed: " + err.Error()
	}
	item.Completed = true
	return ""
}

// ready returns the threads that are completed, pass their checks and have not landed, in the
// order with the fewest conflicts. Errors: those of code.Pairs.
func ready(c *app.Call) (ids []string, err error) {
	var done []string
	if _, err := c.View(func(s *thread.State) error {
		done = nil
		for _, t := range s.ThreadsWithCode() {
			owned := t.OwnedCode()
			if t.Status == thread.Completed && owned.IsCheckedOut() && t.MayLand() && len(owned.FailedChecks()) == 0 {
				done = append(done, string(t.ID))
			}
		}
		return nil
	}); err != nil || len(done) == 0 {
		return nil, err
	}
	pairs, err := code.Pairs(c, code.ListRequest{Threads: done})
	if err != nil {
		return nil, err
	}
	for _, id := range pairs.Order {
		ids = append(ids, string(id))
	}
	return ids, nil
}
