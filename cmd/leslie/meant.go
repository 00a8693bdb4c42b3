package main

import (
	"fmt"
	"strings"

	"leslie/codes"
)

// This file shows a person what an error is about: the records that the caller may mean.

// maxMeant is how many of them a screen has room for.
const maxMeant = 10

// candidates returns what a failure lists for the person at the terminal, one a line with
// its label; "" for anybody else, who has the ids among the facts.
func (c rendering) candidates(failure *codes.Error) string {
	first, more := failure.Candidates()
	if len(first) == 0 || !personReads(c.call, c.env.stderrTTY) {
		return ""
	}
	if len(first) > maxMeant {
		first, more = first[:maxMeant], more+len(first)-maxMeant
	}
	width := 0
	for _, one := range first {
		width = max(width, len(one.ID))
	}
	var b strings.Builder
	for _, one := range first {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("  %-*s  %s", width, escape(one.ID), escape(one.Label)), " "))
	}
	if more > 0 {
		fmt.Fprintf(&b, "  (%d more)\n", more)
	}
	return b.String()
}
