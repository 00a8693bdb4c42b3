package agent_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/agent"
	"leslie/codes"
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
		got, err := agent.Split(command)
		require.NoError(t, err, "%s", command)
		assert.Equal(t, want, got, "%s", command)
	}
}

func TestACommandLineThatCannotBeSplitIsRefused(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"", "   ", "agent 'open", `agent "open`, `agent \`} {
		_, err := agent.Split(command)
		require.Error(t, err, "%q", command)
		assert.True(t, codes.Has(err, codes.InvalidArgument), "%q: %v", command, err)
		_, err = agent.Run(t.Context(), agent.Job{Command: command})
		assert.True(t, codes.Has(err, codes.InvalidArgument), "%q: %v", command, err)
	}
}
