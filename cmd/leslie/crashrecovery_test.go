package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/thread"
)

// This test kills a process after its commit, before its files are in place. The next
// command, whichever it is, has the same result as after a complete operation: files that
// are still pending do not count as deleted.

// workOf makes a project in which parent and child have their own files, a checkpoint,
// and something to merge.
func workOf(t *testing.T) *bench {
	t.Helper()
	b := newProject(t)
	b.must(t, "spawn", "--intent", "Parent", "--id", "parent")
	b.write(t, ".leslie/threads/parent/plan.md", "one\ntwo\nthree\n")
	b.write(t, ".leslie/threads/parent/notes/a.md", "a\n")
	b.must(t, "checkpoint", "parent", "--name", "begun")
	b.must(t, "spawn", "--intent", "Child", "--id", "child", "--parent", "parent", "--inherit", "full")
	b.write(t, ".leslie/threads/child/plan.md", "one\ntwo\nthree\nfour\n")
	b.write(t, ".leslie/threads/child/new.md", "new\n")
	require.NoError(t, os.Remove(filepath.Join(b.Dir, ".leslie/threads/child/notes/a.md")))
	return b
}

// cutOff returns operations with file work.
func cutOff() map[string][]string {
	return map[string][]string{
		"spawn":     {"spawn --intent Second --id second --parent parent --inherit full"},
		"merge":     {"merge --sources child --target parent"},
		"rollback":  {"merge --sources child --target parent", "rollback parent --to begun"},
		"undo":      {"merge --sources child --target parent", "undo"},
		"redo":      {"merge --sources child --target parent", "undo", "redo"},
		"reference": {"reference --from child --target parent"},
	}
}

// follow returns commands that read files, each to be run first after the kill, with a
// command that shows what it read.
func follow() []string {
	return []string{
		"merge --sources parent --target child",
		"merge --sources second --target parent",
		"merge --sources child --target parent",
		"merge --sources parent --target child --conflict-strategy strict",
		"checkpoint parent --name later; rollback parent --to begun; rollback parent --to later",
		"rollback parent --to begun",
		"undo",
		"redo",
		"undo; redo",
		"spawn --intent Third --id third --parent parent --inherit full",
		"spawn --intent Third --id third --objective ship --ref parent",
		"reference --from child --target second",
		"reference --from child --target parent --binding live; reference list",
		"transfer parent --direction request_approval --scope deploy --reason because; approvals",
	}
}

func TestWhatADeadProcessLeftUndoneIsNotTakenForDeleted(t *testing.T) {
	t.Parallel()
	for name, lines := range cutOff() {
		for _, next := range follow() {
			t.Run(name+", then "+next, func(t *testing.T) {
				t.Parallel()
				var ends [2]map[string]string
				for i, cut := range []bool{false, true} {
					b := workOf(t)
					for _, line := range lines {
						b.must(t, strings.Fields(line)...)
					}
					if cut {
						b.takeBackFileWork(t)
					}
					answer := ""
					for line := range strings.SplitSeq(next, ";") {
						status := b.leslie(append(strings.Fields(line), "--format", "json")...)
						answer += b.out.String()
						require.Contains(t, []int{0, 11, 13}, status, "leslie %s\n%s", line, answer)
					}
					b.must(t, "objective", "create", "Another") // where nothing was to be written
					ends[i] = tree(t, filepath.Join(b.Dir, store.Dir, store.ThreadsDir))
					ends[i]["the answer"] = strings.ReplaceAll(answer, b.Dir, "PROJECT")
				}
				assert.Equal(t, ends[0], ends[1])
			})
		}
	}
}

// A reading command after the kill names the files that are not in place, and changes
// nothing; after the next write there is no warning.
func TestWhoLooksBehindADeadProcessIsToldWhatIsNotInPlace(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		lines []string
		paths []string
	}{
		"merge": {[]string{"artifacts parent", "status parent", "context parent", "merge --sources child --target parent --dry-run", "artifacts parent --scope plan.md"},
			[]string{"threads/parent/new.md", "threads/parent/plan.md", "threads/parent/notes/a.md"}},
		"spawn":     {[]string{"artifacts second", "status second", "context second"}, []string{"threads/second"}},
		"reference": {[]string{"artifacts child", "merge --sources child --target parent --dry-run"}, nil},
	}
	for name, c := range cases {
		for _, line := range c.lines {
			t.Run(name+", then "+line, func(t *testing.T) {
				t.Parallel()
				b := workOf(t)
				for _, cut := range cutOff()[name] {
					b.must(t, strings.Fields(cut)...)
				}
				b.takeBackFileWork(t)
				was := tree(t, filepath.Join(b.Dir, store.Dir))
				delete(was, store.LogsDir+"/leslie.log")
				found := b.pendingFiles(t, line)
				require.NotNil(t, found)
				if c.paths != nil {
					assert.Equal(t, c.paths, found)
				}
				is := tree(t, filepath.Join(b.Dir, store.Dir))
				delete(is, store.LogsDir+"/leslie.log") // which tells of warnings
				assert.Equal(t, was, is)

				b.must(t, "objective", "create", "Another")
				assert.Nil(t, b.pendingFiles(t, line))
			})
		}
	}
}

// pendingFiles runs a line that succeeds, and returns what W507 names.
func (b *bench) pendingFiles(t *testing.T, line string) []string {
	t.Helper()
	b.must(t, append(strings.Fields(line), "--format", "json")...)
	var answer struct {
		Warnings []struct {
			Code    string
			Context struct {
				OperationID string
				Paths       []string
			}
		}
	}
	require.NoError(t, json.Unmarshal(b.out.Bytes(), &answer))
	for _, w := range answer.Warnings {
		if w.Code == "W507" {
			assert.NotEmpty(t, w.Context.OperationID)
			return w.Context.Paths
		}
	}
	return nil
}

// takeBackFileWork returns the project to the moment between the newest operation's
// commit and its first step: staged files are in the staging folder, replaced files are
// back, and the journal lacks the line.
func (b *bench) takeBackFileWork(t *testing.T) {
	t.Helper()
	at := func(rel string) string { return filepath.Join(b.Dir, store.Dir, filepath.FromSlash(rel)) }
	raw, err := os.ReadFile(at(store.StateFile))
	require.NoError(t, err)
	var state struct {
		Pending struct {
			OperationID string
			Steps       []thread.Step
		}
	}
	require.NoError(t, json.Unmarshal(raw, &state))
	require.NotEmpty(t, state.Pending.Steps)
	blob := func(id thread.BlobID) []byte {
		data, err := store.Open(b.Dir, store.Options{}).Blob(id)
		require.NoError(t, err)
		return data
	}
	for _, step := range state.Pending.Steps {
		if step.From != "" {
			require.NoError(t, os.MkdirAll(at(path.Dir(step.From)), 0o755))
			require.NoError(t, os.Rename(at(step.To), at(step.From)))
		}
		if step.Expect != "" {
			b.write(t, store.Dir+"/"+step.To, string(blob(step.Expect)))
		}
		if step.Do == thread.StepDelete || step.Do == thread.StepRemove { // as prepared before the commit
			require.NoError(t, os.MkdirAll(at("tmp/"+state.Pending.OperationID+".displaced"), 0o755))
		}
	}
	journal, err := os.ReadFile(at(store.JournalFile))
	require.NoError(t, err)
	last := bytes.LastIndexByte(bytes.TrimSuffix(journal, []byte("\n")), '\n') + 1
	require.NoError(t, os.WriteFile(at(store.JournalFile), journal[:last], 0o644))
}
