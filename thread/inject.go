package thread

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file handles injections: information that somebody sends to a thread while it
// works. The record keeps the content until the thread's own agent has received it;
// a file in the thread's folder keeps it permanently.

// maxUnseen is how many unseen injections a thread may have.
const maxUnseen = 100

// keptSeen is how many seen injections a thread's record keeps.
const keptSeen = 20

// NewInjection has the parameters of a new injection.
type NewInjection struct {
	ID      InjectionID
	Thread  string
	Type    InjectionType
	Urgency Urgency
	Content string
}

// Inject adds an injection to a thread. Errors: T101, T105, T107 if the thread is
// terminated, T508 if it has too many unseen injections.
func (s *State) Inject(in NewInjection, stamp Stamp) (Injection, Thread, error) {
	t, err := s.LiveThread(in.Thread)
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

// See marks these injections as seen by the thread's agent and drops their content.
// Seen and unknown injections, and archived threads, are not changed. Errors: T101,
// T105.
func (s *State) See(arg string, ids []InjectionID, stamp Stamp) (Thread, error) {
	t, err := s.Thread(arg)
	if err != nil || t.Status == Archived {
		return t, err
	}
	all := slices.Clone(t.Injections)
	for k, i := range all {
		if i.Seen == nil && slices.Contains(ids, i.ID) {
			all[k].Content, all[k].Seen = "", &Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor}
		}
	}
	t.Injections = withoutOldSeen(all)
	return s.Threads.Put(t), nil
}

// withoutOldSeen removes all seen injections but the newest ones.
func withoutOldSeen(all []Injection) []Injection {
	seen := 0
	for _, i := range all {
		if i.Seen != nil {
			seen++
		}
	}
	return slices.DeleteFunc(all, func(i Injection) bool {
		if i.Seen == nil {
			return false
		}
		seen--
		return seen >= keptSeen
	})
}

// InjectionExists reports whether any thread of the State has an injection with
// this id.
func (s *State) InjectionExists(id string) bool {
	return len(s.Threads.where(`"injectionId":"`+id+`"`, func(t Thread) bool {
		return slices.ContainsFunc(t.Injections, func(i Injection) bool { return string(i.ID) == id })
	})) > 0
}

// Line returns the injection as one line of JSON for the thread's file. It escapes
// characters that control a terminal or that some readers take for a line end.
func (i Injection) Line() string {
	raw := encode(struct {
		ID        InjectionID   `json:"injectionId"`
		Type      InjectionType `json:"type"`
		Urgency   Urgency       `json:"urgency"`
		Content   string        `json:"content"`
		CreatedAt time.Time     `json:"createdAt"`
		As        ActorKind     `json:"as"`
		Actor     string        `json:"actor"`
	}{i.ID, i.Type, i.Urgency, i.Content, i.Created.At, i.Created.As, i.Created.Actor})
	var b strings.Builder
	for _, r := range string(raw) {
		if !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
