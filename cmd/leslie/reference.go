package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
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
	if d.LocalPath != nil {
		p.field("path", p.place(*d.LocalPath))
	}
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
		name: "reference", summary: "reference another thread's artifacts (read-only)", writes: true,
		hint: hint{sharing, "reference --from ID --target ID"},
		detail: "A frozen reference copies the target's artifacts to context/inherited/REF/; a live reference reads them in the target's folder. " +
			"If the target does not exist, or a live reference's scope matches nothing yet, the reference is created with a warning (W202).",
		example: "leslie reference --from thread-a1b2c3d4 --target thread-e5f6g7h8 --scope design.md",
		flags: []cli.Flag{
			newOption("from", anID("A", threadIDs), "the thread that gets the reference (default: --thread)"),
			newOption("target", anID("B", threadIDs).required(), "the referenced thread"),
			newOption("scope", scopes("P,..."), "which artifacts: paths, folders, globs (default all)"),
			newOption("binding", oneOf(string(thread.Frozen), string(thread.Live)), "a snapshot taken now (default), or the target's current artifacts"),
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
		c.fault("--from", "", "--from is missing (or give --thread)")
	}
	c.checkRequest(in.Faults, nil)
	return runUseCase(c, app.CreateReference, in, referenceWritten)
}

type referenceListText struct{ *app.ListReferencesResult }

func (d referenceListText) Text(p *page) {
	state := func(ref app.ReferenceRecord) string {
		switch {
		case !ref.TargetResolved:
			return "unresolved"
		case len(ref.Stale) > 0:
			return "stale"
		}
		return "ok"
	}
	tableOf(p, d.Items.Items, []column[app.ReferenceRecord]{
		{Column: screen.Column{Name: "REFERENCE"}, cell: text(func(ref app.ReferenceRecord) thread.ReferenceID { return ref.RefID })},
		{Column: screen.Column{Name: "FROM"}, cell: text(func(ref app.ReferenceRecord) thread.ThreadID { return ref.From })},
		{Column: screen.Column{Name: "TARGET"}, cell: text(func(ref app.ReferenceRecord) thread.ThreadID { return ref.Target })},
		{Column: screen.Column{Name: "BINDING", Goes: 1}, cell: text(func(ref app.ReferenceRecord) thread.Binding { return ref.Binding })},
		{Column: screen.Column{Name: "STATE"}, cell: text(state)},
		{Column: screen.Column{Name: "SCOPE", Goes: 2, Shrinks: true}, cell: text(func(ref app.ReferenceRecord) string { return joined(ref.Scope) })},
	})
	p.rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.line("no references")
	}
}

func referenceListCommand() *command {
	return &command{
		name: "reference list", summary: "list references and whether their targets have changed",
		example:  "leslie reference list thread-a1b2c3d4",
		operands: []operand{{value: anID("ID", threadIDs), optional: true}},
		flags: []cli.Flag{
			newOption("from", anID("A", threadIDs), "only references of this thread; the same as ID"),
			limitFlag(),
		},
		run: runReferenceList,
	}
}

func runReferenceList(c *call) (Data, error) {
	in := app.ListReferencesRequest{From: c.text("from"), Limit: c.count("limit", app.DefaultLimit)}
	if id := c.operand(0); id != "" {
		c.meansNothing("with ID", "from")
		in.From = id
	}
	return runUseCase(c, app.ListReferences, in, func(d *app.ListReferencesResult) Data { return referenceListText{d} })
}

type referenceShowText struct{ *app.ShowReferenceResult }

func (d referenceShowText) Text(p *page) {
	referenceText(p, d.ReferenceRecord)
	artifactsTable(p, d.Artifacts)
}

func referenceShowCommand() *command {
	return &command{
		name: "reference show", summary: "show a reference and the artifacts it gives access to",
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
		name: "reference refresh", summary: "update a frozen reference to the target's current artifacts", writes: true,
		example:  "leslie reference refresh ref-a1b2c3d4",
		operands: []operand{{value: anID("REF", referenceIDs)}}, run: runReferenceRefresh,
	}
}

func runReferenceRefresh(c *call) (Data, error) {
	return runUseCase(c, app.RefreshReference, app.ReferenceRequest{Reference: c.operand(0)}, referenceWritten)
}

func referenceRemoveCommand() *command {
	return &command{
		name: "reference remove", summary: "remove a reference and its frozen copy", writes: true,
		example:  "leslie reference remove ref-a1b2c3d4",
		operands: []operand{{value: anID("REF", referenceIDs)}}, run: runReferenceRemove,
	}
}

func runReferenceRemove(c *call) (Data, error) {
	return runUseCase(c, app.RemoveReference, app.ReferenceRequest{Reference: c.operand(0)}, referenceWritten)
}
