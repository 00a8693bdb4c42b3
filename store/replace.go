package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file replaces and deletes artifacts, which people and agents may save at any
// time. It touches only files that still have the planned content; they are displaced
// first and become blobs. A file saved in the meantime stays, and its replacement is
// put next to it: nothing that anybody wrote is lost.

// exchange carries out a replace or a delete, or the rest of an interrupted one: an
// existing displaced file shows that the check was made.
func (w fileWork) exchange(p *thread.Pending, i int) error {
	step, aside := p.Steps[i], shelf(p, i)
	if err := w.stageAnew(step); err != nil {
		return err
	}
	w.touchStanding(path.Dir(step.To))
	if step.Do == thread.StepReplace && step.Expect == "" {
		w.clearEmpty(step.To)
	}
	shelved, err := w.Exists(aside)
	if err != nil {
		return err
	}
	if !shelved {
		now, err := hashIn(w.Base(), step.To)
		if err != nil {
			return err
		}
		if now != step.Expect {
			return w.beside(p, step)
		}
		if err := w.displace(step.To, aside); err != nil {
			return err
		}
	}
	if shelved, err = w.Exists(aside); err != nil {
		return err
	}
	if shelved {
		now, err := hashIn(w.Base(), aside)
		if err != nil {
			return err
		}
		if now != step.Expect { // a save fell between the look and the move
			return w.putBack(p, step, aside)
		}
	}
	if step.Do == thread.StepDelete {
		return nil
	}
	if err := w.Ensure(path.Dir(step.To)); err != nil {
		return err
	}
	w.Touch(path.Dir(step.To))
	err = w.settleIn(step.From, step.To)
	if errors.Is(err, fs.ErrExist) { // a save fell between the move and this
		return w.beside(p, step)
	}
	return err
}

// replaced reports whether a replace was carried out: its staged file, which goes
// last, is gone, and what stands in the place is what the step brings or what somebody
// saved since. Where the plan's own file stands still, or none, the staged file was
// taken away by others. Errors: T507, T509.
func (w fileWork) replaced(p *thread.Pending, step thread.Step) (bool, error) {
	waiting, err := w.Exists(step.From)
	if waiting || err != nil || step.Content == "" {
		return !waiting && err == nil, err
	}
	if err := w.homeOf(step); err != nil {
		return false, err
	}
	now, err := hashIn(w.Base(), step.To)
	if err != nil || now == step.Content || now != step.Expect && now != "" {
		return err == nil, err
	}
	return w.Exists(saferoot.WithMark(step.To, besideMark(p)))
}

// stageAnew writes a staged file that is gone once more. Errors: T505, T509.
func (w fileWork) stageAnew(step thread.Step) error {
	waiting, err := w.Exists(step.From)
	if waiting || err != nil || step.Do != thread.StepReplace || step.Content == "" {
		return err
	}
	data, err := readBlob(w.Base(), step.Content)
	if err != nil {
		return err
	}
	if err := w.Ensure(path.Dir(step.From)); err != nil {
		return err
	}
	if _, err := w.WriteFile(step.From, perm(step.Executable, false), bytes.NewReader(data)); err != nil {
		return err
	}
	return w.SyncFiles()
}

// settleIn gives a file a name that is free, and fails with fs.ErrExist if it is not.
// A rename would replace what an agent saved an instant ago; a hard link cannot. The
// first name stays until the second is durable: see carryOut.
func (w fileWork) settleIn(from, to string) error {
	err := w.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	taken, err := w.Exists(to) // no hard links here: what is left is to look first
	switch {
	case err != nil:
		return err
	case taken:
		return fs.ErrExist
	}
	return w.Rename(from, to)
}

// putBack restores a file that was saved in the meantime to its name, unless somebody
// has created the name again. In both cases it also stays displaced and becomes a
// blob.
func (w fileWork) putBack(p *thread.Pending, step thread.Step, aside string) error {
	if err := w.settleIn(aside, step.To); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return w.beside(p, step)
}

// beside puts a file's replacement next to it. A delete has none, and neither has a
// replace that is done.
func (w fileWork) beside(p *thread.Pending, step thread.Step) error {
	if step.Do == thread.StepDelete || w.alike(step.From, step.To) {
		return nil
	}
	to, err := w.besideName(step.To, besideMark(p))
	if err != nil {
		return err
	}
	if err := w.Ensure(path.Dir(to)); err != nil {
		return err
	}
	w.Touch(path.Dir(to))
	return w.Rename(step.From, to)
}

// besideMark is what a name gets that an operation puts beside another.
func besideMark(p *thread.Pending) string { return ".merge-" + string(p.Operation) }

// alike reports whether two files have the same content and executable bits.
func (w fileWork) alike(a, b string) bool {
	was, err := w.Lstat(a)
	if err != nil {
		return false
	}
	is, err := w.Lstat(b)
	if err != nil || (was.Mode()^is.Mode())&0o111 != 0 {
		return false
	}
	one, err := hashIn(w.Base(), a)
	other, otherErr := hashIn(w.Base(), b)
	return err == nil && otherErr == nil && one == other && one != special
}

