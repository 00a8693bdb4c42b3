package store

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/thread"
)

func TestStepsThatAReaderOfFilesNeedNotWaitFor(t *testing.T) {
	t.Parallel()
	at := observed{ids: []thread.ThreadID{"a", "b"}}
	for to, do := range map[string]thread.StepKind{
		"threads/a":                                  thread.StepMakeDir, // empty, or not there: no artifacts
		"threads/a/.meta/injections.jsonl":           thread.StepAppend,  // in the record, too
		"threads/other/plan.md":                      thread.StepReplace,
		"threads/ab/plan.md":                         thread.StepReplace,
		"merges/merge-1/" + "work/threads/a/plan.md": thread.StepPlace,
	} {
		assert.False(t, at.moved(thread.Step{Do: do, To: to}), to)
	}
	for to, do := range map[string]thread.StepKind{
		"threads/a": thread.StepPlace, "threads/b": thread.StepRemove, "threads/b/design/a.md": thread.StepReplace,
		"threads/a/plan.md": thread.StepDelete, "threads/a/context/inherited/ref-1": thread.StepPlace,
	} {
		assert.True(t, at.moved(thread.Step{Do: do, To: to}), to)
	}
}

// A later version's part of a reference may name another thread.
func TestAThreadsReferencesAreThoseThatBeginThere(t *testing.T) {
	t.Parallel()
	all := thread.Records{thread.TableReferences: {
		{ID: "r-1", JSON: []byte(`{"refId":"r-1","from":"thread-old","target":"t"}`)},
		{ID: "r-2", JSON: []byte(`{"refId":"r-2","from":"other","target":"t","copied":{"from":"thread-old"}}`)},
	}}
	assert.Equal(t, [][]byte{all[thread.TableReferences][0].JSON}, about("thread-old", all))
}
