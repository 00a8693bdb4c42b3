package main

import (
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/store"
	"leslie/thread"
)

// This file is claim, renew and release: how several agents share out threads.
// Whoever writes to a thread that they hold goes on holding it.

// heldData is a thread's claim as status shows it.
type heldData struct {
	Holder string           `json:"holder"`
	As     thread.ActorKind `json:"as"`
	Until  time.Time        `json:"until"`
}

// heldBy is the claim that holds now, nil for none.
func heldBy(t thread.Thread, now time.Time) *heldData {
	c := t.Held(now)
	if c == nil {
		return nil
	}
	return &heldData{Holder: c.Holder, As: c.As, Until: c.Until}
}

// claimData is who holds a thread now. Without a thread there was none to claim,
// without a holder nobody holds it.
type claimData struct {
	ThreadID *thread.ThreadID `json:"threadId"`
	Holder   *string          `json:"holder"`
	Until    *time.Time       `json:"until"`
	Revision thread.Revision  `json:"revision"`
	change
	taken bool // by this call
}

func (d *claimData) Text(p *page) {
	switch {
	case d.ThreadID == nil:
		p.line("no thread is ready to be claimed")
	case d.Holder != nil:
		p.line("thread %s  claimed by %s until %s", string(*d.ThreadID), *d.Holder, d.Until.Format(time.RFC3339))
	case d.Changed:
		p.line("thread %s  released", string(*d.ThreadID))
	default:
		p.line("thread %s  not claimed; nothing changed", string(*d.ThreadID))
	}
	if d.taken {
		p.line("next: leslie context --thread %s", string(*d.ThreadID))
	}
}

func claimOf(t thread.Thread) *claimData {
	d := &claimData{ThreadID: &t.ID, Revision: t.Revision}
	if c := t.Claim; c != nil {
		d.Holder, d.Until = &c.Holder, &c.Until
	}
	return d
}

func claimCommand() *command {
	return &command{
		name: "claim", summary: "take a thread for a while, or with --next the next that is ready", writes: true,
		teach: lesson{starting, "claim --next"},
		detail: "A claim keeps others from claiming the thread, not from writing to it. It ends at its time, with\n" +
			"release, or with the thread; your own writes to the thread prolong it. --next takes the first of\n" +
			"leslie list --ready; an agent takes only threads for agents. Without one, threadId is null.",
		example:  "leslie claim --next",
		operands: []operand{{value: anID("ID", threadIDs), optional: true}},
		flags: []cli.Flag{
			toggle("next", "take the next ready thread"),
			newOption("for", aDuration(), "how long (default: claimFor of the configuration, else 1h)"),
		},
		run: runClaim,
	}
}

func runClaim(c *call) (Data, error) {
	id := ""
	switch {
	case !c.on("next"):
		id = c.subject()
	case c.operand(0) != "":
		c.fault("--next", "", "--next chooses the thread: leave ID out")
	}
	c.checkHolder()
	if err := c.usage(); err != nil {
		return nil, err
	}
	d, err := c.claimFor()
	if err != nil {
		return nil, err
	}
	return write(c, func(s *thread.State, stamp thread.Stamp) (*claimData, thread.ThreadID, error) {
		t, found, err := thread.Thread{}, true, error(nil)
		if id != "" {
			t, err = s.Claim(id, d, stamp)
		} else {
			t, found, err = s.ClaimNext(d, claimable(stamp), stamp)
		}
		switch {
		case err != nil:
			return nil, "", err
		case !found:
			return &claimData{Revision: s.Revision}, "", nil
		}
		data := claimOf(t)
		data.taken = true
		return data, t.ID, nil
	})
}

// claimable are the executors whose threads --next takes, nil for all: an agent
// leaves to people what is theirs.
func claimable(stamp thread.Stamp) []thread.Executor {
	if stamp.As == thread.Agent {
		return []thread.Executor{thread.ByAgent}
	}
	return nil
}

// claimFor is --for, else what the configuration says. Errors: T504, T903, T509.
func (c *call) claimFor() (time.Duration, error) {
	st, err := c.store()
	if err != nil {
		return 0, err
	}
	if c.has("for") {
		d, err := time.ParseDuration(c.text("for"))
		return d, err // checked with the line
	}
	set, err := c.configured(st)
	return set.claimFor, err
}

// checkHolder refuses an agent that goes by the login name: all agents of that
// user would be one holder.
func (c *call) checkHolder() {
	if c.who.as == thread.Agent && c.who.unnamed {
		c.fault("--actor", "", "an agent whose session has no id must say who it is: --actor NAME or LESLIE_ACTOR")
	}
}

func renewCommand() *command {
	return &command{
		name: "renew", summary: "prolong your claim of a thread", writes: true,
		teach:    lesson{starting, "renew ID"},
		detail:   "One that has run out is renewed as long as nobody else has claimed the thread.",
		example:  "leslie renew thread-a1b2c3d4",
		operands: []operand{threadOperand()},
		run: func(c *call) (Data, error) {
			return runHolder(c, (*thread.State).Renew)
		},
	}
}

func releaseCommand() *command {
	return &command{
		name: "release", summary: "give a claimed thread back", writes: true,
		teach:    lesson{ending, "release ID"},
		detail:   "A person may release anybody's claim.",
		example:  "leslie release thread-a1b2c3d4",
		operands: []operand{threadOperand()},
		run: func(c *call) (Data, error) {
			return runHolder(c, (*thread.State).Release)
		},
	}
}

// runHolder is a command of the holder of a claim.
func runHolder(c *call, rule func(*thread.State, string, thread.Stamp) (thread.Thread, error)) (Data, error) {
	id := c.subject()
	c.checkHolder()
	if err := c.usage(); err != nil {
		return nil, err
	}
	return write(c, func(s *thread.State, stamp thread.Stamp) (*claimData, thread.ThreadID, error) {
		t, err := rule(s, id, stamp)
		if err != nil {
			return nil, "", err
		}
		d := claimOf(t)
		if t.Held(stamp.Time) == nil { // another's that has run out
			d.Holder, d.Until = nil, nil
		}
		return d, t.ID, nil
	})
}

// prolong lets the caller go on holding the threads that an operation is about,
// in the same operation. It never makes one fail that --expect-revision lets
// pass: a thread that is not changed otherwise is left alone where it is newer.
func prolong(s *thread.State, about thread.ThreadID, request store.Call) {
	ids := []thread.ThreadID{about}
	changes := s.Changes()
	for _, c := range changes {
		if id, ok := strings.CutPrefix(c.Record, thread.TableThreads+"/"); ok {
			ids = append(ids, thread.ThreadID(id))
		}
	}
	if len(changes) == 0 && len(s.Planned()) == 0 {
		return
	}
	for _, id := range ids {
		t, _ := s.Threads.Peek(string(id))
		if newer := t.Revision <= s.Revision && request.Expect != nil && t.Revision > *request.Expect; !newer {
			s.Prolong(id, request.Stamp)
		}
	}
}
