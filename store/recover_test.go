package store_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/doctor"
	"leslie/store/internal/jsonl"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/statefile"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

// damages are all cuts of a file and all of its bytes flipped, and what else
// can become of it.
func damages(data []byte) map[string]func(t testing.TB, path string) {
	write := func(b []byte) func(testing.TB, string) {
		return func(t testing.TB, path string) { require.NoError(t, os.WriteFile(path, b, 0o644)) }
	}
	out := map[string]func(testing.TB, string){
		"missing":         func(t testing.TB, path string) { require.NoError(t, os.Remove(path)) },
		"edited":          write(bytes.Replace(data, []byte("3.0"), []byte("3.0 "), 1)),
		"an empty object": write([]byte("{}\n")),
		"not JSON":        write([]byte("hello\n")),
		"a folder": func(t testing.TB, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o755))
		},
		"a link": func(t testing.TB, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Symlink(path+".lock", path))
		},
	}
	for i := range data {
		out[fmt.Sprintf("cut at %d", i)] = write(data[:i:i])
		for _, mask := range []byte{0x01, 0x20, 0xff} {
			flipped := bytes.Clone(data)
			flipped[i] ^= mask
			out[fmt.Sprintf("byte %d changed by %#x", i, mask)] = write(flipped)
		}
	}
	return out
}

func TestADamagedStateIsReadWithoutLossAndLeftAlone(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(3)...)
	whole := teststore.Read(t, s, store.StateFile)
	backup := teststore.Read(t, s, store.BackupFile)
	for name, damage := range damages(whole) {
		require.NoError(t, os.RemoveAll(s.Path(store.StateFile)))
		teststore.Put(t, s, store.StateFile, whole)
		damage(t, s.Path(store.StateFile))
		got, view, err := teststore.Seen(s)
		require.NoError(t, err, name)
		require.Equal(t, teststore.Names(3), got, name)
		require.Equal(t, thread.Revision(3), view.Revision, name)
		require.Len(t, view.Warnings, 1, name)
		context := view.Warnings[0].Context
		require.Equal(t, warnings.Recovered, view.Warnings[0].Code, name)
		require.Equal(t, "nothing", context.Text("lost"), name)
		require.Equal(t, "1", context.Text("replayed"), name)
	}
	assert.Equal(t, backup, teststore.Read(t, s, store.BackupFile))
	for name := range teststore.Listing(t, s) {
		assert.NotContains(t, name, saferoot.AsideMark, "a reader leaves the files alone")
	}
}

func TestADamagedStateIsRepairedByTheNextWriteWithoutLoss(t *testing.T) {
	t.Parallel()
	origin := teststore.New(t, store.Options{})
	teststore.Add(t, origin, teststore.Names(2)...)
	whole := teststore.Read(t, origin, store.StateFile)
	backup := teststore.Read(t, origin, store.BackupFile)
	journal := teststore.Read(t, origin, store.JournalFile)
	all := damages(whole)
	order := slices.Sorted(maps.Keys(all))
	for part := range 4 {
		t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
			t.Parallel()
			s := teststore.Copy(t, origin)
			for n, name := range order {
				if n%4 != part || strings.HasSuffix(name, "0x20") || strings.HasSuffix(name, "0x1") {
					continue
				}
				require.NoError(t, os.RemoveAll(s.Path(store.StateFile)))
				teststore.Put(t, s, store.StateFile, whole)
				teststore.Put(t, s, store.JournalFile, journal)
				all[name](t, s.Path(store.StateFile))
				c, err := s.Update(context.Background(), teststore.CallNamed("obj-new"), teststore.Create("obj-new"))
				require.NoError(t, err, name)
				require.True(t, teststore.HasWarning(c.Warnings, warnings.Recovered), name)
				teststore.RequireHolds(t, s, append(teststore.Names(2), "obj-new"), false)
				require.Equal(t, backup, teststore.Read(t, s, store.BackupFile), "%s: the good backup is left alone", name)
			}
			teststore.RequireTidy(t, s)
		})
	}
}

