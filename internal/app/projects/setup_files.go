package projects

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merges"
	"leslie/internal/fact"
	"leslie/internal/setup"
	"leslie/store"
	"leslie/warnings"
)

// This file reads and writes the files of Setup. They belong to people and their agents,
// so each is replaced as a whole, and only if it still is as it was read.

// setupFile is a file as it is and as it is to be; nil is no file.
type setupFile struct {
	path  string // absolute, with the links in it resolved
	shown string // from the project's root or as a person would write it
	old   []byte
	text  []byte
	perm  os.FileMode
	user  bool   // it is the user's own
	top   string // the folder that stays, whatever is removed
}

// diff is what changes in a file.
func (f *setupFile) diff() merges.FileDiff {
	d := merges.FileDiff{Path: f.shown, Change: merges.ModifiedFile}
	if f.old != nil {
		d.From = &merges.DiffFile{Size: int64(len(f.old))}
	} else {
		d.Change = merges.AddedFile
	}
	if f.text != nil {
		d.To = &merges.DiffFile{Size: int64(len(f.text))}
	} else {
		d.Change = merges.DeletedFile
	}
	d.Compare(f.old, f.text, false)
	return d
}

// open returns the file of a piece, read once. Errors: T505, T507, T508, T509.
func (s *settingUp) open(p setup.Piece) (*setupFile, error) {
	folder, rel := s.folder(p.Base), p.Path
	if p.Or != "" && !app.Exists(filepath.Join(folder, p.Path)) && app.Exists(filepath.Join(folder, p.Or)) {
		rel = p.Or
	}
	named := filepath.Join(folder, filepath.FromSlash(rel))
	path := app.ResolveLinks(named)
	if f := s.files[path]; f != nil {
		return f, nil
	}
	f := &setupFile{path: path, shown: s.shown(p.Base, named, rel), perm: 0o644, user: s.in.Scope == setup.UserScope, top: app.ResolveLinks(folder)}
	if f.user {
		f.perm = 0o600
	}
	if p.Base != setup.Project && p.Base != setup.Git { // the agent's own folder is made for it, too
		f.top = app.ResolveLinks(s.env.Home)
	}
	if inside, err := filepath.Rel(f.top, path); p.Base == setup.Project && (err != nil || !filepath.IsLocal(inside)) {
		return nil, codes.UnsafePath.New(fact.Of("path", f.shown)).WithHint("The file is a link that leads outside the project").WithNext("leslie help setup")
	}
	if err := f.read(); err != nil {
		return nil, err
	}
	s.files[path], s.order = f, append(s.order, f)
	return f, nil
}

// shown is a file's name for people.
func (s *settingUp) shown(base setup.Base, named, rel string) string {
	if base == setup.Project {
		return rel
	}
	if inside, err := filepath.Rel(s.d.Root, named); err == nil && filepath.IsLocal(inside) {
		if s.in.Scope == setup.UserScope {
			return "~/" + filepath.ToSlash(inside)
		}
		return filepath.ToSlash(inside)
	}
	return named
}

// read reads the file and its permissions. Errors: T505, T508, T509.
func (f *setupFile) read() error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return codes.ReadFailed.OfPath(f.shown, err)
	case !info.Mode().IsRegular():
		return codes.WriteFailed.New(fact.Of("path", f.shown), fact.Of("reason", "it is not a regular file"))
	case info.Size() > app.MaxConfig:
		return codes.TooLarge.New(fact.Of("what", "'"+f.shown+"'"), fact.Of("limit", "1 MiB"))
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return codes.ReadFailed.OfPath(f.shown, err)
	}
	f.old, f.perm = append([]byte{}, data...), info.Mode().Perm()
	f.text = f.old
	return nil
}

// writeSetup writes all files or none. Errors: T505, T509, T904.
func writeSetup(ctx context.Context, files []*setupFile) (notes warnings.List, err error) {
	var done []*setupFile
	defer func() {
		if err == nil {
			return
		}
		for _, f := range done {
			_, _ = f.put(f.text, f.old) // as far as it can be done
		}
	}()
	for _, f := range files {
		if ctx.Err() != nil {
			return nil, codes.Interrupted.Wrap(context.Cause(ctx))
		}
		undurable, err := f.put(f.old, f.text)
		if err != nil {
			return nil, err
		}
		done = append(done, f)
		notes.Add(app.ConfigNotDurable(f.shown, undurable)...)
	}
	return notes, nil
}

// put gives a file that has one text another. Errors: T505, T509.
func (f *setupFile) put(from, to []byte) (undurable, err error) {
	now := setupFile{path: f.path, shown: f.shown}
	if err := now.read(); err != nil {
		return nil, err
	}
	failed := func(err error) error {
		return codes.WriteFailed.OfPath(f.shown, err)
	}
	if !sameText(now.old, from) {
		return nil, codes.WriteFailed.New(fact.Of("path", f.shown), fact.Of("reason", "somebody else is changing it")).WithHint("Run the same again").WithNext("leslie setup --check")
	}
	if to == nil {
		if undurable, err = store.RemoveFile(f.path); err != nil {
			return nil, failed(err)
		}
		f.prune()
		return undurable, nil
	}
	folderPerm := os.FileMode(0o755)
	if f.user {
		folderPerm = 0o700
	}
	if undurable, err = store.PutFile(f.path, to, f.perm, folderPerm); err != nil {
		f.prune()
		return nil, failed(err)
	}
	return undurable, nil
}

// prune removes the folders of a file that is gone, as far as they are empty and were made
// for such a file: those between it and the folder that stays.
func (f *setupFile) prune() {
	for dir := filepath.Dir(f.path); ; dir = filepath.Dir(dir) {
		inside, err := filepath.Rel(f.top, dir)
		if err != nil || inside == "." || !filepath.IsLocal(inside) {
			return
		}
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return
		}
	}
}
