package external_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/external"
)

func TestACommandLineIsSplitWithoutAShell(t *testing.T) {
	t.Parallel()
	for command, want := range map[string][]string{
		"agent":                         {"agent"},
		"  agent  --fast  ":             {"agent", "--fast"},
		`agent 'two words' "and $HOME"`: {"agent", "two words", "and $HOME"},
		`agent a\ b ''`:                 {"agent", "a b", ""},
		`agent * ; rm -rf | > x`:        {"agent", "*", ";", "rm", "-rf", "|", ">", "x"},
	} {
		got, err := external.Split(command)
		require.NoError(t, err, "%s", command)
		assert.Equal(t, want, got, "%s", command)
	}
}

func TestACommandLineThatCannotBeSplitIsRefused(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"", "   ", "agent 'open", `agent "open`, `agent \`} {
		_, err := external.Split(command)
		require.Error(t, err, "%q", command)
		assert.True(t, codes.Has(err, codes.InvalidArgument), "%q: %v", command, err)
		_, err = external.Run(t.Context(), external.Job{Command: command})
		assert.True(t, codes.Has(err, codes.InvalidArgument), "%q: %v", command, err)
	}
}
