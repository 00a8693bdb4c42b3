package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/journal"
	"leslie/store/internal/logfile"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/store/internal/state"
	"leslie/store/internal/statefile"
	"leslie/store/internal/storetest"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

// This file damages a store in one way after the other, and looks what doctor
// says, what it mends, what it says then, and that nothing is lost by it.

// patient is a store that has everything, and what of it a test may name.
type patient struct {
	*store.Store
	blobs map[string]thread.BlobID // by what they are
}

// The threads: main has the artifacts; reader froze them, and is archived; child
// inherited them and was merged back; other waits to be merged into main.
func newPatient(t testing.TB) *patient {
	p := &patient{Store: teststore.New(t, store.Options{}), blobs: map[string]thread.BlobID{}}
	p.op(t, "ship", nil, func(st *thread.State, stamp thread.Stamp) error {
		_, err := st.CreateObjective(thread.NewObjective{ID: "ship", Title: "Ship"}, stamp)
		return err
	})
	p.grows(t, "main", "")
	teststore.Put(t, p.Store, "threads/main/plan.md", []byte("the plan"))
	teststore.Put(t, p.Store, "threads/main/long.md", bytes.Repeat([]byte("long "), 1000))
	p.grows(t, "other", "main")
	p.grows(t, "reader", "")
	p.freezes(t, "ref-gone", "reader", "main")
	for _, action := range []thread.Action{thread.Done, thread.Archive} {
		p.op(t, "reader-"+string(action), nil, func(st *thread.State, stamp thread.Stamp) error {
			_, err := st.Lifecycle("reader", action, "", stamp)
			return err
		})
	}
	teststore.Put(t, p.Store, "threads/main/notes.md", []byte("so that the lists differ"))
	p.inherits(t)
	teststore.Put(t, p.Store, "threads/main/notes.md", []byte("so that they differ again"))
	p.freezes(t, "ref-here", "child", "main")
	teststore.Put(t, p.Store, "threads/child/plan.md", []byte("a better plan"))
	p.merges(t)
	p.waits(t)
	p.op(t, "asked", nil, func(st *thread.State, stamp thread.Stamp) error {
		_, err := st.CreateObjective(thread.NewObjective{ID: "asked", Title: "Asked for"}, stamp)
		return err
	})
	teststore.Add(t, p.Store, "obj-last")
	return p
}

func (p *patient) op(t testing.TB, name string, prepare func(*store.Stage), rule func(*thread.State, thread.Stamp) error) {
	t.Helper()
	call := teststore.CallNamed(name)
	if name == "asked" {
		call.Request = "please"
	}
	stage, err := p.Stage(call.Stamp.Operation)
	require.NoError(t, err)
	if prepare != nil {
		prepare(stage)
	}
	require.NoError(t, stage.Sync())
	c, err := p.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		return store.Outcome{Answer: json.RawMessage(`{"data":"the answer"}`)}, rule(st, call.Stamp)
	})
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
	require.NoError(t, stage.Close())
}

func (p *patient) grows(t testing.TB, id thread.ThreadID, parent string) {
	p.op(t, string(id), nil, func(st *thread.State, stamp thread.Stamp) error {
		_, err := st.Spawn(thread.NewThread{ID: id, Objective: "ship", Parent: parent, Title: "T", Intent: "Do it"}, stamp)
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: scan.Place(id, "")})
		return err
	})
}

// takes snapshots a thread and keeps its list.
func (p *patient) takes(t testing.TB, stage *store.Stage, of thread.ThreadID, as string) store.Manifest {
	m, _, err := stage.Snapshot(context.Background(), of, storetest.Scope(t))
	require.NoError(t, err)
	p.blobs[as], err = stage.PutManifest(m)
	require.NoError(t, err)
	for _, f := range m {
		p.blobs[as+"/"+f.Path] = f.SHA256
	}
	return m
}

func (p *patient) freezes(t testing.TB, id thread.ReferenceID, from, target thread.ThreadID) {
	var m store.Manifest
	p.op(t, string(id), func(stage *store.Stage) {
		m = p.takes(t, stage, target, string(id))
		require.NoError(t, stage.Materialize(context.Background(), m, "copy", true))
	}, func(st *thread.State, stamp thread.Stamp) error {
		content := thread.Content{Manifest: p.blobs[string(id)], Files: len(m)}
		_, _, err := st.Refer(thread.NewReference{ID: id, From: string(from), Target: string(target), Binding: thread.Frozen, Content: content}, stamp)
		st.Plan(thread.Step{Do: thread.StepPlace, From: store.TmpDir + "/op-" + string(id) + "/copy", To: scan.Place(from, store.InheritedDir+"/"+string(id))})
		return err
	})
}

func (p *patient) inherits(t testing.TB) {
	p.op(t, "child", func(stage *store.Stage) {
		require.NoError(t, stage.Materialize(context.Background(), p.takes(t, stage, "main", "given"), "folder", false))
	}, func(st *thread.State, stamp thread.Stamp) error {
		in := thread.NewThread{ID: "child", Parent: "main", Title: "T", Intent: "Do it", Inherit: thread.InheritFull, Shared: p.blobs["given"], DependsOn: []string{"other"}}
		_, err := st.Spawn(in, stamp)
		st.Plan(thread.Step{Do: thread.StepPlace, From: store.TmpDir + "/op-child/folder", To: scan.Place("child", "")})
		return err
	})
}

