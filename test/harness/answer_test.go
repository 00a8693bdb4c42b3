package harness

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnAnswerIsOneDocument(t *testing.T) {
	t.Parallel()
	doc, err := Read([]byte(`{"success":false,"revision":7,"error":{"code":"T101","next":["leslie list"],"details":{"changed":false}},"warnings":[{"code":"W502"}]}` + "\n"))
	require.NoError(t, err)
	assert.Equal(t, int64(7), doc.At())
	assert.Equal(t, "T101", doc.Code())
	assert.Equal(t, []string{"leslie list"}, doc.Error.Next)
	assert.Equal(t, false, doc.Error.Details["changed"])
	assert.True(t, doc.Warned("W502"))
	assert.False(t, doc.Warned("W501"))

	for name, stdout := range map[string]string{
		"nothing":       "",
		"text":          "created\n",
		"cut off":       `{"success":true`,
		"two documents": `{"success":true} {"success":true}`,
		"a tail":        `{"success":true} panic: x`,
	} {
		_, err := Read([]byte(stdout))
		assert.Error(t, err, name)
	}
}

func TestNoDocumentHasNoCode(t *testing.T) {
	t.Parallel()
	var none *Document
	assert.Empty(t, none.Code())
	assert.False(t, none.Warned("W502"))
	assert.Zero(t, none.At())
	assert.Zero(t, (&Document{}).At())
	assert.Empty(t, (&Document{Success: true}).Code())
}
