package harness

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFilesThatDifferAreNamed(t *testing.T) {
	t.Parallel()
	want := map[string]string{"a": "1", "b": "2"}
	assert.Empty(t, Differing(want, want))
	assert.Equal(t, []string{"b is missing"}, Differing(want, map[string]string{"a": "1"}))
	assert.Equal(t, []string{"b differs: 2 bytes, expected 1"}, Differing(want, map[string]string{"a": "1", "b": "22"}))
	assert.Equal(t, []string{"a is missing", "b is missing", "c is unexpected"}, Differing(want, map[string]string{"c": ""}))
}
