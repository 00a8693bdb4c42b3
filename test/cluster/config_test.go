package cluster_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/cluster"
)

func TestOperatorsReadTheConfigurationThatIsTested(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/machines.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), "```\n"+cluster.Config+"```\n", "docs/machines.md shows another file than leslie.conf")
}
