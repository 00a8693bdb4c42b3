package merges

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merging"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/internal/scope"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file has the use cases of merging; package merging implements the merge.

// Result is a merge as all use cases return it.
type Result = merging.Result

// Resolvers has the people and commands that a merge may use. A command that the caller
// names runs; a command in a state or in a project's configuration does not.
type Resolvers struct {
	// Agent is the name of an agent (see Agents), else a command, like Validate: split by
	// shell quoting rules and run without a shell; "" means the user's configuration.
	// Timeout limits each; 0 means five minutes, and thirty for a validator of code.
	Agent, Validate string
	Timeout         time.Duration
	// Person resolves conflicts, and Approver decides whether to apply a merge that
	// needs approval; nil if nobody can be asked.
	Person   merging.Person
	Approver merging.Approver
}

// faults adds faults for commands that cannot be split into words.
func (in Resolvers) faults(k *app.Checks) {
	for _, one := range [][2]string{{"Agent", in.Agent}, {"Validate", in.Validate}} {
		if _, err := external.Split(one[1]); err != nil && one[1] != "" {
			k.Add(one[0], one[1], "cannot be split into words")
		}
	}
	if in.Timeout < 0 {
		k.Add("Timeout", in.Timeout.String(), "must not be negative")
	}
}

// defaultMergeTimeout is how long an agent or a validator may take.
const defaultMergeTimeout = 300 * time.Second

// Request starts a merge.
type Request struct {
	Sources  []string
	Target   string
	Scope    []string        // patterns; empty: everything
	Strategy thread.Strategy // "": interactive
	// RequireApproval: a person has to approve the merge before it is applied.
	RequireApproval bool
	// DryRun: show what would happen without changing anything.
	DryRun bool
	// Only: merge only the artifacts, or only the code; "": both, but only artifacts with a
	// Scope. Squash: the merge commit has only the target's commit as its parent.
	Only   string
	Squash bool
	// Rebase: the target's branch gets the commits of the only source, one by one.
	Rebase bool
	// MergeCommit: neither, also where the merge is pending.
	MergeCommit bool
	// Queue: only record the merge, at the end of the target's queue; LandQueue carries it
	// out.
	Queue bool
	// Uncommitted work of the sources: merging.TakeUncommitted commits it on their branches;
	// "" or refuse is T804.
	Uncommitted string
	// Unread messages of the sources' agents: merging.LeaveUnread merges although there are
	// constraints or immediate ones among them; "" or refuse is T409.
	Unread string
	Resolvers
	// withScope: code is merged with a Scope, too.
	withScope bool
}

// refuse is the default of Request.Uncommitted and Request.Unread.
const refuse = "refuse"

// Faults returns what is wrong with the request.
func (in Request) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Needed("Target", in.Target)
	if len(in.Sources) == 0 {
		k.Add("Sources", "", "is missing")
	}
	k.Ids("Sources", in.Sources...)
	k.Ids("Target", in.Target)
	for i, source := range in.Sources {
		switch {
		case source == in.Target:
			k.Add("Sources", source, "names the target: a thread cannot be merged into itself")
		case slices.Contains(in.Sources[:i], source):
			k.Add("Sources", source, "names %s twice", app.Quoted(source))
		}
	}
	in.HowFaults(k)
	return k.Faults
}

// HowFaults adds faults of everything but the threads.
func (in Request) HowFaults(k *app.Checks) {
	if in.Strategy != "" {
		app.OneOf(k, "Strategy", in.Strategy, thread.Interactive, thread.AgentFirst, thread.HumanOnly, thread.Strict)
	}
	if in.Only != "" {
		app.OneOf(k, "Only", in.Only, merging.OnlyCode, merging.OnlyArtifacts)
	}
	if in.Uncommitted != "" {
		app.OneOf(k, "Uncommitted", in.Uncommitted, refuse, merging.TakeUncommitted)
	}
	if in.Unread != "" {
		app.OneOf(k, "Unread", in.Unread, refuse, merging.LeaveUnread)
	}
	if in.Only == merging.OnlyCode && len(in.Scope) > 0 {
		k.With("Scope", "Only", in.Only, "goes without %s: it selects artifacts", k.Name("Scope"))
	}
	if in.Queue {
		in.queueFaults(k)
	}
	in.faults(k)
}

