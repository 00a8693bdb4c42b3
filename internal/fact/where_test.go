package fact_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/fact"
)

func TestWhereATextStopsBeingJSONIsSaid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{":                             "line 1, column 2",
		"":                              "",
		"x":                             "line 1, column 1",
		"{\n  \"a\": 1,\n  \"b\": x}":   "line 3, column 8, in the value of b",
		"{\"a\": {\"b\": [1, 2, {\"c\"": "line 1, column 24, in the value of a.b.c",
		"{\"a\": {\"b\": 1},\n\"d\" 2}": "line 2, column 5, in the value of d",
		"{\"a\": [1, 2], }":             "line 1, column 15, in the value of a",
		"{\"a\": \"line\nbreak\"}":      "line 1, column 12, in the value of a",
	} {
		var v any
		err := json.Unmarshal([]byte(text), &v)
		require.Error(t, err)
		if text != "" {
			assert.Equal(t, want, fact.Where([]byte(text), err), text)
		}
	}
	assert.Empty(t, fact.Where(nil, assert.AnError))
}
