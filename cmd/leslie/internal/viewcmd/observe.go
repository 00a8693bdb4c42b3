package viewcmd

import (
	"slices"
	"strconv"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/historycmd"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/views"
	"leslie/internal/nearest"
	"leslie/warnings"
)

// observedText is an operation of a stream, with what waits for a person since then.
type observedText struct{ historycmd.OperationText }

func (d observedText) Text(p *page.Page) {
	d.OperationText.Text(p)
	if !p.Person {
		return
	}
	for _, item := range d.Began {
		p.Line("    %s: %s: %s", item.ID, cli.WaitingWords(item), item.Next)
	}
}

// Observe is the command leslie observe.
func Observe() *cli.Command {
	return &cli.Command{
		Name: "observe", Summary: "stream operations, oldest first; continue with --since and the last seq",
		Detail: "Without --since, streams all operations; with --follow, new ones until interrupted. " +
			"An event is the name of a command that writes, or its first word: merge includes merge continue.",
		Example: "leslie observe --since 0 --events spawn,done",
		Flags: append([]cli.Flag{
			cli.NewFlag("target", cli.ID("ID", cli.ThreadIDs), "only operations on this thread"),
			cli.NewFlag("events", cli.Texts("E,...").Offering(cli.CommandNames), "only operations of these commands"),
			cli.SinceFlag("operations"), cli.Toggle("follow", "keep printing new operations"),
		}, cli.ByFlags("only your operations", "only operations of this actor")...),
		Streams: cli.Always, Run: runObserve,
	}
}

func runObserve(c *cli.Call) (cli.Data, error) {
	in := views.ObserveRequest{
		Target: c.Text("target"), Events: events(&c.Given), Follow: c.On("follow"),
		Pause: func(notices warnings.List) { c.TellWarnings(notices...) },
	}
	in.Since, in.From = c.Since()
	in.ActorFilter = c.ActorFilter()
	c.CheckRequest(in.Faults, nil)
	c.FiltersBy()
	if err := c.Usage(); err != nil {
		return nil, err
	}
	op, err := c.Open()
	if err != nil {
		return nil, err
	}
	return c.Stream(func(emit func(cli.Data) error) error {
		err := views.Observe(op, in, func(o app.OperationRecord) error {
			return emit(observedText{historycmd.OperationText{OperationRecord: o}})
		})
		return c.SinceFault(err)
	})
}

// events is --events, each the name of a command that makes operations, or the
// first word of such names.
func events(c *cli.Given) []string {
	events := c.Parts("events")
	known := eventNames(c.Env.Commands.All())
	for _, e := range events {
		if !slices.Contains(known, e) {
			c.Faults = append(c.Faults, cli.Fault{Field: "--events", Value: e,
				Problem: "there is no event " + strconv.Quote(e),
				Nearest: nearest.Name(e, known), Allowed: known})
		}
	}
	return events
}

// eventNames are the commands that make operations, their first words, and what
// leslie records by itself: a deadline that passed, a repair, code that conflicts, how checks ended.
func eventNames(all []*cli.Command) []string {
	names := []string{"lapse", "doctor", "overlap", "check"}
	for _, cmd := range all {
		if !cmd.Writes || cmd.Unrecorded {
			continue
		}
		for _, name := range []string{cmd.Path()[0], cmd.Name} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
