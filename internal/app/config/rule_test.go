package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app"
	"leslie/internal/permit"
)

func rulesOf(t *testing.T, texts ...string) (out []permit.Rule) {
	t.Helper()
	for _, text := range texts {
		r, err := permit.Parse(text)
		require.NoError(t, err)
		out = append(out, r)
	}
	return out
}

// Whatever the file looks like, all of its bytes stay in their order.
func TestARuleIsAddedAndTheRestOfTheFileStays(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{
		"":                               "{\n  \"run\": {\n    \"always\": [\"Bash(make test)\"]\n  }\n}\n",
		`{}`:                             `{"run": {"always": ["Bash(make test)"]}}`,
		`{"run": {}}`:                    `{"run": {"always": ["Bash(make test)"]}}`,
		`{"run": {"agent": "claude"}}`:   `{"run": {"always": ["Bash(make test)"], "agent": "claude"}}`,
		`{"mistakeLimit": 3}`:            `{"run": {"always": ["Bash(make test)"]}, "mistakeLimit": 3}`,
		`{"run": {"always": []}}`:        `{"run": {"always": ["Bash(make test)"]}}`,
		`{"run": {"always": ["Read"]}}`:  `{"run": {"always": ["Read", "Bash(make test)"]}}`,
		`{"run": {"always": ["Read",]}}`: `{"run": {"always": ["Read", "Bash(make test)",]}}`,
		"{\n\t\"run\": {\n\t\t\"agent\": \"claude\" // mine\n\t}\n}\n":              "{\n\t\"run\": {\n\t\t\"always\": [\"Bash(make test)\"],\n\t\t\"agent\": \"claude\" // mine\n\t}\n}\n",
		"{\n  \"run\": {\n    \"always\": [\n      \"Read\" // all\n    ]\n  }\n}":  "{\n  \"run\": {\n    \"always\": [\n      \"Read\", // all\n      \"Bash(make test)\"\n    ]\n  }\n}",
		"{\n  \"run\": {\n    \"always\": [\n      \"Read\", // all\n    ]\n  }\n}": "{\n  \"run\": {\n    \"always\": [\n      \"Read\", // all\n      \"Bash(make test)\",\n    ]\n  }\n}",
		"{\"run\": {\"always\": [\"Read\" /* one\n two */ ]}}":                      "{\"run\": {\"always\": [\"Read\", \"Bash(make test)\" /* one\n two */ ]}}",
		"{ // {\"run\": 1}\n}": "{\n\"run\": {\"always\": [\"Bash(make test)\"]} // {\"run\": 1}\n}",
	} {
		got, err := WithRules("config.json", []byte(before), rulesOf(t, "Bash(make test)"))
		require.NoError(t, err, before)
		assert.Equal(t, after, string(got))
	}
	whole, err := newUserConfig(map[string]app.AgentConfig{"claude": {Env: map[string]string{"KEY": "x"}}})
	require.NoError(t, err)
	got, err := WithRules("config.json", whole, rulesOf(t, "Bash(make test)"))
	require.NoError(t, err)
	added := "    \"always\": [\"Bash(make test)\"],\n"
	assert.Equal(t, string(whole), strings.Replace(string(got), added, "", 1))
}

func TestNoRuleIsAddedToWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"{", `{"colour": 1}`, `{"run": {"always": "Read"}}`, `[]`, `{"run": {"always": ["Sing"]}}`} {
		_, err := WithRules("config.json", []byte(before), rulesOf(t, "Bash(make)"))
		require.Error(t, err, before)
	}
}
