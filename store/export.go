package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/archive"
	"leslie/store/internal/content"
	"leslie/store/internal/journal"
	"leslie/store/internal/jsonl"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/state"
	"leslie/store/internal/statefile"
	"leslie/thread"
	"leslie/warnings"
)

// This file reads a whole store for an export, and restores one into an empty store.
//
// A restore commits as every write does, by the rename of the state; the state then names
// the folders to place, and as the last steps the archive and the journal. So a process
// that dies leaves either the empty store or a state whose steps the next writer carries
// out.

// Dump is a store without its files and blobs: what Restore needs to give it the same
// revision.
type Dump struct {
	Version  string
	Revision thread.Revision
	Records  thread.Records
	// Archive and Operations are sealed lines as they lie in the archive and the journal,
	// oldest first.
	Archive, Operations [][]byte
}

// ErrNotEmpty says that a store cannot be restored into, because it has been written to.
var ErrNotEmpty = errors.New("the store is not empty")

// Dump returns the store's records and lines at one revision. Damaged lines are left out.
// Errors: T502, T506, T509, T904.
func (s *Store) Dump(ctx context.Context) (Dump, warnings.List, error) {
	now, err := s.files.Load()
	if err != nil {
		return Dump{}, nil, err
	}
	d := Dump{Version: cmp.Or(now.Version, statefile.Version), Revision: now.Revision, Records: now.Records}
	data, _, err := saferoot.ReadUpTo(s.Path(ArchiveFile), 1<<40)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Dump{}, now.Warnings, s.disk.ReadFailed(err)
	}
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSuffix(line, []byte("\n")); jsonl.Intact(line) {
			d.Archive = append(d.Archive, line)
		}
	}
	d.Operations, err = s.journalLines(ctx, now)
	return d, now.Warnings, err
}

// journalLines returns the lines of the journal, and the state's own operation if the
// journal lacks it.
func (s *Store) journalLines(ctx context.Context, now *state.Loaded) (lines [][]byte, err error) {
	before := now.Revision + 1
	if now.Operation != nil && now.Tail < now.Revision {
		before = now.Revision
	}
	err = s.files.InJournal(func(j journal.File) error {
		lines, err = j.Lines(ctx, before)
		return err
	})
	if err != nil || before > now.Revision {
		return lines, err
	}
	own, err := now.Operation.Line(nil)
	return append(lines, own), err
}

// Blobs calls fn with each blob, in the order of their names. Errors: fn's, those of
// Blob, T904.
func (s *Store) Blobs(ctx context.Context, fn func(id thread.BlobID, data []byte) error) error {
	return s.RawFiles(ctx, content.Sums, func(f RawFile) error {
		rel := strings.TrimPrefix(f.Path, content.Sums+"/")
		id := thread.BlobID(strings.ReplaceAll(rel, "/", ""))
		if f.Folder || f.Other || content.Path(id) != f.Path {
			return nil
		}
		if sum := sha256.Sum256(f.Content); hex.EncodeToString(sum[:]) != string(id) {
			return saferoot.CannotRead(f.Path, content.ErrDamaged)
		}
		return fn(id, f.Content)
	})
}

// Kept calls fn with each list of what an operation displaced. Errors: as of RawFiles.
func (s *Store) Kept(ctx context.Context, fn func(op thread.OperationID, list []byte) error) error {
	return s.RawFiles(ctx, content.Kept, func(f RawFile) error {
		if f.Folder || f.Other {
			return nil
		}
		return fn(thread.OperationID(path.Base(f.Path)), f.Content)
	})
}

// Displaced returns the list of what an operation displaced and no list of its own names, by
// places in the store's folder; empty if there is none. Errors: T509.
func (s *Store) Displaced(op thread.OperationID) (Manifest, error) {
	if !saferoot.SingleName(string(op)) {
		return nil, nil
	}
	data, _, err := saferoot.ReadRegular(s.Path(content.Kept + "/" + string(op)))
	var damage saferoot.Damage
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damage) {
		return nil, nil
	}
	if err != nil {
		return nil, s.disk.ReadFailed(err)
	}
	m, err := content.Decode(data)
	if err != nil {
		return nil, nil //nolint:nilerr // damaged: doctor tells
	}
	return m, nil
}

