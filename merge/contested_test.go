package merge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

// TestAContestedPathIsAConflictOfTheWholeFile: what another program could not merge is a
// conflict even where a source alone has the file, and every version can be chosen.
func TestAContestedPathIsAConflictOfTheWholeFile(t *testing.T) {
	t.Parallel()
	contents := map[string][]byte{"h1": []byte("one\n"), "h2": []byte("two\n")}
	file := func(hash string) map[string]merge.File {
		if hash == "" {
			return nil
		}
		return map[string]merge.File{"a": {Hash: hash, Size: 4}}
	}
	for name, c := range map[string]struct{ ours, theirs string }{"both": {"h1", "h2"}, "ours": {"h1", ""}, "theirs": {"", "h2"}, "equal": {"h1", "h1"}} {
		in := merge.Input{
			Target: "t", Tree: merge.Tree{Files: file(c.ours)}, Sources: []merge.Source{{ID: "s", Tree: merge.Tree{Files: file(c.theirs)}}},
			Read:      func(hash string) ([]byte, error) { return contents[hash], nil },
			Contested: map[string]string{"a": "renamed twice"},
		}
		plan, err := merge.Make(in)
		require.NoError(t, err, name)
		require.Len(t, plan.Conflicts, 1, name)
		conflict := plan.Conflicts[0]
		assert.Equal(t, []any{merge.PathClash, "renamed twice", merge.Unresolved}, []any{conflict.Kind, conflict.Detail, conflict.Status}, name)
		for take, want := range map[string]string{merge.TakeOurs: c.ours, merge.TakeTheirs: c.theirs, merge.TakeDelete: ""} {
			in.Decisions = map[string]merge.Decision{conflict.ID: {Take: take}}
			plan, err := merge.Make(in)
			require.NoError(t, err, name)
			assert.Zero(t, plan.Open(), "%s %s", name, take)
			assert.Equal(t, want, plan.Files[0].After.Hash, "%s %s", name, take)
		}
	}
}