// Merge merges the artifacts of threads into one of them, and their code where both own
// some; or it only records that, in the target's queue. If such a merge is pending, it goes
// on with that. Errors: T101, T105, T107,
// T203, T305, T507, T508, T509, T903; T301 while a conflict is open, T302, T304, T402,
// T404; those of a write. With T301, T402 and T404 it also returns the result of the
// pending merge.
func Merge(c *app.Call, in Request) (*Result, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	set, err := scope.Parse(in.Scope)
	if err != nil {
		return nil, codes.Of(err).With(fact.Of("threadId", in.Target))
	}
	if first, ok, err := app.Answered[Result](c); ok || err != nil {
		return first, err
	}
	conf, err := c.Settings()
	if err != nil {
		return nil, err
	}
	request := merging.Request{
		Target: in.Target, Sources: in.Sources, Scope: set, Strategy: in.Strategy, Validate: in.Validate, RequireApproval: in.RequireApproval,
		Only: in.Only, Squash: in.Squash, Rebase: in.Rebase, Uncommitted: in.Uncommitted, Unread: in.Unread,
		WithScope: in.withScope && in.Only == "" && len(in.Scope) > 0,
	}
	if in.Queue {
		if err := checkQueued(c, in); err != nil {
			return nil, err
		}
		return merging.Queue(SessionCall(c, in.Resolvers, conf), request)
	}
	result, err := in.beginOrResume(c, request, conf)
	return result, in.meantBranch(c, err)
}

// meantBranch says how code lands on a branch, if a merge names one in place of its target.
func (in Request) meantBranch(c *app.Call, err error) error {
	if !codes.Has(err, codes.ThreadNotFound) || codes.Of(err).Facts().Text("threadId") != in.Target {
		return err
	}
	repo, openErr := code.OpenRepo(c)
	if openErr != nil {
		return err
	}
	if tip, gitErr := repo.Branch(c.Context(), in.Target); gitErr != nil || tip == "" {
		return err
	}
	line := "leslie land " + strings.Join(in.Sources, " ") + " --onto " + external.Word(in.Target)
	return codes.Of(err).WithHint("'" + in.Target + "' is a branch of no thread: " + line + " lands code there").WithNext(line + " --dry-run")
}

// LandOnBranch lands the code of the only source on a branch of no thread, as the merge of a
// request, with a message of its own for the commit ("": from the thread). Errors: those of
// Merge.
func LandOnBranch(c *app.Call, in Request, branch, message string) (*Result, error) {
	if first, ok, err := app.Answered[Result](c); ok || err != nil {
		return first, err
	}
	conf, err := c.Settings()
	if err != nil {
		return nil, err
	}
	changed := c.Changed()
	result, err := in.beginOrResume(c, merging.Request{
		Target: in.Sources[0], Sources: in.Sources, Onto: branch, Message: message, Strategy: in.Strategy, Validate: in.Validate,
		RequireApproval: in.RequireApproval, Only: merging.OnlyCode, Squash: in.Squash, Rebase: in.Rebase, MergeCommit: in.MergeCommit, Uncommitted: in.Uncommitted, Unread: in.Unread,
	}, conf)
	if result == nil && in.Uncommitted != merging.TakeUncommitted && (codes.Has(err, codes.LandingBlocked) || codes.Has(err, codes.WorktreeBusy)) {
		c.SetChanged(changed) // the merge that was begun has been given up
	}
	return result, err
}

// beginOrResume carries a merge out, or goes on with it if it is pending.
func (in Request) beginOrResume(c *app.Call, request merging.Request, conf app.Settings) (*Result, error) {
	for kept := len(c.Warnings()); ; c.WarnAnew(kept) {
		result, err := in.carryOut(c, request, conf)
		if !codes.Has(err, codes.MergePending) {
			return result, err
		}
		about := codes.Of(err).Facts()
		if !in.DryRun {
			ended, waitErr := awaitLanding(c, thread.ThreadID(about.Text("target")), about.Text("mergeId"))
			switch {
			case waitErr != nil:
				return nil, waitErr
			case ended:
				continue
			}
		}
		result, err = in.resume(c, request, conf, codes.Of(err))
		if !codes.Has(err, codes.MergeNotFound) { // which ended meanwhile
			return result, err
		}
	}
}

// resume goes on with the pending merge that T305 names if it is the one that is asked for.
// Errors: T305 if it is not; those of Continue.
func (in Request) resume(c *app.Call, request merging.Request, conf app.Settings, pending *codes.Error) (*Result, error) {
	id := pending.Facts().Text("mergeId")
	same, differing, err := merging.Resumes(SessionCall(c, in.Resolvers, conf), id, request)
	switch {
	case err != nil:
		return nil, err
	case !same:
		return nil, pending
	case len(differing) > 0:
		return nil, pending.With(fact.Of("differing", differing)).
			WithHint("It was begun with other options (" + strings.Join(differing, ", ") + "): go on with it as it is (leslie merge continue " + id +
				"), or abort it (leslie merge abort " + id + ") and merge again")
	}
	return ContinueRequest{Merge: id, DryRun: in.DryRun, Unread: in.Unread, Resolvers: in.Resolvers, resumed: true}.carryOut(c, conf)
}

