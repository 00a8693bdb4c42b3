package filework

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"

	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file replaces and deletes artifacts, which people and agents may save at any
// time. It touches only files that still have the planned content; they are displaced
// first and become blobs. A file saved in the meantime stays, and its replacement is
// put next to it: nothing that anybody wrote is lost.
//
// A process may die at any point, so which names exist says what has happened. "planned" is a
// file with the content that the step expects, "other" one with any other, "-" none; a delete
// has no staged file and ends where one would be placed.
//
//	staged  target   displaced  what happened                          what replace does
//	yes     planned  -          nothing                                displaces the target, places the staged file
//	yes     -        -          the step expects no file               places the staged file
//	yes     -        -          somebody deleted it since the plan     puts the staged file beside it
//	yes     other    -          somebody saved since the plan          puts the staged file beside it
//	yes     -        planned    a kill after the first move            places the staged file
//	yes     any      other      a save fell between look and move      puts the displaced file back, the staged one beside it
//	yes     the new  planned    a kill after the second move           nothing: the staged name goes last
//	yes     other    planned    a save fell between the two moves      puts the staged file beside it
//	-       the new  any        all of it                              nothing
//	-       planned  any        somebody removed the staged file       writes it again from its blob, begins anew
//
// When all steps of an operation are done and on disk, what they displaced becomes blobs, and
// the folder that had it is renamed once and removed (displaced.go).

// replace carries out a replace or a delete, or the rest of an interrupted one.
func (w Work) replace(p *thread.Pending, i int) error {
	step, aside := p.Steps[i], displacedAt(p, i)
	if err := w.restage(step); err != nil {
		return err
	}
	w.touchExisting(path.Dir(step.To))
	if step.Do == thread.StepReplace && step.Expect == "" {
		w.clearEmpty(step.To)
	}
	displaced, err := w.Exists(aside)
	if err != nil {
		return err
	}
	if !displaced {
		now, err := content.At(w.Base(), step.To)
		if err != nil {
			return err
		}
		if now != step.Expect {
			return w.putBeside(p, step)
		}
		if err := w.displace(step.To, aside); err != nil {
			return err
		}
	}
	if displaced, err = w.Exists(aside); err != nil {
		return err
	}
	if displaced {
		now, err := content.At(w.Base(), aside)
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
	err = w.PlaceIfFree(step.From, step.To)
	if errors.Is(err, fs.ErrExist) { // a save fell between the move and this
		return w.putBeside(p, step)
	}
	return err
}

// replaced reports whether a replace was carried out: its staged file, which goes
// last, is gone, and the file has what the step brings, or what somebody saved since. If
// the file is still the one of the plan, or is missing, somebody else removed the staged
// file. Errors: T507, T509.
func (w Work) replaced(p *thread.Pending, step thread.Step) (bool, error) {
	waiting, err := w.Exists(step.From)
	if waiting || err != nil || step.Content == "" {
		return !waiting && err == nil, err
	}
	if err := w.CheckHome(step); err != nil {
		return false, err
	}
	now, err := content.At(w.Base(), step.To)
	if err != nil || now == step.Content || now != step.Expect && now != "" {
		return err == nil, err
	}
	return w.Exists(saferoot.WithMark(step.To, besideMark(p)))
}

// restage writes a staged file again that is gone. Errors: T505, T509.
func (w Work) restage(step thread.Step) error {
	waiting, err := w.Exists(step.From)
	if waiting || err != nil || step.Do != thread.StepReplace || step.Content == "" {
		return err
	}
	data, err := content.Read(w.Base(), step.Content)
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

// PlaceIfFree gives a file a name that is free, and fails with fs.ErrExist if it is not.
// A rename would replace what an agent saved an instant ago; a hard link cannot. The
// first name stays until the second is durable: see CarryOut.
func (w Work) PlaceIfFree(from, to string) error {
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
func (w Work) putBack(p *thread.Pending, step thread.Step, aside string) error {
	if err := w.PlaceIfFree(aside, step.To); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return w.putBeside(p, step)
}

// putBeside puts a file's replacement next to it. A delete has none, and neither has a
// replace that is done.
func (w Work) putBeside(p *thread.Pending, step thread.Step) error {
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

// Beside is in the name of what an operation puts beside a file, before the operation's.
const Beside = ".merge-"

// besideMark is what a name gets that an operation puts beside another.
func besideMark(p *thread.Pending) string { return Beside + string(p.Operation) }

// alike reports whether two files have the same content and executable bits.
func (w Work) alike(a, b string) bool {
	was, err := w.Lstat(a)
	if err != nil {
		return false
	}
	is, err := w.Lstat(b)
	if err != nil || (was.Mode()^is.Mode())&0o111 != 0 {
		return false
	}
	one, err := content.At(w.Base(), a)
	other, otherErr := content.At(w.Base(), b)
	return err == nil && otherErr == nil && one == other && one != content.NotRegular
}

// besideName is a free name: where a file or a link is in place of a folder
// of the thread, the folder gets the mark and not the file in it.
// Errors: T509.
func (w Work) besideName(to, mark string) (string, error) {
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
