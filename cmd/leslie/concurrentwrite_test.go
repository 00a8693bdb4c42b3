package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app/artifacts"
	"leslie/store/replica"
	"leslie/thread"
)

// In these tests somebody else writes between a command's first look at the store and its
// commit.

// meanwhile lets another process act before the n-th id of a kind is generated.
func (b *bench) meanwhile(prefix string, n int, act func(other *bench)) {
	own := b.NewID
	b.NewID = func(p string) string {
		if p == prefix {
			if n--; n == 0 {
				other := &bench{Env: b.Env, vars: b.vars}
				other.Stdout, other.Stderr = &other.out, &other.err
				other.NewID = func(p string) string {
					other.ids++
					return fmt.Sprintf("%sother%03d", p, other.ids)
				}
				act(other)
			}
		}
		return own(p)
	}
}

func TestACopyOfAThreadThatWasTakenBackMeanwhileIsNotKept(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "spawn", "--intent", "Go", "--id", "gone", "--parent", "main")
	b.write(t, ".leslie/threads/main/plan.md", "plan\n")
	b.meanwhile(thread.PrefixReference, 2, func(other *bench) { other.must(t, "undo") })
	b.must(t, "spawn", "--intent", "Read both", "--id", "new", "--objective", "ship", "--ref", "gone", "--ref", "main", "--format", "json")
	var answer struct {
		Data     struct{ References []artifacts.ReferenceRecord }
		Warnings []struct{ Code string }
	}
	require.NoError(t, json.Unmarshal(b.out.Bytes(), &answer))
	require.Len(t, answer.Data.References, 2)
	gone, there := answer.Data.References[0], answer.Data.References[1]
	assert.False(t, gone.TargetResolved)
	assert.True(t, there.TargetResolved)
	require.Len(t, answer.Warnings, 1)
	assert.Equal(t, "W202", answer.Warnings[0].Code)
	inherited, err := os.ReadDir(filepath.Join(b.Dir, ".leslie/threads/new/context/inherited"))
	require.NoError(t, err)
	require.Len(t, inherited, 1)
	assert.Equal(t, string(there.RefID), inherited[0].Name())
	b.must(t, "doctor", "--format", "json")
	assert.Contains(t, b.out.String(), `"healthy":true`)
}

// A shortened id is resolved once: at the commit it may match another thread, but the
// copies are of the first.
func TestAShortenedIDMeansWhatItMeantWhenItWasCopied(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	for _, id := range []string{"parent-one", "target-one"} {
		b.must(t, "spawn", "--intent", "First", "--id", id, "--objective", "ship")
	}
	b.meanwhile(thread.PrefixReference, 2, func(other *bench) {
		other.must(t, "spawn", "--intent", "In the way", "--id", "pare", "--objective", "ship")
		other.must(t, "spawn", "--intent", "In the way", "--id", "targ", "--objective", "ship")
	})
	b.must(t, "spawn", "--intent", "Read", "--id", "new", "--parent", "pare", "--inherit", "full", "--ref", "targ", "--ref", "main", "--format", "json")
	var answer struct {
		Data struct {
			ParentID   thread.ThreadID
			References []artifacts.ReferenceRecord
		}
	}
	require.NoError(t, json.Unmarshal(b.out.Bytes(), &answer))
	assert.Equal(t, thread.ThreadID("parent-one"), answer.Data.ParentID)
	require.Len(t, answer.Data.References, 2)
	assert.Equal(t, thread.ThreadID("target-one"), answer.Data.References[0].Target)
}

// The history is in order: a checkpoint contains the result of the operations before it.
func TestACheckpointHoldsWhatWasMergedBeforeIt(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	plan := ".leslie/threads/main/plan.md"
	b.write(t, plan, "plan\n")
	b.must(t, "checkpoint", "main", "--name", "early")
	b.write(t, ".leslie/threads/part/more.md", "more\n")
	b.meanwhile(thread.PrefixOperation, 1, func(other *bench) {
		other.must(t, "merge", "--sources", "part", "--target", "main")
	})
	b.must(t, "checkpoint", "main", "--name", "late")
	b.must(t, "rollback", "main", "--to", "early")
	require.NoFileExists(t, filepath.Join(b.Dir, ".leslie/threads/main/more.md"))
	b.must(t, "rollback", "main", "--to", "late")
	assert.FileExists(t, filepath.Join(b.Dir, ".leslie/threads/main/more.md"))
}

// Two machines give the same title to a thread at once: both have one, each with its own id.
func TestTwoMachinesThatMakeTheSameIDAtOnceBothSucceed(t *testing.T) {
	t.Parallel()
	for _, code := range []bool{false, true} {
		t.Run(fmt.Sprint("code ", code), func(t *testing.T) {
			t.Parallel()
			b, other := newBench(t), newBench(t)
			other.Engine, other.ids = b.Engine, 1000
			line := []string{"spawn", "Write the docs", "--objective", "ship", "--format", "json"}
			if code {
				b.repository(t)
				other.repository(t)
				line = append(line, "--code")
			}
			b.must(t, "init", "--no-agents")
			b.must(t, "objective", "create", "Ship it", "--id", "ship")
			b.must(t, "remote", "init", "memory://one")
			remote, err := replica.Read(b.Dir)
			require.NoError(t, err)
			other.must(t, "connect", "memory://one/"+remote.Project)
			meanwhile := 0
			b.memory().Before = func(call, _ string) error {
				if call == "append" {
					if meanwhile++; meanwhile == 1 {
						other.must(t, line...)
					}
				}
				return nil
			}
			b.must(t, line...)
			assert.Positive(t, meanwhile)
			assert.Equal(t, "write-docs", document(t, other.out.Bytes()).Data["threadId"])
			assert.Equal(t, "write-docs-2", document(t, b.out.Bytes()).Data["threadId"])
			for _, one := range []*bench{b, other} {
				one.must(t, "list", "--format", "json")
				assert.EqualValues(t, 2, document(t, one.out.Bytes()).Data["total"])
				one.must(t, "doctor")
			}
		})
	}
}
