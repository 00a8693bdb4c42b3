package nearest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/internal/nearest"
)

func TestNameFindsTheIntendedName(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, given string
		known       []string
		want        string
	}{
		{"one letter more", "--alll", []string{"--limit", "--all"}, "--all"},
		{"one letter less", "spwn", []string{"status", "spawn"}, "spawn"},
		{"two letters swapped", "lsit", []string{"lint", "list"}, "list"},
		{"two letters swapped in a flag", "--form", []string{"--format", "--from"}, "--from"},
		{"two of four letters differ", "luxt", []string{"list", "last"}, ""},
		{"two letters swapped in a longer word", "refernece", []string{"resume", "reference"}, "reference"},
		{"two of five letters swapped", "spwan", []string{"status", "spawn"}, "spawn"},
		{"the closest of several", "archiv", []string{"artifacts", "archived", "archive"}, "archive"},
		{"the first of equally close ones", "cat", []string{"car", "can"}, "car"},
		{"a third may differ", "abcdxx", []string{"abcdef"}, "abcdef"},
		{"two of five letters differ", "bogus", []string{"logs"}, ""},
		{"more than a third is no likeness", "abcxxx", []string{"abcdef"}, ""},
		{"the name itself", "list", []string{"lisp", "list"}, "list"},
		{"capitals", "LIST", []string{"last", "List"}, "List"},
		{"nothing was given", "", []string{"a", "list"}, ""},
		{"nothing is known", "list", nil, ""},
		{"a letter of one", "a", []string{"b"}, ""},
		{"a long text", strings.Repeat("x", 5000), []string{"list"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, nearest.Name(c.given, c.known))
		})
	}
}

// TestATextOfAnotherLengthIsNotCompared: a line of many unknown flags, or of one long word,
// is refused at once. Each comparison allocates.
func TestATextOfAnotherLengthIsNotCompared(t *testing.T) {
	known := []string{"objective create", "objective status"}
	for _, given := range []string{"o", strings.Repeat("objective", 3), strings.Repeat("x", 5000)} {
		assert.Zero(t, testing.AllocsPerRun(10, func() { nearest.Name(given, known) }), "%d bytes", len(given))
	}
}
