package app

import (
	"time"

	"leslie/store"
	"leslie/thread"
)

// InjectionsFile is the file in a thread's folder that keeps every injection.
const InjectionsFile = store.MetaDir + "/injections.jsonl"

// InjectRequest sends information to a thread while it works.
type InjectRequest struct {
	Thread  string
	Type    thread.InjectionType
	Urgency thread.Urgency // "": next_step
	Content string
}

// Faults returns what is wrong with the request.
func (in InjectRequest) Faults(name Names) []Fault {
	k := newChecks(name)
	if in.Type == "" {
		k.needed("Type", "")
	} else {
		oneOf(k, "Type", in.Type, thread.InjectData, thread.InjectConstraint, thread.InjectFeedback, thread.InjectPriority)
	}
	if in.Urgency != "" {
		oneOf(k, "Urgency", in.Urgency, thread.Immediate, thread.NextStep)
	}
	k.content("Content", in.Content)
	return k.faults
}

// InjectResult is the injection.
type InjectResult struct {
	InjectionID thread.InjectionID   `json:"injectionId"`
	ThreadID    thread.ThreadID      `json:"threadId"`
	Type        thread.InjectionType `json:"type"`
	Urgency     thread.Urgency       `json:"urgency"`
	CreatedAt   time.Time            `json:"createdAt"`
	Withdrawn   bool                 `json:"withdrawn,omitempty"`
	Revision    thread.Revision      `json:"revision"`
	Change
}

func injected(i thread.Injection, t thread.Thread) *InjectResult {
	return &InjectResult{
		InjectionID: i.ID, ThreadID: t.ID, Type: i.Type, Urgency: i.Urgency, CreatedAt: i.Created.At, Revision: t.Revision,
	}
}

// Inject adds an injection to a thread; the thread's agent gets it once, as context,
// and the thread's folder keeps it. Errors: T903, T101, T105, T107, T508 if too many
// injections are unseen, and those of a write.
func Inject(c *Call, in InjectRequest) (*InjectResult, error) {
	if err := refused(in.Faults(nil)); err != nil {
		return nil, err
	}
	if in.Urgency == "" {
		in.Urgency = thread.NextStep
	}
	id := c.threadOr(in.Thread)
	return write(c, func(s *thread.State, stamp thread.Stamp) (*InjectResult, thread.ThreadID, error) {
		i, t, err := s.Inject(thread.NewInjection{
			ID:     newMessageID(c, s),
			Thread: id, Type: in.Type, Urgency: in.Urgency, Content: in.Content,
		}, stamp)
		if err != nil {
			return nil, "", err
		}
		note(s, t.ID, i.Line())
		return injected(i, t), t.ID, nil
	})
}

// WithdrawRequest takes an injection back.
type WithdrawRequest struct {
	Injection string // its id or a prefix of it
	Thread    string // its thread; "": whichever it is
}

// WithdrawInjection takes back an injection that its thread's agent has not seen.
// Errors: T101, T105, T107, T402, T903 if it was seen, and those of a write.
func WithdrawInjection(c *Call, in WithdrawRequest) (*InjectResult, error) {
	return write(c, func(s *thread.State, stamp thread.Stamp) (*InjectResult, thread.ThreadID, error) {
		i, t, err := s.Withdraw(in.Injection, in.Thread, stamp)
		if err != nil {
			return nil, "", err
		}
		note(s, t.ID, i.WithdrawnLine(stamp))
		d := injected(i, t)
		d.Withdrawn = true
		return d, t.ID, nil
	})
}

func newMessageID(c *Call, s *thread.State) thread.InjectionID {
	return thread.InjectionID(c.newID("", thread.PrefixInjection, s.InjectionExists))
}

// note plans a line in the file that keeps a thread's injections.
func note(s *thread.State, id thread.ThreadID, line string) {
	s.Plan(thread.Step{Do: thread.StepAppend, To: threadPlace(id) + "/" + InjectionsFile, Line: line})
}
