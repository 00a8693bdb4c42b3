package threads

import (
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/code"
	"leslie/internal/app/merging"
	"leslie/store"
	"leslie/thread"
)

// SummaryRequest asks for a summary of the store.
type SummaryRequest struct {
	// Since is from when on runs that have ended are listed; the zero time: a day ago.
	Since time.Time
}

// SummaryResult is a summary of the store.
type SummaryResult struct {
	Root       string                         `json:"root"`
	Revision   thread.Revision                `json:"revision"`
	Objectives map[thread.ObjectiveStatus]int `json:"objectives"`
	Threads    thread.Counts                  `json:"threads"`
	References int                            `json:"references"`
	Pending    []thread.Step                  `json:"pending"`
	// Waiting is what waits for somebody, at most ten of a kind; WaitingMore is how many
	// further ones of a kind there are.
	Waiting     []app.WaitingItem       `json:"waiting"`
	WaitingMore map[app.WaitingKind]int `json:"waitingMore,omitempty"`
	// Held is what the caller holds.
	Held []app.WaitingItem `json:"held,omitempty"`
	// Since is the request's, of a summary that has runs. Runs has the threads whose newest run goes on, waits, or has ended
	// since then, the newest first, and RunsMore how many there are beyond mostRunLines.
	Since    time.Time `json:"since,omitzero"`
	Runs     []RunLine `json:"runs,omitempty"`
	RunsMore int       `json:"runsMore,omitempty"`
	// Loop is the process that starts the agents of whatever is ready, or one that was killed; nil
	// for none.
	Loop *RunLoopRecord `json:"loop,omitempty"`
	// NotStarted has the active threads for agents that no agent has run and nobody holds, and why, of a summary
	// that has runs or a loop; NotStartedMore how many there are beyond mostRunLines.
	NotStarted     []NotStarted `json:"notStarted,omitempty"`
	NotStartedMore int          `json:"notStartedMore,omitempty"`
	// WorktreeGone has the threads that go on and whose worktrees are not where they were.
	WorktreeGone []thread.ThreadID `json:"worktreeGone,omitempty"`
	// BranchGone has those of them whose branches are gone, too.
	BranchGone []thread.ThreadID `json:"branchGone,omitempty"`
	// Unfinished has the threads of which a call goes on, or was killed: their worktrees are being made or removed, or
	// their code has landed and they are not completed.
	Unfinished []Unfinished `json:"unfinished,omitempty"`
	// Leaving and Kept are as of leslie remote status, Kept without copies that nothing is to be done with.
	Leaving []thread.ThreadID `json:"leaving,omitempty"`
	Kept    []app.KeptCopy    `json:"kept,omitempty"`
	// LeftHere is what this machine alone has of the code of threads that are on others.
	LeftHere []app.CodeLeft `json:"leftHere,omitempty"`
	// Later is what other machines have sent of threads that did not land with them.
	Later []app.CodeLater `json:"later,omitempty"`
	// NotPushed has the branches on which threads have landed and that have to be pushed, for the others to see it.
	NotPushed []app.BranchNotPushed `json:"notPushed,omitempty"`
	// Late: git has not said in time what else lies beside the code of threads, as LeftHere, Later, NotPushed and the
	// commits of Unpublished do.
	Late bool `json:"late,omitempty"`
	// Versions has the files of the threads that the caller holds which are another machine's versions of others, and
	// could not be merged.
	Versions []OtherVersion `json:"versions,omitempty"`
	// Unpublished has the files of these threads that are not as the other machines have them, or get them, and how many
	// commits they lack.
	Unpublished []Unpublished `json:"unpublished,omitempty"`
}

// Unfinished is a thread of which a call goes on, or was killed.
type Unfinished struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Reason   string          `json:"reason"` // and the line that finishes it
}

// Unpublished is a thread with files that the other machines have otherwise, or not, or with commits that they lack.
type Unpublished struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Paths    []string        `json:"paths"`
	Commits  int             `json:"commits,omitempty"`
}

// OtherVersion is a file that is another machine's version of one beside it.
type OtherVersion struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Path     string          `json:"path"`
	Of       string          `json:"of"`
}

