package store

import (
	"path"
	"strings"

	"leslie/store/internal/filework"
	"leslie/thread"
)

// written are the records that an operation writes to. What the rules change in
// passing, such as a lease that has run out, is none of its doing; what is about no single
// thread, as a batch is, does all that it changes.
func written(st *thread.State, out Outcome) (records []string) {
	if out.Thread != "" {
		records = append(records, thread.TableThreads+"/"+string(out.Thread))
	}
	for _, step := range st.Planned() {
		records = append(records, filework.RecordOf(step.To))
	}
	for _, c := range st.Changes() {
		if out.Thread == "" || strings.HasPrefix(c.Record, thread.TableMerges+"/") {
			records = append(records, c.Record)
		}
	}
	return records
}

// threadRecords are the records of threads.
func threadRecords(ids []thread.ThreadID) (records []string) {
	for _, id := range ids {
		records = append(records, path.Join(thread.TableThreads, string(id)))
	}
	return records
}
