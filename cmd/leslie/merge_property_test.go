package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// walk is random work by four threads in which nobody deletes anything: they add lines
// and files, merge in all directions, reference each other, undo and roll back.
type walk struct {
	*bench
	t    *testing.T
	r    *rand.Rand
	next int
	log  []string
}

func walkers() []string { return []string{"main", "a", "b", "c"} }

const anchors = 12

func newWalk(t *testing.T, seed uint64) *walk {
	w := &walk{bench: newProject(t), t: t, r: rand.New(rand.NewPCG(seed, 1))}
	var plan strings.Builder
	for i := range anchors {
		fmt.Fprintf(&plan, "anchor %d\n\n", i)
	}
	w.write(t, ".leslie/threads/main/plan.md", plan.String())
	for _, id := range walkers()[1:] {
		w.must(t, "spawn", "--id", id, "--intent", id, "--parent", "main", "--inherit", "full")
	}
	return w
}

func (w *walk) folder(id string) string { return filepath.Join(w.Dir, ".leslie", "threads", id) }

// content returns every line of a thread's artifacts, with its file.
func (w *walk) content(id string) map[string]bool {
	out := map[string]bool{}
	require.NoError(w.t, filepath.WalkDir(w.folder(id), func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(w.folder(id), path)
		if err != nil || d.IsDir() || strings.HasPrefix(rel, "context") || strings.HasPrefix(rel, ".meta") {
			return err
		}
		raw, err := os.ReadFile(path)
		for line := range strings.Lines(string(raw)) {
			out[rel+": "+line] = true
		}
		return err
	}))
	return out
}

func (w *walk) any() string { return walkers()[w.r.IntN(len(walkers()))] }

func (w *walk) others(id string) []string {
	all := slices.DeleteFunc(walkers(), func(o string) bool { return o == id })
	w.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func (w *walk) say(line ...string) int {
	status := w.leslie(append(line, "--format", "json")...)
	w.log = append(w.log, fmt.Sprintf("%d  leslie %s", status, strings.Join(line, " ")))
	return status
}

func (w *walk) step() {
	id := w.any()
	w.next++
	switch n := w.r.IntN(20); {
	case n < 6:
		path := filepath.Join(w.folder(id), "plan.md")
		raw, err := os.ReadFile(path)
		require.NoError(w.t, err)
		at := fmt.Sprintf("anchor %d\n", w.r.IntN(anchors))
		require.NoError(w.t, os.WriteFile(path, []byte(strings.Replace(string(raw), at, fmt.Sprintf("%sline %d by %s\n", at, w.next, id), 1)), 0o644))
		w.log = append(w.log, fmt.Sprintf("   line %d in %s", w.next, id))
	case n < 8:
		w.write(w.t, fmt.Sprintf(".leslie/threads/%s/new/%d.md", id, w.next), "new\n")
		w.log = append(w.log, fmt.Sprintf("   file %d in %s", w.next, id))
	case n < 14:
		w.merge(id, w.others(id)[:1+w.r.IntN(2)])
	case n < 15:
		w.say("checkpoint", id, "--name", "at-"+strconv.Itoa(w.next))
	case n < 16:
		w.back(id)
	case n < 18:
		w.undo()
	case n < 19:
		w.say("reference", "--from", id, "--target", w.others(id)[0])
	default:
		w.refresh()
	}
}

// merge brings everything of the sources into the target, and removes nothing.
func (w *walk) merge(target string, sources []string) {
	before := w.content(target)
	for _, s := range sources {
		for line := range w.content(s) {
			before[line] = true
		}
	}
	if w.say("merge", "--sources", strings.Join(sources, ","), "--target", target) == 13 {
		id := w.answer("error", "details", "mergeId")
		if w.say("merge", "resolve", id, "--take", "both") != 0 { // of several sources, in conflict as a whole
			w.must(w.t, "merge", "abort", id)
			return
		}
		w.must(w.t, "merge", "continue", id)
	}
	after := w.content(target)
	for line := range before {
		if !after[line] {
			w.t.Fatalf("%q is not in %s:\n%s", line, target, strings.Join(w.log, "\n"))
		}
	}
}

func (w *walk) answer(names ...string) string {
	var at any
	require.NoError(w.t, json.Unmarshal(w.out.Bytes(), &at), &w.out)
	for _, name := range names {
		in, _ := at.(map[string]any)
		at = in[name]
	}
	text, _ := at.(string)
	return text
}

// back rolls a thread back to one of its checkpoints.
func (w *walk) back(id string) {
	w.must(w.t, "status", id, "--format", "json")
	var d struct {
		Data struct {
			Checkpoints []struct{ CheckpointID string }
		}
	}
	require.NoError(w.t, json.Unmarshal(w.out.Bytes(), &d))
	if all := d.Data.Checkpoints; len(all) > 0 {
		w.say("rollback", id, "--to", all[w.r.IntN(len(all))].CheckpointID)
	}
}

// undo undoes one of the last operations, if that is possible.
func (w *walk) undo() {
	w.must(w.t, "history", "--limit", "8", "--format", "json")
	var d struct {
		Data struct {
			Items []struct{ OperationID, Command string }
		}
	}
	require.NoError(w.t, json.Unmarshal(w.out.Bytes(), &d))
	if op := d.Data.Items[w.r.IntN(len(d.Data.Items))]; op.Command != "spawn" {
		undone := w.say("undo", op.OperationID) == 0
		if undone && w.r.IntN(2) == 0 {
			w.say("redo")
		}
	}
}

func (w *walk) refresh() {
	w.must(w.t, "reference", "list", "--format", "json")
	var d struct {
		Data struct{ Items []struct{ RefID string } }
	}
	require.NoError(w.t, json.Unmarshal(w.out.Bytes(), &d))
	if all := d.Data.Items; len(all) > 0 {
		w.say("reference", "refresh", all[w.r.IntN(len(all))].RefID)
	}
}

// LESLIE_WALKS=n makes n walks from a random seed on, or from LESLIE_WALK_SEED.
func TestAMergeTakesNothingAwayThatNobodyDeleted(t *testing.T) {
	t.Parallel()
	walks, seed := 12, uint64(1)
	if testing.Short() {
		walks = 4
	}
	if n, err := strconv.Atoi(os.Getenv("LESLIE_WALKS")); err == nil {
		walks, seed = n, rand.Uint64()
	}
	if n, err := strconv.ParseUint(os.Getenv("LESLIE_WALK_SEED"), 10, 64); err == nil {
		seed = n
	}
	for i := range walks {
		t.Run(strconv.FormatUint(seed+uint64(i), 10), func(t *testing.T) {
			t.Parallel()
			w := newWalk(t, seed+uint64(i))
			for range 60 {
				w.step()
			}
			w.must(t, "doctor", "--format", "json")
			assert.Contains(t, w.out.String(), `"healthy":true`)
		})
	}
}
