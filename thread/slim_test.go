package thread_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

const longIntent = "\"Say \\\"it\\\" <at> length. \\u2028"

func change(before, after string) thread.Change {
	return thread.Change{Record: "threads/a", Before: json.RawMessage(before), After: json.RawMessage(after)}
}

func TestAChangeDoesNotRepeatLongTextsThatItLeavesAlone(t *testing.T) {
	t.Parallel()
	text := longIntent + strings.Repeat("x", 300) + `"`
	list := `[` + strings.Repeat(`{"with":"b","at":1},`, 30) + `{"with":"c","at":2}]`
	before := `{"threadId":"a","intent":` + text + `,"status":"active","dependsOn":` + list + `,"shared":` + list + `,"revision":1}`
	after := `{"threadId":"a","title":"new","intent":` + text + `,"status":"suspended","dependsOn":` + list + `,"shared":` + list + `,"revision":2}`
	c := change(before, after)
	slim := c.Slim()
	assert.Equal(t, []string{"intent", "shared"}, slim.Same, "undo looks into dependsOn")
	assert.Contains(t, string(slim.After), `"intent":null`)
	assert.Contains(t, string(slim.Before), `"shared":null`)
	assert.JSONEq(t, after, string(slim.Whole(json.RawMessage(before))))
	assert.Equal(t, after, string(slim.Whole(json.RawMessage(before))), "to the byte")
	assert.Equal(t, slim, slim.Slim(), "once is enough")

	for name, c := range map[string]thread.Change{
		"a new record":        change("", after),
		"one that left":       change(before, ""),
		"a short one":         change(`{"threadId":"a"}`, `{"threadId":"a","title":"x"}`),
		"a changed text":      change(before, strings.ReplaceAll(after, "length", "lengthy")),
		"not leslie's form":   change(before, strings.ReplaceAll(after, `,"status"`, ` , "status"`)),
		"what is no object":   change("["+text+"]", "["+text+"]"),
		"what is no JSON":     change(text+"}", text+"}"),
		"both are not a text": change(`{"a":`+list+`}`, `{"a":`+list+`}`),
	} {
		got := c.Slim()
		assert.Equal(t, string(c.After), string(got.Whole(c.Before)), name)
		if name != "a changed text" {
			assert.Nil(t, got.Same, name)
		}
	}
}

// A record that is gone gives back what the change itself says.
func TestASlimChangeOfARecordThatIsGone(t *testing.T) {
	t.Parallel()
	text := longIntent + strings.Repeat("x", 300) + `"`
	slim := change(`{"threadId":"a","intent":`+text+`,"status":"active"}`, `{"threadId":"a","intent":`+text+`,"status":"done"}`).Slim()
	require.NotEmpty(t, slim.Same)
	assert.Equal(t, `{"threadId":"a","intent":null,"status":"done"}`, string(slim.Whole(nil)))
	assert.Equal(t, `{"threadId":"a","intent":null,"status":"done"}`, string(slim.Whole(json.RawMessage(`{"threadId":"a"}`))))
}

func TestParametersDoNotRepeatWhatARecordHolds(t *testing.T) {
	t.Parallel()
	text := longIntent + strings.Repeat("y", 300) + `"`
	params := json.RawMessage(`{"id":"a","intent":` + text + `,"list":[` + text + `],"other":"` + strings.Repeat("z", 300) + `"}`)
	changes := []thread.Change{change("", `{"threadId":"b"}`), change("", `{"threadId":"a","intent":`+text+`}`)}
	slim, texts := thread.SlimParams(params, changes)
	assert.Equal(t, map[string]string{"intent": "threads/a/intent"}, texts)
	assert.Less(t, len(slim), len(params)-300)
	assert.Equal(t, string(params), string(thread.WholeParams(slim, texts, changes)), "to the byte: a request is known by it")

	for _, params := range []string{``, `{"intent":"short"}`, `{ "intent":` + text + `}`, `[` + text + `]`, text} {
		slim, texts := thread.SlimParams(json.RawMessage(params), changes)
		assert.Equal(t, params, string(slim))
		assert.Nil(t, texts)
	}
	assert.Equal(t, `{"intent":null}`, string(thread.WholeParams(json.RawMessage(`{"intent":null}`), map[string]string{"intent": "threads/none/intent"}, changes)))
	assert.Equal(t, `{"intent":null}`, string(thread.WholeParams(json.RawMessage(`{"intent":null}`), map[string]string{"intent": "odd"}, changes)))
}
