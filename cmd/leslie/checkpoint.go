package main

import (
	"cmp"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

type checkpointData struct {
	CheckpointID thread.CheckpointID `json:"checkpointId"`
	ThreadID     thread.ThreadID     `json:"threadId"`
	Name         *string             `json:"name"`
	Files        int                 `json:"files"`
	Revision     thread.Revision     `json:"revision"`
	change
}

func (d *checkpointData) Text(p *page) {
	p.line("checkpoint %s of %s  %s", d.CheckpointID, d.ThreadID, many(d.Files, "file"))
	p.field("name", d.Name)
}

func checkpointCommand() *command {
	return &command{
		name: "checkpoint", summary: "save a thread's artifacts so that rollback can restore them", writes: true,
		teach:    lesson{goingBack, "checkpoint ID"},
		detail:   "leslie rollback restores a checkpoint. leslie status lists a thread's checkpoints.",
		example:  `leslie checkpoint thread-a1b2c3d4 --name "before the rewrite"`,
		operands: []operand{threadOperand()},
		flags:    []cli.Flag{newOption("name", anyText("N"), "a name, unique in this thread, at most 200 characters")},
		run:      runCheckpoint,
	}
}

func runCheckpoint(c *call) (Data, error) {
	id, name := c.targetThread(), c.text("name")
	if fault := thread.CheckpointNameFault(name); fault != "" {
		c.fault("--name", "", "--name "+fault)
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	if first, ok, err := answered[checkpointData](c); ok || err != nil {
		return first, err
	}
	for range tries - 1 {
		data, err := c.checkpoint(st, id, name, true)
		if !errors.Is(err, errMoved) {
			return data, err
		}
	}
	return c.checkpoint(st, id, name, false) // as it was a moment ago
}

// checkpoint keeps what the thread holds. Where it has to be that of its own place
// in history, its error is errMoved when another operation came in between and
// changed it.
func (c *call) checkpoint(st *store.Store, id, name string, exact bool) (Data, error) {
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
	snap, err := c.snapshot(st, t)
	if err != nil {
		return nil, err
	}
	data, err := write(c, func(s *thread.State, stamp thread.Stamp) (*checkpointData, thread.ThreadID, error) {
		if now, err := s.LiveThread(string(t.ID)); err == nil && now.Revision != t.Revision && exact && c.op.DraftState() == nil {
			if moved, err := st.Compare(c.ctx, t.ID, snap.held, scope.Set{}); err != nil || len(moved) > 0 {
				return nil, "", cmp.Or(err, errMoved)
			}
		}
		ck, t, err := s.Checkpoint(thread.NewCheckpoint{
			ID: c.newCheckpointID(t), Thread: string(t.ID), Name: name, Manifest: snap.manifest, Files: len(snap.held),
		}, stamp)
		if err != nil {
			return nil, "", err
		}
		return &checkpointData{CheckpointID: ck.ID, ThreadID: t.ID, Name: orNull(ck.Name), Files: ck.Files, Revision: t.Revision}, t.ID, nil
	})
	c.endStage(snap.stage, err == nil)
	return data, err
}

func (c *call) newCheckpointID(t thread.Thread) thread.CheckpointID {
	return thread.CheckpointID(c.newID("", thread.PrefixCheckpoint, func(id string) bool {
		_, err := t.CheckpointOf(id)
		return err == nil
	}))
}

// snapped is a thread's artifacts among the blobs.
type snapped struct {
	stage    *store.Stage // nil where nothing had to be stored
	manifest thread.BlobID
	held     store.Manifest // what that lists
}

// snapshot stores a thread's artifacts. Where nothing has changed since its last
// checkpoint, that one's manifest serves, and no file is read that need not be.
func (c *call) snapshot(st *store.Store, t thread.Thread) (snapped, error) {
	if snap, ok, err := c.unchangedSince(st, t); ok || err != nil {
		return snap, err
	}
	there, err := c.hasThread(st, t.ID)
	if err != nil {
		return snapped{}, err
	}
	stage, err := st.Stage(c.stamp().Operation)
	if err != nil {
		return snapped{}, err
	}
	var m store.Manifest
	var skipped []string
	if c.op.DraftBegins(t.ID) && !there { // it will have what it inherits
		m, err = inherited(st, t)
	} else {
		m, skipped, err = c.takeSnapshot(st, stage, t.ID, scope.Set{})
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

// takeSnapshot is Stage.Snapshot of files that no operation has half done.
func (c *call) takeSnapshot(st *store.Store, stage *store.Stage, id thread.ThreadID, set scope.Set) (m store.Manifest, skipped []string, err error) {
	err = c.settled(st, func() error {
		m, skipped, err = stage.Snapshot(c.ctx, id, set)
		return err
	}, id)
	return m, skipped, err
}

// unchangedSince is the snapshot of the thread's last checkpoint, if its
// artifacts are still the same.
func (c *call) unchangedSince(st *store.Store, t thread.Thread) (snapped, bool, error) {
	if len(t.Checkpoints) == 0 {
		return snapped{}, false, nil
	}
	last := t.Checkpoints[len(t.Checkpoints)-1]
	m, err := st.Manifest(last.Manifest)
	if err != nil {
		return snapped{}, false, nil // damaged: a new one is better
	}
	var changed []string
	var entries []store.Entry
	err = c.settled(st, func() (err error) {
		if changed, err = st.Compare(c.ctx, t.ID, m, scope.Set{}); err == nil && len(changed) == 0 {
			entries, err = st.Artifacts(t.ID)
		}
		return err
	}, t.ID)
	if err != nil || len(changed) > 0 {
		return snapped{}, false, err
	}
	c.warnSkipped(specials(entries))
	return snapped{manifest: last.Manifest, held: m}, true, nil
}

// specials are the paths of what is neither a file nor a folder.
func specials(entries []store.Entry) []string {
	var out []string
	for _, e := range entries {
		if e.Type == store.TypeLink || e.Type == store.TypeOther {
			out = append(out, e.Path)
		}
	}
	return out
}

// inherited is what a thread was given when it was spawned.
func inherited(st *store.Store, t thread.Thread) (store.Manifest, error) {
	for _, share := range t.Shared {
		if share.How == "spawn" {
			return st.Manifest(share.Manifest)
		}
	}
	return store.Manifest{}, nil
}

// checkpointItem is a checkpoint as status shows it.
type checkpointItem struct {
	CheckpointID thread.CheckpointID `json:"checkpointId"`
	Name         *string             `json:"name"`
	Files        int                 `json:"files"`
	Automatic    bool                `json:"automatic"` // a rollback made it of what it replaced
	CreatedAt    time.Time           `json:"createdAt"`
	CreatedBy    actorData           `json:"createdBy"`
}

func checkpointsOf(t thread.Thread) []checkpointItem {
	out := []checkpointItem{}
	for _, c := range t.Checkpoints {
		out = append(out, checkpointItem{
			CheckpointID: c.ID, Name: orNull(c.Name), Files: c.Files, Automatic: c.Automatic(),
			CreatedAt: c.Created.At, CreatedBy: actorData{As: c.Created.As, Actor: c.Created.Actor},
		})
	}
	return out
}
