package store_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store/internal/journal"
	"leslie/store/internal/jsonl"
	"leslie/store/internal/statefile"
	"leslie/thread"
)

func TestTheExamplesOfTheDocumentationAreReal(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/internals/store.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 6)
	m, err := statefile.Decode([]byte(blocks[0][1]))
	require.NoError(t, err)
	assert.Equal(t, thread.Revision(2), m.Revision)
	e, ok := journal.Read([]byte(strings.TrimSpace(blocks[1][1])))
	require.True(t, ok)
	assert.Equal(t, m.Operation.ID, e.ID)
	for _, block := range blocks[1:4] {
		assert.True(t, jsonl.Intact([]byte(strings.TrimSpace(block[1]))), block[1])
	}
	dec := json.NewDecoder(strings.NewReader(blocks[4][1]))
	dec.DisallowUnknownFields()
	var merge thread.Merge
	require.NoError(t, dec.Decode(&merge), "a pending merge has these keys")
	assert.Equal(t, thread.MergeID("merge-fij3aiu2"), merge.ID)
	dec = json.NewDecoder(strings.NewReader(blocks[5][1]))
	dec.DisallowUnknownFields()
	var grant thread.Approval
	require.NoError(t, dec.Decode(&grant), "a grant has these keys")
	assert.Equal(t, thread.ApprovalID("appr-k3v7q2ma"), grant.ID)
}
