package importing

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/thread"
)

func TestIDsStayApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 80)
	ids := []string{"a.b", "a/b", "a-b", "A.B", "", "..", "_x", "con", long + "1", long + "2", "ok", "a-b-2"}
	m := newIDs(ids)
	seen := map[string]string{}
	for _, id := range ids {
		to := m.to[id]
		assert.True(t, thread.ValidID(to), "%q -> %q", id, to)
		assert.NoError(t, thread.ReservedName(to))
		other, twice := seen[strings.ToLower(to)]
		assert.False(t, twice, "%q and %q both became %q", id, other, to)
		seen[strings.ToLower(to)] = id
	}
	for _, same := range []string{"a.b", "a-b", "ok", "a-b-2"} {
		assert.Equal(t, same, m.to[same])
	}
	assert.Len(t, m.renamed(ids), len(ids)-4)
}
