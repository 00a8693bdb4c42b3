package app

import (
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

// SpawnRequest creates a thread of work. Ids of other records may be shortened.
type SpawnRequest struct {
	Intent    string
	Title     string // "": the intent's first line
	ID        string // "": a random one
	Objective string // "": the parent's, else the only one that is not done
	Parent    string // "": the thread that the caller speaks for, if any
	Inherit   thread.Inherit
	Scope     []string // of Inherit partial: paths, folders, globs
	Refs      []string // threads whose artifacts are frozen for the new one
	DependsOn []string
	Tags      []string
	Executor  thread.Executor // "": agent
	Branch    string
	Worktree  string // a folder, absolute or from the project's root
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
func (in SpawnRequest) Faults(name Names) []Fault {
	k := newChecks(name)
	k.content("Intent", in.Intent)
	k.title("Title", in.Title)
	k.tags("Tags", in.Tags)
	k.ids("ID", in.ID)
	k.ids("Objective", in.Objective)
	k.ids("Parent", in.Parent)
	k.ids("Refs", in.Refs...)
	k.ids("DependsOn", in.DependsOn...)
	if in.Executor != "" {
		oneOf(k, "Executor", in.Executor, thread.ByHuman, thread.ByAgent)
	}
	in.inheritFaults(k)
	if in.Base != "" && !in.Code {
		k.with("Code", "Base", in.Base, "needs %s", k.name("Code"))
	}
	in.uncommittedFaults(k)
	if len(in.Accept) > 0 && !in.Code {
		k.with("Code", "Accept", "", "needs %s", k.name("Code"))
	}
	switch {
	case in.Agent != "" && !in.Run:
		k.with("Run", "Agent", in.Agent, "needs %s", k.name("Run"))
	case in.Run && in.Claim:
		k.with("Run", "Claim", "", "goes without %s, which claims the thread for its agent", k.name("Run"))
	case in.Run && in.Executor == thread.ByHuman:
		k.with("Run", "Executor", string(in.Executor), "goes without %s: no agent works for a person", k.name("Run"))
	}
	if in.NoSetup && !in.Code {
		k.with("Code", "NoSetup", "", "needs %s", k.name("Code"))
	}
	for _, ref := range in.Refs {
		if ref == in.ID {
			k.add("Refs", ref, "is the new thread itself")
		}
	}
	return k.faults
}

// takeUncommitted and leaveUncommitted are the values of SpawnRequest.Uncommitted.
const (
	takeUncommitted  = "take"
	leaveUncommitted = "leave"
)

func (in SpawnRequest) uncommittedFaults(k *checks) {
	switch {
	case in.Uncommitted == "":
	case !in.Code:
		k.with("Code", "Uncommitted", in.Uncommitted, "needs %s", k.name("Code"))
	case in.Base != "" && in.Uncommitted == takeUncommitted:
		k.with("Base", "Uncommitted", in.Uncommitted, "goes without %s: the work is on top of another commit", k.name("Base"))
	default:
		oneOf(k, "Uncommitted", in.Uncommitted, leaveUncommitted, takeUncommitted)
	}
}

func (in SpawnRequest) inheritFaults(k *checks) {
	if in.Inherit != "" {
		oneOf(k, "Inherit", in.Inherit, thread.InheritNone, thread.InheritFull, thread.InheritPartial)
	}
	if in.inherits() && in.Parent == "" {
		k.with("Parent", "Inherit", string(in.Inherit), "%s needs %s", in.Inherit, k.name("Parent"))
	}
	partial := in.Inherit == thread.InheritPartial
	switch {
	case partial && len(in.Scope) == 0:
		k.faults = append(k.faults, Fault{Field: "Scope", Problem: k.name("Inherit") + " partial needs " + k.name("Scope")})
	case !partial && len(in.Scope) > 0:
		k.with("Inherit", "Scope", "", "goes with %s partial", k.name("Inherit"))
	}
}

func (in SpawnRequest) inherits() bool { return in.Inherit != "" && in.Inherit != thread.InheritNone }

// SpawnResult is the new thread.
type SpawnResult struct {
	ThreadID    thread.ThreadID    `json:"threadId"`
	ParentID    *thread.ThreadID   `json:"parentId"`
	ObjectiveID thread.ObjectiveID `json:"objectiveId"`
	Status      thread.Status      `json:"status"`
	Title       string             `json:"title"`
	Path        string             `json:"path"` // its folder, from the project's root
	Dir         string             `json:"dir"`  // its folder, absolute
	Inherited   Inherited          `json:"inherited"`
	References  []ReferenceRecord  `json:"references"`
	Claim       *ClaimRecord       `json:"claim,omitempty"`
	Code        *SpawnedCode       `json:"code,omitempty"`
	Run         *WantedRun         `json:"run,omitempty"`
	Revision    thread.Revision    `json:"revision"`
	Change
}

// WantedRun is a run that starts when its thread is ready.
type WantedRun struct {
	Agent string `json:"agent,omitempty"` // "": the one that is configured
	// Loop: a process that runs whatever is ready is there to start it.
	Loop bool `json:"loop"`
}

func newSpawnResult(c *Call, t thread.Thread) *SpawnResult {
	return &SpawnResult{
		ThreadID: t.ID, ParentID: orNull(t.ParentID), ObjectiveID: t.ObjectiveID, Status: t.Status, Title: t.Title,
		Path: threadPath(t.ID), Dir: absolute(c, threadPath(t.ID)), Revision: t.Revision, References: []ReferenceRecord{},
		Inherited: Inherited{Mode: t.Inherit},
	}
}

// Inherited says what a new thread got of its parent's artifacts.
type Inherited struct {
	Mode  thread.Inherit `json:"mode"`
	Scope []string       `json:"scope,omitempty"`
	Files int            `json:"files"`
}

// Spawn creates a thread of work and its folder; it starts nobody. Errors: T903, T106
// if the id is taken, T101 and T105 for the parent, references and dependencies, T107
// if the parent is terminated, T203, T507, T508 for inherited files, T601, T603 for
// the objective, T509 for the configuration of a claim, and those of a write. With Code
// also T801, T802 if the parent's branch is gone, T803, T805 while another process makes
// the same, and T808: then there is neither thread nor branch nor worktree. After T807
// there are all.
func Spawn(c *Call, in SpawnRequest) (*SpawnResult, error) {
	if in.Parent == "" {
		in.Parent = c.caller.Thread
	}
	if err := refused(in.Faults(nil)); err != nil {
		return nil, err
	}
	if in.Claim {
		if err := checkHolder(c); err != nil {
			return nil, err
		}
	}
	if first, ok, err := answered[SpawnResult](c); ok || err != nil {
		return first, err
	}
	claimFor, err := claimDuration(c, in.Claim, 0)
	if err != nil {
		return nil, err
	}
	if in.Executor == "" {
		in.Executor = thread.ByAgent
	}
	if in.Inherit == "" {
		in.Inherit = thread.InheritNone
	}
	if in.Title == "" {
		in.Title = firstLine(in.Intent)
	}
	if in.Agent != "" {
		all, _, err := profiles(c)
		if err != nil {
			return nil, err
		}
		if _, err := agentNamed(all, in.Agent); err != nil {
			return nil, err
		}
	}
	if !in.Code {
		in.Worktree = c.project.worktree(in.Worktree)
		return spawnThread(c, in, nil, claimFor)
	}
	if c.draft != nil {
		return nil, codes.InvalidArgument.New(fact.Of("reason", "a thread that owns code cannot be spawned in a batch"))
	}
	if in.Worktree != "" {
		in.Worktree = c.project.absolute(in.Worktree)
	}
	return spawnCode(c, in, func(in SpawnRequest, m *codeSpawn) (*SpawnResult, error) { return spawnThread(c, in, m, claimFor) })
}

// spawnThread records a thread, with its code if m is not nil.
func spawnThread(c *Call, in SpawnRequest, m *codeSpawn, claimFor time.Duration) (*SpawnResult, error) {
	content, err := gatherFolder(c, in)
	if err != nil {
		return nil, err
	}
	data, err := write(c, func(s *thread.State, stamp thread.Stamp) (*SpawnResult, thread.ThreadID, error) {
		d, id, err := in.spawn(c, s, stamp, content, m)
		if err == nil && in.Claim {
			var t thread.Thread
			if t, err = s.Claim(string(id), claimFor, stamp); err == nil {
				d.Claim = currentClaim(t, stamp.Time)
			}
		}
		return d, id, err
	})
	c.endStage(content.stage, err == nil && data.Changed)
	return data, err
}

// newFolder is a new thread's folder, staged without the lock.
type newFolder struct {
	stage     *store.Stage // nil if there is nothing to copy
	filled    bool         // the stage contains the folder; otherwise it begins empty
	scope     scope.Set
	parent    thread.ThreadID // the thread of the manifest
	manifest  thread.BlobID
	inherited int
	refs      []thread.NewReference
}

// folder is the staged folder of the new thread.
const folder = "thread"

// gatherFolder copies what the thread inherits and what its references freeze.
func gatherFolder(c *Call, in SpawnRequest) (*newFolder, error) {
	f := &newFolder{}
	if !in.inherits() && len(in.Refs) == 0 {
		return f, nil
	}
	targets := map[string]thread.ThreadID{}
	_, err := c.view(func(s *thread.State) (err error) {
		f.parent, err = in.precheck(s, targets)
		return err
	})
	if err == nil {
		f.scope, err = scopeIn(in.Scope, f.parent)
	}
	if err != nil {
		return nil, err
	}
	if f.stage, err = c.store.Stage(c.operation().Operation); err != nil {
		return nil, err
	}
	if err := f.fill(c, in, targets); err != nil {
		c.endStage(f.stage, false)
		return nil, err
	}
	return f, nil
}

// precheck finds the parent and the targets of references before anything is copied.
// The rule checks the parent again under the lock.
func (in SpawnRequest) precheck(s *thread.State, targets map[string]thread.ThreadID) (thread.ThreadID, error) {
	for _, ref := range in.Refs {
		t, err := s.Thread(ref)
		switch {
		case err == nil:
			targets[ref] = t.ID
		case !isMissing(err):
			return "", err
		}
	}
	if in.Parent == "" {
		return "", nil
	}
	t, err := s.LiveThread(in.Parent)
	return t.ID, err
}

func (f *newFolder) fill(c *Call, in SpawnRequest, targets map[string]thread.ThreadID) error {
	if in.inherits() {
		m, skipped, err := takeSnapshot(c, f.stage, f.parent, f.scope)
		if err != nil {
			return err
		}
		c.warnSkipped(skipped)
		if err := f.stage.Materialize(c.ctx, m, folder, false); err != nil {
			return err
		}
		if f.manifest, err = f.stage.PutManifest(m); err != nil {
			return err
		}
		f.inherited, f.filled = len(m), true
	}
	for _, target := range once(in.Refs, targets) {
		ref := thread.NewReference{ID: thread.ReferenceID(c.project.env.NewID(thread.PrefixReference)), Target: target, Binding: thread.Frozen}
		if id := targets[target]; id != "" { // of which the content is, whatever else the name may mean by then
			ref.Target = string(id)
		}
		to := folder + "/" + store.InheritedDir + "/" + string(ref.ID)
		var err error
		if ref.Content, err = freeze(c, f.stage, targets[target], scope.Set{}, to, ""); err != nil {
			return err
		}
		f.filled = f.filled || ref.Content.Unresolved == ""
		f.refs = append(f.refs, ref)
	}
	return c.relyOn(f.stage)
}

// once drops references to a thread that was named before, whose folder would
// otherwise be copied twice.
func once(refs []string, targets map[string]thread.ThreadID) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(refs), func(ref string) bool {
		name := ref
		if id, ok := targets[ref]; ok {
			name = string(id)
		}
		again := seen[name]
		seen[name] = true
		return again
	})
}

