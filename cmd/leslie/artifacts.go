package main

import (
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
)

func artifactsTable(p *page, list app.Items[app.Artifact]) {
	var rows [][]string
	for _, a := range list.Items {
		row := []string{a.Path, string(a.Type), "", "", ""}
		if a.Size != nil {
			row[2] = strconv.FormatInt(*a.Size, 10)
			row[3] = cut(string(a.SHA256), 13)
			row[4] = a.ModifiedAt.Format(time.RFC3339)
		}
		rows = append(rows, row)
	}
	p.table("PATH TYPE SIZE SHA256 MODIFIED", rows)
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
			limitFlag(),
		},
		run: runArtifacts,
	}
}

func runArtifacts(c *call) (Data, error) {
	in := app.ArtifactsRequest{Thread: c.targetThread(), Scope: c.parts("scope"), Limit: c.count("limit", app.DefaultLimit)}
	return runUseCase(c, app.Artifacts, in, func(d *app.ArtifactsResult) Data { return artifactsText{d} })
}
