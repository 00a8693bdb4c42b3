package mergecmd

import (
	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/merges"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/thread"
)

// mergeLandText is the queue of a thread as it landed, also in part.
type mergeLandText struct{ *merges.LandQueueResult }

func (mergeLandText) IsPartialResult() {}

func (d mergeLandText) Text(p *page.Page) {
	for _, m := range d.Items {
		if m.Error != nil {
			p.Line("%s of %s stays queued: %s %s", m.MergeID, app.Joined(m.Sources), m.Error.Code, m.Error.Message)
			continue
		}
		p.Line("%s of %s landed in %s", m.MergeID, app.Joined(m.Sources), d.Target)
		landingText(p, m.Code)
	}
	switch {
	case d.Left > 0:
		p.Line("%s left in the queue of %s", fact.Plural(d.Left, "merge"), d.Target)
	case len(d.Items) == 0:
		p.Line("nothing is queued for %s", d.Target)
	}
}

// LandQueue is the command leslie merge land.
func LandQueue() *cli.Command {
	return &cli.Command{
		Name: "merge land", Summary: "land the merges that are queued for a thread, the oldest first", Writes: true,
		Unrecorded: true,
		Detail: "Each is planned on what the target has by then, with what its sources have by then. One that meets " +
			"a conflict, fails its validation or needs an approval stays queued with the reason (merge list), and " +
			"the others pass. Answer it with merge resolve, then merge continue. The exit status is 0 if all " +
			"landed, else that of the first that did not.",
		Example:  "leslie merge land main",
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags: append([]cli.Flag{cli.NewFlag("limit", cli.NonNegative("N"), "end after N have landed")},
			commitFlags()...),
		Run: runMergeLand,
	}
}

func runMergeLand(c *cli.Call) (cli.Data, error) {
	in := merges.LandQueueRequest{Target: c.TargetThread(), Limit: c.Count("limit", 0), Resolvers: mergeMeans(c)}
	c.CheckRequest(in.Faults, map[string]string{"Timeout": "--agent-timeout"})
	result, err := cli.UseCase(c, merges.LandQueue, in)
	if result == nil {
		return nil, err
	}
	return mergeLandText{result}, err
}

// refusedText says why a queued merge has not landed.
func refusedText(p *page.Page, r *thread.Refused) {
	if r != nil {
		p.Line("did not land: %s %s", r.Code, r.Message)
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

// PendingText says what a pending merge waits for.
func PendingText(m merging.Item) string {
	switch {
	case !m.Queued && m.Decided > 0:
		return "waits, with " + fact.Plural(m.Decided, "decision") + ": leslie merge status " + string(m.MergeID)
	case !m.Queued:
		return "waits for decisions: leslie merge status " + string(m.MergeID)
	case m.Refused == nil:
		return "is queued"
	}
	return "is queued, and did not land: " + queuedText(m)
}
