package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/thread"
)

// mergeLandText is the queue of a thread as it landed, also in part.
type mergeLandText struct{ *app.MergeLandResult }

func (mergeLandText) isPartialResult() {}

func (d mergeLandText) Text(p *page) {
	for _, m := range d.Items {
		if m.Error != nil {
			p.line("%s of %s stays queued: %s %s", m.MergeID, joined(m.Sources), m.Error.Code, m.Error.Message)
			continue
		}
		p.line("%s of %s landed in %s", m.MergeID, joined(m.Sources), d.Target)
		landingText(p, m.Code)
	}
	switch {
	case d.Left > 0:
		p.line("%s left in the queue of %s", many(d.Left, "merge"), d.Target)
	case len(d.Items) == 0:
		p.line("nothing is queued for %s", d.Target)
	}
}

func mergeLandCommand() *command {
	return &command{
		name: "merge land", summary: "land the merges that are queued for a thread, the oldest first", writes: true, unrecorded: true,
		hint: hint{bringing, "merge land ID"},
		detail: "Each is planned on what the target has by then, with what its sources have by then. One that meets a conflict, fails its validation or " +
			"needs an approval stays queued with the reason (merge list), and the others pass. Answer it with merge resolve, then merge continue. " +
			"The exit status is 0 if all landed, else that of the first that did not.",
		example:  "leslie merge land main",
		operands: []operand{threadOperand()},
		flags:    append([]cli.Flag{newOption("limit", aCount("N"), "end after N have landed")}, commitFlags()...),
		run:      runMergeLand,
	}
}

func runMergeLand(c *call) (Data, error) {
	in := app.MergeLandRequest{Target: c.targetThread(), Limit: c.count("limit", 0), MergeMeans: mergeMeans(c)}
	c.checkRequest(in.Faults, map[string]string{"Timeout": "--agent-timeout"})
	result, err := useCase(c, app.MergeLand, in)
	if result == nil {
		return nil, err
	}
	return mergeLandText{result}, err
}

// refusedText says why a queued merge has not landed.
func refusedText(p *page, r *thread.Refused) {
	if r != nil {
		p.line("did not land: %s %s", r.Code, r.Message)
	}
}

// queuedText says in a list how a queued merge stands, "" for another.
func queuedText(m merging.Item) string {
	switch {
	case !m.Queued:
		return ""
	case m.Refused == nil:
		return "yes"
	}
	return string(m.Refused.Code) + " " + m.Refused.Message
}

// pendingText says what a pending merge waits for.
func pendingText(m merging.Item) string {
	switch {
	case !m.Queued:
		return "waits for decisions"
	case m.Refused == nil:
		return "is queued"
	}
	return "is queued, and did not land: " + queuedText(m)
}
