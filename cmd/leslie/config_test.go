package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestThePageOfTheConfigurationHasEveryKey(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	require.NoError(t, err)
	both, users := configKeys()
	for _, key := range slices.Concat(both, users) {
		where := "both"
		if slices.Contains(users, key) {
			where = "the user's"
		}
		assert.Contains(t, string(page), "| `"+key+"` | "+where+" |")
	}
}
