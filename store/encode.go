package store

import (
	"bytes"

	"leslie/store/internal/jsonl"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file prepares a state for writing without copying unchanged parts. An operation
// changes a few records; the others are written from the bytes that were read, as runs
// of whole lines with the new lines between them. The bytes are the file's, in
// pieces.

const (
	// shortRun is how many bytes are rather copied than written by themselves.
	shortRun = 32 << 10
	// firstOwn and laterOwn are how much memory is taken for what is new, or short:
	// little where little has changed, and never moved when it is full.
	firstOwn, laterOwn = 16 << 10, 256 << 10
)

// encoder is a state in the making.
type encoder struct {
	out  [][]byte
	own  []byte // what is new, or short
	from int    // where in own the piece begins that is not in out yet
}

func (p *encoder) text(text string) { p.own = append(p.room(len(text)), text...) }

func (p *encoder) bytes(text []byte) { p.own = append(p.room(len(text)), text...) }

// room is own with memory for so many bytes more.
func (p *encoder) room(n int) []byte {
	if cap(p.own)-len(p.own) >= n {
		return p.own
	}
	size := firstOwn
	if p.own != nil {
		size = laterOwn
	}
	p.flush()
	p.own, p.from = saferoot.Buffer(int64(max(size, n)))[:0], 0
	return p.own
}

// run adds bytes that stay where they are.
func (p *encoder) run(bytes []byte) {
	if len(bytes) < shortRun {
		p.bytes(bytes)
		return
	}
	p.flush()
	p.out = append(p.out, bytes)
}

func (p *encoder) flush() {
	if p.from < len(p.own) {
		p.out = append(p.out, p.own[p.from:len(p.own):len(p.own)])
		p.from = len(p.own)
	}
}

// encodeFrom lays the image out, which came of another. Pieces share their bytes with
// the other.
func (m image) encodeFrom(was image) ([][]byte, error) {
	head := m.head()
	op, err := m.operation.inState()
	if err != nil {
		return nil, err
	}
	tail, err := m.tail()
	if err != nil {
		return nil, err
	}
	p := &encoder{}
	p.bytes(head)
	p.text("00000000" + headEnd + `"operation":`)
	p.bytes(op)
	p.text(",\n")
	for _, table := range thread.Tables() {
		if err := p.table(table, m.records[table], was.records[table], was.bodies[table]); err != nil {
			return nil, err
		}
	}
	p.bytes(tail)
	p.flush()
	first := p.out[0]
	sum := jsonl.Checksum(append([][]byte{first[:len(head)], first[len(head)+8:]}, p.out[1:]...)...)
	copy(first[len(head):], sum[len(jsonl.SumPrefix):])
	return p.out, nil
}

// table adds a table; body is the lines of was as they were read, nil where
// nobody has them.
func (p *encoder) table(name string, lines, was []thread.Line, body []byte) error {
	p.text(`"` + name + "\":{\n")
	if body == nil {
		was = nil
	}
	begin, end := 0, 0 // of the run that goes on, in body
	at, next := 0, 0   // of the line was[next], in body
	for i, line := range lines {
		last := i == len(lines)-1
		for next < len(was) && was[next].ID < line.ID {
			at, next = at+extent(was, next), next+1
		}
		if next < len(was) && untouched(was[next], line) && last == (next == len(was)-1) {
			if at != end {
				p.run(body[begin:end])
				begin = at
			}
			at, next = at+extent(was, next), next+1
			end = at
			continue
		}
		p.run(body[begin:end])
		begin, end = at, at
		if err := p.line(name, line, last); err != nil {
			return err
		}
	}
	p.run(body[begin:end])
	p.text(tableEnd)
	return nil
}

// line adds a record's line.
func (p *encoder) line(table string, line thread.Line, last bool) error {
	if !plainID(line.ID) || bytes.IndexByte(line.JSON, '\n') >= 0 {
		return cannotBeLine(table, line.ID)
	}
	p.text(`"` + line.ID + `":`)
	p.bytes(line.JSON)
	if !last {
		p.text(",")
	}
	p.text("\n")
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
