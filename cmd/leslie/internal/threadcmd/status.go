package threadcmd

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/mergecmd"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/thread"
)

type summaryText struct {
	*threads.SummaryResult
	agent bool // the caller is an agent, for whom most of it does not wait
}

// ListsWaiting marks the answer: it has everything that waits for a person.
func (summaryText) ListsWaiting() {}

func (d summaryText) Text(p *page.Page) {
	p.Field("root", d.Root)
	p.Field("revision", int64(d.Revision))
	objectives := strconv.Itoa(d.Objectives[thread.ObjectiveActive]) + " active, " +
		strconv.Itoa(d.Objectives[thread.ObjectiveCompleted]) + " completed"
	if n := d.Objectives[thread.ObjectiveCancelled]; n > 0 {
		objectives += ", " + strconv.Itoa(n) + " cancelled"
	}
	p.Field("objectives", objectives)
	p.Wrapped("threads: " + page.CountsText(d.Threads))
	p.Field("references", d.References)
	if len(d.Pending) > 0 {
		p.Line("pending: %s of a process that died; the next writing command carries them out",
			fact.Plural(len(d.Pending), "file change"))
	}
	heldText(p, d.Held)
	waitingText(p, d.SummaryResult, d.agent)
	leftText(p, d.LeftHere)
	for _, l := range d.Later {
		p.Line("of %s: %s", l.ThreadID, page.LaterText(l))
	}
	for _, b := range d.NotPushed {
		p.Line("not pushed: %s on %s, where %s landed (git push)",
			fact.Plural(b.Commits, "commit"), b.Branch, app.Joined(b.Landed))
	}
	for _, v := range d.Versions {
		p.Line("%s of %s: %s", v.Path, v.ThreadID, versionText(v.Of, v.ThreadID))
	}
	for _, u := range d.Unpublished {
		p.Line("not published, of %s: %s (leslie publish %s)", u.ThreadID, unpublishedText(u.Paths, u.Commits), u.ThreadID)
	}
	if d.Late {
		p.Line("git has not said in time what else lies beside the code of threads: leslie status asks again")
	}
	runsText(p, d.SummaryResult)
}

// WorthALook marks an answer of leslie alone: something goes on, waits, or has ended of late.
func (d summaryText) WorthALook() bool {
	return len(d.Waiting)+len(d.Held)+len(d.Runs)+len(d.LeftHere)+len(d.Later)+len(d.Unfinished)+
		len(d.WorktreeGone)+len(d.Leaving)+len(d.Kept) > 0 || d.Loop != nil
}

// unpublishedText names files, and counts commits, that the other machines lack.
func unpublishedText(paths []string, commits int) string {
	if commits == 0 {
		return app.Joined(paths)
	}
	return app.Joined(append(slices.Clone(paths), fact.Plural(commits, "commit")))
}

// versionText says what is to be done with a file that is another machine's version of one beside it.
func versionText(of string, id thread.ThreadID) string {
	return "the other version of " + of + ": take over what you need, delete it, then leslie publish " + string(id)
}

// runsText lists what agents did, and whether a process starts them.
func runsText(p *page.Page, d *threads.SummaryResult) {
	if len(d.Runs) > 0 {
		p.Line("runs since %s:", p.At(d.Since))
		page.TableOf(p, d.Runs, []page.Column[threads.RunLine]{
			{Cell: func(r threads.RunLine) screen.Cell { return outcome(r.Result) }},
			{Cell: page.Text(func(r threads.RunLine) string { return string(r.ThreadID) })},
			{Cell: page.Text(func(r threads.RunLine) string { return page.UsedText(r.Total) }), HideIfEmpty: true},
			{Column: screen.Column{Shrinks: true}, Cell: page.Text(runWords), MaxChars: 100},
			{Column: screen.Column{Below: true}, Cell: page.Text(func(r threads.RunLine) string { return r.Next })},
		})
		if d.RunsMore > 0 {
			p.Line("  %d more: leslie run list --all", d.RunsMore)
		}
		elsewhereText(p, d.Runs)
	}
	notStartedText(p, d)
	switch {
	case d.Loop == nil:
	case d.Loop.Ended != nil:
		p.Line("leslie run --next ended at %s%s; to go on: %s", p.At(*d.Loop.Ended), page.WithSeparator(": ", d.Loop.Reason), d.Loop.Next)
	case d.Loop.Killed:
		p.Line("leslie run --next, started at %s, was killed; to go on: %s", p.At(d.Loop.Since), d.Loop.Next)
		if strings.Contains(d.Loop.Next, " --max-") {
			p.Line("  its limits begin anew with that line (leslie stats says what was used)")
		}
	default:
		p.Line("leslie run --next starts what is ready, since %s (%s)", p.At(d.Loop.Since), d.Loop.Next)
	}
}

