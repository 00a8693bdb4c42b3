// Package nearest guesses which of the known names somebody meant: for
// commands, flags, values and ids that were not found.
//
// What belongs here: the measure of likeness and its threshold, once, so that
// every "did you mean" of leslie judges alike.
package nearest

import "github.com/xrash/smetrics"

// Name returns the known name that is closest to given, "" when none is close:
// at most a third of the longer name's characters, rounded up or down, may differ,
// where two neighbours that were swapped count for one ("lsit"). Of equally close
// names the first one wins, so the answer does not depend on anything else.
func Name(given string, known []string) string {
	best, bestCost := "", -1
	for _, name := range known {
		cost := distance(given, name)
		if cost > (max(len(given), len(name))+1)/3 {
			continue
		}
		if bestCost < 0 || cost < bestCost {
			best, bestCost = name, cost
		}
	}
	return best
}

// longest is the longest text whose neighbours are swapped: nobody types a longer
// name wrong.
const longest = 64

func distance(given, name string) int {
	cost := smetrics.WagnerFischer(given, name, 1, 1, 1)
	for i := 1; i < len(given) && len(given) <= longest; i++ {
		swapped := given[:i-1] + given[i:i+1] + given[i-1:i] + given[i+1:]
		cost = min(cost, 1+smetrics.WagnerFischer(swapped, name, 1, 1, 1))
	}
	return cost
}
