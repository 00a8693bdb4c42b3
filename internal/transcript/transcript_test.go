package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func options(run string) Options {
	at := time.Date(2026, 2, 9, 16, 0, 0, 123_456_789, time.UTC)
	return Options{Run: run, Now: func() time.Time { return at }}
}

func begin(t *testing.T, dir string, o Options) *Writer {
	t.Helper()
	w, err := Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func all(t *testing.T, dir string) (entries []Entry, damaged int) {
	t.Helper()
	damaged, err := Read(dir, 0, "", func(e Entry) error {
		entries = append(entries, e)
		return nil
	})
	require.NoError(t, err)
	return entries, damaged
}

func numbers(entries []Entry) (out []int64) {
	for _, e := range entries {
		out = append(out, e.N)
	}
	return out
}

func TestEntriesAreLinesWithTheirFields(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "runs", "one")
	w := begin(t, dir, options("run-a"))
	w.Put(Session, map[string]any{"agent": "fake", "version": "1.0"})
	w.Turn(1)
	w.Put(Prompt, Words{"Go <on>\n"})
	w.Text(Text, "I ")
	w.Text(Text, "do")
	w.Text(Thought, "hm")
	w.Put(Tool, json.RawMessage("{\"kind\":\"edit\",\n \"n\":7}"))
	w.Put(Update, json.RawMessage(`{broken`))
	w.Put(End, struct{}{})
	require.NoError(t, w.Close())
	w.Put(End, Words{"too late"})

	got, err := os.ReadFile(filepath.Join(dir, Name))
	require.NoError(t, err)
	begin := `","at":"2026-02-09T16:00:00.123Z","run":"run-a","turn":`
	var want strings.Builder
	for i, rest := range []string{
		`0,"kind":"session","agent":"fake","version":"1.0"}`, `1,"kind":"prompt","text":"Go <on>\n"}`, `1,"kind":"text","text":"I do"}`,
		`1,"kind":"thought","text":"hm"}`, `1,"kind":"tool","raw":{"kind":"edit","n":7}}`, `1,"kind":"update","size":7}`, `1,"kind":"end"}`,
	} {
		fmt.Fprintf(&want, `{"n":%d%s%s`+"\n", i+1, begin[1:], rest)
	}
	assert.Equal(t, want.String(), string(got))
	for name, mode := range map[string]os.FileMode{"": 0o700, Name: 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		if os.PathSeparator == '/' {
			assert.Equal(t, mode, info.Mode().Perm(), name)
		}
	}

	entries, damaged := all(t, dir)
	assert.Zero(t, damaged)
	require.Len(t, entries, 7)
	assert.Equal(t, "I do", entries[2].Text)
	var session struct{ Agent string }
	require.NoError(t, entries[0].Decode(&session))
	assert.Equal(t, "fake", session.Agent)
	again, err := json.Marshal(entries[4])
	require.NoError(t, err)
	assert.Contains(t, want.String(), string(again))
}

func TestNumbersCountOnAcrossRunsAndFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for run := range 4 {
		o := options(fmt.Sprintf("run-%d", run))
		o.MaxBytes = 1000
		w := begin(t, dir, o)
		for range 25 {
			w.Put(Update, json.RawMessage(`{"sessionUpdate":"x"}`))
		}
		require.NoError(t, w.Close())
	}
	entries, damaged := all(t, dir)
	assert.Zero(t, damaged)
	require.Len(t, entries, 100)
	for i, e := range entries {
		assert.EqualValues(t, i+1, e.N)
	}
	names, err := filepath.Glob(filepath.Join(dir, "transcript.*.jsonl"))
	require.NoError(t, err)
	assert.Greater(t, len(names), 8)
	for _, name := range names {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.LessOrEqual(t, info.Size(), int64(1000))
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, filepath.Base(name), full(number(content)), "a file is named by its first entry")
	}
	runs, err := Runs(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"run-0", "run-1", "run-2", "run-3"}, runs)

	for _, q := range []Query{{}, {Limit: 7}, {Limit: 200}, {Since: 90}, {Since: 90, Limit: 3}, {Since: 95, Limit: 5}, {Run: "run-1", Limit: 4}, {Run: "run-2"}, {Run: "run-0", Since: 20}, {Since: 100, Limit: 5}, {Run: "none"}} {
		var want []Entry
		_, err := Read(dir, q.Since, q.Run, func(e Entry) error {
			want = append(want, e)
			return nil
		})
		require.NoError(t, err)
		p, err := Newest(dir, q)
		require.NoError(t, err)
		assert.Equal(t, len(want), p.Total, "%+v", q)
		if q.Limit > 0 && len(want) > q.Limit {
			want = want[len(want)-q.Limit:]
		}
		assert.Equal(t, numbers(want), numbers(p.Entries), "%+v", q)
	}
}

