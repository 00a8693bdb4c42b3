package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// mergeData is a merge as every command answers it.
type mergeData struct {
	MergeID    *thread.MergeID   `json:"mergeId"`
	Status     string            `json:"status"` // merged, pending, nothing_to_do, planned, aborted
	Target     thread.ThreadID   `json:"target"`
	Sources    []thread.ThreadID `json:"sources"`
	Strategy   thread.Strategy   `json:"strategy"`
	Files      []mergeFile       `json:"files"`
	Conflicts  []merge.Conflict  `json:"conflicts"`
	Resolved   int               `json:"resolved"`
	Unresolved int               `json:"unresolved"`
	Declined   map[string]string `json:"declined,omitempty"`
	Work       []string          `json:"work,omitempty"` // files with markers, for editors
	// RequireApproval: a person approves it before it is applied; Approval is the
	// request about it, nil before there is one.
	RequireApproval bool           `json:"requireApproval,omitempty"`
	Approval        *mergeApproval `json:"approval,omitempty"`
	change
}

type mergeFile struct {
	Path string    `json:"path"`
	How  merge.How `json:"how"`
}

func (d *mergeData) Text(p *page) {
	name := ""
	if d.MergeID != nil {
		name = " " + string(*d.MergeID)
	}
	switch d.Status {
	case "nothing_to_do":
		p.line("nothing to do: %s has everything of %s", d.Target, joined(d.Sources))
		return
	case "aborted":
		p.line("merge%s aborted; %s is as it was", name, d.Target)
		return
	}
	p.line("merge%s of %s into %s  %s", name, joined(d.Sources), d.Target, d.Status)
	for _, f := range d.Files {
		p.line("  %s  %s", f.How, f.Path)
	}
	if d.Resolved+d.Unresolved > 0 {
		p.line("conflicts: %d resolved, %d unresolved", d.Resolved, d.Unresolved)
	}
	for _, c := range d.Conflicts {
		if c.Status == merge.Unresolved {
			disputeText(p, c)
		}
	}
	for _, path := range sortedKeys(d.Declined) {
		p.line("the agent did not resolve %s: %s", path, d.Declined[path])
	}
	p.field("approval", d.Approval.text(d.RequireApproval && d.Status == "pending"))
}

// maxShownLines is how many lines of a side a text answer shows; JSON has all.
const maxShownLines = 12

func disputeText(p *page, c merge.Conflict) {
	p.line("conflict %s  %s  %s %d/%d", c.ID, c.Path, c.Kind, c.Hunk, c.Of)
	p.field("  about", c.Detail)
	show := func(label, text string, absent bool) {
		if absent {
			p.line("  %s: no such file", label)
			return
		}
		p.line("  %s:", label)
		n, total := 0, strings.Count(text, "\n")
		for line := range strings.Lines(text) {
			if n++; n > maxShownLines {
				p.line("    (%d more lines)", total-maxShownLines)
				break
			}
			p.line("    %s", strings.TrimRight(line, "\r\n"))
		}
	}
	for _, s := range c.Sides {
		show(s.Role+" "+s.Thread, s.Text, s.Absent)
	}
	if c.Base.From != "" {
		show("base "+c.Base.From, c.Base.Text, false)
	}
}

func mergeCommand() *command {
	strategies := []string{string(thread.Interactive), string(thread.AgentFirst), string(thread.HumanOnly), string(thread.Strict)}
	return &command{
		name: "merge", summary: "bring the artifacts of threads together in one of them", writes: true, alone: true,
		teach: lesson{bringing, "merge --sources ID --target ID"},
		detail: "Nothing reaches the target before every conflict is resolved. A conflict that nobody can be asked about\n" +
			"leaves the merge pending (T301): resolve it with merge resolve, then merge continue.",
		example: "leslie merge --sources thread-a1b2c3d4 --target main",
		flags: append([]cli.Flag{
			newOption("sources", someIDs("A,B", threadIDs).required(), "the threads to merge from, in this order"),
			newOption("target", anID("T", threadIDs).required(), "the thread to merge into"),
			newOption("scope", scopes("P,..."), "only these artifacts: paths, folders, globs"),
			newOption("conflict-strategy", oneOf(strategies...), "who is asked about a conflict"),
			toggle("require-approval", "a person approves it before it is applied"),
			toggle("dry-run", "show what would happen; write nothing"),
		}, commitFlags()...),
		run: runMerge,
	}
}

