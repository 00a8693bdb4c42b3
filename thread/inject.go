package thread

import (
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file handles injections: information that somebody sends to a thread while it
// works. The record keeps the content until the thread's own agent has received it;
// a file in the thread's folder keeps it permanently.

// maxUnseen is how many unseen injections a thread may have.
const maxUnseen = 100

// keptSeen and keptConstraints are how many seen injections a thread's record keeps.
const (
	keptSeen        = 20
	keptConstraints = 100
)

// MaxConstraint is how many characters of a seen constraint a thread's record keeps.
const MaxConstraint = 300

// NewInjection has the parameters of a new injection.
type NewInjection struct {
	ID      InjectionID
	Thread  string
	Type    InjectionType
	Urgency Urgency
	Content string
}

// Inject adds an injection to a thread. Errors: T101, T105, T107 if the thread is
// terminated and nobody whose claim ended with it can still be at work, T508 if it has too many unseen injections.
func (s *State) Inject(in NewInjection, stamp Stamp) (Injection, Thread, error) {
	t, err := s.Thread(in.Thread)
	if err == nil && t.Status.Terminated() && (t.Status == Archived || !t.atWorkWhenEnded(stamp.Time)) {
		err = notWritable(t)
	}
	if err != nil {
		return Injection{}, Thread{}, err
	}
	if len(t.Unseen()) >= maxUnseen {
		return Injection{}, Thread{}, codes.TooLarge.New(
			fact.Of("what", "the number of injections that '"+string(t.ID)+"' has not seen"), fact.Of("limit", maxUnseen), fact.Of("threadId", t.ID)).
			WithHint("Its agent reads them with leslie context").WithNext("leslie status " + string(t.ID))
	}
	i := Injection{
		ID: in.ID, Type: in.Type, Urgency: in.Urgency, Content: strings.ToValidUTF8(in.Content, "\uFFFD"),
		Created: Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor},
	}
	t.Injections = append(slices.Clip(t.Injections), i)
	return i, s.Threads.Put(t), nil
}

// Unseen returns the injections that the thread's agent has not seen, in the order
// in which it should see them: immediate ones first, then oldest first.
func (t Thread) Unseen() []Injection {
	var now, later []Injection
	for _, i := range t.Injections {
		switch {
		case i.Seen != nil:
		case i.Urgency == Immediate:
			now = append(now, i)
		default:
			later = append(later, i)
		}
	}
	return append(now, later...)
}

// SeenConstraints returns the constraints that the thread's agent has seen and that
// still hold, newest first; none if the thread is terminated.
func (t Thread) SeenConstraints() []Injection {
	var out []Injection
	if t.Status.Terminated() {
		return nil
	}
	for _, i := range slices.Backward(t.Injections) {
		if i.Seen != nil && i.Type == InjectConstraint {
			out = append(out, i)
		}
	}
	return out
}

// See marks these injections as seen by the thread's agent and drops their content,
// of a constraint only what is beyond its first MaxConstraint characters.
// Seen and unknown injections, and archived threads, are not changed. The thread keeps its
// revision: whoever has read them may change what they read. Errors: T101, T105.
func (s *State) See(arg string, ids []InjectionID, stamp Stamp) (Thread, error) {
	t, err := s.Thread(arg)
	if err != nil || t.Status == Archived {
		return t, err
	}
	all := slices.Clone(t.Injections)
	for k, i := range all {
		if i.Seen == nil && slices.Contains(ids, i.ID) {
			all[k].Seen = &Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor}
			all[k].Content, all[k].Cut = i.afterSeen()
		}
	}
	t.Injections = withoutOldSeen(all)
	return s.Threads.Note(t), nil
}

// afterSeen returns what the record keeps of a seen injection's content.
func (i Injection) afterSeen() (content string, cut bool) {
	if i.Type != InjectConstraint {
		return "", false
	}
	n := 0
	for at := range i.Content {
		if n++; n > MaxConstraint {
			return i.Content[:at], true
		}
	}
	return i.Content, false
}

// withoutOldSeen removes all seen injections but the newest ones.
func withoutOldSeen(all []Injection) []Injection {
	newer := map[bool]int{} // constraints, and others
	limit := map[bool]int{true: keptConstraints, false: keptSeen}
	for _, i := range all {
		if i.Seen != nil {
			newer[i.Type == InjectConstraint]++
		}
	}
	return slices.DeleteFunc(all, func(i Injection) bool {
		if i.Seen == nil {
			return false
		}
		kind := i.Type == InjectConstraint
		newer[kind]--
		return newer[kind] >= limit[kind]
	})
}

