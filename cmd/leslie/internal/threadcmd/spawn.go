package threadcmd

import (
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/thread"
)

type spawnText struct{ *threads.SpawnResult }

func (d spawnText) Text(p *page.Page) {
	p.Line("thread %s  %s", d.ThreadID, d.Status)
	p.Field("title", d.Title)
	if d.ObjectiveMade {
		p.Field("objective", string(d.ObjectiveID)+" (made for it)")
	} else {
		p.Field("objective", string(d.ObjectiveID))
	}
	p.Field("parent", d.ParentID)
	if d.Inherited.Mode != thread.InheritNone {
		p.Field("inherited", fact.Plural(d.Inherited.Files, "file")+" ("+string(d.Inherited.Mode)+")")
	}
	p.Field("path", p.Place(d.Path))
	if d.Claim != nil {
		p.Field("claimed by", d.Claim.Holder+" until "+d.Claim.Until.Format(time.RFC3339))
	}
	if d.Code == nil && d.Branch != "" {
		p.Field("branch", d.Branch+" (noted; with --code the thread gets a worktree on it)")
	}
	spawnedCodeText(p, d.Code)
	if d.Run != nil {
		p.Field("run", wantedText(d.Run))
	}
	for _, ref := range d.References {
		p.Line("reference %s -> %s  %s, %s", ref.RefID, ref.Target, ref.Binding,
			fact.Plural(ref.Files, "file")+emptyYet(ref))
	}
	id := string(d.ThreadID)
	switch {
	case d.Run != nil, d.Status != thread.Active, len(d.DependsOn) > 0:
	case d.Claim != nil:
		p.Line("next: leslie context --thread %s", id)
	case d.Executor == thread.ByHuman:
	case d.Code != nil:
		p.Line("next: work in its worktree and commit there, or leslie run %s", id)
	default:
		p.Line("next: leslie run %s, or leslie claim %s", id, id)
	}
}

// wantedText says when a wanted run starts.
func wantedText(d *threads.WantedRun) string {
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
func spawnedCodeText(p *page.Page, d *threads.SpawnedCode) {
	if d == nil {
		return
	}
	if d.Adopted {
		p.Field("branch", d.Branch+" (which was there)")
	} else {
		p.Field("branch", d.Branch)
	}
	p.Field("worktree", d.Worktree)
	p.Field("folder", d.Folder)
	from := d.Head[:min(12, len(d.Head))]
	if d.Target != nil {
		from = *d.Target + " (" + from + ")"
	}
	if d.Base != nil {
		from += ", with what was not committed"
	}
	p.Field("from", from)
	p.Field("lands in", d.LandsIn)
}

// emptyYet says how a frozen reference gets the files that its target does not have yet.
func emptyYet(ref artifacts.ReferenceRecord) string {
	if ref.Files > 0 || !ref.TargetResolved || ref.Binding != thread.Frozen {
		return ""
	}
	return " yet; leslie reference refresh " + string(ref.RefID) + " takes them once they are there"
}

// Spawn is the command leslie spawn.
func Spawn() *cli.Command {
	return &cli.Command{
		Name: "spawn", Summary: "create a thread of work, with --code on a branch in a worktree of its own", Writes: true,
		Example:  `leslie spawn --intent "Design the API" --parent main --inherit full`,
		Operands: []cli.Operand{{Value: cli.Text("TEXT"), Optional: true, Sets: "intent"}},
		Flags:    spawnFlags(),
		Run:      runSpawn,
	}
}

func runSpawn(c *cli.Call) (cli.Data, error) {
	in := spawnRequest(c)
	if in.Parent == "" {
		in.Parent = c.Who.Thread
	}
	if in.Claim {
		checkHolder(c, func(name string) string { return c.OwnLine("--actor", name) })
	}
	labels := map[string]string{"Refs": "--ref", "Tags": "--tag", "Accept": "--accept"}
	c.CheckRequest(in.Faults, labels)
	if len(c.Faults) == 0 { // else standard input is left unread
		in.Intent = c.ReadContent("intent", app.MaxContent)
	}
	d, err := cli.RunUseCase(c, threads.Spawn, in, func(d *threads.SpawnResult) cli.Data { return spawnText{d} })
	if codes.Has(err, codes.InvalidArgument) && c.Text("intent") != "-" {
		open, _ := codes.Of(err).Candidates()
		var lines []string
		for _, o := range open {
			lines = append(lines, c.OwnLine("--objective", o.ID))
		}
		if len(lines) > 0 {
			err = codes.Of(err).WithNext(lines...)
		}
	}
	return d, c.UsageOf(err, labels)
}
