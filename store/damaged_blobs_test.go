package store_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/storetest"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// This file damages blobs at every byte. Nothing but their names tells what they
// held: a reader compares, gives T509 and changes nothing; who stores the same
// content again makes them whole.

// blobsOf are the blobs of a bench, by id, with what they hold.
func (b *bench) blobsOf() map[thread.BlobID]string {
	out := map[thread.BlobID]string{}
	for _, name := range b.deep {
		if strings.HasPrefix(name, blobsRoot+"/") {
			out[thread.BlobID(path.Base(path.Dir(name))+path.Base(name))] = b.clean[name]
		}
	}
	return out
}

// manifests are the lists of files that records name.
func (b *bench) manifests(t testing.TB) (all []thread.BlobID, refs []thread.Reference) {
	t.Helper()
	_, err := b.View(context.Background(), func(st *thread.State) error {
		for th := range st.Threads.All() {
			for _, share := range th.Shared {
				all = append(all, share.Manifest)
			}
		}
		for ref := range st.References.All() {
			if ref.Manifest != "" {
				all, refs = append(all, ref.Manifest), append(refs, ref)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, all)
	require.NotEmpty(t, refs)
	return all, refs
}

// readers are all ways to read the content of a blob: each has to fail with T509
// when it is damaged, if it needs it, and none may give anything else out.
func (b *bench) readers(t testing.TB, id thread.BlobID) map[string]error {
	t.Helper()
	out := map[string]error{}
	_, out["the content"] = b.Blob(id)
	out["the check"] = verify(b.Store, id)
	all, refs := b.manifests(t)
	for _, list := range all {
		m, err := b.Manifest(list)
		if list == id {
			out["the list of files"] = err
		}
		if err != nil {
			continue
		}
		if !slices.ContainsFunc(m, func(f store.FileAt) bool { return f.SHA256 == id }) {
			continue
		}
		stage, err := b.Stage("op-reader")
		require.NoError(t, err)
		out["a copy of the files"] = stage.Materialize(context.Background(), m, "copy", false)
		require.NoError(t, stage.Discard())
	}
	for _, ref := range refs {
		if ref.Manifest != id {
			continue
		}
		_, out["what a reference's target has changed"] = b.ChangedSince(context.Background(), ref)
		_, _, out["a reference's frozen copy"] = b.CheckFrozen(context.Background(), ref)
	}
	return out
}

func TestEveryByteOfEveryBlob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for way, change := range ways() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := w.bench(t)
			asked, told := map[string]bool{}, 0
			first, step := stride(13)
			for id, content := range b.blobsOf() {
				for i := first % len(content); i < len(content); i += step {
					harmed := change([]byte(content), i)
					if harmed == nil {
						continue
					}
					b.what = fmt.Sprintf("%s, %s at %d", blobPath(id), way, i)
					b.write(t, blobPath(id), string(harmed))
					before := b.all(t)
					for reader, err := range b.readers(t, id) {
						teststore.RequireCode(t, codes.ReadFailed, err)
						require.True(t, store.IsDamaged(err), reader)
						asked[reader] = true
					}
					requireSame(t, before, b.all(t), "a reader changes nothing")
					told++
					b.write(t, blobPath(id), content)
				}
			}
			requireSame(t, b.clean, b.all(t), "in the end")
			assert.Len(t, asked, 6, "%v", slices.Sorted(maps.Keys(asked)))
			t.Log(tally{unread: told}.row("blobs, " + way))
		})
	}
}

func TestWhatIsDisplacedIsKeptThoughADamagedBlobHasItsName(t *testing.T) {
	t.Parallel()
	content := "the only copy"
	for what, harm := range map[string]func(t *testing.T, name string){
		"a byte changed": func(t *testing.T, name string) {
			require.NoError(t, os.WriteFile(name, []byte("The only copy"), 0o644))
		},
		"cut":     func(t *testing.T, name string) { require.NoError(t, os.Truncate(name, 3)) },
		"emptied": func(t *testing.T, name string) { require.NoError(t, os.Truncate(name, 0)) },
		"gone":    func(t *testing.T, name string) { require.NoError(t, os.Remove(name)) },
		"a folder": func(t *testing.T, name string) {
			require.NoError(t, os.Remove(name))
			require.NoError(t, os.MkdirAll(name+"/inside", 0o755))
		},
		"a link": func(t *testing.T, name string) {
			require.NoError(t, os.Rename(name, name+"x"))
			require.NoError(t, os.Symlink(path.Base(name)+"x", name))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := treeStore(t, store.Options{})
			id, err := stored(t, s, content)
			require.NoError(t, err)
			name := s.Path(blobPath(id))
			require.NoError(t, os.Chmod(name, 0o644))
			harm(t, name)
			storetest.PutFile(t, s, "threads/a/plan.md", content)
			require.NoError(t, keepTree(s, "threads/a"))
			data, err := s.Blob(id)
			require.NoError(t, err)
			assert.Equal(t, content, string(data))
			if what == "a folder" {
				assert.DirExists(t, name+saferoot.AsideMark+"1/inside", "nothing of a stranger's is deleted")
			}
		})
	}
}
