package thread

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everyRecord is a value of each table's type, by table.
func everyRecord() map[string]any {
	return map[string]any{
		TableObjectives: &Objective{}, TableThreads: &Thread{}, TableReferences: &Reference{},
		TableApprovals: &Approval{}, TableMerges: &Merge{},
		TableQuestions: &Question{}, TableComments: &Comment{},
	}
}

// fillBlobs gives every BlobID in v its own value; a slice or map gets one element.
func fillBlobs(v reflect.Value, next func() BlobID) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fillBlobs(v.Elem(), next)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillBlobs(v.Field(i), next)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]json.RawMessage]() { // a later leslie's
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillBlobs(v.Index(0), next)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fillBlobs(value, next)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), value)
	case reflect.String:
		if v.Type() == reflect.TypeFor[BlobID]() {
			v.SetString(string(next()))
		}
	}
}

func TestEveryBlobThatARecordNamesIsListed(t *testing.T) {
	t.Parallel()
	require.Len(t, everyRecord(), len(Tables()))
	for table, record := range everyRecord() {
		var want []BlobID
		fillBlobs(reflect.ValueOf(record), func() BlobID {
			want = append(want, BlobID(fmt.Sprintf("blob-%d", len(want))))
			return want[len(want)-1]
		})
		raw, err := json.Marshal(record)
		require.NoError(t, err)
		named, err := BlobsOf(table, raw)
		require.NoError(t, err)
		var got []BlobID
		for _, b := range named {
			got = append(got, b.ID)
			assert.NotEmpty(t, b.By)
			assert.NotEmpty(t, b.Kind)
		}
		assert.ElementsMatch(t, want, got, "%s: add the new field to blobs() of the record", table)
	}
}

func TestARecordThatNamesNoBlobListsNone(t *testing.T) {
	t.Parallel()
	for table, record := range everyRecord() {
		raw, err := json.Marshal(record)
		require.NoError(t, err)
		named, err := BlobsOf(table, raw)
		require.NoError(t, err)
		assert.Empty(t, named, table)
	}
	_, err := BlobsOf(TableThreads, []byte(`{"shared":1}`))
	assert.Error(t, err)
}
