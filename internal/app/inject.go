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
	Revision    thread.Revision      `json:"revision"`
	Change
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
			ID:     thread.InjectionID(c.newID("", thread.PrefixInjection, s.InjectionExists)),
			Thread: id, Type: in.Type, Urgency: in.Urgency, Content: in.Content,
		}, stamp)
		if err != nil {
			return nil, "", err
		}
		s.Plan(thread.Step{Do: thread.StepAppend, To: threadPlace(t.ID) + "/" + InjectionsFile, Line: i.Line()})
		return &InjectResult{
			InjectionID: i.ID, ThreadID: t.ID, Type: i.Type, Urgency: i.Urgency, CreatedAt: i.Created.At, Revision: t.Revision,
		}, t.ID, nil
	})
}