// addUnpublished adds what the files and branches of threads that the caller has claimed have beyond those of other
// machines.
func (d *SummaryResult) addUnpublished(c *app.Call, aside code.Aside) {
	if c.Project().Link() == nil {
		return
	}
	var claimed []thread.ThreadID
	for _, item := range d.Held {
		if item.Kind == app.HeldClaim {
			claimed = append(claimed, item.ThreadID)
		}
	}
	commits := aside.Unsent(claimed...)
	for _, id := range claimed {
		entries, _ := c.Store().Artifacts(id) // a folder that cannot be read is named elsewhere
		for _, e := range entries {
			if of := store.VersionBeside(e.Path); of != "" {
				d.Versions = append(d.Versions, OtherVersion{id, e.Path, of})
			}
		}
		paths, _ := c.Store().Unpublished(c.Context(), id)
		if n := commits[id]; len(paths)+n > 0 {
			d.Unpublished = append(d.Unpublished, Unpublished{id, append([]string{}, paths...), n})
		}
	}
}

// Summary counts the records of the store, and lists what waits for somebody. Errors:
// those of reading.
func Summary(c *app.Call, in SummaryRequest) (*SummaryResult, error) {
	c.ReadOnly()
	d := &SummaryResult{Root: c.Project().Root()}
	var waiting *app.WaitingList
	var run, owners []thread.Thread
	v, err := c.View(func(s *thread.State) error {
		d.Objectives = map[thread.ObjectiveStatus]int{}
		counts, all := s.AllCounts()
		for _, o := range s.ObjectivesInOrder() {
			d.Objectives[o.Status(counts[o.ID])]++
		}
		d.Threads, d.References = all, s.References.Len()
		waiting, d.Held, run, owners = app.NewWaitingList(c, s), heldBy(c, s), s.ThreadsWithRun(), s.ThreadsWithCode()
		d.Leaving = c.LeavingBegan(s)
		return nil
	})
	if err == nil {
		err = dropIdle(waiting)
	}
	if err == nil {
		d.addWorktrees(c, owners)
		aside := code.LookAside(c, owners...)
		d.LeftHere, d.Later, d.NotPushed = aside.LeftHere(), aside.SentLater(), aside.NotPushed()
		d.addUnpublished(c, aside)
		d.Late = aside.End()
		d.Kept = slices.DeleteFunc(c.KeptCopies(), func(k app.KeptCopy) bool { return !k.Unfinished })
		err = d.addRuns(c, run, in.Since)
	}
	if err != nil {
		return nil, err
	}
	dropLanded(waiting)
	d.Waiting, d.WaitingMore = waiting.Items, waiting.More
	if c.ByPerson() {
		if w, tracked := code.StoreTracked(c); tracked {
			c.Warn(w)
		}
	}
	d.Revision, d.Pending = v.Revision, append([]thread.Step{}, v.Undone...)
	return d, nil
}

// StatusRequest names a thread by its id or a prefix of it.
type StatusRequest struct {
	Thread string // "": the thread that the caller speaks for
}

// StatusResult is one thread with all its relations.
type StatusResult struct {
	app.ThreadRecord
	Relations thread.Relations `json:"relations"`
	// HeldBack says why it is not ready: what it, or a thread above it, waits for.
	HeldBack []thread.Hold `json:"heldBack,omitempty"`
	// Changes is how much it changed in its code; nil if it owns none, or git cannot say it.
	Changes *app.CodeAmount `json:"changes,omitempty"`
	// Standing is how the code stands in git, as code lists it; nil as Changes.
	Standing *code.Item `json:"standing,omitempty"`
	// PersonsCheckout: leslie did not make its worktree, so no agent is offered the thread.
	PersonsCheckout bool `json:"personsCheckout,omitempty"`

	References   []artifacts.ReferenceRecord `json:"references"`
	ReferencedBy []ReferencedBy              `json:"referencedBy"`
	// Artifacts is nil where the servers have lost content of them, which is T513.
	Artifacts *app.Items[artifacts.Artifact] `json:"artifacts"`
	// Unpublished are the files that are not as the other machines have them, or get them.
	Unpublished []string `json:"unpublished,omitempty"`
	// UnpublishedCommits is how many commits the other machines lack of its branch.
	UnpublishedCommits int                   `json:"unpublishedCommits,omitempty"`
	Approvals          []app.ApprovalRecord  `json:"approvals"`
	Merges             []merging.Item        `json:"merges"`
	Injections         []app.InjectionRecord `json:"injections"`
	Checkpoints        []app.CheckpointItem  `json:"checkpoints"`
	Claim              *app.ClaimRecord      `json:"claim"`
	// Former is the claim that somebody else took over or ended, while its holder may still
	// be at work.
	Former *thread.FormerClaim `json:"former,omitempty"`
	// Handed says who had it before its holder; nil for nobody.
	Handed *thread.Handover `json:"handed,omitempty"`
	// TakenFromElsewhere is who had it on another machine when it was taken over; "" if nobody, or if
	// that machine has handed its work on since.
	TakenFromElsewhere string           `json:"takenFromElsewhere,omitempty"`
	Mistakes           *thread.Mistakes `json:"mistakes"`
	// Wakeable: it is suspended, and all its children are terminated.
	Wakeable bool `json:"wakeable"`
	// Run is the newest run of its agent, if leslie has started one, and Runs what all have used.
	Run  *app.RunRecord    `json:"run,omitempty"`
	Runs *thread.RunTotals `json:"runs,omitempty"`
}

