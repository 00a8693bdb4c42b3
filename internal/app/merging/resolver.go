package merging

import (
	"context"
	"errors"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
	"leslie/warnings"
)

// Resolver resolves open conflicts of a session: the person at a terminal, an agent's
// command, a test.
type Resolver interface {
	// Resolve decides as many of the open conflicts (Session.Open) as it can, by
	// Session.Answer; each answer is recorded at once. Leaving conflicts open is not
	// an error. Errors: those of Answer and Ask, T904.
	Resolve(ctx context.Context, s *Session) error
}

// Person is the person who can be asked.
type Person interface {
	Resolver
	// Review has the last word before a merge in which more than one conflict was decided
	// is applied: nil applies it, ErrLeft leaves it pending. It may replace answers by
	// Session.Answer. Errors: those of Answer, T904.
	Review(ctx context.Context, s *Session) error
}

// ErrLeft says that a person who was asked left the merge pending. It is also the cause
// of the error with which the merge then ends.
var ErrLeft = errors.New("the person left the merge pending")

// leftBy adds ErrLeft as the cause of an error after a person was asked.
func leftBy(err error) error {
	if e := codes.Of(err); e != nil {
		return e.WithCause(ErrLeft)
	}
	return err
}

// Decline says why the agent did not resolve a path.
// Attempts is how often it was given the path, 0 if it was not.
type Decline struct {
	Path, Reason string
	Attempts     int
}

// resolvers returns the resolvers in order. This is the only place that knows what a
// strategy means.
func (s *Session) resolvers() []Resolver {
	var out []Resolver
	if s.record.Strategy == thread.AgentFirst {
		out = append(out, agentFirst{})
	}
	if s.call.Person != nil && s.record.Strategy != thread.Strict {
		out = append(out, person{s.call.Person})
	}
	return out
}

// person notes that the person was asked.
type person struct{ Person }

// Resolve implements Resolver.
func (p person) Resolve(ctx context.Context, s *Session) error {
	s.asked = true
	return p.Person.Resolve(ctx, s)
}

// review has the person confirm the plan, if there is one to ask, and more than one
// conflict was decided or decisions of a merge that was undone are used. Who approves the merge confirms it there.
func review(s *Session) error {
	decided := 0
	for _, c := range s.plan.Conflicts {
		if c.Result != nil && c.Result.Take != "" {
			decided++
		}
	}
	if s.call.Person == nil || needsApproval(s.Planning) || decided < 2 && s.reused == 0 {
		return nil
	}
	s.asked = true
	return s.call.Person.Review(s.call.Context, s)
}

// ask asks the resolvers until no conflict is open or none is left.
func (s *Session) ask() error {
	for _, one := range s.resolvers() {
		if s.plan.Open() == 0 {
			return nil
		}
		if err := one.Resolve(s.call.Context, s); err != nil {
			return err
		}
	}
	return nil
}

// CanAskAgent reports whether AskAgent has an agent that may answer. first says that a
// resolver should offer its help before anything else, because nobody has asked it yet.
func (s *Session) CanAskAgent() (can, first bool, err error) {
	if s.call.Agent == nil || s.record.Strategy == thread.HumanOnly {
		return false, false, nil
	}
	can, err = s.mayResolve()
	return can, can && s.record.Strategy == thread.Interactive, err
}

// mayResolve reports whether an agent may resolve the target's conflicts.
func (p *Planning) mayResolve() (bool, error) {
	err := p.call.View(func(st *thread.State) error { return st.MayResolve(p.record, p.call.Policy, p.call.Now()) })
	if codes.Has(err, codes.PermissionDenied) {
		return false, nil
	}
	return err == nil, err
}

// agentFirst asks the agent about each file, or reports that there is none.
type agentFirst struct{}

// Resolve implements Resolver.
func (agentFirst) Resolve(_ context.Context, s *Session) error {
	if s.call.Agent == nil {
		s.declinedBy(Decline{
			Path:   "every conflict",
			Reason: "no agent is configured: say --agent, or set merge.agent or run.agent in your own configuration",
		})
		return nil
	}
	for _, f := range s.plan.Files {
		if f.Open > 0 {
			if err := s.AskAgent(f.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// declinedBy reports that the agent did not resolve a path: to the person, if one can be
// asked, who may ask again.
func (p *Planning) declinedBy(d Decline) {
	if p.call.Person != nil {
		p.declines = append(p.declines, d)
		return
	}
	warnDeclined(p, d)
}

// Declines returns why the agent did not resolve paths, each reason once. What nobody
// asks for is W303 at the end.
func (s View) Declines() []Decline {
	news := s.declines
	s.declines = nil
	return news
}

// Moved returns the threads whose files have changed since the plan that the person last
// saw, so that it was made again. It returns them once.
func (s View) Moved() []thread.ThreadID {
	news := s.moved
	s.moved = nil
	return news
}

// warnDeclined is W303.
func warnDeclined(p *Planning, d Decline) {
	facts := []fact.Fact{fact.Of("path", d.Path), fact.Of("reason", d.Reason)}
	if d.Attempts > 0 {
		facts = append(facts, fact.Of("attempts", d.Attempts))
	}
	p.call.Warn(warnings.AgentDeclined.New(facts...))
}