// merges brings the child's plan into main.
func (p *patient) merges(t testing.TB) {
	was := p.blobs["given/plan.md"]
	p.op(t, "merged", func(stage *store.Stage) {
		m := p.takes(t, stage, "child", "brought")
		plan, _ := m.Find("plan.md")
		undo := fmt.Sprintf(`[{"path":"plan.md","before":%q,"after":%q},{"path":"new.md","before":"","after":%q}]`, was, plan.SHA256, plan.SHA256)
		var err error
		p.blobs["undo"], err = stage.Put([]byte(undo))
		require.NoError(t, err)
		require.NoError(t, stage.Write("plan.md", []byte("a better plan"), false))
	}, func(st *thread.State, stamp thread.Stamp) error {
		_, err := st.RecordMerge("main", []thread.Share{{With: "child", Manifest: p.blobs["brought"], How: "merge", Undo: p.blobs["undo"]}}, stamp)
		st.Plan(thread.Step{Do: thread.StepReplace, From: store.TmpDir + "/op-merged/plan.md", To: "threads/main/plan.md", Expect: was})
		return err
	})
}

// waits begins a merge with a decision and a file for editors.
func (p *patient) waits(t testing.TB) {
	p.op(t, "waits", func(stage *store.Stage) {
		var err error
		for as, text := range map[string]string{"decided": "both of it", "work": "<<<<<<< marked"} {
			p.blobs[as], err = stage.Put([]byte(text))
			require.NoError(t, err)
		}
		require.NoError(t, stage.Write("work/plan.md", []byte("<<<<<<< marked"), false))
	}, func(st *thread.State, stamp thread.Stamp) error {
		_, err := st.BeginMerge(thread.Merge{
			ID: "merge-1", Target: "main", Sources: []thread.ThreadID{"other"}, Strategy: thread.Interactive,
			Decisions: map[string]thread.Decision{"c1": {Take: "text", Text: p.blobs["decided"], How: "user"}},
			Work:      map[string]thread.BlobID{"plan.md": p.blobs["work"]},
		}, stamp)
		st.Plan(thread.Step{Do: thread.StepPlace, From: store.TmpDir + "/op-waits/work", To: "merges/merge-1/work"})
		return err
	})
}

func (p *patient) copied(t testing.TB) *patient {
	return &patient{Store: teststore.Copy(t, p.Store), blobs: p.blobs}
}

// blob is where the blob that a test names lies.
func (p *patient) blob(as string) string { return content.Path(p.blobs[as]) }

// harm does one damage. finds, stays and notes are lines "CODE path", in any
// order: what doctor finds, what of it stays, and what it notes afterwards. One
// of finds that begins with "!" is not repairable.
type harm struct {
	do    func(t testing.TB, p *patient)
	finds []string
	stays []string
	notes []string
	// refused: nothing can be mended, and nothing is touched.
	refused codes.Code
}

func cutAt(name string, n int) func(testing.TB, *patient) {
	return func(t testing.TB, p *patient) {
		data := teststore.Read(t, p.Store, name)
		teststore.Put(t, p.Store, name, data[:min(n, len(data))])
	}
}

func gone(names ...string) func(testing.TB, *patient) {
	return func(t testing.TB, p *patient) {
		for _, name := range names {
			require.True(t, saferoot.Exists(p.Path(name)), name)
			require.NoError(t, os.RemoveAll(p.Path(name)))
		}
	}
}

func isFolderNow(name string) func(testing.TB, *patient) {
	return func(t testing.TB, p *patient) {
		require.NoError(t, os.RemoveAll(p.Path(name)))
		require.NoError(t, os.Mkdir(p.Path(name), 0o755))
	}
}

func isFileNow(name string) func(testing.TB, *patient) {
	return func(t testing.TB, p *patient) {
		require.NoError(t, os.RemoveAll(p.Path(name)))
		teststore.Put(t, p.Store, name, []byte("not a folder"))
	}
}

func isLinkNow(name string) func(testing.TB, *patient) {
	return func(t testing.TB, p *patient) {
		elsewhere := filepath.Join(t.TempDir(), "elsewhere")
		require.NoError(t, os.Rename(p.Path(name), elsewhere))
		require.NoError(t, os.Symlink(elsewhere, p.Path(name)))
	}
}

// lineOff damages a line, counted from 1; from the end when it is negative.
func lineOff(name string, n int) func(testing.TB, *patient) {
	return func(t testing.TB, p *patient) {
		lines := bytes.SplitAfter(teststore.Read(t, p.Store, name), []byte("\n"))
		i := n - 1
		if n < 0 {
			i = len(lines) - 1 + n
		}
		lines[i][len(lines[i])/2] ^= 1
		teststore.Put(t, p.Store, name, bytes.Join(lines, nil))
	}
}

func says(name, text string) func(testing.TB, *patient) {
	return func(t testing.TB, p *patient) {
		require.NoError(t, os.MkdirAll(filepath.Dir(p.Path(name)), 0o755))
		_ = os.Chmod(p.Path(name), 0o644)
		teststore.Put(t, p.Store, name, []byte(text))
	}
}

func together(fns ...func(testing.TB, *patient)) func(testing.TB, *patient) {
	return func(t testing.TB, p *patient) {
		for _, fn := range fns {
			fn(t, p)
		}
	}
}

// blobIs does something to the blobs that are named.
func blobIs(fn func(string) func(testing.TB, *patient), as ...string) func(testing.TB, *patient) {
	return func(t testing.TB, p *patient) {
		for _, as := range as {
			fn(p.blob(as))(t, p)
		}
	}
}

func isGone(name string) func(testing.TB, *patient) { return gone(name) }

// changes makes an operation that no rule would make.
func changes(fn func(st *thread.State)) func(testing.TB, *patient) {
	return func(t testing.TB, p *patient) {
		_, err := p.Update(context.Background(), teststore.CallNamed("odd"), func(st *thread.State) (store.Outcome, error) {
			fn(st)
			return store.Outcome{}, nil
		})
		require.NoError(t, err)
	}
}

