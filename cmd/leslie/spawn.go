package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

type spawnData struct {
	ThreadID    thread.ThreadID    `json:"threadId"`
	ParentID    *thread.ThreadID   `json:"parentId"`
	ObjectiveID thread.ObjectiveID `json:"objectiveId"`
	Status      thread.Status      `json:"status"`
	Title       string             `json:"title"`
	Path        string             `json:"path"`
	Inherited   inheritedData      `json:"inherited"`
	References  []referenceData    `json:"references"`
	Revision    thread.Revision    `json:"revision"`
	change
}

type inheritedData struct {
	Mode  thread.Inherit `json:"mode"`
	Scope []string       `json:"scope,omitempty"`
	Files int            `json:"files"`
}

func (d *spawnData) Text(p *page) {
	p.line("thread %s  %s", d.ThreadID, d.Status)
	p.field("title", d.Title)
	p.field("objective", string(d.ObjectiveID))
	if d.ParentID != nil {
		p.field("parent", string(*d.ParentID))
	}
	if d.Inherited.Mode != thread.InheritNone {
		p.field("inherited", many(d.Inherited.Files, "file")+" ("+string(d.Inherited.Mode)+")")
	}
	p.field("path", d.Path)
	for _, ref := range d.References {
		p.line("reference %s -> %s  %s, %s", ref.RefID, ref.Target, ref.Binding, many(ref.Files, "file"))
	}
}

func spawnCommand() *command {
	inherit := []string{string(thread.InheritNone), string(thread.InheritFull), string(thread.InheritPartial)}
	return &command{
		name: "spawn", summary: "create a thread of work; nobody is started", writes: true,
		teach: lesson{starting, "spawn --intent TEXT --parent ID --inherit full"},
		detail: "The objective is --objective, else the parent's, else the only one that is not done.\n" +
			"--inherit full or partial gives the new thread its own working copy of the parent's artifacts.\n" +
			"--ref freezes what other threads hold now, read-only, under context/inherited/REF/.",
		example: `leslie spawn --intent "Design the API" --parent thread-a1b2c3d4 --inherit partial --scope plan.md`,
		flags: []cli.Flag{
			newOption("intent", anyText("TEXT").required(), "what the thread is to achieve; - reads standard input, at most 64 KiB"),
			newOption("title", anyText("T"), "at most 200 characters; default: the intent's first line"),
			newOption("objective", anID("ID", objectiveIDs), "the objective it works for"),
			newOption("parent", anID("ID", threadIDs), "the thread it is split from; default: --thread"),
			newOption("id", anID("ID", otherIDs), "use this id in place of a random one"),
			newOption("inherit", oneOf(inherit...), "copy the parent's artifacts: none (default), full, or those of --scope"),
			newOption("scope", scopes("P,..."), "which artifacts to inherit: paths, folders, globs"),
			newOption("ref", someIDs("ID,...", threadIDs), "threads to refer to, frozen as they are now"),
			newOption("depends-on", someIDs("ID,...", threadIDs), "threads that must be terminated before this one is ready"),
			newOption("tag", texts("T"), "a tag; may be given several times"),
			newOption("executor", oneOf(executorWords()...), "who is to carry it out (default agent)"),
			newOption("branch", anyText("B"), "the git branch of its code"),
			newOption("worktree", anyText("DIR"), "the git worktree of its code"),
		},
		run: runSpawn,
	}
}

// spawnOptions are spawn's flags, read and checked.
type spawnOptions struct {
	thread thread.NewThread
	scope  scope.Set
	refs   []string
}

func (c *call) spawnOptions() spawnOptions {
	c.require("intent")
	o := spawnOptions{refs: c.parts("ref"), thread: thread.NewThread{
		Objective: c.text("objective"), Parent: c.text("parent"), Title: c.text("title"),
		Executor: thread.Executor(c.text("executor")), Tags: c.texts("tag"), DependsOn: c.parts("depends-on"),
		Branch: c.text("branch"), Worktree: c.text("worktree"), Inherit: thread.Inherit(c.text("inherit")),
	}}
	in := &o.thread
	if in.Parent == "" {
		in.Parent = c.who.thread
	}
	if in.Executor == "" {
		in.Executor = thread.ByAgent
	}
	c.checkInheritance(in)
	c.checkTitle("--title", in.Title)
	c.checkTags(in.Tags)
	for _, ref := range o.refs {
		if ref == c.text("id") {
			c.fault("--ref", ref, "--ref is the new thread itself")
		}
	}
	o.scope = c.scope()
	if len(c.faults) > 0 {
		return o // standard input is left unread
	}
	in.Intent = c.readContent("intent", maxIntent)
	if in.Title == "" {
		in.Title = firstLine(in.Intent)
	}
	return o
}

func (c *call) checkInheritance(in *thread.NewThread) {
	if in.Inherit == "" {
		in.Inherit = thread.InheritNone
	}
	if in.Inherit != thread.InheritNone && in.Parent == "" && !c.faulty("parent") {
		c.fault("--inherit", string(in.Inherit), "--inherit "+string(in.Inherit)+" needs --parent")
	}
	if in.Inherit == thread.InheritPartial && !c.has("scope") {
		c.fault("--scope", "", "--inherit partial needs --scope")
	}
	if in.Inherit != thread.InheritPartial && c.has("scope") && !c.faulty("inherit") {
		c.fault("--scope", "", "--scope goes with --inherit partial")
	}
}

