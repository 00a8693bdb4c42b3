package store_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/store/internal/statefile"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

// This file holds the store whose bytes are damaged, what it held at each of its
// revisions, and the judge: what a damaged store may answer, and what it may not.

// world is a small store with everything that a store can hold.
type world struct {
	*store.Store
	past []instant // by revision
}

// instant is a store at one revision: the files by which it survives, and what a
// reader sees.
type instant struct {
	files map[string]string
	sight
}

// sight is what a reader sees: records by TABLE/ID, byte for byte.
type sight struct {
	live, archived map[string]string
}

// vital are the files that are damaged.
func vital() []string {
	return []string{store.StateFile, store.BackupFile, store.JournalFile, store.ArchiveFile}
}

type ruleOf func(st *thread.State, stamp thread.Stamp) error

// newWorld makes a store of eighteen operations: objectives, threads that were
// spawned with and without their parent's files, references of both kinds, two
// archived threads (one with a reference of its own), a merge with what it
// replaced, and a request.
func newWorld(t testing.TB) *world {
	w := &world{Store: teststore.New(t, store.Options{})}
	w.remember(t)
	w.update(t, "ship", objective("ship"))
	w.update(t, "later", objective("later"))
	w.update(t, "main", spawning("main", ""))
	teststore.Put(t, w.Store, "threads/main/plan.md", []byte("- [ ] lexer\n"))
	w.inherit(t, "lexer", "main")
	w.update(t, "notes", spawning("notes", ""))
	teststore.Put(t, w.Store, "threads/notes/design.md", []byte("# Design\n"))
	w.freeze(t, "ref-a", "lexer", "notes")
	w.update(t, "live", referring(thread.NewReference{ID: "ref-b", From: "main", Target: "lexer", Binding: thread.Live}))
	w.update(t, "first", spawning("first", "main"))
	w.freeze(t, "ref-c", "first", "main")
	w.update(t, "first-done", acting("first", thread.Done))
	w.update(t, "first-gone", acting("first", thread.Archive))
	teststore.Put(t, w.Store, "threads/lexer/plan.md", []byte("- [x] lexer\n"))
	w.merge(t, "lexer", "main")
	w.update(t, "second", spawning("second", ""))
	w.update(t, "second-done", acting("second", thread.Cancel))
	w.update(t, "second-gone", acting("second", thread.Archive))
	w.update(t, "ripe", spawning("ripe", ""))
	w.request(t)
	w.update(t, "ripe-done", acting("ripe", thread.Done))
	return w
}

func objective(id thread.ObjectiveID) ruleOf {
	return func(st *thread.State, stamp thread.Stamp) error {
		_, err := st.CreateObjective(thread.NewObjective{ID: id, Title: "To " + string(id)}, stamp)
		return err
	}
}

func spawning(id thread.ThreadID, parent string) ruleOf {
	return func(st *thread.State, stamp thread.Stamp) error {
		in := thread.NewThread{ID: id, Objective: "ship", Parent: parent, Title: "The " + string(id), Intent: "Do it", Executor: thread.ByAgent}
		_, err := st.Spawn(in, stamp)
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: store.ThreadsDir + "/" + string(id)})
		return err
	}
}

func referring(in thread.NewReference) ruleOf {
	return func(st *thread.State, stamp thread.Stamp) error {
		_, _, err := st.Refer(in, stamp)
		return err
	}
}

func acting(id string, action thread.Action) ruleOf {
	return func(st *thread.State, stamp thread.Stamp) error {
		_, err := st.Lifecycle(id, action, "", stamp)
		return err
	}
}

func under(rule ruleOf, call store.Call) func(*thread.State) (store.Outcome, error) {
	return func(st *thread.State) (store.Outcome, error) {
		return store.Outcome{Answer: json.RawMessage(`{"data":{}}`)}, rule(st, call.Stamp)
	}
}

func (w *world) update(t testing.TB, name string, rule ruleOf) {
	t.Helper()
	call := teststore.CallNamed(name)
	if name == "request" {
		call.Request = "try/1"
	}
	c, err := w.Update(context.Background(), call, under(rule, call))
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
	w.remember(t)
	require.Equal(t, thread.Revision(len(w.past)-1), c.Revision)
}

func (w *world) request(t testing.TB) { w.update(t, "request", objective("asked")) }

// staged runs a rule whose files wait in a stage; prepare fills it.
func (w *world) staged(t testing.TB, name string, prepare func(*store.Stage) ruleOf) {
	t.Helper()
	stage, err := w.Stage(teststore.CallNamed(name).Stamp.Operation)
	require.NoError(t, err)
	rule := prepare(stage)
	require.NoError(t, stage.Sync())
	w.update(t, name, rule)
	require.NoError(t, stage.Close())
}

