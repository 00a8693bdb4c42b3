package cli

import (
	"fmt"
	"strings"

	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
)

// This file shows a person what an error is about: the records that the caller may mean.

// maxMeant is how many of them a screen has room for.
const maxMeant = 10

// candidatesText is what a failure lists for the person at the terminal, one a line with
// its label; "" for anybody else, who has the ids among the facts.
func (c *Call) candidatesText(failure *codes.Error) string {
	first, more := failure.Candidates()
	if len(first) == 0 || !c.PersonReads(c.Env.StderrTTY) {
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
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("  %-*s  %s", width, page.Escape(one.ID),
			page.Escape(one.Label)), " "))
	}
	if more > 0 {
		fmt.Fprintf(&b, "  (%d more)\n", more)
	}
	return b.String()
}
