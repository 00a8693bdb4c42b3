package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A batch is rehearsed once. Its rules run again only if somebody else has written
// between the rehearsal and the lock; in both cases all of the batch is done.
func TestABatchRunsItsRulesAgainOnlyWhereSomebodyWroteMeanwhile(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat(`["spawn","--objective","ship","--intent","One of many"]`+"\n", 3)
	for _, meanwhile := range []bool{false, true} {
		t.Run(fmt.Sprint("meanwhile ", meanwhile), func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			other := newBench(t)
			other.Dir = b.Dir
			b.write(t, ".leslie/config.json", `{"ids": "random"}`)
			drawn, count := 0, b.NewID
			b.NewID = func(prefix string) string {
				if prefix == "thread-" {
					if drawn++; drawn == 2 && meanwhile {
						other.must(t, "spawn", "--objective", "ship", "--intent", "Meanwhile", "--id", "meanwhile")
					}
				}
				return count(prefix)
			}
			b.Stdin = strings.NewReader(lines)
			b.must(t, "batch", "--format", "json")
			items, _ := document(t, b.out.Bytes()).Data["items"].([]any)
			require.Len(t, items, 3)
			want := []string{"main", "part"}
			for _, item := range items {
				id, _ := item.(map[string]any)["data"].(map[string]any)["threadId"].(string)
				want = append(want, id)
				assert.DirExists(t, b.Dir+"/.leslie/threads/"+id)
			}
			if meanwhile {
				want = append(want, "meanwhile")
				assert.Equal(t, 6, drawn, "the rules ran again")
			} else {
				assert.Equal(t, 3, drawn, "the rules ran once")
			}
			b.must(t, "list", "--format", "json")
			var got []string
			all, _ := document(t, bytes.Clone(b.out.Bytes())).Data["items"].([]any)
			for _, item := range all {
				id, _ := item.(map[string]any)["threadId"].(string)
				got = append(got, id)
			}
			slices.Sort(want)
			slices.Sort(got)
			assert.Equal(t, want, got)
			b.must(t, "doctor")
		})
	}
}
