package thread

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file has what is kept at the end of each turn of a thread's runs, and what a
// rollback to it changes in the thread's code.

// KeptTurns is how many turns are kept of a thread, the newest.
const KeptTurns = 20

// CodeRolled says which saved work in a worktree was exchanged for which.
type CodeRolled struct {
	Turn int    `json:"turn"`
	Ref  string `json:"ref"`  // keeps From
	From string `json:"from"` // what was there
	To   string `json:"to"`

	Unknown Unknown `json:"-"`
}

// TurnsOf is how many turns of a thread's runs have ended.
func TurnsOf(t Thread) int {
	run := t.LastRun()
	if run == nil {
		return 0
	}
	return run.TurnsBefore() + run.Turns
}

// TurnsBefore is how many turns the thread's earlier runs had.
func (r *Run) TurnsBefore() int {
	if r.Before == nil {
		return 0
	}
	return r.Before.Turns
}

// KeepTurn records a snapshot at the end of a turn, in.Turn, and drops those of turns that
// are no longer kept. Errors: T101, T105, T107 for an archived thread.
func (s *State) KeepTurn(in NewCheckpoint, stamp Stamp) (Thread, error) {
	t, err := s.Thread(in.Thread)
	if err != nil {
		return Thread{}, err
	}
	if t.Status == Archived {
		return Thread{}, notWritable(t)
	}
	t.Checkpoints = slices.DeleteFunc(slices.Clone(t.Checkpoints), func(c Checkpoint) bool {
		return c.Turn != 0 && (c.Turn <= in.Turn-KeptTurns || c.Turn >= in.Turn)
	})
	t.Checkpoints = append(t.Checkpoints, Checkpoint{
		ID: in.ID, Manifest: in.Manifest, Files: in.Files, Turn: in.Turn, Work: in.Work,
		Created: Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor}, At: s.Revision + 1,
	})
	t.Updated = stamp.Time
	s.ofRun = true
	return s.Threads.Put(t), nil
}

// TurnOf returns what is kept of a turn. Error: T111, with the turns that are.
func (t Thread) TurnOf(turn int) (Checkpoint, error) {
	var kept []int
	for _, c := range t.Checkpoints {
		if c.Turn == turn && turn > 0 {
			return c, nil
		}
		if c.Turn > 0 {
			kept = append(kept, c.Turn)
		}
	}
	err := codes.CheckpointNotFound.New(fact.Of("turn", turn), fact.Of("count", 0), fact.Of("threadId", t.ID))
	if len(kept) == 0 {
		return Checkpoint{}, err.WithHint("No turn of this thread is kept: leslie run keeps them").WithNext("leslie checkpoint list " + string(t.ID))
	}
	slices.Sort(kept)
	return Checkpoint{}, err.WithHint(fmt.Sprintf("Turns %d to %d are kept", kept[0], kept[len(kept)-1])).WithNext("leslie checkpoint list " + string(t.ID) + " --kept")
}

// BeginRolling records that the work in a thread's worktree is being exchanged. Errors:
// those of ChangeCode.
func (s *State) BeginRolling(id ThreadID, r CodeRolled, stamp Stamp) (Thread, error) {
	return s.ChangeCode(string(id), []CodeState{CodeReady}, stamp, func(_ *Thread, c *Code) {
		c.State, c.Rolling = CodeRolling, &r
	})
}

// EndRolling records that it is no longer being exchanged; if done, that it was. Errors:
// those of ChangeCode.
func (s *State) EndRolling(id ThreadID, done bool, stamp Stamp) (Thread, error) {
	return s.ChangeCode(string(id), []CodeState{CodeRolling}, stamp, func(_ *Thread, c *Code) {
		if done {
			c.Rolled = c.Rolling
		}
		c.State, c.Rolling = CodeReady, nil
	})
}

// RolledIn returns the thread whose work an operation exchanged, and what it did; nil for
// none. Of an undo it is what it took back, and back is true.
func RolledIn(op Operation) (id ThreadID, r *CodeRolled, back bool) {
	for _, c := range op.Changes {
		if Absent(c.Before) || Absent(c.After) {
			continue
		}
		was, is := valueOf[Thread](c.Before), valueOf[Thread](c.After)
		if was.OwnedCode() == nil || is.OwnedCode() == nil || bytes.Equal(encode(was.OwnedCode().Rolled), encode(is.OwnedCode().Rolled)) {
			continue
		}
		if op.Steps() {
			return is.ID, was.OwnedCode().Rolled, true
		}
		return is.ID, is.OwnedCode().Rolled, false
	}
	return "", nil, false
}

// rolledBack is codeBack for a rollback.
func rolledBack(was, is Code, now json.RawMessage) (json.RawMessage, bool, error) {
	all := listOf[Code](now)
	if len(all) == 0 {
		return now, false, nil
	}
	same := bytes.Equal(encode(all[0].Rolled), encode(is.Rolled))
	all[0].Rolled = was.Rolled
	return encode(all), same, nil
}
