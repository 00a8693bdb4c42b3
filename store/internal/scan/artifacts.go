package scan

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// Folders of the store, and of a thread's folder.
const (
	Threads   = "threads"           // the threads' folders
	Merges    = "merges"            // pending merges
	Inherited = "context/inherited" // frozen copies, in a thread's folder
	Meta      = ".meta"             // leslie's own, in a thread's folder
)

// Artifacts reads the artifacts of a store's threads, and the content that they are
// compared with. Like everything that reads a thread's files, call it where no
// operation can be seen half done. It is safe for concurrent use.
type Artifacts struct {
	content.Blobs
	disk saferoot.Disk
}

// On returns the artifacts of the store on a disk.
func On(disk saferoot.Disk) Artifacts { return Artifacts{content.On(disk), disk} }

// Artifacts lists the thread's artifacts sorted by path, of any number and size. Like
// everything that reads a thread's files, call it inside ReadConsistent, ReadConsistentToWrite or
// Update, so that no operation is seen half done. Names are unmodified: they may contain
// control characters. Errors: T202 if the thread's folder is missing, T507 if a link is in
// its place, T509, T904.
func (a Artifacts) Artifacts(id thread.ThreadID) ([]Entry, error) {
	return a.ArtifactsIn(id, scope.Set{})
}

// ArtifactsIn is Artifacts for those in a scope; it does not read folders that the
// scope does not reach.
func (a Artifacts) ArtifactsIn(id thread.ThreadID, set scope.Set) ([]Entry, error) {
	return a.inThread(id, func(root *os.Root) ([]Entry, error) {
		return Tree{Root: root, At: Place(id, ""), Set: set, Skip: Own}.List()
	})
}

// HashedIn is ArtifactsIn with hashes. Errors: those of ArtifactsIn and Hash.
func (a Artifacts) HashedIn(ctx context.Context, id thread.ThreadID, set scope.Set) ([]Entry, error) {
	found, err := a.ArtifactsIn(id, set)
	if err != nil {
		return nil, err
	}
	return a.Hash(ctx, id, found)
}

// Hash returns the thread's entries, which were listed in the same Consistent or
// ReadConsistentToWrite, with SHA256 set for files, and with the size and times of what was read. A
// file that is gone is left out, one that became something else is TypeOther, one
// larger than content.MaxFile has no hash. Errors: T507, T509, T904.
func (a Artifacts) Hash(ctx context.Context, id thread.ThreadID, entries []Entry) ([]Entry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	return a.inThread(id, func(root *os.Root) ([]Entry, error) {
		return Tree{Root: root, At: Place(id, "")}.Hash(ctx, entries)
	})
}

// CheckPath rejects a caller's path that leads out of the thread's folder: absolute,
// with "..", or through a link, wherever it points. The path need not exist. Errors:
// T507 (path, threadId), T903 for an empty path or a NUL, T509.
func (a Artifacts) CheckPath(id thread.ThreadID, name string) error {
	if name == "" || strings.ContainsRune(name, 0) {
		return codes.InvalidArgument.New(fact.Of("reason", "A path is empty or contains a NUL"), fact.Of("path", name))
	}
	unsafe := codes.UnsafePath.New(fact.Of("path", name), fact.Of("threadId", id))
	if path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(name)) || slices.Contains(strings.Split(name, "/"), "..") {
		return unsafe
	}
	clean := path.Clean(name)
	_, err := a.inThread(id, func(root *os.Root) ([]Entry, error) {
		switch err := saferoot.RealFolder(root, clean); {
		case codes.Has(err, codes.UnsafePath):
			return nil, unsafe
		case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, saferoot.ErrNotFolder):
			return nil, nil
		default:
			return nil, saferoot.CannotRead(Place(id, clean), err)
		}
	})
	return err
}

// inThread opens a thread's folder and calls do. Errors: those of openThread and do.
func (a Artifacts) inThread(id thread.ThreadID, do func(*os.Root) ([]Entry, error)) ([]Entry, error) {
	root, err := a.openThread(id)
	if err != nil {
		return nil, saferoot.CannotRead(Place(id, ""), err)
	}
	defer root.Close()
	return do(root)
}

