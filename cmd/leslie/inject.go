package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"leslie/store"
	"leslie/thread"
)

// This file is inject, which tells a thread something while it works, and
// injections as status shows them. context is where the thread's agent gets them.

const (
	maxInjection = 64 << 10 // bytes
	// injectionsFile lies in the thread's folder and keeps every injection.
	injectionsFile = store.MetaDir + "/injections.jsonl"
)

// injectionData is an injection as status shows it.
type injectionData struct {
	InjectionID thread.InjectionID   `json:"injectionId"`
	Type        thread.InjectionType `json:"type"`
	Urgency     thread.Urgency       `json:"urgency"`
	Content     string               `json:"content,omitempty"` // until it was seen
	CreatedAt   time.Time            `json:"createdAt"`
	CreatedBy   actorData            `json:"createdBy"`
	SeenAt      *time.Time           `json:"seenAt"`
	SeenBy      *actorData           `json:"seenBy"`
}

func injectionsOf(t thread.Thread) []injectionData {
	out := []injectionData{}
	for _, i := range t.Injections {
		d := injectionData{
			InjectionID: i.ID, Type: i.Type, Urgency: i.Urgency, Content: i.Content,
			CreatedAt: i.Created.At, CreatedBy: actorData{As: i.Created.As, Actor: i.Created.Actor},
		}
		if i.Seen != nil {
			d.SeenAt, d.SeenBy = &i.Seen.At, &actorData{As: i.Seen.As, Actor: i.Seen.Actor}
		}
		out = append(out, d)
	}
	return out
}

// line is the injection in text: what it says is there until it was seen.
func (d injectionData) line(p *page) {
	seen := "not seen yet"
	if d.SeenAt != nil {
		seen = "seen"
	}
	p.line("injection %s  %s, %s, %s", d.InjectionID, string(d.Type), string(d.Urgency), seen)
	p.field("  content", cut(d.Content, maxTitle))
}

type injectData struct {
	InjectionID thread.InjectionID   `json:"injectionId"`
	ThreadID    thread.ThreadID      `json:"threadId"`
	Type        thread.InjectionType `json:"type"`
	Urgency     thread.Urgency       `json:"urgency"`
	CreatedAt   time.Time            `json:"createdAt"`
	Revision    thread.Revision      `json:"revision"`
	change
}

func (d *injectData) Text(p *page) {
	p.line("injection %s  %s, %s, waits for the agent of %s", d.InjectionID, string(d.Type), string(d.Urgency), string(d.ThreadID))
}

func injectCommand() *command {
	types := []string{string(thread.InjectData), string(thread.InjectConstraint), string(thread.InjectFeedback), string(thread.InjectPriority)}
	urgencies := []string{string(thread.Immediate), string(thread.NextStep)}
	return &command{
		name: "inject", summary: "tell a thread something while it works", writes: true,
		teach: lesson{stepIn, "inject ID --type feedback --content TEXT"},
		detail: "The thread's own agent gets it with leslie context, once; status shows it until then, and the thread's\n" +
			"folder keeps every one, in " + injectionsFile + ".",
		example:  `leslie inject thread-a1b2c3d4 --type constraint --urgency immediate --content "Keep the old API"`,
		operands: []operand{{value: anID("ID", threadIDs)}},
		flags: []cli.Flag{
			newOption("type", oneOf(types...).required(), "what it is meant as"),
			newOption("content", anyText("TEXT").required(), "what to tell; - reads standard input, at most 64 KiB"),
			newOption("urgency", oneOf(urgencies...), "when it should be looked at (default next_step)"),
		},
		run: runInject,
	}
}

func runInject(c *call) (Data, error) {
	c.require("type", "content")
	in := thread.NewInjection{Thread: c.operand(0), Type: thread.InjectionType(c.text("type")), Urgency: thread.Urgency(c.text("urgency"))}
	if in.Urgency == "" {
		in.Urgency = thread.NextStep
	}
	if len(c.faults) == 0 { // else standard input is left unread
		in.Content = c.readContent("content", maxInjection)
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	c.about = thread.ThreadID(in.Thread)
	return write(c, func(s *thread.State, stamp thread.Stamp) (*injectData, thread.ThreadID, error) {
		in.ID = thread.InjectionID(c.freshID(thread.PrefixInjection, s.InjectionExists))
		i, t, err := s.Inject(in, stamp)
		if err != nil {
			return nil, "", err
		}
		s.Plan(thread.Step{Do: thread.StepAppend, To: threadPlace(t.ID) + "/" + injectionsFile, Line: i.Line()})
		return &injectData{
			InjectionID: i.ID, ThreadID: t.ID, Type: i.Type, Urgency: i.Urgency, CreatedAt: i.Created.At, Revision: t.Revision,
		}, t.ID, nil
	})
}