func (in Request) carryOut(c *app.Call, request merging.Request, conf app.Settings) (*Result, error) {
	begin := merging.Start
	if in.DryRun {
		begin = merging.Preview
	}
	call := SessionCall(c, in.Resolvers, conf)
	agent, end, err := mergeAgent(c, in.Resolvers, conf)
	if err != nil {
		return nil, err
	}
	defer end()
	call.Agent = agent
	s, err := begin(call, request)
	switch {
	case err != nil:
		return nil, err
	case in.DryRun:
		return s.Planned()
	}
	return finishMerge(c, s)
}

// landingPatience is how long a call waits for another one that lands a merge.
const landingPatience = 30 * time.Second

// holdLanding waits until no other call lands a merge in the same thread or on the same branch.
// Errors: T805, T904, those of a write.
func holdLanding(c *app.Call, m thread.Merge) (release func(), err error) {
	name, branch := "land-"+string(m.Target), "the branch of '"+string(m.Target)+"'"
	if m.Onto != "" {
		name, branch = fmt.Sprintf("land-on-%x", sha256.Sum256([]byte(m.Onto))), "the branch '"+m.Onto+"'"
	}
	if release, err = code.AwaitHold(c, name, landingPatience); errors.Is(err, code.ErrHeld) {
		return nil, codes.WorktreeBusy.New(fact.Of("what", "Another merge"), fact.Of("path", branch), fact.Of("threadId", m.Target)).
			WithHint("Wait until it has ended, then repeat the call").WithNext("leslie merge list")
	}
	return release, err
}

// awaitLanding waits while another call lands where a pending merge does, and reports whether that
// has ended then, or has gone back to the queue. Errors: those of holdLanding and of a view.
func awaitLanding(c *app.Call, target thread.ThreadID, pending string) (ended bool, err error) {
	m := thread.Merge{Target: target}
	if _, err := c.View(func(s *thread.State) error {
		if found, err := s.Merge(pending); err == nil {
			m = found
		}
		return nil
	}); err != nil {
		return false, err
	}
	release, err := holdLanding(c, m)
	if err != nil {
		return false, err
	}
	release()
	_, err = c.View(func(s *thread.State) error {
		_, err := s.Merge(pending)
		ended = err != nil || s.NoPendingMerge(target) == nil
		return nil
	})
	return ended, err
}

// finishMerge asks and applies. A merge with nothing to do is not an operation; its
// result is still stored for a request id.
func finishMerge(c *app.Call, s *merging.Session) (*Result, error) {
	result, err := s.Finish()
	if err == nil {
		err = c.KeepUnchanged(result)
	}
	if err == nil {
		warnUnpushed(c, result)
		noteLacked(c, result)
	}
	return result, err
}

// warnUnpushed is code.WarnNotPushed for landed code that does not go with a thread.
func warnUnpushed(c *app.Call, d *Result) {
	if c.Project().Link() == nil || d == nil || d.Code == nil || !d.Code.Landed || d.Code.Commit == nil {
		return
	}
	if t, err := code.Owner(c, string(d.Target)); err == nil && t.Branch == d.Code.Branch && t.OwnedCode().Made.Branch {
		if travel, err := c.Travel(); err == nil && travel != app.TravelOff {
			return // it goes with the thread
		}
	}
	code.WarnNotPushed(c, d.Code.Branch, git.Commit(*d.Code.Commit))
}

// ListRequest lists pending merges.
type ListRequest struct {
	Limit int // 0: all
	app.RecordFilter
}

// ListResult has the pending merges.
type ListResult struct{ app.Items[merging.Item] }

// List lists pending merges; those of a thread are those into it or from it. Errors: T903, T101 and T105
// for the filter, those of a view.
func List(c *app.Call, in ListRequest) (*ListResult, error) {
	var all []merging.Item
	if _, err := c.View(func(s *thread.State) error {
		selected, err := app.Select(c, s, in.RecordFilter, s.MergesOf(""), func(m thread.Merge) app.Filterable {
			return app.Filterable{Threads: append([]thread.ThreadID{m.Target}, m.Sources...), Made: m.Created, Changed: m.Revision}
		})
		all = merging.Pendings(s, selected)
		return err
	}); err != nil {
		return nil, err
	}
	return &ListResult{app.First(all, in.Limit)}, nil
}