// staged leaves an operation whose files are not in place, as a kill behind the
// commit does.
func cutOff(t testing.TB, p *patient) {
	committed := false
	s := teststore.With(p.Store, store.Options{Before: func(a store.Action, path string) error {
		if committed {
			return syscall.EIO
		}
		committed = a == store.ActRename && path == p.Path(store.StateFile)
		return nil
	}})
	stage, err := s.Stage("op-half")
	require.NoError(t, err)
	require.NoError(t, stage.Write("new.md", []byte("new"), false))
	require.NoError(t, stage.Sync())
	c, err := s.Update(context.Background(), teststore.CallNamed("half"), func(st *thread.State) (store.Outcome, error) {
		st.Plan(thread.Step{Do: thread.StepPlace, From: stage.Rel("new.md"), To: "threads/main/new.md"})
		return store.Outcome{}, nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, c.Warnings)
	require.NoError(t, stage.Close())
}

// rewound is a store whose state is an old one, and whose journal lost what came
// next.
func rewound(t testing.TB, p *patient) {
	old := teststore.Read(t, p.Store, store.StateFile)
	teststore.Add(t, p.Store, "obj-a", "obj-b", "obj-c", "obj-d")
	teststore.Put(t, p.Store, store.StateFile, old)
	teststore.Put(t, p.Store, store.BackupFile, old)
	lineOff(store.JournalFile, -4)(t, p)
}

func harms() map[string]harm {
	frozen, frozenGone := "threads/child/context/inherited/ref-here", "threads/reader/context/inherited/ref-gone"
	request := state.AnswerFile("please")
	files := map[string]harm{
		"the state is cut":              {do: cutAt(store.StateFile, 60), finds: []string{"W502 thread_relations.json"}},
		"the state is gone":             {do: gone(store.StateFile), finds: []string{"W502 thread_relations.json"}},
		"the state is empty":            {do: says(store.StateFile, ""), finds: []string{"W502 thread_relations.json"}},
		"the state is a folder":         {do: isFolderNow(store.StateFile), finds: []string{"W502 thread_relations.json"}},
		"the backup is cut":             {do: cutAt(store.BackupFile, 60), finds: []string{"W502 thread_relations.json.bak"}},
		"the backup is gone":            {do: gone(store.BackupFile), finds: []string{"W502 thread_relations.json.bak"}},
		"the backup is a folder":        {do: isFolderNow(store.BackupFile), finds: []string{"W502 thread_relations.json.bak"}},
		"state and backup are one file": {do: func(t testing.TB, p *patient) { teststore.PrepareOneInode(t, p.Store) }, finds: []string{"W505 thread_relations.json.bak"}},
		"the backup is another program's": {
			do:    says(store.BackupFile, `{"version":"1.0","operations":[]}`),
			finds: []string{"!T506 thread_relations.json.bak"}, stays: []string{"!T506 thread_relations.json.bak"},
		},
		"the state is as old as the backup": {
			do: func(t testing.TB, p *patient) {
				teststore.Put(t, p.Store, store.StateFile, teststore.Read(t, p.Store, store.BackupFile))
			},
			finds: []string{"W502 thread_relations.json"},
		},
		"state and backup are cut": {
			do:    together(cutAt(store.StateFile, 60), cutAt(store.BackupFile, 60)),
			finds: []string{"T502 thread_relations.json", "T502 thread_relations.json.bak"},
		},
		"state, backup and archive are gone": {
			do:    gone(store.StateFile, store.BackupFile, store.ArchiveFile),
			finds: []string{"T502 thread_relations.json", "T502 thread_relations.json.bak"},
		},
		"state, backup and journal are gone": {
			do:    gone(store.StateFile, store.BackupFile, store.JournalFile),
			finds: []string{"!T502 thread_relations.json", "!T502 thread_relations.json.bak"}, refused: codes.ParseError,
		},
		"files are not in place yet": {do: cutOff, finds: []string{"W505 threads/main/new.md"}},
		"an old state, and a gap":    {do: rewound, finds: []string{"W502 thread_relations.json", "T502 operations.jsonl"}, notes: []string{"T502 operations.jsonl"}},
		"a step that leads out of its place": {
			do: changesByHand(func(m *statefile.Image) {
				m.Pending = &thread.Pending{Operation: "op-evil", Steps: []thread.Step{{Do: thread.StepMakeDir, To: "../x"}}}
			}),
			finds: []string{"!T507 thread_relations.json"}, stays: []string{"!T507 thread_relations.json"},
		},
		"a record that cannot be read": {
			do: changesByHand(func(m *statefile.Image) {
				m.Records[thread.TableMerges][0].JSON = []byte(`{"mergeId":1}`)
			}),
			finds: []string{"!T901 thread_relations.json", "T502 operations.jsonl"}, stays: []string{"!T901 thread_relations.json"},
			notes: []string{"T303 merges/merge-1"},
		},
	}
	journal := map[string]harm{
		"the journal is gone":     {do: gone(store.JournalFile), finds: []string{"T502 operations.jsonl", "T502 operations.jsonl"}},
		"the journal is empty":    {do: says(store.JournalFile, ""), finds: []string{"T502 operations.jsonl", "T502 operations.jsonl"}},
		"the journal is a folder": {do: isFolderNow(store.JournalFile), finds: []string{"T502 operations.jsonl", "T502 operations.jsonl", "T502 operations.jsonl"}},
		"the journal begins late": {do: func(t testing.TB, p *patient) { dropLines(t, p, store.JournalFile, 3) }, finds: []string{"T502 operations.jsonl"}},
		"a line of the journal":   {do: lineOff(store.JournalFile, 4), finds: []string{"T502 operations.jsonl"}, notes: []string{"T502 operations.jsonl"}},
		"the last of the journal": {do: lineOff(store.JournalFile, -1), notes: []string{"T502 operations.jsonl"}},
		"the journal's end is torn": {do: func(t testing.TB, p *patient) { appendTo(t, p, store.JournalFile, `{"seq":`) },
			finds: []string{"W502 thread_relations.json"}, notes: []string{"T502 operations.jsonl"}},
		"the journal says something else": {do: rewritten, finds: []string{"T502 operations.jsonl"}},
	}
	archive := map[string]harm{
		"the archive is gone":     {do: gone(store.ArchiveFile), finds: []string{"T502 archive.jsonl"}},
		"the archive is a folder": {do: isFolderNow(store.ArchiveFile), finds: []string{"T502 archive.jsonl", "T502 archive.jsonl"}},
		"the archive is cut":      {do: cutAt(store.ArchiveFile, 40), finds: []string{"T502 archive.jsonl"}, notes: []string{"T502 archive.jsonl"}},
		"a line of the archive":   {do: lineOff(store.ArchiveFile, 2), finds: []string{"T502 archive.jsonl"}, notes: []string{"T502 archive.jsonl"}},
		"stray bytes in the archive": {do: func(t testing.TB, p *patient) { appendTo(t, p, store.ArchiveFile, "stray") },
			notes: []string{"T502 archive.jsonl"}},
		"archive and journal are gone": {
			do:    gone(store.ArchiveFile, store.JournalFile),
			finds: []string{"T502 operations.jsonl", "!T502 archive.jsonl"}, stays: []string{"!T502 archive.jsonl"},
			notes: []string{"T101 threads/reader"},
		},
		"an objective counts too little": {
			do:    changes(func(st *thread.State) { o, _ := st.Objectives.Get("ship"); o.Archived = 0; st.Objectives.Put(o) }),
			finds: []string{"T502 thread_relations.json"},
		},
		"an objective counts too much": {
			do:    changes(func(st *thread.State) { o, _ := st.Objectives.Get("ship"); o.Archived = 4; st.Objectives.Put(o) }),
			finds: []string{"!T502 archive.jsonl"}, stays: []string{"!T502 archive.jsonl"},
		},
	}
	folders := map[string]harm{
		"a thread's folder is gone":           {do: gone("threads/other"), finds: []string{"T202 threads/other"}},
		"an archived thread's folder is gone": {do: gone("threads/reader"), finds: []string{"T202 threads/reader", "T202 " + frozenGone}},
		"all artifacts are gone":              {do: gone(store.ThreadsDir), finds: []string{"T202 threads", "T202 " + frozen, "T202 " + frozenGone}},
		"all artifacts are a file":            {do: isFileNow(store.ThreadsDir), finds: []string{"T507 threads"}},
		"a thread's folder is a file":         {do: isFileNow("threads/other"), finds: []string{"!T507 threads/other"}, stays: []string{"!T507 threads/other"}},
		"a thread's folder is a link":         {do: isLinkNow("threads/other"), finds: []string{"!T507 threads/other"}, stays: []string{"!T507 threads/other"}},
		"a folder that no thread has":         {do: says("threads/nobody/plan.md", "x"), notes: []string{"T101 threads/nobody"}},
		"a link among the artifacts": {do: func(t testing.TB, p *patient) {
			require.NoError(t, os.Symlink("/etc/passwd", p.Path("threads/main/link")))
		}, notes: []string{"W204 threads/main"}},
		"a copy that no reference has":       {do: says("threads/main/context/inherited/ref-none/x", "x"), notes: []string{"T204 threads/main/context/inherited/ref-none"}},
		"a file among the threads":           {do: says("threads/notes.txt", "x"), notes: []string{"W204 threads/notes.txt"}},
		"a file of somebody's":               {do: says("notes.txt", "x"), notes: []string{"W204 notes.txt"}},
		"a file that was set aside":          {do: says(store.StateFile+saferoot.AsideMark+"2026", "x"), notes: []string{"W502 " + store.StateFile + saferoot.AsideMark + "2026"}},
		"the folder of requests is a file":   {do: isFileNow(store.RequestsDir), finds: []string{"T507 requests"}},
		"the folder of requests is gone":     {do: gone(store.RequestsDir), finds: []string{"T502 " + request}},
		"the folder of the log is a file":    {do: isFileNow(store.LogsDir), finds: []string{"T507 logs"}},
		"the folder of stages is a link":     {do: together(says(store.TmpDir+"/x/y", "x"), isLinkNow(store.TmpDir)), finds: []string{"!T507 tmp"}, stays: []string{"!T507 tmp"}},
		"the log is a folder":                {do: together(says(store.LogsDir+"/x", "x"), isFolderNow(store.LogsDir+"/"+logfile.Name)), finds: []string{"W503 logs/leslie.log"}, notes: []string{"W204 logs/x"}},
		"the lock is a folder":               {do: isFolderNow(store.LockFile), finds: []string{"!T505 thread_relations.json.lock"}, refused: codes.WriteFailed},
		"a stage of a dead process":          {do: says(store.TmpDir+"/op-dead/x", "x")},
		"a temporary file of a dead process": {do: says(teststore.OldTemp, "x")},
		"an answer is damaged":               {do: cutAt(request, 20), finds: []string{"T502 " + request}},
		"an answer is a folder":              {do: isFolderNow(request), finds: []string{"!T502 " + request}, stays: []string{"!T502 " + request}},
		"an answer is that of another request": {do: func(t testing.TB, p *patient) {
			teststore.Put(t, p.Store, state.AnswerFile("x"), teststore.Read(t, p.Store, request))
		}, finds: []string{"T502 " + state.AnswerFile("x")}},
	}
	blobs := map[string]harm{
		"a blob is damaged, and in a copy":     {do: blobIs(func(n string) func(testing.TB, *patient) { return says(n, "bad") }, "ref-here/plan.md"), finds: []string{"T202 <ref-here/plan.md>"}},
		"a blob is gone, and in a copy":        {do: blobIs(isGone, "ref-here/plan.md"), finds: []string{"T202 <ref-here/plan.md>"}},
		"a blob is gone, and an artifact":      {do: blobIs(isGone, "brought/plan.md"), finds: []string{"T509 <brought/plan.md>"}},
		"a blob is a folder":                   {do: blobIs(isFolderNow, "brought/plan.md"), finds: []string{"T509 <brought/plan.md>"}},
		"a blob is a link":                     {do: blobIs(isLinkNow, "brought/plan.md"), finds: []string{"T509 <brought/plan.md>"}},
		"a file for editors lost its blob":     {do: blobIs(isGone, "work"), finds: []string{"T509 <work>"}},
		"two blobs have each other's name":     {do: swapped, finds: []string{"T509 <decided>", "T509 <undo>"}},
		"the list of a reference is gone":      {do: blobIs(isGone, "ref-here"), finds: []string{"!T202 <ref-here>"}, stays: []string{"!T202 <ref-here>"}},
		"the list of a reference is damaged":   {do: blobIs(func(n string) func(testing.TB, *patient) { return says(n, "bad") }, "ref-gone"), finds: []string{"!T202 <ref-gone>"}, stays: []string{"!T202 <ref-gone>"}},
		"the base of merges is gone":           {do: blobIs(isGone, "given"), finds: []string{"!T509 <given>"}, stays: []string{"!T509 <given>"}},
		"what a merge replaced is not listed":  {do: blobIs(isGone, "undo"), finds: []string{"!T509 <undo>"}, stays: []string{"!T509 <undo>"}},
		"a decided text is gone":               {do: blobIs(isGone, "decided"), finds: []string{"!T509 <decided>"}, stays: []string{"!T509 <decided>"}},
		"a decided text is damaged":            {do: blobIs(func(n string) func(testing.TB, *patient) { return says(n, "bad") }, "decided"), finds: []string{"!T509 <decided>"}, stays: []string{"!T509 <decided>"}},
		"a blob that nobody names is damaged":  {do: says(content.Sums+"/00/"+strings.Repeat("0", 62), "bad"), finds: []string{"T509 " + content.Sums + "/00/" + strings.Repeat("0", 62)}},
		"a file of somebody's among the blobs": {do: together(says(content.Sums+"/notes", "x"), says(content.Sums+"/00/notes", "x")), notes: []string{"W204 blobs/sha256/notes", "W204 blobs/sha256/00/notes"}},
		"a copy was changed":                   {do: says(frozen+"/plan.md", "changed"), finds: []string{"T202 " + frozen}},
		"a copy has more":                      {do: says(frozen+"/more.md", "more"), finds: []string{"T202 " + frozen}},
		"a copy is gone":                       {do: gone(frozen), finds: []string{"T202 " + frozen}},
		"an archived thread's copy is gone":    {do: gone(frozenGone), finds: []string{"T202 " + frozenGone}},
		"a copy is a file":                     {do: isFileNow(frozen), finds: []string{"T202 " + frozen}},
		"a copy is a link":                     {do: isLinkNow(frozen), finds: []string{"!T507 " + frozen}, stays: []string{"!T507 " + frozen}},
		"blob and copies of a file are lost": {
			do:    together(blobIs(isGone, "ref-here/long.md"), gone(frozen+"/long.md", frozenGone+"/long.md", "threads/main/long.md", "threads/child/long.md")),
			finds: []string{"!T202 <ref-here/long.md>", "!T202 " + frozen, "!T202 " + frozenGone}, stays: []string{"!T202 <ref-here/long.md>", "!T202 " + frozen, "!T202 " + frozenGone},
		},
	}
	named := []string{"!T202 <ref-gone>", "!T202 <ref-here>", "!T509 <given>", "!T509 <brought>", "!T509 <undo>", "!T509 <decided>"}
	blobs["all blobs are gone"] = harm{do: gone(store.BlobsDir), finds: append(named, "T509 <work>"), stays: named}
	blobs["the blobs are a file"] = harm{do: isFileNow(store.BlobsDir), finds: []string{"T507 blobs"}, stays: named}
	ties := map[string]harm{
		"ids that name nothing": {
			do: changesByHand(func(m *statefile.Image) {
				m.Records[thread.TableThreads] = append([]thread.Line{{ID: "..", JSON: []byte(`{"threadId":"..","objectiveId":"ship","shared":[{"with":"main","manifest":"../../x"}]}`)}}, m.Records[thread.TableThreads]...)
				m.Records[thread.TableReferences] = append(m.Records[thread.TableReferences], thread.Line{ID: "ref-z", JSON: []byte(`{"refId":"ref-z","from":"main","target":"other","binding":"frozen","targetResolved":true}`)})
			}),
			finds: []string{"T502 operations.jsonl", "!T507 thread_relations.json", "!T202 thread_relations.json", "!T509 blobs/sha256"},
			stays: []string{"!T507 thread_relations.json", "!T202 thread_relations.json", "!T509 blobs/sha256"},
		},
		"ties to nobody": {
			do: changes(func(st *thread.State) {
				st.Threads.Put(thread.Thread{ID: "other", ParentID: "p", ObjectiveID: "o", DependsOn: []thread.ThreadID{"d"}, Shared: []thread.Share{{With: "w", Manifest: ""}}, Updated: teststore.Clock()})
				st.References.Put(thread.Reference{ID: "ref-x", From: "f", Target: "t", Resolved: true, Binding: thread.Live})
				st.References.Put(thread.Reference{ID: "ref-y", From: "main", Target: "t", Binding: thread.Live})
				st.Merges.Put(thread.Merge{ID: "merge-2", Target: "t", Sources: []thread.ThreadID{"other", "s"}})
				st.Approvals.Put(thread.Approval{ID: "appr-1", ThreadID: "a"})
			}),
			finds: []string{
				"!T101 threads/other", "!T101 threads/other", "!T101 threads/other", "!T601 threads/other", "!T101 thread_relations.json", "!T202 thread_relations.json",
				"!T101 merges/merge-2", "!T101 merges/merge-2", "!T101 thread_relations.json",
			},
			stays: []string{
				"!T101 threads/other", "!T101 threads/other", "!T101 threads/other", "!T601 threads/other", "!T101 thread_relations.json", "!T202 thread_relations.json",
				"!T101 merges/merge-2", "!T101 merges/merge-2", "!T101 thread_relations.json",
			},
		},
		"a folder that no merge has":     {do: says("merges/merge-0/work/x", "x"), notes: []string{"T303 merges/merge-0"}},
		"a file for editors is gone":     {do: gone("merges/merge-1/work/plan.md")},
		"a file for editors was changed": {do: says("merges/merge-1/work/plan.md", "resolved")},
	}
	all := map[string]harm{}
	for _, part := range []map[string]harm{files, journal, archive, folders, blobs, ties} {
		maps.Copy(all, part)
	}
	return all
}

// changesByHand writes a state that no rule made, with a checksum that fits.
func changesByHand(fn func(m *statefile.Image)) func(testing.TB, *patient) {
	return func(t testing.TB, p *patient) {
		m, err := statefile.Decode(teststore.Read(t, p.Store, store.StateFile))
		require.NoError(t, err)
		fn(&m)
		data, err := m.Encode()
		require.NoError(t, err)
		teststore.Put(t, p.Store, store.StateFile, data)
	}
}

// rewritten replaces a line of the journal by another with a sum that fits.
func rewritten(t testing.TB, p *patient) {
	lines := bytes.SplitAfter(teststore.Read(t, p.Store, store.JournalFile), []byte("\n"))
	i := len(lines) - 3
	e, ok := journal.Read(bytes.TrimSuffix(lines[i], []byte("\n")))
	require.True(t, ok)
	e.Changes = nil
	line, err := (&journal.Operation{Entry: e}).Line(nil)
	require.NoError(t, err)
	lines[i] = append(line, '\n')
	teststore.Put(t, p.Store, store.JournalFile, bytes.Join(lines, nil))
}

func dropLines(t testing.TB, p *patient, name string, n int) {
	lines := bytes.SplitAfter(teststore.Read(t, p.Store, name), []byte("\n"))
	teststore.Put(t, p.Store, name, bytes.Join(lines[n:], nil))
}

func appendTo(t testing.TB, p *patient, name, text string) {
	teststore.Put(t, p.Store, name, append(teststore.Read(t, p.Store, name), text...))
}

func swapped(t testing.TB, p *patient) {
	a, b := p.Path(p.blob("decided")), p.Path(p.blob("undo"))
	require.NoError(t, os.Rename(a, a+"x"))
	require.NoError(t, os.Rename(b, a))
	require.NoError(t, os.Rename(a+"x", b))
}

// words are findings as lines of a harm. One that is named <x> is the path of the
// blob x.
func (p *patient) words(findings []Finding, info bool) (out []string) {
	for _, f := range findings {
		if f.Info != info || info && f.Repairable {
			continue
		}
		mark := ""
		if !f.Repairable && !info {
			mark = "!"
		}
		out = append(out, mark+f.Code+" "+strings.TrimPrefix(f.Path, store.Dir+"/"))
	}
	return out
}

func (p *patient) spelled(lines []string) (out []string) {
	for _, line := range lines {
		if head, as, ok := strings.Cut(line, "<"); ok {
			line = head + p.blob(strings.TrimSuffix(as, ">"))
		}
		out = append(out, line)
	}
	return out
}

// requireNothingDeleted asserts that every file's bytes are still there: under
// their name, with more behind them, or under another name.
func requireNothingDeleted(t testing.TB, was, is map[string]string) {
	t.Helper()
	there := map[string]bool{}
	for _, content := range is {
		there[content] = true
	}
	for name, content := range was {
		whole := (name == store.StateFile || name == store.BackupFile) && statefile.Whole([]byte(content))
		leftover := strings.HasPrefix(name, store.TmpDir+"/") || state.Temporary(name)
		if whole || leftover || there[content] || strings.HasPrefix(is[name], content) {
			continue
		}
		require.Fail(t, "deleted", "%s is gone: %.80q", name, content)
	}
}

func TestAStoreThatHasEverythingIsHealthy(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	d := diagnose(t, p.Store)
	assert.Empty(t, d.Findings)
	assert.True(t, d.Healthy)
}

func TestEachHarmIsNamedAndMendedOrSaidToStayAndNothingIsLost(t *testing.T) {
	t.Parallel()
	healthy := newPatient(t)
	for name, h := range harms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := healthy.copied(t)
			h.do(t, p)
			was, files := teststore.Readable(t, p.Store), teststore.Listing(t, p.Store)
			d, err := Doctor{Store: p.Store}.Diagnose(context.Background())
			if err != nil {
				teststore.RequireCode(t, codes.ParseError, err)
			}
			assert.ElementsMatch(t, p.spelled(h.finds), p.words(d.Findings, false), "%v", d.Findings)
			assert.Equal(t, len(h.finds) == 0, d.Healthy)
			require.Equal(t, files, teststore.Listing(t, p.Store), "looking changes nothing")

			r, err := Doctor{Store: p.Store}.Repair(context.Background(), teststore.RepairCall())
			if h.refused != "" {
				teststore.RequireCode(t, h.refused, err)
				require.Equal(t, files, teststore.Listing(t, p.Store), "what cannot be mended is left alone")
				return
			}
			p.requireMended(t, h, r, err)
			teststore.RequireKept(t, was, teststore.Readable(t, p.Store), "record objectives/ship")
			requireNothingDeleted(t, files, teststore.Listing(t, p.Store))

			again, _ := Doctor{Store: p.Store}.Repair(context.Background(), teststore.RepairCall())
			assert.Empty(t, again.Actions, "a second run has nothing to do")
			teststore.RequireKept(t, was, teststore.Readable(t, p.Store), "record objectives/ship")
		})
	}
}

