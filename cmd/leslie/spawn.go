package main

import (
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

type spawnText struct{ *app.SpawnResult }

func (d spawnText) Text(p *page) {
	p.line("thread %s  %s", d.ThreadID, d.Status)
	p.field("title", d.Title)
	p.field("objective", string(d.ObjectiveID))
	p.field("parent", d.ParentID)
	if d.Inherited.Mode != thread.InheritNone {
		p.field("inherited", many(d.Inherited.Files, "file")+" ("+string(d.Inherited.Mode)+")")
	}
	p.field("path", p.place(d.Path))
	if d.Claim != nil {
		p.field("claimed by", d.Claim.Holder+" until "+d.Claim.Until.Format(time.RFC3339))
	}
	spawnedCodeText(p, d.Code)
	if d.Run != nil {
		p.field("run", wantedText(d.Run))
	}
	for _, ref := range d.References {
		p.line("reference %s -> %s  %s, %s", ref.RefID, ref.Target, ref.Binding, many(ref.Files, "file")+emptyYet(ref))
	}
}

// wantedText says when a wanted run starts.
func wantedText(d *app.WantedRun) string {
	who := "its agent"
	if d.Agent != "" {
		who = d.Agent
	}
	if d.Loop {
		return who + " starts when the thread is ready"
	}
	return who + " starts with leslie run --next, which does not run now (leslie run --next --detach)"
}

// spawnedCodeText renders the code of a new thread.
func spawnedCodeText(p *page, d *app.SpawnedCode) {
	if d == nil {
		return
	}
	p.field("branch", d.Branch)
	p.field("worktree", d.Worktree)
	p.field("folder", d.Folder)
	from := d.Head
	if d.Target != nil {
		from = *d.Target + " (" + d.Head + ")"
	}
	if d.Base != nil {
		from += ", with what was not committed"
	}
	p.field("from", from)
}

// emptyYet says how a frozen reference gets the files that its target does not have yet.
func emptyYet(ref app.ReferenceRecord) string {
	if ref.Files > 0 || !ref.TargetResolved || ref.Binding != thread.Frozen {
		return ""
	}
	return " yet; leslie reference refresh " + string(ref.RefID) + " takes them once they are there"
}

func spawnCommand() *command {
	inherit := []string{string(thread.InheritNone), string(thread.InheritFull), string(thread.InheritPartial)}
	return &command{
		name: "spawn", summary: "create a thread of work; --run wants its agent started", writes: true,
		hint:     hint{starting, "spawn --intent TEXT --parent ID --inherit full"},
		example:  `leslie spawn --intent "Design the API" --parent thread-a1b2c3d4 --inherit partial --scope plan.md`,
		operands: []operand{{value: anyText("TEXT"), optional: true, sets: "intent"}},
		flags: []cli.Flag{
			newOption("intent", anyText("TEXT").required(), "what the thread should achieve; - reads stdin"),
			newOption("title", anyText("T"), "at most 200 characters (default: from the intent)"),
			newOption("objective", anID("ID", objectiveIDs), "default: the parent's, else the only open one"),
			newOption("parent", anID("ID", threadIDs), "the parent thread (default: --thread)"),
			newOption("id", anID("ID", otherIDs), "use this id instead of a random one"),
			newOption("inherit", oneOf(inherit...), "copy the parent's artifacts: all or --scope"),
			newOption("scope", scopes("P,..."), "which artifacts to inherit: paths, folders, globs"),
			newOption("ref", someIDs("ID,...", threadIDs), "threads to reference, as snapshots taken now"),
			newOption("depends-on", someIDs("ID,...", threadIDs), "threads that must terminate first"),
			newOption("tag", texts("T"), "a tag; can be repeated"),
			newOption("executor", oneOf(executorWords()...), "who does the work (default agent)"),
			toggle("run", "leslie run --next starts its agent before others"),
			newOption("agent", anyText("NAME"), "with --run: the agent (leslie agents)"),
			toggle("claim", "also claim the thread, in the same operation"),
			toggle("code", "make a git branch and worktree: leslie help code"),
			newOption("base", anyText("REF"), "where it starts (default: parent's branch, HEAD)"),
			newOption("uncommitted", oneOf("leave", "take"), "the parent's uncommitted code"),
			newOption("accept", someChecks(), "checks that an agent's done has to pass"),
			toggle("no-setup", "do not run code.setup in the worktree"),
			newOption("branch", anyText("B"), "the git branch of the thread's code"),
			newOption("worktree", anyText("DIR"), "the git worktree of the thread's code"),
			formerList("tags", "tag"), formerSwitch("no-run"), formerSwitch("foreground"),
		},
		run: runSpawn,
	}
}

func runSpawn(c *call) (Data, error) {
	in := app.SpawnRequest{
		Intent: c.text("intent"), Title: c.text("title"), ID: c.text("id"), Objective: c.text("objective"), Parent: c.text("parent"),
		Inherit: thread.Inherit(c.text("inherit")), Scope: c.parts("scope"), Refs: c.parts("ref"), DependsOn: c.parts("depends-on"),
		Tags: c.texts("tag"), Executor: thread.Executor(c.text("executor")), Branch: c.text("branch"), Worktree: fromDir(c, c.text("worktree")),
		Claim: c.on("claim"), Run: c.on("run"), Agent: c.text("agent"), Code: c.on("code"), Base: c.text("base"), Uncommitted: c.text("uncommitted"), NoSetup: c.on("no-setup"), Accept: c.parts("accept"),
	}
	if in.Parent == "" {
		in.Parent = c.who.thread
	}
	if in.Claim {
		checkHolder(c, func(name string) string { return c.ownLine("--actor", name) })
	}
	labels := map[string]string{"Refs": "--ref", "Tags": "--tag", "Accept": "--accept"}
	c.checkRequest(in.Faults, labels)
	if len(c.faults) == 0 { // else standard input is left unread
		in.Intent = c.readContent("intent", app.MaxContent)
	}
	d, err := runUseCase(c, app.Spawn, in, func(d *app.SpawnResult) Data { return spawnText{d} })
	return d, c.usageOf(err, labels)
}

// fromDir resolves a path relative to the folder in which the call works.
func fromDir(c *call, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.who.dir, path)
}
