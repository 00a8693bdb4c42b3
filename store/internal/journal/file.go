package journal

import (
	"bytes"
	"context"
	"os"
	"slices"

	"leslie/codes"
	"leslie/store/internal/jsonl"
	"leslie/thread"
)

// File is the journal's file as it was when it was opened. The zero value is one that
// is missing. Errors of its methods are the system's, if they are not said to be
// others.
type File struct {
	file *os.File
	size int64
	// Broken is why it is not a file that can be read, "" if it is.
	Broken string
}

// NewFile is an open file of so many bytes.
func NewFile(f *os.File, size int64) File { return File{file: f, size: size} }

// Missing reports whether there is nothing to read.
func (f File) Missing() bool { return f.file == nil }

// Size is the number of bytes.
func (f File) Size() int64 { return f.size }

// Close closes the file, if there is one.
func (f File) Close() {
	if f.file != nil {
		_ = f.file.Close()
	}
}

// Newest calls fn for the intact lines, the newest first, until fn returns false.
func (f File) Newest(fn func(Entry) bool) error {
	if f.file == nil {
		return nil
	}
	for line, err := range jsonl.Backwards(f.file, f.size) {
		if err != nil {
			return err
		}
		if e, ok := Read(line); ok && !fn(e) {
			return nil
		}
	}
	return nil
}

// Span is a part of the history, and all operations after Since that undo or redo others;
// the zero value is all of it.
type Span struct {
	Since, Before thread.Revision // both excluded; Before 0: no end
	Marks         []string        // if there are any, decode only lines that have one of these texts
}

// undoes is in the line of each operation that undoes or redoes another.
const undoes = `"undoes":"`

// marked reports whether a line may be wanted.
func (part Span) marked(seq thread.Revision, line []byte) bool {
	if bytes.Contains(line, []byte(undoes)) {
		return true
	}
	if part.Before != 0 && seq >= part.Before {
		return false
	}
	has := func(mark string) bool { return bytes.Contains(line, []byte(mark)) }
	return len(part.Marks) == 0 || slices.ContainsFunc(part.Marks, has)
}

// NewestFirst calls yield for the operations from the newest to the oldest, of each
// number the line that was written last, until yield returns false. It reads only as
// far as it has to. Errors: also T904.
func (f File) NewestFirst(ctx context.Context, part Span, yield func(Entry) bool) error {
	if f.file == nil {
		return nil
	}
	var last thread.Revision // the number above those that are still wanted
	for line, err := range jsonl.Backwards(f.file, f.size) {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return codes.Interrupted.Wrap(context.Cause(ctx))
		}
		seq, ok := number(line)
		switch {
		case !ok || last != 0 && seq >= last: // damaged, or written twice
			continue
		case seq <= part.Since:
			return nil
		}
		last = seq
		if !part.marked(seq, line) {
			continue
		}
		if e, ok := Read(line); ok && !yield(e) {
			return nil
		}
	}
	return nil
}

// After returns the operations that follow a revision without a gap, oldest first, and
// the newest number that the journal knows.
func (f File) After(rev thread.Revision) (ops []Entry, newest thread.Revision, err error) {
	found := map[thread.Revision]Entry{}
	err = f.Newest(func(e Entry) bool {
		newest = max(newest, e.Seq)
		if _, again := found[e.Seq]; !again && e.Seq > rev {
			found[e.Seq] = e
		}
		return e.Seq > rev
	})
	for next, ok := found[rev+1]; ok; next, ok = found[rev+1] {
		ops = append(ops, next)
		rev++
	}
	return ops, newest, err
}

// Tail is the end of a journal.
type Tail struct {
	Newest thread.Revision // of the last intact line; 0: there is none
	// StepsDone: the newest operation's steps were done, and on disk, when its line was
	// written: it has none.
	StepsDone bool
	// Torn: a damaged line follows. Begun: it may be of an operation. An operation
	// whose line could not be finished is in the state, so a state that is not newer than
	// Newest has lost one; what else stands there never was an operation.
	Torn, Begun bool
}

// Tail reads the end of the journal.
func (f File) Tail() (end Tail, err error) {
	if f.file == nil {
		return Tail{}, nil
	}
	if line := f.last(); line != nil {
		if seq, ok := number(line); ok {
			return tailOf(seq, line), nil
		}
	}
	for line, err := range jsonl.Backwards(f.file, f.size) {
		if err != nil {
			return Tail{}, err
		}
		if seq, ok := number(line); ok {
			damaged := end
			end = tailOf(seq, line)
			end.Torn, end.Begun = damaged.Torn, damaged.Begun
			break
		}
		end.Torn = true
		end.Begun = end.Begun || begun(line)
	}
	return end, nil
}

// begun reports whether a damaged line may be of an operation: it begins like one, as
// far as there is anything of it, or has an operation's id.
func begun(line []byte) bool {
	n := min(len(line), len(lineBegin))
	return n > 0 && string(line[:n]) == lineBegin[:n] || bytes.Contains(line, []byte(`"`+thread.PrefixOperation))
}

func tailOf(seq thread.Revision, line []byte) Tail {
	pending := bytes.Contains(line, []byte(`"pending":[`)) // of the operation, or only in a part of it
	if pending {
		_, pending = thread.MemberOf(line, "pending")
	}
	return Tail{Newest: seq, StepsDone: !pending}
}

// last is the last line if it is whole within the last few kilobytes, as most are; nil
// if it has to be searched for.
func (f File) last() []byte {
	few := make([]byte, min(f.size, 4<<10))
	if _, err := f.file.ReadAt(few, f.size-int64(len(few))); err != nil {
		return nil
	}
	few, ended := bytes.CutSuffix(few, []byte("\n"))
	if start := bytes.LastIndexByte(few, '\n'); ended && start >= 0 {
		return few[start+1:]
	}
	return nil
}

// TailAt is Tail for a reader who has the state's operation: if the journal ends with
// its line, and all its steps are done, the line need not be read. It may be long, and
// its length, beginning and checksum are enough.
func (f File) TailAt(o *Operation) (Tail, error) {
	if !f.endsWith(o) {
		return f.Tail()
	}
	return Tail{Newest: o.Seq, StepsDone: true}, nil
}

func (f File) endsWith(o *Operation) bool {
	if f.file == nil || o == nil || len(o.text) < LargeOperation || len(o.Held) > 0 {
		return false
	}
	open := o.text[:len(o.text)-1]
	end := []byte(jsonl.Ending(open) + "\n")
	begin := append([]byte("\n"), open[:64]...)
	at := f.size - int64(len(open)+len(end)) - 1
	if at == -1 {
		at, begin = 0, begin[1:] // the journal's only line
	}
	return f.has(at, begin) && f.has(f.size-int64(len(end)), end)
}

func (f File) has(at int64, want []byte) bool {
	got := make([]byte, len(want))
	_, err := f.file.ReadAt(got, at)
	return err == nil && bytes.Equal(got, want)
}
