package merging

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
)

// Status is the status of a merge.
type Status string

// The statuses.
const (
	Merged      Status = "merged"
	Pending     Status = "pending"
	NothingToDo Status = "nothing_to_do"
	Planned     Status = "planned"
	Aborted     Status = "aborted"
	Queued      Status = "queued"
)

// Result is a merge as all use cases return it.
type Result struct {
	MergeID *thread.MergeID `json:"mergeId"`
	Status  Status          `json:"status"`
	Target  thread.ThreadID `json:"target"`
	// Onto is the branch, of no thread, on which the target's own code lands; see thread.Merge.
	Onto      string            `json:"onto,omitempty"`
	Sources   []thread.ThreadID `json:"sources"`
	Strategy  thread.Strategy   `json:"strategy"`
	Scope     []string          `json:"scope,omitempty"` // nothing for all artifacts
	Files     []File            `json:"files"`
	Conflicts []merge.Conflict  `json:"conflicts"`
	// Edited has the paths of conflicts that are resolved as somebody edited their work files.
	Edited     []string          `json:"edited,omitempty"`
	Resolved   int               `json:"resolved"`
	Unresolved int               `json:"unresolved"`
	Declined   map[string]string `json:"declined,omitempty"`
	Work       []string          `json:"work,omitempty"` // files with markers, for editors, from the project's root
	Dir        string            `json:"dir,omitempty"`  // the folder of Work, absolute
	// RequireApproval: a person has to approve the merge before it is applied.
	// Approval is the request about it, nil if there is none yet.
	RequireApproval bool      `json:"requireApproval,omitempty"`
	Approval        *Approval `json:"approval,omitempty"`
	// Refused says why a queued merge has not landed when somebody last tried.
	Refused *thread.Refused `json:"refused,omitempty"`
	// Lost has the lines of the target that a content given for a whole file lacks.
	Lost []LostLines `json:"lost,omitempty"`
	// Replaced is the number of earlier decisions that a choice replaced.
	Replaced int `json:"replaced,omitempty"`
	// Resumed: the merge was pending, and the line that began it was repeated.
	Resumed bool `json:"resumed,omitempty"`
	// Outdated is the number of decisions about conflicts that are there no longer, or have changed since.
	Outdated int `json:"outdated,omitempty"`
	// Reused is the number of decisions that a new merge took over from an undone one.
	Reused int `json:"reused,omitempty"`
	// Report says what became of each source's lines, once the result is known.
	Report []merge.Contribution `json:"report,omitempty"`
	// Code says what the merge does with code, nil where it has none.
	Code *CodeResult `json:"code,omitempty"`
	// CodeLeft has the sources whose code is not merged because the target owns none and
	// there is no other branch in which it lands; CodeLeftReasons says why.
	CodeLeft        []thread.ThreadID          `json:"codeLeft,omitempty"`
	CodeLeftReasons map[thread.ThreadID]string `json:"codeLeftReasons,omitempty"`
	// CodeBehind has the sources, or the branch in which the target's code lands, with commits
	// that the target lacks, if the merge found nothing else to do.
	CodeBehind []string `json:"codeBehind,omitempty"`
	// Branch says what a pull brought of a branch of no thread; nil for everything else.
	Branch *PulledBranch `json:"branch,omitempty"`
	// Next has the line that goes on, if a pending merge was changed.
	Next    []string `json:"next,omitempty"`
	Changed bool     `json:"changed"`
}

// PulledBranch says what a thread's branch got of another.
type PulledBranch struct {
	From    string `json:"from"`
	Branch  string `json:"branch"`
	Commits int    `json:"commits"` // that it lacked
	Commit  string `json:"commit"`  // its tip then; of a dry run that would change it, ""
	// Was is its tip before.
	Was     string `json:"was"`
	Forward bool   `json:"forward,omitempty"` // it had no commits of its own
	// Undo is the line that takes it back; "" if nothing was changed.
	Undo string `json:"undo,omitempty"`
}

// Into names where the merge goes: its target, or the branch on which that lands.
func (r *Result) Into() string { return cmp.Or(r.Onto, string(r.Target)) }

// SetChanged is called after the operation.
func (r *Result) SetChanged(changed bool) { r.Changed = changed }

// File is one path of a merge and how its result was determined.
type File struct {
	Path string    `json:"path"`
	How  merge.How `json:"how"`
}

// Approval is the request about a merge in results.
type Approval struct {
	ApprovalID thread.ApprovalID  `json:"approvalId"`
	Status     thread.GrantStatus `json:"status"`
}