func runSpawn(c *call) (Data, error) {
	o := c.spawnOptions()
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	if first, ok, err := answered[spawnData](c); ok || err != nil {
		return first, err
	}
	if o.thread.Worktree != "" {
		o.thread.Worktree = c.worktree(st.Root(), o.thread.Worktree)
	}
	content, err := c.gather(st, o)
	if err != nil {
		return nil, err
	}
	data, err := write(c, func(s *thread.State, stamp thread.Stamp) (*spawnData, thread.ThreadID, error) {
		return o.spawn(c, s, stamp, content)
	})
	c.endStage(content.stage, err == nil && data.Changed)
	return data, err
}

// gathered is what a new thread's folder is made of, staged without the lock.
type gathered struct {
	stage     *store.Stage    // nil when there is nothing to copy
	filled    bool            // the stage holds the folder; else it begins empty
	parent    thread.ThreadID // of which the manifest is
	manifest  thread.BlobID
	inherited int
	refs      []thread.NewReference
}

// folder is the staged folder of the new thread.
const folder = "thread"

// gather copies what the thread inherits and what its references freeze.
func (c *call) gather(st *store.Store, o spawnOptions) (*gathered, error) {
	g := &gathered{}
	if o.thread.Inherit == thread.InheritNone && len(o.refs) == 0 {
		return g, nil
	}
	targets := map[string]thread.ThreadID{}
	_, err := c.view(func(s *thread.State) error {
		var err error
		g.parent, err = o.precheck(s, targets)
		return err
	})
	if err == nil {
		err = c.safeScope(g.parent)
	}
	if err != nil {
		return nil, err
	}
	if g.stage, err = st.Stage(c.stamp().Operation); err != nil {
		return nil, err
	}
	if err := c.fill(st, o, g, targets); err != nil {
		c.endStage(g.stage, false)
		return nil, err
	}
	return g, nil
}

// precheck finds the parent and the targets of references before anything is
// copied. The rule checks the parent again under the lock.
func (o spawnOptions) precheck(s *thread.State, targets map[string]thread.ThreadID) (thread.ThreadID, error) {
	for _, ref := range o.refs {
		t, err := s.Thread(ref)
		switch {
		case err == nil:
			targets[ref] = t.ID
		case !isMissing(err):
			return "", err
		}
	}
	if o.thread.Parent == "" {
		return "", nil
	}
	t, err := s.LiveThread(o.thread.Parent)
	return t.ID, err
}

func (c *call) fill(st *store.Store, o spawnOptions, g *gathered, targets map[string]thread.ThreadID) error {
	if o.thread.Inherit != thread.InheritNone {
		m, skipped, err := c.takeSnapshot(st, g.stage, g.parent, o.scope)
		if err != nil {
			return err
		}
		c.warnSkipped(skipped)
		if err := g.stage.Materialize(c.ctx, m, folder, false); err != nil {
			return err
		}
		if g.manifest, err = g.stage.PutManifest(m); err != nil {
			return err
		}
		g.inherited, g.filled = len(m), true
	}
	for _, target := range once(o.refs, targets) {
		ref := thread.NewReference{ID: thread.ReferenceID(c.env.newID(thread.PrefixReference)), Target: target, Binding: thread.Frozen}
		if id := targets[target]; id != "" { // of which the content is, whatever else the name may mean by then
			ref.Target = string(id)
		}
		to := folder + "/" + store.InheritedDir + "/" + string(ref.ID)
		var err error
		if ref.Content, err = c.frozen(st, g.stage, targets[target], scope.Set{}, to, ""); err != nil {
			return err
		}
		g.filled = g.filled || ref.Content.Unresolved == ""
		g.refs = append(g.refs, ref)
	}
	return c.relyOn(g.stage)
}

// once leaves out what names a thread that was named before: its folder would
// be copied twice for one reference.
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

// spawn is the rule, under the lock.
func (o spawnOptions) spawn(c *call, s *thread.State, stamp thread.Stamp, g *gathered) (*spawnData, thread.ThreadID, error) {
	in := o.thread
	in.Shared, in.Scope = g.manifest, o.scope.Strings()
	if g.parent != "" {
		in.Parent = string(g.parent)
	}
	in.ID = thread.ThreadID(c.newID("id", thread.PrefixThread, func(id string) bool { return s.Exists(thread.ThreadID(id)) }))
	t, err := s.Spawn(in, stamp)
	if err != nil {
		return nil, "", err
	}
	d := &spawnData{
		ThreadID: t.ID, ParentID: orNull(t.ParentID), ObjectiveID: t.ObjectiveID, Status: t.Status, Title: t.Title,
		Path: threadPath(t.ID), Revision: t.Revision, References: []referenceData{},
		Inherited: inheritedData{Mode: t.Inherit, Scope: o.scope.Strings(), Files: g.inherited},
	}
	steps := []thread.Step{{Do: thread.StepMakeDir, To: threadPlace(t.ID)}}
	if g.filled {
		steps[0] = thread.Step{Do: thread.StepPlace, From: g.stage.Rel(folder), To: steps[0].To}
	}
	for _, in := range g.refs {
		in.From = string(t.ID)
		ref, _, err := s.Refer(in, stamp)
		if err != nil {
			return nil, "", err
		}
		if in.Content.Unresolved == "" && !ref.Resolved { // its target was taken back since it was copied
			steps = append(steps, thread.Step{Do: thread.StepRemove, To: frozenPlace(t.ID, ref.ID)})
		}
		c.warnUnresolved(ref)
		d.References = append(d.References, referenceOf(ref))
	}
	s.Plan(steps...)
	return d, t.ID, nil
}

// worktree is a folder as the thread keeps it: relative to the project's root
// where it lies inside it, absolute elsewhere.
func (c *call) worktree(root, dir string) string {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.who.dir, dir)
	}
	if rel, err := filepath.Rel(root, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(rel)
	}
	return filepath.Clean(dir)
}
