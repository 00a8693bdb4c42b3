package agents

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/acp"
)

func TestTheFirstLinesOfWhatAToolAnsweredAreFoundWhereAgentsSayIt(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		`{"content":[{"type":"content","content":{"type":"text","text":"` + "```" + `\n\nno such file\nline 2\nline 3"}}]}`: {"no such file", "line 2"},
		`{"rawOutput":"permission denied\n"}`:                             {"permission denied"},
		`{"rawOutput":{"exitCode":1,"stderr":"boom","stdout":"first"}}`:   {"boom", "first"},
		`{"rawOutput":{"error":"not found"},"content":[{"type":"diff"}]}`: {"not found"},
		`{"rawOutput":[1,2]}`: nil,
		`{}`:                  nil,
	} {
		var call acp.ToolCall
		require.NoError(t, json.Unmarshal([]byte(raw), &call), raw)
		assert.Equal(t, want, OutputOf(call, 2), raw)
	}
}
