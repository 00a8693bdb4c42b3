package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/nearest"
	"leslie/thread"
	"leslie/warnings"
)

// observedText is an operation of a stream, with what waits for a person since then.
type observedText struct{ operationText }

func (d observedText) Text(p *page) {
	d.operationText.Text(p)
	if !p.person {
		return
	}
	for _, item := range d.Began {
		p.line("    %s: %s: %s", item.ID, waitingWords(item), item.Next)
	}
}

func observeCommand() *command {
	return &command{
		name: "observe", summary: "stream operations, oldest first; continue with --since and the last seq",
		hint: hint{watching, "observe --target ID --follow"},
		detail: "Without --since, streams all operations; with --follow, new ones until interrupted. " +
			"An event is the name of a command that writes, or its first word: merge includes merge continue.",
		example: "leslie observe --since 0 --events spawn,done",
		flags: []cli.Flag{
			newOption("target", anID("ID", threadIDs), "only operations on this thread"),
			newOption("events", texts("E,..."), "only operations of these commands"),
			newOption("since", aCount("REV"), "only operations after this revision"),
			toggle("follow", "keep printing new operations"),
		},
		streams: always, run: runObserve,
	}
}

func runObserve(c *call) (Data, error) {
	in := app.ObserveRequest{
		Target: c.text("target"), Events: c.events(), Since: c.revisionOf("since"), Follow: c.on("follow"),
		Pause: func(notices warnings.List) { rendering{c}.tellWarnings(notices...) },
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	op, err := c.open()
	if err != nil {
		return nil, err
	}
	return rendering{c}.stream(func(emit func(Data) error) error {
		err := app.Observe(op, in, func(o app.OperationRecord) error { return emit(observedText{operationText{o}}) })
		return sinceFault(c, err)
	})
}

// sinceFault converts an error about --since that only the store can find to a fault
// of the line. It returns other errors unchanged.
func sinceFault(c *call, err error) error {
	if !codes.Has(err, codes.InvalidArgument) {
		return err
	}
	reason := codes.Of(err).Facts().Text("reason")
	c.fault("--since", c.text("since"), "--since"+strings.TrimPrefix(reason, "Since"))
	return c.usage()
}

// revisionOf is the revision that a flag names, nil when it was not given.
func (c *given) revisionOf(flag string) *thread.Revision {
	if !c.has(flag) {
		return nil
	}
	rev := thread.Revision(c.count(flag, 0))
	return &rev
}

// events is --events, each the name of a command that makes operations, or the
// first word of such names.
func (c *given) events() []string {
	events := c.parts("events")
	known := eventNames()
	for _, e := range events {
		if !slices.Contains(known, e) {
			c.faults = append(c.faults, fault{Field: "--events", Value: e, Problem: "there is no event " + quoted(e),
				Nearest: nearest.Name(e, known), Allowed: known})
		}
	}
	return events
}

// eventNames are the commands that make operations, their first words, and what
// leslie records by itself: a deadline that passed, a repair, code that conflicts.
func eventNames() []string {
	names := []string{"lapse", "doctor", "overlap"}
	for _, cmd := range commands() {
		if !cmd.writes || cmd.unrecorded {
			continue
		}
		for _, name := range []string{cmd.path()[0], cmd.name} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
