package doctor

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/store/replica"
	"leslie/thread"
)

// This file reads everything that the log of a connected project has, lines and content,
// since only reading shows what a disk of the servers has damaged; stores damaged
// content again that this machine has; and brings content here that it lacks.

// checkFor is how long reading the lines of a log may take.
const checkFor = 5 * time.Minute

// LogCheck is how the lines of a project's log are.
type LogCheck struct {
	Lines int64 `json:"lines"` // up to which the log goes
	// Damaged are the places of lines that no server has as they were appended, or whose
	// operation's content nobody has; the first of them, if they are many.
	Damaged []int64 `json:"damaged"`
}

// mostDamaged is how many damaged lines are named.
const mostDamaged = 20

// Err returns T513 for a log with damaged lines.
func (c LogCheck) Err() error {
	places := make([]string, len(c.Damaged))
	for i, at := range c.Damaged {
		places[i] = strconv.FormatInt(at, 10)
	}
	what := "line " + places[0] + " of the log is damaged or missing"
	if len(places) > 1 {
		what = "lines " + strings.Join(places, ", ") + " of the log are damaged or missing"
	}
	return codes.RemoteDamaged.New(fact.Of("reason", what+": "+ledger.ErrGap.Error()), fact.Of("lines", c.Damaged))
}

// CheckLog reads the whole log of a connected project. Errors: T402, T510, T512, T904.
func (d Doctor) CheckLog(ctx context.Context) (LogCheck, error) {
	found := LogCheck{Damaged: []int64{}}
	if _, err := d.Store.Link().Head(ctx, d.Store.Files().Now); errors.Is(err, ledger.ErrUnreachable) {
		return found, replica.Error(ctx, err, "")
	}
	ctx, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	l := d.Store.Link().Ledger
	bad := func(at int64) {
		if len(found.Damaged) < mostDamaged {
			found.Damaged = append(found.Damaged, at)
		}
		found.Lines = at
	}
	for {
		err := l.After(ctx, found.Lines, func(line ledger.Line) error {
			switch whole, err := d.wholeLine(ctx, line); {
			case err != nil:
				return err
			case !whole:
				bad(line.Seq)
			}
			found.Lines = line.Seq
			return nil
		})
		if !errors.Is(err, ledger.ErrGap) {
			return found, replica.Error(ctx, err, "")
		}
		bad(found.Lines + 1)
	}
}

// wholeLine reports whether a line names the operation that it has, and that can be read.
// Errors: those of the ledger.
func (d Doctor) wholeLine(ctx context.Context, line ledger.Line) (bool, error) {
	text, whole := replica.ReadLine(line)
	if !whole || text.Body == "" {
		return whole, nil
	}
	_, bad, err := d.Store.Link().Blob(ctx, thread.BlobID(text.Body))
	return !bad && err == nil, err
}

// ContentCheck is how the content is that a project's log keeps besides its lines.
type ContentCheck struct {
	// Blobs is how many there are that records, or lists among them, name.
	Blobs int `json:"blobs"`
	// Damaged are those that no server has as they were stored, in the order of their names;
	// the first of them, if they are many.
	Damaged []DamagedContent `json:"damaged"`
}

// DamagedContent is content that no server has as it was stored.
type DamagedContent struct {
	SHA256 thread.BlobID `json:"sha256"`
	What   string        `json:"what"` // what names it, for people
	// Here: this machine has it, so that it can be stored again from here.
	Here bool `json:"here"`
}

// Err returns T513 for a log with damaged content.
func (c ContentCheck) Err() error {
	var what []string // several blobs may be of one list
	for _, d := range c.Damaged {
		if !slices.Contains(what, d.What) {
			what = append(what, d.What)
		}
	}
	return codes.RemoteDamaged.New(fact.Of("reason", "content is damaged or missing: "+strings.Join(what, "; ")), fact.Of("content", c.Damaged))
}

// CheckContent reads all content that this machine's records name in the log of a connected
// project. Errors: those of loading, T402, T510, T904.
func (d Doctor) CheckContent(ctx context.Context) (ContentCheck, error) {
	found := ContentCheck{Damaged: []DamagedContent{}}
	look, err := d.lookAtContent(ctx)
	if err != nil {
		return found, err
	}
	found.Blobs, found.Damaged = len(look.asked), look.damaged()
	return found, nil
}