// ApprovalOf returns the current request about a merge, nil for none.
func ApprovalOf(s *thread.State, m thread.Merge) *Approval {
	g, ok := s.MergeApproval(m)
	if !ok {
		return nil
	}
	return &Approval{g.ID, g.Status}
}

// Item is a pending merge in a list.
type Item struct {
	MergeID   thread.MergeID    `json:"mergeId"`
	Target    thread.ThreadID   `json:"target"`
	Onto      string            `json:"onto,omitempty"` // as in Result
	Sources   []thread.ThreadID `json:"sources"`
	Strategy  thread.Strategy   `json:"strategy"`
	Decided   int               `json:"decided"`
	CreatedAt time.Time         `json:"createdAt"`
	CreatedBy Actor             `json:"createdBy"`
	// RequireApproval and Approval are as in Result.
	RequireApproval bool      `json:"requireApproval,omitempty"`
	Approval        *Approval `json:"approval,omitempty"`
	// Queued: it lands with the queue of its target; Refused is as in Result.
	Queued  bool            `json:"queued,omitempty"`
	Refused *thread.Refused `json:"refused,omitempty"`
}

// GoesOn is the command that goes on with the merge once what is open is decided.
func (i Item) GoesOn() string {
	return thread.Merge{ID: i.MergeID, Target: i.Target, Onto: i.Onto}.GoesOn()
}

// Into names where the merge goes: its target, or the branch on which a thread's code lands.
func (i Item) Into() string { return cmp.Or(i.Onto, string(i.Target)) }

// Actor started a merge.
type Actor struct {
	As    thread.ActorKind `json:"as"`
	Actor string           `json:"actor"`
}

// Pendings returns the pending merges into or from a thread, or all for "".
func Pendings(s *thread.State, pending []thread.Merge) []Item {
	out := []Item{}
	for _, m := range pending {
		out = append(out, Item{
			Queued: m.Queued != nil, Refused: refusedOf(m),
			RequireApproval: m.RequireApproval, Approval: ApprovalOf(s, m),
			MergeID: m.ID, Target: m.Target, Onto: m.Onto, Sources: m.Sources, Strategy: m.Strategy, Decided: len(m.Decisions),
			CreatedAt: m.Created.At, CreatedBy: Actor{As: m.Created.As, Actor: m.Created.Actor},
		})
	}
	return slices.Clip(out)
}

// refusedOf says why a merge that is queued has not landed, nil for nothing.
func refusedOf(m thread.Merge) *thread.Refused {
	if m.Queued == nil {
		return nil
	}
	return m.Queued.Refused
}

// Result returns the current merge. One that is pending in a queue is queued.
func (p *Planning) Result(status Status) *Result {
	r := &Result{Status: status, Target: p.record.Target, Onto: p.record.Onto, Sources: p.record.Sources, Strategy: p.record.Strategy, Scope: p.record.Scope,
		Files: []File{}, Conflicts: []merge.Conflict{}, Declined: p.record.Declined,
		RequireApproval: needsApproval(p), Approval: p.approval, Reused: p.reused, Resumed: p.resumed}
	if id := p.record.ID; id != "" {
		r.MergeID = &id
	}
	if p.plan != nil {
		for _, f := range p.plan.Files {
			r.Files = append(r.Files, File{f.Path, f.How})
		}
		r.Conflicts = p.Conflicts()
		for _, c := range p.plan.Conflicts {
			if c.Status == merge.Resolved && p.record.Decisions[c.ID].Reason == edited && !slices.Contains(r.Edited, c.Path) {
				r.Edited = append(r.Edited, c.Path)
			}
		}
		for id := range p.record.Decisions {
			if !slices.ContainsFunc(p.plan.Conflicts, func(c merge.Conflict) bool { return c.ID == id }) {
				r.Outdated++
			}
		}
		r.Unresolved = p.plan.Open()
		r.Resolved = len(p.plan.Conflicts) - r.Unresolved
	}
	r.Code = codeResult(p)
	r.CodeLeft, r.CodeLeftReasons = codeLeft(p)
	if p.recorded && status == Pending {
		for path := range p.record.Work {
			if p.hasWork(path) {
				r.Work = append(r.Work, workPath(p.record.ID, path))
			}
		}
		slices.Sort(r.Work)
		if len(r.Work) > 0 {
			r.Dir = filepath.Join(p.call.Root, filepath.FromSlash(workPath(p.record.ID, "")))
		}
	}
	if p.record.Queued != nil && status == Pending {
		r.Status, r.Refused = Queued, p.record.Queued.Refused
	}
	return r
}

