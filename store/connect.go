package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/store/internal/content"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/state"
	"leslie/store/replica"
	"leslie/thread"
)

// This file makes a store the copy of a log, and a copy a store of its own.

// startedFile has what RemoteFile is going to have, while the log is being filled: an
// interrupted upload goes on with the same project.
const startedFile = RemoteDir + "/started.json"

// Started reads which log this store has begun to fill, nil if none. Errors: as ReadRemote.
func (s *Store) Started() (*replica.Remote, error) {
	data, err := os.ReadFile(s.Path(startedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.disk.ReadFailed(err)
	}
	r, faults := replica.Decode(data)
	if len(faults) > 0 {
		return nil, nil
	}
	return &r, nil
}

// Fill uploads everything that this store has to a log, which must be empty or have the
// beginning of it: the operations, and the content that they name. The store is connected
// when Fill returns without an error, and not before; repeating it goes on. progress, if
// not nil, is called with the number of operations and how many there are.
//
// Errors: T503 if the log has other operations; T502 if the journal does not have all of
// its own; T402, T501, T505, T509, T510, T904.
func (s *Store) Fill(ctx context.Context, wait Wait, l *replica.Link, progress func(done, all int)) error {
	now, w, err := s.files.BeginWrite(ctx, wait, "")
	if err != nil {
		return err
	}
	defer w.Unlock()
	if err := s.writeRemote(startedFile, l); err != nil {
		return err
	}
	if err := s.fillBlobs(ctx, l); err != nil {
		return replica.Error(ctx, err, "")
	}
	if err := s.fillLines(ctx, w, now, l, progress); err != nil {
		return replica.Error(ctx, err, "")
	}
	if err := s.writeRemote(RemoteFile, l); err != nil {
		return err
	}
	return s.disk.WriteFailed(s.disk.Remove(s.Path(startedFile)))
}

// fillBlobs uploads all blobs.
func (s *Store) fillBlobs(ctx context.Context, l *replica.Link) error {
	up := upload{store: s, link: l, ctx: ctx, known: map[thread.BlobID]bool{}}
	base, err := s.disk.OpenBase()
	if err != nil {
		return s.disk.ReadFailed(err)
	}
	defer base.Close()
	err = fs.WalkDir(base.FS(), content.Sums, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return s.disk.ReadFailed(err)
		}
		id := thread.BlobID(strings.ReplaceAll(strings.TrimPrefix(name, content.Sums+"/"), "/", ""))
		if !content.Valid(id) {
			return nil
		}
		up.put(id, func() ([]byte, error) { return content.Read(base, id) })
		return up.failed()
	})
	return errors.Join(err, up.wait())
}

// fillLines appends the operations that the log lacks, each as that of the machine that made it. Lines that are
// there stay: the next one has the hash of the last of them as it is there.
func (s *Store) fillLines(ctx context.Context, w *state.Writer, now *state.Loaded, l *replica.Link, progress func(done, all int)) error {
	head, err := l.Head(ctx, s.now)
	if err != nil {
		return err
	}
	if thread.Revision(head.Seq) > now.Revision {
		return otherHistory(head, now.Revision)
	}
	chain, last := replica.Sum([]byte(l.Remote.Project)), ""
	if head.Seq > 0 {
		line, err := l.LineAt(ctx, thread.Revision(head.Seq))
		if err != nil {
			return err
		}
		chain, last = replica.Sum(line.Data), line.ID
	}
	var some []ledger.Line
	size, at := 0, thread.Revision(0)
	send := func() error {
		if len(some) == 0 {
			return nil
		}
		err := l.Ledger.AppendAll(ctx, last, some)
		last, some, size = some[len(some)-1].ID, nil, 0
		if progress != nil {
			progress(int(at), int(now.Revision))
		}
		return err
	}
	err = s.eachOperation(ctx, now, func(e journal.Entry) error {
		if e.Seq != at+1 {
			return codes.ParseError.New(
				fact.Of("reason", "the journal lacks operations behind revision "+strconv.Itoa(int(at))+", and a log begins with the first"),
				fact.Of("path", Dir+"/"+JournalFile)).
				WithHint("Begin a new store and spawn what goes on").WithNext("leslie doctor")
		}
		at = e.Seq
		if int64(at) < head.Seq {
			return nil
		}
		if int64(at) == head.Seq {
			if string(e.ID) != head.ID {
				return otherHistory(head, now.Revision)
			}
			return nil
		}
		line, body, err := replica.MakeLine(e, nil, chain, cmp.Or(e.Machine, l.Machine))
		if err != nil {
			return err
		}
		if body != nil {
			if err := l.Ledger.RenewBlob(ctx, string(content.IDOf(body)), body); err != nil {
				return err
			}
		}
		chain = replica.Sum(line.Data)
		some = append(some, line)
		if size += len(line.Data); len(some) == linesAtOnce || size > 16<<20 {
			return send()
		}
		return nil
	})
	if err == nil {
		err = send()
	}
	if err == nil && now.Operation != nil {
		_, err = w.Rechain(now, chain)
	}
	if log := l.Log(); err == nil && log != "" {
		err = s.disk.Replace(logFile, []byte(log))
	}
	return err
}