// RawFile is what lies in the store's folder, with leslie's own files.
type RawFile struct {
	Path       string // from the store's folder
	Folder     bool   // an empty one
	Other      bool   // neither a file nor a folder, or a name that is not UTF-8
	Executable bool
	ReadOnly   bool
	Content    []byte
}

// RawFiles calls fn for everything at and below a place in the store's folder, in the
// order of their names. It follows no links; a place that does not exist has nothing.
// Errors: fn's, T507 for a link on the way to the place, T509, T904.
func (s *Store) RawFiles(ctx context.Context, place string, fn func(RawFile) error) error {
	folder, err := s.disk.OpenFolder(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return saferoot.CannotRead(place, err)
	}
	defer folder.Close()
	_, err = rawFiles(ctx, folder, place, ".", fn)
	return err
}

func rawFiles(ctx context.Context, folder *os.Root, place, rel string, fn func(RawFile) error) (n int, err error) {
	names, err := saferoot.ReadNames(folder, rel)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, saferoot.CannotRead(path.Join(place, rel), err)
	}
	for _, name := range names {
		if err := interrupted(ctx); err != nil {
			return n, err
		}
		in := path.Join(rel, name)
		info, err := folder.Lstat(in)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return n, saferoot.CannotRead(path.Join(place, in), err)
		}
		n++
		f := RawFile{Path: path.Join(place, in)}
		switch {
		case !utf8.ValidString(name):
			f.Other = true
		case info.IsDir():
			below, err := rawFiles(ctx, folder, place, in, fn)
			if err != nil || below > 0 {
				if err != nil {
					return n, err
				}
				continue
			}
			f.Folder = true
		case info.Mode().IsRegular():
			if f.Content, err = readAllIn(folder, in); err != nil {
				return n, saferoot.CannotRead(f.Path, err)
			}
			f.Executable, f.ReadOnly = info.Mode()&0o111 != 0, info.Mode()&0o222 == 0
		default:
			f.Other = true
		}
		if err := fn(f); err != nil {
			return n, err
		}
	}
	return n, nil
}