// requireMended asserts what doctor says after a repair.
func (p *patient) requireMended(t testing.TB, h harm, r Repair, err error) {
	t.Helper()
	if len(h.stays) == 0 {
		require.NoError(t, err)
	}
	assert.ElementsMatch(t, p.spelled(h.stays), p.words(r.After.Findings, false), "%v", r.After.Findings)
	assert.Equal(t, len(h.stays) == 0, r.After.Healthy)
	notes := slices.DeleteFunc(p.words(r.After.Findings, true), func(line string) bool {
		return strings.HasPrefix(line, "W502 ") && !slices.Contains(h.notes, line)
	})
	assert.ElementsMatch(t, p.spelled(h.notes), notes, "but for what was set aside")
}

func TestARepairThatFailsOrDiesAtAnyStepLosesNothingAndIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	healthy := newPatient(t)
	for name, h := range harms() {
		if h.refused != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hurt := healthy.copied(t)
			h.do(t, hurt)
			was, n := teststore.Readable(t, hurt.Store), 0
			counted := hurt.copied(t)
			_, _ = Doctor{Store: teststore.With(counted.Store, store.Options{Before: func(store.Action, string) error { n++; return nil }})}.Repair(context.Background(), teststore.RepairCall())
			ways := waysToFail(n)
			for _, way := range ways {
				p := hurt.copied(t)
				_, _ = Doctor{Store: teststore.With(p.Store, store.Options{Before: teststore.Failing(way.step, way.lasting, syscall.EIO)})}.Repair(context.Background(), teststore.RepairCall())
				teststore.RequireKept(t, was, teststore.Readable(t, p.Store), "record objectives/ship")
				r, err := Doctor{Store: p.Store}.Repair(context.Background(), teststore.RepairCall())
				p.requireMended(t, h, r, err)
				teststore.RequireKept(t, was, teststore.Readable(t, p.Store), "record objectives/ship")
				require.False(t, t.Failed(), "%+v of %d steps", way, n)
			}
			t.Logf("disturbed in %d ways", len(ways))
		})
	}
}

