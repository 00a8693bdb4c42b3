package app

import (
	"slices"

	"leslie/internal/app/merging"
	"leslie/store"
	"leslie/thread"
)

// SummaryRequest asks for a summary of the store.
type SummaryRequest struct{}

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
	Waiting     []WaitingItem       `json:"waiting"`
	WaitingMore map[WaitingKind]int `json:"waitingMore,omitempty"`
}

// Summary counts the records of the store, and lists what waits for somebody. Errors:
// those of reading.
func Summary(c *Call, _ SummaryRequest) (*SummaryResult, error) {
	c.readOnly()
	d := &SummaryResult{Root: c.project.root}
	var waiting *waitingList
	v, err := c.view(func(s *thread.State) error {
		d.Objectives = map[thread.ObjectiveStatus]int{}
		counts, all := s.AllCounts()
		for _, o := range s.ObjectivesInOrder() {
			d.Objectives[o.Status(counts[o.ID])]++
		}
		d.Threads, d.References = all, s.References.Len()
		waiting = newWaitingList(c, s)
		return nil
	})
	if err == nil {
		err = waiting.dropIdle()
	}
	if err != nil {
		return nil, err
	}
	d.Waiting, d.WaitingMore = waiting.items, waiting.more
	d.Revision, d.Pending = v.Revision, append([]thread.Step{}, v.Undone...)
	return d, nil
}

// ThreadStatusRequest names a thread by its id or a prefix of it.
type ThreadStatusRequest struct {
	Thread string // "": the thread that the caller speaks for
}

// ThreadStatusResult is one thread with all its relations.
type ThreadStatusResult struct {
	ThreadRecord
	Relations    thread.Relations  `json:"relations"`
	References   []ReferenceRecord `json:"references"`
	ReferencedBy []ReferencedBy    `json:"referencedBy"`
	Artifacts    Items[Artifact]   `json:"artifacts"`
	Approvals    []ApprovalRecord  `json:"approvals"`
	Merges       []merging.Item    `json:"merges"`
	Injections   []InjectionRecord `json:"injections"`
	Checkpoints  []CheckpointItem  `json:"checkpoints"`
	Claim        *ClaimRecord      `json:"claim"`
	Mistakes     *thread.Mistakes  `json:"mistakes"`
	// Wakeable: it is suspended, and all its children are terminated.
	Wakeable bool `json:"wakeable"`
	// Run is the newest run of its agent, if leslie has started one, and Runs what all have used.
	Run  *RunRecord        `json:"run,omitempty"`
	Runs *thread.RunTotals `json:"runs,omitempty"`
}

// ReferencedBy is a reference to a thread, as that thread's status shows it.
type ReferencedBy struct {
	RefID   thread.ReferenceID `json:"refId"`
	From    thread.ThreadID    `json:"from"`
	Binding thread.Binding     `json:"binding"`
}

// ThreadStatus returns one thread with all its relations; W203 for references whose
// targets have changed. Errors: T101, T105, those of reading.
func ThreadStatus(c *Call, in ThreadStatusRequest) (*ThreadStatusResult, error) {
	c.readOnly()
	id := in.Thread
	if id == "" {
		id = c.threadOr("")
	}
	d := &ThreadStatusResult{References: []ReferenceRecord{}}
	var refs []thread.Reference
	_, err := c.view(func(s *thread.State) error {
		t, err := s.Thread(id)
		if err != nil {
			return err
		}
		d.ThreadRecord, d.Relations = threadOf(c, t), s.RelationsOf(t)
		if code := t.OwnedCode(); code != nil {
			d.Code.Evidence = code.Evidence
		}
		d.ReferencedBy = []ReferencedBy{}
		for _, ref := range s.ReferencesTo(t.ID) {
			d.ReferencedBy = append(d.ReferencedBy, ReferencedBy{ref.ID, ref.From, ref.Binding})
		}
		d.Merges = merging.Pendings(s, t.ID)
		now := c.now()
		grants, err := approvalsOf(s, t)
		if err != nil {
			return err
		}
		d.Approvals = []ApprovalRecord{}
		for _, g := range grants {
			d.Approvals = append(d.Approvals, approvalOf(g, now))
		}
		d.Injections, d.Checkpoints = injectionsOf(t), checkpointsOf(t, false)
		d.Claim, d.Mistakes, d.Wakeable = currentClaim(t, now), t.Mistakes, s.Resumable(t)
		if run := t.LastRun(); run != nil {
			r := runOf(*run)
			d.Run, d.Runs = &r, thread.RunsOf(t)
		}
		refs, err = referencesFrom(s, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		d.References = append(d.References, comparedReference(c, ref))
	}
	entries, err := listArtifacts(c, d.ThreadID)
	if err != nil {
		return nil, err
	}
	d.Artifacts = First(artifactsOf(filesOf(entries)), DefaultLimit)
	return d, nil
}

// filesOf leaves out folders, because their files imply them.
func filesOf(entries []store.Entry) []store.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e store.Entry) bool { return e.Type == store.TypeFolder })
}
