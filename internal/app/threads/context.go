package threads

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/code"
	"leslie/internal/app/merges"
	"leslie/store"
	"leslie/thread"
)

// ContextRequest asks for the context of a thread's agent.
type ContextRequest struct {
	Thread string // "": the thread that the caller speaks for
	// Unnamed: nobody named Thread; it is that of the folder or of the environment.
	Unnamed bool
}

// ContextResult has what a thread's agent needs to know, for a block in its prompt.
type ContextResult struct {
	Thread    thread.Thread       `json:"thread"`
	Objective string              `json:"objective"` // its title
	DependsOn []ContextDependency `json:"dependsOn"`
	Requested []thread.Approval   `json:"requested"` // nobody has decided them
	Granted   []thread.Approval   `json:"granted"`
	Resumable bool                `json:"resumable"`
	// Claim is the claim on it, nil for none.
	Claim  *app.ClaimRecord `json:"claim,omitempty"`
	Folder string           `json:"folder"` // from the project's root
	Files  []ContextFile    `json:"files"`
	Code   *ContextCode     `json:"code,omitempty"` // nil if the thread owns none
	// Moved has what the thread builds on and has changed since.
	Moved []merges.ContextMoved `json:"moved,omitempty"`
	// References has the thread's direct references.
	References []ContextReference `json:"references"`
	// Comments has the open comments on the thread.
	Comments []CommentRecord `json:"comments,omitempty"`
	// Progress is the end of the progress file of a thread that somebody else had before; nil if there is none.
	Progress *Progress `json:"progress,omitempty"`
	ContextRelations
	// Speaks: the caller is an agent that speaks for the thread, so the injections
	// that it is shown count as seen (MarkSeen).
	Speaks bool      `json:"speaks"`
	At     time.Time `json:"at"` // of the look
	// EndedByOther: somebody else ended the thread of the agent that asks, or cancelled it.
	EndedByOther bool `json:"-"`

	builtOn  []thread.BuiltOn
	codeOn   []thread.Thread
	landsIn  string // where its code lands, if that is no thread's branch
	comments []thread.Comment
}

// ContextDependency is a thread that the thread depends on.
type ContextDependency struct {
	ID     thread.ThreadID `json:"threadId"`
	Status thread.Status   `json:"status"`
}

// ContextCode says where the thread's agent works on code. It is what is recorded.
type ContextCode struct {
	State  thread.CodeState `json:"state"`
	Branch string           `json:"branch"`
	// Folder is where to work, absolute: the project's folder in the worktree; "" if that is on
	// another machine, Machine.
	Folder  string `json:"folder"`
	Machine string `json:"machine,omitempty"`
	// Left is what this machine alone has of code that is on another one; nil for nothing.
	Left   *app.CodeLeft `json:"left,omitempty"`
	Target *string       `json:"target"` // the branch from which it started, null for a commit
	Start  string        `json:"start"`
	// Moved says that the repository is not where it was, and which line records where it is.
	Moved string `json:"moved,omitempty"`
	// FailedChecks has how the checks of done ended that failed when they last ran.
	FailedChecks []thread.CodeEvidence `json:"failedChecks,omitempty"`
	// Changes is how much the thread changed; nil if git cannot say it soon.
	Changes *app.CodeAmount `json:"changes,omitempty"`
	// Commits has the subjects of the newest of them, if somebody else had the thread before.
	Commits []string `json:"commits,omitempty"`
	// Behind has the threads on whose code this one builds, with commits that it lacks.
	Behind []code.BehindItem `json:"behind,omitempty"`
}

// contextCode returns what is recorded of a thread's code, nil for none.
func contextCode(c *app.Call, t thread.Thread) *ContextCode {
	owned := t.OwnedCode()
	if owned == nil {
		return nil
	}
	if owned.State == thread.CodeElsewhere {
		return &ContextCode{State: owned.State, Branch: t.Branch, Machine: owned.Machine, Target: app.OrNull(app.BranchOf(owned.Target)), Start: owned.Start}
	}
	state := owned.State
	if state == thread.CodeReady && code.FolderMissing(code.WorktreeDir(c, t)) {
		state = thread.CodeLost
	}
	var moved string
	if code.FolderMissing(owned.Repo) && c.Project().Machine() == "" { // else it may be another machine's
		state, moved = thread.CodeLost, code.RepoMovedText(owned.Repo)
	}
	return &ContextCode{
		Moved: moved, State: state, Branch: t.Branch, Folder: code.WorkFolder(c, filepath.Dir(owned.Repo), code.WorktreeDir(c, t)),
		Target: app.OrNull(app.BranchOf(owned.Target)), Start: owned.Start, FailedChecks: owned.FailedChecks(),
	}
}

