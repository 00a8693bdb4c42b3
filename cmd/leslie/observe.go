package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/fact"
	"leslie/internal/nearest"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

func observeCommand() *command {
	return &command{
		name: "observe", summary: "stream operations, oldest first; continue with --since and the last seq",
		teach: lesson{watching, "observe --target ID --follow"},
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
	events := c.events()
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	w := st.Watch(store.StateFile) // before the first look: nothing falls between
	defer w.Close()
	q, err := c.observed()
	if err != nil {
		return nil, err
	}
	cursor := st.Cursor(q)
	return c.stream(func(emit func(Data) error) error {
		for {
			found, err := cursor.Read(c.ctx, 0, func(op thread.Operation) error {
				if !meant(events, op.Command) {
					return nil
				}
				return emit(operationOf(op))
			})
			c.warnings.Add(found...)
			if err != nil || !c.on("follow") {
				return err
			}
			c.tellWarnings()
			if err := w.Next(c.ctx, 0); err != nil {
				return err
			}
		}
	})
}

// observed is where observing begins, and what. Errors: T101, T105, and T903 for
// a revision that is not there yet: who asks for it takes this store for
// another one.
func (c *call) observed() (store.CursorQuery, error) {
	q := store.CursorQuery{Lost: c.lost}
	v, err := c.view(func(s *thread.State) error {
		arg := c.text("target")
		if arg == "" {
			return nil
		}
		t, err := s.Thread(arg)
		q.Thread, c.about = t.ID, t.ID
		return err
	})
	if err != nil {
		return q, err
	}
	if c.on("follow") {
		q.Since = v.Revision
	}
	if c.has("since") {
		q.Since, err = c.since(v.Revision)
	}
	return q, err
}

// lost notes operations that nobody can be told of any more.
func (c *call) lost(from, to thread.Revision) {
	c.warnings.Add(warnings.OperationsLost.New(fact.Of("from", from), fact.Of("to", to)))
}

// since is --since. Errors: T903 where it lies ahead.
func (c *call) since(now thread.Revision) (thread.Revision, error) {
	rev := thread.Revision(c.count("since", 0))
	if rev > now {
		c.fault("--since", c.text("since"), "--since "+c.text("since")+" lies ahead: this store is at revision "+strconv.FormatInt(int64(now), 10))
	}
	return rev, c.usage()
}

// events is --events, each the name of a command that makes operations, or the
// first word of such names.
func (c *call) events() []string {
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
// leslie records by itself: a deadline that passed, a repair.
func eventNames() []string {
	names := []string{"lapse", "doctor"}
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

// meant reports whether events name a command; none name every one.
func meant(events []string, command string) bool {
	first, _, _ := strings.Cut(command, " ")
	return len(events) == 0 || slices.Contains(events, command) || slices.Contains(events, first)
}