// decided returns the pending merge after a choice: what became of the conflicts that it
// was about, the first ones that are still open, and the line that goes on.
func (p *Planning) decided(about func(merge.Conflict) bool) *Result {
	r := p.Result(Pending)
	r.Conflicts = []merge.Conflict{}
	open := 0
	for _, c := range p.Conflicts() {
		brief := c.Brief()
		switch {
		case about(c):
		case c.Status == merge.Unresolved && open < maxOpenShown:
			open++
			brief.Result = nil
		default:
			continue
		}
		r.Conflicts = append(r.Conflicts, brief)
	}
	id := string(p.record.ID)
	r.Next = []string{p.record.GoesOn()}
	if open := p.Open(""); len(open) > 0 {
		r.Next = []string{"leslie merge status " + id + " --conflict " + open[0].ID}
	}
	return r
}

// report fills in what became of the sources' lines. Errors: T509, and errMoved if a
// file was saved since it was listed.
func (p *Planning) report(r *Result) (err error) {
	r.Report, err = p.planned.artifacts.Report(p.inputs.input.Sources, p.inputs.reader.content)
	return err
}

const (
	// maxConflictBytes limits the conflicts in an error, maxFullBytes those of them
	// that it has in full; the first one always is, if it fits.
	maxConflictBytes = 32 << 10
	maxFullBytes     = 8 << 10
	// maxMarkers is how many places with markers an error has.
	maxMarkers = 20
	// maxOpenShown is how many open conflicts the answer to a choice has.
	maxOpenShown = 5
)

// listed returns open conflicts as an error has them: the first ones in full, the
// others without their sides. truncated says that some are not in full, or missing.
func listed(all []merge.Conflict) (out []merge.Conflict, truncated bool) {
	size, full := 0, true
	for i, c := range all {
		raw, _ := fact.JSON(c)
		full = full && size+len(raw) <= maxFullBytes || i == 0 && len(raw) <= maxConflictBytes
		if !full {
			c, truncated = c.Brief(), true
			raw, _ = fact.JSON(c)
		}
		if size += len(raw); size > maxConflictBytes {
			break
		}
		out = append(out, c)
	}
	return out, truncated
}

// preview is the line that shows what the merge would do.
func preview(p *Planning, uncommitted string) string {
	code := codeRecord(p)
	line := "leslie merge --sources " + strings.Join(namesOf(p.record.Sources), ",") + " --target " + string(p.record.Target)
	switch {
	case p.record.Onto != "":
		line = "leslie land " + string(p.record.Target)
		usual := "" // also where the state cannot be read
		_ = p.call.View(func(st *thread.State) error {
			usual = st.UsualBranch(p.record.Target)
			return nil
		})
		if usual != p.record.Onto {
			line += " --onto " + external.Word(p.record.Onto)
		}
	case code.WithScope:
		line = "leslie pull " + string(p.record.Target) + " --from " + string(p.record.Sources[0])
	case len(p.record.Scope) > 0:
		line += " --scope " + external.Word(strings.Join(p.record.Scope, ","))
	}
	if code.Only != "" && p.record.Onto == "" {
		line += " --only " + code.Only
	}
	if how := code.How(); how != thread.LandedMerge {
		line += " --" + how
	}
	if uncommitted != "" {
		line += " --uncommitted " + uncommitted
	}
	if p.record.Unread == LeaveUnread && !code.WithScope {
		line += " --unread " + LeaveUnread
	}
	return line + " --dry-run"
}