func TestARecoveredStateIsRepairedByAWriterThatChangesNothing(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(3)...)
	teststore.Put(t, s, store.StateFile, []byte("{"))
	c, err := s.Update(context.Background(), teststore.CallNamed("x"), func(*thread.State) (store.Outcome, error) { return store.Outcome{}, nil })
	require.NoError(t, err)
	assert.False(t, c.Changed)
	assert.True(t, teststore.HasWarning(c.Warnings, warnings.Recovered))
	teststore.RequireHolds(t, s, teststore.Names(3), false)
	assert.Equal(t, "{", string(teststore.Read(t, s, store.StateFile+saferoot.AsideMark+"20260209T120000Z")))
	requireNoGap(t, s)
}

func TestAStateThatIsOlderThanTheJournalIsRolledForward(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(3)...)
	old := teststore.Read(t, s, store.StateFile)
	teststore.Add(t, s, "obj-x", "obj-y", "obj-z")
	teststore.Put(t, s, store.StateFile, old)
	want := append(teststore.Names(3), "obj-x", "obj-y", "obj-z")
	view := teststore.RequireHolds(t, s, want, true)
	assert.Equal(t, "it is older than the journal", view.Warnings[0].Context.Text("reason"))
	assert.Equal(t, thread.Revision(6), view.Revision)
	teststore.Add(t, s, "obj-zz")
	teststore.RequireHolds(t, s, append(want, "obj-zz"), false)
	requireNoGap(t, s)
	for name := range teststore.Listing(t, s) {
		assert.NotContains(t, name, saferoot.AsideMark, "a whole file is not set aside")
	}
}

func TestWhenTheNewestOperationIsOnlyInTheLostStateTheWarningSaysSo(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	journal := teststore.Read(t, s, store.JournalFile)
	teststore.Add(t, s, "obj-unsettled")
	teststore.Put(t, s, store.JournalFile, journal)
	teststore.Put(t, s, store.StateFile, nil)
	view := teststore.RequireHolds(t, s, teststore.Names(2), true)
	assert.Equal(t, "nothing that was acknowledged, unless the journal lost it too", view.Warnings[0].Context.Text("lost"))
}

// lostOf is what W502 for the state says of what is lost.
func lostOf(t *testing.T, s *store.Store) (lost string, rev thread.Revision) {
	t.Helper()
	_, view, err := teststore.Seen(s)
	require.NoError(t, err)
	return recoveredFrom(view.Warnings, store.StateFile), view.Revision
}

