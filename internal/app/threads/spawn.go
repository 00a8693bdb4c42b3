package threads

import (
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/app/artifacts"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

// SpawnResult is the new thread.
type SpawnResult struct {
	ThreadID    thread.ThreadID    `json:"threadId"`
	ParentID    *thread.ThreadID   `json:"parentId"`
	ObjectiveID thread.ObjectiveID `json:"objectiveId"`
	// ObjectiveMade: none was open, so the objective was made for the thread, with its title.
	ObjectiveMade bool                        `json:"objectiveMade,omitempty"`
	Status        thread.Status               `json:"status"`
	Executor      thread.Executor             `json:"-"`
	DependsOn     []thread.ThreadID           `json:"-"`
	Branch        string                      `json:"-"` // that a thread without code names
	Title         string                      `json:"title"`
	Path          string                      `json:"path"` // its folder, from the project's root
	Dir           string                      `json:"dir"`  // its folder, absolute
	Inherited     Inherited                   `json:"inherited"`
	References    []artifacts.ReferenceRecord `json:"references"`
	Claim         *app.ClaimRecord            `json:"claim,omitempty"`
	Code          *SpawnedCode                `json:"code,omitempty"`
	Run           *WantedRun                  `json:"run,omitempty"`
	Revision      thread.Revision             `json:"revision"`
	app.Change
}

// WantedRun is a run that starts when its thread is ready.
type WantedRun struct {
	Agent string `json:"agent,omitempty"` // "": the one that is configured
	// Loop: a process that runs whatever is ready is there to start it.
	Loop bool `json:"loop"`
}

func newSpawnResult(c *app.Call, t thread.Thread) *SpawnResult {
	return &SpawnResult{
		ThreadID: t.ID, ParentID: app.OrNull(t.ParentID), ObjectiveID: t.ObjectiveID, Status: t.Status, Title: t.Title,
		Executor: t.Executor, DependsOn: t.DependsOn, Branch: t.Branch, Path: app.ThreadPath(t.ID), Dir: c.Absolute(app.ThreadPath(t.ID)), Revision: t.Revision, References: []artifacts.ReferenceRecord{},
		Inherited: Inherited{Mode: t.Inherit},
	}
}

// Inherited says what a new thread got of its parent's artifacts.
type Inherited struct {
	Mode  thread.Inherit `json:"mode"`
	Scope []string       `json:"scope,omitempty"`
	Files int            `json:"files"`
}

// Spawn creates a thread of work and its folder, and an objective if none is open; it starts
// nobody. Errors: T903, T106
// if the id is taken, T101 and T105 for the parent, references and dependencies, T107
// if the parent is terminated, T203, T507, T508 for inherited files, T601, T603 for
// the objective, T509 for the configuration of a claim, and those of a write. With Code
// also T801, T802 if the parent's branch is gone, T803, T805 while another process makes
// the same, and T808: then there is neither thread nor branch nor worktree. After T807
// there are all.
func Spawn(c *app.Call, in SpawnRequest) (*SpawnResult, error) {
	if in.Parent == "" {
		in.Parent = c.Caller().Thread
	}
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if in.Claim {
		if err := checkHolder(c); err != nil {
			return nil, err
		}
	}
	if first, ok, err := app.Answered[SpawnResult](c); ok || err != nil {
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
		in.Title = app.FirstLine(in.Intent)
	}
	if in.Agent != "" {
		all, _, err := agents.Profiles(c)
		if err != nil {
			return nil, err
		}
		if _, err := agents.Named(all, in.Agent); err != nil {
			return nil, err
		}
	}
	if !in.Code {
		in.Worktree = c.Project().Worktree(in.Worktree)
		return spawnThread(c, in, nil, claimFor)
	}
	if c.InBatch() {
		return nil, codes.InvalidArgument.New(fact.Of("reason", "a thread that owns code cannot be spawned in a batch")).
			WithHint("git makes its branch and its worktree, which no other line can take back: spawn it in a call of its own, and the others in the batch").
			WithNext("leslie help batch")
	}
	if in.Worktree != "" {
		in.Worktree = c.Project().Absolute(in.Worktree)
	}
	return spawnCode(c, in, func(in SpawnRequest, m *codeSpawn) (*SpawnResult, error) { return spawnThread(c, in, m, claimFor) })
}

// spawnThread records a thread, with its code if m is not nil.
func spawnThread(c *app.Call, in SpawnRequest, m *codeSpawn, claimFor time.Duration) (*SpawnResult, error) {
	content, err := gatherFolder(c, in)
	if err != nil {
		return nil, err
	}
	data, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*SpawnResult, thread.ThreadID, error) {
		d, id, err := in.spawn(c, s, stamp, content, m)
		if err == nil && in.Claim {
			var t thread.Thread
			if t, err = s.Claim(string(id), claimFor, stamp); err == nil {
				d.Claim = app.CurrentClaim(c, t)
			}
		}
		return d, id, err
	})
	c.EndStage(content.stage, err == nil && data.Changed)
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
func gatherFolder(c *app.Call, in SpawnRequest) (*newFolder, error) {
	f := &newFolder{}
	if !in.inherits() && len(in.Refs) == 0 {
		return f, nil
	}
	targets := map[string]thread.ThreadID{}
	_, err := c.View(func(s *thread.State) (err error) {
		f.parent, err = in.precheck(s, targets)
		return err
	})
	if err == nil {
		f.scope, err = artifacts.ScopeIn(in.Scope, f.parent)
	}
	if err != nil {
		return nil, err
	}
	if f.stage, err = c.Store().Stage(c.Stamp().Operation); err != nil {
		return nil, err
	}
	if err := f.fill(c, in, targets); err != nil {
		c.EndStage(f.stage, false)
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
		case !app.IsMissing(err):
			return "", err
		}
	}
	if in.Parent == "" {
		return "", nil
	}
	t, err := s.LiveThread(in.Parent)
	return t.ID, err
}