// ContextReference is a reference with its readable files.
type ContextReference struct {
	thread.Reference
	Folder  string        `json:"folder"` // from the project's root
	Files   []ContextFile `json:"files"`
	Problem string        `json:"problem,omitempty"` // why there are none
	// Stale has what has changed in the target since the reference was frozen.
	Stale []string `json:"stale,omitempty"`

	entries []store.Entry
}

// ContextFile is an artifact.
type ContextFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	// Inherited: the thread began with a file of that name, from its parent.
	Inherited bool `json:"inherited,omitempty"`
	// VersionOf is the file of which it is the version of another machine, which could not be merged.
	VersionOf string `json:"versionOf,omitempty"`
}

// Context collects what a thread's agent needs to know. If a reference cannot be read,
// its entry says so: an incomplete context is better than none. Errors: T101, T105,
// T507, T509, those of reading.
func Context(c *app.Call, in ContextRequest) (*ContextResult, error) {
	c.ReadOnly()
	id := c.ThreadOr(in.Thread)
	d := &ContextResult{At: c.Now()}
	policy := policyOf(c)
	var children []app.ComparedVersions
	_, err := c.View(func(s *thread.State) error {
		err := d.gather(c, s, id)
		if err == nil && in.Unnamed {
			warnOtherHeld(c, s, d.Thread)
		}
		if err == nil {
			children = d.relate(c, s, d.Thread, policy)
		}
		return err
	})
	if err == nil {
		err = d.compared(c, d.Thread.ID, children)
	}
	if err != nil {
		return nil, err
	}
	entries, missing, err := artifacts.ShownArtifacts(c, d.Thread.ID)
	if err != nil {
		return nil, err
	}
	d.FolderMissing = missing
	d.Folder, d.Files, d.Code = app.ThreadPath(d.Thread.ID), contextFiles(entries), contextCode(c, d.Thread)
	d.markInherited(c)
	d.enforced(c, d.Thread)
	d.Moved = merges.Moved(c, d.Thread, d.builtOn)
	if d.Code != nil {
		d.Code.Behind = code.Behind(c, d.Thread, d.codeOn, d.landsIn)
		aside := code.LookAside(c, d.Thread)
		if left := aside.LeftHere(); len(left) > 0 {
			d.Code.Left = &left[0]
		}
		aside.End()
	}
	d.measure(c)
	for i := range d.References {
		d.References[i].read(c)
	}
	d.changedLive(c, d.References)
	d.Comments = located(c, d.comments)
	if d.Thread.HandedOver(d.At) != nil {
		d.Progress = progressOf(c, d.Thread.ID, d.Files)
	}
	return d, nil
}

// markInherited marks the files with which the thread began.
func (d *ContextResult) markInherited(c *app.Call) {
	share, ok := d.Thread.Inherited()
	if !ok {
		return
	}
	m, err := c.Store().Manifest(share.Manifest)
	if err != nil {
		return // nothing is marked
	}
	for i := range d.Files {
		_, d.Files[i].Inherited = m.Find(d.Files[i].Path)
	}
}

// Progress is how far whoever had a thread before says that it is: the end of its progress file.
type Progress struct {
	Path  string   `json:"path"`
	Lines []string `json:"lines"`
}

// progressLines is how many lines of a progress file whoever takes a thread over is shown.
const progressLines = 8

// progressOf returns the end of a thread's progress.md, or of its progress-ID.md; nil if it has neither, or
// nothing is in it that can be read.
func progressOf(c *app.Call, id thread.ThreadID, files []ContextFile) *Progress {
	for _, path := range []string{"progress.md", "progress-" + string(id) + ".md"} {
		if !slices.ContainsFunc(files, func(f ContextFile) bool { return f.Path == path }) {
			continue
		}
		data, err := c.Store().ReadArtifact(id, path)
		if err != nil || !utf8.Valid(data) {
			continue
		}
		lines := slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
		if len(lines) > 0 {
			return &Progress{path, lines[max(0, len(lines)-progressLines):]}
		}
	}
	return nil
}

