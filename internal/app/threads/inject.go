package threads

import (
	"time"

	"leslie/internal/app"
	"leslie/thread"
)

// InjectRequest sends information to a thread while it works.
type InjectRequest struct {
	Thread  string
	Type    thread.InjectionType
	Urgency thread.Urgency // "": next_step
	Content string
}

// Faults returns what is wrong with the request.
func (in InjectRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	if in.Type == "" {
		k.Needed("Type", "")
	} else {
		app.OneOf(k, "Type", in.Type, thread.InjectData, thread.InjectConstraint, thread.InjectFeedback, thread.InjectPriority)
	}
	if in.Urgency != "" {
		app.OneOf(k, "Urgency", in.Urgency, thread.Immediate, thread.NextStep)
	}
	k.Content("Content", in.Content)
	return k.Faults
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
	app.Change
}

func injected(i thread.Injection, t thread.Thread) *InjectResult {
	return &InjectResult{
		InjectionID: i.ID, ThreadID: t.ID, Type: i.Type, Urgency: i.Urgency, CreatedAt: i.Created.At, Revision: t.Revision,
	}
}

// Inject adds an injection to a thread; the thread's agent gets it once, as context,
// and the thread's folder keeps it. Errors: T903, T101, T105, T107, T508 if too many
// injections are unseen, and those of a write.
func Inject(c *app.Call, in InjectRequest) (*InjectResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if in.Urgency == "" {
		in.Urgency = thread.NextStep
	}
	id := c.ThreadOr(in.Thread)
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*InjectResult, thread.ThreadID, error) {
		i, t, err := s.Inject(thread.NewInjection{
			ID:     c.NewMessageID(s),
			Thread: id, Type: in.Type, Urgency: in.Urgency, Content: in.Content,
		}, stamp)
		if err != nil {
			return nil, "", err
		}
		app.PlanInjectionLine(s, t.ID, i.Line())
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
func WithdrawInjection(c *app.Call, in WithdrawRequest) (*InjectResult, error) {
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*InjectResult, thread.ThreadID, error) {
		i, t, err := s.Withdraw(in.Injection, in.Thread, stamp)
		if err != nil {
			return nil, "", err
		}
		app.PlanInjectionLine(s, t.ID, i.WithdrawnLine(stamp))
		d := injected(i, t)
		d.Withdrawn = true
		return d, t.ID, nil
	})
}