// newThread is what the request says of the thread.
func (in SpawnRequest) newThread() thread.NewThread {
	return thread.NewThread{
		Objective: in.Objective, Parent: in.Parent, Title: in.Title, Intent: in.Intent, Executor: in.Executor, Tags: in.Tags,
		DependsOn: in.DependsOn, Branch: in.Branch, Worktree: in.Worktree, Inherit: in.Inherit,
	}
}

// spawn is the rule, under the lock.
func (in SpawnRequest) spawn(c *Call, s *thread.State, stamp thread.Stamp, f *newFolder, m *codeSpawn) (*SpawnResult, thread.ThreadID, error) {
	n := in.newThread()
	n.ID = thread.ThreadID(c.newID(in.ID, thread.PrefixThread, func(id string) bool { return s.Exists(thread.ThreadID(id)) }))
	n.Shared, n.Scope = f.manifest, f.scope.Strings()
	if m != nil {
		if err := m.notAnswered(s); err != nil {
			return nil, "", err
		}
		n.Code = &m.code
	}
	if f.parent != "" {
		n.Parent = string(f.parent)
	}
	t, err := s.Spawn(n, stamp)
	if err != nil {
		return nil, "", err
	}
	d := newSpawnResult(c, t)
	if in.Run {
		if _, err := s.WantRun(string(t.ID), in.Agent, stamp); err != nil {
			return nil, "", err
		}
		d.Run = &WantedRun{Agent: in.Agent}
		d.Run.Loop, _, _ = c.store.LoopHeld() // it is only told
	}
	d.Inherited.Scope, d.Inherited.Files = n.Scope, f.inherited
	steps := []thread.Step{{Do: thread.StepMakeDir, To: threadPlace(t.ID)}}
	if f.filled {
		steps[0] = thread.Step{Do: thread.StepPlace, From: f.stage.Rel(folder), To: steps[0].To}
	}
	for _, wanted := range f.refs {
		wanted.From = string(t.ID)
		ref, _, err := s.Refer(wanted, stamp)
		if err != nil {
			return nil, "", err
		}
		if wanted.Content.Unresolved == "" && !ref.Resolved { // its target was taken back since it was copied
			steps = append(steps, thread.Step{Do: thread.StepRemove, To: frozenPlace(t.ID, ref.ID)})
		}
		warnUnresolved(c, ref)
		d.References = append(d.References, referenceOf(c, ref))
	}
	s.Plan(steps...)
	return d, t.ID, nil
}
