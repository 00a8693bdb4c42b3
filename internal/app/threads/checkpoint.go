package threads

import (
	"cmp"
	"errors"

	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/code"
	"leslie/internal/scope"
	"leslie/thread"
)

// Checkpoint saves a thread's artifacts for Rollback. It and siblings
// that changed the same lines of what they inherited are told (W110), and if it owns code others
// whose code conflicts (W808). Errors: T101, T102, T105, T106,
// T108, T508, T903, those of a write.
func Checkpoint(c *app.Call, in artifacts.CheckpointRequest) (*artifacts.CheckpointResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	id := c.ThreadOr(in.Thread)
	if first, ok, err := app.Answered[artifacts.CheckpointResult](c); ok || err != nil {
		return first, err
	}
	for range app.Attempts - 1 {
		data, err := checkpoint(c, id, in.Name, true)
		if !errors.Is(err, app.ErrMoved) {
			return data, err
		}
	}
	return checkpoint(c, id, in.Name, false) // as it was a moment ago
}

// checkpoint saves the thread's content. If exact, its error is app.ErrMoved when another
// operation changed the thread in between, so that the checkpoint has its right place
// in history.
func checkpoint(c *app.Call, id, name string, exact bool) (*artifacts.CheckpointResult, error) {
	var t thread.Thread
	_, err := c.View(func(s *thread.State) (err error) {
		if t, err = s.LiveThread(id); err == nil {
			err = t.NewCheckpointName(name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	snap, err := artifacts.Snapshot(c, t)
	if err != nil {
		return nil, err
	}
	var others []code.Item
	data, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*artifacts.CheckpointResult, thread.ThreadID, error) {
		if now, err := s.LiveThread(string(t.ID)); err == nil && now.Revision != t.Revision && exact && !c.InBatch() {
			if moved, err := c.Store().Compare(c.Context(), t.ID, snap.Held, scope.Set{}); err != nil || len(moved) > 0 {
				return nil, "", cmp.Or(err, app.ErrMoved)
			}
		}
		if err := c.RespectClaim(s, string(t.ID), stamp); err != nil {
			return nil, "", err
		}
		ck, t, err := s.Checkpoint(thread.NewCheckpoint{
			ID: c.NewCheckpointID(t), Thread: string(t.ID), Name: name, Manifest: snap.Manifest, Files: len(snap.Held),
		}, stamp)
		if err != nil {
			return nil, "", err
		}
		others = code.OwnerAndOthers(c, s, t)
		return &artifacts.CheckpointResult{CheckpointID: ck.ID, ThreadID: t.ID, Name: app.OrNull(ck.Name), Files: ck.Files, Revision: t.Revision}, t.ID, nil
	})
	c.EndStage(snap.Stage, err == nil)
	if err == nil {
		code.TellOverlaps(c, others)
		TellArtifactOverlaps(c, t.ID)
	}
	return data, err
}
