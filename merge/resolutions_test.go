package merge_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

func TestResolutionsAreRead(t *testing.T) {
	t.Parallel()
	got, err := merge.ParseResolutions([]byte(`[{"conflictId":"a","choice":"text","text":"","reason":"ré\n"},
		{"reason":"r","conflictId":"b"}, {"conflictId":"c","choice":"ours","text":null,"reason":null}]` + "\n"))
	require.NoError(t, err)
	assert.Equal(t, []merge.Resolution{{ConflictID: "a", Choice: "text", HasText: true, Reason: "ré\n"},
		{ConflictID: "b", Reason: "r"}, {ConflictID: "c", Choice: "ours"}}, got)
	got, err = merge.ParseResolutions([]byte("[]"))
	require.NoError(t, err)
	assert.Empty(t, got)
}

func TestResolutionsAreStrict(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		``:                        "it ends where an array of objects is expected",
		`{}`:                      "an array of objects is expected",
		`null`:                    "an array of objects is expected",
		`["a"]`:                   "entry 1: an object is expected",
		`[{"conflictId":"a"}`:     "it ends where the end of the array is expected",
		`[{"conflictId":"a"}] []`: "something follows after the array",
		`[{"conflictId":"a"}] x`:  "something follows after the array",
		`[{"conflictId":"a"},]`:   "it is not valid JSON",
		`[{"conflictId":"a"},{}]`: "entry 2: conflictId is missing",
		`[{"conflictId":null}]`:   "conflictId is missing",
		`[{"conflictId":"a"},{"conflictId":"a"}]`:     `entry 2: conflict "a" is named twice`,
		`[{"conflictId":"a","conflictId":"b"}]`:       `"conflictId" is named twice`,
		`[{"conflictId":"a","text":"1","text":null}]`: `"text" is named twice`,
		`[{"conflictid":"a"}]`:                        `"conflictid" is not a key`,
		`[{"conflictId":"a","why":"b"}]`:              `"why" is not a key`,
		`[{"conflictId":1}]`:                          `"conflictId" is not a string`,
		`[{"conflictId":"a","text":["x"]}]`:           `"text" is not a string`,
		`[{"conflictId":"a","text":true}]`:            `"text" is not a string`,
		"[{\"conflictId\":\"\xff\"}]":                 "it is not UTF-8",
		`[{"conflictId":"a` + "\n" + `"}]`:            "it is not valid JSON",
		strings.Repeat(" ", 32<<20) + "[]":            "it is longer than",
		strings.Repeat("[", 100_000):                  "entry 1: an object is expected",
	} {
		got, err := merge.ParseResolutions([]byte(data))
		assert.ErrorContains(t, err, want, "%.60q", data)
		assert.Nil(t, got)
	}
}

func FuzzResolutions(f *testing.F) {
	for _, seed := range []string{`[]`, `[{"conflictId":"a","choice":"text","text":"x","reason":"y"}]`, `[{"conflictId":"a"},{"conflictId":"a"}]`,
		`[{"conflictId":"a","Text":"x"}]`, `[{"conflictId":"\ud800","choice":null}] `, `[{"conflictId":"a"`, `{"a":1}`, `[[[[`, "\ufeff[]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := merge.ParseResolutions(data)
		if err != nil {
			require.Nil(t, got)
			require.NotEmpty(t, err.Error())
			return
		}
		require.True(t, utf8.Valid(data))
		var plain []struct {
			ConflictID string  `json:"conflictId"`
			Choice     string  `json:"choice"`
			Text       *string `json:"text"`
			Reason     string  `json:"reason"`
		}
		require.NoError(t, json.Unmarshal(data, &plain), "what is taken is JSON")
		require.Len(t, got, len(plain))
		seen := map[string]bool{}
		for i, r := range got {
			want := merge.Resolution{ConflictID: plain[i].ConflictID, Choice: plain[i].Choice, Reason: plain[i].Reason, HasText: plain[i].Text != nil}
			if plain[i].Text != nil {
				want.Text = *plain[i].Text
			}
			require.Equal(t, want, r)
			require.NotEmpty(t, r.ConflictID)
			require.False(t, seen[r.ConflictID])
			seen[r.ConflictID] = true
		}
	})
}
