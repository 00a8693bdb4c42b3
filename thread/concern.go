package thread

import (
	"encoding/json"
	"strings"
)

// This file says whom an operation concerns: what history, observers and waits
// filter by.

// Concerns reports whether an operation is about a thread: by name, by changing
// its record, or by changing a reference that it made or one of its grants.
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

// ownerOf is the thread that a reference or a grant belongs to, "" for every
// other record.
func ownerOf(table string, raw json.RawMessage) ThreadID {
	if len(raw) == 0 || table != TableReferences && table != TableApprovals {
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
