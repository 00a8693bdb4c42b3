package filework

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestALineIsFoundWhereverItStands(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a long line ", 1000) // longer than any buffer
	for _, tt := range []struct {
		text string
		has  bool
	}{
		{"", false}, {"\n", false}, {long, true}, {long + "\n", true}, {"x\n" + long + "\ny\n", true}, {long + "\n\n", true},
		{long + "y\n", false}, {"y" + long + "\n", false}, {long[:5000] + "\n" + long[5000:] + "\n", false}, {long[1:], false},
		{long + long + "\n" + long, true}, {"\r\n" + long + "\r\n", false},
	} {
		name := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(name, []byte(tt.text), 0o600))
		f, err := os.Open(name)
		require.NoError(t, err)
		has, err := holdsLine(f, long)
		require.NoError(t, err)
		assert.Equal(t, tt.has, has, "%.20q of %d", tt.text, len(tt.text))
		require.NoError(t, f.Close())
	}
}