// conflictError returns T301 with the open conflicts.
func (p *Planning) conflictError() error {
	open, truncated := listed(p.Open(""))
	total := p.plan.Open()
	facts := []fact.Fact{fact.Of("count", total)}
	if p.recorded {
		facts = append(facts, fact.Of("mergeId", p.record.ID))
	}
	facts = append(facts, fact.Of("target", p.record.Into()), fact.Of("conflicts", open), fact.Of("total", total), fact.Of("truncated", truncated))
	if p.reused > 0 {
		facts = append(facts, fact.Of("reused", p.reused))
	}
	if left := markersLeft(p); len(left) > 0 {
		facts = append(facts, fact.Of("markers", left[:min(len(left), maxMarkers)]))
	}
	err := codes.MergeConflict.New(facts...)
	if p.asked {
		err = err.WithCause(ErrLeft)
	}
	if !p.recorded {
		return err.WithHint("Use --conflict-strategy or resolve manually: interactive, agent-first and human keep the merge until it is resolved (" + pathsOf(p.Open("")) + ")").
			WithNext(preview(p, codeRecord(p).Uncommitted))
	}
	id := string(p.record.ID)
	goOn, next := p.record.GoesOn(), "leslie merge list"
	if p.record.Onto != "" {
		next = goOn
	}
	if total == 0 && p.reused == 0 {
		return err.WithHint("Every conflict is decided: " + goOn + " applies the merge").WithNext("leslie merge status " + id)
	}
	if len(p.outdated) > 0 {
		path := p.outdated[0]
		return err.With(fact.Of("outdated", p.outdated)).
			WithHint("A side changed "+path+" after its file with markers was written, in lines that you edited: resolve its conflicts one by one, or use your file: leslie merge resolve "+id+" "+external.Word(path)+" --file "+external.Word(workPath(p.record.ID, path))).
			WithNext("leslie merge status "+id, "leslie merge list")
	}
	if total == 0 {
		return err.WithHint("The decisions are those of the merge that was undone, and nothing is applied before you have seen them: "+goOn+
			" applies them, leslie merge resolve "+id+" "+external.Word(p.plan.Conflicts[0].Path)+" --take SIDE --all decides again").
			WithNext("leslie merge status "+id, next)
	}
	return err.WithHint("Use --conflict-strategy or resolve manually: "+p.ways()+"; then "+goOn+HistoryText(codeRecord(p).How())+"; leslie merge abort "+id+" gives it up").
		WithNext("leslie merge status "+id, "leslie diff "+id)
}

// HistoryText says, behind a comma, which history the line that goes on with a merge makes, unless
// it is a merge commit.
func HistoryText(how string) string {
	switch how {
	case thread.LandedSquash:
		return ", which lands it as one commit"
	case thread.LandedRebase:
		return ", which lands its commits one by one"
	}
	return ""
}

// pathsOf lists the first paths of conflicts.
func pathsOf(conflicts []merge.Conflict) string {
	const few = 5
	var paths []string
	for _, c := range conflicts {
		if !slices.Contains(paths, c.Path) {
			paths = append(paths, c.Path)
		}
	}
	if more := len(paths) - few; more > 0 {
		return strings.Join(paths[:few], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(paths, ", ")
}

// ways says how what is open is decided: the files with markers if there are any, and the choices
// that every open conflict allows.
func (p *Planning) ways() string {
	var takes []string
	text, marked := true, false
	open := p.Open("")
	what, file := open[0].Path, workPath(p.record.ID, open[0].Path)
	for _, c := range open {
		if c.Path != what {
			what, file = "CONFLICT", workPath(p.record.ID, "")
		}
		if takes == nil {
			takes = c.Takes()
		}
		takes = slices.DeleteFunc(takes, func(take string) bool { return c.Fits(take) != nil })
		text = text && c.Fits(merge.TakeText) == nil
		marked = marked || p.hasWork(c.Path)
	}
	out := "leslie merge resolve " + string(p.record.ID) + " " + external.Word(what) + " --take " + strings.Join(takes, "|")
	if ours, theirs := sidesOf(open); ours != "" {
		out += " (ours is " + ours + ", theirs " + theirs + ")"
	}
	if text {
		out += ", or --file F"
	}
	if marked {
		out = "edit " + file + ", or " + out
	}
	return out
}

// sidesOf names the sides of conflicts that have the same two; "" for others.
func sidesOf(conflicts []merge.Conflict) (ours, theirs string) {
	for i, c := range conflicts {
		if len(c.Sides) != 2 || i > 0 && (c.Sides[0].Thread != ours || c.Sides[1].Thread != theirs) {
			return "", ""
		}
		ours, theirs = c.Sides[0].Thread, c.Sides[1].Thread
	}
	return ours, theirs
}

// hasWork reports whether the file with markers of a path is here: the merge may have begun on another machine.
func (p *Planning) hasWork(path string) bool {
	if p.record.Work[path] == "" {
		return false
	}
	_, err := p.call.Files.ReadWork(p.record.ID, path)
	return err == nil || unreadable(err)
}

// workPath returns the folder of a merge's files with markers, relative to the
// project's root.
func workPath(id thread.MergeID, path string) string {
	return store.Dir + "/" + workPlace(id) + "/" + path
}

func workPlace(id thread.MergeID) string { return store.MergesDir + "/" + string(id) + "/work" }

// removal returns the step that removes the files to edit of a pending merge.
func removal(id thread.MergeID) thread.Step {
	return thread.Step{Do: thread.StepRemove, To: store.MergesDir + "/" + string(id)}
}
