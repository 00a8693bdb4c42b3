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

// This file is about injections: what somebody tells a thread while it works. The
// record keeps the content until the thread's own agent has got it; a file of the
// thread keeps it for good.

// maxUnseen is how many injections of a thread may wait to be seen.
const maxUnseen = 100

// keptSeen is how many that were seen a thread's record keeps.
const keptSeen = 20

// NewInjection is what an injection is made of.
type NewInjection struct {
	ID      InjectionID
	Thread  string
	Type    InjectionType
	Urgency Urgency
	Content string
}

// Inject tells a thread something. Errors: T101, T105, T107 where the thread is
// terminated, T508 where too much waits to be seen already.
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

// Unseen returns what the thread's agent has not seen, in the order in which it
// should: what is immediate first, and the oldest first.
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

// See notes that the thread's agent got these injections, and lets go of their
// content. What was seen before, or is not there, stays as it is; so does an
// archived thread. Errors: T101, T105.
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

// withoutOldSeen keeps, of those that were seen, the newest.
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

// InjectionExists reports whether some thread of the State has an injection of
// this id.
func (s *State) InjectionExists(id string) bool {
	return len(s.Threads.where(`"injectionId":"`+id+`"`, func(t Thread) bool {
		return slices.ContainsFunc(t.Injections, func(i Injection) bool { return string(i.ID) == id })
	})) > 0
}

// Line is the injection as one line of JSON for the thread's own file. Characters
// that a terminal acts on, or that end a line for some reader, are escaped.
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
