package threads

import (
	"slices"
	"strconv"

	"leslie/internal/app"
	"leslie/thread"
)

// This file has what is said of a thread by whoever creates or changes it, and the checks
// of it.

// SpawnRequest creates a thread of work. Ids of other records may be shortened.
type SpawnRequest struct {
	Intent    string
	Title     string // "": the intent's first line
	ID        string // "": one that the title gives
	Objective string // "": the parent's, else the only one that is not done
	// OwnObjective: without Objective and Parent, one is made, whatever is open.
	OwnObjective bool
	Parent       string // "": the thread that the caller speaks for, if any
	Inherit      thread.Inherit
	Scope        []string // of Inherit partial: paths, folders, globs
	Refs         []string // threads whose artifacts are frozen for the new one
	DependsOn    []string
	Tags         []string
	Executor     thread.Executor // "": agent
	// Priority says how early among ready threads it is claimed; nil: normal.
	Priority *thread.Priority
	Branch   string
	Worktree string // a folder, absolute or from the project's root
	// Code: the thread owns code. Its branch and its worktree are made, from Base ("": the
	// tip of the parent's branch if the parent owns code, else HEAD).
	Code bool
	Base string
	// Uncommitted work of the parent, or of the main worktree: takeUncommitted lets the
	// branch start with it; "" or leave leaves it there.
	Uncommitted string
	// Accept names checks of the configuration (code.checks) that have to succeed before
	// an agent completes the thread.
	Accept []string
	// NoSetup: the configured setup of worktrees does not run.
	NoSetup bool
	// Claim: the caller also claims the thread, for as long as the configuration says.
	Claim bool
	// Run: whoever runs what is ready runs the thread's agent before others: Agent, or ""
	// for the one that is configured.
	Run   bool
	Agent string
}

// Faults returns what is wrong with the request.
func (in SpawnRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Content("Intent", in.Intent)
	k.Title("Title", in.Title)
	k.Tags("Tags", in.Tags)
	k.NewID("ID", in.ID)
	k.Ids("Objective", in.Objective)
	k.Ids("Parent", in.Parent)
	k.Ids("Refs", in.Refs...)
	k.Ids("DependsOn", in.DependsOn...)
	if in.Executor != "" {
		app.OneOf(k, "Executor", in.Executor, thread.ByHuman, thread.ByAgent)
	}
	priorityFaults(k, in.Priority)
	in.inheritFaults(k)
	if in.Base != "" && !in.Code {
		k.With("Code", "Base", in.Base, "needs %s", k.Name("Code"))
	}
	in.uncommittedFaults(k)
	if len(in.Accept) > 0 && !in.Code {
		k.With("Code", "Accept", "", "needs %s", k.Name("Code"))
	}
	switch {
	case in.Agent != "" && !in.Run:
		k.With("Run", "Agent", in.Agent, "needs %s", k.Name("Run"))
	case in.Run && in.Claim:
		k.With("Run", "Claim", "", "goes without %s, which claims the thread for its agent", k.Name("Run"))
	case in.Run && in.Executor == thread.ByHuman:
		k.With("Run", "Executor", string(in.Executor), "goes without %s: no agent works for a person", k.Name("Run"))
	}
	if in.NoSetup && !in.Code {
		k.With("Code", "NoSetup", "", "needs %s", k.Name("Code"))
	}
	for _, ref := range in.Refs {
		if ref == in.ID {
			k.Add("Refs", ref, "is the new thread itself")
		}
	}
	return k.Faults
}

// priorityFaults finds a priority that there is not.
func priorityFaults(k *app.Checks, p *thread.Priority) {
	if p != nil && (*p < thread.HighestPriority || *p > thread.LowestPriority) {
		k.Add("Priority", strconv.Itoa(int(*p)), "must be a whole number from %d (first) to %d, not %d", thread.HighestPriority, thread.LowestPriority, *p)
	}
}

// takeUncommitted and leaveUncommitted are the values of SpawnRequest.Uncommitted.
const (
	takeUncommitted  = "take"
	leaveUncommitted = "leave"
)

func (in SpawnRequest) uncommittedFaults(k *app.Checks) {
	switch {
	case in.Uncommitted == "":
	case !in.Code:
		k.With("Code", "Uncommitted", in.Uncommitted, "needs %s", k.Name("Code"))
	case in.Base != "" && in.Uncommitted == takeUncommitted:
		k.With("Base", "Uncommitted", in.Uncommitted, "goes without %s: the work is on top of another commit", k.Name("Base"))
	default:
		app.OneOf(k, "Uncommitted", in.Uncommitted, leaveUncommitted, takeUncommitted)
	}
}

func (in SpawnRequest) inheritFaults(k *app.Checks) {
	if in.Inherit != "" {
		app.OneOf(k, "Inherit", in.Inherit, thread.InheritNone, thread.InheritFull, thread.InheritPartial)
	}
	if in.inherits() && in.Parent == "" {
		k.With("Parent", "Inherit", string(in.Inherit), "%s needs %s", in.Inherit, k.Name("Parent"))
	}
	partial := in.Inherit == thread.InheritPartial
	switch {
	case partial && len(in.Scope) == 0:
		k.Faults = append(k.Faults, app.Fault{Field: "Scope", Problem: k.Name("Inherit") + " partial needs " + k.Name("Scope")})
	case !partial && len(in.Scope) > 0:
		k.With("Inherit", "Scope", "", "goes with %s partial", k.Name("Inherit"))
	}
}

func (in SpawnRequest) inherits() bool { return in.Inherit != "" && in.Inherit != thread.InheritNone }

// newThread is what the request says of the thread.
func (in SpawnRequest) newThread() thread.NewThread {
	return thread.NewThread{
		Objective: in.Objective, Parent: in.Parent, Title: in.Title, Intent: in.Intent, Executor: in.Executor, Priority: in.Priority, Tags: in.Tags,
		DependsOn: in.DependsOn, Branch: in.Branch, Worktree: in.Worktree, Inherit: in.Inherit,
	}
}

// UpdateRequest changes a thread's own fields; a nil field is not changed.
type UpdateRequest struct {
	Thread string // "": the thread that the caller speaks for
	thread.Edit
}

// Faults returns what is wrong with the request. Faults of dropped values use the
// names of the added ones (AddTags, AddDepends).
func (in UpdateRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	if in.Title != nil {
		k.Needed("Title", *in.Title)
		k.Title("Title", *in.Title)
	}
	if in.Intent != nil {
		k.Content("Intent", *in.Intent)
	}
	priorityFaults(k, in.Priority)
	k.Tags("AddTags", in.AddTags)
	k.Ids("AddDepends", slices.Concat(in.AddDepends, in.DropDepend)...)
	for _, edit := range []struct {
		field     string
		add, drop []string
	}{{"AddTags", in.AddTags, in.DropTags}, {"AddDepends", in.AddDepends, in.DropDepend}} {
		for _, v := range edit.add {
			if slices.Contains(edit.drop, v) {
				k.Add(edit.field, v, "both adds and drops %s", app.Quoted(v))
			}
		}
	}
	return k.Faults
}