// A step that fails once: what it did may stand, and then nothing is left to mend,
// but it may not be on disk. With success there has to be a word about it.
func TestARepairOfWhichAStepFailedSaysSo(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(testing.TB, *patient){
		"the state is rebuilt": func(t testing.TB, p *patient) { cutAt(store.StateFile, 100)(t, p); cutAt(store.BackupFile, 100)(t, p) },
		"an operation is made": harms()["an objective counts too little"].do,
	} {
		p := newPatient(t)
		hurt(t, p)
		r, err := Doctor{Store: p.copied(t).Store}.Repair(context.Background(), teststore.RepairCall())
		require.NoError(t, err)
		assert.Empty(t, r.Warnings)
		syncs := 0
		for at := 1; at == 1 || syncs >= at-1; at++ {
			p := p.copied(t)
			syncs = 0
			r, err := Doctor{Store: teststore.With(p.Store, store.Options{Before: func(a store.Action, _ string) error {
				if a != store.ActSync && a != store.ActSyncDir {
					return nil
				}
				if syncs++; syncs == at {
					return syscall.EIO
				}
				return nil
			}})}.Repair(context.Background(), teststore.RepairCall())
			if err == nil && syncs >= at {
				assert.True(t, teststore.HasWarning(r.Warnings, warnings.NotSettled), "%s: fsync %d failed: %v", name, at, r.Actions)
			}
		}
		assert.GreaterOrEqual(t, syncs, 3, name)
	}
}

