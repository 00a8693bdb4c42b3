package thread_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

func TestWorkIsHandedOnByWhatAnOperationDid(t *testing.T) {
	t.Parallel()
	a := []thread.ThreadID{"a"}
	type record = map[string]any
	th := func(members record) record {
		r := record{"threadId": "a", "status": "active", "executor": "agent"}
		for k, v := range members {
			r[k] = v
		}
		return r
	}
	claim := func(holder string) record { return record{"holder": holder, "as": "agent"} }
	run := func(phase string) []record { return []record{{"runId": "run-1", "phase": phase}} }
	for name, c := range map[string]struct {
		record        string
		before, after record
		want          []thread.ThreadID
	}{
		"a thread begins":           {"threads/a", nil, th(nil), a},
		"it leaves":                 {"threads/a", th(nil), nil, nil},
		"it is done":                {"threads/a", th(nil), th(record{"status": "completed"}), a},
		"it waits for a person":     {"threads/a", th(nil), th(record{"status": "waiting_human"}), a},
		"it goes on":                {"threads/a", th(record{"status": "suspended"}), th(nil), nil},
		"a person takes it":         {"threads/a", th(nil), th(record{"executor": "human"}), a},
		"its claim is given back":   {"threads/a", th(record{"claim": claim("x")}), th(nil), a},
		"it is handed over":         {"threads/a", th(record{"claim": claim("x")}), th(record{"claim": claim("y"), "handed": []record{{"from": "x", "to": "y", "how": "handed over", "by": record{"actor": "x"}}}}), a},
		"it is claimed":             {"threads/a", th(nil), th(record{"claim": claim("x")}), nil},
		"its claim is renewed":      {"threads/a", th(record{"claim": claim("x")}), th(record{"claim": claim("x")}), nil},
		"it gets a checkpoint":      {"threads/a", th(nil), th(record{"checkpoints": []record{{"checkpointId": "c"}}}), a},
		"it takes something":        {"threads/a", th(nil), th(record{"shared": []record{{"with": "b", "at": 4}}}), a},
		"its run begins":            {"threads/a", th(nil), th(record{"run": run("running")}), nil},
		"its run is parked":         {"threads/a", th(record{"run": run("running")}), th(record{"run": run("parked")}), a},
		"its run ends":              {"threads/a", th(record{"run": run("running")}), th(record{"run": run("ended")}), a},
		"its title changes":         {"threads/a", th(nil), th(record{"title": "T"}), nil},
		"another refers to it":      {"references/r", nil, record{"from": "b", "target": "a"}, []thread.ThreadID{"a", "b"}},
		"a merge is pending":        {"merges/m", nil, record{"target": "c", "sources": []string{"a", "b"}}, []thread.ThreadID{"a", "b", "c"}},
		"a merge is decided":        {"merges/m", record{"target": "c"}, record{"target": "c", "revision": 2}, nil},
		"it asks for an approval":   {"approvals/a", nil, record{"threadId": "a"}, a},
		"a request is decided":      {"approvals/a", record{"threadId": "a"}, record{"threadId": "a", "status": "denied"}, nil},
		"it asks a question":        {"questions/q", nil, record{"threadId": "a"}, a},
		"an objective is created":   {"objectives/o", nil, record{"objectiveId": "o"}, nil},
		"somebody comments on file": {"comments/c", nil, record{"threadId": "a"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, err := json.Marshal(c.before)
			require.NoError(t, err)
			after, err := json.Marshal(c.after)
			require.NoError(t, err)
			assert.Equal(t, c.want, thread.HandedOn([]thread.Change{{Record: c.record, Before: before, After: after}}))
		})
	}
}
