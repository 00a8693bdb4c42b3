package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestExportsOfARestoredStoreAreEqual imports the samples and 1,000 generated issues,
// exports, restores and exports again: equal byte for byte.
func TestExportsOfARestoredStoreAreEqual(t *testing.T) {
	t.Parallel()
	beads, err := os.ReadFile("../../internal/app/importing/testdata/beads.jsonl")
	require.NoError(t, err)
	a, b := newBench(t), newBench(t)
	for _, x := range []*bench{a, b} {
		require.NoError(t, os.MkdirAll(x.Env.Dir, 0o755))
		x.must(t, "init", "--no-agents")
	}
	require.NoError(t, os.CopyFS(a.Env.Dir+"/node", os.DirFS("../../internal/app/importing/testdata/node-1.0")))
	a.Env.Stdin = bytes.NewReader(beads)
	a.must(t, "import", "-")
	a.must(t, "import", "node")
	a.Env.Stdin = strings.NewReader(manyIssues(1_000))
	a.must(t, "import", "-", "--format", "json")
	assert.InDelta(t, 1_000, document(t, a.out.Bytes()).Data["threads"], 0)
	a.must(t, "export")
	first := bytes.Clone(a.out.Bytes())

	b.Env.Stdin = bytes.NewReader(first)
	b.must(t, "import", "-", "--format", "json")
	assert.Equal(t, true, document(t, b.out.Bytes()).Data["restored"])
	b.must(t, "export")
	require.True(t, bytes.Equal(first, b.out.Bytes()), "the second export differs")
	b.must(t, "doctor", "--format", "json")
	assert.Equal(t, true, document(t, b.out.Bytes()).Data["healthy"])
}

// manyIssues generates issues of beads with dependencies on earlier ones.
func manyIssues(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	statuses := []string{"open", "in_progress", "blocked", "deferred", "closed", "hooked", "odd"}
	var out strings.Builder
	for i := range n {
		var depends []string
		for range r.IntN(3) {
			if i > 0 {
				kind := []string{"blocks", "parent-child", "related", "discovered-from"}[r.IntN(4)]
				depends = append(depends, fmt.Sprintf(`{"issue_id":"g-%d.x","depends_on_id":"g-%d.x","type":%q}`, i, r.IntN(i), kind))
			}
		}
		fmt.Fprintf(&out, `{"id":"g-%d.x","title":"Issue %d: <ü> \u2028","description":%q,"status":%q,"priority":%d,"labels":["l%d"],"created_at":"2026-01-02T10:00:00.%03dZ","dependencies":[%s]}`+"\n",
			i, i, strings.Repeat("text ", r.IntN(200)), statuses[r.IntN(len(statuses))], r.IntN(5), r.IntN(9), r.IntN(1000), strings.Join(depends, ","))
	}
	return out.String()
}
