package views

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leslie/internal/app"
	"leslie/internal/app/decisions"
	"leslie/internal/app/history"
	"leslie/internal/app/threads"
	"leslie/internal/graph"
	"leslie/store"
	"leslie/thread"
)

// This file collects what a report is about: one read of the state, the history once, the
// log once.

// ReportRequest asks for all that a report shows.
type ReportRequest struct {
	Objective string // only its threads; "": all
	All       bool   // archived threads, too
}

// ReportResult is a project, or one objective, as a report shows it.
type ReportResult struct {
	Project    string // the name of its folder
	At         time.Time
	Revision   thread.Revision
	Graph      graph.Graph
	Objectives []app.ObjectiveRecord
	Threads    []ReportThread // those of the graph that are not outside, in its order
	Merges     []ReportMerge  // oldest first
	Approvals  []app.ApprovalRecord
	Questions  []decisions.QuestionRecord
	Stats      *history.StatsResult // of the whole project: the log does not name objectives
	// Runs is what agents used, in the objective or in all.
	Runs    *thread.RunTotals
	History []app.OperationRecord // oldest first
}

// ReportThread is a thread and how it stood over time.
type ReportThread struct {
	ThreadID  thread.ThreadID
	CreatedAt time.Time
	UpdatedAt time.Time
	Reason    string
	Spans     []ReportSpan // oldest first, without times after its end
	Runs      *thread.RunTotals
	// Run says how the newest run of its agent stands, with the reason if it is not done; "" for none.
	Run string
}

// ReportSpan is a time in which a thread had a status; the last one may end now.
type ReportSpan struct {
	Status   thread.Status
	From, To time.Time
}

// ReportMerge is a merge that was made, given up, or is pending.
type ReportMerge struct {
	Seq     thread.Revision // of the operation that ended it, 0 while it is pending
	At      time.Time
	By      app.Actor
	MergeID thread.MergeID // "" for one that never had to wait
	Target  thread.ThreadID
	Sources []thread.ThreadID
	Status  ReportMergeStatus
	// Decisions are those about its conflicts, ordered by what they are about.
	Decisions []ReportDecision
}

// ReportMergeStatus says what became of a merge.
type ReportMergeStatus string

// What became of a merge.
const (
	MergeMade    ReportMergeStatus = "merged"
	MergeUndone  ReportMergeStatus = "undone"
	MergeAborted ReportMergeStatus = "aborted"
	MergeWaits   ReportMergeStatus = "pending"
)

// ReportDecision is a decision about a conflict, or about a whole path.
type ReportDecision struct {
	About string
	thread.Decision
}

// Report collects what a report is about. Errors: T601, T105, those of reading.
func Report(c *app.Call, in ReportRequest) (*ReportResult, error) {
	c.ReadOnly()
	r := &reporting{c: c, in: in, d: &ReportResult{Project: filepath.Base(c.Project().Root()), At: c.Now()}}
	c.Report(app.Progress{What: "reading the state"})
	if _, err := c.View(r.state); err != nil {
		return nil, err
	}
	if err := r.graph.compare(); err != nil {
		return nil, err
	}
	r.d.Graph = r.graph.Graph
	if err := r.history(); err != nil {
		return nil, err
	}
	c.Report(app.Progress{What: "reading the log"})
	t := history.NewTally()
	if err := t.Read(c.Store().Log(c.Context())); err != nil {
		return nil, err
	}
	r.d.Stats = t.Result()
	r.d.Stats.Runs = r.d.Runs
	return r.d, nil
}

// restsAfterReport is how many times as long as a report took WatchReport rests after it: it
// runs beside agents.
const restsAfterReport = 4

// WatchReport calls emit with what a report is about, and again after operations that
// somebody records; several may count as one. An error of emit ends it and is returned.
// Errors: those of Report, T904 when the call's context ends.
func WatchReport(c *app.Call, in ReportRequest, emit func(*ReportResult) error) error {
	c.CatchSignals()
	w := c.Store().Watch(store.StateFile) // before the first look, so that no operation is missed
	defer w.Close()
	for {
		began := c.Project().Environment().Now()
		r, err := Report(c, in)
		if err != nil {
			return err
		}
		if err := emit(r); err != nil {
			return err
		}
		rest, cancel := c.Project().Environment().Timeout(c.Context(), restsAfterReport*c.Project().Environment().Now().Sub(began))
		<-rest.Done()
		cancel()
		if err := w.Next(c.Context(), 0); err != nil {
			return err
		}
	}
}

