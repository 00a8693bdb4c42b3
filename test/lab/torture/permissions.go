//go:build linux

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/test/lab"
)

// This file removes permissions. They do not restrict root, so root runs leslie as
// another user here.

// nobody is the user that leslie runs as when torture runs as root.
const nobody = 65534

// restriction is a mode for a file or a folder.
type restriction struct {
	name   string
	folder bool
	mode   fs.FileMode
	// blind: it cannot be read either.
	blind bool
}

func restrictions() []restriction {
	return []restriction{
		{"read-only", true, 0o555, false},
		{"no-search", true, 0o600, true},
		{"read-only", false, 0o444, false},
		{"unreadable", false, 0o000, true},
	}
}

// places returns the files and folders of the fixture to restrict, among them only one
// of the folders of blobs.
func (r *ready) places() (folders, files []string) {
	raw, err := r.origin.rawFiles()
	if err != nil {
		return nil, nil
	}
	blobs := false
	for _, name := range lab.Sorted(raw) {
		inBlobs := strings.HasPrefix(name, lab.StoreDir+"/blobs/sha256/")
		switch {
		case inBlobs && blobs, name == lab.PlanFile:
		case raw[name] == "folder":
			blobs = blobs || inBlobs
			folders = append(folders, name)
		case filepath.Dir(name) == lab.StoreDir || filepath.Dir(name) == ".":
			files = append(files, name)
		}
	}
	return folders, files
}

func (r *ready) permissions() (out []work) {
	folders, files := r.places()
	for _, how := range restrictions() {
		names := files
		if how.folder {
			names = folders
		}
		if how.folder && !how.blind { // a working folder must be searchable
			names = append(slices.Clone(names), ".")
		}
		for _, name := range names {
			out = append(out, work{
				matrix: "permissions", row: r.Name, rest: how.name + "/" + name, key: how.name + map[bool]string{true: " folder", false: " file"}[how.folder],
				run: func(dir string) result { return r.restricted(dir, []string{name}, how) },
			})
		}
	}
	return append(out, work{
		matrix: "permissions", row: r.Name, rest: "read-only/everything", key: "everything read-only",
		run: func(dir string) result {
			return r.restricted(dir, slices.Concat(folders, files, []string{"."}), restrictions()[0])
		},
	})
}

// restricted runs the row's command with restricted places, as a user other than root.
func (r *ready) restricted(dir string, names []string, how restriction) result {
	uid := 0
	if os.Getuid() == 0 {
		uid = nobody
	}
	p, err := r.origin.copyTo(dir, uid)
	if err != nil {
		return result{problem: err.Error()}
	}
	defer func() { _ = lift(dir, how) }()
	if err := restrict(dir, names, how); err != nil {
		return result{problem: err.Error()}
	}
	a, problem := r.readAnswer(p, p.Call(r.argv...))
	if problem != "" {
		return result{problem: problem}
	}
	a.release = func() error { return lift(dir, how) }
	a.blind = how.blind || r.byFiles()
	a.mayRemain = a.isDisplaced
	where, problem := r.check(a)
	return result{hit: true, outcome: a.outcome(), side: where, problem: problem}
}

// restrict removes permissions, the deepest first: they may restrict torture itself.
func restrict(dir string, names []string, how restriction) error {
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	for _, name := range names {
		full := filepath.Join(dir, name)
		info, err := os.Lstat(full)
		if err != nil {
			return err
		}
		mode := how.mode
		if !info.IsDir() {
			mode &^= 0o111
		}
		if err := os.Chmod(full, mode); err != nil {
			return err
		}
	}
	return nil
}

// lift restores what restrict removed, even if leslie moved the file.
func lift(dir string, how restriction) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if d == nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch mode := info.Mode().Perm(); {
		case d.IsDir() && mode&0o700 != 0o700: // WalkDir enters it after this
			return os.Chmod(name, 0o755)
		case d.Type().IsRegular() && mode == how.mode&^0o111 && filepath.Dir(name) == filepath.Join(dir, lab.StoreDir), filepath.Dir(name) == dir && !d.IsDir():
			return os.Chmod(name, 0o644)
		}
		return nil
	})
}

// isDisplaced selects files that leslie moved aside because it could not read them: the
// backup; and files in the way of an earlier operation, if the answer says so.
func (a postcondition) isDisplaced(name string) bool {
	displaced := strings.HasPrefix(name, lab.StoreDir+"/displaced.set-aside-") && a.said == saidDone && !a.settled
	return displaced || strings.HasPrefix(name, lab.StoreDir+"/"+lab.BackupFile+".set-aside-")
}
