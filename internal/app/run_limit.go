package app

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/acp"
	"leslie/internal/fact"
	"leslie/internal/runner"
	"leslie/internal/transcript"
	"leslie/thread"
)

// This file goes on when an agent may use nothing more for now: with another agent, or
// later.

// limitPauses are how long a run is parked whose agents do not say when they may be used
// again: the first time, the second in a row, and from then on.
func limitPauses() []time.Duration {
	return []time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour}
}

// longestLimit is the longest pause that an agent's own words may cause.
const longestLimit = 8 * 24 * time.Hour

// What agents and the models behind them say when nothing is left to use. The expressions
// are compiled where they are needed: at every start they would take a quarter of a
// millisecond.

func limitWords() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(usage|rate|session|weekly|daily|hourly|request|token|message)s?[ _-]?limit|\bquota\b|resource[ _]?exhausted|too many requests|\b429\b|\bhit your .{0,20}limit`)
}

func limitEpoch() *regexp.Regexp {
	return regexp.MustCompile(`\|\s*(\d{10})\b`)
}

func limitTime() *regexp.Regexp {
	return regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)
}

func limitIn() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:again|retry|resets?|reset after|available)\D{0,20}?\b(?:in|after)\s+((?:\d+(?:\.\d+)?\s*(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|[dhms])\b[\s,]*(?:and\s+)?)+)`)
}

func limitPart() *regexp.Regexp {
	return regexp.MustCompile(`(\d+(?:\.\d+)?)\s*([a-zA-Z]+)`)
}

func limitAfter() *regexp.Regexp {
	return regexp.MustCompile(`(?i)retry[-_ ]?after\\?"?\s*[:=]\s*\\?"?(\d+(?:\.\d+)?)`)
}

// limitOf reports whether an agent's answer says that nothing is left to use for now, and
// until when; the zero time if it does not say.
func limitOf(err error, now time.Time) (until time.Time, limited bool) {
	var answered *acp.Error
	if !errors.As(err, &answered) {
		return until, false
	}
	said := answered.Message + "\n" + string(answered.Data)
	if !limitWords().MatchString(said) {
		return until, false
	}
	if m := limitEpoch().FindStringSubmatch(said); m != nil {
		seconds, _ := strconv.ParseInt(m[1], 10, 64)
		until = time.Unix(seconds, 0).UTC()
	} else if m := limitTime().FindString(said); m != "" {
		until, _ = time.Parse(time.RFC3339Nano, m)
	} else if m := limitIn().FindStringSubmatch(said); m != nil {
		until = now.Add(spokenDuration(m[1]))
	} else if m := limitAfter().FindStringSubmatch(said); m != nil {
		seconds, _ := strconv.ParseFloat(m[1], 64)
		until = now.Add(time.Duration(seconds * float64(time.Second)))
	}
	if !until.After(now) || until.Sub(now) > longestLimit {
		until = time.Time{}
	}
	return until.UTC(), true
}

// spokenDuration is a duration in words: "2 hours and 5 minutes", "1h 3m".
func spokenDuration(text string) (d time.Duration) {
	units := map[byte]time.Duration{'d': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}
	for _, m := range limitPart().FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseFloat(m[1], 64)
		d += time.Duration(n * float64(units[strings.ToLower(m[2])[0]]))
	}
	return d
}

// limit goes on after an error that says that the agent may use nothing more for now:
// with the next agent of the configuration that may, or else it returns the end of the
// run, which is parked. limited is false for other errors.
func (s *supervisor) limit(err error) (e *runEnd, limited bool) {
	until, limited := limitOf(err, s.c.now())
	for limited {
		s.stopAgent()
		s.log.Put(transcript.Error, transcript.Words{Text: err.Error()})
		s.exhausted = append(s.exhausted, s.profile.name)
		next, found, failure := nextAgent(s.c, s.exhausted)
		if failure != nil {
			end := s.failed(failure)
			return &end, true
		}
		if !found {
			end := pauses(s, until, err)
			return &end, true
		}
		s.event("limit", s.profile.name+" may use nothing more for now; "+next.name+" goes on")
		said, _ := transcript.Tail(s.folder, tailBytes)
		s.instead = "You go on in place of another agent, " + s.profile.name + ", which may use nothing more for now."
		if said != "" {
			s.instead += " It ended with these words:\n\n" + said
		}
		s.profile = next
		s.deaths = 0
		if err = s.record("run fallback", func(r *thread.Run) {
			r.ReplaceAgent(next.name)
			r.Attempts++
		}); err == nil {
			err = s.start()
		}
		if err == nil {
			s.blank = true
			return nil, true
		}
		again, limitedToo := limitOf(err, s.c.now())
		if !limitedToo {
			s.stopAgent()
			end := s.failed(err)
			return &end, true
		}
		if !again.IsZero() && (until.IsZero() || again.Before(until)) {
			until = again
		}
	}
	return nil, false
}

// nextAgent returns the first agent of run.fallback that may still be used. Errors: those
// of configs, T903 for one that is not there.
func nextAgent(c *Call, exhausted []string) (next agentProfile, found bool, err error) {
	user, project, err := configs(c)
	if err != nil {
		return next, false, err
	}
	names := project.Run.Fallback
	if user.Run.Fallback != nil {
		names = user.Run.Fallback
	}
	all, _, err := profiles(c)
	if err != nil {
		return next, false, err
	}
	for _, name := range names {
		if slices.Contains(exhausted, name) {
			continue
		}
		if next, err = agentNamed(all, name); err != nil {
			return next, false, err
		}
		if _, err := runner.LookIn(agentEnviron(c, next), next.command[0]); err != nil { // it is not installed here
			continue
		}
		return next, true, nil
	}
	return next, false, nil
}

// pauses is the end of a run whose agents may use nothing more until a time, the zero
// time if none of them says until when.
func pauses(s *supervisor, until time.Time, why error) runEnd {
	now := s.c.now()
	if until.IsZero() {
		all := limitPauses()
		until = now.Add(all[min(s.run.Limits, len(all)-1)])
	}
	until = until.Truncate(time.Millisecond)
	return runEnd{
		stop: thread.RunLimited, reason: s.profile.name + " may use nothing more until " + until.Format(time.RFC3339), notBefore: &until,
		err: codes.AgentLimited.Wrap(why, fact.Of("threadId", s.id), fact.Of("agent", s.profile.name), fact.Of("until", until), fact.Ms("retryAfter", until.Sub(now))),
	}
}
