package merge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

// Content stored next to a thread's files is a base only for files derived from it.
func TestDetachedContentIsABaseOnlyForDerivedFiles(t *testing.T) {
	t.Parallel()
	const old = "1\n2\n3\n4\n5\n6\n"
	for name, c := range map[string]struct {
		ours, theirs, want string // "" is no file
		open               int
	}{
		"both go on":                       {"1o\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\n6t\n", "1o\n2\n3\n4\n5\n6t\n", 0},
		"the receiver has it as it was":    {"1o\n2\n3\n4\n5\n6\n", old, "1o\n2\n3\n4\n5\n6\n", 0},
		"the receiver does not have it":    {old, "", old, 0},
		"the giver deleted it":             {"", old, old, 0},
		"a namesake":                       {old, "a\nb\nc\nd\ne\nf\n", "", 1},
		"half of it is something else":     {old, "1\n2\n3\nd\ne\nf\n", "", 1},
		"it drowns in what is new":         {old, old + "a\nb\nc\nd\ne\nf\n", "", 1},
		"binary":                           {old, old + "\x00", "", 1},
		"the giver's is a namesake by now": {"a\nb\nc\nd\ne\nf\n", old + "7\n", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := files{}, files{}
			if c.ours != "" {
				ours["plan.md"] = c.ours
			}
			if c.theirs != "" {
				theirs["plan.md"] = c.theirs
			}
			in := input(ours, from{id: "a", base: files{"plan.md": old}, files: theirs})
			base := in.Sources[0].Base
			in.Sources[0].Base = func(path string) merge.Base {
				b := base(path)
				b.Detached = true
				return b
			}
			plan, err := merge.Make(in)
			require.NoError(t, err)
			assert.Equal(t, c.open, plan.Open())
			if c.open == 0 {
				got := ours["plan.md"]
				for _, f := range plan.Files {
					got = string(f.Content)
					if f.Content == nil {
						text, err := in.Read(f.After.Hash)
						require.NoError(t, err)
						got = string(text)
					}
				}
				assert.Equal(t, c.want, got)
			}
		})
	}
}