// reporting collects a report.
type reporting struct {
	c     *app.Call
	in    ReportRequest
	d     *ReportResult
	graph *graphBuilder

	threads map[thread.ThreadID]*ReportThread
	// now is the status of each thread while the history is read.
	now map[thread.ThreadID]ReportSpan
	// waiting are the merges that wait, pending those that wait while the history is read.
	waiting []thread.Merge
	pending map[thread.MergeID]thread.Merge
	// undoes has the operations that undid others, oldest first.
	undoes [][2]thread.OperationID
}

// state takes what the State has.
func (r *reporting) state(s *thread.State) (err error) {
	if r.graph, err = collectGraph(r.c, s, GraphRequest(r.in)); err != nil {
		return err
	}
	r.d.Revision = s.Revision
	all, of, err := s.SumsOfRuns()
	if err != nil {
		return err
	}
	for _, o := range r.graph.Objectives {
		stored, _ := s.Objectives.Peek(string(o.ID))
		record := app.ObjectiveOf(s, stored)
		record.Runs = of[o.ID]
		r.d.Objectives = append(r.d.Objectives, record)
		if r.in.Objective != "" {
			all = of[o.ID]
		}
	}
	r.d.Runs, r.waiting = all, s.MergesOf("")
	r.threads = map[thread.ThreadID]*ReportThread{}
	for _, t := range r.graph.list {
		r.threads[t.ID] = &ReportThread{ThreadID: t.ID, CreatedAt: t.Created.At, UpdatedAt: t.Updated, Reason: t.Reason, Runs: thread.RunsOf(t), Run: runOf(r.c, t)}
	}
	return r.records(s)
}

// runOf says how the newest run of a thread's agent stands, as status does; "" for none.
func runOf(c *app.Call, t thread.Thread) string {
	run := app.LastRunOf(c, t)
	if run == nil {
		return ""
	}
	outcome := threads.OutcomeOf(*run)
	if outcome == threads.OutcomeDone || run.Reason == "" {
		return string(outcome)
	}
	return string(outcome) + " (" + app.Cut(run.Reason, 100) + ")"
}

// records takes approvals and questions, archived ones too.
func (r *reporting) records(s *thread.State) error {
	grants, err := s.AllApprovals()
	if err != nil {
		return err
	}
	for _, g := range grants {
		if r.about(g.ThreadID) {
			r.d.Approvals = append(r.d.Approvals, app.ApprovalOf(g, r.d.At))
		}
	}
	questions, err := s.AllQuestions()
	if err != nil {
		return err
	}
	for _, q := range questions {
		if r.about(q.ThreadID) {
			r.d.Questions = append(r.d.Questions, decisions.QuestionOf(q))
		}
	}
	return nil
}

// about reports whether the report is about a thread. A report about all is about threads
// that it does not show, too.
func (r *reporting) about(id thread.ThreadID) bool {
	return r.in.Objective == "" || r.threads[id] != nil
}

// history reads every operation once, oldest first.
func (r *reporting) history() error {
	r.now, r.pending = map[thread.ThreadID]ReportSpan{}, map[thread.MergeID]thread.Merge{}
	cursor := r.c.Store().Cursor(store.CursorQuery{Lost: threads.LostOperationsWarner(r.c)})
	found, err := cursor.Read(r.c.Context(), r.d.Revision, func(op thread.Operation) error {
		r.c.Report(app.Progress{What: "reading the history", Done: int64(op.Seq), Total: int64(r.d.Revision)})
		r.operation(op)
		return nil
	})
	r.c.Warn(found...)
	if err != nil {
		return err
	}
	undone := r.undone()
	for i := range r.d.History {
		r.d.History[i].UndoneBy = undone[r.d.History[i].OperationID]
	}
	bySeq := map[thread.Revision]bool{}
	for _, op := range r.d.History {
		bySeq[op.Seq] = op.UndoneBy != ""
	}
	for i := range r.d.Merges {
		if m := &r.d.Merges[i]; m.Status == MergeMade && bySeq[m.Seq] {
			m.Status = MergeUndone
		}
	}
	r.waitingMerges()
	for id, t := range r.threads {
		if now, ok := r.now[id]; ok && !now.Status.Terminated() {
			now.To = r.d.At
			t.Spans = append(t.Spans, now)
		}
	}
	for _, t := range r.graph.Threads {
		if !t.Outside {
			r.d.Threads = append(r.d.Threads, *r.threads[t.ID])
		}
	}
	return nil
}

