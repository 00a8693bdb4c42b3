package store_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/internal/teststore"
)

// This file cuts each file by which a store survives at every byte, and changes
// every byte of it: a read, then a write, then a read, and the outcomes counted.
//
// A run of all tests takes a sample, from a random first byte on. `make bytes`
// takes all (LESLIE_EVERY_BYTE=1).

// stride is every how many bytes a test takes.
func stride(sampled int) (first, step int) {
	if os.Getenv("LESLIE_EVERY_BYTE") != "" {
		return 0, 1
	}
	return rand.IntN(sampled), sampled
}

// ways are what is done to the byte at i; nil where that changes nothing.
func ways() map[string]func(data []byte, i int) []byte {
	changed := func(data []byte, i int, to byte) []byte {
		if data[i] == to {
			return nil
		}
		out := bytes.Clone(data)
		out[i] = to
		return out
	}
	return map[string]func([]byte, int) []byte{
		"cut":          func(data []byte, i int) []byte { return data[:i:i] },
		"one bit":      func(data []byte, i int) []byte { return changed(data, i, data[i]^1<<(i%8)) },
		"to a newline": func(data []byte, i int) []byte { return changed(data, i, '\n') },
	}
}

// tally counts outcomes.
type tally map[string]int

func (n tally) add(other tally) {
	for kind, k := range other {
		n[kind] += k
	}
}

func (n tally) sum() (all int) {
	for _, k := range n {
		all += k
	}
	return all
}

// row is one line of the table that `make bytes` prints.
func (n tally) row(name string) string {
	var parts []string
	for _, kind := range kinds() {
		if n[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", kind, n[kind]))
		}
	}
	return fmt.Sprintf("damaged: %-38s %6d  %s", name, n.sum(), strings.Join(parts, " · "))
}

// judgeOne is judge for one damaged file, all else whole: nothing is lost, and
// only a damaged state is warned of.
func (b *bench) judgeOne(t testing.TB, name string) (kind string) {
	t.Helper()
	got := b.judge(t)
	want := outcome{kind: same, revision: b.last()}
	switch {
	case name == store.StateFile:
		want.kind, want.lost = recovered, "nothing"
	case name == store.ArchiveFile && got.kind == recovered: // a line that no archived record needs is not missed
		want.kind, want.archive = recovered, "nothing"
	}
	require.Equal(t, want, got)
	return got.kind
}

func TestEveryByteOfEveryFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range vital() {
		for way, change := range ways() {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				data := []byte(w.now().files[name])
				require.NotEmpty(t, data)
				b := w.bench(t)
				count := tally{}
				first, step := stride(97)
				for i := first; i < len(data); i += step {
					harmed := change(data, i)
					if harmed == nil {
						continue
					}
					b.what = fmt.Sprintf("%s, %s at %d", name, way, i)
					b.write(t, name, string(harmed))
					count[b.judgeOne(t, name)]++
					b.restore(t)
				}
				assert.Positive(t, count.sum())
				t.Log(count.row(name + ", " + way))
			})
		}
	}
}

// wholly are the damages of a file that no byte tells.
func wholly(w *world, name string) map[string]func(t testing.TB, s *store.Store) {
	remove := func(t testing.TB, s *store.Store) { require.NoError(t, os.RemoveAll(s.Path(name))) }
	out := map[string]func(testing.TB, *store.Store){
		"gone":    remove,
		"emptied": func(t testing.TB, s *store.Store) { teststore.Put(t, s, name, nil) },
		"a folder": func(t testing.TB, s *store.Store) {
			remove(t, s)
			require.NoError(t, os.MkdirAll(s.Path(name+"/inside"), 0o755))
		},
		"a link": func(t testing.TB, s *store.Store) {
			remove(t, s)
			require.NoError(t, os.Symlink(store.LockFile, s.Path(name)))
		},
		"zeros": func(t testing.TB, s *store.Store) { teststore.Put(t, s, name, make([]byte, len(w.now().files[name]))) },
	}
	for rev, then := range w.past {
		if text, ok := then.files[name]; ok && text != w.now().files[name] {
			out[fmt.Sprintf("as at revision %d", rev)] = func(t testing.TB, s *store.Store) { teststore.Put(t, s, name, []byte(text)) }
		}
	}
	return out
}

func TestEveryFileGoneOlderOrSomethingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range vital() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := w.bench(t)
			count := tally{}
			all := wholly(w, name)
			for _, way := range slices.Sorted(maps.Keys(all)) {
				b.what = name + ", " + way
				all[way](t, b.Store)
				count[b.judgeOne(t, name)]++
				b.restore(t)
			}
			t.Log(count.row(name + ", as a whole"))
		})
	}
}