// commitFlags are those of every command that may apply a merge. What they name
// is run because the caller says so; what a state or a project's configuration
// names is not.
func commitFlags() []cli.Flag {
	return []cli.Flag{
		newOption("agent", anyText("CMD"), "the agent that may resolve conflicts"),
		newOption("agent-timeout", aDuration(), "how long the agent may take for a file (default 300s)"),
		newOption("validate", anyText("CMD"), "must succeed in a copy of the target with the result in place"),
	}
}

// merging is one merge on its way.
type merging struct {
	c      *call
	st     *store.Store
	record thread.Merge
	// recorded says that the merge is pending in the store, looking that it is
	// only looked at.
	recorded, looking bool
	stage             *store.Stage
	set               scope.Set
	g                 *gathering
	plan              *merge.Plan
	settings          settings
	digest            thread.BlobID     // of the plan, where a person approves it
	agreed            thread.ApprovalID // what the person at the terminal said yes to
	approval          *mergeApproval    // as it was when the store was last looked at
	outdated          []string          // edited marker files that do not fit what the sides are now
}

func runMerge(c *call) (Data, error) {
	c.require("sources", "target")
	sources := c.parts("sources")
	for i, source := range sources {
		switch {
		case source == c.text("target"):
			c.fault("--sources", source, "--sources names the target: a thread cannot be merged into itself")
		case slices.Contains(sources[:i], source):
			c.fault("--sources", source, "--sources names "+quoted(source)+" twice")
		}
	}
	m := &merging{c: c, set: c.scope(), record: thread.Merge{
		Strategy: thread.Strategy(c.text("conflict-strategy")), Validate: c.text("validate"), RequireApproval: c.on("require-approval"),
	}}
	if m.record.Strategy == "" {
		m.record.Strategy = thread.Interactive
	}
	m.record.Scope = m.set.Strings()
	c.checkCommands()
	if err := c.usage(); err != nil {
		return nil, err
	}
	var err error
	if m.st, err = c.store(); err != nil {
		return nil, err
	}
	if err := c.safeScope(thread.ThreadID(c.text("target"))); err != nil {
		return nil, err
	}
	if first, ok, err := answered[mergeData](c); ok || err != nil {
		return first, err
	}
	if m.settings, err = c.settings(m.st); err != nil {
		return nil, err
	}
	if c.on("dry-run") {
		return m.dryRun(c.text("target"), sources)
	}
	data, err := m.begin(c.text("target"), sources)
	return data, m.stillPending(err)
}

// stillPending is T904 with the merge that stays pending, where it is recorded; any
// other error is left as it is.
func (m *merging) stillPending(err error) error {
	if !m.recorded || !codes.Has(err, codes.Interrupted) {
		return err
	}
	id := string(m.record.ID)
	return codes.Of(err).With(fact.Of("mergeId", m.record.ID)).
		WithHint("The merge stays pending with what was decided so far; its target is as it was").
		WithNext("leslie merge status "+id, "leslie merge continue "+id)
}

// find finds the threads, and refuses a target that already waits.
func (m *merging) find(target string, sources []string) (parties, error) {
	var p parties
	_, err := m.c.view(func(s *thread.State) (err error) {
		find := func() (thread.MergeParties, error) { return s.Parties(target, sources) }
		if m.looking {
			find = func() (thread.MergeParties, error) { return s.PartiesOf(m.record) }
		}
		found, err := find()
		if err != nil {
			return err
		}
		if p = partiesOf(s, found); m.recorded {
			m.approval = approvalOfMerge(s, m.record)
			return nil
		}
		return s.NoPendingMerge(p.Target.ID)
	})
	if err == nil {
		m.record.Target = p.Target.ID
		m.record.Sources = nil
		for _, t := range p.Sources {
			m.record.Sources = append(m.record.Sources, t.ID)
		}
	}
	return p, err
}

