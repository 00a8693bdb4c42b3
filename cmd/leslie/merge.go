package main

import (
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/merge"
	"leslie/thread"
)

// mergeText is a merge as all commands show it.
type mergeText struct {
	*app.MergeResult
	whole bool // conflicts with all of their lines
	// limited: its scope is what the target inherited, because the caller named none.
	limited bool
}

func (d mergeText) Text(p *page) {
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
		p.line("nothing to do: %s already has all %s of %s", d.Target, what, joined(d.Sources))
		d.left(p)
		d.limit(p)
		return
	case merging.Aborted:
		p.line("merge%s aborted; %s is unchanged", name, d.Target)
		return
	}
	p.line("merge%s of %s into %s  %s", name, joined(d.Sources), d.Target, string(d.Status))
	d.limit(p)
	d.left(p)
	if d.Next == nil { // the answer to a choice is about that
		for _, f := range d.Files {
			p.line("  %s  %s", f.How, f.Path)
		}
	}
	landingText(p, d.Code)
	refusedText(p, d.Refused)
	if d.Reused > 0 {
		p.line("reused %s of the merge that was undone", many(d.Reused, "decision"))
	}
	if d.Replaced > 0 {
		p.line("replaced %s", many(d.Replaced, "earlier answer"))
	}
	if d.Resolved+d.Unresolved > 0 {
		p.line("conflicts: %d resolved, %d unresolved", d.Resolved, d.Unresolved)
	}
	for _, c := range d.Conflicts {
		open, full := c.Status == merge.Unresolved, c.Sides != nil
		switch {
		case full && (open || d.whole):
			conflictText(p, c, d.whole)
		case open:
			p.line("open %s  %s  %s %d/%d", c.ID, c.Path, c.Kind, c.Hunk, c.Of)
		}
		if !open && (!full || d.whole) { // it was decided just now, or is asked for
			p.line("resolved %s  %s %d/%d  %s", c.ID, c.Path, c.Hunk, c.Of, resultWord(c))
			p.excerpt("    ", c.Result.Text, d.whole)
		}
	}
	for _, of := range d.Report {
		if of.Files == 0 { // it changed nothing, or all that it changed is open
			continue
		}
		p.line("from %s: %s kept, %d changed, %d dropped", of.Thread, many(of.Kept, "line"), of.Changed, of.Dropped)
	}
	for _, line := range d.Next {
		p.line("next: %s", line)
	}
	for _, path := range sortedKeys(d.Declined) {
		if p.width > 0 && d.Status == merging.Merged {
			break // the person was told at once, and it is resolved
		}
		p.line("the agent did not resolve %s: %s", path, d.Declined[path])
	}
	p.field("approval", requestText(d.Approval, d.RequireApproval && d.Status == merging.Pending))
}

// left says whose code is not merged, and how it could be.
func (d mergeText) left(p *page) {
	if len(d.CodeLeft) > 0 {
		p.line("code of %s is not merged: %s owns none (leslie update %s --worktree DIR gives it a branch)", joined(d.CodeLeft), d.Target, d.Target)
	}
}