// undone returns the operations that are undone now, each with the one that did it.
func (r *reporting) undone() map[thread.OperationID]thread.OperationID {
	by := map[thread.OperationID]thread.OperationID{}
	for _, u := range slices.Backward(r.undoes) {
		if _, gone := by[u[0]]; !gone {
			by[u[1]] = u[0]
		}
	}
	return by
}

// operation takes one operation.
func (r *reporting) operation(op thread.Operation) {
	if op.Undoes != "" {
		r.undoes = append(r.undoes, [2]thread.OperationID{op.ID, op.Undoes})
	}
	concerns := r.in.Objective == "" || r.threads[op.ThreadID] != nil
	for _, ch := range op.Changes {
		table, id, _ := strings.Cut(ch.Record, "/")
		switch table {
		case thread.TableThreads:
			concerns = concerns || r.threads[thread.ThreadID(id)] != nil
			r.threadChanged(op, thread.ThreadID(id), ch)
		case thread.TableMerges:
			if !thread.Absent(ch.After) {
				r.pending[thread.MergeID(id)] = app.RecordIn[thread.Merge](ch.After)
			}
		}
	}
	r.endedMerges(op)
	if concerns {
		r.d.History = append(r.d.History, app.OperationOf(op, ""))
	}
}

// threadPart is what a report needs of a thread's record.
type threadPart struct {
	Status thread.Status `json:"status"`
	Shared []struct {
		With thread.ThreadID `json:"with"`
		How  string          `json:"how"`
		At   thread.Revision `json:"at"`
	} `json:"shared"`
}

// threadChanged takes a thread's status, and what was merged into it.
func (r *reporting) threadChanged(op thread.Operation, id thread.ThreadID, ch thread.Change) {
	t := r.threads[id]
	now := threadPart{Status: thread.Archived}
	if !thread.Absent(ch.After) && json.Unmarshal(ch.After, &now) != nil {
		return
	}
	if before := r.now[id]; before.Status != now.Status {
		if t != nil && before.Status != "" && !before.Status.Terminated() {
			before.To = op.Time
			t.Spans = append(t.Spans, before)
		}
		r.now[id] = ReportSpan{Status: now.Status, From: op.Time}
	}
	if thread.Absent(ch.After) || !bytes.Contains(ch.After, []byte(`"merge"`)) {
		return
	}
	var sources []thread.ThreadID
	for _, share := range now.Shared {
		if share.How == "merge" && share.At == op.Seq {
			sources = append(sources, share.With)
		}
	}
	if len(sources) > 0 && (t != nil || slices.ContainsFunc(sources, r.about)) {
		r.d.Merges = append(r.d.Merges, ReportMerge{
			Seq: op.Seq, At: op.Time, By: app.Actor{As: op.As, Actor: op.Actor}, Target: id, Sources: sources, Status: MergeMade,
		})
	}
}

// endedMerges takes the pending merges that an operation ended: the one that it made, or
// one that was given up.
func (r *reporting) endedMerges(op thread.Operation) {
	for _, ch := range op.Changes {
		id, ok := strings.CutPrefix(ch.Record, thread.TableMerges+"/")
		if !ok || !thread.Absent(ch.After) {
			continue
		}
		m, known := r.pending[thread.MergeID(id)]
		delete(r.pending, thread.MergeID(id))
		if !known {
			continue
		}
		if n := len(r.d.Merges); n > 0 && r.d.Merges[n-1].Seq == op.Seq && r.d.Merges[n-1].Target == m.Target {
			r.d.Merges[n-1].MergeID, r.d.Merges[n-1].Decisions = m.ID, decisionsOf(m)
		} else if r.about(m.Target) {
			r.d.Merges = append(r.d.Merges, ReportMerge{
				Seq: op.Seq, At: op.Time, By: app.Actor{As: op.As, Actor: op.Actor}, MergeID: m.ID, Target: m.Target, Sources: m.Sources, Status: MergeAborted, Decisions: decisionsOf(m),
			})
		}
	}
}

// waitingMerges adds the merges that are pending.
func (r *reporting) waitingMerges() {
	for _, m := range r.waiting {
		if r.about(m.Target) {
			r.d.Merges = append(r.d.Merges, ReportMerge{
				At: m.Created.At, By: app.ActorOf(m.Created), MergeID: m.ID, Target: m.Target, Sources: m.Sources, Status: MergeWaits, Decisions: decisionsOf(m),
			})
		}
	}
}

func decisionsOf(m thread.Merge) (out []ReportDecision) {
	for _, about := range app.SortedKeys(m.Decisions) {
		out = append(out, ReportDecision{about, m.Decisions[about]})
	}
	return out
}
