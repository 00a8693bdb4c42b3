package projectcmd

import (
	"leslie/cmd/leslie/internal/cli"
	"leslie/internal/app/projects"
)

// This file implements export, which writes a whole store as JSON Lines. Its answer is
// the export itself, whatever the format.

// Export is the command leslie export.
func Export() *cli.Command {
	return &cli.Command{
		Name: "export", Summary: "write the whole store as JSON Lines to standard output",
		Detail: "Records, archive, history, artifacts and blobs. leslie import restores it in an empty store, with " +
			"the same revisions, and adds it to another. In a project on several machines, content that is not here yet is " +
			"brought first. Logs and configuration are not part of it. Errors and warnings are on standard error.",
		Example: "leslie export > backup.jsonl",
		Streams: cli.Always, Run: runExport,
	}
}

func runExport(c *cli.Call) (cli.Data, error) {
	if err := c.Usage(); err != nil {
		return nil, err
	}
	op, err := c.Open()
	if err != nil {
		return nil, err
	}
	return c.Stream(func(func(cli.Data) error) error {
		_, err := projects.Export(op, rawOutput{c})
		return err
	})
}

// rawOutput is standard output for what is not rendered. Errors as of send.
type rawOutput struct{ *cli.Call }

func (o rawOutput) Write(b []byte) (int, error) {
	if err := o.Send(b); err != nil {
		return 0, err
	}
	return len(b), nil
}
