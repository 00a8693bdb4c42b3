package filework

import (
	"bytes"
	"path"

	"leslie/thread"
)

// This file stages what an export holds, which may be of any size.

// Operation is the operation whose stage this is.
func (st *Stage) Operation() thread.OperationID { return st.op }

// PutAny is Put without a limit.
func (st *Stage) PutAny(data []byte) (thread.BlobID, error) {
	id, _, err := st.blobs.Put(bytes.NewReader(data), stageDir(st.op), -1)
	return id, err
}

// WriteReadOnly is Write for a file that nobody is to change.
func (st *Stage) WriteReadOnly(to string, data []byte, executable bool) error {
	return st.place(to, data, perm(executable, true))
}

// MakeFolder makes an empty folder in the stage. Errors: T505, T507.
func (st *Stage) MakeFolder(to string) error {
	if err := st.own(to); err != nil {
		return err
	}
	return st.blobs.Ensure(path.Join(stageDir(st.op), to))
}