// landingText says what the merge does with code, or did.
func landingText(p *page, d *merging.CodeResult) {
	if d != nil {
		for _, one := range d.Taken {
			p.line("code: committed %s of %s as %s", many(one.Files, "uncommitted file"), one.ThreadID, one.Commit[:12])
		}
	}
	switch {
	case d == nil:
	case d.Landed:
		p.line("code: %s is at %s, which changes %s", d.Branch, (*d.Commit)[:12], many(d.Files, "file"))
	case d.Files > 0:
		p.line("code: merges into %s, changes %s", d.Branch, many(d.Files, "file"))
	default:
		p.line("code: merges into %s", d.Branch)
	}
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

// maxShownLines is how many lines of a side a text answer shows; JSON has all.
const maxShownLines = 12

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
func (p *page) excerpt(indent, text string, whole bool) {
	n, total := 0, strings.Count(text, "\n")
	for line := range strings.Lines(text) {
		if n++; n > maxShownLines && !whole {
			p.line("%s(%s)", indent, many(total-maxShownLines, "more line"))
			break
		}
		p.line("%s%s", indent, strings.TrimRight(line, "\r\n"))
	}
}

func conflictText(p *page, c merge.Conflict, whole bool) {
	p.line("conflict %s  %s  %s %d/%d", c.ID, c.Path, c.Kind, c.Hunk, c.Of)
	p.field("  about", c.Detail)
	show := func(label, text string, absent bool) {
		if absent {
			p.line("  %s: no such file", label)
			return
		}
		p.line("  %s:", label)
		p.excerpt("    ", text, whole)
	}
	for _, s := range c.Sides {
		show(s.Role+" "+s.Thread, s.Text, s.Absent)
	}
	if c.Base.From != "" {
		show("base "+c.Base.From, c.Base.Text, false)
	}
}

// limit says which artifacts alone took part because the target inherited no others.
func (d mergeText) limit(p *page) {
	if d.limited && len(d.Scope) > 0 {
		p.line("only what %s inherited took part: %s; --scope '**' brings all", d.Target, joined(d.Scope))
	}
}

func mergeCommand() *command {
	return &command{
		name: "merge", summary: "merge the artifacts and the code of threads into another thread", writes: true, notBatchable: true,
		hint: hint{bringing, "merge --sources ID --target ID"},
		detail: "The target does not change until every conflict is resolved. If nobody can be asked about one, the merge stays pending " +
			"(T301): use merge resolve, then merge continue. Code that both own is merged, too, but not with --scope.",
		example:  "leslie merge --sources thread-a1b2c3d4 --target main",
		operands: []operand{{value: someIDs("SRC... TARGET", threadIDs), optional: true, many: true, sets: "sources", lastSets: "target"}},
		flags: append([]cli.Flag{
			newOption("sources", someIDs("A,B", threadIDs).required(), "the threads to merge from, in this order"),
			newOption("target", anID("T", threadIDs).required(), "the thread to merge into"),
			newOption("only", oneOf(merging.OnlyCode, merging.OnlyArtifacts), "merge only this part"),
			toggle("squash", "land code with one parent"),
			toggle("queue", "only queue it, for merge land"),
			newOption("uncommitted", oneOf("refuse", merging.TakeUncommitted), "code of sources (default refuse)"),
			formerly("conflict_strategy", "conflict-strategy"),
		}, mergeFlags()...),
		run: runMerge,
	}
}

// mergeFlags returns the flags of every command that starts a merge.
func mergeFlags() []cli.Flag {
	strategies := []string{string(thread.Interactive), string(thread.AgentFirst), string(thread.HumanOnly), string(thread.Strict)}
	return append([]cli.Flag{
		newOption("scope", scopes("P,..."), "only these artifacts: paths, folders, globs"),
		newOption("conflict-strategy", oneOf(strategies...), "who resolves conflicts"),
		toggle("require-approval", "apply only after a person's approval"),
		toggle("dry-run", "show what would happen without changing anything"),
	}, commitFlags()...)
}

// commitFlags returns the flags of every command that may apply a merge. A command in
// these flags runs; a command in a state or in a project's configuration does not.
func commitFlags() []cli.Flag {
	return []cli.Flag{
		newOption("agent", anyText("NAME|CMD"), "the agent or command that resolves"),
		newOption("agent-timeout", aDuration(), "how long the agent may take per file (default 300s)"),
		newOption("validate", anyText("CMD"), "a command that must succeed in a copy of the target with the result"),
	}
}

func runMerge(c *call) (Data, error) {
	c.require("sources", "target")
	if c.has("sources") {
		c.params["sources"] = c.parts("sources")
	}
	in := app.MergeRequest{
		Sources: c.parts("sources"), Target: c.text("target"), Scope: c.parts("scope"),
		Strategy: thread.Strategy(c.text("conflict-strategy")), RequireApproval: c.on("require-approval"), DryRun: c.on("dry-run"),
		Only: c.text("only"), Squash: c.on("squash"), Queue: c.on("queue"), Uncommitted: c.text("uncommitted"), MergeMeans: mergeMeans(c),
	}
	c.checkRequest(in.Faults, map[string]string{"Strategy": "--conflict-strategy", "Timeout": "--agent-timeout"})
	data, err := runMerging(c, app.Merge, in)
	return data, c.meantSubcommand(err, "merge", in.Sources...)
}

// mergeMeans are the options of every command that may apply a merge.
func mergeMeans(c *call) app.MergeMeans {
	means := app.MergeMeans{Agent: c.text("agent"), Validate: c.text("validate")}
	means.Timeout, _ = time.ParseDuration(c.text("agent-timeout")) // checked with the line
	means.Person, means.Approver = c.person()
	return means
}

// runMerging is runUseCase for a merge, whose result accompanies an error: what a
// pending merge waits for.
func runMerging[In any](c *call, do func(*app.Call, In) (*app.MergeResult, error), in In) (Data, error) {
	result, err := useCase(c, do, in)
	if result == nil {
		return nil, err
	}
	return mergeText{MergeResult: result, limited: !c.has("scope") && c.line.cmd.name == "pull"}, err
}