func TestWhatIsLostIsToldByAllThatSpeaksOfIt(t *testing.T) {
	t.Parallel()
	origin := teststore.New(t, store.Options{})
	var states, journals [][]byte
	for _, name := range teststore.Names(6) {
		teststore.Add(t, origin, name)
		states, journals = append(states, teststore.Read(t, origin, store.StateFile)), append(journals, teststore.Read(t, origin, store.JournalFile))
	}
	state := func(data []byte) func(*store.Store) {
		return func(s *store.Store) { teststore.Put(t, s, store.StateFile, data) }
	}
	journal := func(data []byte) func(*store.Store) {
		return func(s *store.Store) { teststore.Put(t, s, store.JournalFile, data) }
	}
	torn := func(n int) []byte { return journals[n][:len(journals[n])-20] }
	const unless = "nothing that was acknowledged, unless the journal lost it too"
	const none = "nothing: that line is none of an operation"
	sixth := "the operation of revision 6, which is not complete in the journal"
	for name, c := range map[string]struct {
		state, journal func(*store.Store)
		lost           string
		revision       thread.Revision
	}{
		"the state's own first lines":                         {state(states[5][:len(states[5])-9]), journal(journals[4]), sixth, 5},
		"a first line that its operation belies":              {state(bytes.Replace(states[5], []byte(`"revision":6`), []byte(`"revision":9`), 1)), journal(journals[5]), "nothing", 6},
		"a damaged line at the journal's end":                 {state(nil), journal(torn(5)), sixth, 5},
		"nothing":                                             {state(nil), journal(journals[4]), unless, 5},
		"nothing, and the journal is shorter":                 {state(nil), journal(journals[1]), unless, 5},
		"a line that is no operation at the journal's end":    {state(states[5]), journal(append(slices.Clone(journals[5]), "scribble\n"...)), none, 6},
		"a line that is no operation, and a backup behind it": {state(states[4]), journal(append(slices.Clone(journals[4]), "scribble"...)), none, 5},
		"a state older than the journal's damaged end":        {state(states[4]), journal(torn(5)), sixth, 5},
		"a state older than its backup":                       {state(states[1]), journal(journals[2]), unless, 5},
		"a state older than its backup, no journal":           {state(states[1]), journal(nil), unless, 5},
		"a state older than its backup, its line damaged":     {state(states[1]), journal(torn(5)), sixth, 5},
		"a state older than the journal":                      {state(states[1]), journal(journals[5]), "nothing", 6},
	} {
		s := teststore.Copy(t, origin)
		c.state(s)
		c.journal(s)
		lost, revision := lostOf(t, s)
		assert.Equal(t, c.lost, lost, name)
		assert.Equal(t, c.revision, revision, name)
		teststore.Add(t, s, "obj-then")
		lost, revision = lostOf(t, s)
		assert.Empty(t, lost, "%s: told until somebody writes", name)
		assert.Equal(t, c.revision+1, revision, name)
	}
}

func TestABackupThatIsNotWholeIsMovedAsideAndNeverBelieved(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"torn":                 `{"version":"3.0","revision":9,"checksum":"crc32c:00000000",`,
		"of another program":   `{"version":"1.0","operations":[]}`,
		"of a newer state":     `{"version":"3.0","revision":900,"checksum":"crc32c:00000000",` + "\n",
		"empty":                "",
		"somebody's own notes": "hello\n",
	} {
		s := teststore.New(t, store.Options{})
		teststore.Add(t, s, teststore.Names(3)...)
		teststore.Put(t, s, store.BackupFile, []byte(text))
		teststore.RequireHolds(t, s, teststore.Names(3), false)
		teststore.Add(t, s, "obj-x")
		teststore.RequireHolds(t, s, append(teststore.Names(3), "obj-x"), false)
		assert.Equal(t, text, string(teststore.Read(t, s, store.BackupFile+saferoot.AsideMark+"20260209T120000Z")), name)
		assert.True(t, entireState(teststore.Read(t, s, store.BackupFile)), name)
	}
}

func TestARecoveryLeavesAWholeBackupBehindWhateverWasThere(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	old := teststore.Read(t, s, store.StateFile)
	teststore.Add(t, s, "obj-x")
	teststore.Put(t, s, store.StateFile, old)
	teststore.Put(t, s, store.BackupFile, []byte("{"))
	teststore.Add(t, s, "obj-y")
	teststore.Put(t, s, store.StateFile, nil)
	teststore.RequireHolds(t, s, append(teststore.Names(2), "obj-x", "obj-y"), true)
}

func TestADamagedLineEndsTheRollAndTheWarningSaysWhatIsLost(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	backup := teststore.Read(t, s, store.BackupFile) // revision 1
	teststore.Add(t, s, "obj-3", "obj-4")
	journal := teststore.Read(t, s, store.JournalFile)
	teststore.Put(t, s, store.BackupFile, backup)
	teststore.Put(t, s, store.StateFile, nil)
	at := bytes.Index(journal, []byte(`"seq":3`))
	journal[at] ^= 1
	teststore.Put(t, s, store.JournalFile, journal)
	view := teststore.RequireHolds(t, s, teststore.Names(2), true)
	assert.Contains(t, view.Warnings[0].Context.Text("lost"), "from revision 3 to 4")
}

