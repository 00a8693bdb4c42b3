package teststore

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/internal/content"
	"leslie/thread"
)

// RepairCall is the call of doctor --repair.
func RepairCall() store.Call {
	call := CallNamed("doctor")
	call.Command, call.Params = "doctor", nil
	return call
}

// Readable is everything that a reader can get out of a store, by what it is.
func Readable(t testing.TB, s *store.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	ctx := context.Background()
	var refs []thread.Reference
	var threads []thread.Thread
	_, err := s.View(ctx, func(st *thread.State) error {
		for _, table := range thread.Tables() {
			for _, line := range st.Lines(table) {
				out["record "+table+"/"+line.ID] = string(line.JSON)
			}
		}
		return readsBehind(st, out, &threads, &refs)
	})
	if err != nil {
		out["unreadable"] = ""
	}
	for _, th := range threads {
		entries, err := s.Artifacts(th.ID)
		if err == nil {
			entries, err = s.Hash(ctx, th.ID, entries)
		}
		for _, e := range entries {
			if err == nil && e.Type == store.TypeFile {
				out["artifact "+string(th.ID)+"/"+e.Path] = string(e.SHA256)
			}
		}
	}
	for _, ref := range refs {
		if _, damaged, err := s.CheckFrozen(ctx, ref); err == nil && len(damaged) == 0 {
			out["copy "+string(ref.ID)] = "whole"
		}
	}
	if h, err := s.History(ctx, store.HistoryQuery{}); err == nil {
		for _, op := range h.Operations {
			out["operation "+string(op.ID)] = op.Command
		}
	}
	call := CallNamed("asked")
	call.Request = "please"
	if c, err := s.Answered(ctx, call); err == nil && c != nil {
		out["answer"] = "there"
	}
	readsBlobs(s, out)
	return out
}

// RequireKept asserts that all that could be read still can be.
func RequireKept(t testing.TB, was, is map[string]string, exempt ...string) {
	t.Helper()
	for what, value := range was {
		if what == "unreadable" || slices.Contains(exempt, what) {
			continue
		}
		require.Contains(t, is, what, "it could be read before")
		require.Equal(t, value, is[what], what)
	}
}

// readsBehind reads what the archive holds. A record that cannot be read panics
// in the rules; it is not readable then.
func readsBehind(st *thread.State, out map[string]string, threads *[]thread.Thread, refs *[]thread.Reference) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	if *threads, err = st.List(thread.Filter{All: true}); err != nil {
		return err
	}
	*refs = st.AllReferences()
	for _, th := range *threads {
		out["thread "+string(th.ID)] = string(th.Status)
		if th.Status == thread.Archived {
			gone, err := st.ArchivedReferencesFrom(th.ID)
			if err != nil {
				return err
			}
			*refs = append(*refs, gone...)
		}
	}
	return nil
}

// readsBlobs adds the blobs that are whole.
func readsBlobs(s *store.Store, out map[string]string) {
	base, err := s.Files().OpenBase()
	if err != nil {
		return
	}
	defer base.Close()
	_ = filepath.WalkDir(s.Path(content.Sums), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		rel, _ := filepath.Rel(s.Path(content.Sums), path)
		id := thread.BlobID(strings.ReplaceAll(rel, string(filepath.Separator), ""))
		if content.Verify(base, id) == nil {
			out["blob "+string(id)] = "whole"
		}
		return nil
	})
}
