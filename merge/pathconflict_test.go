package merge_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

func TestPathsThatCannotBeWrittenAreConflicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base, ours, theirs files
		want               []string // path: detail
	}{
		"a file where a folder is needed":      {nil, files{"x": "1"}, files{"x/y": "2"}, []string{"x/y: x is a file, but a folder is needed"}},
		"two levels up":                        {nil, files{"x": "1"}, files{"x/y/z": "2"}, []string{"x/y/z: x is a file, but a folder is needed"}},
		"a folder where a file is needed":      {nil, files{"x/y": "1"}, files{"x": "2"}, []string{"x: x is a folder with files"}},
		"a folder of a link":                   {nil, files{"x/y@": ""}, files{"x": "2"}, []string{"x: x is a folder with files"}},
		"a link at the path":                   {nil, files{"x@": ""}, files{"x": "2"}, []string{"x: x is a link or a special file"}},
		"a link above the path":                {nil, files{"x@": ""}, files{"x/y": "2"}, []string{"x/y: x is a link or a special file"}},
		"a link took the place of a file":      {files{"x": "1"}, files{"x@": ""}, files{"x": "2"}, []string{"x: x is a link or a special file"}},
		"a link took the place of a folder":    {files{"x/y": "1"}, files{"x@": ""}, files{"x/y": "2"}, []string{"x/y: x is a link or a special file"}},
		"a link, and the source deleted":       {files{"x": "1"}, files{"x@": ""}, files{}, nil},
		"names equal but for case":             {nil, files{"Plan.md": "1"}, files{"plan.md": "2"}, []string{"plan.md: plan.md differs from Plan.md only in case"}},
		"folders equal but for case":           {nil, files{"Docs/a": "1"}, files{"docs/b": "2"}, []string{"docs/b: docs differs from Docs only in case"}},
		"a file and a folder but for case":     {nil, files{"Docs": "1"}, files{"docs/b": "2"}, []string{"docs/b: docs differs from Docs only in case"}},
		"case beyond ASCII":                    {nil, files{"ÉTÉ.md": "1"}, files{"été.md": "2"}, []string{"été.md: été.md differs from ÉTÉ.md only in case"}},
		"a link equal but for case":            {nil, files{"X@": ""}, files{"x": "2"}, []string{"x: x differs from X only in case"}},
		"the target lives with both cases":     {files{"A": "1", "a": "2"}, files{"A": "1", "a": "2"}, files{"A": "3", "a": "2"}, nil},
		"a new file in a folder of two cases":  {files{"A/x": "1", "a/y": "2"}, files{"A/x": "1", "a/y": "2"}, files{"A/x": "1", "a/y": "2", "a/z": "3"}, nil},
		"a deletion frees the name":            {files{"x": "1"}, files{"x": "1"}, files{"x/y": "2"}, nil},
		"deletions free the folder":            {files{"x/y": "1", "x/z": "1"}, files{"x/y": "1", "x/z": "1"}, files{"x": "2"}, nil},
		"one deletion does not free it":        {files{"x/y": "1"}, files{"x/y": "1", "x/z": "1"}, files{"x": "2"}, []string{"x: x is a folder with files"}},
		"a rename in case":                     {files{"Plan.md": "1"}, files{"Plan.md": "1"}, files{"plan.md": "1"}, nil},
		"changing what stands is no obstacle":  {files{"x": "1"}, files{"x": "1"}, files{"x": "2"}, nil},
		"a prefix is no folder":                {nil, files{"x": "1"}, files{"xy": "2", "x.md": "3"}, nil},
		"a path that leads out":                {nil, files{}, files{"../x": "1", "/y": "2", "a//b": "3"}, []string{"../x: it is not a path inside the folder", "/y: it is not a path inside the folder", "a//b: it is not a path inside the folder"}},
		"an open deletion does not free yet":   {files{"x": "1"}, files{"x": "2"}, files{"x/y": "3"}, []string{"x/y: x is a file, but a folder is needed"}},
		"deleted here, changed there, blocked": {files{"x": "1"}, files{"x/y": "2"}, files{"x": "3"}, []string{"x: x is a folder with files"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(c.ours, from{"a", c.base, c.theirs})
			p := planOf(t, in)
			var got []string
			for _, d := range p.Conflicts {
				if d.Kind == merge.PathClash {
					got = append(got, d.Path+": "+d.Detail)
					assert.True(t, d.Whole())
				}
			}
			assert.Equal(t, c.want, got)
			for _, change := range p.Files {
				if change.How == merge.Waiting {
					assert.False(t, change.After.There(), "nothing is written to %s", change.Path)
					assert.Nil(t, change.Merge)
				}
			}
			for _, d := range p.Conflicts {
				in.Decisions[d.ID] = merge.Decision{Take: "theirs", How: "user"}
			}
			for _, d := range planOf(t, in).Conflicts {
				if d.Kind == merge.PathClash {
					assert.Equal(t, merge.Unresolved, d.Status, "nothing is written through an obstacle")
				}
			}
		})
	}
}

