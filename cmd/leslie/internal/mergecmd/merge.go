package mergecmd

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/merges"
	"leslie/internal/app/merging"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/merge"
	"leslie/thread"
)

// MergeText is a merge as all commands show it.
type MergeText struct {
	*merges.Result
	whole bool // conflicts with all of their lines
	goOn  bool // say how it goes on
	// limited: its scope is what the target inherited, because the caller named none.
	limited bool
}

// Text is the merge: how it ended, its conflicts, and how it goes on.
func (d MergeText) Text(p *page.Page) {
	if d.Branch != nil {
		branchText(p, d.Branch, d.Status)
		return
	}
	name := ""
	if d.MergeID != nil {
		name = " " + string(*d.MergeID)
	}
	switch d.Status {
	case merging.NothingToDo:
		what := "changes"
		if len(d.CodeLeft) > 0 {
			what = "artifacts"
		}
		if len(d.CodeBehind) > 0 {
			p.Line("no artifacts to merge: %s already has those of %s; it lacks commits of %s", d.Target,
				app.Joined(d.Sources), strings.Join(d.CodeBehind, ", "))
		} else {
			p.Line("nothing to do: %s already has all %s of %s", d.Into(), what, app.Joined(d.Sources))
		}
		d.left(p)
		d.limit(p)
		return
	case merging.Aborted:
		p.Line("merge%s aborted; %s is unchanged", name, d.Into())
		return
	}
	p.Line("merge%s of %s into %s  %s", name, app.Joined(d.Sources), d.Into(), string(d.Status))
	d.limit(p)
	d.left(p)
	if d.Next == nil { // the answer to a choice is about that
		for _, f := range d.Files {
			p.Line("  %s  %s", f.How, f.Path)
		}
	}
	landingText(p, d.Code)
	refusedText(p, d.Refused)
	if d.Reused > 0 {
		p.Line("reused %s of the merge that was undone", fact.Plural(d.Reused, "decision"))
	}
	if d.Status == merging.Merged {
		editedText(p, d.Edited)
	}
	if d.Resumed {
		p.Line("resumed the merge that was pending")
	}
	if d.Outdated > 0 && d.Status == merging.Pending {
		p.Line("put aside %s: the conflict has changed since", fact.Plural(d.Outdated, "decision"))
	}
	if d.Replaced > 0 {
		p.Line("replaced %s", fact.Plural(d.Replaced, "earlier answer"))
	}
	for _, l := range d.Lost {
		p.Line("%s loses %s of %s:", l.Path, fact.Plural(l.Lines, "line"), d.Into())
		for _, line := range l.Text {
			p.Line("  - %s", line)
		}
		if more := l.Lines - len(l.Text); more > 0 {
			p.Line("  and %s", fact.Plural(more, "other line"))
		}
	}
	if d.Resolved+d.Unresolved > 0 {
		p.Line("conflicts: %d resolved, %d unresolved", d.Resolved, d.Unresolved)
	}
	d.conflicts(p)
	for _, of := range d.Report {
		if of.Files == 0 { // it changed nothing, or all that it changed is open
			continue
		}
		p.Line("from %s: %s kept, %d changed, %d dropped", of.Thread, fact.Plural(of.Kept, "line"), of.Changed,
			of.Dropped)
	}
	for _, line := range d.Next {
		p.Line("next: %s", line)
	}
	if d.Onto != "" && d.Status == merging.Merged {
		p.Line("next: leslie land %s, which completes it and removes its worktree", d.Target)
	}
	for _, path := range app.SortedKeys(d.Declined) {
		if p.Width > 0 && d.Status == merging.Merged {
			break // the person was told at once, and it is resolved
		}
		p.Line("the agent did not resolve %s: %s", path, d.Declined[path])
	}
	p.Field("approval", requestText(d.Approval, d.RequireApproval && d.Status == merging.Pending))
	if d.goOn && d.Status == merging.Pending {
		d.howItGoesOn(p)
	}
}

// branchText is what a pull brought of a branch of no thread.
func branchText(p *page.Page, b *merging.PulledBranch, status merging.Status) {
	commits := fact.Plural(b.Commits, "commit") + " of " + b.From
	switch {
	case status == merging.NothingToDo:
		p.Line("nothing to do: %s already has all of %s", b.Branch, b.From)
	case status == merging.Planned:
		p.Line("would bring %s to %s", commits, b.Branch)
	case b.Forward:
		p.Line("brought %s to %s: fast-forward to %s", commits, b.Branch, b.Commit[:12])
	default:
		p.Line("brought %s to %s: merge commit %s", commits, b.Branch, b.Commit[:12])
	}
	p.Field("undo", b.Undo)
}

// conflicts lists the conflicts, with the lines of those that are open.
func (d MergeText) conflicts(p *page.Page) {
	for _, c := range d.Conflicts {
		open, full := c.Status == merge.Unresolved, c.Sides != nil
		switch {
		case full && (open || d.whole):
			conflictText(p, c, d.whole)
		case open:
			p.Line("open %s  %s  %s %d/%d", c.ID, c.Path, c.Kind, c.Hunk, c.Of)
		}
		if decided := !full || d.whole; !open && (decided || d.goOn) {
			p.Line("resolved %s  %s %d/%d  %s", c.ID, c.Path, c.Hunk, c.Of, resultWord(c))
			if decided { // just now, or it is asked for
				excerpt(p, "    ", c.Result.Text, d.whole)
			}
		}
	}
}

