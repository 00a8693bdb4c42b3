//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests repair a store with a person at a real pseudo-terminal.

const (
	askRebuild = "Run leslie doctor --repair?"
	offers     = "Rebuild the state from the journal; damaged files are moved aside"
)

func TestDoctorOffersAPersonWhatCanBeDone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		damaged  []string
		lines    []string
		args     []string
		asked    int
		repaired bool
	}{
		{"both files damaged, yes", []string{"", ".bak"}, []string{"yes"}, nil, 1, true},
		{"its first letter, after another word", []string{"", ".bak"}, []string{"perhaps", "y"}, nil, 2, true},
		{"no", []string{"", ".bak"}, []string{"no"}, nil, 1, false},
		{"quit", []string{"", ".bak"}, []string{"quit"}, nil, 1, false},
		{"the terminal is closed", []string{"", ".bak"}, []string{"\x04"}, nil, 1, false},
		{"nobody is to be asked", []string{"", ".bak"}, nil, []string{"--no-input"}, 0, false},
		{"the state alone", []string{""}, []string{"yes"}, nil, 1, true},
		{"nothing is damaged", nil, nil, nil, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			state := filepath.Join(b.Dir, ".leslie", "thread_relations.json")
			for _, end := range tt.damaged {
				require.NoError(t, os.WriteFile(state+end, []byte("{"), 0o644))
			}
			shown, status := typing(t, b, nil, tt.lines, append([]string{"doctor"}, tt.args...)...)
			assert.Equal(t, tt.repaired, status == 0, shown)
			assert.LessOrEqual(t, strings.Count(shown, "\nhealthy\n"), 1, shown)
			assert.Equal(t, tt.asked, strings.Count(shown, askRebuild), shown)
			if first, _, asked := strings.Cut(shown, askRebuild); asked {
				assert.Contains(t, first, "thread_relations.json", "what is wrong stands before the question")
				assert.Equal(t, len(tt.damaged) == 2, strings.Contains(first, offers), shown)
			}
			assert.Equal(t, tt.repaired, b.leslie("list") == 0 && b.leslie("doctor") == 0 && !strings.Contains(b.out.String(), "not healthy"), b.out.String())
			raw, err := os.ReadFile(state)
			require.NoError(t, err)
			assert.Equal(t, tt.repaired, string(raw) != "{")
		})
	}
}
