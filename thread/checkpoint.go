package thread

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/nearest"
)

// This file handles checkpoints: snapshots of a thread's artifacts that a rollback
// can restore. The snapshot itself is a manifest blob; the record says which blob,
// when, by whom, and how many files.
//
// A rollback first saves the current files as an automatic checkpoint. Nobody
// requests these, so the record keeps only the newest of them; a checkpoint that
// somebody requested stays until it is undone. The blobs stay in both cases.

const (
	// maxCheckpointName is the length limit of a name, in characters.
	maxCheckpointName = 200
	// maxAutomatic is how many automatic checkpoints a thread keeps.
	maxAutomatic = 100
)

// CheckpointNameFault says what is wrong with a name, or "" if it is valid. A name
// must not look like an id.
func CheckpointNameFault(name string) string {
	switch n := utf8.RuneCountInString(name); {
	case n > maxCheckpointName:
		return fmt.Sprintf("is %d characters long; at most %d", n, maxCheckpointName)
	case strings.HasPrefix(name, PrefixCheckpoint):
		return "starts with " + PrefixCheckpoint + ", which is reserved for ids"
	}
	return ""
}

// Automatic reports whether a rollback made the checkpoint.
func (c Checkpoint) Automatic() bool { return c.Undo != "" }

// NewCheckpoint has the parameters of a new checkpoint.
type NewCheckpoint struct {
	ID       CheckpointID
	Thread   string
	Name     string // "" for none
	Manifest BlobID
	Files    int
	Undo     BlobID // of a rollback
	// To is the checkpoint that a rollback restores.
	To Checkpoint
	// Turn and Work are those of a Checkpoint.
	Turn int
	Work string
}

// Checkpoint records a snapshot of a thread. Errors: T101, T105, T107 if the thread
// is terminated, T106 if it already has a checkpoint of this name.
func (s *State) Checkpoint(in NewCheckpoint, stamp Stamp) (Checkpoint, Thread, error) {
	t, err := s.LiveThread(in.Thread)
	if err == nil {
		err = t.NewCheckpointName(in.Name)
	}
	if err != nil {
		return Checkpoint{}, Thread{}, err
	}
	c := Checkpoint{
		ID: in.ID, Name: in.Name, Manifest: in.Manifest, Files: in.Files, Undo: in.Undo,
		Created: Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor}, At: s.Revision + 1,
	}
	t.Checkpoints = fewAutomatic(append(slices.Clone(t.Checkpoints), c))
	if c.Automatic() {
		t.Reverted = s.withReverted(t, in.To.At, c.At)
	}
	t.Updated = stamp.Time
	return c, s.Threads.Put(t), nil
}

// NewCheckpointName returns T106 if the thread already has a checkpoint of this
// name, otherwise nil.
func (t Thread) NewCheckpointName(name string) error {
	if name == "" || !slices.ContainsFunc(t.Checkpoints, func(c Checkpoint) bool { return c.Name == name }) {
		return nil
	}
	return codes.AlreadyExists.New(fact.Of("id", name), fact.Of("threadId", t.ID)).
		WithHint("Use another name").WithNext("leslie status " + string(t.ID))
}

// fewAutomatic removes the oldest automatic checkpoints if there are too many.
func fewAutomatic(all []Checkpoint) []Checkpoint {
	tooMany := -maxAutomatic
	for _, c := range all {
		if c.Automatic() {
			tooMany++
		}
	}
	return slices.DeleteFunc(all, func(c Checkpoint) bool {
		if !c.Automatic() || tooMany <= 0 {
			return false
		}
		tooMany--
		return true
	})
}

// CheckpointOf returns the thread's checkpoint that arg names: by its id, its name,
// or a unique prefix of its id. Errors: T111 with the nearest id or name, T105.
func (t Thread) CheckpointOf(arg string) (Checkpoint, error) {
	var short []Checkpoint
	for _, c := range t.Checkpoints {
		switch {
		case string(c.ID) == arg, c.Name == arg && arg != "":
			return c, nil
		case shortens(arg, string(c.ID), PrefixCheckpoint):
			short = append(short, c)
		}
	}
	switch {
	case unique(arg, len(short)):
		return short[0], nil
	case len(short) == 0:
		return Checkpoint{}, t.noCheckpoint(arg)
	}
	var ids []CheckpointID
	var listed []codes.Candidate
	for _, c := range short[:min(len(short), MaxCandidates)] {
		ids = append(ids, c.ID)
		listed = append(listed, codes.Candidate{ID: string(c.ID), Label: shortLabel(c.Name)})
	}
	return Checkpoint{}, Ambiguous(arg, len(short), ids).With(fact.Of("threadId", t.ID)).
		WithNext("leslie status "+string(t.ID)).WithCandidates(len(short), listed...)
}

func (t Thread) noCheckpoint(arg string) error {
	err := codes.CheckpointNotFound.New(fact.Of("checkpointId", arg), fact.Of("threadId", t.ID)).
		WithNext("leslie checkpoint list "+string(t.ID), "leslie status "+string(t.ID))
	var ids, names []string
	for _, c := range t.Checkpoints {
		ids = append(ids, string(c.ID))
		if c.Name != "" {
			names = append(names, c.Name)
		}
	}
	near := nearestID(arg, PrefixCheckpoint, ids)
	if near == "" {
		near = nearest.Name(arg, names)
	}
	if near != "" {
		err = err.With(fact.Of("nearest", near))
	}
	return err
}
