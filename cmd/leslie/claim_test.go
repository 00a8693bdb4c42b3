package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// at sets the clock to a time after the bench's noon.
func (b *bench) at(after time.Duration) {
	b.Now = func() time.Time { return time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC).Add(after) }
}

// held returns who has claimed main until when, or "".
func (b *bench) held(t *testing.T) (holder, until string) {
	t.Helper()
	b.must(t, "status", "main", "--format", "json")
	claim, _ := document(t, b.out.Bytes()).Data["claim"].(map[string]any)
	holder, _ = claim["holder"].(string)
	until, _ = claim["until"].(string)
	return holder, until
}

func TestTheHoldersWritesProlongTheClaim(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.asAgent("a1", "")
	b.must(t, "claim", "main")
	b.at(29 * time.Minute)
	b.must(t, "update", "main", "--tag", "+early")
	_, until := b.held(t)
	assert.Equal(t, "2026-02-09T17:00:00Z", until, "more than half is left")

	b.at(40 * time.Minute)
	b.must(t, "list", "--parent", "main")
	b.must(t, "update", "main", "--tag", "+early") // changes nothing
	b.must(t, "inject", "main", "--type", "data", "--content", "y", "--actor", "a2")
	b.must(t, "update", "part", "--tag", "+other")
	_, until = b.held(t)
	assert.Equal(t, "2026-02-09T17:00:00Z", until, "neither reading, nor others, nor other work")

	b.must(t, "history", "--limit", "1", "--format", "json")
	before := *document(t, b.out.Bytes()).Revision
	b.must(t, "inject", "main", "--type", "data", "--content", "x", "--format", "json")
	assert.Equal(t, before+1, *document(t, b.out.Bytes()).Revision, "in the same operation")
	holder, until := b.held(t)
	assert.Equal(t, []string{"a1", "2026-02-09T17:40:00Z"}, []string{holder, until})

	b.at(3 * time.Hour)
	holder, _ = b.held(t)
	assert.Empty(t, holder)
	b.must(t, "update", "main", "--tag", "+late")
	holder, _ = b.held(t)
	assert.Empty(t, holder, "what has run out is renewed, not prolonged")
	b.must(t, "renew", "main")
	_, until = b.held(t)
	assert.Equal(t, "2026-02-09T20:00:00Z", until)
}

func TestABatchOfTheHolderProlongsTheClaim(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.asAgent("a1", "")
	b.must(t, "claim", "main", "--for", "10m")
	b.at(6 * time.Minute)
	b.write(t, "lines", `["update", "main", "--tag", "+x"]`+"\n"+`["update", "part", "--tag", "+x"]`+"\n")
	b.must(t, "batch", "lines")
	_, until := b.held(t)
	assert.Equal(t, "2026-02-09T16:16:00Z", until)
}

func TestAClaimThatHasRunOutIsAnybodys(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.asAgent("a1", "")
	b.must(t, "claim", "main", "--for", "10m")
	b.asAgent("a2", "")
	b.at(10*time.Minute - time.Millisecond)
	require.Equal(t, 11, b.leslie("claim", "main", "--format", "json"))
	e := document(t, b.out.Bytes()).Error
	assert.Equal(t, "T108", e.Code)
	assert.InDelta(t, 1, e.Details["retryAfterMs"], 0)
	b.at(10 * time.Minute)
	b.must(t, "release", "main", "--format", "json")
	released := document(t, b.out.Bytes()).Data
	assert.Equal(t, []any{"main", nil, nil, false}, []any{released["threadId"], released["holder"], released["until"], released["changed"]})
	b.must(t, "list", "--ready", "--format", "json")
	assert.InDelta(t, 2, document(t, b.out.Bytes()).Data["total"], 0)
	b.must(t, "claim", "--next", "--format", "json")
	data := document(t, b.out.Bytes()).Data
	assert.Equal(t, []any{"main", "a2", "2026-02-09T17:10:00Z"}, []any{data["threadId"], data["holder"], data["until"]})
	b.asAgent("a1", "")
	assert.Equal(t, 11, b.leslie("renew", "main"))
}

func TestHowLongAClaimHoldsIsConfigured(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	until := func(args ...string) string {
		t.Helper()
		b.must(t, append([]string{"claim", "main", "--format", "json"}, args...)...)
		text, _ := document(t, b.out.Bytes()).Data["until"].(string)
		b.must(t, "release", "main")
		return text
	}
	assert.Equal(t, "2026-02-09T17:00:00Z", until())
	b.write(t, ".leslie/config.json", `{"claimFor": "40m"}`)
	assert.Equal(t, "2026-02-09T16:40:00Z", until())
	require.NoError(t, os.MkdirAll(filepath.Join(b.Home, ".leslie"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(b.Home, ".leslie", "config.json"), []byte(`{"claimFor": "30m"}`), 0o600))
	assert.Equal(t, "2026-02-09T16:30:00Z", until(), "the user's own stands over the project's")
	assert.Equal(t, "2026-02-09T18:00:00Z", until("--for", "2h"))
}

func TestABatchClaimsOneThreadAfterTheOther(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.asAgent("a1", "")
	b.write(t, "lines", "[\"claim\", \"--next\"]\n[\"claim\", \"--next\"]\n[\"claim\", \"--next\"]\n")
	b.must(t, "batch", "lines", "--format", "json")
	var got []any
	for _, item := range document(t, b.out.Bytes()).Data["items"].([]any) {
		got = append(got, item.(map[string]any)["data"].(map[string]any)["threadId"])
	}
	assert.Equal(t, []any{"main", "part", nil}, got)
}

func TestAnAgentWhoseNameIsUnknownIsToldTheLineToRun(t *testing.T) {
	t.Parallel()
	for line, next := range map[string]string{
		"claim main --for 20m --thread part": `^leslie claim main --for 20m --thread part --actor agent-\d+$`,
		"claim --next --as agent":            `^leslie --as agent claim --next --actor agent-\d+$`,
		"renew main":                         "^leslie status main$",
		"release main":                       "^leslie status main$",
	} {
		b := newProject(t)
		b.vars["CLAUDECODE"] = "1"
		require.Equal(t, 2, b.leslie(append(strings.Fields(line), "--format", "json")...), line)
		failure := document(t, b.out.Bytes()).Error
		assert.Equal(t, "T903", failure.Code, line)
		assert.Contains(t, failure.Message, "no name could be derived for it", line)
		require.NotEmpty(t, failure.Next, line)
		assert.Regexp(t, next, failure.Next[0], line)
		b.must(t, strings.Fields(failure.Next[0])[1:]...)
	}
	b := newProject(t)
	b.vars["CLAUDECODE"] = "1"
	require.Equal(t, 2, b.leslie("claim", "main", "--for", "never", "--format", "json"))
	assert.Equal(t, []string{"leslie help claim"}, document(t, b.out.Bytes()).Error.Next, "the name is not the only fault")
	b.must(t, "update", "main", "--title", "Any", "--format", "json") // who claims nothing needs no name
}
