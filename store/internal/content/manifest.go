package content

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"time"
	"unicode/utf8"

	"leslie/store/internal/jsonl"
	"leslie/thread"
)

// This file has the list of a snapshot's files. It is stored as a blob, one object on one
// line:
//
//	{"version":1,"files":[{"path":"plan.md","sha256":"9f86...","size":4,
//	"executable":true,"modifiedAt":"2026-02-09T16:00:00.123456789Z",
//	"changedAt":"2026-02-09T16:00:00.123456789Z"}]}
//
// Files are in the order of their paths, each path once. A manifest is
// compared with a thread as git compares its index: a file whose size and times
// are those of the snapshot was not changed, any other is hashed. Size and time of
// modification alone prove nothing: cp -p, tar and rsync put times back. The time
// of change is the system's own and nobody can set it. A file that was changed
// within two seconds before the snapshot could be changed again without that
// showing it (file systems count time in steps, some in whole seconds); its times
// are left out of the manifest, so it is always hashed. So is every file where the
// system does not tell the time of change, and one of an older manifest without it.

const (
	manifestVersion = 1
)

// Manifest lists the files of a snapshot in the order of their paths.
type Manifest []FileAt

// FileAt is one file of a snapshot.
type FileAt struct {
	Path       string        `json:"path"`
	SHA256     thread.BlobID `json:"sha256"`
	Size       int64         `json:"size"`
	Executable bool          `json:"executable,omitempty"`
	// ModTime and ChangeTime are zero where they prove nothing.
	ModTime    time.Time `json:"modifiedAt,omitzero"`
	ChangeTime time.Time `json:"changedAt,omitzero"`
}

// manifestFile is a manifest as it is stored.
type manifestFile struct {
	Version int      `json:"version"`
	Files   Manifest `json:"files"`
}

// Find returns the file at a path.
func (m Manifest) Find(path string) (FileAt, bool) {
	i, ok := slices.BinarySearchFunc(m, path, func(f FileAt, p string) int { return cmp.Compare(f.Path, p) })
	if !ok {
		return FileAt{}, false
	}
	return m[i], true
}

// Paths returns the paths in order.
func (m Manifest) Paths() []string {
	out := make([]string, len(m))
	for i, f := range m {
		out[i] = f.Path
	}
	return out
}

// Alike reports whether two manifests list the same files, with the same content and
// executable bits. When the files were changed does not matter.
func (m Manifest) Alike(other Manifest) bool {
	return slices.EqualFunc(m, other, func(a, b FileAt) bool {
		return a.Path == b.Path && a.SHA256 == b.SHA256 && a.Executable == b.Executable
	})
}

// Encode writes the manifest in its one form.
func (m Manifest) Encode() ([]byte, error) {
	return jsonl.Marshal(manifestFile{Version: manifestVersion, Files: append(Manifest{}, m...)})
}

// Decode reads a manifest. Errors: ErrDamaged.
func Decode(data []byte) (Manifest, error) {
	var file manifestFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%w as a manifest: %w", ErrDamaged, err)
	}
	if file.Version != manifestVersion || !file.Files.valid() {
		return nil, fmt.Errorf("%w as a manifest", ErrDamaged)
	}
	return file.Files, nil
}

// valid reports whether no entry leads anywhere but into the folder that the
// manifest is written to: local paths in strict order, names of blobs.
func (m Manifest) valid() bool {
	last := ""
	for _, f := range m {
		if f.Path <= last || f.Path == "." || !fs.ValidPath(f.Path) || !utf8.ValidString(f.Path) || !Valid(f.SHA256) {
			return false
		}
		last = f.Path
	}
	return true
}

// Plain is the list without what only this machine knows, as it is published, and
// its name.
func (m Manifest) Plain() (thread.BlobID, []byte, error) {
	m = slices.Clone(m)
	for i := range m {
		m[i].ModTime, m[i].ChangeTime = time.Time{}, time.Time{}
	}
	data, err := m.Encode()
	return IDOf(data), data, err
}