// RenewContent stores the damaged content of the log again that this machine has, and
// returns how much that was. Errors: as CheckContent, T505.
func (d Doctor) RenewContent(ctx context.Context) (renewed int, err error) {
	done := map[thread.BlobID]bool{}
	for again := true; again; { // a list that is there again names files that may be damaged, too
		again = false
		look, err := d.lookAtContent(ctx)
		if err != nil {
			return len(done), err
		}
		for id := range look.bad {
			data, here := look.own(id)
			if !here || done[id] {
				continue
			}
			if err := d.Store.Link().Ledger.RenewBlob(ctx, string(id), data); err != nil {
				return len(done), replica.Error(ctx, err, "")
			}
			done[id], again = true, true
		}
	}
	return len(done), nil
}

// BringContent brings all content here that records name, or lists among it, and returns what cannot be had. Of a store
// of its own, and where ask is false, that is all that is not here. The error of servers that do not answer comes with
// what is not here. Errors: those of loading, T402, T505, T510, T904.
func (d Doctor) BringContent(ctx context.Context, ask bool) (lacking ContentCheck, err error) {
	lacking.Damaged = []DamagedContent{}
	for {
		l, err := d.newContentLook(ctx)
		if err != nil {
			return lacking, err
		}
		l.from = l.here
		l.ask.Store(ask && d.Store.Link() != nil)
		if err := l.all(); err != nil {
			return lacking, err
		}
		kept, err := l.keepOwn()
		if err != nil {
			return lacking, err
		}
		if kept { // it may be a list
			continue
		}
		lacking.Blobs, lacking.Damaged = len(l.asked), l.damaged()
		return lacking, l.failed
	}
}

// readers is how much content of the log is read at once.
const readers = 8

// contentLook is one look at all content.
type contentLook struct {
	x     *examination // for the records, and for finding content on this machine
	asked map[thread.BlobID]bool

	// from reads content; bad if it cannot be had.
	from func(ctx context.Context, id thread.BlobID) (data []byte, bad bool, err error)

	mu    sync.Mutex
	bad   map[thread.BlobID]*badBlob
	lists map[thread.BlobID][]byte // of published files, as this machine can make them

	// Of a look that brings content here: whether the log is asked, and why it is not any more.
	ask    atomic.Bool
	failed error
}

// lookAtContent reads all content of the log that records name.
func (d Doctor) lookAtContent(ctx context.Context) (*contentLook, error) {
	l, err := d.newContentLook(ctx)
	if err != nil {
		return nil, err
	}
	l.from = d.Store.Link().Blob
	return l, l.all()
}

// newContentLook reads the records.
func (d Doctor) newContentLook(ctx context.Context) (*contentLook, error) {
	x := d.newExamination(ctx, newMemory())
	if x.cause != nil {
		return nil, x.cause
	}
	for _, read := range []func() error{x.journal, x.archive, x.decodeRecords} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return &contentLook{
		x: x, asked: map[thread.BlobID]bool{}, bad: map[thread.BlobID]*badBlob{}, lists: map[thread.BlobID][]byte{},
	}, nil
}

// all reads all content that records name: lists first, then what they name, some at once.
func (l *contentLook) all() error {
	var files []namedBlob
	for _, b := range l.x.records.blobs {
		inner, err := l.list(b)
		if err != nil {
			return err
		}
		files = append(files, inner...)
	}
	if err := l.readAll(files); err != nil {
		return err
	}
	return l.findOwn()
}

// damaged returns the first of what is bad.
func (l *contentLook) damaged() []DamagedContent {
	found := []DamagedContent{}
	for _, id := range slices.Sorted(maps.Keys(l.bad)) {
		if len(found) == mostDamaged {
			break
		}
		_, here := l.own(id)
		found = append(found, DamagedContent{SHA256: id, What: l.bad[id].by.By, Here: here})
	}
	return found
}

