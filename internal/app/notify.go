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

// begunToWait returns what waits for a person since these changes and did not before. A
// thread that the mistake limit suspends is told where that happens.
func begunToWait(changes []thread.Change) []WaitingItem {
	var out []WaitingItem
	for _, c := range changes {
		table, id, _ := strings.Cut(c.Record, "/")
		was, is := waitsIn(table, id, c.Before), waitsIn(table, id, c.After)
		if is != nil && was == nil {
			out = append(out, *is)
		}
	}
	return out
}

// waitsIn returns what waits for a person according to a record, nil for nothing.
func waitsIn(table, id string, record json.RawMessage) *WaitingItem {
	if len(record) == 0 || table != thread.TableApprovals && table != thread.TableQuestions && table != thread.TableMerges {
		return nil
	}
	var r struct {
		ThreadID thread.ThreadID `json:"threadId"`
		Status   string          `json:"status"`
		Scope    []string        `json:"scope"`
		Reason   string          `json:"reason"`
		To       thread.ThreadID `json:"to"`
		Question string          `json:"question"`
		Strategy thread.Strategy `json:"strategy"`
		Target   thread.ThreadID `json:"target"`
		Sources  []string        `json:"sources"`
	}
	if json.Unmarshal(record, &r) != nil {
		return nil
	}
	switch {
	case table == thread.TableApprovals && r.Status == string(thread.GrantOpen):
		title := joined(r.Scope)
		if r.Reason != "" {
			title += ": " + firstLine(r.Reason)
		}
		return &WaitingItem{WaitingApproval, id, r.ThreadID, title, "leslie approve " + id}
	case table == thread.TableQuestions && r.Status == string(thread.QuestionOpen) && r.To == "":
		return &WaitingItem{WaitingQuestion, id, r.ThreadID, firstLine(r.Question), "leslie questions"}
	case table == thread.TableMerges && r.Strategy == thread.HumanOnly:
		return &WaitingItem{WaitingMerge, id, r.Target, joined(r.Sources) + " into " + string(r.Target), "leslie merge status " + id}
	}
	return nil
}

// notify starts the user's command for each event. Nobody waits for it, and its failure
// changes nothing.
func notify(c *Call, events []WaitingItem) {
	if len(events) == 0 || c.project.env.Notify == nil {
		return
	}
	set, err := configured(c)
	if err != nil || set.notify == "" {
		return
	}
	for _, e := range events {
		e.Title = cut(e.Title, maxNotified)
		if event, err := json.Marshal(Notification{e, c.project.root, c.now()}); err == nil {
			c.project.env.Notify(set.notify, c.project.root, append(event, '\n'))
		}
	}
}
