package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Reader reads a transcript as it grows, across its files. It is for one goroutine, and
// must be closed.
type Reader struct {
	// Damaged counts the lines that were passed over.
	Damaged int

	dir    string
	last   int64 // the number of the last entry that was read, or that was not wanted
	file   *os.File
	offset int64 // in file
	torn   bool  // the file ends with a part of a line
}

// NewReader returns a reader of the entries behind a number.
func NewReader(dir string, since int64) *Reader { return &Reader{dir: dir, last: since} }

// Close ends the reading.
func (r *Reader) Close() {
	if r.file != nil {
		_ = r.file.Close()
		r.file = nil
	}
}

// Each calls fn with each entry that was written since the last call; the first call has
// all of them. There are none in a folder that is missing. An error of fn ends it and is
// returned.
func (r *Reader) Each(fn func(Entry) error) error {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return unlessMissing(err)
	}
	defer root.Close()
	// The newest file comes first: if it is full by the time the full ones are listed, it
	// is among them, and its entries are not read twice because of their numbers.
	newest, err := open(root, Name, os.O_RDONLY)
	if unlessMissing(err) != nil {
		return err
	}
	if !sameFile(r.file, newest) {
		r.Close()
		if err := r.full(root, fn); err != nil {
			if newest != nil {
				_ = newest.Close()
			}
			return err
		}
		r.file, r.offset = newest, 0
	} else if newest != nil {
		_ = newest.Close()
	}
	if r.file == nil {
		return nil
	}
	r.torn, err = r.rest(r.file, &r.offset, fn)
	return err
}

