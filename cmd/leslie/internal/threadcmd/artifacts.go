package threadcmd

import (
	"strconv"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/screen"
)

func artifactsTable(p *page.Page, list app.Items[artifacts.Artifact]) {
	size := func(a artifacts.Artifact) string {
		if a.Size == nil {
			return ""
		}
		return strconv.FormatInt(*a.Size, 10)
	}
	page.TableOf(p, list.Items, []page.Column[artifacts.Artifact]{
		{Column: screen.Column{Name: "PATH", Shrinks: true, CutStart: true},
			Cell: page.Text(func(a artifacts.Artifact) string { return a.Path })},
		{Column: screen.Column{Name: "TYPE", DropOrder: 2},
			Cell: page.Text(func(a artifacts.Artifact) string { return string(a.Type) })},
		{Column: screen.Column{Name: "SIZE"}, Cell: page.Text(size)},
		{Column: screen.Column{Name: "SHA256", DropOrder: 1},
			Cell: func(a artifacts.Artifact) screen.Cell { return screen.Faint(app.Cut(string(a.SHA256), 13)) }},
		{Column: screen.Column{Name: "MODIFIED", DropOrder: 3},
			Cell: func(a artifacts.Artifact) screen.Cell { return p.When(a.ModifiedAt) }},
	})
	p.Rest(len(list.Items), list.Total)
}

type artifactsText struct{ *artifacts.ArtifactsResult }

func (d artifactsText) Text(p *page.Page) {
	artifactsTable(p, d.Items)
	if d.Total == 0 {
		p.Line("no artifacts in %s", p.Place(d.Folder))
	}
}

// Artifacts is the command leslie artifacts.
func Artifacts() *cli.Command {
	return &cli.Command{
		Name: "artifacts", Summary: "list the files in a thread's folder",
		Example:  "leslie artifacts write-docs --scope 'design/**'",
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags: []cli.Flag{
			cli.NewFlag("scope", cli.Scopes("GLOB"), "only these artifacts: paths, folders, globs"),
			cli.LimitFlag(), cli.TimeFlag(),
		},
		Run: runArtifacts,
	}
}

func runArtifacts(c *cli.Call) (cli.Data, error) {
	in := artifacts.ArtifactsRequest{Thread: c.TargetThread(), Scope: c.Parts("scope"),
		Limit: c.Count("limit", app.DefaultLimit)}
	return cli.RunUseCase(c, artifacts.Artifacts, in,
		func(d *artifacts.ArtifactsResult) cli.Data { return artifactsText{d} })
}