func readAllIn(folder *os.Root, rel string) ([]byte, error) {
	f, info, err := saferoot.OpenIn(folder, rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	_, err = data.ReadFrom(f)
	return data.Bytes(), err
}

// Restore makes an empty store what a dump says, with its revision and without an
// operation of its own. steps place what the stage holds; kept are the lists of Kept.
// ErrNotEmpty if the store has been written to, or is on several machines: then nothing is
// changed. Errors: T502 for
// a dump that does not fit together; T501, T505, T506, T509, T904.
func (s *Store) Restore(ctx context.Context, wait Wait, stage *Stage, d Dump, kept map[thread.OperationID][]byte, steps []thread.Step) (Commit, error) {
	next, err := d.image()
	if err != nil {
		return Commit{}, err
	}
	if now, err := s.files.Load(); err == nil && (s.files.Connected() || !s.neverWritten(now)) { // nothing is staged for it
		return Commit{}, ErrNotEmpty
	}
	for _, f := range []struct {
		name  string
		lines [][]byte
	}{{ArchiveFile, d.Archive}, {JournalFile, d.Operations}} {
		if len(f.lines) == 0 {
			continue
		}
		if err := stage.Write(f.name, append(bytes.Join(f.lines, []byte("\n")), '\n'), false); err != nil {
			return Commit{}, err
		}
		steps = append(slices.Clone(steps), thread.Step{Do: thread.StepPlace, From: stage.Rel(f.name), To: f.name})
	}
	if len(steps) > 0 {
		next.Pending = &thread.Pending{Operation: stage.Operation(), Steps: steps}
	}
	if err := stage.Sync(); err != nil {
		return Commit{}, err
	}
	now, w, err := s.files.BeginWrite(ctx, wait, stage.Operation())
	if err != nil {
		return Commit{}, err
	}
	defer w.Unlock()
	if !s.neverWritten(now) {
		return Commit{}, ErrNotEmpty
	}
	notes, err := w.Restore(ctx, now, next, kept)
	if err != nil {
		return Commit{}, err
	}
	return Commit{Revision: next.Revision, Changed: true, Warnings: notes}, nil
}

// neverWritten reports whether nothing was ever written to the store.
func (s *Store) neverWritten(now *state.Loaded) bool {
	names, _ := os.ReadDir(s.Path(ThreadsDir))
	return now.Revision == 0 && now.Operation == nil && len(names) == 0 && !saferoot.Exists(s.Path(JournalFile)) && !saferoot.Exists(s.Path(ArchiveFile))
}

// image is the state that a dump describes. Errors: T502, T506.
func (d Dump) image() (statefile.Image, error) {
	m := statefile.Image{Revision: d.Revision, Records: d.Records}
	if d.Version != statefile.Version || d.Revision < 0 {
		return m, codes.UnsupportedVersion.New(fact.Of("path", "the export"), fact.Of("writer", "another edition of leslie (version "+d.Version+")"))
	}
	last := thread.Revision(0)
	for _, line := range d.Operations {
		seq, ok := journal.Number(line)
		if !ok || seq <= last || seq > d.Revision {
			return m, notFitting("an operation is damaged or out of order")
		}
		last = seq
	}
	for _, line := range d.Archive {
		if !jsonl.Intact(line) {
			return m, notFitting("a line of the archive is damaged")
		}
	}
	if last != d.Revision {
		return m, notFitting("its last operation is missing")
	}
	if last > 0 {
		e, ok := journal.Read(d.Operations[len(d.Operations)-1])
		if !ok {
			return m, notFitting("its last operation cannot be read")
		}
		e.Pending, e.Quarantined = nil, nil
		m.Operation = &journal.Operation{Entry: e}
	}
	if _, err := m.Encode(); err != nil {
		return m, notFitting("a record cannot be written as one line")
	}
	return m, nil
}

func notFitting(reason string) error {
	return codes.ParseError.New(fact.Of("reason", "the export: "+reason)).
		WithHint("Nothing was imported. Export again").WithNext("leslie help import")
}

// ArchivedRecords returns the records that lines of an archive say are archived, by
// table and ordered by id: those that count beside these live records. Errors: T502 for a
// damaged line.
func ArchivedRecords(lines [][]byte, live thread.Records) (map[string][]thread.Line, error) {
	all := archive.New(live, math.MaxInt64)
	if bad := archive.Read(bytes.Join(lines, []byte("\n")), all.Put); bad > 0 {
		return nil, notFitting("a line of the archive is damaged")
	}
	return all.Tables(), nil
}

// ThreadsOf returns the threads that a line of the journal concerns, in order. Errors:
// T502 for a damaged line.
func ThreadsOf(line []byte) ([]thread.ThreadID, error) {
	e, ok := journal.Read(line)
	if !ok {
		return nil, notFitting("an operation is damaged")
	}
	ids := map[thread.ThreadID]bool{}
	if e.ThreadID != "" {
		ids[e.ThreadID] = true
	}
	for _, c := range append(slices.Clone(e.Changes), e.Archived...) {
		if id, ok := strings.CutPrefix(c.Record, thread.TableThreads+"/"); ok {
			ids[thread.ThreadID(id)] = true
		}
	}
	return slices.Sorted(maps.Keys(ids)), nil
}

func interrupted(ctx context.Context) error {
	if ctx.Err() != nil {
		return codes.Interrupted.Wrap(context.Cause(ctx))
	}
	return nil
}
