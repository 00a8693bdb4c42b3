package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/journal"
	"leslie/store/internal/jsonl"
	"leslie/store/internal/state"
	"leslie/store/internal/statefile"
	"leslie/store/internal/storetest"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// This file feeds any bytes to what the store reads. What carries a checksum is
// tried as it is and with a sum that fits: else nothing would ever get past it.

// sealedAgain gives every line that ends like a sealed one the sum that fits.
func sealedAgain(data []byte) []byte {
	sealLen := len(jsonl.Ending(nil))
	lines := bytes.Split(data, []byte("\n"))
	for i, line := range lines {
		if len(line) > sealLen && bytes.HasPrefix(line[len(line)-sealLen:], []byte(`,"sum":"`)) {
			lines[i] = jsonl.Seal(append(bytes.Clone(line[:len(line)-sealLen]), '}'))
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// summed is a state file with the checksum that fits, if it has a place for one.
func summed(data []byte) []byte {
	data = bytes.Clone(data)
	statefile.Sum(data)
	return data
}

// FuzzJournal: the lines are read from the end as they stand, however many; an
// intact one is written back as it reads; one that cannot be replayed leaves the
// state alone.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"seq":1,"id":"op-x","changes":[]}`), uint16(1))
	f.Add([]byte("{}\n{}\n\n{"), uint16(30_000))
	f.Add([]byte(`{"seq":2,"changes":[{"record":"threads/a","after":{"threadId":"b"}}],"pending":[{}],"archived":[{}]}`), uint16(700))
	f.Add([]byte(`{"seq":-1}`), uint16(2))
	for line := range strings.Lines(newWorld(f).now().files[store.JournalFile]) {
		f.Add([]byte(line), uint16(100))
	}
	f.Fuzz(func(t *testing.T, data []byte, times uint16) {
		if len(data) == 0 {
			return
		}
		long := bytes.Repeat(data, 1+min(int(times), 300_000/len(data)))
		var want, got [][]byte
		for line := range bytes.SplitSeq(long, []byte("\n")) {
			if len(line) > 0 {
				want = append(want, line)
			}
		}
		for line, err := range jsonl.Backwards(bytes.NewReader(long), int64(len(long))) {
			require.NoError(t, err)
			got = append(got, bytes.Clone(line))
		}
		slices.Reverse(got)
		require.Equal(t, want, got)
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if len(line) > 1 {
				readsBack(t, jsonl.Seal(line))
				readsBack(t, sealedAgain(line))
			}
		}
	})
}

func readsBack(t *testing.T, line []byte) {
	e, ok := journal.Read(line)
	if !ok {
		return
	}
	require.True(t, jsonl.Intact(line))
	require.Positive(t, e.Seq)
	written, err := (&journal.Operation{Entry: e}).Line(nil)
	require.NoError(t, err, "what was read can be written")
	again, ok := journal.Read(written)
	require.True(t, ok)
	twice, err := (&journal.Operation{Entry: again}).Line(nil)
	require.NoError(t, err)
	require.Equal(t, string(written), string(twice))

	was := statefile.Image{Revision: 3, Records: thread.Records{thread.TableThreads: {{ID: "a", JSON: []byte(`{"threadId":"a"}`)}}}}
	next, err := was.Apply(e)
	if err != nil {
		require.Equal(t, was, next)
		return
	}
	require.Equal(t, e.Seq, next.Revision)
}

// FuzzArchive: whichever lines of the archive are lost, and whatever stands
// between those that are left, the journal makes up for them.
func FuzzArchive(f *testing.F) {
	w := newWorld(f)
	lines := strings.SplitAfter(strings.TrimSuffix(w.now().files[store.ArchiveFile], "\n"), "\n")
	f.Add([]byte("torn"), uint8(0))
	f.Add([]byte("\n\n"), uint8(0b101))
	f.Add([]byte(strings.Replace(lines[0], `"threads/first"`, `"threads/lexer"`, 1)), uint8(0b111))
	f.Add([]byte(`{"record":"","value":null,"seq":-1,"left":9,"sum":"crc32c:00000000"}`), uint8(0b11))
	now, err := w.Files().Load()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, junk []byte, kept uint8) {
		var archive []byte
		for i, line := range lines {
			if kept>>i&1 == 1 {
				archive = append(append(archive, junk...), '\n')
				archive = append(append(archive, strings.TrimSuffix(line, "\n")...), '\n')
			}
		}
		archive = append(archive, junk...)
		require.NoError(t, os.WriteFile(w.Path(store.ArchiveFile), archive, 0o644))
		left := 0
		for _, table := range thread.Tables() {
			once := *now
			found, err := w.Files().Archived(&once, table)
			require.NoError(t, err)
			left += len(found)
			require.Contains(t, []string{"", "nothing"}, recoveredFrom(once.Warnings, store.ArchiveFile))
			for _, line := range found {
				require.Equal(t, w.now().archived[table+"/"+line.ID], string(line.JSON))
			}
		}
		require.Equal(t, len(lines), left)
	})
}

