package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

// referenceText is one reference.
func referenceText(p *page, d app.ReferenceRecord) {
	p.line("reference %s  %s -> %s", d.RefID, d.From, d.Target)
	p.field("binding", string(d.Binding))
	p.field("scope", joined(d.Scope))
	if !d.TargetResolved {
		p.line("target: could not be resolved")
	}
	p.field("path", d.LocalPath)
	p.field("files", d.Files)
	p.field("taken", d.TakenAt.Format(time.RFC3339))
	p.field("changed since", joined(d.Stale))
}

type referenceWrittenText struct{ *app.ReferenceResult }

func (d referenceWrittenText) Text(p *page) {
	if !d.Changed {
		p.line("nothing changed")
	}
	referenceText(p, d.ReferenceRecord)
}

func referenceWritten(d *app.ReferenceResult) Data { return referenceWrittenText{d} }

func referenceCommand() *command {
	return &command{
		name: "reference", summary: "tie a thread to another's artifacts, read-only", writes: true,
		teach: lesson{sharing, "reference --from ID --target ID"},
		detail: "frozen copies what the target holds now to context/inherited/REF/; live reads it where it stands.\n" +
			"A target that does not exist is kept and warned of (W202).",
		example: "leslie reference --from thread-a1b2c3d4 --target thread-e5f6g7h8 --scope design.md",
		flags: []cli.Flag{
			newOption("from", anID("A", threadIDs), "the thread that refers; default: --thread"),
			newOption("target", anID("B", threadIDs).required(), "the thread it refers to"),
			newOption("scope", scopes("P,..."), "which of its artifacts: paths, folders, globs (default all)"),
			newOption("binding", oneOf(string(thread.Frozen), string(thread.Live)), "a snapshot taken now (default), or the target where it stands"),
		},
		run: runReference,
	}
}

func runReference(c *call) (Data, error) {
	in := app.CreateReferenceRequest{
		From: c.text("from"), Target: c.text("target"), Scope: c.parts("scope"), Binding: thread.Binding(c.text("binding")),
	}
	if in.From == "" {
		in.From = c.who.thread
	}
	if in.From == "" {
		c.fault("--from", "", "--from is missing (or say --thread)")
	}
	c.checkRequest(in.Faults, nil)
	return runUseCase(c, app.CreateReference, in, referenceWritten)
}

type referenceListText struct{ *app.ListReferencesResult }

func (d referenceListText) Text(p *page) {
	var rows [][]string
	for _, ref := range d.Items.Items {
		state := "ok"
		switch {
		case !ref.TargetResolved:
			state = "unresolved"
		case len(ref.Stale) > 0:
			state = "stale"
		}
		rows = append(rows, []string{string(ref.RefID), string(ref.From), string(ref.Target), string(ref.Binding), state, joined(ref.Scope)})
	}
	p.table("REFERENCE FROM TARGET BINDING STATE SCOPE", rows)
	p.rest(len(rows), d.Total)
	if d.Total == 0 {
		p.line("no references")
	}
}

func referenceListCommand() *command {
	return &command{
		name: "reference list", summary: "list references and whether their targets have moved on",
		example: "leslie reference list --from thread-a1b2c3d4",
		flags: []cli.Flag{
			newOption("from", anID("A", threadIDs), "only those that this thread made"),
			limitFlag(),
		},
		run: runReferenceList,
	}
}

func runReferenceList(c *call) (Data, error) {
	in := app.ListReferencesRequest{From: c.text("from"), Limit: c.count("limit", app.DefaultLimit)}
	return runUseCase(c, app.ListReferences, in, func(d *app.ListReferencesResult) Data { return referenceListText{d} })
}

type referenceShowText struct{ *app.ShowReferenceResult }

func (d referenceShowText) Text(p *page) {
	referenceText(p, d.ReferenceRecord)
	artifactsTable(p, d.Artifacts)
}

func referenceShowCommand() *command {
	return &command{
		name: "reference show", summary: "show one reference and what can be read through it",
		example:  "leslie reference show ref-a1b2c3d4",
		operands: []operand{{value: anID("REF", referenceIDs)}}, run: runReferenceShow,
	}
}

func runReferenceShow(c *call) (Data, error) {
	in := app.ReferenceRequest{Reference: c.operand(0)}
	return runUseCase(c, app.ShowReference, in, func(d *app.ShowReferenceResult) Data { return referenceShowText{d} })
}

func referenceRefreshCommand() *command {
	return &command{
		name: "reference refresh", summary: "take a reference's target as it is now", writes: true,
		example:  "leslie reference refresh ref-a1b2c3d4",
		operands: []operand{{value: anID("REF", referenceIDs)}}, run: runReferenceRefresh,
	}
}

func runReferenceRefresh(c *call) (Data, error) {
	return runUseCase(c, app.RefreshReference, app.ReferenceRequest{Reference: c.operand(0)}, referenceWritten)
}

func referenceRemoveCommand() *command {
	return &command{
		name: "reference remove", summary: "take a reference away, its frozen copy too", writes: true,
		example:  "leslie reference remove ref-a1b2c3d4",
		operands: []operand{{value: anID("REF", referenceIDs)}}, run: runReferenceRemove,
	}
}

func runReferenceRemove(c *call) (Data, error) {
	return runUseCase(c, app.RemoveReference, app.ReferenceRequest{Reference: c.operand(0)}, referenceWritten)
}