func TestWhenNeitherFileIsWholeEverythingKnownIsTold(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(3)...)
	teststore.Put(t, s, store.StateFile, []byte("{"))
	teststore.Put(t, s, store.BackupFile, nil)
	before := teststore.Listing(t, s)
	_, _, err := teststore.Seen(s)
	e := teststore.RequireCode(t, codes.ParseError, err)
	assert.Equal(t, "it is not valid JSON (line 1, column 2)", e.Facts().Text("main"))
	assert.Equal(t, "it is empty", e.Facts().Text("backup"))
	assert.Equal(t, "it has 3 operations, from revision 1 to 3", e.Facts().Text("journal"))
	options, _ := e.Facts().Get("options")
	assert.Equal(t, []string{"leslie doctor", "leslie doctor --repair"}, commands(options.([]store.Option)))
	_, err = s.Update(context.Background(), teststore.CallNamed("x"), teststore.Create("x"))
	teststore.RequireCode(t, codes.ParseError, err)
	_, created, _, err := store.Create(context.Background(), store.Wait{}, s.Root(), store.Options{})
	require.NoError(t, err)
	assert.False(t, created)
	assert.Equal(t, before, teststore.Listing(t, s), "nothing is written over what cannot be read")
}

func commands(options []store.Option) (out []string) {
	for _, o := range options {
		out = append(out, o.Command)
	}
	return out
}

func TestTheStateOfAnotherEditionIsNotTouched(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, writer string }{
		"the Node edition's":         {"{\n  \"version\": \"1.0\",\n  \"operations\": [],\n  \"threads\": {}\n}\n", "the Node edition of leslie (version 1.0)"},
		"an old one without version": {`{"operations": []}`, "the Node edition of leslie"},
		"a newer one":                {`{"version":"3.1","digest":"xyz"}`, "another edition of leslie (version 3.1)"},
	}
	for name, c := range cases {
		root := t.TempDir()
		require.NoError(t, os.Mkdir(root+"/"+store.Dir, 0o755))
		s := store.Open(root, store.Options{})
		teststore.Put(t, s, store.StateFile, []byte(c.text))
		before := teststore.Listing(t, s)
		_, _, err := teststore.Seen(s)
		e := teststore.RequireCode(t, codes.UnsupportedVersion, err)
		assert.Equal(t, c.writer, e.Facts().Text("writer"), name)
		assert.Equal(t, ".leslie/"+store.StateFile, e.Facts().Text("path"))
		_, err = s.Update(context.Background(), teststore.CallNamed("x"), teststore.Create("x"))
		teststore.RequireCode(t, codes.UnsupportedVersion, err)
		_, _, _, err = store.Create(context.Background(), store.Wait{}, root, store.Options{})
		teststore.RequireCode(t, codes.UnsupportedVersion, err)
		assert.Equal(t, before, teststore.Listing(t, s), "%s: not even a lock is made", name)
	}
}

func TestANewerVersionWithAFittingChecksumIsNotTouchedButADamagedDigitIs(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	newer := bytes.Replace(teststore.Read(t, s, store.StateFile), []byte(`"3.0"`), []byte(`"4.0"`), 1)
	teststore.Put(t, s, store.StateFile, newer)
	teststore.RequireHolds(t, s, teststore.Names(2), true)
	at := bytes.Index(newer, []byte(jsonl.SumPrefix)) + len(jsonl.SumPrefix)
	copy(newer[at:], jsonl.Checksum(newer[:at], newer[at+8:])[len(jsonl.SumPrefix):])
	teststore.Put(t, s, store.StateFile, newer)
	_, _, err := teststore.Seen(s)
	e := teststore.RequireCode(t, codes.UnsupportedVersion, err)
	assert.Equal(t, "another edition of leslie (version 4.0)", e.Facts().Text("writer"))
}