// howItGoesOn names the lines that decide what is open, and the one that applies the merge then.
func (d MergeText) howItGoesOn(p *page.Page) {
	open := slices.IndexFunc(d.Conflicts, func(c merge.Conflict) bool { return c.Status == merge.Unresolved })
	then, id := thread.Merge{ID: *d.MergeID, Target: d.Target, Onto: d.Onto}.GoesOn(), string(*d.MergeID)
	if d.Code != nil {
		then += merging.HistoryText(d.Code.How)
	}
	switch {
	case len(d.Conflicts) == 0:
		p.Line("to go on: %s", then)
		return
	case open < 0:
		p.Line("every conflict has a decision; then: %s", then)
		return
	}
	edit := ""
	for _, file := range d.Work { // of the same path
		if strings.HasSuffix(filepath.ToSlash(file), "/"+d.Conflicts[open].Path) {
			edit = ", or edit " + external.Word(p.Place(file))
		}
	}
	p.Line("decide: leslie merge resolve %s %s --take SIDE (%s)%s", id, external.Word(d.Conflicts[open].Path),
		app.Joined(d.Conflicts[open].Takes()), edit)
	p.Line("then: %s", then)
	p.Line("or give it up: leslie merge abort %s", id)
}

// left says whose code is not merged, and how it could be.
func (d MergeText) left(p *page.Page) {
	for _, id := range d.CodeLeft {
		p.Line("code of %s is not merged: %s owns none (leslie update %s --worktree DIR gives it a branch)", id,
			d.Target, d.Target)
		p.Line("  %s", d.CodeLeftReasons[id])
	}
}

// landingText says what the merge does with code, or did.
func landingText(p *page.Page, d *merging.CodeResult) {
	if d == nil {
		return
	}
	beforehandText(p, d)
	switch {
	case d.Landed:
		p.Line("code: %s is at %s, which changes %s", d.Branch, (*d.Commit)[:12], fact.Plural(d.Files, "file"))
	case d.Files > 0:
		p.Line("code: merges into %s%s, changes %s", d.Branch, movesText(d), fact.Plural(d.Files, "file"))
	default:
		p.Line("code: merges into %s%s", d.Branch, movesText(d))
	}
}

// beforehandText says what is committed, and how far the branch moves forward to its upstream,
// before the code lands.
func beforehandText(p *page.Page, d *merging.CodeResult) {
	for _, one := range d.Taken {
		p.Line("code: committed %s of %s as %s", fact.Plural(one.Files, "uncommitted file"), one.ThreadID,
			one.Commit[:12])
	}
	if d.Forward != nil {
		p.Line("code: %s moves forward to %s first, by %s", d.Branch, d.Forward.Upstream,
			fact.Plural(d.Forward.Commits, "commit"))
	}
}

// movesText says which worktree moves along.
func movesText(d *merging.CodeResult) string {
	if d.Worktree == "" {
		return ""
	}
	return " (checked out in " + d.Worktree + ")"
}

// requestText is the request about a merge as a line shows it.
func requestText(a *merging.Approval, required bool) string {
	switch {
	case a != nil:
		return string(a.ApprovalID) + " " + string(a.Status)
	case required:
		return "not asked for yet"
	}
	return ""
}

// MaxShownLines is how many lines of a side a text answer shows; JSON has all.
const MaxShownLines = 12

// resultWord is the choice for a resolved conflict, or the merger that resolved it.
func resultWord(c merge.Conflict) string {
	switch {
	case c.Result.Absent:
		return "no such file"
	case c.Result.Take == "":
		return c.How
	}
	return c.Result.Take
}

