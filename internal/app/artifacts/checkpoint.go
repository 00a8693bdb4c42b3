package artifacts

import (
	"slices"

	"leslie/internal/app"
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
func (in CheckpointRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	if fault := thread.CheckpointNameFault(in.Name); fault != "" {
		k.Add("Name", "", "%s", fault)
	}
	return k.Faults
}

// CheckpointResult is the checkpoint.
type CheckpointResult struct {
	CheckpointID thread.CheckpointID `json:"checkpointId"`
	ThreadID     thread.ThreadID     `json:"threadId"`
	Name         *string             `json:"name"`
	Files        int                 `json:"files"`
	Revision     thread.Revision     `json:"revision"`
	app.Change
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
	app.Items[app.CheckpointItem]
}

// ListCheckpoints lists a thread's checkpoints. Errors: T101, T105, those of reading.
func ListCheckpoints(c *app.Call, in ListCheckpointsRequest) (*ListCheckpointsResult, error) {
	c.ReadOnly()
	id := c.ThreadOr(in.Thread)
	d := &ListCheckpointsResult{}
	_, err := c.View(func(s *thread.State) error {
		t, err := s.Thread(id)
		all := app.CheckpointsOf(t, in.Turns)
		slices.Reverse(all)
		d.ThreadID, d.Items = t.ID, app.First(all, in.Limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Snapped is a snapshot of a thread's artifacts in the blobs.
type Snapped struct {
	Stage    *store.Stage // nil where nothing had to be stored
	Manifest thread.BlobID
	Held     store.Manifest // what that lists
}

// Snapshot stores a thread's artifacts. If nothing has changed since its last
// checkpoint, it reuses that manifest and reads only the files that it must.
func Snapshot(c *app.Call, t thread.Thread) (Snapped, error) {
	if snap, ok, err := unchangedSince(c, t); ok || err != nil {
		return snap, err
	}
	var there bool
	err := c.ReadConsistent(func() (err error) { there, err = c.Store().HasThread(t.ID); return err }, t.ID)
	if err != nil {
		return Snapped{}, err
	}
	stage, err := c.Store().Stage(c.Stamp().Operation)
	if err != nil {
		return Snapped{}, err
	}
	var m store.Manifest
	var skipped []string
	if c.BeginsThread(t.ID) && !there { // it will have what it inherits
		m, err = inherited(c.Store(), t)
	} else {
		m, skipped, err = TakeSnapshot(c, stage, t.ID, scope.Set{})
	}
	snap := Snapped{Stage: stage, Held: m}
	if err == nil {
		snap.Manifest, err = stage.PutManifest(m)
	}
	if err == nil {
		err = c.RelyOn(stage)
	}
	if err != nil {
		c.EndStage(stage, false)
		return Snapped{}, err
	}
	c.WarnSkipped(skipped)
	return snap, nil
}

// unchangedSince returns the snapshot of the thread's last checkpoint if the artifacts
// are still the same.
func unchangedSince(c *app.Call, t thread.Thread) (Snapped, bool, error) {
	if len(t.Checkpoints) == 0 {
		return Snapped{}, false, nil
	}
	last := t.Checkpoints[len(t.Checkpoints)-1]
	m, err := c.Store().Manifest(last.Manifest)
	if err != nil {
		return Snapped{}, false, nil // damaged: a new one is better
	}
	var changed []string
	var entries []store.Entry
	err = c.ReadConsistent(func() (err error) {
		if changed, err = c.Store().Compare(c.Context(), t.ID, m, scope.Set{}); err == nil && len(changed) == 0 {
			entries, err = c.Store().Artifacts(t.ID)
		}
		return err
	}, t.ID)
	if err != nil || len(changed) > 0 {
		return Snapped{}, false, err
	}
	c.WarnSkipped(Specials(entries))
	return Snapped{Manifest: last.Manifest, Held: m}, true, nil
}

// Specials returns the paths that are neither files nor folders.
func Specials(entries []store.Entry) []string {
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