// wayToFail is a step that fails; lasting: so does every later one, as behind a
// kill.
type wayToFail struct {
	step    int
	lasting bool
}

// waysToFail are the ways in which n steps are disturbed: one of them, or all
// (LESLIE_EVERY_STEP=1).
func waysToFail(n int) (ways []wayToFail) {
	for i := range n {
		ways = append(ways, wayToFail{i + 1, false}, wayToFail{i + 1, true})
	}
	if os.Getenv("LESLIE_EVERY_STEP") == "" && n > 0 {
		i := rand.IntN(len(ways))
		ways = ways[i : i+1]
	}
	return ways
}

func TestOfManyFindingsOfOneKindTheFirstAreTold(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	for i := range mostAlike + 70 {
		require.NoError(t, os.Mkdir(s.Path(fmt.Sprintf("threads/nobody-%03d", i)), 0o755))
	}
	d := diagnose(t, s)
	require.Len(t, d.Findings, mostAlike+1)
	assert.True(t, d.Healthy)
	assert.Equal(t, Finding{Code: "T101", Path: store.Dir, Message: "70 more of this kind", Info: true}, d.Findings[mostAlike])
}

func TestTwoHarmsAtOnceAreMendedOrSaidToStayAndNothingIsLost(t *testing.T) {
	t.Parallel()
	healthy := newPatient(t)
	all := harms()
	names := slices.Sorted(maps.Keys(all))
	for range 12 {
		a, b := names[rand.IntN(len(names))], names[rand.IntN(len(names))]
		t.Run(a+", "+b, func(t *testing.T) {
			t.Parallel()
			p := healthy.copied(t)
			all[a].do(t, p)
			if !harmable(t, p, all[b]) {
				return
			}
			was, files := teststore.Readable(t, p.Store), teststore.Listing(t, p.Store)
			r, err := Doctor{Store: p.Store}.Repair(context.Background(), teststore.RepairCall())
			if err != nil && len(r.Actions) == 0 {
				require.NotNil(t, codes.Of(err))
				require.Equal(t, files, teststore.Listing(t, p.Store))
				return
			}
			for _, f := range r.After.Findings { // a mend that failed has said why
				assert.True(t, f.Info || !f.Repairable || err != nil, "%v", f)
			}
			teststore.RequireKept(t, was, teststore.Readable(t, p.Store), "record objectives/ship")
			requireNothingDeleted(t, files, teststore.Listing(t, p.Store))
			again, failed := Doctor{Store: p.Store}.Repair(context.Background(), teststore.RepairCall())
			assert.True(t, failed != nil || len(again.Actions) == 0, "a second run has nothing to do: %v", again.Actions)
		})
	}
}

