//go:build linux

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
	"leslie/test/lab"
)

func TestIdsTimesAndChecksumsAreNormalized(t *testing.T) {
	t.Parallel()
	n := inFolder("/home/x").normalizer(map[string]bool{"op-aaaaaaaa": true})
	got := n.text(`/home/x/.leslie op-bbbbbbbb op-aaaaaaaa ref-cccccccc op-bbbbbbbb 2026-01-02T03:04:05.678Z crc32c:0a1b2c3d main`)
	assert.Equal(t, "ROOT/.leslie op-#1 op-aaaaaaaa ref-#2 op-#1 TIME SUM main", got)
}

// TestTheTimesInAManifestAreNoDifference: a manifest has them if its files were two
// seconds old, and is named by a hash of all of it.
func TestTheTimesInAManifestAreNoDifference(t *testing.T) {
	t.Parallel()
	stored := func(sum, times string) map[string]string {
		manifest := `{"version":1,"files":[{"path":"plan.md","sha256":"` + sum + `","size":4` + times + `}]}`
		id := fmt.Sprintf("%x", sha256.Sum256([]byte(manifest)))
		p := inFolder(t.TempDir())
		for name, content := range map[string]string{
			blobsDir + "sha256/" + id[:2] + "/" + id[2:]: manifest,
			lab.StoreDir + "/" + lab.StateFile:           `{"manifest":"` + id + `"}`,
		} {
			name = filepath.Join(p.Dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
		}
		files, err := p.files(nil)
		require.NoError(t, err)
		return files
	}
	const times = `,"modifiedAt":"2026-01-02T03:04:05Z","changedAt":"2026-01-02T03:04:06.5Z"`
	assert.Equal(t, stored("ab", ""), stored("ab", times))
	assert.NotEqual(t, stored("ab", ""), stored("cd", times))
}

func TestAMissingBlobIsADifferenceOnlyIfSomethingNamesIt(t *testing.T) {
	t.Parallel()
	blob, state := lab.StoreDir+"/blobs/sha256/ab/cd", lab.StoreDir+"/"+lab.StateFile
	without := map[string]string{state: "{}"}
	assert.Empty(t, diffFiles(map[string]string{state: "{}", blob: "b"}, without))
	named := map[string]string{state: `{"manifest":"abcd"}`}
	assert.Contains(t, diffFiles(map[string]string{state: `{"manifest":"abcd"}`, blob: "b"}, named), "cd is missing")
}

func TestPendingStepsInTheJournalAreNoDifference(t *testing.T) {
	t.Parallel()
	p, journal := inFolder("/p"), lab.StoreDir+"/operations.jsonl"
	line := func(more string) map[string]string {
		return p.normalized(map[string]string{journal: `{"seq":1` + more + `,"changes":[]}`}, nil)
	}
	assert.Equal(t, line(""), line(`,"pending":[{"do":"mkdir","to":"x"}]`))
	assert.Equal(t, line(""), line(`,"quarantined":[{"record":"threads/x","steps":[{"do":"mkdir","to":"x"}]}]`))
	assert.NotEqual(t, line(""), line(`,"other":[]`))
}

func TestDifferencesBetweenTreesAreFound(t *testing.T) {
	t.Parallel()
	plan, blob := lab.StoreDir+"/threads/main/plan.md", lab.StoreDir+"/blobs/sha256/ab/cd"
	was := map[string]string{plan: "old", "AGENTS.md": "x"}
	for name, tc := range map[string]struct {
		got  map[string]string
		says string
	}{
		"the same":             {map[string]string{plan: "old", "AGENTS.md": "x"}, ""},
		"an unreferenced blob": {map[string]string{plan: "old", "AGENTS.md": "x", blob: "b"}, ""},
		"another content":      {map[string]string{plan: "new", "AGENTS.md": "x"}, "plan.md"},
		"something is gone":    {map[string]string{plan: "old"}, "AGENTS.md is missing"},
		"something is left":    {map[string]string{plan: "old", "AGENTS.md": "x", lab.StoreDir + "/tmp/op-1": "folder"}, "should not be there"},
		"a temporary is left":  {map[string]string{plan: "old", "AGENTS.md": "x", lab.StoreDir + "/answer.tmp": ""}, "should not be there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.says == "" {
				assert.Empty(t, diffFiles(was, tc.got))
				return
			}
			assert.Contains(t, diffFiles(was, tc.got), tc.says)
		})
	}
}

func TestAnArtifactIsOldOrNewOrMissingButNeverTorn(t *testing.T) {
	t.Parallel()
	at := lab.StoreDir + "/threads/main/plan.md"
	before, after := map[string]string{at: "old"}, map[string]string{at: "new"}
	for _, whole := range []map[string]string{before, after, {}} {
		assert.Empty(t, firstTorn(before, after, whole))
	}
	assert.Contains(t, firstTorn(before, after, map[string]string{at: "ne"}), "neither")
}

func TestAnAppendOnlyFileMayEndInAnIncompleteLine(t *testing.T) {
	t.Parallel()
	at := lab.StoreDir + "/threads/main/.meta/injections.jsonl"
	before, after := map[string]string{at: "-rw\none\n"}, map[string]string{at: "-rw\none\ntwo\n"}
	for _, is := range []string{"-rw\none\n", "-rw\none\ntw", "-rw\none\ntwo\n"} {
		assert.Empty(t, firstTorn(before, after, map[string]string{at: is}), "%q", is)
	}
	for _, is := range []string{"-rw\non", "-rw\nxne\ntw", "-rw\ntwo\n", "-rw\none\ntwo\ntwo\n"} {
		assert.Contains(t, firstTorn(before, after, map[string]string{at: is}), "neither", "%q", is)
	}
	assert.Empty(t, firstTorn(nil, after, map[string]string{at: "-rw\n"}), "a new file is empty first")
}