// notStartedText lists what no agent has run, and whose worktrees are gone.
func notStartedText(p *page.Page, d *threads.SummaryResult) {
	if len(d.NotStarted) > 0 {
		p.Line("never run:")
		page.TableOf(p, d.NotStarted, []page.Column[threads.NotStarted]{
			{Cell: page.Text(func(n threads.NotStarted) string { return "  " + string(n.ThreadID) })},
			{Column: screen.Column{Shrinks: true}, MaxChars: 100, Cell: page.Text(func(n threads.NotStarted) string {
				return cmp.Or(strings.Join(n.Waits, "; "), n.Title)
			})},
			{Column: screen.Column{Below: true}, Cell: page.Text(func(n threads.NotStarted) string { return n.Next })},
		})
		if d.NotStartedMore > 0 {
			p.Line("  %d more: leslie list --ready", d.NotStartedMore)
		}
	}
	for _, id := range d.WorktreeGone {
		if slices.Contains(d.BranchGone, id) {
			p.Line("the worktree and the branch of %s are not there: leslie code restore %s", id, id)
		} else {
			p.Line("the worktree of %s is not there: leslie code restore %s", id, id)
		}
	}
	for _, id := range d.Leaving {
		p.Line("%s", page.LeavingText(id))
	}
	for _, k := range d.Kept {
		p.Line("%s", page.UnfinishedCopyText(k))
	}
	for _, u := range d.Unfinished {
		p.Line("%s", u.Reason)
	}
}

// leftText lists what is left here of threads that are on other machines.
func leftText(p *page.Page, left []app.CodeLeft) {
	for _, l := range left {
		p.Line("%s, of %s: %s", page.LeftLabel(l), l.ThreadID, page.LeftText(l, p.Place(l.Worktree)))
	}
}

// outcome is how a run stands, in its colour.
func outcome(o threads.RunOutcome) screen.Cell {
	text := "  " + string(o)
	switch o {
	case threads.OutcomeDone:
		return screen.Good(text)
	case threads.OutcomeKilled, threads.OutcomeFailed, threads.OutcomeUnfinished, threads.OutcomeLimit:
		return screen.Bold(text)
	}
	return screen.WaitingCell(text)
}

