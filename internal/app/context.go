package app

import (
	"path/filepath"
	"time"

	"leslie/store"
	"leslie/thread"
)

// ContextRequest asks for the context of a thread's agent.
type ContextRequest struct {
	Thread string // "": the thread that the caller speaks for
}

// ContextResult has what a thread's agent needs to know, for a block in its prompt.
type ContextResult struct {
	Thread    thread.Thread       `json:"thread"`
	Objective string              `json:"objective"` // its title
	DependsOn []ContextDependency `json:"dependsOn"`
	Requested []thread.Approval   `json:"requested"` // nobody has decided them
	Granted   []thread.Approval   `json:"granted"`
	Resumable bool                `json:"resumable"`
	Folder    string              `json:"folder"` // from the project's root
	Files     []ContextFile       `json:"files"`
	Code      *ContextCode        `json:"code,omitempty"` // nil if the thread owns none
	// Moved has what the thread builds on and has changed since.
	Moved []ContextMoved `json:"moved,omitempty"`
	// References has the thread's direct references.
	References []ContextReference `json:"references"`
	// Comments has the open comments on the thread.
	Comments []CommentRecord `json:"comments,omitempty"`
	ContextRelations
	// Speaks: the caller is an agent that speaks for the thread, so the injections
	// that it is shown count as seen (MarkSeen).
	Speaks bool      `json:"speaks"`
	At     time.Time `json:"at"` // of the look

	builtOn  []thread.BuiltOn
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
	// Folder is where to work, absolute: the project's folder in the worktree.
	Folder string  `json:"folder"`
	Target *string `json:"target"` // the branch from which it started, null for a commit
	Start  string  `json:"start"`
}

// contextCode returns what is recorded of a thread's code, nil for none.
func contextCode(c *Call, t thread.Thread) *ContextCode {
	code := t.OwnedCode()
	if code == nil {
		return nil
	}
	return &ContextCode{
		State: code.State, Branch: t.Branch, Folder: workFolder(c, filepath.Dir(code.Repo), worktreeDir(c, t)),
		Target: orNull(branchOf(code.Target)), Start: code.Start,
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
}

// Context collects what a thread's agent needs to know. If a reference cannot be read,
// its entry says so: an incomplete context is better than none. Errors: T101, T105,
// T507, T509, those of reading.
func Context(c *Call, in ContextRequest) (*ContextResult, error) {
	c.readOnly()
	id := c.threadOr(in.Thread)
	d := &ContextResult{At: c.now()}
	policy := policyOf(c)
	var children []comparedVersions
	_, err := c.view(func(s *thread.State) error {
		err := d.gather(c, s, id)
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
	entries, err := listArtifacts(c, d.Thread.ID)
	if err != nil {
		return nil, err
	}
	d.Folder, d.Files, d.Code = threadPath(d.Thread.ID), contextFiles(entries), contextCode(c, d.Thread)
	d.Moved = moved(c, d.Thread, d.builtOn)
	for i := range d.References {
		d.References[i].read(c)
	}
	d.changedLive(c, d.References)
	d.Comments = located(c, d.comments)
	return d, nil
}

// gather collects what the State knows.
func (d *ContextResult) gather(c *Call, s *thread.State, id string) error {
	t, err := s.Thread(id)
	if err != nil {
		return err
	}
	refs, err := referencesFrom(s, t)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		d.References = append(d.References, ContextReference{Reference: ref})
	}
	d.Thread, d.Resumable, d.builtOn = t, s.Resumable(t), s.BuiltOn(t)
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
	c.warn(thread.ReopenedAmong(s.ReopenedBelow(t))...)
	d.Speaks = isOwnAgent(c, s, t.ID)
	return nil
}

func (r *ContextReference) read(c *Call) {
	r.Folder = threadPath(r.Target)
	if r.Binding == thread.Frozen {
		r.Folder = store.Dir + "/" + frozenPlace(r.From, r.ID)
	}
	r.Reference = resolvedNow(c, r.Reference)
	if !r.Resolved {
		r.Problem = "the target could not be resolved"
		return
	}
	entries, err := readableThrough(c, r.Reference)
	if err != nil {
		r.Problem = "cannot be read: " + err.Error()
		return
	}
	r.Files, r.entries = contextFiles(entries), entries
	r.Stale = changedTarget(c, r.Reference)
}

func contextFiles(entries []store.Entry) []ContextFile {
	var out []ContextFile
	for _, e := range entries {
		if e.Type == store.TypeFile {
			out = append(out, ContextFile{e.Path, e.Size})
		}
	}
	return out
}

// seenTimeout is how long MarkSeen waits for the lock.
const seenTimeout = time.Second

// seenCommand is the operation by which MarkSeen records what was read.
const seenCommand = "seen"

// MarkSeen records, after Context, which injections the thread's agent has been shown.
// It is an operation of the system, because Context only reads. If it cannot be
// written, the next context shows the injections again. An answer that shows all of
// them does not say that messages wait.
func MarkSeen(c *Call, id thread.ThreadID, shown []thread.InjectionID) {
	all, marked := len(shown) >= c.unread.Count, false
	c.request.LockTimeout, c.request.Waiting = seenTimeout, nil
	by := thread.Stamp{Time: c.now(), As: c.caller.As, Actor: c.caller.Actor}
	commit, err := c.system(seenCommand, by.Time, func(s *thread.State, _ thread.Stamp) thread.ThreadID {
		if s.Limited(string(id)) != nil {
			return "" // its agent changes nothing until a person has looked
		}
		_, _ = s.See(string(id), shown, by) // what is gone was seen by nobody
		noteMessages(c, s)
		marked = true
		return id
	})
	if all && !marked {
		c.notices = nil
	}
	// If nothing came in between, the caller knows this revision, so its next Expect
	// must not fail because of it.
	if err == nil && commit.Changed && c.revision != nil && commit.Revision == *c.revision+1 {
		c.revision = &commit.Revision
	}
}
