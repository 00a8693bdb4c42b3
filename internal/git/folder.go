package git

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"leslie/codes"
)

// This file reads and hashes the files of a worktree as their bytes are, without git: no
// filter, no conversion of line ends, never through a link.

// folder reads the files of a worktree, never through a link.
type folder struct {
	root string
	real map[string]bool // whether a folder is one and is not reached through a link
	gits map[string]bool // whether a folder has a .git
	// buffer is what a file is read into: io.Copy would ask the system of each how it can be copied.
	buffer []byte
}

func newFolder(root string) *folder {
	return &folder{root, map[string]bool{".": true}, map[string]bool{".": false}, make([]byte, 64<<10)}
}

func (f *folder) path(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }

func (f *folder) isReal(dir string) bool {
	is, known := f.real[dir]
	if !known {
		if is = f.isReal(path.Dir(dir)); is {
			info, err := os.Lstat(f.path(dir))
			is = err == nil && info.IsDir()
		}
		f.real[dir] = is
	}
	return is
}

// ownGit reports whether a file is in a folder, below the top, that has a .git.
func (f *folder) ownGit(name string) bool {
	dir := path.Dir(name)
	has, known := f.gits[dir]
	if !known {
		_, err := os.Lstat(filepath.Join(f.path(dir), ".git"))
		has = err == nil || f.ownGit(dir)
		f.gits[dir] = has
	}
	return has
}

// readable returns T509 if a folder cannot be read: what is in it would not be kept.
func (f *folder) readable() error {
	return filepath.WalkDir(f.root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return codes.ReadFailed.OfPath(name, err)
		}
		return nil
	})
}

// filled reports whether a folder has anything.
func (f *folder) filled(name string) bool {
	if !f.isReal(name) {
		return false
	}
	dir, err := os.Open(f.path(name))
	if err != nil {
		return true
	}
	defer func() { _ = dir.Close() }()
	_, err = dir.Readdirnames(1)
	return !errors.Is(err, io.EOF)
}

// lstat returns fs.ErrNotExist also for a folder, and behind a link.
func (f *folder) lstat(name string) (fs.FileInfo, error) {
	if !f.isReal(path.Dir(name)) {
		return nil, fs.ErrNotExist
	}
	info, err := os.Lstat(f.path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, codes.ReadFailed.OfPath(f.path(name), err)
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		return nil, fs.ErrNotExist
	}
	return info, nil
}

func (f *folder) read(name string) ([]byte, error) {
	info, err := f.lstat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		data, err := os.ReadFile(f.path(name))
		if err != nil {
			return nil, codes.ReadFailed.OfPath(f.path(name), err)
		}
		return data, nil
	}
	to, err := os.Readlink(f.path(name))
	if err != nil {
		return nil, codes.ReadFailed.OfPath(f.path(name), err)
	}
	return []byte(filepath.ToSlash(to)), nil
}

// hashed is a file as git would store its bytes.
type hashed struct {
	Blob
	size int64
}

// blob hashes a file. Errors: fs.ErrNotExist.
func (f *folder) blob(name string, length int) (hashed, error) {
	info, err := f.lstat(name)
	if err != nil {
		return hashed{}, err
	}
	out := hashed{Blob{Mode: modeOf(info)}, info.Size()}
	sum := hash.Hash(sha1.New())
	if length == 64 {
		sum = sha256.New()
	}
	if !info.Mode().IsRegular() {
		to, err := f.read(name)
		if err != nil {
			return hashed{}, err
		}
		_, _ = io.WriteString(sum, "blob "+strconv.Itoa(len(to))+"\x00"+string(to))
	} else {
		file, err := os.Open(f.path(name))
		if err != nil {
			return hashed{}, codes.ReadFailed.OfPath(f.path(name), err)
		}
		defer func() { _ = file.Close() }()
		_, _ = io.WriteString(sum, "blob "+strconv.FormatInt(info.Size(), 10)+"\x00")
		if _, err := io.CopyBuffer(sum, struct{ io.Reader }{file}, f.buffer); err != nil {
			return hashed{}, codes.ReadFailed.OfPath(f.path(name), err)
		}
	}
	out.Object = hex.EncodeToString(sum.Sum(nil))
	return out, nil
}

func modeOf(info fs.FileInfo) string {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return "120000"
	case info.Mode()&0o100 != 0:
		return "100755"
	}
	return "100644"
}