func (w *world) snapshot(t testing.TB, stage *store.Stage, id thread.ThreadID) (store.Manifest, thread.BlobID) {
	t.Helper()
	m, _, err := stage.Snapshot(context.Background(), id, scope.Set{})
	require.NoError(t, err)
	blob, err := stage.PutManifest(m)
	require.NoError(t, err)
	return m, blob
}

func (w *world) inherit(t testing.TB, id, parent thread.ThreadID) {
	w.staged(t, string(id), func(stage *store.Stage) ruleOf {
		m, blob := w.snapshot(t, stage, parent)
		require.NoError(t, stage.Materialize(context.Background(), m, "folder", false))
		return func(st *thread.State, stamp thread.Stamp) error {
			in := thread.NewThread{ID: id, Parent: string(parent), Title: "The " + string(id), Intent: "Do it", Inherit: thread.InheritFull, Shared: blob}
			_, err := st.Spawn(in, stamp)
			st.Plan(thread.Step{Do: thread.StepPlace, From: stage.Rel("folder"), To: store.ThreadsDir + "/" + string(id)})
			return err
		}
	})
}

func (w *world) freeze(t testing.TB, id thread.ReferenceID, from, target thread.ThreadID) {
	w.staged(t, string(id), func(stage *store.Stage) ruleOf {
		m, blob := w.snapshot(t, stage, target)
		require.NoError(t, stage.Materialize(context.Background(), m, "frozen", true))
		return func(st *thread.State, stamp thread.Stamp) error {
			content := thread.Content{Manifest: blob, Files: len(m)}
			st.Plan(thread.Step{Do: thread.StepPlace, From: stage.Rel("frozen"), To: scan.Place(from, store.InheritedDir+"/"+string(id))})
			return referring(thread.NewReference{ID: id, From: string(from), Target: string(target), Binding: thread.Frozen, Content: content})(st, stamp)
		}
	})
}

// merge brings the source's plan into the target, as the command does: what it
// replaces and what both share from now on lie in blobs.
func (w *world) merge(t testing.TB, source, target thread.ThreadID) {
	w.staged(t, "merge", func(stage *store.Stage) ruleOf {
		was, _ := w.snapshot(t, stage, target)
		brought, shared := w.snapshot(t, stage, source)
		undo, err := json.Marshal([]map[string]any{{"path": "plan.md", "before": was[0].SHA256, "after": brought[0].SHA256}})
		require.NoError(t, err)
		blob, err := stage.Put(undo)
		require.NoError(t, err)
		require.NoError(t, stage.Materialize(context.Background(), brought, "result", false))
		return func(st *thread.State, stamp thread.Stamp) error {
			st.Plan(thread.Step{Do: thread.StepReplace, From: stage.Rel("result/plan.md"), To: scan.Place(target, "plan.md"), Expect: was[0].SHA256})
			_, err := st.RecordMerge(target, []thread.Share{{With: source, Manifest: shared, How: "merge", Undo: blob}}, stamp)
			return err
		}
	})
}

func (w *world) remember(t testing.TB) {
	t.Helper()
	m := instant{files: map[string]string{}}
	for _, name := range vital() {
		if data, err := os.ReadFile(w.Path(name)); err == nil {
			m.files[name] = string(data)
		}
	}
	var view store.View
	var err error
	m.sight, view, err = look(w.Store)
	require.NoError(t, err)
	require.Empty(t, view.Warnings)
	w.past = append(w.past, m)
}

// last is the newest revision.
func (w *world) last() thread.Revision { return thread.Revision(len(w.past) - 1) }

func (w *world) now() instant { return w.past[w.last()] }

// look reads everything, what is archived too.
func look(s *store.Store) (sight, store.View, error) {
	seen := sight{live: map[string]string{}, archived: map[string]string{}}
	view, err := s.View(context.Background(), func(st *thread.State) error {
		for _, table := range thread.Tables() {
			for _, line := range st.Lines(table) {
				seen.live[table+"/"+line.ID] = string(line.JSON)
			}
		}
		return seen.readArchived(st)
	})
	return seen, view, err
}

func (seen sight) readArchived(st *thread.State) error {
	all, err := st.List(thread.Filter{All: true})
	if err != nil {
		return err
	}
	for _, th := range all {
		if th.Status != thread.Archived {
			continue
		}
		text, err := json.Marshal(th)
		if err != nil {
			return err
		}
		seen.archived[thread.TableThreads+"/"+string(th.ID)] = string(text)
		refs, err := st.ArchivedReferencesFrom(th.ID)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			text, err := json.Marshal(ref)
			if err != nil {
				return err
			}
			seen.archived[thread.TableReferences+"/"+string(ref.ID)] = string(text)
		}
	}
	return nil
}