// openThread opens a thread's folder. Every thread has one from its beginning, so a
// missing folder is damage and never a thread without artifacts: who took it for one
// would delete everywhere what the thread shares with others. Errors: T202 with
// fs.ErrNotExist in its chain if it is missing; T507 for an id that is not a single name,
// because such a thread cannot exist.
func (a Artifacts) openThread(id thread.ThreadID) (*os.Root, error) {
	if !saferoot.SingleName(string(id)) {
		return nil, codes.UnsafePath.New(fact.Of("path", string(id)), fact.Of("threadId", id))
	}
	root, err := a.disk.OpenFolder(Place(id, ""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, FolderMissing(id, err)
	}
	return root, err
}

// FolderMissing returns T202 for a thread whose folder is not there.
func FolderMissing(id thread.ThreadID, cause error) error {
	at := saferoot.Shown(Place(id, ""))
	return codes.TargetCorrupted.Wrap(cause, fact.Of("target", id), fact.Of("threadId", id), fact.Of("path", at),
		fact.Of("reason", "the folder of its artifacts is missing")).
		WithHint("The folder " + at + " is missing: put it back, or restore what is recorded of it with leslie doctor --repair").
		WithNext("leslie doctor")
}

// Place is a place in a thread's folder, relative to the store's folder.
func Place(id thread.ThreadID, rel string) string {
	return path.Join(Threads, string(id), rel)
}

// Own are the top names of a thread's folder that are leslie's own.
func Own(name string) bool { return name == Meta || name == path.Dir(Inherited) }

// HasThread reports whether the thread's folder is there, a real folder. A folder
// that cannot be looked at is not missing. Errors: T509.
func (a Artifacts) HasThread(id thread.ThreadID) (bool, error) {
	root, err := a.openThread(id)
	switch {
	case err == nil:
		_ = root.Close()
		return true, nil
	case saferoot.Uncertain(err):
		return false, saferoot.CannotRead(Place(id, ""), err)
	}
	return false, nil
}

// ChangedSince returns the paths at which a frozen reference's target differs
// now from what was frozen. Errors: T507, T509, T904.
func (a Artifacts) ChangedSince(ctx context.Context, ref thread.Reference) ([]string, error) {
	m, err := a.Manifest(ref.Manifest)
	if err != nil {
		return nil, err
	}
	set, err := scope.Parse(ref.Scope)
	if err != nil {
		return nil, err
	}
	return a.Compare(ctx, ref.Target, m, set)
}

// CheckFrozen reads a frozen reference's copy, hashes set, and returns the
// paths at which it is not what was frozen: missing, changed or added.
// Errors: T507, T509 (also for the list of what was frozen), T904.
func (a Artifacts) CheckFrozen(ctx context.Context, ref thread.Reference) (entries []Entry, damaged []string, err error) {
	m, err := a.Manifest(ref.Manifest)
	if err != nil {
		return nil, nil, err
	}
	at := Place(ref.From, Inherited+"/"+string(ref.ID))
	root, err := a.disk.OpenFolder(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, m.Paths(), nil
	case err != nil:
		return nil, nil, saferoot.CannotRead(at, err)
	}
	defer root.Close()
	t := Tree{Root: root, At: at}
	if entries, err = t.List(); err == nil {
		entries, err = t.Hash(ctx, entries)
	}
	if err != nil {
		return nil, nil, err
	}
	return entries, differing(m, entries), nil
}

// Compare returns the paths at which the thread's files differ from the
// manifest within the scope, in order: new, gone, or with other content or
// executable bit. The manifest was taken with the same scope. Errors: T202, T507, T509,
// T904.
func (a Artifacts) Compare(ctx context.Context, id thread.ThreadID, m content.Manifest, set scope.Set) ([]string, error) {
	entries, err := a.ArtifactsIn(id, set)
	if err != nil {
		return nil, err
	}
	c := comparison{was: m, now: map[string]bool{}}
	for _, e := range entries {
		c.look(e)
	}
	hashed, err := a.Hash(ctx, id, c.doubtful)
	if err != nil {
		return nil, err
	}
	c.judge(hashed)
	return c.result(), nil
}

// UnknownEntries returns the paths at which a thread's folder differs from its
// original content: the files of a manifest and the frozen copies of references. It
// includes added, changed and removed paths, links and special files; empty folders
// and leslie's own .meta do not count. A thread without a folder has no such paths.
// Errors: T507, T509, T904.
func (a Artifacts) UnknownEntries(ctx context.Context, id thread.ThreadID, given content.Manifest, refs []thread.Reference) ([]string, error) {
	at := Place(id, "")
	root, err := a.openThread(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, saferoot.CannotRead(at, err)
	}
	defer root.Close()
	want, err := a.withCopies(given, refs)
	if err != nil {
		return nil, err
	}
	t := Tree{Root: root, At: at, Skip: func(name string) bool { return name == Meta }}
	entries, err := t.List()
	if err != nil {
		return nil, err
	}
	if entries, err = t.Hash(ctx, entries); err != nil {
		return nil, err
	}
	return differing(want, entries), nil
}

// withCopies is a manifest with the frozen copies of references where they lie in
// the thread's folder.
func (a Artifacts) withCopies(given content.Manifest, refs []thread.Reference) (content.Manifest, error) {
	out := slices.Clone(given)
	for _, ref := range refs {
		if ref.Manifest == "" {
			continue
		}
		m, err := a.Manifest(ref.Manifest)
		if err != nil {
			return nil, err
		}
		for _, f := range m {
			f.Path = path.Join(Inherited, string(ref.ID), f.Path)
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b content.FileAt) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// Unmoved returns the thread's files whose content is not the planned one ("" for no
// file). Call it under the lock, or in ReadConsistentToWrite. Errors: T507, T509.
func (a Artifacts) Unmoved(id thread.ThreadID, planned map[string]thread.BlobID) (moved []string, err error) {
	root, err := a.openThread(id)
	if errors.Is(err, fs.ErrNotExist) {
		root, err = nil, nil
	}
	if err != nil {
		return nil, saferoot.CannotRead(Place(id, ""), err)
	}
	if root != nil {
		defer root.Close()
	}
	for rel, want := range planned {
		var now thread.BlobID
		if root != nil {
			if now, err = content.At(root, rel); err != nil {
				return nil, saferoot.CannotRead(Place(id, rel), err)
			}
		}
		if now != want && (want != "" || !folderLike(root, rel)) {
			moved = append(moved, rel)
		}
	}
	return moved, nil
}

// folderLike reports whether a name has no file but is taken: by a folder, or by a file
// above it. Another step of the same operation may remove that; if none does, the new
// file is put next to it.
func folderLike(root *os.Root, rel string) bool {
	info, err := root.Lstat(rel)
	return err == nil && info.IsDir() || errors.Is(err, syscall.ENOTDIR)
}
