package statefile

import (
	"bytes"
	"cmp"
	"fmt"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/buffer"
	"leslie/store/internal/jsonl"
	"leslie/thread"
)

// This file prepares a state for writing without copying unchanged parts. An operation
// changes a few records; the others are written from the bytes that were read, as runs
// of whole lines with the new lines between them. The bytes are the file's, in
// pieces.

const (
	// shortRun: fewer bytes are copied rather than written by themselves.
	shortRun = 32 << 10
	// firstOwn and laterOwn are how much memory is taken for what is new, or short:
	// little if little has changed, and never moved when it is full.
	firstOwn, laterOwn = 16 << 10, 256 << 10
)

// encoder makes the pieces of a file.
type encoder struct {
	out  [][]byte
	own  []byte // what is new, or short
	from int    // where the piece of own begins that is not in out yet
}

func (e *encoder) text(text string) { e.own = append(e.grow(len(text)), text...) }

func (e *encoder) bytes(text []byte) { e.own = append(e.grow(len(text)), text...) }

// grow is own with memory for so many bytes more.
func (e *encoder) grow(n int) []byte {
	if cap(e.own)-len(e.own) >= n {
		return e.own
	}
	size := firstOwn
	if e.own != nil {
		size = laterOwn
	}
	e.flush()
	e.own, e.from = buffer.Make(int64(max(size, n)))[:0], 0
	return e.own
}

// run adds bytes that stay where they are.
func (e *encoder) run(bytes []byte) {
	if len(bytes) < shortRun {
		e.bytes(bytes)
		return
	}
	e.flush()
	e.out = append(e.out, bytes)
}

func (e *encoder) flush() {
	if e.from < len(e.own) {
		e.out = append(e.out, e.own[e.from:len(e.own):len(e.own)])
		e.from = len(e.own)
	}
}

// Encode is the image as a file. Errors: T901.
func (m Image) Encode() ([]byte, error) {
	parts, err := m.EncodeFrom(Image{})
	return bytes.Join(parts, nil), err
}

// EncodeFrom is the image as a file, in pieces. was is an image that it came from:
// pieces share their bytes with it. Errors: T901.
func (m Image) EncodeFrom(was Image) ([][]byte, error) {
	e := &encoder{}
	e.text(fmt.Sprintf("%s%s%s%d%s", headVersion, cmp.Or(m.Version, Version), headRevision, m.Revision, headChecksum))
	sumAt := len(e.own)
	e.text("00000000" + headEnd + keyOperation)
	if m.Operation == nil {
		e.text("null")
	} else {
		text, err := m.Operation.JSON()
		if err != nil {
			return nil, err
		}
		e.run(text)
	}
	e.text(",\n")
	for _, table := range thread.Tables() {
		if err := e.table(table, m.Records[table], was.Records[table], was.tables[table]); err != nil {
			return nil, err
		}
	}
	e.bytes(m.unknown)
	if err := e.end(m); err != nil {
		return nil, err
	}
	first := e.out[0]
	sum := jsonl.Checksum(append([][]byte{first[:sumAt], first[sumAt+digits:]}, e.out[1:]...)...)
	copy(first[sumAt:], sum[len(jsonl.SumPrefix):])
	return e.out, nil
}

// end adds what follows the tables.
func (e *encoder) end(m Image) error {
	quarantined, err := thread.Encode(append([]thread.Quarantined{}, m.Quarantined...))
	if err != nil {
		return codes.Internal.Wrap(err)
	}
	pending, err := thread.Encode(m.Pending)
	if err != nil {
		return codes.Internal.Wrap(err)
	}
	e.text(keyQuarantined)
	e.bytes(quarantined)
	e.text(",\n" + keyPending)
	e.run(pending)
	e.text("\n}\n")
	e.flush()
	return nil
}

// table adds a table; body has the lines of was as they were read, nil if they were not.
func (e *encoder) table(name string, lines, was []thread.Line, body []byte) error {
	e.text(`"` + name + "\":{\n")
	if body == nil {
		was = nil
	}
	begin, end := 0, 0 // of the current run, in body
	at, next := 0, 0   // of the line was[next], in body
	for i, line := range lines {
		last := i == len(lines)-1
		for next < len(was) && was[next].ID < line.ID {
			at, next = at+extent(was, next), next+1
		}
		if next < len(was) && untouched(was[next], line) && last == (next == len(was)-1) {
			if at != end {
				e.run(body[begin:end])
				begin = at
			}
			at, next = at+extent(was, next), next+1
			end = at
			continue
		}
		e.run(body[begin:end])
		begin, end = at, at
		if err := e.line(name, line, last); err != nil {
			return err
		}
	}
	e.run(body[begin:end])
	e.text(tableEnd)
	return nil
}

// line adds a record's line.
func (e *encoder) line(table string, line thread.Line, last bool) error {
	if !plainID(line.ID) || bytes.IndexByte(line.JSON, '\n') >= 0 {
		return codes.Internal.New(fact.Of("reason", "the record "+table+"/"+line.ID+" cannot be written as one line"))
	}
	e.text(`"` + line.ID + `":`)
	e.bytes(line.JSON)
	if !last {
		e.text(",")
	}
	e.text("\n")
	return nil
}

// extent is how many bytes the i-th line of a table takes in the file.
func extent(lines []thread.Line, i int) int {
	n := len(`"":`) + len(lines[i].ID) + len(lines[i].JSON) + len("\n")
	if i < len(lines)-1 {
		n += len(",")
	}
	return n
}

// untouched reports whether a line is the one that was read: the very same bytes
// in memory, not equal ones.
func untouched(was, is thread.Line) bool {
	return was.ID == is.ID && len(was.JSON) == len(is.JSON) && len(is.JSON) > 0 && &was.JSON[0] == &is.JSON[0]
}