// bench is a copy of a world in which one damage after the other is done: what
// the last one changed is put back.
type bench struct {
	*world
	clean map[string]string // by name, what stands there; see all
	deep  []string          // files below the store's folder that are damaged too
	what  string            // is done to it now
}

func (w *world) bench(t testing.TB) *bench {
	b := &bench{world: &world{Store: teststore.Copy(t, w.Store), past: w.past}}
	for name := range teststore.Listing(t, b.Store) {
		info, err := os.Lstat(b.Path(name))
		require.NoError(t, err)
		if info.Mode().IsRegular() && (strings.HasPrefix(name, store.BlobsDir+"/") || strings.HasPrefix(name, store.RequestsDir+"/")) {
			b.deep = append(b.deep, name)
		}
	}
	slices.Sort(b.deep)
	b.clean = b.all(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("the damage: " + b.what)
		}
	})
	return b
}

// all is every name in the store's folder, every blob and every answer that was
// there in the beginning, with their contents; of a folder only that it is one.
func (b *bench) all(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(b.Path("."))
	require.NoError(t, err)
	names := slices.Clone(b.deep)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	for _, name := range names {
		info, err := os.Lstat(b.Path(name))
		if err != nil {
			continue
		}
		out[name] = info.Mode().Type().String()
		if info.Mode().IsRegular() {
			out[name] = string(teststore.Read(t, b.Store, name))
		}
	}
	return out
}

// restore makes the store what it was. What a write leaves in folders are new
// files, which are in nobody's way.
func (b *bench) restore(t testing.TB) {
	t.Helper()
	now := b.all(t)
	for name, content := range now {
		if was, ok := b.clean[name]; !ok || was != content {
			require.NoError(t, os.RemoveAll(b.Path(name)))
			delete(now, name)
		}
	}
	for name, content := range b.clean {
		if _, ok := now[name]; !ok {
			b.write(t, name, content)
		}
	}
}

// write makes a file of this content, whatever stands there.
func (b *bench) write(t testing.TB, name, content string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(b.Path(name)))
	require.NoError(t, os.MkdirAll(filepath.Dir(b.Path(name)), 0o755))
	teststore.Put(t, b.Store, name, []byte(content))
}

