package app

import (
	"encoding/json"
	"strings"
	"time"

	"leslie/internal/fact"
	"leslie/thread"
)

// OperationRecord is one operation of the history.
type OperationRecord struct {
	Seq         thread.Revision    `json:"seq"`
	OperationID thread.OperationID `json:"operationId"`
	Time        time.Time          `json:"time"`
	As          thread.ActorKind   `json:"as"`
	Actor       string             `json:"actor"`
	Command     string             `json:"command"`
	ThreadID    *thread.ThreadID   `json:"threadId"`
	Params      json.RawMessage    `json:"params,omitempty"`
	// UndoneBy is what undid it, unless it is in effect again; a stream does not know it.
	// Undoes is what it undid, and Redoes what is in effect again because of that.
	UndoneBy thread.OperationID `json:"undoneBy,omitempty"`
	// Continues is an operation of the same call that is one with this one; the history
	// lists only the last of them.
	Continues thread.OperationID `json:"continues,omitempty"`
	// GivenUp: a merge ended by it that was not applied.
	GivenUp bool `json:"givenUp,omitempty"`
	// Merge is the merge that it began and left pending.
	Merge thread.MergeID `json:"merge,omitempty"`
	// Landed is what the operation landed; nil for no code, and in a stream.
	Landed *LandedCommit      `json:"landed,omitempty"`
	Undoes thread.OperationID `json:"undoes,omitempty"`
	Redoes thread.OperationID `json:"redoes,omitempty"`
	Began  []WaitingItem      `json:"-"` // what waits for a person since then; set by Observe
}

// LandedCommit is where code has landed.
type LandedCommit struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// OperationOf is an operation as an answer shows it; undoneBy is the one that took it back, "" for none.
func OperationOf(op thread.Operation, undoneBy thread.OperationID) OperationRecord {
	return OperationRecord{
		Seq: op.Seq, OperationID: op.ID, Time: op.Time, As: op.As, Actor: op.Actor, Command: op.Command,
		ThreadID: OrNull(op.ThreadID), Params: withoutLines(op),
		UndoneBy: undoneBy, Continues: op.Continues, GivenUp: givesUp(op), Merge: begunMerge(op), Undoes: op.Undoes, Redoes: op.Redoes,
	}
}

// batchCommands is the parameter of a batch that has its commands. Only show answers
// with it: the history would be long.
const batchCommands = "commands"

// withoutLines returns the parameters without the commands of a batch.
func withoutLines(op thread.Operation) json.RawMessage {
	var params map[string]json.RawMessage
	if op.Command != "batch" || json.Unmarshal(op.Params, &params) != nil {
		return op.Params
	}
	delete(params, batchCommands)
	raw, err := fact.JSON(params)
	if err != nil {
		return op.Params
	}
	return raw
}

// begunMerge is the merge that an operation began and left pending, "" for none.
func begunMerge(op thread.Operation) thread.MergeID {
	for _, ch := range op.Changes {
		if table, id, _ := strings.Cut(ch.Record, "/"); table == thread.TableMerges && thread.Absent(ch.Before) {
			return thread.MergeID(id)
		}
	}
	return ""
}

// givesUp reports whether an operation only ended a merge.
func givesUp(op thread.Operation) bool {
	ends := false
	for _, ch := range op.Changes {
		switch table, _, _ := strings.Cut(ch.Record, "/"); table {
		case thread.TableMerges:
			ends = ends || thread.Absent(ch.After)
		case thread.TableApprovals:
		default:
			return false
		}
	}
	return ends
}