// excerpt shows a text, or its first lines.
func excerpt(p *page.Page, indent, text string, whole bool) {
	n, total := 0, strings.Count(text, "\n")
	for line := range strings.Lines(text) {
		if n++; n > MaxShownLines && !whole {
			p.Line("%s(%s)", indent, fact.Plural(total-MaxShownLines, "more line"))
			break
		}
		p.Line("%s%s", indent, strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "))
	}
}

func conflictText(p *page.Page, c merge.Conflict, whole bool) {
	p.Line("conflict %s  %s  %s %d/%d", c.ID, c.Path, c.Kind, c.Hunk, c.Of)
	p.Field("  about", c.Detail)
	show := func(label, text string, absent bool) {
		if absent {
			p.Line("  %s: no such file", label)
			return
		}
		p.Line("  %s:", label)
		excerpt(p, "    ", text, whole)
	}
	for _, s := range c.Sides {
		show(s.Role+" "+s.Thread, s.Text, s.Absent)
	}
	if c.Base.From != "" {
		show("base "+c.Base.From, c.Base.Text, false)
	}
}

// limit says which artifacts alone took part because the target inherited no others.
func (d MergeText) limit(p *page.Page) {
	if d.limited && len(d.Scope) > 0 {
		p.Line("only what %s inherited took part: %s; --scope '**' brings all", d.Target, app.Joined(d.Scope))
	}
}

// Merge is the command leslie merge.
func Merge() *cli.Command {
	return &cli.Command{
		Name: "merge", Summary: "merge the artifacts and the code of threads into another thread", Writes: true,
		NotBatchable: true,
		Detail: "The target does not change until every conflict is resolved. If nobody can be asked, the merge " +
			"stays pending (T301): merge resolve, then the same line again. Code lands in the target's branch, else " +
			"where it began; not with --scope.",
		Example: "leslie merge --sources write-docs --target main",
		Operands: []cli.Operand{{Value: cli.IDs("SRC... TARGET", cli.ThreadIDs), Optional: true, Many: true,
			Sets: "sources", LastSets: "target"}},
		Flags: append([]cli.Flag{
			cli.NewFlag("sources", cli.IDs("A,B", cli.ThreadIDs).Required(),
				"the threads to merge from, in this order"),
			cli.NewFlag("target", cli.ID("T", cli.ThreadIDs).Required(), "the thread to merge into"),
			unreadFlag(),
			cli.Formerly("conflict_strategy", "conflict-strategy"),
		}, mergeFlags()...),
		Run: runMerge,
	}
}

// unreadFlag is the flag of every command that lands what others may have remarked on.
func unreadFlag() cli.Flag {
	return cli.NewFlag("unread", cli.OneOf("refuse", merging.LeaveUnread), "unread constraints (default refuse)")
}

// mergeFlags returns the flags of every command that starts a merge.
func mergeFlags() []cli.Flag {
	strategies := []string{string(thread.Interactive), string(thread.AgentFirst), string(thread.HumanOnly),
		string(thread.Strict)}
	return append([]cli.Flag{
		cli.NewFlag("only", cli.OneOf(merging.OnlyCode, merging.OnlyArtifacts), "merge only this part"),
		cli.Toggle("squash", "land the code as one ordinary commit"),
		cli.Toggle("queue", "only queue it, for merge land"),
		cli.NewFlag("uncommitted", cli.OneOf("refuse", merging.TakeUncommitted), "uncommitted files of sources: refuse, or commit"),
		cli.NewFlag("scope", cli.Scopes("P,..."), "only these artifacts: paths, folders, globs"),
		cli.NewFlag("conflict-strategy", cli.OneOf(strategies...), "who resolves conflicts"),
		cli.Toggle("require-approval", "apply only after a person's approval"),
		cli.Toggle("dry-run", "show what would happen without changing anything"),
	}, commitFlags()...)
}

// commitFlags returns the flags of every command that may apply a merge. A command in
// these flags runs; a command in a state or in a project's configuration does not.
func commitFlags() []cli.Flag {
	return []cli.Flag{
		cli.NewFlag("agent", cli.Text("NAME|CMD").Offering(cli.AgentNames), "the agent or command that resolves"),
		cli.NewFlag("agent-timeout", cli.Duration(), "how long the agent may take per file (default 300s)"),
		cli.NewFlag("validate", cli.Text("CMD"),
			"a command that must succeed on the result"),
	}
}

func runMerge(c *cli.Call) (cli.Data, error) {
	c.Require("sources", "target")
	if c.Has("sources") {
		c.Params["sources"] = c.Parts("sources")
	}
	in := merges.Request{
		Sources: c.Parts("sources"), Target: c.Text("target"), Scope: c.Parts("scope"),
		Strategy: thread.Strategy(c.Text("conflict-strategy")), RequireApproval: c.On("require-approval"),
		DryRun: c.On("dry-run"),
		Only:   c.Text("only"), Squash: c.On("squash"), Queue: c.On("queue"), Uncommitted: c.Text("uncommitted"),
		Unread: c.Text("unread"), Resolvers: mergeMeans(c),
	}
	c.CheckRequest(in.Faults, map[string]string{"Strategy": "--conflict-strategy", "Timeout": "--agent-timeout"})
	data, err := runMerging(c, merges.Merge, in)
	return data, c.MeantSubcommand(err, "merge", in.Sources...)
}

// mergeMeans are the options of every command that may apply a merge.
func mergeMeans(c *cli.Call) merges.Resolvers {
	means := merges.Resolvers{Agent: c.Text("agent"), Validate: c.Text("validate")}
	means.Timeout, _ = time.ParseDuration(c.Text("agent-timeout")) // checked with the line
	means.Person, means.Approver = person(c)
	return means
}

// runMerging is cli.RunUseCase for a merge, whose result accompanies an error: what a
// pending merge waits for.
func runMerging[In any](c *cli.Call, do func(*app.Call, In) (*merges.Result, error), in In) (cli.Data, error) {
	result, err := cli.UseCase(c, do, in)
	if result == nil {
		return nil, err
	}
	return MergeText{Result: result, limited: !c.Has("scope") && c.Line.Cmd.Name == "pull"}, err
}