// makePlan plans from what the threads hold now and the decisions so far: all of
// it as it stood at one moment, but for what people and agents save.
func (m *merging) makePlan(sh shelf) error {
	return m.c.settled(m.st, func() error { return m.planOn(sh) }, append(slices.Clone(m.record.Sources), m.record.Target)...)
}

func (m *merging) planOn(sh shelf) error {
	p, err := m.find(string(m.record.Target), namesOf(m.record.Sources))
	if err != nil {
		return err
	}
	if m.g, err = m.c.gatherMerge(m.st, sh, p, m.set); err != nil {
		return err
	}
	if m.g.input.Decisions, err = m.decisions(sh); err != nil {
		return err
	}
	m.plan, err = m.g.plan()
	return err
}

func (m *merging) decisions(sh shelf) (map[string]merge.Decision, error) {
	out := map[string]merge.Decision{}
	for key, d := range m.record.Decisions {
		made := merge.Decision{Take: d.Take, How: d.How}
		if d.Text != "" {
			text, err := sh.read(string(d.Text))
			if err != nil {
				return nil, err
			}
			made.Text = text
		}
		out[key] = made
	}
	return out, nil
}

func (m *merging) dryRun(target string, sources []string) (Data, error) {
	if _, err := m.find(target, sources); err != nil {
		return nil, err
	}
	if err := m.makePlan(looseShelf{m.st, map[string]place{}}); err != nil {
		return nil, err
	}
	return m.answer("planned"), nil
}

// begin plans, and commits or asks.
func (m *merging) begin(target string, sources []string) (Data, error) {
	if _, err := m.find(target, sources); err != nil {
		return nil, err
	}
	if m.record.Strategy == thread.Strict {
		if err := m.stopAtConflict(); err != nil {
			return nil, err
		}
	}
	defer m.close()
	if err := m.replan(); err != nil {
		return nil, err
	}
	if m.idle() {
		return m.answer("nothing_to_do"), nil
	}
	return m.finish()
}

// stopAtConflict is T301 for a merge with a conflict. It plans as a reader does,
// so that not even a blob is left behind.
func (m *merging) stopAtConflict() error {
	if err := m.makePlan(looseShelf{m.st, map[string]place{}}); err != nil || m.plan.Open() == 0 {
		return err
	}
	return m.conflictError()
}

// idle reports whether the target holds already what the plan leads to.
func (m *merging) idle() bool {
	return !slices.ContainsFunc(m.plan.Files, func(f merge.Change) bool { return !f.Idle() })
}

// waits is the answer of a merge that stays pending: T301.
func (m *merging) waits() (Data, error) {
	d := m.answer("pending")
	d.SetChanged(m.c.changed)
	return d, m.conflictError()
}

// waitsForApproval is the answer of a merge that a person has to approve, or has
// refused: it stays pending.
func (m *merging) waitsForApproval(err error) (Data, error) {
	if !m.recorded {
		return nil, err
	}
	d := m.answer("pending")
	d.SetChanged(m.c.changed)
	return d, err
}

func (m *merging) openStage() (err error) {
	if m.stage == nil {
		m.stage, err = m.st.Stage(m.c.stamp().Operation)
	}
	return err
}

// close ends the stage: nothing that was staged stands.
func (m *merging) close() {
	m.c.endStage(m.stage, false)
	m.stage = nil
}

// keep ends the stage of an operation that stands.
func (m *merging) keep() {
	m.c.endStage(m.stage, true)
	m.stage = nil
}

// answer is the merge as data.
func (m *merging) answer(status string) *mergeData {
	d := &mergeData{Status: status, Target: m.record.Target, Sources: m.record.Sources, Strategy: m.record.Strategy,
		Files: []mergeFile{}, Conflicts: []merge.Conflict{}, MergeID: orNull(m.record.ID), Declined: m.record.Declined,
		RequireApproval: m.record.RequireApproval, Approval: m.approval}
	if m.plan != nil {
		for _, f := range m.plan.Files {
			d.Files = append(d.Files, mergeFile{f.Path, f.How})
		}
		d.Conflicts = m.disputes()
		d.Unresolved = m.plan.Open()
		d.Resolved = len(m.plan.Conflicts) - d.Unresolved
	}
	if m.recorded && status == "pending" {
		for path := range m.record.Work {
			d.Work = append(d.Work, workPath(m.record.ID, path))
		}
		slices.Sort(d.Work)
	}
	return d
}