// elsewhereText says what changed in the person's checkout while agents ran elsewhere. Where several ran, nobody can
// tell whose work it is.
func elsewhereText(p *page.Page, all []threads.RunLine) {
	var paths []string
	var during []thread.ThreadID
	for _, r := range all {
		for _, path := range r.Elsewhere {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
		if len(r.Elsewhere) > 0 {
			during = append(during, r.ThreadID)
		}
	}
	if len(paths) == 0 {
		return
	}
	slices.Sort(paths)
	p.Line("changed in your checkout while agents worked elsewhere: %s (by %s, or you)", app.Joined(paths), app.OrList(during))
}

// runWords says why a run stands as it does, what it brought and has used, and the title of one that goes on or
// is done.
func runWords(r threads.RunLine) string {
	var words []string
	add := func(text string) {
		if text != "" {
			words = append(words, text)
		}
	}
	told := r.Reason != "" && r.Result != threads.OutcomeDone
	switch {
	case r.Ready:
		add("what it waited for is there")
	case told && r.Stop == thread.RunBudget:
		add("its limit was reached: " + r.Reason)
	case told:
		add(r.Reason)
	}
	add(page.ChangesText(r.Changes))
	add(page.WithSeparator("failed: ", app.Joined(r.FailedChecks)))
	if !told {
		add(r.Title)
	}
	return strings.Join(words, "; ")
}

// heldText lists what the caller holds.
func heldText(p *page.Page, held []app.WaitingItem) {
	if len(held) > 0 {
		p.Line("you hold:")
		waitingTable(p, held)
	}
}

// waitingTable lists things with the command that goes on with each.
func waitingTable(p *page.Page, items []app.WaitingItem) {
	page.TableOf(p, items, []page.Column[app.WaitingItem]{
		{Cell: func(w app.WaitingItem) screen.Cell { return screen.WaitingCell("  " + string(w.Kind)) }},
		{Cell: page.Text(func(w app.WaitingItem) string { return w.ID })},
		{Column: screen.Column{Shrinks: true}, Cell: page.Text(cli.WaitingWords), MaxChars: 60},
		{Column: screen.Column{Below: true}, Cell: page.Text(func(w app.WaitingItem) string { return w.Next })},
	})
}

// waitingText lists what waits for somebody.
func waitingText(p *page.Page, d *threads.SummaryResult, agent bool) {
	items := slices.DeleteFunc(slices.Clone(d.Waiting), func(w app.WaitingItem) bool {
		return slices.ContainsFunc(d.Held, func(h app.WaitingItem) bool { return h.ID == w.ID && h.Kind == w.Kind })
	})
	if len(items) == 0 {
		return
	}
	if agent {
		p.Line("waiting:")
	} else {
		p.Line("waiting for you:")
	}
	waitingTable(p, items)
	if i := slices.IndexFunc(items, func(w app.WaitingItem) bool { return w.Then != "" }); i >= 0 {
		p.Line("  once all of %s is decided: %s", items[i].ID, items[i].Then)
	}
	for _, kind := range app.WaitingKinds() {
		if more := d.WaitingMore[kind]; more > 0 {
			p.Line("  %s  %d more", string(kind), more)
		}
	}
}

// StatusText is the text form of a thread and what is about it.
type StatusText struct {
	*threads.StatusResult
	Actor string `json:"-"` // who asks, "" if that is not known
}

// IsPartialResult marks it: content that is lost keeps none of the rest.
func (StatusText) IsPartialResult() {}

// Text renders the thread, then what is running, merged, and waiting.
func (d StatusText) Text(p *page.Page) {
	threadText(p, d.ThreadRecord)
	standingText(p, d.ThreadID, d.Standing)
	switch text := page.ChangesText(d.Changes); {
	case d.Changes != nil && d.Changes.Files > 0:
		p.Field("changes", text+" (leslie diff "+string(d.ThreadID)+")")
	case d.Standing == nil || len(d.Standing.NotSent) == 0: // else it has some, which are not here
		p.Field("changes", text)
	}
	if d.Mistakes != nil {
		p.Line("suspended by the mistake limit: %d failed commands in a row by %s, last %s; a person has to resume it",
			d.Mistakes.Count, d.Mistakes.Actor, d.Mistakes.LastCode)
	}
	if d.Wakeable {
		p.Line("wakeable: every child is terminated; leslie resume %s continues it", d.ThreadID)
	}
	for _, h := range d.HeldBack {
		because := ""
		if h.Of != d.ThreadID {
			because = ", on which " + string(h.Of) + " depends"
		}
		p.Line("held back by %s (%s)%s", string(h.On), string(h.Status), because)
	}
	if d.PersonsCheckout {
		personsCheckout(p, d.ThreadID)
	}
	if d.Claim != nil {
		p.Line("claimed by %s until %s, %s", d.Claim.Holder, d.Claim.Until.Format(time.RFC3339), heardText(d.Claim))
	}
	d.goesOn(p)
	if d.Handed != nil && d.Former == nil && d.Ended == nil {
		p.Field("before", d.Handed.Said())
	}
	if d.Former != nil && d.Ended == nil {
		p.Line("%s", d.Former.Said())
	}
	if d.Code != nil && d.Code.Machine == "" {
		p.Field("not handed on", notHandedOn(d.ThreadID, d.TakenFromElsewhere))
	}
	if d.Run != nil {
		p.Field("run", d.Run.Agent+", "+page.RunEnding(*d.Run)+page.WithSeparator(", ", page.TotalsText(d.Runs)))
		p.Field("changed in your checkout while it ran", app.Joined(d.Run.Elsewhere))
	}
	for _, a := range d.Approvals {
		page.ApprovalText(p, a)
	}
	for _, i := range d.Injections {
		page.InjectionText(p, i)
	}
	for _, ck := range d.Checkpoints {
		why := ""
		if ck.Automatic {
			why = ", before a rollback"
		}
		p.Line("checkpoint %s  %s  %s%s", ck.CheckpointID, ck.CreatedAt.Format(time.RFC3339),
			fact.Plural(ck.Files, "file"), why)
		p.Field("  name", ck.Name)
	}
	p.Field("children", app.Joined(d.Relations.Children))
	p.Field("depended on by", app.Joined(d.Relations.DependedOnBy))
	for _, ref := range d.References {
		state := ""
		if !ref.TargetResolved {
			state = ", unresolved"
		} else if len(ref.Stale) > 0 {
			state = ", changed since: " + app.Joined(ref.Stale)
		}
		p.Line("reference %s -> %s  %s, %s%s", ref.RefID, ref.Target, ref.Binding, fact.Plural(ref.Files, "file"), state)
	}
	for _, ref := range d.ReferencedBy {
		p.Line("referenced by %s  %s, %s", ref.From, ref.RefID, ref.Binding)
	}
	for _, m := range d.Merges {
		p.Line("merge %s of %s into %s %s", m.MergeID, app.Joined(m.Sources), m.Into(), mergecmd.PendingText(m))
		if !m.Queued {
			p.Line("  once all is decided: %s", m.GoesOn())
		}
	}
	d.artifactsText(p)
	if len(d.Unpublished)+d.UnpublishedCommits > 0 {
		p.Line("not published: %s (leslie publish %s)", unpublishedText(d.Unpublished, d.UnpublishedCommits), d.ThreadID)
	}
}

// artifactsText lists the thread's files.
func (d StatusText) artifactsText(p *page.Page) {
	if d.Artifacts == nil {
		p.Field("artifacts", "not known")
		return
	}
	p.Field("artifacts", d.Artifacts.Total)
	for _, a := range d.Artifacts.Items {
		size := ""
		if a.Size != nil {
			size = "  " + fact.Plural(int(*a.Size), "byte")
		}
		p.Line("  %s%s", a.Path, size)
		if a.VersionOf != "" {
			p.Line("    %s", versionText(a.VersionOf, d.ThreadID))
		}
	}
	if d.Artifacts.Truncated {
		p.Line("  (%d of %d shown; leslie artifacts %s --limit 0 shows all)", len(d.Artifacts.Items), d.Artifacts.Total,
			d.ThreadID)
	}
}

// goesOn says how to go on with a thread on which nobody works, as after a crash, or whose holder may be gone.
func (d StatusText) goesOn(p *page.Page) {
	running := d.Run != nil && d.Run.Phase != thread.RunEnded && d.Run.Phase != thread.RunParked
	if d.Status != thread.Active || len(d.HeldBack) > 0 || d.PersonsCheckout || running {
		return
	}
	start := "leslie claim " + string(d.ThreadID) + " gives it to you"
	if d.Executor == thread.ByAgent {
		start = "leslie run " + string(d.ThreadID) + " starts an agent on it, " + start
	}
	switch {
	case d.Claim == nil:
		p.Line("nobody works on it: %s", start)
	case d.Claim.Holder != d.Actor:
		p.Line("if %s is gone: leslie claim %s --take-over --reason TEXT gives it to you", d.Claim.Holder, d.ThreadID)
	}
}

// standingText says what is unusual about a thread's code, and what its target has that it lacks.
func standingText(p *page.Page, id thread.ThreadID, i *code.Item) {
	if i == nil {
		return
	}
	if l := i.LandedElsewhere; l != nil {
		p.Line("now: it landed on another machine, and %s here does not have that yet (git pull, once it is pushed)",
			l.Place())
	}
	if i.LandedGone != "" {
		p.Line("now: %s (leslie land %s says what to do)", i.Standing(), id)
	}
	if i.Left != nil {
		p.Line("%s: %s", page.LeftLabel(*i.Left), page.LeftText(*i.Left, p.Place(i.Left.Worktree)))
	}
	for _, l := range i.Later {
		p.Line("%s", page.LaterText(l))
	}
	if len(i.NotSent) > 0 {
		p.Line("not here: commits of %s, which did not send them (leslie code %s)", app.Joined(i.NotSent), id)
	}
	for _, l := range i.NotCommitted {
		p.Line("not committed, only on %s: %s", l.Machine, fact.Plural(l.Files, "file"))
	}
	if i.Late {
		p.Line("git did not say all of its code in time (leslie code %s waits longer)", id)
	}
	if i.State == thread.CodeRemoved {
		return
	}
	if i.Pushed != nil {
		next := cmp.Or(i.Pushed.Next, "git merge "+i.Pushed.Upstream+", in its worktree")
		p.Line("not in it: %s has %s that %s lacks (%s)",
			i.Pushed.Upstream, fact.Plural(i.Pushed.Commits, "commit"), i.Branch, next)
	}
	if i.BranchGone && i.Restorable {
		p.Line("now: %s (leslie code restore %s)", i.Standing(), id)
	} else if i.BranchGone || app.OrZero(i.Busy) != "" {
		p.Line("now: %s (leslie code %s)", i.Standing(), id)
	}
	switch {
	case i.Moved != "":
		p.Line("now: %s", i.Moved)
	case code.Halfway(id, i.State) != "":
		p.Line("now: its worktree %s", code.Halfway(id, i.State))
	case i.State == thread.CodeLost && !i.BranchGone:
		p.Line("now: its worktree is not there (leslie code restore %s)", id)
	}
	if i.CheckedOut != nil && app.OrZero(i.Busy) == "" {
		astray := ""
		if i.Astray > 0 {
			astray = ", and " + fact.Plural(i.Astray, "commit") + " there that " + i.Branch + " lacks"
		}
		p.Line("now: its worktree has %s checked out, not its branch%s", cmp.Or(*i.CheckedOut, "no branch"), astray)
	}
	if i.Behind != nil && *i.Behind > 0 && (i.Landed == nil || !*i.Landed) {
		p.Line("behind: %s has %s that it lacks (leslie pull %s)", app.OrZero(i.Target), fact.Plural(*i.Behind, "commit"), id)
	}
	if i.Conflicts != nil && len(*i.Conflicts) > 0 {
		p.Line("would conflict with %s in: %s", app.OrZero(i.Target), app.Joined(*i.Conflicts))
	}
}

// Status is the command leslie status.
func Status() *cli.Command {
	return &cli.Command{
		Name: "status", Summary: "show a thread, or without an id a summary: what waits for you, what agents did",
		Detail:   "In a thread's worktree, without an id, it shows a person that thread.",
		Example:  "leslie status write-docs",
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ThreadIDs), Optional: true}}, NamesThread: true,
		Flags: []cli.Flag{cli.FromFlag("the runs that ended")},
		Run:   runStatus,
	}
}

