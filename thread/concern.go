package thread

import (
	"encoding/json"
	"strings"
)

// This file says which threads an operation concerns. history, observe and wait
// filter by it.

// Concerns reports whether an operation concerns a thread: it names the thread, or
// changes its record, a reference that it made, one of its grants or questions,
// or a comment on it.
func (op Operation) Concerns(id ThreadID) bool {
	if op.ThreadID == id {
		return true
	}
	for _, c := range op.Changes {
		table, record, _ := strings.Cut(c.Record, "/")
		if table == TableThreads && record == string(id) || ownerOf(table, c.Before) == id || ownerOf(table, c.After) == id {
			return true
		}
	}
	return false
}

// ownerOf returns the thread that a reference, a grant, a question or a comment belongs to,
// or "" for any other record.
func ownerOf(table string, raw json.RawMessage) ThreadID {
	if len(raw) == 0 || table != TableReferences && table != TableApprovals && table != TableQuestions && table != TableComments {
		return ""
	}
	var record struct {
		From     ThreadID `json:"from"`
		ThreadID ThreadID `json:"threadId"`
	}
	if json.Unmarshal(raw, &record) != nil {
		return ""
	}
	if table == TableReferences {
		return record.From
	}
	return record.ThreadID
}