func (m *merging) disputes() []merge.Conflict {
	out := append([]merge.Conflict{}, m.plan.Conflicts...)
	for i := range out {
		out[i].MergeID = string(m.record.ID)
	}
	return out
}

// maxConflictBytes is how much of the conflicts an error carries.
const maxConflictBytes = 32 << 10

// conflictError is T301 with the conflicts that are open.
func (m *merging) conflictError() error {
	var open []merge.Conflict
	size, truncated := 0, false
	for _, d := range m.disputes() {
		if d.Status != merge.Unresolved {
			continue
		}
		raw, _ := marshal(d)
		if size += len(raw); size > maxConflictBytes {
			truncated = true
			break
		}
		open = append(open, d)
	}
	total := m.plan.Open()
	facts := []fact.Fact{fact.Of("count", total)}
	if m.recorded {
		facts = append(facts, fact.Of("mergeId", m.record.ID))
	}
	facts = append(facts, fact.Of("target", m.record.Target), fact.Of("conflicts", open), fact.Of("total", total), fact.Of("truncated", truncated))
	err := codes.MergeConflict.New(facts...)
	if !m.recorded {
		return err.WithHint("Use --conflict-strategy interactive, agent-first or human, which keep the merge until it is resolved").
			WithNext("leslie merge --sources " + joinedBare(m.record.Sources) + " --target " + string(m.record.Target) + " --dry-run")
	}
	id := string(m.record.ID)
	if len(m.outdated) > 0 {
		path := m.outdated[0]
		return err.With(fact.Of("outdated", m.outdated)).
			WithHint("A side changed "+path+" after its file with markers was written, where you edited it: decide its conflicts one by one, or take the file as you have it with --file "+workPath(m.record.ID, path)).
			WithNext("leslie merge status "+id, "leslie merge resolve "+id+" "+shellQuote(path)+" --file "+shellQuote(workPath(m.record.ID, path)))
	}
	return err.WithHint("Resolve each with leslie merge resolve "+id+" CONFLICT "+m.ways()+", then leslie merge continue "+id).
		WithNext("leslie merge status "+id, "leslie merge list")
}

// ways are those in which every open conflict can be resolved, and the files with
// markers where there are such.
func (m *merging) ways() string {
	var takes []string
	text, marked := true, false
	for _, d := range m.disputes() {
		if d.Status != merge.Unresolved {
			continue
		}
		if takes == nil {
			takes = d.Takes()
		}
		takes = slices.DeleteFunc(takes, func(take string) bool { return d.Fits(take) != nil })
		text = text && d.Fits(merge.TakeText) == nil
		marked = marked || m.record.Work[d.Path] != ""
	}
	out := "--take " + strings.Join(takes, "|")
	if text {
		out += " or --file F"
	}
	if marked {
		out += ", or edit the files under " + workPath(m.record.ID, "")
	}
	return out
}

func joinedBare[T ~string](ids []T) string { return strings.ReplaceAll(joined(ids), ", ", ",") }

func namesOf[T ~string](ids []T) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}

// workPath is where a merge's marker files lie, from the project's root.
func workPath(id thread.MergeID, path string) string {
	return store.Dir + "/" + workPlace(id) + "/" + path
}

func workPlace(id thread.MergeID) string { return store.MergesDir + "/" + string(id) + "/work" }

