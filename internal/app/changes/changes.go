// Package changes applies a set of file changes to a thread's folder, for merges,
// rollbacks and undos. The set is planned without the lock (Stage), compared with the
// current files under it (Moved), carried out by steps of the operation (Steps), and
// saved so that it can be undone (PutList).
package changes

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// File is the change of one path in a thread's folder. Contents are named by their
// blobs, "" for no file.
type File struct {
	Path   string        `json:"path"`
	Before thread.BlobID `json:"before"`
	After  thread.BlobID `json:"after"`
	// WasExecutable belongs to the file before, Executable to the file after.
	WasExecutable bool `json:"executable,omitempty"`
	Executable    bool `json:"executableAfter,omitempty"`
}

// idle reports whether the change leaves the path unchanged. An idle change records
// what the plan relies on.
func (f File) idle() bool { return f.Before == f.After && f.WasExecutable == f.Executable }

// Set has the changes of one operation to the files of one thread.
type Set struct {
	Thread thread.ThreadID
	Files  []File
}

// Files reads the current content of a thread's files; store.Store implements it.
type Files interface {
	Unmoved(id thread.ThreadID, planned map[string]thread.BlobID) (moved []string, err error)
}

// Blobs reads stored content; store.Store implements it.
type Blobs interface {
	Blob(id thread.BlobID) ([]byte, error)
}

// Inverse returns the set that reverts this one.
func (cs Set) Inverse() Set {
	out := Set{Thread: cs.Thread}
	for _, f := range cs.Files {
		out.Files = append(out.Files, File{
			Path: f.Path, Before: f.After, After: f.Before, WasExecutable: f.Executable, Executable: f.WasExecutable,
		})
	}
	return out
}

// Moved returns the sorted paths whose content is not what the set was planned on.
// Call it under the lock, or in ReadConsistent. Errors: T507, T509.
func (cs Set) Moved(st Files) ([]string, error) {
	planned := map[string]thread.BlobID{}
	for _, f := range cs.Files {
		planned[f.Path] = f.Before
	}
	moved, err := st.Unmoved(cs.Thread, planned)
	slices.Sort(moved)
	return moved, err
}

// Stage writes the new contents into a folder of the stage. content returns the
// content of a path. Errors: content's, T505, T507, T904.
func (cs Set) Stage(ctx context.Context, stage *store.Stage, dir string, content func(File) ([]byte, error)) error {
	for i, f := range cs.Files {
		if f.idle() || f.After == "" {
			continue
		}
		if ctx.Err() != nil {
			return codes.Interrupted.Wrap(context.Cause(ctx))
		}
		data, err := content(f)
		if err != nil {
			return err
		}
		if err := stage.Write(staged(dir, i), data, f.Executable); err != nil {
			return err
		}
	}
	return nil
}

// staged returns the staged name of a change's content. It is a number, because names
// that differ only in case, or a file and a folder of the same name, may follow each
// other in the thread but would exist at the same time in the stage.
func staged(dir string, i int) string { return dir + "/" + strconv.Itoa(i) }

// Steps returns the steps that carry out the set with what Stage wrote: replacements
// first and deletions last, except deletions that free a name for a new file.
func (cs Set) Steps(stage *store.Stage, dir string) []thread.Step {
	frees := cs.freeing()
	var first, replacements, last []thread.Step
	for i, f := range cs.Files {
		to := store.ThreadsDir + "/" + string(cs.Thread) + "/" + f.Path
		switch {
		case f.idle():
		case f.After != "":
			replacements = append(replacements, thread.Step{
				Do: thread.StepReplace, From: stage.Rel(staged(dir, i)), To: to, Expect: f.Before, Content: f.After, Executable: f.Executable,
			})
		case frees(f.Path):
			first = append(first, thread.Step{Do: thread.StepDelete, To: to, Expect: f.Before})
		default:
			last = append(last, thread.Step{Do: thread.StepDelete, To: to, Expect: f.Before})
		}
	}
	return slices.Concat(first, replacements, last)
}

// freeing returns a function that reports whether a new file needs a name, or a name
// above or below it: a file may give way to a folder, a folder to a file, a name to
// one that differs only in case.
func (cs Set) freeing() func(name string) bool {
	files, folders := map[string]bool{}, map[string]bool{} // by lower case
	for _, f := range cs.Files {
		if f.Before != "" || f.After == "" {
			continue
		}
		name := strings.ToLower(f.Path)
		files[name] = true
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	return func(name string) bool {
		name = strings.ToLower(name)
		if folders[name] {
			return true
		}
		for ; name != "."; name = path.Dir(name) {
			if files[name] {
				return true
			}
		}
		return false
	}
}

// PutList stores the changes as a blob, for an undo. Errors: T505, T508.
func (cs Set) PutList(stage *store.Stage) (thread.BlobID, error) {
	files := slices.DeleteFunc(slices.Clone(cs.Files), File.idle)
	raw, err := fact.JSON(files)
	if err != nil {
		return "", codes.Internal.Wrap(err)
	}
	return stage.Put(raw)
}

// List reads a blob of PutList. Errors: T509, T901.
func List(st Blobs, list thread.BlobID) ([]File, error) {
	raw, err := st.Blob(list)
	if err != nil {
		return nil, err
	}
	var files []File
	if err := json.Unmarshal(raw, &files); err != nil {
		return nil, codes.Internal.Wrap(err, fact.Of("reason", "the list of replaced files cannot be read"))
	}
	return files, nil
}

// SavedMeanwhile warns (W505) of files that somebody saved at the moment of the
// commit: they stayed, and their replacements are next to them. artifacts lists the
// thread's files after the commit.
func (cs Set) SavedMeanwhile(st Files, artifacts func() ([]store.Entry, error), what string) warnings.List {
	moved, err := cs.Inverse().Moved(st)
	if err != nil || len(moved) == 0 {
		return nil
	}
	entries, _ := artifacts()
	var found warnings.List
	for _, path := range moved {
		beside := slices.ContainsFunc(entries, func(e store.Entry) bool { return strings.HasPrefix(e.Path, path+".merge-op-") })
		if beside {
			found.Add(warnings.NotSettled.New(fact.Of("what", "putting "+path+" into place"),
				fact.Of("reason", "somebody saved it in the meantime, so it stays; "+what+" is next to it as "+path+".merge-OPERATION")))
		}
	}
	return found
}