// A process can be killed in the middle of a line, and a power cut can leave anything
// behind the last line that was on disk.
func TestNothingBeforeATornLineIsLost(t *testing.T) {
	t.Parallel()
	whole := ""
	{
		dir := t.TempDir()
		w := begin(t, dir, options("run-a"))
		w.Put(Prompt, Words{"one"})
		w.Put(Prompt, Words{"two"})
		require.NoError(t, w.Close())
		b, err := os.ReadFile(filepath.Join(dir, Name))
		require.NoError(t, err)
		whole = string(b)
	}
	first := strings.Index(whole, "\n") + 1
	cases := map[string]string{"zeros": whole + strings.Repeat("\x00", 5000), "garbage that is long": whole + strings.Repeat("x", 3*mostLine)}
	for cut := range len(whole) {
		cases[fmt.Sprint("cut at ", cut)] = whole[:cut]
	}
	for name, content := range cases {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, Name), []byte(content), 0o600))
		before, _ := all(t, dir)
		w := begin(t, dir, options("run-b"))
		w.Put(Prompt, Words{"after"})
		require.NoError(t, w.Close())
		entries, damaged := all(t, dir)
		assert.Zero(t, damaged, name)
		want := []string{"after"}
		if len(content) >= len(whole)-1 {
			want = []string{"one", "two", "after"}
		} else if len(content) >= first-1 {
			want = []string{"one", "after"}
		}
		var got []string
		for i, e := range entries {
			got = append(got, e.Text)
			assert.EqualValues(t, i+1, e.N, name)
		}
		assert.Equal(t, want, got, name)
		assert.GreaterOrEqual(t, len(entries), len(before)+1, name)
	}
}

func TestAKillBetweenTwoFilesLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := begin(t, dir, options("run-a"))
	w.Put(Prompt, Words{"one"})
	require.NoError(t, w.Close())
	require.NoError(t, os.Rename(filepath.Join(dir, Name), filepath.Join(dir, full(1))))
	entries, _ := all(t, dir)
	assert.Len(t, entries, 1)
	w = begin(t, dir, options("run-a"))
	w.Put(Prompt, Words{"two"})
	require.NoError(t, w.Close())
	entries, _ = all(t, dir)
	assert.Equal(t, []int64{1, 2}, numbers(entries))
}

func TestDamagedLinesAreCountedAndHideNoOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := begin(t, dir, options("run-a"))
	for range 4 {
		w.Put(Prompt, Words{"x"})
	}
	require.NoError(t, w.Close())
	content, err := os.ReadFile(filepath.Join(dir, Name))
	require.NoError(t, err)
	lines := strings.SplitAfter(string(content), "\n")
	lines[1] = strings.Replace(lines[1], `"kind"`, "\x00\x1b]0;", 1)
	lines[2] = "[]\n" + lines[2] + strings.Repeat("long ", mostLine) + "\n\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, Name), []byte(strings.Join(lines, "")+`{"n":5,"torn`), 0o600))
	entries, damaged := all(t, dir)
	assert.Equal(t, []int64{1, 3, 4}, numbers(entries))
	assert.Equal(t, 5, damaged)
	p, err := Newest(dir, Query{Limit: 10})
	require.NoError(t, err)
	assert.Equal(t, []int64{1, 3, 4}, numbers(p.Entries))
	assert.Equal(t, 5, p.Damaged)
}

func TestNoTranscriptIsAnEmptyOne(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		entries, damaged := all(t, dir)
		assert.Empty(t, entries)
		assert.Zero(t, damaged)
		p, err := Newest(dir, Query{Limit: 5})
		require.NoError(t, err)
		assert.Empty(t, p.Entries)
		text, err := Tail(dir, 100)
		require.NoError(t, err)
		assert.Empty(t, text)
	}
}

func TestALinkInTheTranscriptsPlaceIsNotFollowed(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "mine")
	require.NoError(t, os.WriteFile(other, []byte("mine"), 0o600))
	if os.Symlink(other, filepath.Join(dir, Name)) != nil {
		t.Skip("no links")
	}
	_, err := Open(dir, options("run-a"))
	require.ErrorIs(t, err, errNotRegular)
	_, err = Read(dir, 0, "", func(Entry) error { return nil })
	require.ErrorIs(t, err, errNotRegular)
	content, err := os.ReadFile(other)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(content))
}

func TestTextIsWrittenWhenItIsLongOrOldOrSomethingElseComes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w, err := Open(dir, Options{Run: "run-a", Now: time.Now})
		require.NoError(t, err)
		texts := func() (out []string) {
			entries, _ := all(t, dir)
			for _, e := range entries {
				out = append(out, e.Kind+" "+e.Text)
			}
			return out
		}
		w.Text(Text, "a")
		time.Sleep(textDelay - 1)
		w.Text(Text, "b")
		assert.Empty(t, texts())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Equal(t, []string{"text ab"}, texts(), "half a second after the first piece")
		w.Text(Text, "c")
		w.Text(Thought, "d")
		assert.Equal(t, []string{"text ab", "text c"}, texts())
		w.Turn(2)
		w.Text(Text, "e")
		w.Put(End, Words{})
		assert.Equal(t, []string{"text ab", "text c", "thought d", "text e", "end "}, texts())
		w.Text(Text, "f")
		require.NoError(t, w.Flush())
		assert.Len(t, texts(), 6)
		w.Text(Text, "g")
		require.NoError(t, w.Close())
		assert.Len(t, texts(), 7)
	})
}

func TestLongTextIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := begin(t, dir, options("run-a"))
	said := strings.Repeat("aß€😀", 5000)
	w.Text(Text, "x")
	w.Text(Text, said)
	w.Text(Thought, strings.Repeat("\x80", 3*textBytes)) // no UTF-8
	require.NoError(t, w.Close())
	entries, damaged := all(t, dir)
	assert.Zero(t, damaged)
	var got strings.Builder
	for _, e := range entries {
		assert.True(t, utf8.ValidString(e.Text))
		if e.Kind == Text {
			assert.LessOrEqual(t, len(e.Text), textBytes)
			got.WriteString(e.Text)
		}
	}
	assert.Equal(t, "x"+said, got.String())
}

func TestOfAnUpdateThatIsTooLargeTheIdentityIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := begin(t, dir, options("run-a"))
	big := strings.Repeat("x", mostFields)
	w.Put(Tool, json.RawMessage(`{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed","title":"`+big+`","content":"`+big+`"}`))
	w.Put(Prompt, Words{big})
	require.NoError(t, w.Close())
	entries, _ := all(t, dir)
	require.Len(t, entries, 2)
	assert.JSONEq(t, `{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed","title":"`+big[:mostIdentity]+`"}`, string(entries[0].Raw))
	assert.Greater(t, entries[0].Size, 2*mostFields)
	assert.Greater(t, entries[1].Size, mostFields)
}

