// Package jsonl has the lines of the store's files: JSON objects sealed with a
// checksum, read from the end of a file.
//
// The checksums are CRC-32C (RFC 3720), written as "crc32c:" and eight lower-case
// hexadecimal digits. They find damage, not malice. A sum is compared byte for byte,
// so that one in capitals is damage too.
package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"

	"leslie/codes"
	"leslie/internal/fact"
)

const (
	// SumPrefix is in front of a checksum's digits.
	SumPrefix = "crc32c:"
	sumLen    = len(SumPrefix) + 8
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Checksum covers the parts as if they were one.
func Checksum(parts ...[]byte) string {
	var sum Sum
	for _, p := range parts {
		sum.Add(p)
	}
	return sum.String()
}

// Sum is a checksum in the making; its zero value covers nothing.
type Sum struct{ crc uint32 }

// Add covers the next bytes as well.
func (s *Sum) Add(p []byte) { s.crc = crc32.Update(s.crc, castagnoli(), p) }

// String is the checksum as it is written.
func (s *Sum) String() string { return fmt.Sprintf("%s%08x", SumPrefix, s.crc) }

// A sealed line is a JSON object whose last key is sum, over all bytes in front
// of it: {...,"sum":"crc32c:xxxxxxxx"}.
const (
	sealHead = `,"sum":"`
	sealTail = `"}`
	sealLen  = len(sealHead) + sumLen + len(sealTail)
)

// Ending is what follows open, all of an object but its last brace, in its sealed
// line.
func Ending(open []byte) string { return sealHead + Checksum(open) + sealTail }

// Seal adds the sum to a JSON object.
func Seal(object []byte) []byte {
	open := object[:len(object)-1]
	out := make([]byte, 0, len(open)+sealLen)
	out = append(out, open...)
	return append(out, Ending(open)...)
}

// Intact reports whether a sealed line is as it was written.
func Intact(line []byte) bool {
	if len(line) <= sealLen || line[0] != '{' {
		return false
	}
	open := line[:len(line)-sealLen]
	return bytes.Equal(line[len(open):], []byte(Ending(open)))
}

// Marshal is v as one line of JSON without HTML escapes, so that raw parts keep their
// bytes. Errors: T901.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, codes.Internal.Wrap(err, fact.Of("reason", "a value cannot be written as JSON"))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

const firstChunk = 64 << 10

// Backwards yields the lines of a file from its end, without their newlines;
// empty ones are left out. It reads as much as is asked for: the cost does not
// grow with what lies before. A line is valid until the next one.
func Backwards(f io.ReaderAt, size int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for at, err := range BackwardsAt(f, size) {
			if !yield(at.Line, err) {
				return
			}
		}
	}
}

// Placed is a line and where it begins.
type Placed struct {
	Line []byte
	At   int64
}

// BackwardsAt is backwards with the place of each line. It holds one chunk and
// one line, whatever lies before.
func BackwardsAt(f io.ReaderAt, size int64) iter.Seq2[Placed, error] {
	return func(yield func(Placed, error) bool) {
		var held []byte // the bytes from pos on that were not yielded
		pos, chunk := size, int64(firstChunk)
		for {
			start := bytes.LastIndexByte(held, '\n') + 1
			if start == 0 && pos > 0 {
				n := min(chunk, pos)
				more := make([]byte, n, n+int64(len(held)))
				if _, err := f.ReadAt(more, pos-n); err != nil && !errors.Is(err, io.EOF) {
					yield(Placed{}, err)
					return
				}
				// Doubled as long as one line goes on, so that a long one is
				// not copied again for each chunk of it.
				held, pos, chunk = append(more, held...), pos-n, chunk*2
				continue
			}
			chunk = firstChunk
			if line := held[start:]; len(line) > 0 && !yield(Placed{line, pos + int64(start)}, nil) {
				return
			}
			if start == 0 {
				return
			}
			held = held[:start-1]
		}
	}
}
