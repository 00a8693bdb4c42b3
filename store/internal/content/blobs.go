package content

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// Folders of the store.
const (
	Folder = "blobs"            // all of it
	Sums   = Folder + "/sha256" // blobs by their hashes
	Kept   = Folder + "/kept"   // lists of what operations displaced
)

// MaxFile is the size limit of an artifact that is hashed, shared or stored, in bytes.
const MaxFile = 64 << 20

// ErrDamaged is in the chain of the T509 for a blob whose bytes do not match its name,
// and for a manifest that cannot be parsed.
var ErrDamaged = errors.New("not the content that was stored")

// Blobs reads a store's blobs. It is safe for concurrent use.
type Blobs struct{ disk saferoot.Disk }

// On returns the blobs of the store on a disk.
func On(disk saferoot.Disk) Blobs { return Blobs{disk} }

// Blob returns the verified content of a blob. Errors: T509, with fs.ErrNotExist in
// its chain if the blob is missing and ErrDamaged if it does not match its name; T508
// for one larger than MaxFile.
func (b Blobs) Blob(id thread.BlobID) ([]byte, error) {
	base, err := b.disk.OpenBase()
	if err != nil {
		return nil, saferoot.CannotRead(Path(id), err)
	}
	defer base.Close()
	data, err := Read(base, id)
	return orElsewhere(b.disk, id, data, err)
}

// orElsewhere is what was read of a blob, or, if it is missing or damaged, what the disk says is its
// content elsewhere.
func orElsewhere(disk saferoot.Disk, id thread.BlobID, data []byte, err error) ([]byte, error) {
	lost := errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrDamaged)
	if !lost || disk.Elsewhere == nil || !Valid(id) {
		return data, err
	}
	found, failed := disk.Elsewhere(string(id))
	switch {
	case failed != nil && errors.Is(err, ErrDamaged): // nobody has it whole, or can be asked
		return nil, err
	case failed != nil:
		return nil, saferoot.CannotRead(Path(id), failed)
	case IDOf(found) != id:
		return nil, saferoot.CannotRead(Path(id), ErrDamaged)
	}
	return found, nil
}

// IDOf returns the name that bytes have as a blob.
func IDOf(data []byte) thread.BlobID {
	sum := sha256.Sum256(data)
	return thread.BlobID(hex.EncodeToString(sum[:]))
}

// Manifest returns a manifest that was stored. Errors: as for Blob; ErrDamaged also
// for a blob that is no manifest, or one with a path that leads out.
func (b Blobs) Manifest(id thread.BlobID) (Manifest, error) {
	data, err := b.Blob(id)
	if err != nil {
		return nil, err
	}
	m, err := Decode(data)
	return m, saferoot.CannotRead(Path(id), err)
}

// Read is Blobs.Blob in the store's folder, which is open.
func Read(base *os.Root, id thread.BlobID) ([]byte, error) {
	if err := placed(base, id); err != nil {
		return nil, err
	}
	return read(base, Path(id), id)
}

// read reads a blob, by its name in an open folder.
func read(in *os.Root, name string, id thread.BlobID) ([]byte, error) {
	at := Path(id)
	f, info, err := saferoot.OpenIn(in, name)
	if err != nil {
		return nil, saferoot.CannotRead(at, err)
	}
	defer f.Close()
	if info.Size() > MaxFile {
		return nil, TooLarge(saferoot.Shown(at), at, "")
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(data, sum), io.LimitReader(f, MaxFile+1)); err != nil {
		return nil, saferoot.CannotRead(at, err)
	}
	if sumOf(sum) != id {
		return nil, saferoot.CannotRead(at, ErrDamaged)
	}
	return data.Bytes(), nil
}

// Verify compares a blob of any size with its name. Errors: as for Blob, without T508;
// saferoot.ErrNotRegular in the chain if something else has the name.
func Verify(base *os.Root, id thread.BlobID) error {
	if err := placed(base, id); err != nil {
		return err
	}
	is, err := FileID(base, Path(id))
	if err == nil && is != id {
		err = ErrDamaged
	}
	return saferoot.CannotRead(Path(id), err)
}

// placed rejects invalid names, and a blob folder that is not a real folder.
func placed(base *os.Root, id thread.BlobID) error {
	if err := mustBeValid(id); err != nil {
		return err
	}
	return saferoot.CannotRead(Path(id), saferoot.RealFolder(base, Sums))
}

// mustBeValid rejects invalid blob names.
func mustBeValid(id thread.BlobID) error {
	if !Valid(id) {
		return saferoot.CannotRead(Sums, &fs.PathError{Op: "open", Path: string(id), Err: ErrDamaged})
	}
	return nil
}

// FileID returns the name that a regular file's content has as a blob. Errors:
// saferoot.ErrNotRegular, fs.ErrNotExist, the system's own.
func FileID(in *os.Root, rel string) (thread.BlobID, error) {
	f, _, err := saferoot.OpenIn(in, rel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return sumOf(sum), err
}

// NotRegular is At's answer for anything but a regular file: nothing expects it.
const NotRegular thread.BlobID = "not a regular file"

// At is FileID for a place in a store that may hold anything: "" for no file, and
// NotRegular also for a file behind a link or in place of a folder. Errors: T509 for
// what cannot be read, because it may be just what was expected.
func At(in *os.Root, rel string) (thread.BlobID, error) {
	err := saferoot.RealFolder(in, path.Dir(rel))
	var id thread.BlobID
	if err == nil {
		id, err = FileID(in, rel)
	}
	switch {
	case err == nil:
		return id, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case saferoot.Uncertain(err):
		return "", saferoot.CannotRead(rel, err)
	}
	return NotRegular, nil
}

func sumOf(sum hash.Hash) thread.BlobID { return thread.BlobID(hex.EncodeToString(sum.Sum(nil))) }

// Path returns the path of a blob in the store's folder.
func Path(id thread.BlobID) string {
	if !Valid(id) {
		return Sums
	}
	return path.Join(Sums, string(id[:2]), string(id[2:]))
}

// Valid reports whether id is a SHA-256 in lower-case hexadecimal.
func Valid(id thread.BlobID) bool {
	if len(id) != 2*sha256.Size {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// TooLarge returns T508 for a file over MaxFile.
func TooLarge(what, rel string, id thread.ThreadID) error {
	facts := []fact.Fact{fact.Of("what", what), fact.Of("limit", "64 MiB"), fact.Of("path", saferoot.Shown(rel))}
	if id != "" {
		facts = append(facts, fact.Of("threadId", id))
	}
	return codes.TooLarge.New(facts...)
}
