package store

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// sample is a state file as leslie writes it.
func sample(f testing.TB) []byte {
	op := &operation{entry: entry{Operation: thread.Operation{Seq: 7, ID: "op-x", Time: noon, Changes: []thread.Change{{Record: "threads/a", After: []byte(`{}`)}}}}}
	m := image{revision: 7, operation: op, records: thread.Records{
		thread.TableThreads: {{ID: "a", JSON: []byte(`{"threadId":"a"}`)}, {ID: "b", JSON: []byte(`{"threadId":"b"}`)}},
	}}
	data, err := m.encode()
	require.NoError(f, err)
	return data
}

// FuzzState feeds the loader any bytes: it answers whole, damage or foreign and
// what it calls whole is what it would write.
func FuzzState(f *testing.F) {
	data := sample(f)
	f.Add(data)
	f.Add([]byte(`{"version":"1.0","operations":[]}`))
	f.Add([]byte(`{"version":"2.0","revision":1,"checksum":"crc32c:00000000",` + "\n}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeState(data)
		if err != nil {
			requireKnown(t, err)
			resum(t, data)
			return
		}
		again, err := m.encode()
		require.NoError(t, err)
		require.Equal(t, len(again) > 0, len(data) > 0)
	})
}

func requireKnown(t *testing.T, err error) {
	switch err.(type) {
	case damage, foreign:
	default:
		t.Fatalf("an error that is neither damage nor foreign: %v", err)
	}
}

// resum gives the bytes a checksum that fits, so that what lies behind the
// checksum is tried as well.
func resum(t *testing.T, data []byte) {
	_, at, ok := readHead(data)
	if !ok {
		return
	}
	data = bytes.Clone(data)
	copy(data[at:], checksum(data[:at], data[at+8:])[len(sumPrefix):])
	if _, err := decodeState(data); err != nil {
		requireKnown(t, err)
	}
}

// FuzzJournal feeds the reader any bytes, as they are and sealed.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"seq":1,"id":"op-x","changes":[]}`))
	f.Add([]byte("{}\n{}\n\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		for line, err := range backwards(bytes.NewReader(data), int64(len(data))) {
			require.NoError(t, err)
			require.NotContains(t, string(line), "\n")
			_, _ = readEntry(line)
			n += len(line)
		}
		require.Equal(t, len(data)-bytes.Count(data, []byte("\n")), n)
		if len(data) > 1 {
			line := seal(data)
			require.True(t, intact(line) || data[0] != '{')
			if e, ok := readEntry(line); ok {
				_, _ = replayed(image{records: thread.Records{}}, e)
			}
		}
	})
}