// here is content of this machine, which is brought from the log if it is not there.
func (l *contentLook) here(ctx context.Context, id thread.BlobID) (data []byte, bad bool, err error) {
	if data, here := l.kept(id); here || !l.ask.Load() {
		return data, !here, nil
	}
	data, err = l.x.Store.Blob(id)
	switch {
	case err == nil:
		return data, false, nil
	case codes.Has(err, codes.RemoteDamaged), store.IsDamaged(err):
		return nil, true, nil
	case saferoot.Stopped(ctx) != nil:
		return nil, false, err
	}
	l.mu.Lock()
	l.failed = cmp.Or(l.failed, err)
	l.mu.Unlock()
	l.ask.Store(false) // it would take as long for each
	return nil, true, nil
}

// keepOwn stores content that was not to be had, and that is elsewhere on this machine.
func (l *contentLook) keepOwn() (kept bool, err error) {
	for id := range l.bad {
		data, here := l.own(id)
		if !here || saferoot.Exists(l.x.Store.Path(content.Path(id))) {
			continue
		}
		if err := content.Store(l.x.files.Disk, data); err != nil {
			return kept, err
		}
		kept = true
	}
	return kept, nil
}

// list returns the content that a record names, itself or in a list. A list that is damaged
// in the log is read on this machine.
func (l *contentLook) list(b namedBlob) (inner []namedBlob, err error) {
	if !b.IsList() {
		return []namedBlob{b}, nil
	}
	data, err := l.read(b)
	if err != nil {
		return nil, err
	}
	if data == nil {
		data, _ = l.own(b.ID)
	}
	named, _ := namedIn(b, data)
	for _, one := range named {
		inner = append(inner, one.namedBlob)
	}
	return inner, nil
}

// read reads a blob of the log, once: no data if it was read before, or is damaged.
func (l *contentLook) read(b namedBlob) (data []byte, err error) {
	l.mu.Lock()
	been := l.asked[b.ID]
	l.asked[b.ID] = true
	l.mu.Unlock()
	if been || !content.Valid(b.ID) {
		return nil, nil
	}
	data, bad, err := l.from(l.x.ctx, b.ID)
	if bad {
		l.mu.Lock()
		l.bad[b.ID] = &badBlob{id: b.ID, by: &b, size: -1}
		l.mu.Unlock()
	}
	return data, err
}

// readAll reads blobs, some at once.
func (l *contentLook) readAll(all []namedBlob) error {
	errs := make([]error, readers)
	next := make(chan namedBlob)
	var going sync.WaitGroup
	for i := range errs {
		going.Go(func() {
			for b := range next {
				if errs[i] == nil {
					_, errs[i] = l.read(b)
				}
			}
		})
	}
	for i, b := range all {
		l.x.progress("checking the remote", i, len(all))
		next <- b
	}
	close(next)
	going.Wait()
	return errors.Join(errs...)
}

// findOwn looks where this machine has what is damaged there.
func (l *contentLook) findOwn() error {
	if len(l.bad) == 0 {
		return nil
	}
	for _, t := range l.x.records.threads {
		list, err := replica.ListOf(l.x.files.Disk, t.record.ID)
		if err != nil {
			continue
		}
		if name, data, err := list.Plain(); err == nil {
			l.lists[name] = data
		}
	}
	return l.x.salvage(l.bad)
}

// kept is content that this machine has as a blob.
func (l *contentLook) kept(id thread.BlobID) (data []byte, here bool) {
	base, err := l.x.files.Disk.OpenBase()
	if err != nil {
		return nil, false
	}
	defer base.Close()
	data, err = content.Read(base, id)
	return data, err == nil
}

// own is content that this machine has.
func (l *contentLook) own(id thread.BlobID) (data []byte, here bool) {
	if data, here = l.kept(id); here {
		return data, true
	}
	if data, here = l.lists[id]; here {
		return data, true
	}
	if l.bad[id] == nil || l.bad[id].source == "" {
		return nil, false
	}
	base, err := l.x.files.Disk.OpenBase()
	if err != nil {
		return nil, false
	}
	defer base.Close()
	f, _, err := saferoot.OpenIn(base, l.bad[id].source)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err = io.ReadAll(f)
	return data, err == nil && content.IDOf(data) == id
}