// ReferencedBy is a reference to a thread, as that thread's status shows it.
type ReferencedBy struct {
	RefID   thread.ReferenceID `json:"refId"`
	From    thread.ThreadID    `json:"from"`
	Binding thread.Binding     `json:"binding"`
}

// Status returns one thread with all its relations; W203 for references whose
// targets have changed. Errors: T101, T105, those of reading; with T513 it returns what is known besides.
func Status(c *app.Call, in StatusRequest) (*StatusResult, error) {
	c.ReadOnly()
	id := in.Thread
	if id == "" {
		id = c.ThreadOr("")
	}
	d := &StatusResult{References: []artifacts.ReferenceRecord{}}
	var t thread.Thread
	var refs []thread.Reference
	_, err := c.View(func(s *thread.State) (err error) {
		if t, err = s.Thread(id); err != nil {
			return err
		}
		d.ThreadRecord, d.Relations = app.ThreadOf(c, t), s.RelationsOf(t)
		if owned := t.OwnedCode(); owned != nil {
			d.Code.Evidence, d.Code.Checks = owned.Evidence, owned.Checks
		}
		if !t.Status.Terminated() {
			d.HeldBack, d.PersonsCheckout = s.Readiness().Holds(t), t.PersonsCheckout()
		}
		d.ReferencedBy = []ReferencedBy{}
		for _, ref := range s.ReferencesTo(t.ID) {
			d.ReferencedBy = append(d.ReferencedBy, ReferencedBy{ref.ID, ref.From, ref.Binding})
		}
		d.Merges = merging.Pendings(s, s.MergesOf(t.ID))
		now := c.Now()
		grants, err := app.ApprovalsOf(s, t)
		if err != nil {
			return err
		}
		d.Approvals = []app.ApprovalRecord{}
		for _, g := range grants {
			d.Approvals = append(d.Approvals, app.ApprovalOf(g, now))
		}
		d.Injections, d.Checkpoints = app.InjectionsOf(t), app.CheckpointsOf(t, false)
		d.Former = t.AtWork(now)
		d.Handed, d.TakenFromElsewhere = t.HandedOver(now), t.TakenFromElsewhere(now)
		d.Claim, d.Mistakes, d.Wakeable = app.CurrentClaim(c, t), t.Mistakes, s.Resumable(t)
		if d.Run = app.LastRunOf(c, t); d.Run != nil {
			d.Runs = thread.RunsOf(t)
		}
		refs, err = artifacts.ReferencesFrom(s, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		d.References = append(d.References, artifacts.ComparedReference(c, ref))
	}
	entries, _, lost := artifacts.ShownArtifacts(c, d.ThreadID)
	if lost != nil && !codes.Has(lost, codes.RemoteDamaged) {
		return nil, lost
	}
	if lost == nil {
		shown := app.First(artifacts.ArtifactsOf(app.WithoutFolders(entries)), app.DefaultLimit)
		d.Artifacts = &shown
	}
	if c.Project().Link() != nil {
		d.Unpublished, _ = c.Store().Unpublished(c.Context(), d.ThreadID) // a folder that cannot be read is named elsewhere
		aside := code.LookAside(c, t)
		d.UnpublishedCommits = aside.Unsent(t.ID)[t.ID]
		aside.End()
	}
	if d.Code != nil {
		d.Standing, d.Changes = code.StatusOf(c, d.ThreadID)
		s, left := d.Standing, d.Code.Left
		landed, is := t.OwnedCode().LastLanded()
		with := is && t.Ended != nil && landed.At.After(t.Ended.At) // nothing lands without what is not committed
		if left != nil && (with || s != nil && s.Dirty != nil && *s.Dirty+*s.Untracked == 0) {
			now := *left
			now.Uncommitted = 0 // it was committed since, or deleted
			d.Code.Left = &now
		}
	}
	return d, lost
}