func runStatus(c *cli.Call) (cli.Data, error) {
	id := c.Operand(0)
	if id == "" && c.Who.Thread == "" && c.Who.As != thread.Agent {
		id = c.WorktreeThread()
	}
	if text := c.Text("since"); text != "" {
		if c.Operand(0) != "" {
			c.Fault("--since", text, "--since goes without ID")
		}
		id = ""
	}
	if id != "" {
		d, err := cli.UseCase(c, threads.Status, threads.StatusRequest{Thread: id})
		if d == nil {
			return nil, err
		}
		return StatusText{d, c.Op.Caller().Actor}, err
	}
	return cli.RunUseCase(c, threads.Summary, threads.SummaryRequest{Since: c.From()},
		func(d *threads.SummaryResult) cli.Data { return summaryText{d, c.Who.As == thread.Agent} })
}

// acceptanceText renders the checks that a thread's code has to pass.
func acceptanceText(p *page.Page, code *app.CodeRecord) {
	if code == nil {
		return
	}
	p.Field("accept", app.Joined(code.Accept))
	if left := code.Left; left != nil {
		if left.Uncommitted > 0 {
			p.Line("completed with %s not committed", fact.Plural(left.Uncommitted, "file"))
		}
		if left.NoCommits {
			p.Line("completed without a commit of its own")
		}
	}
	for _, e := range code.Evidence {
		of := "what changed meanwhile"
		if e.Tree != "" {
			of = "tree " + app.Cut(e.Tree, 13)
		}
		p.Line("check %s  succeeded with %s, %s", e.Check, of, p.At(e.At))
	}
	for _, e := range (&thread.Code{Accept: code.Accept, Checks: code.Checks}).FailedChecks() {
		p.Line("check %s  %s, %s: %s", e.Check, failedText(e), p.At(e.At), e.Command)
		for _, line := range e.LastLines() {
			p.Line("  %s", line)
		}
	}
}

// failedText says how a check failed.
func failedText(e thread.CodeEvidence) string {
	if e.Begin {
		return "fails already where the branch begins (" + e.Reason + ")"
	}
	return "failed (" + e.Reason + ")"
}
