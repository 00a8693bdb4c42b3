package statefile

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/store/internal/journal"
	"leslie/thread"
)

// sample is a state file as leslie writes it.
func sample(f testing.TB) []byte {
	op := &journal.Operation{Entry: journal.Entry{Operation: thread.Operation{Seq: 7, ID: "op-x", Time: noon(), Changes: []thread.Change{{Record: "threads/a", After: []byte(`{}`)}}}}}
	m := Image{Revision: 7, Operation: op, Records: thread.Records{
		thread.TableThreads: {{ID: "a", JSON: []byte(`{"threadId":"a"}`)}, {ID: "b", JSON: []byte(`{"threadId":"b"}`)}},
	}}
	data, err := m.Encode()
	require.NoError(f, err)
	return data
}

// summed is a state file with the checksum that fits, if it has a place for one.
func summed(data []byte) []byte {
	data = bytes.Clone(data)
	Sum(data)
	return data
}

// FuzzState: any bytes are whole, damaged or another program's; what is whole
// keeps its records byte for byte when it is written, and is read back the same.
func FuzzState(f *testing.F) {
	f.Add(sample(f))
	f.Add([]byte(`{"version":"1.0","operations":[]}`))
	f.Add([]byte(`{"version":"3.0","revision":1,"checksum":"crc32c:00000000",` + "\n}"))
	f.Add([]byte(`{"version":"2.1","revision":1,"checksum":"crc32c:00000000",` + "\n}"))
	for _, n := range []int{0, 1, 5} {
		data, err := grown(f, n, 30).Encode()
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, summed(data)} {
			m, err := Decode(data)
			if err != nil {
				requireKnown(t, err)
				continue
			}
			require.True(t, Whole(data))
			written, err := m.Encode()
			require.NoError(t, err, "what was read can be written")
			again, err := Decode(written)
			require.NoError(t, err)
			require.Equal(t, m.Revision, again.Revision)
			require.Equal(t, m.Records, again.Records)
			twice, err := again.Encode()
			require.NoError(t, err)
			require.Equal(t, string(written), string(twice))
		}
	})
}

func requireKnown(t *testing.T, err error) {
	switch err.(type) {
	case Damage, Foreign:
	default:
		t.Fatalf("an error that is neither damage nor foreign: %v", err)
	}
}
