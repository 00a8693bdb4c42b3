package merging

import (
	"context"

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

// resolvers returns the resolvers in order. This is the only place that knows what a
// strategy means.
func (s *Session) resolvers() []Resolver {
	var out []Resolver
	if s.record.Strategy == thread.AgentFirst {
		out = append(out, agentFirst{})
	}
	if s.call.Person != nil && s.record.Strategy != thread.Strict {
		out = append(out, s.call.Person)
	}
	return out
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
	if s.call.Agent == "" || s.record.Strategy == thread.HumanOnly {
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
	if s.call.Agent == "" {
		s.declinedBy("every conflict", "no agent is configured: say --agent, or set merge.agent in your own configuration")
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

// declinedBy is W303.
func (p *Planning) declinedBy(path, reason string) {
	p.call.Warn(warnings.AgentDeclined.New(fact.Of("path", path), fact.Of("reason", reason)))
}