// full reads the full files.
func (r *Reader) full(root *os.Root, fn func(Entry) error) error {
	firsts, err := fullFiles(root)
	if err != nil {
		return err
	}
	for i, first := range firsts {
		if i+1 < len(firsts) && firsts[i+1] <= r.last+1 {
			continue
		}
		f, err := open(root, full(first), os.O_RDONLY)
		if err != nil {
			return unlessMissing(err)
		}
		torn, err := r.rest(f, new(int64), fn)
		if torn {
			r.Damaged++
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// rest reads a file from an offset on.
func (r *Reader) rest(f *os.File, offset *int64, fn func(Entry) error) (torn bool, err error) {
	return forward(f, offset, func(line []byte) error {
		if n := number(line); n > 0 && n <= r.last {
			return nil
		}
		e, ok := parse(line)
		switch {
		case !ok:
			r.Damaged++
			return nil
		case e.N <= r.last:
			return nil
		}
		r.last = e.N
		return fn(e)
	})
}

func sameFile(a, b *os.File) bool {
	if a == nil || b == nil {
		return false
	}
	one, err := a.Stat()
	if err != nil {
		return false
	}
	two, err := b.Stat()
	return err == nil && os.SameFile(one, two)
}

func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Read calls fn with the entries behind a number, of one run if it is not "", in their
// order. An error of fn ends it and is returned. damaged is how many lines were passed
// over.
func Read(dir string, since int64, run string, fn func(Entry) error) (damaged int, err error) {
	r := NewReader(dir, since)
	defer r.Close()
	err = r.Each(func(e Entry) error {
		if run != "" && e.Run != run {
			return nil
		}
		return fn(e)
	})
	if damaged = r.Damaged; r.torn {
		damaged++
	}
	return damaged, err
}

// Runs returns the ids of the runs in a transcript, in their order. Entries that look like
// those of the run before them are not looked into.
func Runs(dir string) (ids []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unlessMissing(err)
	}
	defer root.Close()
	firsts, err := fullFiles(root)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, first := range firsts {
		names = append(names, full(first))
	}
	var last []byte // the beginning of the run's id in a line
	for _, name := range append(names, Name) {
		f, err := open(root, name, os.O_RDONLY)
		if err != nil {
			if err = unlessMissing(err); err != nil {
				return nil, err
			}
			continue
		}
		_, err = forward(f, new(int64), func(line []byte) error {
			if number(line) > 0 && len(last) > 0 && bytes.Contains(line[:min(len(line), runWithin)], last) {
				return nil
			}
			if e, ok := parse(line); ok {
				last = append(appendString([]byte(`,"run":`), e.Run), ',')
				if !slices.Contains(ids, e.Run) {
					ids = append(ids, e.Run)
				}
			}
			return nil
		})
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// runWithin is where a line names its run, in bytes from its beginning.
const runWithin = 128

// Query selects entries.
type Query struct {
	Since int64  // only those behind this number
	Run   string // only of this run; "": of all
	Limit int    // only the newest; 0: all
}

// Page is a part of a transcript.
type Page struct {
	Entries []Entry // the oldest first
	// Total is how many entries there are without the limit, with those that are lost.
	Total int
	// Damaged is how many lines were passed over in what was read.
	Damaged int
}

// Newest returns the newest entries that a query selects. With a limit and without a run
// it reads no more of the files than that.
func Newest(dir string, q Query) (Page, error) {
	if q.Limit > 0 && q.Run == "" {
		return newest(dir, q)
	}
	var p Page
	var err error
	p.Damaged, err = Read(dir, q.Since, q.Run, func(e Entry) error {
		if p.Total++; q.Limit > 0 && len(p.Entries) == q.Limit {
			p.Entries = p.Entries[1:]
		}
		p.Entries = append(p.Entries, e)
		return nil
	})
	return p, err
}

func newest(dir string, q Query) (p Page, err error) {
	more := false
	p.Damaged, err = fromEnd(dir, func(e Entry) bool {
		if e.N <= q.Since {
			return false
		}
		if more = len(p.Entries) == q.Limit; !more {
			p.Entries = append(p.Entries, e)
		}
		return !more
	})
	slices.Reverse(p.Entries)
	p.Total = len(p.Entries)
	if err != nil || !more {
		return p, err
	}
	first := int64(1)
	errFound := errors.New("found")
	_, err = Read(dir, 0, "", func(e Entry) error {
		first = e.N
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	p.Total = int(p.Entries[p.Total-1].N - max(q.Since, first-1))
	return p, err
}

// fromEnd calls fn with each entry, the last first, until it returns false.
func fromEnd(dir string, fn func(Entry) (more bool)) (damaged int, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, unlessMissing(err)
	}
	defer root.Close()
	newest, err := open(root, Name, os.O_RDONLY) // before the full ones: see Reader.Each
	if unlessMissing(err) != nil {
		return 0, err
	}
	firsts, err := fullFiles(root)
	if err != nil {
		return 0, err
	}
	limit, more := int64(0), true // entries from limit on were told
	look := func(f *os.File) error {
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		rest, err := backward(f, info.Size(), func(line []byte) bool {
			e, ok := parse(line)
			switch {
			case !ok:
				damaged++
			case limit == 0 || e.N < limit:
				limit = e.N
				more = fn(e)
			}
			return more
		})
		if rest > 0 {
			damaged++
		}
		return err
	}
	if newest != nil {
		if err := look(newest); err != nil {
			return damaged, err
		}
	}
	for i := len(firsts) - 1; i >= 0 && more; i-- {
		f, err := open(root, full(firsts[i]), os.O_RDONLY)
		if err == nil {
			err = look(f)
		}
		if err != nil {
			return damaged, err
		}
	}
	return damaged, nil
}

// Tail returns the end of what the agent has said, at most n bytes of it. Texts between
// which it did something else are apart by an empty line. A missing transcript has none.
func Tail(dir string, n int) (string, error) {
	var parts []string // the last first
	size, apart := 0, false
	_, err := fromEnd(dir, func(e Entry) bool {
		switch {
		case e.Kind == Text:
			if apart && size > 0 {
				parts = append(parts, "\n\n")
				size += len("\n\n")
			}
			parts, size, apart = append(parts, e.Text), size+len(e.Text), false
		case e.Kind != Usage && e.Kind != Update:
			apart = true
		}
		return size < n
	})
	slices.Reverse(parts)
	text := strings.Join(parts, "")
	if over := len(text) - n; over > 0 {
		text = strings.TrimLeftFunc(text[over:], func(r rune) bool { return r == '\uFFFD' })
	}
	return text, err
}

// LastUsage returns what the agent of a run said last of its use; nil for nothing, or what cannot be read.
func LastUsage(dir, run string) (raw json.RawMessage) {
	_, _ = fromEnd(dir, func(e Entry) bool {
		if e.Run == run && e.Kind == Usage {
			raw = e.Raw
		}
		return raw == nil && e.Run == run
	})
	return raw
}
