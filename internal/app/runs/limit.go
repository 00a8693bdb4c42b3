package runs

import (
	"errors"
	"time"

	"leslie/internal/acp"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/transcript"
	"leslie/thread"
)

// limit goes on after an error that says that the agent may use nothing more for now; see
// withoutAgent. limited is false for other errors.
func (s *supervisor) limit(err error) (e *runEnd, limited bool) {
	if !s.meetsLimit(err) {
		return nil, false
	}
	return s.withoutAgent(err), true
}

// meetsLimit reports whether an error says that the agent may use nothing more for now, and
// notes it for all runs.
func (s *supervisor) meetsLimit(err error) bool {
	until, limited := s.handler.limits().Limit(err, s.c.Project().Environment().Now())
	if limited {
		s.exhausted[s.profile.Name] = agents.NoteLimit(s.c, s.profile.Name, until, s.id, s.run.Limits)
	}
	return limited
}

// saidLimit is the error of a turn that the agent ended as if all was well, although its last
// words are that nothing is left to use and the thread goes on; nil for other turns.
func (s *supervisor) saidLimit() error {
	words, limited := s.handler.limits().Alone(s.c.Project().Environment().Now())
	if !limited {
		return nil
	}
	if e, _, err := s.finished(); err != nil || e != nil {
		return nil
	}
	return &acp.Error{Message: words}
}

// limitKnown returns the end of the run, or nil where another agent goes on, if it is known
// that the agent may use nothing more for now. A person who runs the thread that met the
// limit has it tried again.
func (s *supervisor) limitKnown() (e *runEnd, limited bool) {
	s.noted = agents.LimitsOf(s.c)[s.profile.Name]
	first := s.turns == 0 && len(s.exhausted) == 0
	again := first && s.noted.ThreadID == s.id && s.c.ByPerson() && !s.in.scheduled
	if again || !s.noted.Until.After(s.c.Now()) {
		return nil, false
	}
	s.exhausted[s.profile.Name] = s.noted.Until
	until := s.noted.Until.Format(time.RFC3339)
	return s.withoutAgent(errors.New("it may use nothing more until " + until + ", as '" + string(s.noted.ThreadID) + "' was told")), true
}

// withoutAgent goes on without the agent, which may use nothing more for now: with the next one
// of the configuration that may, or else it returns the end of the run, which is parked.
func (s *supervisor) withoutAgent(why error) *runEnd {
	for {
		s.stopAgent()
		s.log.Put(transcript.Error, transcript.Words{Text: why.Error()})
		next, found, err := agents.NextAllowed(s.c, s.exhausted)
		if err != nil {
			return s.failed(err)
		}
		if !found {
			return s.pauses(why)
		}
		s.event("limit", s.profile.Name+" may use nothing more for now; "+next.Name+" goes on")
		said, _ := transcript.Tail(s.folder, tailBytes)
		s.instead = "You go on in place of another agent, " + s.profile.Name + ", which may use nothing more for now."
		if said != "" {
			s.instead += " It ended with these words:\n\n" + said
		}
		s.profile = next
		s.noted = agents.LimitsOf(s.c)[next.Name]
		s.deaths, s.nudges = 0, 0
		if err = s.record("run fallback", func(r *thread.Run) {
			r.ReplaceAgent(next.Name)
			r.Attempts++
		}); err == nil {
			err = s.start()
		}
		if err == nil {
			s.blank = true
			return nil
		}
		if !s.meetsLimit(err) {
			s.stopAgent()
			return s.failed(err)
		}
		why = err
	}
}

// pauses is the end of a run whose agents may use nothing more until the first of their
// limits is over.
func (s *supervisor) pauses(why error) *runEnd {
	var until time.Time
	for _, end := range s.exhausted {
		until = app.Earlier(until, end)
	}
	return &runEnd{
		stop: thread.RunLimited, reason: agents.LimitText(s.profile.Name, until), notBefore: &until,
		err: agents.LimitedUntil(s.c, s.id, s.profile.Name, until, why),
	}
}
