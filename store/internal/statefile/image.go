// Package statefile is the format of the state file: bytes to values and back. It
// reads and writes no file.
//
// A state is one JSON object, one record per line, with every key always present:
//
//	{"version":"3.0","revision":7,"checksum":"crc32c:0a1b2c3d",
//	"operation":{...},
//	"objectives":{
//	"obj-k3mx":{...}
//	},
//	"threads":{
//	},
//	...
//	"quarantined":[],
//	"pending":null
//	}
//
// The checksum covers every byte except its own eight digits. If it matches, leslie
// wrote these bytes and validated them then, so nothing below the first lines is
// decoded before somebody asks for it. Otherwise the file is damaged.
//
// A file of a newer 3.x is read as well: what such a leslie adds to records, or in lines
// before "quarantined", is kept, and so is its version.
package statefile

import (
	"fmt"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/journal"
	"leslie/thread"
)

// Version is the format that this leslie writes.
const Version = "3.0"

// Image is the content of one state file. Its zero value with empty Records is a new
// store's.
type Image struct {
	Revision  thread.Revision
	Operation *journal.Operation // nil at revision 0
	Records   thread.Records
	Pending   *thread.Pending // see ReadPending
	// Quarantined are steps of earlier operations that are not done yet.
	Quarantined []thread.Quarantined
	Version     string // that was read; "": Version

	unknown []byte            // the lines after the tables that only a newer leslie knows
	unread  []byte            // the line of many pending steps, see ReadPending
	tables  map[string][]byte // the lines of each table as they were read; nil: they were not
}

// Of is the image of a State after an operation, whose file-system work becomes the
// image's.
func Of(st *thread.State, e journal.Entry) Image {
	m := Image{Revision: e.Seq, Records: thread.Records{}, Quarantined: e.Quarantined}
	for _, table := range thread.Tables() {
		m.Records[table] = st.Lines(table)
	}
	if len(e.Pending) > 0 {
		m.Pending = &thread.Pending{Operation: e.ID, Steps: e.Pending}
	}
	e.Pending, e.Quarantined = nil, nil
	m.Operation = &journal.Operation{Entry: e, Held: m.Quarantined}
	return m
}

// Follow makes the image one that follows another: it keeps what the other has from a
// newer leslie.
func (m Image) Follow(was Image) Image {
	m.Version, m.unknown = was.Version, was.unknown
	return m
}

// Apply is the image after another operation. Errors: T901 for one that cannot be
// applied; then the image is returned as it is.
func (m Image) Apply(e journal.Entry) (next Image, err error) {
	defer func() { // a record that no rule could have written
		if r := recover(); r != nil {
			next, err = m, codes.Internal.New(fact.Of("reason", fmt.Sprint(r)))
		}
	}()
	st := thread.NewState(m.Revision, m.Records, nil)
	if err := st.Apply(e.Operation); err != nil {
		return m, err
	}
	return Of(st, e).Follow(m), nil
}

// Waiting are the operations that have quarantined steps.
func (m Image) Waiting() (all []thread.OperationID) {
	for _, q := range m.Quarantined {
		all = append(all, q.Operation)
	}
	return all
}

// ReadPending decodes Pending if Decode left out many steps, which nobody needs of an
// operation that is known to be done. Errors: Damage.
func (m *Image) ReadPending() error {
	line := m.unread
	m.unread = nil
	if line != nil && !readKey(line, "pending", &m.Pending) {
		return Damage("its end cannot be read")
	}
	return nil
}
