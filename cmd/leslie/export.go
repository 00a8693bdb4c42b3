package main

import (
	"leslie/internal/app"
)

// This file implements export, which writes a whole store as JSON Lines. Its answer is
// the export itself, whatever the format.

func exportCommand() *command {
	return &command{
		name: "export", summary: "write the whole store as JSON Lines to standard output",
		detail: "Records, archive, history, artifacts and blobs. leslie import restores it in an empty store, with the same revisions, " +
			"and adds it to another. Logs and configuration are not part of it. Errors and warnings are on standard error.",
		example: "leslie export > backup.jsonl",
		streams: always, run: runExport,
	}
}

func runExport(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	op, err := c.open()
	if err != nil {
		return nil, err
	}
	return rendering{c}.stream(func(func(Data) error) error {
		_, err := app.Export(op, rawOutput{rendering{c}})
		return err
	})
}

// rawOutput is standard output for what is not rendered. Errors as of send.
type rawOutput struct{ rendering }

func (o rawOutput) Write(b []byte) (int, error) {
	if err := o.send(b); err != nil {
		return 0, err
	}
	return len(b), nil
}