// asides are the names that were set aside, without their times.
func (b *bench) asides(t testing.TB) (names []string) {
	t.Helper()
	all, err := filepath.Glob(b.Path("*" + saferoot.AsideMark + "*"))
	require.NoError(t, err)
	for _, name := range all {
		name, _, _ = strings.Cut(filepath.Base(name), saferoot.AsideMark)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// recoveredFrom is what W502 for one of the store's files says of what is lost,
// "" when there is none.
func recoveredFrom(list warnings.List, name string) (lost string) {
	for _, w := range list {
		if w.Code == warnings.Recovered && w.Context.Text("path") == store.Dir+"/"+name {
			return w.Context.Text("lost")
		}
	}
	return ""
}

// outcome is what became of a damaged store.
type outcome struct {
	kind     string          // one of the kinds below
	revision thread.Revision // that was read
	lost     string          // of the state, as W502 says it; "" without
	archive  string          // of the archive, likewise
}

const (
	same      = "same state"
	recovered = "recovered, W502"
	refused   = "T502, files untouched"
	strange   = "T506, files untouched"
	older     = "older, without a trace"
	unread    = "T509 to every reader, nothing changed" // of blobs
)

func kinds() []string { return []string{same, recovered, refused, strange, older, unread} }

// judge reads the damaged store, writes to it, and reads again. Whatever was
// damaged has to hold: a read and a refused write leave every byte as it is;
// what is read is the store as it was at the revision that is told, archived
// records too or W502 says which are lost; a write stands on what was read,
// leaves state and backup whole, and has moved aside what was not.
func (b *bench) judge(t testing.TB) outcome {
	t.Helper()
	before := b.all(t)
	seen, view, err := look(b.Store)
	requireSame(t, before, b.all(t), "a read changes nothing")
	if err != nil {
		return b.judgeRefusal(t, err, before)
	}
	require.LessOrEqual(t, view.Revision, b.last())
	then := b.past[view.Revision]
	require.Equal(t, then.live, seen.live, "what is read is the store at revision %d", view.Revision)
	out := outcome{revision: view.Revision, archive: b.judgeArchive(t, then, seen, view)}
	broken := b.notWhole(t, then)
	call := teststore.CallNamed("after")
	c, err := b.Update(context.Background(), call, under(after, call))
	require.NoError(t, err)
	require.True(t, c.Changed)
	require.Equal(t, view.Revision+1, c.Revision, "the write stands on what was read")
	out.lost = recoveredFrom(view.Warnings, store.StateFile)
	require.Equal(t, out.lost, recoveredFrom(c.Warnings, store.StateFile), "a writer is told what a reader is told")
	require.Equal(t, broken, b.asides(t), "what was not whole is moved aside, and nothing else")
	b.judgeAfter(t, then, seen)
	out.kind = b.kindOf(t, out)
	return out
}

// after is the write: something new, and something archived.
func after(st *thread.State, stamp thread.Stamp) error {
	if err := objective("after")(st, stamp); err != nil {
		return err
	}
	if _, live := st.Threads.Peek("ripe"); !live {
		return nil // the store has gone back to where it is not ripe yet
	}
	if _, err := st.Lifecycle("ripe", thread.Done, "", stamp); err != nil {
		return err
	}
	return acting("ripe", thread.Archive)(st, stamp)
}

func (b *bench) judgeRefusal(t testing.TB, err error, before map[string]string) outcome {
	t.Helper()
	kind := refused
	if codes.Has(err, codes.UnsupportedVersion) {
		kind = strange
	} else {
		teststore.RequireCode(t, codes.ParseError, err)
	}
	call := teststore.CallNamed("after")
	_, again := b.Update(context.Background(), call, under(after, call))
	require.Equal(t, codes.Of(err).Code(), teststore.RequireCode(t, codes.Of(err).Code(), again).Code())
	requireSame(t, before, b.all(t), "what cannot be read is left alone")
	return outcome{kind: kind}
}

func requireSame(t testing.TB, want, got map[string]string, why string) {
	t.Helper()
	for name := range want {
		require.Equal(t, want[name], got[name], "%s: %s", why, name)
	}
	for name := range got {
		require.Contains(t, slices.Collect(maps.Keys(want)), name, why)
	}
}

// judgeArchive: every archived record is there, or W502 says that some are not.
func (b *bench) judgeArchive(t testing.TB, then instant, seen sight, view store.View) (lost string) {
	t.Helper()
	lost = recoveredFrom(view.Warnings, store.ArchiveFile)
	if lost == "" || lost == "nothing" {
		require.Equal(t, then.archived, seen.archived, "archived records are there, or W502 says that they are not")
		return lost
	}
	for record, text := range seen.archived {
		require.Equal(t, then.archived[record], text)
	}
	require.Less(t, len(seen.archived), len(then.archived), "W502 says that archived records are lost (%s)", lost)
	return lost
}

// notWhole are the files that the write has to move aside. It appends to the
// archive where there is something to archive.
func (b *bench) notWhole(t testing.TB, then instant) (names []string) {
	t.Helper()
	for _, name := range vital() {
		info, err := os.Lstat(b.Path(name))
		if err != nil || name == store.ArchiveFile && then.live["threads/ripe"] == "" {
			continue
		}
		state := name == store.StateFile || name == store.BackupFile
		if !info.Mode().IsRegular() || state && !entireState(teststore.Read(t, b.Store, name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func entireState(data []byte) bool {
	_, err := statefile.Decode(data)
	return err == nil
}

// judgeAfter looks at the store behind the write.
func (b *bench) judgeAfter(t testing.TB, then instant, seen sight) {
	t.Helper()
	now, view, err := look(b.Store)
	require.NoError(t, err)
	require.Empty(t, recoveredFrom(view.Warnings, store.StateFile), "a write repairs")
	require.Contains(t, now.live, "objectives/after")
	delete(now.live, "objectives/after")
	was := maps.Clone(then.live)
	if now.archived["threads/ripe"] != "" {
		delete(was, "threads/ripe")
		was["objectives/ship"] = now.live["objectives/ship"] // counts it
	}
	delete(now.archived, "threads/ripe")
	require.Equal(t, was, now.live, "the write changed what it was to change")
	for record, text := range seen.archived {
		require.Equal(t, text, now.archived[record], "an archived record that could be read before")
	}
	require.True(t, entireState(teststore.Read(t, b.Store, store.StateFile)))
	require.True(t, entireState(teststore.Read(t, b.Store, store.BackupFile)), "the backup is whole behind a write")
}

// kindOf sorts an outcome, and asserts that what is lost is told.
func (b *bench) kindOf(t testing.TB, o outcome) string {
	t.Helper()
	switch {
	case o.revision == b.last() && o.lost+o.archive == "":
		return same
	case o.revision < b.last() && o.lost == "":
		return older
	case o.revision < b.last():
		assert.NotEqual(t, "nothing", o.lost, "revision %d of %d was read, which W502 has to say", o.revision, b.last())
	case o.lost != "":
		assert.Equal(t, "nothing", o.lost, "nothing is lost")
	}
	return recovered
}