// harmable does a harm where the harm before has left something to do it to.
func harmable(t *testing.T, p *patient, h harm) (done bool) {
	defer func() { _ = recover() }()
	h.do(attempt{t}, p)
	return true
}

// attempt is a test that may fail: it ends then, and nobody is told.
type attempt struct{ testing.TB }

func (a attempt) Errorf(string, ...any) {}

func (a attempt) FailNow() { panic(a) }

// BenchmarkDiagnoseTenThousandThreads looks at a store of ten thousand threads in
// ten thousand operations, each with two artifacts, and one in ten with a frozen
// reference to the one before.
func BenchmarkDiagnoseTenThousandThreads(b *testing.B) {
	p := &patient{Store: teststore.ManyThreads(b), blobs: map[string]thread.BlobID{}}
	manifest := crowded(b, p)
	journaled(b, p.Store, manifest)
	b.ResetTimer()
	for b.Loop() {
		d, err := Doctor{Store: p.Store}.Diagnose(context.Background())
		require.NoError(b, err)
		require.Empty(b, d.Findings)
	}
}

// crowded gives every thread its folder, artifacts and copies.
func crowded(b *testing.B, p *patient) (manifest thread.BlobID) {
	stage, err := p.Stage("op-crowd")
	require.NoError(b, err)
	plan, err := stage.Put([]byte("the plan"))
	require.NoError(b, err)
	manifest, err = stage.PutManifest(store.Manifest{{Path: "plan.md", SHA256: plan, Size: 8}})
	require.NoError(b, err)
	require.NoError(b, stage.Sync())
	require.NoError(b, stage.Close())
	for i := range 10_000 {
		id := thread.ThreadID(fmt.Sprintf("thread-%08d", i))
		at := scan.Place(id, "")
		require.NoError(b, os.MkdirAll(p.Path(at+"/discuss"), 0o755))
		teststore.Put(b, p.Store, at+"/plan.md", []byte("the plan"))
		teststore.Put(b, p.Store, at+"/discuss/notes.md", fmt.Appendf(nil, "notes of %d", i))
		if i%10 == 0 {
			inherited := scan.Place(id, fmt.Sprintf("%s/ref-%08d", store.InheritedDir, i))
			require.NoError(b, os.MkdirAll(p.Path(inherited), 0o755))
			teststore.Put(b, p.Store, inherited+"/plan.md", []byte("the plan"))
		}
	}
	return manifest
}