// Withdraw removes an injection that its thread's agent has not seen. arg is its id or
// a unique prefix; about, if not "", has to be its thread. Anyone but a person may
// withdraw only what the same actor sent. Errors: T101 and T105 for about, T105; T903
// if there is no such injection, or if it was seen; T402, T107 if the thread is
// terminated.
func (s *State) Withdraw(arg, about string, stamp Stamp) (Injection, Thread, error) {
	t, at, err := s.injection(arg, about)
	if err != nil {
		return Injection{}, Thread{}, err
	}
	i := t.Injections[at]
	switch {
	case t.Status.Terminated():
		return Injection{}, Thread{}, notWritable(t)
	case i.Seen != nil:
		return Injection{}, Thread{}, codes.InvalidArgument.New(
			fact.Of("reason", "'"+string(i.ID)+"' was seen at "+i.Seen.At.Format(time.RFC3339)+" and cannot be withdrawn"),
			fact.Of("injectionId", i.ID), fact.Of("threadId", t.ID)).
			WithHint("Inject a correction with leslie inject").WithNext("leslie status " + string(t.ID))
	case !stamp.ByPerson() && i.Created.Actor != stamp.Actor:
		return Injection{}, Thread{}, codes.PermissionDenied.New(
			fact.Of("capability", "withdrawing what somebody else sent"), fact.Of("injectionId", i.ID), fact.Of("threadId", t.ID)).
			WithHint("Ask " + i.Created.Actor + ", who sent it, or a person").WithNext("leslie status " + string(t.ID))
	}
	t.Injections = slices.Delete(slices.Clone(t.Injections), at, at+1)
	return i, s.Threads.Put(t), nil
}

// injection finds an injection by its id or a unique prefix: its thread, and its place
// there.
func (s *State) injection(arg, about string) (Thread, int, error) {
	var only ThreadID
	if about != "" {
		t, err := s.Thread(about)
		if err != nil {
			return Thread{}, 0, err
		}
		only = t.ID
	}
	var in Thread
	var ids []string
	at := 0
	for _, t := range s.Threads.where(`"injectionId":"`+arg, func(t Thread) bool { return only == "" || t.ID == only }) {
		for k, i := range t.Injections {
			switch {
			case string(i.ID) == arg:
				return t, k, nil
			case shortens(arg, string(i.ID), PrefixInjection):
				in, at, ids = t, k, append(ids, string(i.ID))
			}
		}
	}
	switch {
	case unique(arg, len(ids)):
		return in, at, nil
	case len(ids) > 0:
		return Thread{}, 0, codes.Of(ambiguous(arg, PrefixInjection, ids, nil)).WithNext("leslie status " + string(in.ID))
	}
	err := codes.InvalidArgument.New(fact.Of("reason", "there is no injection '"+arg+"' that can be withdrawn"), fact.Of("injectionId", arg)).
		WithHint("See the thread's injections").WithNext("leslie list")
	if only != "" {
		err = err.WithNext("leslie status " + string(only))
	}
	return Thread{}, 0, err
}

// InjectionExists reports whether any thread of the State has an injection with
// this id.
func (s *State) InjectionExists(id string) bool {
	return len(s.Threads.where(`"injectionId":"`+id+`"`, func(t Thread) bool {
		return slices.ContainsFunc(t.Injections, func(i Injection) bool { return string(i.ID) == id })
	})) > 0
}

// Line returns the injection as one line of JSON for the thread's file.
func (i Injection) Line() string {
	return string(fact.Escaped(encode(struct {
		ID        InjectionID   `json:"injectionId"`
		Type      InjectionType `json:"type"`
		Urgency   Urgency       `json:"urgency"`
		Content   string        `json:"content"`
		CreatedAt time.Time     `json:"createdAt"`
		As        ActorKind     `json:"as"`
		Actor     string        `json:"actor"`
	}{i.ID, i.Type, i.Urgency, i.Content, i.Created.At, i.Created.As, i.Created.Actor})))
}

// WithdrawnLine returns the line that follows in the thread's file when an injection is
// withdrawn.
func (i Injection) WithdrawnLine(stamp Stamp) string {
	return string(fact.Escaped(encode(struct {
		ID          InjectionID `json:"injectionId"`
		WithdrawnAt time.Time   `json:"withdrawnAt"`
		As          ActorKind   `json:"as"`
		Actor       string      `json:"actor"`
	}{i.ID, stamp.Time, stamp.As, stamp.Actor})))
}