// StatusRequest names a pending merge.
type StatusRequest struct {
	Merge string
	// Conflict is a conflict's id, the beginning of one, or a path; "" for all.
	Conflict string
}

// Status shows a pending merge as of now, with its conflicts in full. Errors: T303,
// T105, T903 for a conflict that it does not have, and those of planning it.
func Status(c *app.Call, in StatusRequest) (*Result, error) {
	s, err := merging.Look(SessionCall(c, Resolvers{}, app.Settings{}), in.Merge)
	if err != nil {
		return nil, err
	}
	if now, err := s.Edited(); err == nil { // what an edited work file decides counts
		s = now
	}
	result := s.Result(merging.Pending)
	if in.Conflict != "" {
		result.Conflicts, err = s.Only(in.Conflict)
	}
	return result, err
}

// ResolveRequest decides a part of a pending merge.
type ResolveRequest struct {
	Merge          string
	merging.Choice // with Additions, Take is merge.TakeBoth
}

// Faults returns what is wrong with the request.
func (in ResolveRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Needed("Merge", in.Merge)
	k.Needed("Take", in.Take)
	if in.Take == merge.TakeText && (in.Content == nil || in.About == "") {
		k.Add("Take", in.Take, "needs a content, and the path or conflict that it is for")
	}
	return k.Faults
}

// Resolve records a decision. Errors: T303, T105, T402, T903, those of planning
// the merge, and of a write.
func Resolve(c *app.Call, in ResolveRequest) (*Result, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if first, ok, err := app.Answered[Result](c); ok || err != nil {
		return first, err
	}
	conf, err := c.Configured()
	if err != nil {
		return nil, err
	}
	s, err := merging.Load(SessionCall(c, Resolvers{}, conf), in.Merge)
	if err != nil {
		return nil, err
	}
	return s.Choose(in.Choice)
}

// ContinueRequest continues a pending merge.
type ContinueRequest struct {
	Merge string
	// DryRun: show what would happen without changing anything.
	DryRun bool
	// Unread is as in Request, and holds for the merge from then on.
	Unread string
	Resolvers
	resumed bool // by the line that began it
}

// Faults returns what is wrong with the request.
func (in ContinueRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Needed("Merge", in.Merge)
	if in.Unread != "" {
		app.OneOf(k, "Unread", in.Unread, refuse, merging.LeaveUnread)
	}
	in.faults(k)
	return k.Faults
}

// Continue takes decisions from the edited files with markers, asks about the
// rest, and applies the merge if nothing is open. Errors: T303 and those of Merge.
func Continue(c *app.Call, in ContinueRequest) (*Result, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if first, ok, err := app.Answered[Result](c); ok || err != nil {
		return first, err
	}
	conf, err := c.Settings()
	if err != nil {
		return nil, err
	}
	return in.carryOut(c, conf)
}

func (in ContinueRequest) carryOut(c *app.Call, conf app.Settings) (*Result, error) {
	call := SessionCall(c, in.Resolvers, conf)
	agent, end, err := mergeAgent(c, in.Resolvers, conf)
	if err != nil {
		return nil, err
	}
	defer end()
	call.Agent = agent
	load := merging.Load
	if in.resumed {
		load = merging.Resume
	}
	s, err := load(call, in.Merge)
	if err != nil {
		return nil, err
	}
	if in.DryRun {
		if s, err = s.Edited(); err != nil {
			return nil, err
		}
		return s.Planned()
	}
	if in.Unread == merging.LeaveUnread {
		if err := merging.IgnoreUnread(s); err != nil {
			return nil, err
		}
	}
	if err := s.TakeEdited(); err != nil {
		return nil, err
	}
	return finishMerge(c, s)
}

// AbortRequest names a pending merge.
type AbortRequest struct{ Merge string }

// Abort removes a pending merge; its target does not change. Errors: T303, T105,
// and those of a write.
func Abort(c *app.Call, in AbortRequest) (*Result, error) {
	return merging.Abort(SessionCall(c, Resolvers{}, app.Settings{}), in.Merge)
}

// PlanOfApproval returns what the merge of a request would do. Errors: T509.
func PlanOfApproval(c *app.Call, g thread.Approval) ([]merging.PlannedFile, error) {
	return merging.ReadPlan(c.Store(), g.Plan)
}

// ChangedSinceApproval returns the paths for which a merge would now do something else than
// the request says. Errors: T509, and those of planning the merge.
func ChangedSinceApproval(c *app.Call, g thread.Approval) ([]string, error) {
	return merging.Differing(SessionCall(c, Resolvers{}, app.Settings{}), g)
}