func (f *newFolder) fill(c *app.Call, in SpawnRequest, targets map[string]thread.ThreadID) error {
	if in.inherits() {
		m, skipped, err := artifacts.TakeSnapshot(c, f.stage, f.parent, f.scope)
		if err != nil {
			return err
		}
		c.WarnSkipped(skipped)
		if err := f.stage.Materialize(c.Context(), m, folder, false); err != nil {
			return err
		}
		if f.manifest, err = f.stage.PutManifest(m); err != nil {
			return err
		}
		f.inherited, f.filled = len(m), true
	}
	for _, target := range once(in.Refs, targets) {
		ref := thread.NewReference{ID: thread.ReferenceID(c.Project().Environment().NewID(thread.PrefixReference)), Target: target, Binding: thread.Frozen}
		if id := targets[target]; id != "" { // of which the content is, whatever else the name may mean by then
			ref.Target = string(id)
		}
		to := folder + "/" + store.InheritedDir + "/" + string(ref.ID)
		var err error
		if ref.Content, err = artifacts.Freeze(c, f.stage, targets[target], scope.Set{}, to, ""); err != nil {
			return err
		}
		f.filled = f.filled || ref.Content.Unresolved == ""
		f.refs = append(f.refs, ref)
	}
	return c.RelyOn(f.stage)
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

// nameObjective names the objective that is made if none is open.
func (in SpawnRequest) nameObjective(c *app.Call, s *thread.State, n *thread.NewThread) {
	if in.Objective == "" && in.Parent == "" && (in.OwnObjective || len(s.OpenObjectives()) == 0) {
		n.NewObjective, n.OwnObjective = c.ObjectiveIDFor(s, n.ID), in.OwnObjective
	}
}

// spawn is the rule, under the lock.
func (in SpawnRequest) spawn(c *app.Call, s *thread.State, stamp thread.Stamp, f *newFolder, m *codeSpawn) (*SpawnResult, thread.ThreadID, error) {
	n := in.newThread()
	n.ID = c.NewThreadID(s, in.ID, in.Title)
	n.Shared, n.Scope = f.manifest, f.scope.Strings()
	if m != nil {
		if err := m.notBegun(s); err != nil {
			return nil, "", err
		}
		n.Code = &m.code
	}
	if f.parent != "" {
		n.Parent = string(f.parent)
	}
	in.nameObjective(c, s, &n)
	t, err := s.Spawn(n, stamp)
	if err != nil {
		return nil, "", err
	}
	c.Warn(s.CancelledBelow(t, t.DependsOn)...)
	d := newSpawnResult(c, t)
	d.ObjectiveMade = t.ObjectiveID == n.NewObjective
	if in.Run {
		if _, err := s.WantRun(string(t.ID), in.Agent, stamp); err != nil {
			return nil, "", err
		}
		d.Run = &WantedRun{Agent: in.Agent}
		loop, _ := c.Store().Loop() // it is only told
		d.Run.Loop = loop.Held
	}
	d.Inherited.Scope, d.Inherited.Files = n.Scope, f.inherited
	steps := []thread.Step{{Do: thread.StepMakeDir, To: app.ThreadInStore(t.ID)}}
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
			steps = append(steps, thread.Step{Do: thread.StepRemove, To: artifacts.FrozenPlace(t.ID, ref.ID)})
		}
		artifacts.WarnUnresolved(c, ref)
		d.References = append(d.References, artifacts.ReferenceOf(c, ref))
	}
	s.Plan(steps...)
	return d, t.ID, nil
}
