package threadcmd

import (
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/screen"
	"leslie/thread"
)

// referenceText is one reference.
func referenceText(p *page.Page, d artifacts.ReferenceRecord) {
	p.Line("reference %s  %s -> %s", d.RefID, d.From, d.Target)
	p.Field("binding", string(d.Binding))
	p.Field("scope", app.Joined(d.Scope))
	if !d.TargetResolved {
		p.Line("target: could not be resolved")
	}
	if d.LocalPath != nil {
		p.Field("path", p.Place(*d.LocalPath))
	}
	p.Field("files", d.Files)
	p.Field("taken", d.TakenAt.Format(time.RFC3339))
	p.Field("changed since", app.Joined(d.Stale))
}

type referenceWrittenText struct{ *artifacts.ReferenceResult }

func (d referenceWrittenText) Text(p *page.Page) {
	if !d.Changed {
		p.Line("nothing changed")
	}
	referenceText(p, d.ReferenceRecord)
}

func referenceWritten(d *artifacts.ReferenceResult) cli.Data { return referenceWrittenText{d} }

// Reference is the command leslie reference.
func Reference() *cli.Command {
	return &cli.Command{
		Name: "reference", Summary: "reference another thread's artifacts (read-only)", Writes: true,
		Detail: "A frozen reference copies the target's artifacts to context/inherited/REF/; a live reference reads " +
			"them in the target's folder. If the target does not exist, or a live reference's scope matches nothing " +
			"yet, the reference is created with a warning (W202).",
		Example: "leslie reference --from write-docs --target write-tests --scope design.md",
		Flags: []cli.Flag{
			cli.NewFlag("from", cli.ID("A", cli.ThreadIDs), "the thread that gets the reference (default: --thread)"),
			cli.NewFlag("target", cli.ID("B", cli.ThreadIDs).Required(), "the referenced thread"),
			cli.NewFlag("scope", cli.Scopes("P,..."), "which artifacts: paths, folders, globs (default all)"),
			cli.NewFlag("binding", cli.OneOf(string(thread.Frozen), string(thread.Live)),
				"a snapshot taken now (default), or the target's current artifacts"),
		},
		Run: runReference,
	}
}

func runReference(c *cli.Call) (cli.Data, error) {
	in := artifacts.CreateReferenceRequest{
		From: c.Text("from"), Target: c.Text("target"), Scope: c.Parts("scope"),
		Binding: thread.Binding(c.Text("binding")),
	}
	if in.From == "" {
		in.From = c.Who.Thread
	}
	if in.From == "" {
		c.Fault("--from", "", "--from is missing (or give --thread)")
	}
	c.CheckRequest(in.Faults, nil)
	return cli.RunUseCase(c, artifacts.CreateReference, in, referenceWritten)
}

type referenceListText struct {
	*artifacts.ListReferencesResult
}

func (d referenceListText) Text(p *page.Page) {
	state := func(ref artifacts.ReferenceRecord) string {
		switch {
		case !ref.TargetResolved:
			return "unresolved"
		case len(ref.Stale) > 0:
			return "stale"
		}
		return "ok"
	}
	page.TableOf(p, d.Items.Items, []page.Column[artifacts.ReferenceRecord]{
		{Column: screen.Column{Name: "REFERENCE"},
			Cell: page.Text(func(ref artifacts.ReferenceRecord) thread.ReferenceID { return ref.RefID })},
		{Column: screen.Column{Name: "FROM"},
			Cell: page.Text(func(ref artifacts.ReferenceRecord) thread.ThreadID { return ref.From })},
		{Column: screen.Column{Name: "TARGET"},
			Cell: page.Text(func(ref artifacts.ReferenceRecord) thread.ThreadID { return ref.Target })},
		{Column: screen.Column{Name: "BINDING", DropOrder: 1},
			Cell: page.Text(func(ref artifacts.ReferenceRecord) thread.Binding { return ref.Binding })},
		{Column: screen.Column{Name: "STATE"}, Cell: page.Text(state)},
		{Column: screen.Column{Name: "SCOPE", DropOrder: 2, Shrinks: true},
			Cell: page.Text(func(ref artifacts.ReferenceRecord) string { return app.Joined(ref.Scope) })},
	})
	p.Rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.Line("no references")
	}
}

// ReferenceList is the command leslie reference list.
func ReferenceList() *cli.Command {
	return &cli.Command{
		Name: "reference list", Summary: "list references and whether their targets have changed",
		Example:  "leslie reference list write-docs",
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ThreadIDs), Optional: true}},
		Flags: []cli.Flag{
			cli.NewFlag("from", cli.ID("A", cli.ThreadIDs), "only references of this thread; the same as ID"),
			cli.LimitFlag(),
		},
		Run: runReferenceList,
	}
}

func runReferenceList(c *cli.Call) (cli.Data, error) {
	in := artifacts.ListReferencesRequest{From: c.Text("from"), Limit: c.Count("limit", app.DefaultLimit)}
	if id := c.Operand(0); id != "" {
		c.MeansNothing("with ID", "from")
		in.From = id
	}
	return cli.RunUseCase(c, artifacts.ListReferences, in,
		func(d *artifacts.ListReferencesResult) cli.Data { return referenceListText{d} })
}

type referenceShowText struct{ *artifacts.ShowReferenceResult }

func (d referenceShowText) Text(p *page.Page) {
	referenceText(p, d.ReferenceRecord)
	artifactsTable(p, d.Artifacts)
}

// ReferenceShow is the command leslie reference show.
func ReferenceShow() *cli.Command {
	return &cli.Command{
		Name: "reference show", Summary: "show a reference and the artifacts it gives access to",
		Example:  "leslie reference show ref-a1b2c3d4",
		Operands: []cli.Operand{{Value: cli.ID("REF", cli.ReferenceIDs)}}, Run: runReferenceShow,
	}
}

func runReferenceShow(c *cli.Call) (cli.Data, error) {
	in := artifacts.ReferenceRequest{Reference: c.Operand(0)}
	return cli.RunUseCase(c, artifacts.ShowReference, in,
		func(d *artifacts.ShowReferenceResult) cli.Data { return referenceShowText{d} })
}

// ReferenceRefresh is the command leslie reference refresh.
func ReferenceRefresh() *cli.Command {
	return &cli.Command{
		Name: "reference refresh", Summary: "update a frozen reference to the target's current artifacts", Writes: true,
		Example:  "leslie reference refresh ref-a1b2c3d4",
		Operands: []cli.Operand{{Value: cli.ID("REF", cli.ReferenceIDs)}}, Run: runReferenceRefresh,
	}
}

func runReferenceRefresh(c *cli.Call) (cli.Data, error) {
	return cli.RunUseCase(c, artifacts.RefreshReference, artifacts.ReferenceRequest{Reference: c.Operand(0)},
		referenceWritten)
}

// ReferenceRemove is the command leslie reference remove.
func ReferenceRemove() *cli.Command {
	return &cli.Command{
		Name: "reference remove", Summary: "remove a reference and its frozen copy", Writes: true,
		Example:  "leslie reference remove ref-a1b2c3d4",
		Operands: []cli.Operand{{Value: cli.ID("REF", cli.ReferenceIDs)}}, Run: runReferenceRemove,
	}
}

func runReferenceRemove(c *cli.Call) (cli.Data, error) {
	return cli.RunUseCase(c, artifacts.RemoveReference, artifacts.ReferenceRequest{Reference: c.Operand(0)},
		referenceWritten)
}