// journaled writes the journal as ten thousand operations would have, and a state
// that they lead to.
func journaled(b *testing.B, s *store.Store, manifest thread.BlobID) {
	now, err := s.Files().Load()
	require.NoError(b, err)
	threads := now.Records[thread.TableThreads]
	st := thread.NewState(0, thread.Records{}, nil)
	var lines [][]byte
	commit := func(name string, fn func(*thread.State)) {
		fn(st)
		m := teststore.CallNamed(name).Image(st, store.Outcome{})
		line, err := m.Operation.Line(nil)
		require.NoError(b, err)
		lines = append(lines, line)
		st = thread.NewState(m.Revision, m.Records, nil)
		now.Image = m
	}
	commit("obj", func(st *thread.State) { _, _ = teststore.Create("obj")(st) })
	for i, line := range threads {
		var th thread.Thread
		require.NoError(b, json.Unmarshal(line.JSON, &th))
		commit(line.ID, func(st *thread.State) {
			st.Threads.Put(th)
			if i%10 == 0 {
				st.References.Put(thread.Reference{
					ID: thread.ReferenceID(fmt.Sprintf("ref-%08d", i)), From: th.ID, Target: "thread-00000000",
					Binding: thread.Frozen, Resolved: true, Manifest: manifest, Files: 1,
				})
			}
		})
	}
	data, err := now.Image.Encode()
	require.NoError(b, err)
	for _, name := range []string{store.StateFile, store.BackupFile} {
		teststore.Put(b, s, name, data)
	}
	teststore.Put(b, s, store.JournalFile, append(bytes.Join(lines, []byte("\n")), '\n'))
}
