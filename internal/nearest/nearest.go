// Package nearest guesses which of the known names somebody meant: for
// commands, flags, values and ids that were not found.
//
// What belongs here: the measure of likeness and its threshold, once, so that
// every "did you mean" of leslie judges alike.
package nearest

import (
	"strings"

	"github.com/xrash/smetrics"
)

// Name returns the known name that is closest to given, "" when none is close:
// at most a third of the longer name's characters, rounded up or down, may differ,
// where two neighbours that were swapped count for one ("lsit"), and capitals for
// none. Of equally close names the first one wins, so the answer does not depend on
// anything else.
func Name(given string, known []string) string {
	best, bestCost := "", -1
	given = strings.ToLower(given)
	for _, name := range known {
		most := (max(len(given), len(name)) + 1) / 3
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

// distance is how many characters differ. Swapped neighbours are looked for only
// where that brings a name within most: it takes one of two away.
func distance(given, name string, most int) int {
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