// measure asks git how much the thread and its children changed in code.
func (d *ContextResult) measure(c *app.Call) {
	var ids []thread.ThreadID
	if d.Code != nil && d.Code.State == thread.CodeReady {
		ids = append(ids, d.Thread.ID)
	}
	for _, child := range d.Children {
		if child.hasCode {
			ids = append(ids, child.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	amounts := code.AmountsOf(c, ids...)
	if d.Code != nil {
		d.Code.Changes = amounts[d.Thread.ID]
		if len(d.Thread.Handed) > 0 && d.Code.Changes != nil && d.Code.Changes.Commits > 0 {
			d.Code.Commits = code.SubjectsOf(c, d.Thread)
		}
	}
	for i := range d.Children {
		d.Children[i].Changes = amounts[d.Children[i].ID]
	}
}

// gather collects what the State knows.
func (d *ContextResult) gather(c *app.Call, s *thread.State, id string) error {
	t, err := s.Thread(id)
	if err != nil {
		return err
	}
	refs, err := artifacts.ReferencesFrom(s, t)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		d.References = append(d.References, ContextReference{Reference: ref})
	}
	d.Thread, d.Resumable, d.builtOn = t, s.Resumable(t), s.BuiltOn(t)
	d.codeOn, d.landsIn, d.Claim = s.CodeBuiltOn(t), s.LandsBeside(t), app.CurrentClaim(c, t)
	d.comments = s.OpenComments(t.ID)
	if o, ok := s.Objectives.Peek(string(t.ObjectiveID)); ok {
		d.Objective = o.Title
	}
	for _, on := range t.DependsOn {
		d.DependsOn = append(d.DependsOn, ContextDependency{on, s.StatusOf(on)})
	}
	for _, g := range s.ApprovalsOf(t.ID) {
		switch g.EffectiveAt(d.At).Status {
		case thread.GrantOpen:
			d.Requested = append(d.Requested, g)
		case thread.GrantApproved:
			d.Granted = append(d.Granted, g)
		}
	}
	c.Warn(thread.ReopenedAmong(s.ReopenedBelow(t), c.Caller().Actor)...)
	c.Warn(s.CancelledBelow(t, t.DependsOn)...)
	d.Speaks = c.IsOwnAgent(s, t.ID)
	d.EndedByOther = c.Caller().As == thread.Agent && t.EndedByOther(c.Caller().Actor) && (d.Speaks || t.Status == thread.Cancelled)
	return nil
}

func (r *ContextReference) read(c *app.Call) {
	r.Folder = app.ThreadPath(r.Target)
	if r.Binding == thread.Frozen {
		r.Folder = store.Dir + "/" + artifacts.FrozenPlace(r.From, r.ID)
	}
	r.Reference = artifacts.ResolvedNow(c, r.Reference)
	if !r.Resolved {
		r.Problem = "the target could not be resolved"
		return
	}
	entries, err := artifacts.ReadableThrough(c, r.Reference)
	if err != nil {
		r.Problem = "cannot be read: " + err.Error()
		return
	}
	r.Files, r.entries = contextFiles(entries), entries
	r.Stale = artifacts.ChangedTarget(c, r.Reference)
}

func contextFiles(entries []store.Entry) []ContextFile {
	var out []ContextFile
	for _, e := range entries {
		if e.Type == store.TypeFile {
			out = append(out, ContextFile{Path: e.Path, Size: e.Size, VersionOf: store.VersionBeside(e.Path)})
		}
	}
	return out
}

// MarkSeen records that the agent of a thread has read messages. It is an operation of
// the system, because the command that showed them only reads, and it is carried out
// although the call that showed them is over. If it cannot be written, the next context
// shows them again.
func MarkSeen(c *app.Call, shown *app.ShownMessages) {
	if shown == nil {
		return
	}
	c.Outlast(app.SeenTimeout)
	by := thread.Stamp{Time: c.Now(), As: c.Caller().As, Actor: c.Caller().Actor}
	_, _ = c.System(app.SeenCommand, by.Time, func(s *thread.State, _ thread.Stamp) thread.ThreadID {
		id := string(shown.ThreadID)
		if s.Limited(id) != nil {
			return "" // its agent changes nothing until a person has looked
		}
		_, _ = s.See(id, shown.Injections, by) // what is gone was seen by nobody
		return shown.ThreadID
	})
}
