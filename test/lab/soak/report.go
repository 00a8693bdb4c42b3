//go:build unix

package main

import (
	"fmt"
	"strings"
	"time"

	"leslie/test/lab"
)

// report is what soak counts beside calls.
type report struct {
	*lab.Report
	made       map[string]int // operations by their command
	unanswered int            // operations of calls that were killed before they answered
}

// end prints what was counted and reports whether there was no violation.
func (r *report) end(g *soakRun) (ok bool) {
	r.Table()
	fmt.Fprintf(r.Out, "killed between commit and answer: %d; after the answer: %d\n", r.unanswered, r.Total.Answered)
	operations, resumed := 0, 0
	for _, n := range r.made {
		operations += n
	}
	for _, o := range g.observers {
		resumed += o.resumed
	}
	fmt.Fprintf(r.Out, "operations: %d, of them merges %d, rollbacks %d, undos %d, batches %d\n",
		operations, r.made["merge"]+r.made["merge continue"], r.made["rollback"], r.made["undo"], r.made["batch"])
	fmt.Fprintf(r.Out, "acknowledged scenario merges: %d; repeated requests: %d; observers: %d, ended and resumed %d times; pauses: %d\n",
		g.groups.count, len(g.requested), len(g.observers), resumed, g.pauses)
	return r.Conclude(fmt.Sprintf("soak: %d calls by %d processes in %s, %d of %d killed, %s",
		r.Total.Calls, g.processes, time.Since(r.Start).Round(time.Second), r.Total.Killed, r.Total.Aimed, r.How))
}

// shown formats a command for a reader.
func shown(argv []string) string {
	const most = 400
	out := make([]string, len(argv))
	for i, arg := range argv {
		if out[i] = arg; strings.ContainsAny(arg, " \n\"'*|") || arg == "" {
			out[i] = fmt.Sprintf("%q", arg)
		}
	}
	s := strings.Join(out, " ")
	return s[:min(len(s), most)]
}
