package app

import (
	"context"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/internal/transcript"
	"leslie/thread"
	"leslie/warnings"
)

// This file keeps what each turn of a run leaves: the thread's artifacts and its code.
// Nothing that goes wrong with it ends the run.

// keepCommand is the operation that records what is kept.
const keepCommand = "run keep"

// turnNumber is the number of the next turn, or of the one that goes on: turns count
// through all runs of a thread.
func turnNumber(s *supervisor) int { return s.run.TurnsBefore() + s.run.Turns + 1 }

// keepTurn keeps what the turn has left that has just been recorded.
func keepTurn(s *supervisor) {
	turn := turnNumber(s) - 1
	ctx, cancel := cleaning(s.c) // also of a turn that a signal has ended
	defer cancel()
	k := turnKeeper{c: s.c.project.Call(ctx, Caller{As: thread.System, Actor: systemActor, Dir: s.dir}, Request{Command: keepCommand}), id: s.id, turn: turn}
	err := k.keep()
	s.c.warn(k.c.Warnings()...)
	if err != nil {
		s.c.warn(warnings.TurnNotKept.New(fact.Of("threadId", s.id), fact.Of("turn", turn), fact.Of("reason", codes.Reason(err))))
		s.log.Put(transcript.Kept, map[string]string{"error": err.Error()})
		if s.in.Event != nil {
			s.handler.tell(RunEvent{Turn: turn, Kind: transcript.Kept, Text: "not kept: " + err.Error()})
		}
		return
	}
	s.log.Put(transcript.Kept, map[string]string{"checkpointId": string(k.made), "work": k.work})
	if k.committed && s.c.ctx.Err() == nil {
		tellRunOverlaps(s, k.t)
	}
}

// tellRunOverlaps tells the agent and others whose code conflicts since its last commits.
func tellRunOverlaps(s *supervisor, t thread.Thread) {
	c := s.call(s.c.ctx, overlapCommand)
	var code []CodeItem
	if _, err := c.view(func(st *thread.State) error {
		code = withCode(c, st, t)
		return nil
	}); err != nil {
		return
	}
	tellOverlaps(c, code)
	for _, w := range c.Warnings() {
		s.c.warn(w)
		s.handler.refuse(w.Message + ". Agree with that thread on who changes what.")
	}
}

// turnKeeper keeps one turn.
type turnKeeper struct {
	c    *Call
	id   thread.ThreadID
	turn int

	t         thread.Thread
	work      string              // the commit with the code, "" for none
	made      thread.CheckpointID // of the artifacts
	committed bool                // the branch has commits that it had not at the turn before
}

// keep keeps the code, then the artifacts, and records both. Errors: T801, T805 for a
// worktree in the middle of a merge or the like, T508, those of a write.
func (k *turnKeeper) keep() error {
	c := k.c
	_, err := c.view(func(st *thread.State) (err error) {
		k.t, err = st.Thread(string(k.id))
		return err
	})
	if err == nil && ready(k.t) {
		err = k.keepCode()
	}
	if err != nil {
		return err
	}
	snap, err := snapshot(c, k.t)
	if err != nil {
		return err
	}
	_, err = write(c, func(st *thread.State, stamp thread.Stamp) (*CheckpointResult, thread.ThreadID, error) {
		k.made = newCheckpointID(c, k.t)
		t, err := st.KeepTurn(thread.NewCheckpoint{
			ID: k.made, Thread: string(k.id), Manifest: snap.manifest, Files: len(snap.held), Turn: k.turn, Work: k.work,
		}, stamp)
		return &CheckpointResult{}, t.ID, err
	})
	c.endStage(snap.stage, err == nil)
	return err
}

// ready reports whether a thread owns a worktree in which work can be kept.
func ready(t thread.Thread) bool {
	return t.OwnedCode() != nil && t.OwnedCode().State == thread.CodeReady
}

// keepCode keeps the work in the worktree under the ref of the turn.
func (k *turnKeeper) keepCode() error {
	c := k.c
	repo, err := repoOf(c, k.t)
	if err != nil {
		return err
	}
	w, err := repo.Worktree(worktreeDir(c, k.t), k.t.OwnedCode().Admin).Keep(c.ctx, "", false)
	if err != nil {
		return err
	}
	var last git.Commit
	for _, ck := range k.t.Checkpoints {
		if ck.Turn > 0 && ck.Turn < k.turn && ck.Work != "" {
			last = git.Commit(ck.Work)
		}
	}
	same, err := repo.SameWork(c.ctx, last, w.Commit)
	if err != nil {
		return err
	}
	if same {
		w.Commit = last
	}
	if err := repo.SetTurn(c.ctx, string(k.id), k.turn, k.turn-thread.KeptTurns+1, w.Commit); err != nil {
		return err
	}
	k.work = string(w.Commit)
	k.committed, err = k.moved(c.ctx, repo, last, w)
	return err
}

// moved reports whether the head is another one than that of a kept work.
func (k *turnKeeper) moved(ctx context.Context, repo *git.Repo, last git.Commit, now git.Work) (bool, error) {
	if last == "" {
		return string(now.Head) != k.t.OwnedCode().Start, nil
	}
	if now.Commit == last {
		return false, nil
	}
	head, err := repo.Resolve(ctx, string(last)+"^1")
	return head != now.Head, err
}
