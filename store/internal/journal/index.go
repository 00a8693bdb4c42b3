package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"time"

	"leslie/thread"
)

// Index is a journal from its beginning to its end: what it can rebuild, and what it
// lacks. It has the places of the lines, not the lines, because a journal only grows.
type Index struct {
	Bad    []int           // damaged lines, counted from 1
	Torn   bool            // the last line is damaged
	Newest thread.Revision // the greatest number of any intact line
	// Answers has what the requests of the last days were answered, by the name of the
	// answer's file.
	Answers map[string]Answer

	// lines are the intact lines that count, by their numbers, which grow. Of two lines
	// with one number the later counts. So does one whose number is smaller than that of
	// a line in front of it: the store went back there, and what the older lines say of
	// later operations never happened.
	lines []placed
}

// placed is where a line of the journal is.
type placed struct {
	seq      thread.Revision
	at       int64
	size     int
	baseline bool
}

// ReadIndex reads a journal. Answers are those that are remembered at a time.
func ReadIndex(f File, now time.Time) (Index, error) {
	x := Index{Answers: map[string]Answer{}}
	if f.file == nil {
		return x, nil
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f.file, 0, f.size), readAhead)
	at := int64(0)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		x.take(n, at, bytes.TrimSuffix(line, []byte("\n")), now)
		at += int64(len(line))
		if errors.Is(err, io.EOF) {
			return x, nil
		}
		if err != nil {
			return x, err
		}
	}
}

func (x *Index) take(n int, at int64, line []byte, now time.Time) {
	if len(line) == 0 {
		return
	}
	e, ok := Read(line)
	x.Torn = !ok
	if !ok {
		x.Bad = append(x.Bad, n)
		return
	}
	keep := len(x.lines)
	for keep > 0 && x.lines[keep-1].seq >= e.Seq {
		keep--
	}
	x.lines = append(x.lines[:keep], placed{seq: e.Seq, at: at, size: len(line), baseline: e.Baseline})
	x.Newest = max(x.Newest, e.Seq)
	if e.RequestID != "" && !Forgotten(e.Time, now) {
		x.Answers[AnswerName(e.RequestID)] = AnswerOf(e)
	}
}

// Empty reports whether the journal has no intact line.
func (x Index) Empty() bool { return len(x.lines) == 0 }

// Last is the number of the newest line that counts, 0 if there is none.
func (x Index) Last() thread.Revision {
	if x.Empty() {
		return 0
	}
	return x.lines[len(x.lines)-1].seq
}

// Complete reports whether the journal has every operation from the first to its newest,
// whatever a baseline says.
func (x Index) Complete() bool {
	for i, line := range x.lines {
		if line.seq != thread.Revision(i+1) {
			return false
		}
	}
	return true
}

// base is the index of the line from which a state can be rebuilt: the newest
// baseline, else the first.
func (x Index) base() int {
	for i := len(x.lines) - 1; i > 0; i-- {
		if x.lines[i].baseline {
			return i
		}
	}
	return 0
}

// Gap is the first run of operations that the journal lacks to rebuild the state of a
// revision; 0 if it lacks none. The state's own operation, which the next write
// appends, is not missing.
func (x Index) Gap(top thread.Revision, own *Operation) (first, last thread.Revision) {
	want := thread.Revision(1)
	if own != nil {
		top--
		if e, err := own.All(); err == nil && e.Baseline {
			return 0, 0
		}
	}
	lines := x.lines[x.base():]
	if len(lines) > 0 && lines[0].baseline {
		want = lines[0].seq
	}
	for _, line := range lines {
		if line.seq > want {
			return want, line.seq - 1
		}
		want = line.seq + 1
	}
	if want <= top {
		return want, top
	}
	return 0, 0
}

// Replay calls fn for the operations from which a state can be rebuilt, oldest first,
// until it returns false. A line that has changed since the index was made is skipped.
func (x Index) Replay(f File, fn func(Entry) bool) error {
	if f.file == nil {
		return nil
	}
	for _, line := range x.lines[x.base():] {
		data := make([]byte, line.size)
		if _, err := f.file.ReadAt(data, line.at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if e, ok := Read(data); ok && e.Seq == line.seq && !fn(e) {
			return nil
		}
	}
	return nil
}

// Contradicts returns the records for which the journal does not say what the state of
// a revision, with its own operation, says, in order. Errors: also T901.
func (x Index) Contradicts(f File, rev thread.Revision, own *Operation, records thread.Records) (differing []string, err error) {
	last := map[string][]byte{}
	note := func(e Entry) {
		for _, c := range e.Changes {
			last[c.Record] = c.Whole(last[c.Record])
		}
	}
	err = x.Replay(f, func(e Entry) bool {
		if e.Seq <= rev {
			note(e)
		}
		return e.Seq < rev
	})
	if own != nil {
		e, err := own.All()
		if err != nil {
			return nil, err
		}
		note(e) // the journal may lack it yet
	}
	for _, table := range thread.Tables() {
		for _, line := range records[table] {
			record := table + "/" + line.ID
			if !bytes.Equal(last[record], line.JSON) {
				differing = append(differing, record)
			}
			delete(last, record)
		}
	}
	for record, after := range last {
		if !thread.Absent(after) {
			differing = append(differing, record)
		}
	}
	slices.Sort(differing)
	return differing, err
}
