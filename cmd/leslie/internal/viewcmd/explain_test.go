package viewcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/warnings"
)

// TestEveryCodeHasOneMessage: explain and docs/reference/codes.md show the message that an error with
// its facts has, with the names of its details in place of their values.
func TestEveryCodeHasOneMessage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "reference", "codes.md"))
	require.NoError(t, err)
	var all []explained
	for _, e := range codes.Table() {
		all = append(all, explainError(e))
	}
	for _, e := range warnings.Table() {
		all = append(all, explainWarning(e))
	}
	require.Greater(t, len(all), 100)
	for _, e := range all {
		_, section, _ := strings.Cut(string(raw), "\n### "+e.Code+"\n")
		_, quote, _ := strings.Cut(section, "\n> ")
		quote, _, _ = strings.Cut(quote, "\n")
		assert.Equal(t, quote, e.Message, "%s", e.Code)
		_, row, _ := strings.Cut(string(raw), "| `"+e.Kind+"` | ")
		row, _, _ = strings.Cut(row, " |")
		assert.True(t, strings.HasPrefix(e.Message, row), "the overview says of %s: %s", e.Code, row)
	}
}