func TestTheJournalStartsOnANewLineBehindATornTail(t *testing.T) {
	t.Parallel()
	origin := teststore.New(t, store.Options{})
	teststore.Add(t, origin, teststore.Names(2)...)
	journal := teststore.Read(t, origin, store.JournalFile)
	second := bytes.IndexByte(journal, '\n') + 1
	for cut := second; cut < len(journal); cut += 7 {
		s := teststore.Copy(t, origin)
		teststore.Put(t, s, store.JournalFile, journal[:cut])
		teststore.RequireHolds(t, s, teststore.Names(2), false)
		teststore.Add(t, s, "obj-new")
		h, err := s.History(context.Background(), store.HistoryQuery{})
		require.NoError(t, err)
		require.Len(t, h.Operations, 3, "cut at %d", cut)
		assert.Equal(t, thread.OperationID("op-obj-0001"), h.Operations[1].ID)
	}
}

func TestBackupAndStateNeverShareAnInode(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	two := func() bool {
		a, errA := os.Stat(s.Path(store.StateFile))
		b, errB := os.Stat(s.Path(store.BackupFile))
		require.NoError(t, errA)
		require.NoError(t, errB)
		return !os.SameFile(a, b)
	}
	assert.True(t, two(), "in a new store")
	teststore.Add(t, s, teststore.Names(2)...)
	assert.True(t, two())
	require.NoError(t, os.Remove(s.Path(store.BackupFile)))
	require.NoError(t, os.Link(s.Path(store.StateFile), s.Path(store.BackupFile)))
	_, err := s.Update(context.Background(), teststore.CallNamed("x"), func(*thread.State) (store.Outcome, error) { return store.Outcome{}, nil })
	require.NoError(t, err)
	assert.True(t, two(), "made two by a writer that changes nothing else")
	teststore.RequireHolds(t, s, teststore.Names(2), false)
}

func TestAFileSystemWithoutLinksGetsACopyAsBackup(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	s = teststore.With(s, store.Options{Before: func(a store.Action, _ string) error {
		if a == store.ActLink {
			return os.ErrInvalid
		}
		return nil
	}})
	teststore.Add(t, s, teststore.Names(3)...)
	m, err := statefile.Decode(teststore.Read(t, s, store.BackupFile))
	require.NoError(t, err)
	assert.Equal(t, thread.Revision(2), m.Revision)
	teststore.RequireTidy(t, s)
}

func TestABackupThatIsAFolderIsMovedAside(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	require.NoError(t, os.Remove(s.Path(store.BackupFile)))
	require.NoError(t, os.MkdirAll(s.Path(store.BackupFile+"/inside"), 0o755))
	teststore.Add(t, s, "obj-a")
	assert.DirExists(t, s.Path(store.BackupFile+saferoot.AsideMark+"20260209T120000Z/inside"))
}

// What nobody wrote is not read: the memory for it would be the end of the process.
func TestAFileThatIsAbsurdlyLargeIsDamaged(t *testing.T) {
	t.Parallel()
	const absurd = 20 << 30
	for _, name := range []string{store.StateFile, store.BackupFile} {
		s := teststore.New(t, store.Options{})
		teststore.Add(t, s, teststore.Names(2)...)
		require.NoError(t, os.Truncate(s.Path(name), absurd)) // a hole: nothing is written
		teststore.RequireHolds(t, s, teststore.Names(2), name == store.StateFile)
		teststore.Add(t, s, "obj-next")
		teststore.RequireHolds(t, s, append(teststore.Names(2), "obj-next"), false)
	}
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	require.NoError(t, os.Truncate(s.Path(store.StateFile), absurd))
	require.NoError(t, os.Truncate(s.Path(store.BackupFile), absurd))
	_, _, err := teststore.Seen(s)
	teststore.RequireCode(t, codes.ParseError, err)
	assert.Equal(t, "it is larger than 1 GiB", codes.Of(err).Facts().Text("main"))
	_, err = doctor.Doctor{Store: s}.Repair(t.Context(), teststore.RepairCall())
	require.NoError(t, err)
	teststore.RequireHolds(t, s, teststore.Names(2), false)
}
