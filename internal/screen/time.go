package screen

import (
	"strconv"
	"time"
)

const day = 24 * time.Hour

// Since says how long ago something was, or in how long it will be.
func Since(t, now time.Time) string { return relative(t, now) }

// relative says how long ago a time was, in its largest unit, or in how long it will be;
// what is more than 60 days away is a date.
func relative(t, now time.Time) string {
	away := now.Sub(t)
	past := away >= 0
	if !past {
		away = -away
	}
	var long string
	switch {
	case away < time.Minute:
		return "just now"
	case away < time.Hour:
		long = strconv.Itoa(int(away/time.Minute)) + " min"
	case away < day:
		long = strconv.Itoa(int(away/time.Hour)) + " h"
	case away < 60*day:
		long = strconv.Itoa(int(away/day)) + " d"
	default:
		return t.UTC().Format(time.DateOnly)
	}
	if past {
		return long + " ago"
	}
	return "in " + long
}
