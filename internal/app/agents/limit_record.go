package agents

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file keeps which agents may use nothing more for now, for all runs of the project on
// this machine. What it has is advice: a file that cannot be read has nothing, and one that
// cannot be written lets the next run find out by itself.

// Limit is until when an agent may use nothing more.
type Limit struct {
	Agent    string          `json:"agent"`
	Until    time.Time       `json:"until"`
	ThreadID thread.ThreadID `json:"threadId"` // whose run was told
	Count    int             `json:"count"`    // how often in a row
}

// mostLimits and longestLimits bound the file; those that end first go first.
const (
	mostLimits    = 32
	longestLimits = 64 << 10
)

// LimitsOf returns what is known of agents by their names, also limits that are over.
func LimitsOf(c *app.Call) map[string]Limit {
	f, err := os.Open(c.Store().LimitsFile())
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, longestLimits))
	if err != nil {
		return nil
	}
	return parseLimits(data)
}

// LimitedNow is until when an agent may use nothing more, the zero time if it may, or if
// another one can go on in its place.
func LimitedNow(c *app.Call, limits map[string]Limit, agent string) (until time.Time) {
	l := limits[agent]
	if !l.Until.After(c.Now()) {
		return until
	}
	if _, found, err := NextAllowed(c, map[string]time.Time{agent: l.Until}); found && err == nil {
		return until
	}
	return l.Until
}

// LimitOver reports whether the limit for which a run was parked holds no longer, though its time is not over: a
// turn of the agent has succeeded since.
func LimitOver(c *app.Call, limits map[string]Limit, run thread.Run) bool {
	return run.Stop == thread.RunLimited && limits != nil && LimitedNow(c, limits, run.Agent).IsZero()
}

// SayLimit says in a run's record whether a limit of its agent keeps it from going on now.
func SayLimit(c *app.Call, limits map[string]Limit, r *app.RunRecord) {
	switch until := LimitedNow(c, limits, r.Agent); {
	case r.Stop == thread.RunLimited && r.Phase == thread.RunParked && until.IsZero():
		r.Ready = true
	case r.Ready && !until.IsZero():
		r.Ready, r.Reason = false, LimitText(r.Agent, until)
	}
}

// LimitText says until when an agent may use nothing more.
func LimitText(agent string, until time.Time) string {
	return agent + " may use nothing more until " + until.Format(time.RFC3339)
}

func parseLimits(data []byte) map[string]Limit {
	var all []Limit
	_ = json.Unmarshal(data, &all) // damaged: as if there were none
	out := map[string]Limit{}
	for _, l := range all {
		out[l.Agent] = l
	}
	return out
}

// NoteLimit notes that an agent may use nothing more until a time, as a thread's run was
// told, and returns that time. An agent that does not say until when is left alone for
// longer each time; before is how often the thread's own run was told.
func NoteLimit(c *app.Call, agent string, until time.Time, id thread.ThreadID, before int) time.Time {
	now := c.Now()
	end := until
	changeLimits(c, func(all map[string]Limit) {
		l := all[agent]
		if end = until; end.IsZero() && l.Until.After(now) {
			end = l.Until // two runs were told at the same time
		}
		if !l.Until.After(now) {
			l.Count++
		}
		if end.IsZero() {
			end = now.Add(limitPause(max(l.Count-1, before)))
		}
		end = end.UTC().Truncate(time.Millisecond)
		all[agent] = Limit{Agent: agent, Until: end, ThreadID: id, Count: l.Count}
	})
	if end.IsZero() { // it could not be written
		end = now.Add(limitPause(before))
	}
	return end.UTC().Truncate(time.Millisecond)
}

// limitPause is how long an agent is left alone that was so often told of a limit before.
func limitPause(before int) time.Duration {
	all := limitPauses()
	return all[min(before, len(all)-1)]
}

// ForgetLimit forgets a limit that is over. One that was noted since stays.
func ForgetLimit(c *app.Call, known Limit) {
	changeLimits(c, func(all map[string]Limit) {
		if all[known.Agent].Until.Equal(known.Until) {
			delete(all, known.Agent)
		}
	})
}

func changeLimits(c *app.Call, change func(map[string]Limit)) {
	ctx, cancel := c.Cleaning()
	defer cancel()
	_, err := c.Store().RunsFolder("")
	if err == nil {
		wait, options := store.Wait{Timeout: limitsPatience}, c.Project().StoreOptions()
		_, _, err = store.EditOwn(ctx, wait, options, c.Store().LimitsFile(), app.OwnConfigPerm, func(old []byte) ([]byte, error) {
			all := parseLimits(old)
			change(all)
			list := slices.SortedFunc(maps.Values(all), func(a, b Limit) int { return b.Until.Compare(a.Until) })
			data, err := json.Marshal(list[:min(len(list), mostLimits)])
			return append(data, '\n'), err
		})
	}
	if err != nil {
		c.Warn(warnings.LogUnwritable.New(fact.Of("path", c.Store().LimitsFile()), fact.Of("reason", err.Error())))
	}
}

// limitsPatience is how long a process waits for another one that changes the file.
const limitsPatience = 2 * time.Second
