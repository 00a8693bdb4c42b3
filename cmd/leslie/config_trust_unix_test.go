//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What would run is shown to the person at the terminal before the question, whole and with
// characters that do nothing there.
func TestConfigTrustAsksAPerson(t *testing.T) {
	t.Parallel()
	const asks = "May they run?"
	long := "run " + strings.Repeat("x", 200)
	for _, tt := range []struct {
		name    string
		lines   []string
		args    []string
		asked   int
		trusted bool
	}{
		{"yes", []string{"yes"}, nil, 1, true},
		{"no", []string{"no"}, nil, 1, false},
		{"another word", []string{"perhaps", "y"}, nil, 2, true},
		{"the terminal is closed", []string{"\x04"}, nil, 1, false},
		{"nobody is to be asked", nil, []string{"--no-input"}, 0, false},
		{"--yes", nil, []string{"--yes"}, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			b.write(t, ".leslie/config.json", `{"merge":{"validate":"`+long+`","agent":"a\u001b[2Jb"}}`)
			shown, _ := typing(t, b, []string{noColours}, tt.lines, append([]string{"config", "trust"}, tt.args...)...)
			assert.Equal(t, tt.asked, strings.Count(shown, asks), shown)
			before, _, _ := strings.Cut(shown, asks)
			assert.Contains(t, before, "merge.validate = "+long)
			assert.NotContains(t, shown, "\x1b[2J")
			b.must(t, "config", "path", "--format", "json")
			assert.Equal(t, tt.trusted, strings.Contains(b.out.String(), `"trusted":true`), b.out.String())
		})
	}
}
