package config

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app"
)

// Every line of the written file that is only a key behind // can be used as it is.
func TestTheWrittenConfigurationIsReadWithAllItsKeys(t *testing.T) {
	t.Parallel()
	for name, agents := range map[string]map[string]app.AgentConfig{
		"without agents": nil,
		"with agents":    {"claude": {Env: map[string]string{"KEY": "a\"b\\c\nd", "OTHER": "x"}}, "qwen": {Env: map[string]string{"KEY": "y"}}},
	} {
		data, err := newUserConfig(agents)
		require.NoError(t, err)
		cfg, err := app.ParseConfig("config.json", slices.Clone(data), true)
		require.NoError(t, err, name)
		if agents == nil {
			assert.Equal(t, app.Config{}, cfg, name)
		} else {
			assert.Equal(t, agents, cfg.Run.Agents, name)
		}
		used := regexp.MustCompile(`(?m)^( *)// ( *["}])`).ReplaceAllString(string(data), "$1$2")
		cfg, err = app.ParseConfig("config.json", []byte(used), true)
		require.NoError(t, err, used)
		both, only := app.ConfigKeys()
		for _, key := range slices.Concat(both, only) {
			_, last, grouped := strings.Cut(key, ".")
			if !grouped {
				last = key
			}
			assert.Contains(t, used, `"`+last+`":`, "%s is missing", key)
		}
		assert.Equal(t, "claude", *cfg.Run.Agent, name)
		assert.NotEmpty(t, cfg.Run.Allow, name)
	}
}

// A file that is no JSON is not searched for comments to any depth.
func TestAConfigurationOfBracketsIsRefused(t *testing.T) {
	t.Parallel()
	_, err := app.ParseConfig("config.json", []byte(strings.Repeat("[", app.MaxConfig)), false)
	require.ErrorContains(t, err, "too many brackets")
}