func TestSourcesThatBlockEachOther(t *testing.T) {
	t.Parallel()
	in := input(files{"k": "k"}, from{"a", nil, files{"x": "1"}}, from{"b", nil, files{"x/y": "2"}}, from{"c", nil, files{"X": "3"}})
	p := planOf(t, in)
	assert.Equal(t, []string{"X path 1/1 unresolved", "x path 1/1 unresolved", "x/y path 1/1 unresolved"}, summary(p))
	assert.Equal(t, files{"k": "k"}, after(t, in, p))

	var err error
	for _, path := range []string{"X", "x"} {
		in.Decisions, err = p.Decide(in.Decisions, path, merge.Decision{Take: "keep", How: "user"})
		require.NoError(t, err)
	}
	p = planOf(t, in)
	assert.Zero(t, p.Open(), "what is left out is in nobody's way")
	assert.Equal(t, files{"k": "k", "x/y": "2"}, after(t, in, p))

	all, err := p.Decide(in.Decisions, "x", merge.Decision{Take: "ours", How: "user"})
	require.NoError(t, err)
	first := planOf(t, input(files{"k": "k"}, from{"a", nil, files{"x": "1"}}, from{"b", nil, files{"x/y": "2"}}))
	for _, d := range first.Conflicts {
		all[d.ID] = merge.Decision{Take: "ours", How: "user"}
	}
	in.Decisions = all
	assert.Equal(t, files{"k": "k"}, after(t, in, planOf(t, in)), "all may be left out")
}

func TestADecidedDeletionFreesTheName(t *testing.T) {
	t.Parallel()
	in := input(files{"x": "2"}, from{"a", files{"x": "1"}, files{"x/y": "3"}})
	p := planOf(t, in)
	require.Equal(t, []string{"x modify/delete 1/1 unresolved", "x/y path 1/1 unresolved"}, summary(p))
	in.Decisions[p.Conflicts[0].ID] = merge.Decision{Take: "delete", How: "user"}
	assert.Equal(t, files{"x/y": "3"}, after(t, in, planOf(t, in)))
	in.Decisions[p.Conflicts[0].ID] = merge.Decision{Take: "keep", How: "user"}
	assert.Equal(t, []string{"x modify/delete 1/1 resolved", "x/y path 1/1 unresolved"}, summary(planOf(t, in)))
}

func TestPathConflictsCostIsProportionalToFiles(t *testing.T) {
	t.Parallel()
	target, source := files{}, files{}
	for i := range 20_000 {
		target[fmt.Sprintf("d/%d", i)] = "1"
		source["d/"+strings.Repeat("a", 1)+fmt.Sprint(i)+"/x"] = "2"
	}
	maps.Copy(source, target)
	for bits := range 1 << 12 { // all equal but for case
		name := []byte("abcdefghijkl")
		for i := range name {
			if bits>>i&1 == 1 {
				name[i] -= 'a' - 'A'
			}
		}
		source[string(name)] = "3"
	}
	p := planOf(t, input(target, from{"a", target, source}))
	assert.Len(t, p.Files, 20_000+1<<12)
	assert.Equal(t, 1<<12, p.Open())
}

func TestPathConflictsAreTheSameInEveryRun(t *testing.T) {
	t.Parallel()
	in := input(files{"aBC": "1", "ABC": "2", "Abc": "3"}, from{"a", nil, files{"abc": "4"}})
	for range 20 {
		p := planOf(t, in)
		require.Len(t, p.Conflicts, 1)
		assert.Equal(t, "abc differs from ABC only in case", p.Conflicts[0].Detail)
	}
}