// failing fails like a disk: it is full for a while, after a part of a line.
type failing struct {
	file
	full bool
	room int
}

var errFull = errors.New("no space left on device")

func (f *failing) Write(b []byte) (int, error) {
	if !f.full {
		return f.file.Write(b)
	}
	n, err := f.file.Write(b[:min(f.room, len(b))])
	f.room -= n
	return n, errors.Join(err, errFull)
}

func TestADiskThatFailsLosesOnlyWhatItHadNoRoomFor(t *testing.T) {
	t.Parallel()
	for room := range 30 {
		dir := t.TempDir()
		w := begin(t, dir, options("run-a"))
		disk := &failing{file: w.file, room: room}
		w.file = disk
		w.Put(Prompt, Words{"before"})
		disk.full = true
		w.Put(Prompt, Words{"lost"})
		w.Text(Text, "lost, too")
		require.ErrorIs(t, w.Flush(), errFull)
		disk.full = false
		w.Put(Prompt, Words{"after"})
		require.NoError(t, w.Flush(), "a failure is told once")
		require.NoError(t, w.Close())
		entries, _ := all(t, dir)
		assert.Equal(t, []int64{1, 4}, numbers(entries), "the numbers show that entries are lost")
	}
}

func TestAFileThatCannotGetItsNameIsWrittenFurther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := options("run-a")
	o.MaxBytes = 300
	w := begin(t, dir, o)
	require.NoError(t, w.root.Close()) // every change of a name fails from now on
	for range 12 {
		w.Put(Prompt, Words{"x"})
	}
	require.Error(t, w.Flush())
	entries, _ := all(t, dir)
	assert.NotEmpty(t, entries)
}

func TestManyWriteAndReadAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := options("run-a")
	o.MaxBytes = 20_000
	w := begin(t, dir, o)
	const writers, each = 8, 200
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for range each {
				w.Put(Tool, json.RawMessage(fmt.Sprintf(`{"toolCallId":"%d"}`, i)))
			}
		})
	}
	r := NewReader(dir, 0)
	defer r.Close()
	var got []int64
	look := func() {
		require.NoError(t, r.Each(func(e Entry) error {
			got = append(got, e.N)
			return nil
		}))
	}
	done := make(chan struct{})
	go func() {
		writing.Wait()
		close(done)
	}()
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		look()
	}
	look()
	require.NoError(t, w.Close())
	assert.Zero(t, r.Damaged)
	require.Len(t, got, writers*each)
	for i, n := range got {
		require.EqualValues(t, i+1, n)
	}
}

func TestAReaderGoesOnWhereItWasStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := begin(t, dir, options("run-a"))
	r := NewReader(dir, 1)
	defer r.Close()
	var got []int64
	stop := errors.New("stop")
	for range 4 {
		w.Put(End, Words{})
	}
	err := r.Each(func(e Entry) error {
		got = append(got, e.N)
		return stop
	})
	require.ErrorIs(t, err, stop)
	take := func(e Entry) error {
		got = append(got, e.N)
		return nil
	}
	require.NoError(t, r.Each(take))
	require.NoError(t, r.Each(take))
	assert.Equal(t, []int64{2, 3, 4}, got)
	b, err := os.OpenFile(filepath.Join(dir, Name), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer b.Close()
	_, err = b.WriteString(`{"n":5,"kind"`)
	require.NoError(t, err)
	require.NoError(t, r.Each(take))
	assert.Len(t, got, 3, "a line is read when it is whole")
	_, err = b.WriteString(`:"end"}` + "\n")
	require.NoError(t, err)
	require.NoError(t, r.Each(take))
	assert.Equal(t, []int64{2, 3, 4, 5}, got)
}

func TestTailIsTheEndOfWhatWasSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := options("run-a")
	o.MaxBytes = 400
	w := begin(t, dir, o)
	w.Put(Prompt, Words{"prompt"})
	w.Text(Text, "First.")
	w.Put(Tool, json.RawMessage(`{}`))
	w.Text(Text, "Now ")
	w.Put(Usage, json.RawMessage(`{}`))
	w.Text(Text, "the ")
	w.Text(Thought, "hm")
	w.Text(Text, "end: €")
	require.NoError(t, w.Close())
	want := "First.\n\nNow the \n\nend: €"
	for n := range len(want) + 10 {
		text, err := Tail(dir, n)
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(want, text), "%d: %q", n, text)
		assert.LessOrEqual(t, len(text), n)
		assert.GreaterOrEqual(t, len(text), min(n, len(want))-2, "%d: %q", n, text)
	}
}

// Whatever a file holds, each of its lines is an entry that is read, or is counted, and
// both directions agree.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"n\":1,\"kind\":\"text\",\"text\":\"a\"}\n{\"n\":2,\"kind\":\"end\"}\n"))
	f.Add([]byte("\n\n{\"n\":3,\"kind\":\"x\"}\n{\"n\":2,\"kind\":\"y\"}\n{\"n\":-1}"))
	f.Add([]byte("{\"n\":1,\"kind\":\"\xff\",\"raw\":{}}\r\n\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		name := filepath.Join(dir, Name)
		require.NoError(t, os.WriteFile(name, content, 0o600))
		entries, damaged := all(t, dir)
		sorted := numbers(entries)
		assert.True(t, slices.IsSorted(sorted))
		assert.LessOrEqual(t, len(entries)+damaged, bytes.Count(content, []byte("\n"))+1)
		for _, e := range entries {
			b, err := json.Marshal(e)
			require.NoError(t, err)
			assert.True(t, utf8.Valid(b))
		}
		p, err := Newest(dir, Query{Limit: 1})
		require.NoError(t, err)
		assert.Equal(t, len(entries) > 0, len(p.Entries) > 0)
		_, err = Tail(dir, 10)
		require.NoError(t, err)

		w := begin(t, dir, options("run-a"))
		w.Put(End, Words{"after"})
		require.NoError(t, w.Close())
		after, _ := all(t, dir)
		require.NotEmpty(t, after)
		ordered := len(entries) == 0 || entries[len(entries)-1].N == p.Entries[0].N
		if last := after[len(after)-1]; ordered && last.N < 1<<62 {
			assert.Equal(t, "after", last.Text)
			assert.GreaterOrEqual(t, len(after), len(entries)+1)
		}
	})
}

// A burst of small updates: 15 ms of processor for 1,000 is the limit.
func BenchmarkBurst(b *testing.B) {
	w, err := Open(b.TempDir(), Options{Run: "run-a", Now: time.Now})
	require.NoError(b, err)
	tool := json.RawMessage(`{"sessionUpdate":"tool_call_update","toolCallId":"call_0123456789","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"a line of output of some tool\n"}}]}`)
	for b.Loop() {
		for range 500 {
			w.Put(Tool, tool)
			w.Text(Text, "word ")
		}
	}
	require.NoError(b, w.Close())
}

func BenchmarkNewest(b *testing.B) {
	dir := b.TempDir()
	w, err := Open(dir, Options{Run: "run-a", Now: time.Now})
	require.NoError(b, err)
	for range 100_000 {
		w.Put(Tool, json.RawMessage(`{"sessionUpdate":"tool_call_update","toolCallId":"call_0123456789","status":"in_progress"}`))
	}
	require.NoError(b, w.Close())
	for b.Loop() {
		_, err := Newest(dir, Query{Limit: 50})
		require.NoError(b, err)
	}
}
