package thread

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fill gives everything in v a value, so that nothing is left out of its JSON.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 2, 9, 12, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Type != reflect.TypeFor[Unknown]() && f.Tag.Get("json") != "-" {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"any":"<thing>"}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("a/b").Convert(v.Type().Key()), value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	}
}

// strange adds an unknown member to every object of a value.
func strange(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = strange(v[name])
		}
		v["strange"] = map[string]any{"deep": []any{1.0, "<two>"}, "n": nil}
	case []any:
		for i := range v {
			v[i] = strange(v[i])
		}
	}
	return v
}

func TestWhatNobodyKnowsIsCarriedByEveryRecord(t *testing.T) {
	t.Parallel()
	records := everyRecord()
	require.Len(t, records, len(Tables()))
	records["pending"], records["quarantined"] = &Pending{}, &Quarantined{}
	for name, record := range records {
		fill(reflect.ValueOf(record).Elem())
		plain, err := Encode(record)
		require.NoError(t, err)
		var tree any
		require.NoError(t, json.Unmarshal(plain, &tree))
		delete(tree.(map[string]any), "decisions") // a map: its keys are no members
		delete(tree.(map[string]any), "declined")
		delete(tree.(map[string]any), "work")
		if undone, ok := tree.(map[string]any)["undone"].(map[string]any); ok {
			delete(undone, "decisions")
		}
		data, err := json.Marshal(strange(tree))
		require.NoError(t, err)

		read := reflect.New(reflect.TypeOf(record).Elem())
		require.NoError(t, Decode(data, read.Interface()))
		written, err := Encode(read.Interface())
		require.NoError(t, err)
		assert.JSONEq(t, string(data), string(written), name)

		known := reflect.New(reflect.TypeOf(record).Elem())
		require.NoError(t, Decode(plain, known.Interface()))
		assert.Equal(t, record, known.Interface(), "%s: nothing is unknown in it", name)
	}
}

func TestADecisionCarriesWhatNobodyKnows(t *testing.T) {
	t.Parallel()
	const data = `{"mergeId":"m","target":"t","sources":[],"strategy":"strict","decisions":{"3c":{"take":"ours","how":"user","mood":"calm"}},"created":{"at":"2026-02-09T12:00:00Z","as":"user","actor":"a"},"revision":1}`
	var m Merge
	require.NoError(t, Decode([]byte(data), &m))
	written, err := Encode(m)
	require.NoError(t, err)
	assert.Equal(t, data, string(written))
	d := m.Decisions["3c"]
	d.Take = "theirs"
	m.Decisions["3c"] = d
	written, err = Encode(m)
	require.NoError(t, err)
	assert.Contains(t, string(written), `"take":"theirs","how":"user","mood":"calm"`)
}

func TestARecordThatIsNoJSONIsNotDecoded(t *testing.T) {
	t.Parallel()
	for _, data := range []string{``, `{`, `[]`, `{"threadId":1}`, `{"threadId":"a"} x`, `{"strange":`} {
		var r Thread
		assert.Error(t, Decode([]byte(data), &r), data)
	}
}