// FuzzManifest: a list of files that is taken names only places inside the folder
// that it is written to, and reads back as it was.
func FuzzManifest(f *testing.F) {
	m := store.Manifest{{Path: "a.md", SHA256: storetest.Sum("a"), Size: 1, ModTime: teststore.Clock().Add(time.Nanosecond)}, {Path: "b/c.md", SHA256: storetest.Sum("b"), Size: 2, Executable: true}}
	data, err := m.Encode()
	require.NoError(f, err)
	f.Add(data)
	f.Add(bytes.ReplaceAll(data, []byte("a.md"), []byte("../x")))
	f.Add(bytes.ReplaceAll(data, []byte("a.md"), []byte(`\u002e./x`)))
	f.Add([]byte(`{"version":1,"files":null}`))
	f.Add(bytes.ReplaceAll(data, []byte("a.md"), []byte("z.md")))
	f.Add([]byte(`{"Version":1,"version":1,"files":[]} {}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := content.Decode(data)
		if err != nil {
			require.ErrorIs(t, err, content.ErrDamaged)
			return
		}
		for i, f := range m {
			require.True(t, fs.ValidPath(f.Path) && f.Path != ".", "%q", f.Path)
			require.True(t, i == 0 || m[i-1].Path < f.Path)
			found, ok := m.Find(f.Path)
			require.True(t, ok)
			require.Equal(t, f, found)
		}
		written, err := m.Encode()
		require.NoError(t, err)
		again, err := content.Decode(written)
		require.NoError(t, err)
		twice, err := again.Encode()
		require.NoError(t, err)
		require.Equal(t, string(written), string(twice))
	})
}

// FuzzAnswer: any bytes in place of a kept answer, and the request is still not
// carried out again.
func FuzzAnswer(f *testing.F) {
	w := newWorld(f)
	name := state.AnswerFile("try/1")
	whole := teststore.Read(f, w.Store, name)
	for _, seed := range [][]byte{whole, nil, {'{'}, bytes.Replace(whole, []byte("try/1"), []byte("try/2"), 1), bytes.Replace(whole, []byte("2026"), []byte("2016"), 1)} {
		f.Add(seed)
	}
	call := teststore.CallNamed("request")
	call.Request = "try/1"
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, sealedAgain(data)} {
			require.NoError(t, os.WriteFile(w.Path(name), data, 0o644))
			c, err := w.Answered(context.Background(), call)
			if bytes.Equal(data, whole) {
				require.JSONEq(t, `{"data":{}}`, string(c.Replay))
			}
			if jsonl.Intact(bytes.TrimSuffix(data, []byte("\n"))) {
				// Only a program that knows the sum writes this: another call's, one
				// that is too old, or an answer.
				require.True(t, err == nil || codes.Has(err, codes.InvalidArgument), "%v", err)
				require.True(t, c == nil || json.Valid(c.Replay))
				continue
			}
			require.NoError(t, err)
			require.NotNil(t, c, "the journal knows that it was carried out")
			require.Equal(t, thread.OperationID("op-request"), c.Operation)
			require.JSONEq(t, `{"data":{}}`, string(c.Replay), "and with which answer")
		}
	})
}

// FuzzLoad: any state, backup and journal: a reader gets T502, T506 or a state and
// leaves the files alone; a writer gets the same, and what it wrote is read
// without a warning.
func FuzzLoad(f *testing.F) {
	s := teststore.New(f, store.Options{})
	teststore.Add(f, s, teststore.Names(2)...)
	before := teststore.Read(f, s, store.StateFile)
	teststore.Add(f, s, "obj-x")
	state, backup, journal := teststore.Read(f, s, store.StateFile), teststore.Read(f, s, store.BackupFile), teststore.Read(f, s, store.JournalFile)
	f.Add(state, backup, journal)
	f.Add([]byte("{"), backup, journal)
	f.Add([]byte("{"), []byte("{}"), journal)
	f.Add(before, []byte(""), journal)
	f.Add(before, state, []byte("torn"))
	f.Add([]byte(`{"version":"1.0","operations":[]}`), state, []byte("\n"))
	w := &world{Store: s}
	b := w.bench(f)
	f.Fuzz(func(t *testing.T, state, backup, journal []byte) {
		loads(t, b, state, backup, journal)
		loads(t, b, summed(state), summed(backup), sealedAgain(journal))
	})
}

func loads(t *testing.T, b *bench, state, backup, journal []byte) {
	b.restore(t)
	for name, data := range map[string][]byte{store.StateFile: state, store.BackupFile: backup, store.JournalFile: journal} {
		teststore.Put(t, b.Store, name, data)
	}
	before := b.all(t)
	seen := func() (view store.View, lines []thread.Line, err error) {
		view, err = b.View(context.Background(), func(st *thread.State) error { lines = st.Lines(thread.TableReferences); return nil })
		return view, lines, err
	}
	view, was, err := seen()
	requireSame(t, before, b.all(t), "a read changes nothing")
	call := teststore.CallNamed("after")
	_, again := b.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		st.Approvals.Put(thread.Approval{ID: "appr-after"})
		return store.Outcome{}, nil
	})
	if err != nil {
		require.True(t, codes.Has(err, codes.ParseError) || codes.Has(err, codes.UnsupportedVersion), "%v", err)
		require.Equal(t, codes.Of(err).Code(), teststore.RequireCode(t, codes.Of(err).Code(), again).Code())
		requireSame(t, before, b.all(t), "what cannot be read is left alone")
		return
	}
	if codes.Has(again, codes.Internal) || codes.Has(again, codes.WriteFailed) {
		return // a step, or a record, that no rule could have written
	}
	require.NoError(t, again)
	after, is, err := seen()
	require.NoError(t, err)
	require.Equal(t, view.Revision+1, after.Revision)
	require.Equal(t, was, is)
	require.Empty(t, after.Warnings)
}