// SessionCall returns the call in the form that a merge session needs.
func SessionCall(c *app.Call, means Resolvers, conf app.Settings) merging.Call {
	return merging.Call{
		Context: c.Context(), Operations: mergeOperations{c}, Files: c.Store(), As: c.Caller().As, Actor: c.Caller().Actor,
		Doubted: c.Doubted(), Now: c.Now, Root: c.Project().Root(), Machine: c.Project().Machine(),
		NewID:  func(prefix string, taken func(string) bool) string { return c.NewID("", prefix, taken) },
		Policy: conf.Policy, Retry: c.Project().Environment().Retry,
		Timeout: cmp.Or(means.Timeout, defaultMergeTimeout), Environ: c.Project().Environment().Environ,
		Validate: merging.Validators{
			Named: means.Validate, Artifacts: conf.Validate, Code: conf.ValidateCode, CodeTimeout: cmp.Or(means.Timeout, code.ValidateTime),
		},
		CheckOut: func(target thread.Thread, repo *git.Repo, commit git.Commit) (*merging.Place, func(), error) {
			return code.CheckOutForValidation(c, target, repo, commit)
		},
		Person: means.Person, Approver: means.Approver,
		Repository: oneRepo(c), HoldLanding: func(m thread.Merge) (func(), error) { return holdLanding(c, m) },
	}
}

// oneRepo finds the repository of a thread's code once; all threads of a merge have the
// same.
func oneRepo(c *app.Call) func(thread.Thread) (*git.Repo, error) {
	var found *git.Repo
	return func(t thread.Thread) (repo *git.Repo, err error) {
		switch {
		case t.OwnedCode() == nil:
			return code.OpenRepo(c)
		case found == nil || found.Admin != t.OwnedCode().Repo || t.OwnedCode().Sent != nil:
			found, err = code.RepoOf(c, t)
		}
		return found, err
	}
}

// mergeOperations implements merging.Operations for a call.
type mergeOperations struct{ c *app.Call }

// View implements merging.Operations.
func (o mergeOperations) View(read func(*thread.State) error) error {
	_, err := o.c.View(read)
	return err
}

// ReadConsistent implements merging.Operations.
func (o mergeOperations) ReadConsistent(read func() error, ids ...thread.ThreadID) error {
	return o.c.ReadConsistent(read, ids...)
}

// Update implements merging.Operations. A merge may take several operations, each with
// its own stamp; only the last one stores the answer of a request.
func (o mergeOperations) Update(about thread.ThreadID, prepare func(*store.Stage) error, rule func(*thread.State, thread.Stamp) error) error {
	c := o.c
	stage, err := o.stage(prepare)
	if err != nil {
		return err
	}
	call := c.StoreCall()
	call.Request = ""
	commit, err := c.Update(call, func(s *thread.State) (store.Outcome, error) {
		return store.Outcome{Thread: about}, rule(s, call.Stamp)
	})
	c.EndStage(stage, err == nil)
	if err != nil {
		c.Warn(commit.Warnings...)
		return err
	}
	c.Wrote(commit)
	if c.Continues() != "" { // all that follows is one as well
		c.GoOn()
	}
	c.NewOperation()
	return nil
}

// Commit implements merging.Operations.
func (o mergeOperations) Commit(prepare func(*store.Stage) error, rule func(*thread.State, thread.Stamp) (*Result, thread.ThreadID, error)) (*Result, error) {
	stage, err := o.stage(prepare)
	if err != nil {
		return nil, err
	}
	result, err := app.Write(o.c, rule)
	o.c.EndStage(stage, err == nil)
	o.c.DropStages()
	return result, err
}

// stage returns the files that an operation relies on, nil for none.
func (o mergeOperations) stage(prepare func(*store.Stage) error) (*store.Stage, error) {
	if prepare == nil {
		return nil, nil
	}
	stage, err := o.c.Store().Stage(o.c.Stamp().Operation)
	if err != nil {
		return nil, err
	}
	if err = prepare(stage); err == nil {
		err = o.c.RelyOn(stage)
	}
	if err != nil {
		o.c.EndStage(stage, false)
		return nil, err
	}
	return stage, nil
}

// GoOn implements merging.Operations.
func (o mergeOperations) GoOn() { o.c.GoOn() }

// Changed implements merging.Operations.
func (o mergeOperations) Changed() bool { return o.c.Changed() }

// Warn implements merging.Operations.
func (o mergeOperations) Warn(found ...warnings.Warning) { o.c.Warn(found...) }
