//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"

	"leslie/test/lab"
)

// report is what faults counts beside calls.
type report struct {
	*lab.Report
	recoveries []time.Duration // until a write succeeded after the leader's death
}

// end prints what was counted; it reports whether there was no violation.
func (r *report) end(g *run) (ok bool) {
	r.Table()
	acknowledged, repeated := 0, 0
	for _, q := range g.requests {
		if q.acknowledged {
			acknowledged++
		}
		if q.attempts > 1 {
			repeated++
		}
	}
	fmt.Fprintf(r.Out, "requests: %d, acknowledged %d, repeated %d\n", len(g.requests), acknowledged, repeated)
	if len(r.recoveries) > 0 {
		fmt.Fprintf(r.Out, "until a write succeeded after the leader's death: at most %s of %d\n", slices.Max(r.recoveries).Round(time.Millisecond), len(r.recoveries))
	}
	return r.Conclude(fmt.Sprintf("faults: %d calls, %d killed, in %s, %s", r.Total.Calls, r.Total.Killed, time.Since(r.Start).Round(time.Second), r.How))
}
