package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"leslie/codes"
)

// FuzzReorder: wherever the flags of a line stand in front of "--", it says the
// same: the command, its flags and their values, its operands in their order.
func FuzzReorder(f *testing.F) {
	for _, s := range []string{
		"spawn\n--intent\nDo it\n--tag\na\n--tag\nb\n--parent=main", "objective\ncreate\nA title\n--id\nx\n--format\njson",
		"merge\nresolve\nm\nplan.md\n--take\nboth\n--\n-x", "update\nx\n--tag\n-old\n--tag\n+new", "list\n--limit\n0\n--all\n-C\n..",
		"reference\n--from\na\n--target\nb\n--scope\nx/*,y", "status\n--\n--", "history\n-1", "merge\n--sources\na,b\n--target\nc\n--dry-run",
		"status\nx\n--no-input", "objective\nstatus\nx\n--debug", "--version", "list\n--version", "spawn\n--intent\n--approver", "merge\nlst", "merge\nlist", "spawn\n-C\n--x\n--intent\n-y",
	} {
		for seed := range uint64(10) {
			f.Add(s, seed)
		}
	}
	all := commands()
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		written := strings.Split(text, "\n")
		l := lint(all, written)
		alone := lint(commandsFor(written), written)
		require.Equal(t, plainLine(l), plainLine(alone), "%q", written)
		if l.cmd == nil || len(l.faults) > 0 || l.asks() {
			return
		}
		argv := shuffled(l, rand.New(rand.NewPCG(seed, 0)))
		require.Empty(t, lint(all, argv).faults, "%q", argv)
		require.Equal(t, l.reading(), readBy(all, argv), "%q", argv)
	})
}

// plainLine is a line without the pointers in it.
func plainLine(l line) any {
	name := ""
	if l.cmd != nil {
		name = l.cmd.name
	}
	return []any{name, l.group, valuesOf(l), l.operands, l.help, l.version, l.last, l.faults}
}

// shuffled is a line with its flags between its words, in their order. Operands
// that look like flags stand behind "--", and so do those behind them.
func shuffled(l line, r *rand.Rand) (argv []string) {
	words, behind := l.cmd.path(), []string(nil)
	for i, o := range l.operands {
		if isFlag(o) {
			behind = append([]string{"--"}, l.operands[i:]...)
			break
		}
		words = append(words, o)
	}
	flags := l.flags
	for len(words)+len(flags) > 0 {
		if len(flags) == 0 || len(words) > 0 && r.IntN(2) == 0 {
			argv, words = append(argv, words[0]), words[1:]
			continue
		}
		name, value := "--"+flags[0].Name, flags[0].text
		switch {
		case !flags[0].TakesValue() && value == "true" && r.IntN(2) == 0:
			argv = append(argv, name)
		case flags[0].TakesValue() && value != "--" && !strings.HasPrefix(value, "--") && r.IntN(2) == 0:
			argv = append(argv, name, value)
		default:
			argv = append(argv, name+"="+value)
		}
		flags = flags[1:]
	}
	return append(argv, behind...)
}

func valuesOf(l line) (out []string) {
	for _, f := range l.flags {
		out = append(out, f.Name+"="+f.text)
	}
	return out
}

// FuzzConfig: a configuration is refused with T903 or means what it says: every
// key in it is one that leslie knows, none stands twice, and each value is the
// one that any reader of JSON finds.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `{"policy":{"merge":"auto"},"mistakeLimit":3,"claimFor":"1h","merge":{"agent":"a b","validate":"c"}}`,
		`{"trust":["/x"],"approvals":{"agentAutoApprove":true}}`, `{"trust":["x"]}`, `{"merge":{"agent":"x \"y"}}`, `{"claimFor":null}`, `{"merge":{"Agent":"x"},"merge":{}}`, `{"merge":{"agent":"a","agent":"b"}}`,
		`{"Merge":{}}`, `{"merge":null,"policy":null}`, `{"mistakeLimit":1e0}`, `{"claimFor":"-1s"}`, `{} {}`, `{"merge":{"agent":"a"},"merge":{"validate":"b"}}`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, users bool) {
		cfg, err := parseConfig("config.json", data, users)
		if err != nil {
			require.True(t, codes.Has(err, codes.InvalidArgument), "%v", err)
			return
		}
		var plain map[string]any
		require.NoError(t, json.Unmarshal(data, &plain))
		known := []string{"policy", "mistakeLimit", "claimFor", "merge", "merge.agent", "merge.validate"}
		if users {
			known = append(known, "trust", "approvals", "approvals.agentAutoApprove")
		}
		seen := keysOf(t, json.NewDecoder(bytes.NewReader(data)), "")
		for i, key := range seen {
			require.True(t, slices.Contains(known, key) || strings.HasPrefix(key, "policy."), "%q", key)
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

// keysOf are the keys of an object and of those in it, as they stand there.
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
