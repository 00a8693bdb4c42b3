package cli

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestABuildWithoutAVersionHasTheOneThatGoKnows(t *testing.T) {
	t.Parallel()
	built := func(version string) func() (*debug.BuildInfo, bool) {
		return func() (*debug.BuildInfo, bool) {
			return &debug.BuildInfo{Main: debug.Module{Version: version}}, version != "none"
		}
	}
	assert.Equal(t, "1.2.3", versionOf("1.2.3", built("v1.0.0")))
	assert.Equal(t, "v1.0.0", versionOf("dev", built("v1.0.0")))
	for _, unknown := range []string{"", "(devel)", "none"} {
		assert.Equal(t, "dev", versionOf("dev", built(unknown)))
	}
}
