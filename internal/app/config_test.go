package app

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
)

func TestThePageOfTheConfigurationHasEveryKey(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "configuration.md"))
	require.NoError(t, err)
	both, users := ConfigKeys()
	for _, key := range slices.Concat(both, users) {
		where := "both"
		if slices.Contains(users, key) {
			where = "the user's"
		}
		assert.Contains(t, string(page), "| `"+key+"` | "+where+" |")
	}
}

// FuzzConfig: a configuration either is T903, or it has only known keys, each once, and
// the values that any JSON parser finds.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `{"policy":{"merge":"auto"},"mistakeLimit":3,"claimFor":"1h","merge":{"agent":"a b","validate":"c"}}`,
		`{"trust":["/x"],"approvals":{"agentAutoApprove":true}}`, `{"notify":"notify-send leslie","approvals":{"trustAs":true}}`, `{"trust":["x"]}`, `{"merge":{"agent":"x \"y"}}`, `{"claimFor":null}`, `{"merge":{"Agent":"x"},"merge":{}}`, `{"merge":{"agent":"a","agent":"b"}}`,
		`{"Merge":{}}`, `{"code":{"checks":{"test":"make test","a b":"x"}}}`, `{"code":{"checks":{"test":"x \"y"}}}`, `{"merge":null,"policy":null}`, `{"mistakeLimit":1e0}`, `{"claimFor":"-1s"}`, `{} {}`, "{\"merge\": {\"agent\": \"a\", /* b */}, // c\n}", `{"claimFor":"1h"/*,"x":1*/}`, `{"merge":{"agent":"a"},"merge":{"validate":"b"}}`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, users bool) {
		cfg, err := ParseConfig("config.json", slices.Clone(data), users)
		if err != nil {
			require.True(t, codes.Has(err, codes.InvalidArgument), "%v", err)
			return
		}
		data, err = withoutComments(slices.Clone(data))
		require.NoError(t, err)
		var plain map[string]any
		require.NoError(t, json.Unmarshal(data, &plain))
		known := []string{"policy", "mistakeLimit", "claimFor", "merge", "merge.agent", "merge.validate", "code", "code.checks"}
		if users {
			known = append(known, "trust", "approvals", "approvals.agentAutoApprove", "approvals.trustAs", "notify")
		}
		seen := keysOf(t, json.NewDecoder(bytes.NewReader(data)), "")
		for i, key := range seen {
			require.True(t, slices.Contains(known, key) || strings.HasPrefix(key, "policy.") || strings.HasPrefix(key, "code.checks."), "%q", key)
			require.NotContains(t, seen[:i], key, "a key stands twice")
		}
		group := func(name string) map[string]any { m, _ := plain[name].(map[string]any); return m }
		text := func(v any) string { s, _ := v.(string); return s }
		given := func(v *string) string {
			if v == nil {
				return ""
			}
			require.NotEmpty(t, *v)
			return *v
		}
		require.Equal(t, text(group("merge")["agent"]), given(cfg.Merge.Agent))
		require.Equal(t, text(group("merge")["validate"]), given(cfg.Merge.Validate))
		require.Equal(t, group("approvals")["agentAutoApprove"] == true, cfg.Approvals.AgentAutoApprove)
		require.Equal(t, group("approvals")["trustAs"] == true, cfg.Approvals.TrustAs)
		require.Equal(t, text(plain["notify"]), given(cfg.Notify))
		checks, _ := group("code")["checks"].(map[string]any)
		require.Len(t, cfg.Code.Checks, len(checks))
		for name, command := range cfg.Code.Checks {
			require.Equal(t, checks[name], command)
			require.NotEmpty(t, command)
		}
		require.Len(t, cfg.Policy, len(group("policy")))
		for name, v := range cfg.Policy {
			require.Equal(t, group("policy")[name], string(v))
			require.Contains(t, []string{"auto", "require_human"}, string(v))
		}
		if cfg.ClaimFor != nil {
			d, err := time.ParseDuration(text(plain["claimFor"]))
			require.True(t, err == nil && d > 0)
		}
		require.True(t, cfg.MistakeLimit == nil || *cfg.MistakeLimit >= 1)
	})
}

// keysOf returns the keys of an object and of the objects in it, in order.
func keysOf(t *testing.T, dec *json.Decoder, prefix string) (out []string) {
	token, err := dec.Token()
	require.NoError(t, err)
	switch token {
	case json.Delim('['):
		for dec.More() {
			keysOf(t, dec, "")
		}
	case json.Delim('{'):
		for dec.More() {
			key, err := dec.Token()
			require.NoError(t, err)
			out = append(out, prefix+key.(string))
			out = append(out, keysOf(t, dec, prefix+key.(string)+".")...)
		}
	default:
		return nil
	}
	_, err = dec.Token()
	require.NoError(t, err)
	return out
}