// recordPending keeps the merge before anybody is asked, so that a caller who is
// cut off finds it again; for editors, files with markers. also, when there is
// any, belongs to the same operation.
func (m *merging) recordPending(also func(s *thread.State, stamp thread.Stamp) error) error {
	m.c.hear()
	work, err := m.stageWork()
	if err != nil {
		return err
	}
	if err := m.c.relyOn(m.stage); err != nil {
		return err
	}
	m.record.Work = work
	commit, err := m.update(func(s *thread.State, stamp thread.Stamp) error {
		rec := m.record
		rec.ID = thread.MergeID(m.c.newMergeID(s))
		rec, err := s.BeginMerge(rec, stamp)
		if err != nil {
			return err
		}
		if len(work) > 0 {
			s.Plan(thread.Step{Do: thread.StepPlace, From: m.stage.Rel("work"), To: workPlace(rec.ID)})
		}
		m.record = rec
		if also != nil {
			return also(s, stamp)
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.recorded = true
	m.c.warnings.Add(commit.Warnings...)
	m.keep()
	return nil
}

func (c *call) newMergeID(s *thread.State) string {
	for {
		id := c.env.newID(thread.PrefixMerge)
		if _, taken := s.Merges.Peek(id); !taken {
			return id
		}
	}
}

// stageWork renders what is open for editors.
func (m *merging) stageWork() (map[string]thread.BlobID, error) {
	out := map[string]thread.BlobID{}
	for _, f := range m.plan.Files {
		if f.Open == 0 || f.Merge == nil {
			continue
		}
		text := f.Marked(m.plan.Conflicts).Text
		if err := m.stage.Write("work/"+f.Path, text, f.Before.Executable); err != nil {
			return nil, err
		}
		id, err := m.stage.Put(text)
		if err != nil {
			return nil, err
		}
		out[f.Path] = id
	}
	return out, nil
}

// update is one operation on the way of a merge; a merge may take several, each
// with a stamp of its own.
func (m *merging) update(rule func(s *thread.State, stamp thread.Stamp) error) (store.Commit, error) {
	request := m.c.storeCall()
	request.Request = "" // kept for the last one alone
	commit, err := m.c.update(m.st, request, func(s *thread.State) (store.Outcome, error) {
		return store.Outcome{Thread: m.record.Target}, rule(s, request.Stamp)
	})
	if err == nil {
		m.c.revision = &commit.Revision
		m.c.changed = m.c.changed || commit.Changed
		m.c.stamped = nil
	}
	return commit, err
}

// tries is how often a merge is planned anew because the target moved.
const tries = 3

// errMoved says that the target is not what was planned.
var errMoved = errors.New("the target changed since the merge was planned")

// finish asks about what is open and applies the plan when nothing is; else the
// merge stays pending. When the target changed meanwhile the merge is planned again,
// decisions kept, and what is open then is asked about in the same way.
func (m *merging) finish() (Data, error) {
	for range tries {
		if err := m.settle(); err != nil {
			return nil, err
		}
		if m.plan.Open() > 0 {
			return m.waits()
		}
		data, err := m.apply()
		if !errors.Is(err, errMoved) {
			return data, err
		}
		if err := m.replan(); err != nil {
			return nil, err
		}
	}
	return nil, m.stale()
}

// settle asks about what is open, once the merge is recorded; under strict nothing
// is: T301.
func (m *merging) settle() error {
	if m.plan.Open() == 0 {
		return nil
	}
	if !m.recorded {
		if m.record.Strategy == thread.Strict {
			return m.conflictError()
		}
		if err := m.recordPending(nil); err != nil {
			return err
		}
	}
	return m.ask()
}

// stale is T304.
func (m *merging) stale() error {
	err := codes.MergeStale.New(fact.Of("target", m.record.Target), fact.Of("attempts", tries))
	if m.recorded {
		return err.With(fact.Of("mergeId", m.record.ID))
	}
	return err.WithHint("Merge again").WithNext("leslie artifacts " + string(m.record.Target))
}

// apply validates, stages and commits the plan.
func (m *merging) apply() (Data, error) {
	if err := m.openStage(); err != nil {
		return nil, err
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	if err := m.allowed(); err != nil {
		return m.waitsForApproval(err)
	}
	if err := m.openStage(); err != nil { // whoever asked has ended it
		return nil, err
	}
	changes := m.changes()
	if err := changes.Stage(m.c.ctx, m.stage, "result", m.stored()); err != nil {
		return nil, err
	}
	replaced, err := changes.PutList(m.stage)
	if err != nil {
		return nil, err
	}
	shares, err := m.shares(replaced)
	if err != nil {
		return nil, err
	}
	if err := m.c.relyOn(m.stage); err != nil {
		return nil, err
	}
	data, err := write(m.c, func(s *thread.State, stamp thread.Stamp) (*mergeData, thread.ThreadID, error) {
		return m.rule(s, stamp, changes, shares)
	})
	if err != nil {
		return nil, err
	}
	m.keep()
	m.c.warnAutoResolved(m)
	m.c.warnSaved(m.st, changes, "the merged text")
	return data, nil
}

// rule is the commit, under the lock.
func (m *merging) rule(s *thread.State, stamp thread.Stamp, changes app.ChangeSet, shares []thread.Share) (*mergeData, thread.ThreadID, error) {
	if m.agreed != "" {
		if _, _, err := s.DecideGrant(string(m.agreed), thread.Approve, "", stamp); err != nil {
			return nil, "", err
		}
	}
	if err := m.mayApply(s, stamp.Time); err != nil {
		return nil, "", err
	}
	steps := changes.Steps(m.stage, "result")
	if m.recorded {
		if _, err := s.EndMerge(string(m.record.ID), "the merge was applied", stamp); err != nil {
			return nil, "", err
		}
		steps = append(steps, thread.Step{Do: thread.StepRemove, To: store.MergesDir + "/" + string(m.record.ID)})
	} else if err := s.NoPendingMerge(m.record.Target); err != nil {
		return nil, "", err
	}
	moved, err := changes.Moved(m.st)
	if err != nil {
		return nil, "", err
	}
	if len(moved) > 0 {
		return nil, "", errMoved
	}
	if _, err := s.RecordMerge(m.record.Target, shares, stamp); err != nil {
		return nil, "", err
	}
	s.Plan(steps...)
	return m.answer("merged"), m.record.Target, nil
}

// changes are what the plan does to its paths. Where no file was and none comes,
// nothing can be lost, and what stands in the way there is no change.
func (m *merging) changes() app.ChangeSet {
	out := app.ChangeSet{Thread: m.record.Target}
	for _, f := range m.plan.Files {
		change := app.FileChange{Path: f.Path, Before: thread.BlobID(f.Before.Hash), WasExecutable: f.Before.Executable}
		switch {
		case f.Idle() && !f.Before.There():
			continue
		case f.Idle():
			change.After, change.Executable = change.Before, change.WasExecutable
		case !f.Deletes():
			change.After, change.Executable = thread.BlobID(f.After.Hash), f.After.Executable
		}
		out.Files = append(out.Files, change)
	}
	return out
}

// content is what a change gives its path.
func (m *merging) content(f merge.Change) ([]byte, error) {
	if f.Content != nil {
		return f.Content, nil
	}
	return m.g.input.Read(f.After.Hash)
}

// stored returns what a path gets, which becomes a blob.
func (m *merging) stored() func(app.FileChange) ([]byte, error) {
	planned := map[string]merge.Change{}
	for _, f := range m.plan.Files {
		planned[f.Path] = f
	}
	return func(change app.FileChange) ([]byte, error) {
		content, err := m.content(planned[change.Path])
		if err == nil {
			_, err = m.stage.Put(content)
		}
		return content, err
	}
}

// shares are what target and sources have in common once the merge is applied.
func (m *merging) shares(undo thread.BlobID) ([]thread.Share, error) {
	var out []thread.Share
	for _, s := range m.g.sources {
		id, err := m.stage.PutManifest(s.manifest)
		if err != nil {
			return nil, err
		}
		out = append(out, thread.Share{With: s.ID, Manifest: id, Scope: m.record.Scope, How: "merge", Undo: undo})
	}
	return out, nil
}

// warnAutoResolved is W301 for conflicts that were settled without a person.
func (c *call) warnAutoResolved(m *merging) {
	by := map[string]int{}
	for _, d := range m.plan.Conflicts {
		if d.How != "" && d.How != string(thread.User) {
			by[d.How]++
		}
	}
	for _, how := range sortedKeys(by) {
		c.warnings.Add(warnings.AutoResolved.NewFilled(fact.List{fact.Of("count", by[how])}, fact.Of("mergeId", string(m.record.ID)), fact.Of("how", how)))
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// defaultAgentTimeout is how long an agent, or a validator, may take.
const defaultAgentTimeout = 300 * time.Second
