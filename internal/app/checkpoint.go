package app

import (
	"cmp"
	"errors"
	"slices"

	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

// CheckpointRequest saves a thread's artifacts.
type CheckpointRequest struct {
	Thread string // "": the thread that the caller speaks for
	Name   string // unique in this thread; "": none
}

// Faults returns what is wrong with the request.
func (in CheckpointRequest) Faults(name Names) []Fault {
	k := newChecks(name)
	if fault := thread.CheckpointNameFault(in.Name); fault != "" {
		k.add("Name", "", "%s", fault)
	}
	return k.faults
}

// CheckpointResult is the checkpoint.
type CheckpointResult struct {
	CheckpointID thread.CheckpointID `json:"checkpointId"`
	ThreadID     thread.ThreadID     `json:"threadId"`
	Name         *string             `json:"name"`
	Files        int                 `json:"files"`
	Revision     thread.Revision     `json:"revision"`
	Change
}

// ListCheckpointsRequest lists a thread's checkpoints.
type ListCheckpointsRequest struct {
	Thread string // "": the thread that the caller speaks for
	Limit  int    // 0: all
	Turns  bool   // those that leslie made at the end of turns, instead of the others
}

// ListCheckpointsResult has a thread's checkpoints, newest first.
type ListCheckpointsResult struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Items[CheckpointItem]
}

// ListCheckpoints lists a thread's checkpoints. Errors: T101, T105, those of reading.
func ListCheckpoints(c *Call, in ListCheckpointsRequest) (*ListCheckpointsResult, error) {
	c.readOnly()
	id := c.threadOr(in.Thread)
	d := &ListCheckpointsResult{}
	_, err := c.view(func(s *thread.State) error {
		t, err := s.Thread(id)
		all := checkpointsOf(t, in.Turns)
		slices.Reverse(all)
		d.ThreadID, d.Items = t.ID, First(all, in.Limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Checkpoint saves a thread's artifacts for Rollback. If the thread owns code, it and
// others whose code conflicts are told (W808). Errors: T101, T102, T105, T106,
// T108, T508, T903, those of a write.
func Checkpoint(c *Call, in CheckpointRequest) (*CheckpointResult, error) {
	if err := refused(in.Faults(nil)); err != nil {
		return nil, err
	}
	id := c.threadOr(in.Thread)
	if first, ok, err := answered[CheckpointResult](c); ok || err != nil {
		return first, err
	}
	for range attempts - 1 {
		data, err := checkpoint(c, id, in.Name, true)
		if !errors.Is(err, errMoved) {
			return data, err
		}
	}
	return checkpoint(c, id, in.Name, false) // as it was a moment ago
}

// checkpoint saves the thread's content. If exact, its error is errMoved when another
// operation changed the thread in between, so that the checkpoint has its right place
// in history.
func checkpoint(c *Call, id, name string, exact bool) (*CheckpointResult, error) {
	var t thread.Thread
	_, err := c.view(func(s *thread.State) (err error) {
		if t, err = s.LiveThread(id); err == nil {
			err = t.NewCheckpointName(name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	snap, err := snapshot(c, t)
	if err != nil {
		return nil, err
	}
	var code []CodeItem
	data, err := write(c, func(s *thread.State, stamp thread.Stamp) (*CheckpointResult, thread.ThreadID, error) {
		if now, err := s.LiveThread(string(t.ID)); err == nil && now.Revision != t.Revision && exact && c.draft == nil {
			if moved, err := c.store.Compare(c.ctx, t.ID, snap.held, scope.Set{}); err != nil || len(moved) > 0 {
				return nil, "", cmp.Or(err, errMoved)
			}
		}
		if err := respectClaim(c, s, string(t.ID), stamp); err != nil {
			return nil, "", err
		}
		ck, t, err := s.Checkpoint(thread.NewCheckpoint{
			ID: newCheckpointID(c, t), Thread: string(t.ID), Name: name, Manifest: snap.manifest, Files: len(snap.held),
		}, stamp)
		if err != nil {
			return nil, "", err
		}
		code = withCode(c, s, t)
		return &CheckpointResult{CheckpointID: ck.ID, ThreadID: t.ID, Name: orNull(ck.Name), Files: ck.Files, Revision: t.Revision}, t.ID, nil
	})
	c.endStage(snap.stage, err == nil)
	if err == nil {
		tellOverlaps(c, code)
	}
	return data, err
}

func newCheckpointID(c *Call, t thread.Thread) thread.CheckpointID {
	return thread.CheckpointID(c.newID("", thread.PrefixCheckpoint, func(id string) bool {
		_, err := t.CheckpointOf(id)
		return err == nil
	}))
}

// snapped is a snapshot of a thread's artifacts in the blobs.
type snapped struct {
	stage    *store.Stage // nil where nothing had to be stored
	manifest thread.BlobID
	held     store.Manifest // what that lists
}

// snapshot stores a thread's artifacts. If nothing has changed since its last
// checkpoint, it reuses that manifest and reads only the files that it must.
func snapshot(c *Call, t thread.Thread) (snapped, error) {
	if snap, ok, err := unchangedSince(c, t); ok || err != nil {
		return snap, err
	}
	var there bool
	err := c.settled(func() (err error) { there, err = c.store.HasThread(t.ID); return err }, t.ID)
	if err != nil {
		return snapped{}, err
	}
	stage, err := c.store.Stage(c.operation().Operation)
	if err != nil {
		return snapped{}, err
	}
	var m store.Manifest
	var skipped []string
	if c.draft.begins(t.ID) && !there { // it will have what it inherits
		m, err = inherited(c.store, t)
	} else {
		m, skipped, err = takeSnapshot(c, stage, t.ID, scope.Set{})
	}
	snap := snapped{stage: stage, held: m}
	if err == nil {
		snap.manifest, err = stage.PutManifest(m)
	}
	if err == nil {
		err = c.relyOn(stage)
	}
	if err != nil {
		c.endStage(stage, false)
		return snapped{}, err
	}
	c.warnSkipped(skipped)
	return snap, nil
}

// unchangedSince returns the snapshot of the thread's last checkpoint if the artifacts
// are still the same.
func unchangedSince(c *Call, t thread.Thread) (snapped, bool, error) {
	if len(t.Checkpoints) == 0 {
		return snapped{}, false, nil
	}
	last := t.Checkpoints[len(t.Checkpoints)-1]
	m, err := c.store.Manifest(last.Manifest)
	if err != nil {
		return snapped{}, false, nil // damaged: a new one is better
	}
	var changed []string
	var entries []store.Entry
	err = c.settled(func() (err error) {
		if changed, err = c.store.Compare(c.ctx, t.ID, m, scope.Set{}); err == nil && len(changed) == 0 {
			entries, err = c.store.Artifacts(t.ID)
		}
		return err
	}, t.ID)
	if err != nil || len(changed) > 0 {
		return snapped{}, false, err
	}
	c.warnSkipped(specials(entries))
	return snapped{manifest: last.Manifest, held: m}, true, nil
}

// specials returns the paths that are neither files nor folders.
func specials(entries []store.Entry) []string {
	var out []string
	for _, e := range entries {
		if e.Type == store.TypeLink || e.Type == store.TypeOther {
			out = append(out, e.Path)
		}
	}
	return out
}

// inherited returns what a thread inherited when it was spawned.
func inherited(st *store.Store, t thread.Thread) (store.Manifest, error) {
	for _, share := range t.Shared {
		if share.How == "spawn" {
			return st.Manifest(share.Manifest)
		}
	}
	return store.Manifest{}, nil
}
