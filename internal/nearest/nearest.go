// Package nearest guesses which known name was meant by a misspelt command, flag,
// value or id.
//
// What belongs here: the measure of similarity and its threshold, so that every "did
// you mean" of leslie uses the same.
package nearest

import (
	"strings"

	"github.com/xrash/smetrics"
)

// Name returns the known name closest to given, or "" if none is close: at most a third
// of the longer name's characters may differ. Two
// swapped neighbours count as one difference ("lsit"), and letter case does not count.
// Of equally close names the first wins, so the result is deterministic.
func Name(given string, known []string) string {
	best, bestCost := "", -1
	given = strings.ToLower(given)
	for _, name := range known {
		most := max(len(given), len(name)) / 3
		cost := distance(given, strings.ToLower(name), most)
		if cost > most {
			continue
		}
		if bestCost < 0 || cost < bestCost {
			best, bestCost = name, cost
		}
	}
	return best
}

// distance returns the number of differences, or, without comparing, one that is above
// most if the lengths alone differ by more than most. It looks for swapped neighbours only
// if that can bring the result down to most, because it saves one difference.
func distance(given, name string, most int) int {
	if apart := max(len(given)-len(name), len(name)-len(given)); apart > most {
		return apart
	}
	cost := smetrics.WagnerFischer(given, name, 1, 1, 1)
	if cost > most+1 {
		return cost
	}
	for i := 1; i < len(given); i++ {
		swapped := given[:i-1] + given[i:i+1] + given[i-1:i] + given[i+1:]
		cost = min(cost, 1+smetrics.WagnerFischer(swapped, name, 1, 1, 1))
	}
	return cost
}