func otherHistory(head ledger.Head, own thread.Revision) error {
	return replica.Parted("it has " + strconv.Itoa(int(head.Seq)) + " operations, and this machine knows " + strconv.Itoa(int(own)) + " others")
}

// eachOperation calls fn with all operations of the journal, oldest first, and the
// state's own.
func (s *Store) eachOperation(ctx context.Context, now *state.Loaded, fn func(journal.Entry) error) error {
	var lines [][]byte
	err := s.files.InJournal(func(j journal.File) (err error) {
		lines, err = j.Lines(ctx, now.Revision+1)
		return err
	})
	if err != nil {
		return err
	}
	seq := thread.Revision(0)
	for _, line := range lines {
		e, ok := journal.Read(line)
		if !ok {
			continue
		}
		seq = e.Seq
		if err := fn(e); err != nil {
			return err
		}
	}
	if own := now.Operation; own != nil && own.Seq > seq {
		e, err := own.All()
		if err != nil {
			return err
		}
		return fn(e)
	}
	return nil
}

// Connect makes an empty store the copy of a log; Refresh fills it. Errors: T505.
func (s *Store) Connect(ctx context.Context, wait Wait, l *replica.Link) error {
	w, err := s.files.Lock(ctx, wait)
	if err != nil {
		return err
	}
	defer w.Unlock()
	return s.writeRemote(RemoteFile, l)
}

// Discard takes back a store that Create has made, and that nobody uses yet. Errors: T501,
// T505, T904.
func (s *Store) Discard(ctx context.Context) error {
	w, err := s.files.Lock(ctx, Wait{})
	if err != nil {
		return err
	}
	defer w.Unlock()
	return s.disk.WriteFailed(s.disk.RemoveAll(s.Path(".")))
}

// Leave makes the copy a store of its own. Errors: T501, T505, T904.
func (s *Store) Leave(ctx context.Context, wait Wait) error {
	w, err := s.files.Lock(ctx, wait)
	if err != nil {
		return err
	}
	defer w.Unlock()
	if data, _, err := saferoot.ReadRegular(s.Path(RemoteFile)); err == nil { // else whoever comes back has to know the address
		if err := s.disk.Replace(leftFile, data); err != nil {
			return err
		}
	}
	for _, name := range []string{RemoteFile, credentialsFile, leavingFile} {
		if err := s.disk.Remove(s.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.disk.WriteFailed(err)
		}
	}
	return s.disk.WriteFailed(s.disk.SyncDir(s.Path(".")))
}

// writeRemote writes where the log is, and the name of this machine's copy.
func (s *Store) writeRemote(name string, l *replica.Link) error {
	root, err := s.disk.Open()
	if err != nil {
		return s.disk.WriteFailed(err)
	}
	defer root.Close()
	if err := root.Ensure(RemoteDir); err != nil {
		return err
	}
	if err := s.disk.Replace(machineFile, []byte(l.Machine)); err != nil {
		return err
	}
	data, err := l.Remote.Encode()
	if err == nil {
		err = s.disk.Replace(name, data)
	}
	if err == nil {
		err = s.disk.WriteFailed(s.disk.SyncDir(s.Path(".")))
	}
	return err
}