func TestAnAnswerThatBreaksAPromiseIsFound(t *testing.T) {
	t.Parallel()
	r := &ready{Row: lab.Row{Name: "x"}}
	say := func(status int, doc string) outcome {
		read, _ := harness.Read([]byte(doc))
		return outcome{Status: status, Stdout: []byte(doc), Doc: read}
	}
	failed := `{"success":false,"error":{"code":"T505","details":{"changed":false}}}`
	for name, tc := range map[string]struct {
		said outcome
		want statement
		bad  bool
	}{
		"done":                {said: say(0, `{"success":true}`), want: saidDone},
		"failed":              {said: say(15, failed), want: saidFailed},
		"no document":         {said: say(0, ""), bad: true},
		"two documents":       {said: say(0, `{"success":true}{}`), bad: true},
		"another code":        {said: say(1, `{"success":false,"error":{"code":"T901","details":{"changed":false}}}`), bad: true},
		"failed with success": {said: say(0, failed), bad: true},
		"failed and changed":  {said: say(15, `{"success":false,"error":{"code":"T505","details":{"changed":true}}}`), bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, problem := r.readAnswer(&project{}, tc.said)
			assert.Equal(t, tc.bad, problem != "", "%s", problem)
			if !tc.bad {
				assert.Equal(t, tc.want, a.said)
			}
		})
	}
}

func TestShortSelectsCasesOfEveryRowBySeed(t *testing.T) {
	t.Parallel()
	var all []work
	for range 100 {
		all = append(all, work{matrix: "kill", row: "spawn", rest: "write"})
	}
	assert.Len(t, choice{}.of(all), 100)
	some := choice{short: true, seed: 1}.of(all)
	assert.InDelta(t, 100/choice{short: true}.stride("kill"), len(some), 1)
	for seed := range uint64(50) {
		assert.Len(t, choice{short: true, seed: seed}.of(all[:5]), 1, "a row with few cases has one")
	}
	assert.Empty(t, choice{only: "kill/spawn/wri"}.of(all), "names match as a whole")
	assert.Len(t, choice{only: "kill/spawn"}.of(all), 100)
}

func TestACopyEqualsTheOriginal(t *testing.T) {
	t.Parallel()
	p := inFolder(filepath.Join(t.TempDir(), "p"))
	require.NoError(t, os.MkdirAll(filepath.Join(p.Dir, "a", "b"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "a", "b", "c"), []byte("x"), 0o444))
	q, err := p.copyTo(filepath.Join(t.TempDir(), "q"), 0)
	require.NoError(t, err)
	was, err := p.rawFiles()
	require.NoError(t, err)
	is, err := q.rawFiles()
	require.NoError(t, err)
	assert.Equal(t, was, is)
	assert.Len(t, is, 3)
}

func TestANamedBlobMustNotBeMissing(t *testing.T) {
	t.Parallel()
	manifest, blob, kept := blobsDir+"sha256/aa/11", blobsDir+"sha256/bb/22", blobsDir+"sha256/cc/33"
	after := map[string]string{manifest: "plan.md bb22", blob: "old", kept: "taken away", lab.StoreDir + "/" + lab.StateFile: `"manifest":"aa11"`}
	without := func(name string) map[string]string {
		return filter(after, func(n string) bool { return n != name })
	}
	assert.Empty(t, missingBlob(after, after))
	assert.Equal(t, manifest, missingBlob(after, without(manifest)), "the state names it")
	assert.Equal(t, blob, missingBlob(after, without(blob)), "a manifest names it")
	assert.Empty(t, missingBlob(after, without(kept)), "nothing names it")
}

func TestTreesAreEqualExceptForUnreferencedFiles(t *testing.T) {
	t.Parallel()
	was := map[string]string{"AGENTS.md": "x", lab.StoreDir: "folder"}
	with := func(name, content string) map[string]string {
		out := filter(was, func(string) bool { return true })
		out[name] = content
		return out
	}
	assert.True(t, equalExceptUnreferenced(was, was))
	assert.True(t, equalExceptUnreferenced(was, with(blobsDir+"sha256/bb/22", "unreferenced")))
	assert.False(t, equalExceptUnreferenced(was, with("AGENTS.md", "y")))
	assert.False(t, equalExceptUnreferenced(was, with(lab.StoreDir+"/answer.tmp", "")))
	assert.False(t, equalExceptUnreferenced(with("more", ""), was), "something is missing")
	old := with(lab.StoreDir+"/archive.jsonl", "one")
	assert.False(t, equalExceptUnreferenced(old, with(lab.StoreDir+"/archive.jsonl", "two")), "the old content must stay")
}

func TestADisplacedFileHasNoNumberUnlessThereAreTwo(t *testing.T) {
	t.Parallel()
	state := lab.StoreDir + "/" + lab.StateFile + ".set-aside-20260102T030405Z"
	p := inFolder("/p")
	aside := lab.StoreDir + "/" + lab.StateFile + ".set-aside-TIME"
	assert.Equal(t, map[string]string{aside: "a"}, p.normalized(map[string]string{state + "-2": "a"}, nil))
	assert.Equal(t, map[string]string{aside: "a", aside + "-2": "b"}, p.normalized(map[string]string{state: "a", state + "-2": "b"}, nil))
}

func inFolder(dir string) *project { return (&rig{}).project(dir, 0) }