// besideName is a free name: where a file or a link stands in place of a folder
// of the thread, the folder gets the mark and not the file in it.
// Errors: T509.
func (w fileWork) besideName(to, mark string) (string, error) {
	name := saferoot.WithMark(to, mark)
	for i := range len(to) {
		if to[i] != '/' || strings.Count(to[:i], "/") < 2 {
			continue
		}
		if info, err := w.Lstat(to[:i]); err == nil && !info.IsDir() {
			name = saferoot.WithMark(to[:i], mark) + to[i:]
			break
		}
	}
	return w.Free(name, "+")
}

// special is the hash of what is no regular file: nothing expects it.
const special thread.BlobID = "not a regular file"

// hashIn is the hash of a regular file, "" for none. A file behind a link or in
// place of a folder counts as special. Errors: T509 for what cannot be read:
// it may be just what was expected.
func hashIn(root *os.Root, rel string) (thread.BlobID, error) {
	err := saferoot.RealFolder(root, path.Dir(rel))
	if err == nil {
		var f *os.File
		if f, _, err = saferoot.OpenIn(root, rel); err == nil {
			defer f.Close()
			sum := sha256.New()
			_, err = io.Copy(sum, f)
			return blobID(sum), saferoot.CannotRead(rel, err)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case saferoot.Uncertain(err):
		return "", saferoot.CannotRead(rel, err)
	}
	return special, nil
}

// Unmoved returns the thread's files whose content is not the planned one ("" for no
// file). Call it under the lock, or in Settled. Errors: T507, T509.
func (s *Store) Unmoved(id thread.ThreadID, planned map[string]thread.BlobID) (moved []string, err error) {
	root, err := s.openThread(id)
	if errors.Is(err, fs.ErrNotExist) {
		root, err = nil, nil
	}
	if err != nil {
		return nil, saferoot.CannotRead(threadPath(id, ""), err)
	}
	if root != nil {
		defer root.Close()
	}
	for rel, want := range planned {
		var now thread.BlobID
		if root != nil {
			if now, err = hashIn(root, rel); err != nil {
				return nil, saferoot.CannotRead(threadPath(id, rel), err)
			}
		}
		if now != want && (want != "" || !folderLike(root, rel)) {
			moved = append(moved, rel)
		}
	}
	return moved, nil
}

// folderLike reports whether no file stands at a name although something does: a
// folder is there, or a file above it. Another step of the same operation may
// make way; if none does, the step that comes there goes beside.
func folderLike(root *os.Root, rel string) bool {
	info, err := root.Lstat(rel)
	return err == nil && info.IsDir() || errors.Is(err, syscall.ENOTDIR)
}

// ReadArtifact returns the content of one of the thread's files, which was listed
// in the same Consistent or Settled. Errors: T507, T508, T509 with fs.ErrNotExist
// in its chain where there is none.
func (s *Store) ReadArtifact(id thread.ThreadID, rel string) ([]byte, error) {
	root, err := s.openThread(id)
	if err != nil {
		return nil, saferoot.CannotRead(threadPath(id, rel), err)
	}
	defer root.Close()
	return readLimited(root, threadPath(id, ""), rel, id)
}

func readLimited(root *os.Root, at, rel string, id thread.ThreadID) ([]byte, error) {
	if !fs.ValidPath(rel) || codes.Has(saferoot.RealFolder(root, rel), codes.UnsafePath) {
		return nil, codes.UnsafePath.New(fact.Of("path", saferoot.Shown(at)+"/"+rel))
	}
	f, info, err := saferoot.OpenIn(root, rel)
	if err != nil {
		return nil, saferoot.CannotRead(path.Join(at, rel), err)
	}
	defer f.Close()
	if info.Size() > MaxFile {
		return nil, tooLarge(rel, path.Join(at, rel), id)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	switch {
	case err != nil:
		return nil, saferoot.CannotRead(path.Join(at, rel), err)
	case len(data) > MaxFile: // it grew
		return nil, tooLarge(rel, path.Join(at, rel), id)
	}
	return data, nil
}

// ReadWork returns a file with markers that a pending merge keeps for editors.
// Errors: T507, T508, T509 with fs.ErrNotExist in its chain where there is none.
func (s *Store) ReadWork(id thread.MergeID, rel string) ([]byte, error) {
	if !saferoot.SingleName(string(id)) {
		return nil, codes.UnsafePath.New(fact.Of("path", MergesDir+"/"+string(id)))
	}
	at := path.Join(MergesDir, string(id), "work")
	root, err := s.disk.OpenFolder(at)
	if err != nil {
		return nil, saferoot.CannotRead(at, err)
	}
	defer root.Close()
	return readLimited(root, at, rel, "")
}
