package source_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// This file checks that the program contains certain modules. The people who ordered
// leslie asked for them; only they can agree to own code instead.

func TestTheProgramContainsTheLibrariesThatItWasOrderedWith(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-deps", "-tags", harness.Tags, "leslie/cmd/leslie")
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	for _, wanted := range []string{"github.com/urfave/cli/v2", "github.com/google/renameio/v2", "github.com/gofrs/flock"} {
		assert.Contains(t, packages, wanted, "the shipped program does not contain it")
	}
	for _, path := range packages {
		assert.False(t, within(path, "github.com/stretchr/testify") || path == "testing", "%s is for tests, and the shipped program contains it", path)
	}
}

func TestTheTestsOfEveryPackageUseTestify(t *testing.T) {
	t.Parallel()
	uses := map[string]bool{}
	for _, f := range projectTree(t).files {
		if !f.isTest {
			continue
		}
		uses[f.dir] = uses[f.dir] || f.imports()["github.com/stretchr/testify/require"] != nil || f.imports()["github.com/stretchr/testify/assert"] != nil
	}
	require.NotEmpty(t, uses)
	for dir, does := range uses {
		assert.True(t, does, "the tests of %s assert by testify: require for what must hold to go on, assert for facts", dir)
	}
}
