package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"leslie/internal/ledger"
	"leslie/store/internal/content"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/store/replica"
	"leslie/thread"
)

// This file finds where a copy and its log have parted, and puts a new copy in the place of such a one.

// Shared is how far this copy and its log have the same operations, and where each ends.
type Shared struct{ Common, Own, Log thread.Revision }

// Shared compares the operations that this copy knows with those of the log: one line of it is read for each
// halving. What the journal has lost counts as the same. Errors: T402, T510, T904, those of loading.
func (s *Store) Shared(ctx context.Context) (d Shared, err error) {
	now, err := s.files.Load()
	if err != nil {
		return d, err
	}
	l := s.opts.Link
	head, err := l.Head(ctx, s.now)
	if err != nil && !errors.Is(err, ledger.ErrMissing) {
		return d, replica.Error(ctx, err, "")
	}
	own := map[thread.Revision]thread.OperationID{}
	if err := s.eachOperation(ctx, now, func(e journal.Entry) error { own[e.Seq] = e.ID; return nil }); err != nil {
		return d, err
	}
	d = Shared{Own: now.Revision, Log: thread.Revision(head.Seq)}
	d.Common = min(d.Own, d.Log)
	for same := thread.Revision(0); same < d.Common; {
		at := (same + d.Common + 1) / 2
		line, err := l.LineAt(ctx, at)
		if err != nil {
			return d, replica.Error(ctx, err, "")
		}
		if id, here := own[at]; !here || string(id) == line.ID {
			same = at
		} else {
			d.Common = at - 1
		}
	}
	return d, nil
}

// Exchange puts the store that is in another folder, on the same file system, in the place of this one, and
// this one there. The other one gets this one's configuration and content. Whoever waits for the lock goes on with the
// new store. Errors: T501, T505, T904; then each is where it was, unless only the folders could not be synced.
func (s *Store) Exchange(ctx context.Context, wait Wait, other string) error {
	w, err := s.files.Lock(ctx, wait)
	if err != nil {
		return err
	}
	defer w.Unlock()
	for _, name := range []string{ConfigFile, ".gitignore"} {
		data, _, err := saferoot.ReadRegular(s.Path(name))
		if err == nil {
			err = WriteFile(filepath.Join(other, Dir, name), data, 0o644)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	here, there := s.Path("."), filepath.Join(other, Dir)
	if err := linkContent(s.Path(content.Sums), filepath.Join(there, filepath.FromSlash(content.Sums))); err != nil {
		return s.disk.WriteFailed(err)
	}
	if err := s.copyPublished(Open(other, Options{}).disk); err != nil {
		return err
	}
	if err := s.disk.Step(ActRename, here, func() error { return exchange(here, there) }); err != nil {
		return s.disk.WriteFailed(err)
	}
	return s.disk.WriteFailed(errors.Join(s.disk.SyncDir(s.disk.Project), s.disk.SyncDir(other)))
}

// linkContent gives a store the content that another one has, which the log may have lost. Where the file system has no
// links it goes without.
func linkContent(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !e.Type().IsRegular() && !e.IsDir() {
			return nil
		}
		rel, failed := filepath.Rel(from, path)
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		_ = os.Link(path, filepath.Join(to, rel))
		return nil
	})
}

// copyPublished gives another store the content of the files that this machine has published or fetched, as far as they
// are unchanged: a log that has lost it gets it again from there.
func (s *Store) copyPublished(to saferoot.Disk) error {
	lists, err := os.ReadDir(s.Path(filepath.FromSlash(replica.ListsDir)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.disk.ReadFailed(err)
	}
	for _, e := range lists {
		id := thread.ThreadID(e.Name())
		list, err := replica.ListOf(s.disk, id)
		if err != nil {
			return err
		}
		_, plain, err := list.Plain()
		if err == nil {
			err = content.Store(to, plain)
		}
		for _, f := range list {
			data, _, failed := saferoot.ReadRegular(s.Path(filepath.FromSlash(scan.Place(id, f.Path))))
			if err == nil && failed == nil && content.IDOf(data) == f.SHA256 {
				err = content.Store(to, data)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exchangeByThree exchanges two folders where the system cannot do it at once: a kill in between leaves the
// one aside.
func exchangeByThree(a, b string) error {
	aside := b + "-aside"
	if err := os.Rename(a, aside); err != nil {
		return err
	}
	if err := os.Rename(b, a); err != nil {
		return errors.Join(err, os.Rename(aside, a))
	}
	return os.Rename(aside, b)
}
