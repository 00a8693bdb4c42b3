package main

import (
	"strconv"
	"time"

	"leslie/store"
	"leslie/thread"
)

// summaryData is status without an operand.
type summaryData struct {
	Root       string                         `json:"root"`
	Revision   thread.Revision                `json:"revision"`
	Objectives map[thread.ObjectiveStatus]int `json:"objectives"`
	Threads    thread.Counts                  `json:"threads"`
	References int                            `json:"references"`
	Pending    []thread.Step                  `json:"pending"`
}

func (d *summaryData) Text(p *page) {
	p.field("root", d.Root)
	p.field("revision", int64(d.Revision))
	p.field("objectives", strconv.Itoa(d.Objectives[thread.ObjectiveActive])+" active, "+strconv.Itoa(d.Objectives[thread.ObjectiveCompleted])+" completed")
	p.field("threads", countsText(d.Threads))
	p.field("references", d.References)
	if len(d.Pending) > 0 {
		p.line("pending: %d file changes of a process that died; the next writing command carries them out", len(d.Pending))
	}
}

// statusData is one thread with everything that is tied to it.
type statusData struct {
	threadData
	Relations    thread.Relations    `json:"relations"`
	References   []referenceData     `json:"references"`
	ReferencedBy []referencedBy      `json:"referencedBy"`
	Artifacts    items[artifactData] `json:"artifacts"`
	Approvals    []approvalData      `json:"approvals"`
	Merges       []mergeItem         `json:"merges"`
	Injections   []injectionData     `json:"injections"`
	Checkpoints  []checkpointItem    `json:"checkpoints"`
	Claim        *heldData           `json:"claim"`
	Mistakes     *thread.Mistakes    `json:"mistakes"`
	// Resumable: it is suspended, and every child that it has is terminated.
	Wakeable bool `json:"wakeable"`
}

type referencedBy struct {
	RefID   thread.ReferenceID `json:"refId"`
	From    thread.ThreadID    `json:"from"`
	Binding thread.Binding     `json:"binding"`
}

func (d *statusData) Text(p *page) {
	d.threadData.Text(p)
	if d.Mistakes != nil {
		p.line("suspended by the mistake limit: %d failed commands in a row by %s, last %s; a person resumes it", d.Mistakes.Count, d.Mistakes.Actor, d.Mistakes.LastCode)
	}
	if d.Wakeable {
		p.line("wakeable: every child is terminated; leslie resume %s goes on", d.ThreadID)
	}
	if d.Claim != nil {
		p.line("claimed by %s until %s", d.Claim.Holder, d.Claim.Until.Format(time.RFC3339))
	}
	for _, a := range d.Approvals {
		a.line(p)
	}
	for _, i := range d.Injections {
		i.line(p)
	}
	for _, ck := range d.Checkpoints {
		why := ""
		if ck.Automatic {
			why = ", before a rollback"
		}
		p.line("checkpoint %s  %s  %s%s", ck.CheckpointID, ck.CreatedAt.Format(time.RFC3339), many(ck.Files, "file"), why)
		p.field("  name", ck.Name)
	}
	p.field("children", joined(d.Relations.Children))
	p.field("depended on by", joined(d.Relations.DependedOnBy))
	for _, ref := range d.References {
		state := ""
		if !ref.TargetResolved {
			state = ", unresolved"
		} else if len(ref.Stale) > 0 {
			state = ", changed since: " + joined(ref.Stale)
		}
		p.line("reference %s -> %s  %s, %s%s", ref.RefID, ref.Target, ref.Binding, many(ref.Files, "file"), state)
	}
	for _, ref := range d.ReferencedBy {
		p.line("referenced by %s  %s, %s", ref.From, ref.RefID, ref.Binding)
	}
	for _, m := range d.Merges {
		p.line("merge %s of %s into %s waits for decisions", m.MergeID, joined(m.Sources), m.Target)
	}
	p.field("artifacts", d.Artifacts.Total)
	for _, a := range d.Artifacts.Items {
		size := ""
		if a.Size != nil {
			size = "  " + many(int(*a.Size), "byte")
		}
		p.line("  %s%s", a.Path, size)
	}
	if d.Artifacts.Truncated {
		p.line("  (%d of %d shown; leslie artifacts %s --limit 0 shows all)", len(d.Artifacts.Items), d.Artifacts.Total, d.ThreadID)
	}
}

func statusCommand() *command {
	return &command{
		name: "status", summary: "show one thread, or the whole store without an id",
		teach:    lesson{watching, "status ID"},
		example:  "leslie status thread-a1b2c3d4",
		operands: []operand{{value: anID("ID", threadIDs), optional: true}}, run: runStatus,
	}
}

func runStatus(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	if c.operand(0) == "" {
		return c.summary()
	}
	return c.threadStatus(c.operand(0))
}

func (c *call) summary() (Data, error) {
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	d := &summaryData{Root: st.Root()}
	v, err := c.view(func(s *thread.State) error {
		d.Objectives = map[thread.ObjectiveStatus]int{}
		for _, o := range s.ObjectivesInOrder() {
			d.Objectives[o.Status(s.CountsOf(o))]++
		}
		d.Threads, d.References = s.Counts(), s.References.Len()
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.Revision, d.Pending = v.Revision, append([]thread.Step{}, v.Undone...)
	return d, nil
}

func (c *call) threadStatus(arg string) (Data, error) {
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	d := &statusData{Approvals: []approvalData{}}
	var refs []thread.Reference
	_, err = c.view(func(s *thread.State) error {
		t, err := s.Thread(arg)
		if err != nil {
			return err
		}
		d.threadData, d.Relations = threadOf(t), s.RelationsOf(t)
		d.ReferencedBy = []referencedBy{}
		for _, ref := range s.ReferencesTo(t.ID) {
			d.ReferencedBy = append(d.ReferencedBy, referencedBy{ref.ID, ref.From, ref.Binding})
		}
		d.Merges = pendingMergesOf(s, t.ID)
		now := c.now()
		grants, err := approvalsOf(s, t)
		if err != nil {
			return err
		}
		for _, g := range grants {
			d.Approvals = append(d.Approvals, approvalOf(g, now))
		}
		d.Injections, d.Checkpoints = injectionsOf(t), checkpointsOf(t)
		d.Claim, d.Mistakes, d.Wakeable = heldBy(t, now), t.Mistakes, s.Resumable(t)
		refs, err = referencesFrom(s, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	d.References = []referenceData{}
	for _, ref := range refs {
		shown, err := c.compared(ref)
		if err != nil {
			return nil, err
		}
		d.References = append(d.References, shown)
	}
	entries, err := c.artifacts(st, d.ThreadID)
	if err != nil {
		return nil, err
	}
	d.Artifacts = firstItems(artifactsOf(filesOf(entries)), defaultLimit)
	return d, nil
}

// filesOf leaves out folders: their files say that they are there.
func filesOf(entries []store.Entry) []store.Entry {
	var out []store.Entry
	for _, e := range entries {
		if e.Type != store.TypeFolder {
			out = append(out, e)
		}
	}
	return out
}
