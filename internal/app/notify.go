package app

import (
	"encoding/json"
	"strings"
	"time"

	"leslie/thread"
)

// This file tells a person that something begins to wait for them: the command of their
// own configuration (notify) gets one event for each, after the commit.

// Notification says what began to wait for a person.
type Notification struct {
	WaitingItem
	Root string    `json:"root"` // the project's folder, absolute
	At   time.Time `json:"at"`
}

// maxNotified is how many characters of a title are told.
const maxNotified = 200

// BegunToWait returns what waits for a person since these changes and did not before. A
// thread that the mistake limit suspends is told where that happens.
func BegunToWait(changes []thread.Change) []WaitingItem {
	var out []WaitingItem
	for _, c := range changes {
		_, waited := waitsIn(c.Record, c.Before)
		if item, waits := waitsIn(c.Record, c.After); waits && !waited {
			out = append(out, item)
		}
	}
	return out
}

// waitsIn returns what waits for a person according to a record; waits is false for
// nothing.
func waitsIn(record string, value json.RawMessage) (item WaitingItem, waits bool) {
	switch table, _, _ := strings.Cut(record, "/"); table {
	case thread.TableApprovals:
		g := RecordIn[thread.Approval](value)
		return requestItem(g), g.Status == thread.GrantOpen
	case thread.TableQuestions:
		q := RecordIn[thread.Question](value)
		return QuestionItem(q), q.Status == thread.QuestionOpen && q.To == ""
	case thread.TableMerges:
		m := RecordIn[thread.Merge](value)
		return MergeItem(m), m.Strategy == thread.HumanOnly && (m.Queued == nil || m.Queued.Refused != nil)
	}
	return item, false
}

// RecordIn decodes a record, empty if there is none or it cannot be read.
func RecordIn[R any](value json.RawMessage) R {
	var r, none R
	if json.Unmarshal(value, &r) != nil {
		return none
	}
	return r
}

// Notify starts the user's command for each event. Nobody waits for it, and its failure
// changes nothing.
func (c *Call) Notify(events []WaitingItem) {
	if len(events) == 0 || c.project.env.Notify == nil {
		return
	}
	set, err := c.Configured()
	if err != nil || set.notify == "" {
		return
	}
	for _, e := range events {
		e.Title = Cut(e.Title, maxNotified)
		if event, err := json.Marshal(Notification{e, c.project.root, c.Now()}); err == nil {
			c.project.env.Notify(set.notify, c.project.root, append(event, '\n'))
		}
	}
}
