package agents

import (
	"errors"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/runner"
	"leslie/thread"
)

// This file receives what the agent of a run sends: it keeps it in the transcript, and
// answers its requests for permission.

// MostJunk is how many lines that are no messages an agent may print.
const MostJunk = 100

// This file goes on when an agent may use nothing more for now: with another agent, or
// later.

// limitPauses are how long a run is parked whose agents do not say when they may be used
// again: the first time, the second in a row, and from then on.
func limitPauses() []time.Duration {
	return []time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour}
}

// NextAllowed returns the first agent of run.fallback that may still be used. Errors: those
// of configs, T903 for one that is not there.
func NextAllowed(c *app.Call, exhausted map[string]time.Time) (next app.AgentProfile, found bool, err error) {
	user, project, err := c.Configs()
	if err != nil {
		return next, false, err
	}
	names := project.Run.Fallback
	if user.Run.Fallback != nil {
		names = user.Run.Fallback
	}
	all, _, err := Profiles(c)
	if err != nil {
		return next, false, err
	}
	limits := LimitsOf(c)
	for _, name := range names {
		if _, spent := exhausted[name]; spent || limits[name].Until.After(c.Now()) {
			continue
		}
		if next, err = Named(all, name); err != nil {
			return next, false, err
		}
		if _, err := runner.LookIn(Environ(c, next), next.Command[0]); err != nil { // it is not installed here
			continue
		}
		return next, true, nil
	}
	return next, false, nil
}

// LimitedUntil is T705.
func LimitedUntil(c *app.Call, id thread.ThreadID, agent string, until time.Time, why error) error {
	return codes.AgentLimited.Wrap(why, fact.Of("threadId", id), fact.Of("agent", agent), fact.Of("until", until),
		fact.Ms("retryAfter", until.Sub(c.Now())))
}

// The reasons for which a turn is cancelled.
var (
	ErrRunStopped = errors.New("somebody stopped it")
	ErrRunUrgent  = errors.New("an urgent message came")
	ErrRunLost    = errors.New("the thread is somebody else's")
	ErrRunOver    = errors.New("the thread had ended, and the turn went on")
	ErrRunSilent  = errors.New("the agent gave no sign of life")
	ErrRunParks   = errors.New("nobody decided in time")
	ErrRunSpent   = errors.New("it has used what it may")
	ErrRunJunk    = errors.New("the agent printed too many lines that are no messages")
)
