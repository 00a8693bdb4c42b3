package screen

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryColourIsReadableOnWhiteAndOnBlack(t *testing.T) {
	t.Parallel()
	for _, colour := range palette() {
		index, err := strconv.Atoi(strings.TrimPrefix(string(colour), "38;5;"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, index, 16, "the colours below are the terminal's own")
		l := luminance(index)
		assert.GreaterOrEqual(t, 1.05/(l+0.05), 4.5, "%s on white", colour)
		assert.GreaterOrEqual(t, (l+0.05)/0.05, 4.5, "%s on black", colour)
	}
}

func palette() []style { return []style{dim, red, green, magenta, blue} }

// TestScreensHaveNoOtherColours: none whose contrast another test does not compute.
func TestScreensHaveNoOtherColours(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.golden")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`␛\[([0-9;]*)m`).FindAllStringSubmatch(string(raw), -1) {
			code := style(strings.TrimPrefix(found[1], string(bold)+";"))
			seen[string(code)] = true
			assert.Contains(t, append(palette(), bold, "0"), code, file)
		}
	}
	assert.True(t, seen["1"] && seen[SGRGrey] && seen[SGRGreen], "%v", seen)
}

// luminance is the relative luminance, by WCAG 2, of a colour of xterm's table: from 16 on
// a cube of six values each of red, green and blue, from 232 on greys.
func luminance(index int) float64 {
	linear := func(value int) float64 {
		c := float64(value) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	if index >= 232 {
		return linear(8 + 10*(index-232))
	}
	steps := [...]int{0, 95, 135, 175, 215, 255}
	cube := index - 16
	return 0.2126*linear(steps[cube/36]) + 0.7152*linear(steps[cube/6%6]) + 0.0722*linear(steps[cube%6])
}
