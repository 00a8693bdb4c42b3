package main

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
)

func artifactsTable(p *page, list app.Items[app.Artifact]) {
	size := func(a app.Artifact) string {
		if a.Size == nil {
			return ""
		}
		return strconv.FormatInt(*a.Size, 10)
	}
	tableOf(p, list.Items, []column[app.Artifact]{
		{Column: screen.Column{Name: "PATH", Shrinks: true, CutStart: true}, cell: text(func(a app.Artifact) string { return a.Path })},
		{Column: screen.Column{Name: "TYPE", Goes: 2}, cell: text(func(a app.Artifact) string { return string(a.Type) })},
		{Column: screen.Column{Name: "SIZE"}, cell: text(size)},
		{Column: screen.Column{Name: "SHA256", Goes: 1}, cell: func(a app.Artifact) screen.Cell { return screen.Faint(cut(string(a.SHA256), 13)) }},
		{Column: screen.Column{Name: "MODIFIED", Goes: 3}, cell: func(a app.Artifact) screen.Cell { return p.when(a.ModifiedAt) }},
	})
	p.rest(len(list.Items), list.Total)
}

type artifactsText struct{ *app.ArtifactsResult }

func (d artifactsText) Text(p *page) {
	artifactsTable(p, d.Items)
	if d.Total == 0 {
		p.line("no artifacts in %s", p.place(d.Folder))
	}
}

func artifactsCommand() *command {
	return &command{
		name: "artifacts", summary: "list the files in a thread's folder",
		hint:     hint{sharing, "artifacts ID"},
		example:  "leslie artifacts thread-a1b2c3d4 --scope 'design/**'",
		operands: []operand{threadOperand()},
		flags: []cli.Flag{
			newOption("scope", scopes("GLOB"), "only these artifacts: paths, folders, globs"),
			limitFlag(), timeFlag(),
		},
		run: runArtifacts,
	}
}

func runArtifacts(c *call) (Data, error) {
	in := app.ArtifactsRequest{Thread: c.targetThread(), Scope: c.parts("scope"), Limit: c.count("limit", app.DefaultLimit)}
	return runUseCase(c, app.Artifacts, in, func(d *app.ArtifactsResult) Data { return artifactsText{d} })
}
