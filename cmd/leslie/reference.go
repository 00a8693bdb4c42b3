package main

import (
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// referenceData is one reference as every command answers it.
type referenceData struct {
	RefID          thread.ReferenceID `json:"refId"`
	From           thread.ThreadID    `json:"from"`
	Target         thread.ThreadID    `json:"target"`
	Binding        thread.Binding     `json:"binding"`
	Scope          []string           `json:"scope,omitempty"`
	TargetResolved bool               `json:"targetResolved"`
	LocalPath      *string            `json:"localPath"`
	Files          int                `json:"files"`
	TakenAt        time.Time          `json:"takenAt"`
	Stale          []string           `json:"stale,omitempty"`
	Revision       thread.Revision    `json:"revision"`
}

func referenceOf(ref thread.Reference) referenceData {
	d := referenceData{
		RefID: ref.ID, From: ref.From, Target: ref.Target, Binding: ref.Binding, Scope: ref.Scope,
		TargetResolved: ref.Resolved, Files: ref.Files, TakenAt: ref.TakenAt, Revision: ref.Revision,
	}
	if ref.Resolved {
		path := threadPath(ref.Target)
		if ref.Binding == thread.Frozen {
			path = frozenPath(ref)
		}
		d.LocalPath = &path
	}
	return d
}

// frozenPath is where a frozen reference's copy lies, from the project's root.
func frozenPath(ref thread.Reference) string {
	return threadPath(ref.From) + "/" + store.InheritedDir + "/" + string(ref.ID)
}

// frozenPlace is the same place in the store's folder.
func frozenPlace(from thread.ThreadID, ref thread.ReferenceID) string {
	return threadPlace(from) + "/" + store.InheritedDir + "/" + string(ref)
}

func (d referenceData) Text(p *page) {
	p.line("reference %s  %s -> %s", d.RefID, d.From, d.Target)
	p.field("binding", string(d.Binding))
	p.field("scope", joined(d.Scope))
	if !d.TargetResolved {
		p.line("target: could not be resolved")
	}
	p.field("path", d.LocalPath)
	p.field("files", d.Files)
	p.field("taken", d.TakenAt.Format(time.RFC3339))
	p.field("changed since", joined(d.Stale))
}

type referenceWritten struct {
	referenceData
	change
}

func (d *referenceWritten) Text(p *page) {
	if !d.Changed {
		p.line("nothing changed")
	}
	d.referenceData.Text(p)
}

func referenceCommand() *command {
	return &command{
		name: "reference", summary: "tie a thread to another's artifacts, read-only", writes: true,
		teach: lesson{sharing, "reference --from ID --target ID"},
		detail: "frozen copies what the target holds now to context/inherited/REF/; live reads it where it stands.\n" +
			"A target that does not exist is kept and warned of (W202).",
		example: "leslie reference --from thread-a1b2c3d4 --target thread-e5f6g7h8 --scope design.md",
		flags: []cli.Flag{
			newOption("from", anID("A", threadIDs), "the thread that refers; default: --thread"),
			newOption("target", anID("B", threadIDs).required(), "the thread it refers to"),
			newOption("scope", scopes("P,..."), "which of its artifacts: paths, folders, globs (default all)"),
			newOption("binding", oneOf(string(thread.Frozen), string(thread.Live)), "a snapshot taken now (default), or the target where it stands"),
		},
		run: runReference,
	}
}

func runReference(c *call) (Data, error) {
	from := c.text("from")
	if from == "" {
		from = c.who.thread
	}
	if from == "" {
		c.fault("--from", "", "--from is missing (or say --thread)")
	}
	c.require("target")
	if from != "" && from == c.text("target") {
		c.fault("--target", from, "--target is the thread that refers: a thread cannot refer to itself")
	}
	binding := thread.Binding(c.text("binding"))
	if binding == "" {
		binding = thread.Frozen
	}
	set := c.scope()
	if err := c.usage(); err != nil {
		return nil, err
	}
	return c.refer(thread.NewReference{
		ID: thread.ReferenceID(c.env.newID(thread.PrefixReference)), From: from, Target: c.text("target"), Binding: binding, Scope: set.Strings(),
	}, set)
}

func (c *call) refer(in thread.NewReference, set scope.Set) (Data, error) {
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	if first, ok, err := answered[referenceWritten](c); ok || err != nil {
		return first, err
	}
	// The rule runs once on what is there now, so that nothing is copied for a
	// reference that cannot be or is there already.
	var target thread.ThreadID
	var existed bool
	_, err = c.view(func(s *thread.State) error {
		if t, err := s.Thread(in.Target); err == nil {
			target = t.ID
		}
		_, existed, err = s.Refer(in, c.stamp())
		return err
	})
	if err == nil {
		err = c.safeScope(target)
	}
	if err != nil {
		return nil, err
	}
	var stage *store.Stage
	if !existed {
		if stage, in.Content, err = c.content(st, in.Binding, target, set, ""); err != nil {
			return nil, err
		}
	}
	if target != "" { // of which the content is, whatever else the name may mean by then
		in.Target = string(target)
	}
	data, err := write(c, func(s *thread.State, stamp thread.Stamp) (*referenceWritten, thread.ThreadID, error) {
		ref, existed, err := s.Refer(in, stamp)
		if err != nil {
			return nil, "", err
		}
		if !existed && stage != nil && ref.Resolved {
			s.Plan(placeFrozen(stage, ref)...)
		}
		c.warnUnresolved(ref)
		return &referenceWritten{referenceData: referenceOf(ref)}, ref.From, nil
	})
	c.endStage(stage, err == nil && data.Changed)
	return data, err
}

// relyOn has what a stage holds on disk before the operation is recorded: beside it,
// or at once for a line of a batch, which may hold many.
func (c *call) relyOn(stage *store.Stage) error {
	if c.op.DraftState() != nil {
		return stage.Sync()
	}
	if !slices.Contains(c.staged, stage) {
		c.staged = append(c.staged, stage)
	}
	return nil
}

// endStage ends a stage, if there is one: what an operation that stands has
// promised to place is left to it, everything else goes.
func (c *call) endStage(stage *store.Stage, stands bool) {
	switch {
	case stage == nil:
	case c.op.DraftState() != nil: // the line may still be part of the operation
		c.op.DraftStage(stage)
	case stands:
		_ = stage.Close()
	default:
		_ = stage.Discard()
	}
}

// content looks at a reference's target. For a frozen one it stages the copy
// under "ref"; stage is nil when there is nothing to place. known is as for frozen.
func (c *call) content(st *store.Store, binding thread.Binding, target thread.ThreadID, set scope.Set, known thread.BlobID) (*store.Stage, thread.Content, error) {
	if binding == thread.Live || target == "" {
		content, err := c.live(st, target, set)
		return nil, content, err
	}
	stage, err := st.Stage(c.stamp().Operation)
	if err != nil {
		return nil, thread.Content{}, err
	}
	content, err := c.frozen(st, stage, target, set, "ref", known)
	if err == nil {
		err = c.relyOn(stage)
	}
	if err != nil || content.Unresolved != "" {
		c.endStage(stage, false)
		return nil, content, err
	}
	return stage, content, nil
}

// placeFrozen puts a staged copy where the reference's files are read.
func placeFrozen(stage *store.Stage, ref thread.Reference) []thread.Step {
	place := frozenPlace(ref.From, ref.ID)
	return []thread.Step{
		{Do: thread.StepMakeDir, To: threadPlace(ref.From) + "/" + store.InheritedDir},
		{Do: thread.StepPlace, From: stage.Rel("ref"), To: place, Content: ref.Manifest},
	}
}

// live looks at what a live reference's target holds.
func (c *call) live(st *store.Store, target thread.ThreadID, set scope.Set) (content thread.Content, err error) {
	err = c.settled(st, func() error {
		var entries []store.Entry
		if content.Unresolved, err = c.missing(st, target); content.Unresolved == "" && err == nil {
			entries, err = c.matched(st, target, set)
		}
		content.Files = countFiles(entries)
		return err
	}, target)
	return content, err
}

// frozen copies a target's artifacts into a stage. known is the list of what the
// reference holds, "" for none: it stands where it lists the same content, since a
// list tells the files' times as well.
func (c *call) frozen(st *store.Store, stage *store.Stage, target thread.ThreadID, set scope.Set, to string, known thread.BlobID) (thread.Content, error) {
	var reason string
	var m store.Manifest
	var skipped []string
	err := c.settled(st, func() (err error) {
		if reason, err = c.missing(st, target); reason == "" && err == nil {
			m, skipped, err = c.takeSnapshot(st, stage, target, set)
		}
		return err
	}, target)
	if reason != "" || err != nil {
		return thread.Content{Unresolved: reason}, err
	}
	c.warnSkipped(skipped)
	if err := stage.Materialize(c.ctx, m, to, true); err != nil {
		return thread.Content{}, err
	}
	if known != "" {
		if held, err := st.Manifest(known); err == nil && held.Alike(m) {
			return thread.Content{Manifest: known, Files: len(m)}, nil
		}
	}
	id, err := stage.PutManifest(m)
	return thread.Content{Manifest: id, Files: len(m)}, err
}

// hasThread reports whether a thread's folder is there.
func (c *call) hasThread(st *store.Store, id thread.ThreadID) (there bool, err error) {
	err = c.settled(st, func() error { there, err = st.HasThread(id); return err }, id)
	return there, err
}

// missing says why a target is not there, "" when it is. Errors: T509.
func (c *call) missing(st *store.Store, target thread.ThreadID) (string, error) {
	if target == "" {
		return thread.ReasonMissing, nil
	}
	there, err := c.hasThread(st, target)
	if !there && err == nil && !c.op.DraftBegins(target) {
		return thread.ReasonMissing, nil
	}
	return "", err
}

func isMissing(err error) bool { return codes.Has(err, codes.ThreadNotFound) }

// warnUnresolved is W202 for a reference whose target could not be read.
func (c *call) warnUnresolved(ref thread.Reference) {
	if !ref.Resolved {
		c.warnings.Add(warnings.TargetUnresolved.New(fact.Of("target", ref.Target), fact.Of("reason", ref.Unresolved)))
	}
}

type referenceList struct{ items[referenceData] }

func (d *referenceList) Text(p *page) {
	var rows [][]string
	for _, ref := range d.Items {
		state := "ok"
		switch {
		case !ref.TargetResolved:
			state = "unresolved"
		case len(ref.Stale) > 0:
			state = "stale"
		}
		rows = append(rows, []string{string(ref.RefID), string(ref.From), string(ref.Target), string(ref.Binding), state, joined(ref.Scope)})
	}
	p.table("REFERENCE FROM TARGET BINDING STATE SCOPE", rows)
	p.rest(len(d.Items), d.Total)
	if d.Total == 0 {
		p.line("no references")
	}
}

func referenceListCommand() *command {
	return &command{
		name: "reference list", summary: "list references and whether their targets have moved on",
		example: "leslie reference list --from thread-a1b2c3d4",
		flags: []cli.Flag{
			newOption("from", anID("A", threadIDs), "only those that this thread made"),
			limitFlag(),
		},
		run: runReferenceList,
	}
}

func runReferenceList(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	var refs []thread.Reference
	_, err := c.view(func(s *thread.State) error {
		if c.text("from") == "" {
			refs = s.AllReferences()
			return nil
		}
		t, err := s.Thread(c.text("from"))
		if err != nil {
			return err
		}
		refs, err = referencesFrom(s, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := firstItems(refs, c.count("limit", defaultLimit))
	out := &referenceList{items[referenceData]{Items: []referenceData{}, Total: all.Total, Truncated: all.Truncated}}
	for _, ref := range all.Items {
		d, err := c.compared(ref)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, d)
	}
	return out, nil
}

func referencesFrom(s *thread.State, t thread.Thread) ([]thread.Reference, error) {
	if t.Status == thread.Archived {
		return s.ArchivedReferencesFrom(t.ID)
	}
	return s.ReferencesFrom(t.ID), nil
}

// compared is a reference with what of its target has changed since it was
// frozen, and W203 where something has.
func (c *call) compared(ref thread.Reference) (referenceData, error) {
	d := referenceOf(ref)
	if ref.Binding != thread.Frozen || !ref.Resolved {
		return d, nil
	}
	st, err := c.store()
	if err != nil {
		return d, err
	}
	err = c.settled(st, func() error { d.Stale, err = st.ChangedSince(c.ctx, ref); return err }, ref.Target)
	if err != nil {
		// The snapshot's list cannot be read: show says so (T202), a list goes on.
		return d, nil
	}
	if len(d.Stale) > 0 {
		c.warnings.Add(warnings.ReferenceStale.NewOfPaths(d.Stale,
			fact.List{fact.Of("m", max(ref.Files, len(d.Stale))), fact.Of("time", ref.TakenAt.Format(time.RFC3339))},
			fact.Of("refId", ref.ID), fact.Of("target", ref.Target)))
	}
	return d, nil
}

type referenceShow struct {
	referenceData
	Artifacts items[artifactData] `json:"artifacts"`
}

func (d *referenceShow) Text(p *page) {
	d.referenceData.Text(p)
	artifactsTable(p, d.Artifacts)
}

func referenceShowCommand() *command {
	return &command{
		name: "reference show", summary: "show one reference and what can be read through it",
		example:  "leslie reference show ref-a1b2c3d4",
		operands: []operand{{value: anID("REF", referenceIDs)}}, run: runReferenceShow,
	}
}

func runReferenceShow(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	var ref thread.Reference
	find := func() error {
		_, err := c.view(func(s *thread.State) (err error) {
			ref, err = s.Reference(c.operand(0))
			return err
		})
		return err
	}
	if err := find(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	d := &referenceShow{}
	err = c.settled(st, func() error { // the reference as it stands beside what it shows
		if err := find(); err != nil {
			return err
		}
		return d.look(c, st, ref)
	}, ref.From, ref.Target)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// look reads what can be read through a reference.
func (d *referenceShow) look(c *call, st *store.Store, ref thread.Reference) (err error) {
	if !ref.Resolved {
		c.warnUnresolved(ref)
		d.referenceData, d.Artifacts = referenceOf(ref), firstItems[artifactData](nil, 0)
		return nil
	}
	entries, err := c.readable(st, ref)
	if err != nil {
		return err
	}
	d.Artifacts = firstItems(artifactsOf(entries), 0)
	d.referenceData, err = c.compared(ref)
	return err
}

// checkFrozen compares a frozen reference's copy with what was frozen.
func (c *call) checkFrozen(st *store.Store, ref thread.Reference) (entries []store.Entry, damaged []string, err error) {
	err = c.settled(st, func() error {
		entries, damaged, err = st.CheckFrozen(c.ctx, ref)
		return err
	}, ref.From)
	return entries, damaged, err
}

// readable lists what can be read through a resolved reference. Errors: T202
// where it is damaged or has vanished.
func (c *call) readable(st *store.Store, ref thread.Reference) ([]store.Entry, error) {
	corrupted := func(reason string, cause error) error {
		return codes.TargetCorrupted.Wrap(cause, fact.Of("target", ref.Target), fact.Of("refId", ref.ID),
			fact.Of("threadId", ref.From), fact.Of("reason", reason))
	}
	if ref.Binding == thread.Live {
		reason, err := c.missing(st, ref.Target)
		switch {
		case err != nil:
			return nil, corrupted(plainReason(err), err)
		case reason != "":
			return nil, corrupted(reason, nil)
		}
		set, err := scope.Parse(ref.Scope)
		if err != nil {
			return nil, corrupted(plainReason(err), err)
		}
		var entries []store.Entry
		err = c.settled(st, func() error { entries, err = st.HashedIn(c.ctx, ref.Target, set); return err }, ref.Target)
		if err != nil {
			return nil, corrupted(plainReason(err), err)
		}
		return entries, nil
	}
	entries, damaged, err := c.checkFrozen(st, ref)
	switch {
	case err != nil:
		return nil, corrupted(plainReason(err), err)
	case len(damaged) > 0:
		return nil, corrupted("the frozen copy differs from what was taken: "+joined(damaged), nil)
	}
	return entries, nil
}

func referenceRefreshCommand() *command {
	return &command{
		name: "reference refresh", summary: "take a reference's target as it is now", writes: true,
		example:  "leslie reference refresh ref-a1b2c3d4",
		operands: []operand{{value: anID("REF", referenceIDs)}}, run: runReferenceRefresh,
	}
}

func runReferenceRefresh(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	if first, ok, err := answered[referenceWritten](c); ok || err != nil {
		return first, err
	}
	var ref thread.Reference
	var target thread.ThreadID
	_, err = c.view(func(s *thread.State) (err error) {
		if ref, err = s.Reference(c.operand(0)); err != nil {
			return err
		}
		if t, err := s.Thread(string(ref.Target)); err == nil {
			target = t.ID
		}
		_, err = s.Refresh(c.operand(0), thread.Content{}, c.stamp()) // whether it is allowed
		return err
	})
	if err != nil {
		return nil, err
	}
	set, err := scope.Parse(ref.Scope)
	if err != nil {
		return nil, err
	}
	reason, err := c.missing(st, target)
	if err != nil {
		return nil, err
	}
	if was := ref.Manifest != "" || ref.Binding == thread.Live && ref.Files > 0; was && reason != "" {
		return nil, codes.TargetCorrupted.New(fact.Of("target", ref.Target), fact.Of("refId", ref.ID),
			fact.Of("threadId", ref.From), fact.Of("reason", reason))
	}
	stage, content, err := c.content(st, ref.Binding, target, set, ref.Manifest)
	if err != nil {
		return nil, err
	}
	_, damaged, checkErr := c.checkFrozen(st, ref)
	mend := ref.Binding == thread.Frozen && (checkErr != nil || len(damaged) > 0)
	data, err := write(c, func(s *thread.State, stamp thread.Stamp) (*referenceWritten, thread.ThreadID, error) {
		was := ref.Manifest
		ref, err := s.Refresh(c.operand(0), content, stamp)
		if err != nil {
			return nil, "", err
		}
		if stage != nil && ref.Resolved && (ref.Manifest != was || mend) {
			s.Plan(placeFrozen(stage, ref)...)
		}
		c.warnUnresolved(ref)
		return &referenceWritten{referenceData: referenceOf(ref)}, ref.From, nil
	})
	c.endStage(stage, err == nil && data.Changed)
	return data, err
}

func referenceRemoveCommand() *command {
	return &command{
		name: "reference remove", summary: "take a reference away, its frozen copy too", writes: true,
		example:  "leslie reference remove ref-a1b2c3d4",
		operands: []operand{{value: anID("REF", referenceIDs)}}, run: runReferenceRemove,
	}
}

func runReferenceRemove(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	return write(c, func(s *thread.State, _ thread.Stamp) (*referenceWritten, thread.ThreadID, error) {
		ref, err := s.RemoveReference(c.operand(0))
		if err != nil {
			return nil, "", err
		}
		if ref.Binding == thread.Frozen && ref.Resolved {
			s.Plan(thread.Step{Do: thread.StepRemove, To: frozenPlace(ref.From, ref.ID)})
		}
		d := &referenceWritten{referenceData: referenceOf(ref)}
		d.LocalPath = nil
		return d, ref.From, nil
	})
}
