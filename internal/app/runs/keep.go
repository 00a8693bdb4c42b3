package runs

import (
	"context"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/code"
	"leslie/internal/app/threads"
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
func (s *supervisor) turnNumber() int { return s.run.TurnsBefore() + s.run.Turns + 1 }

// keepTurn keeps what the turn has left that has just been recorded.
func (s *supervisor) keepTurn() {
	turn := s.turnNumber() - 1
	ctx, cancel := s.c.Cleaning() // also of a turn that a signal has ended
	defer cancel()
	k := turnKeeper{c: s.c.Project().Call(ctx, app.Caller{As: thread.System, Actor: app.SystemActor, Dir: s.dir}, app.Request{Command: keepCommand}), id: s.id, turn: turn}
	err := k.keep()
	s.c.Warn(k.c.Warnings()...)
	if err != nil {
		s.c.Warn(warnings.TurnNotKept.New(fact.Of("threadId", s.id), fact.Of("turn", turn), fact.Of("reason", codes.Reason(err))))
		s.log.Put(transcript.Kept, map[string]string{"error": err.Error()})
		if s.in.Event != nil {
			s.handler.tell(Event{Turn: turn, Kind: transcript.Kept, Text: "not kept: " + err.Error()})
		}
		return
	}
	s.log.Put(transcript.Kept, map[string]string{"checkpointId": string(k.made), "work": k.work})
	if s.c.Context().Err() == nil {
		s.tellRunOverlaps(k)
	}
}

// tellRunOverlaps tells the agent and others whose code conflicts since its last commits, or
// who changed the same lines of an artifact.
func (s *supervisor) tellRunOverlaps(k turnKeeper) {
	c := s.call(s.c.Context(), code.OverlapCommand)
	var others []code.Item
	if _, err := c.View(func(st *thread.State) error {
		if k.committed {
			others = code.OwnerAndOthers(c, st, k.t)
		}
		return nil
	}); err != nil {
		return
	}
	code.TellOverlaps(c, others)
	threads.TellArtifactOverlaps(c, k.id)
	for _, w := range c.Warnings() {
		s.c.Warn(w)
		s.news = true
		s.handler.refuse(w.Message + ". Agree with that thread on who changes what.")
	}
}

// turnKeeper keeps one turn.
type turnKeeper struct {
	c    *app.Call
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
	_, err := c.View(func(st *thread.State) (err error) {
		k.t, err = st.Thread(string(k.id))
		return err
	})
	if err == nil && ready(k.t) {
		err = k.keepCode()
	}
	if err != nil {
		return err
	}
	snap, err := artifacts.Snapshot(c, k.t)
	if err != nil {
		return err
	}
	_, err = app.Write(c, func(st *thread.State, stamp thread.Stamp) (*artifacts.CheckpointResult, thread.ThreadID, error) {
		k.made = c.NewCheckpointID(k.t)
		t, err := st.KeepTurn(thread.NewCheckpoint{
			ID: k.made, Thread: string(k.id), Manifest: snap.Manifest, Files: len(snap.Held), Turn: k.turn, Work: k.work,
		}, stamp)
		return &artifacts.CheckpointResult{}, t.ID, err
	})
	c.EndStage(snap.Stage, err == nil)
	return err
}

// ready reports whether a thread owns a worktree in which work can be kept.
func ready(t thread.Thread) bool {
	return t.OwnedCode() != nil && t.OwnedCode().State == thread.CodeReady
}

// keepCode keeps the work in the worktree under the ref of the turn.
func (k *turnKeeper) keepCode() error {
	c := k.c
	repo, err := code.RepoOf(c, k.t)
	if err != nil {
		return err
	}
	w, err := repo.Worktree(code.WorktreeDir(c, k.t), k.t.OwnedCode().Admin).SaveWork(c.Context(), "", false)
	if err != nil {
		return err
	}
	var last git.Commit
	for _, ck := range k.t.Checkpoints {
		if ck.Turn > 0 && ck.Turn < k.turn && ck.Work != "" {
			last = git.Commit(ck.Work)
		}
	}
	same, err := repo.SameWork(c.Context(), last, w.Commit)
	if err != nil {
		return err
	}
	if same {
		w.Commit = last
	}
	if err := repo.SetTurn(c.Context(), string(k.id), k.turn, k.turn-thread.KeptTurns+1, w.Commit); err != nil {
		return err
	}
	k.work = string(w.Commit)
	k.committed, err = k.moved(c.Context(), repo, last, w)
	return err
}

// moved reports whether the head is another one than that of a saved work.
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
