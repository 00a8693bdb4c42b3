package teststore

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// Failing makes the step with that number fail, and, if it lasts, all after it.
func Failing(at int, lasting bool, err error) func(store.Action, string) error {
	n := 0
	return func(store.Action, string) error {
		if n++; n == at || lasting && n > at {
			return err
		}
		return nil
	}
}

// OldTemp is a temporary file that a dead process left.
const OldTemp = "." + store.StateFile + "5577006791947779410"

// PrepareOneInode makes state and backup one file.
func PrepareOneInode(t testing.TB, s *store.Store) {
	require.NoError(t, os.Remove(s.Path(store.BackupFile)))
	require.NoError(t, os.Link(s.Path(store.StateFile), s.Path(store.BackupFile)))
}

// Archiving archives the thread of PrepareThread, and adds an objective.
func Archiving(dir string, opts store.Options, objective string) error {
	_, err := RunWith(dir, opts, CallNamed("archive"), func(st *thread.State) (store.Outcome, error) {
		_, err := st.Lifecycle("thread-old", thread.Archive, "", thread.Stamp{Time: Clock(), As: thread.User})
		_, _ = Create(objective)(st)
		return store.Outcome{Thread: "thread-old"}, err
	})
	return err
}

// PrepareFiles makes the thread whose files RunPlace changes.
func PrepareFiles(t testing.TB, s *store.Store) {
	PrepareThread(t, s)
	Put(t, s, "threads/thread-old/plan.md", []byte("old plan"))
	Put(t, s, "threads/thread-old/gone.md", []byte("to be removed"))
}

// RunPlace replaces one file, adds a folder, and removes a file.
func RunPlace(dir string, opts store.Options) error { return Placing(dir, opts, "obj-new") }

// ErrUnsettled is how a run says that it succeeded with W505.
var ErrUnsettled = errors.New("not settled")

// Staging makes an objective by an operation with staged files.
func Staging(dir string, opts store.Options, name, objective string, fill func(*store.Stage) error, steps func(*store.Stage) []thread.Step) error {
	call := CallNamed(name)
	stage, err := store.Open(dir, opts).Stage(call.Stamp.Operation)
	if err != nil {
		return err
	}
	defer stage.Close()
	if err := fill(stage); err != nil {
		return err
	}
	call.Staged = []*store.Stage{stage}
	_, err = RunWith(dir, opts, call, func(st *thread.State) (store.Outcome, error) {
		st.Plan(steps(stage)...)
		return Create(objective)(st)
	})
	return err
}

// Placing is RunPlace with an objective of another name.
func Placing(dir string, opts store.Options, objective string) error {
	return Staging(dir, opts, "place", objective, func(stage *store.Stage) error {
		return errors.Join(stage.Write("a", []byte("new plan"), false), stage.Write("dir/b", []byte("new file"), false))
	}, func(stage *store.Stage) []thread.Step {
		return []thread.Step{
			{Do: thread.StepMakeDir, To: "threads/thread-old/discuss"},
			{Do: thread.StepPlace, From: stage.Rel("a"), To: "threads/thread-old/plan.md"},
			{Do: thread.StepPlace, From: stage.Rel("dir"), To: "threads/thread-old/design"},
			{Do: thread.StepRemove, To: "threads/thread-old/gone.md"},
		}
	})
}

// PrepareThread makes a thread that is done.
func PrepareThread(t testing.TB, s *store.Store) {
	call := CallNamed("spawn")
	_, err := s.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		st.Threads.Put(thread.Thread{ID: "thread-old", ObjectiveID: "obj-0000", Status: thread.Completed, Created: thread.Attribution{At: Clock()}, Updated: Clock()})
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/thread-old"})
		return store.Outcome{}, nil
	})
	require.NoError(t, err)
}

// RunWith makes an operation on the store in a folder; ErrUnsettled for W505.
func RunWith(dir string, opts store.Options, call store.Call, fn func(*thread.State) (store.Outcome, error)) (store.Commit, error) {
	c, err := store.Open(dir, opts).Update(context.Background(), call, fn)
	if err == nil && HasWarning(c.Warnings, warnings.NotSettled) {
		err = ErrUnsettled
	}
	return c, err
}
