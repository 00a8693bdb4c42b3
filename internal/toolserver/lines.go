package toolserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// This file keeps what is no message from the library, which would end at the first one:
// it is answered with an error, and the next line counts.

// maxLine is the length of the longest line that is read.
const maxLine = 16 << 20

// lines are the messages of a client, one a line, and the way back.
type lines struct {
	in  *bufio.Reader
	out io.Writer
	mu  sync.Mutex // of out

	rest  []byte // of the line that is being read
	ended bool
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

// Write writes to the client, a whole message at a time.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// Close leaves the streams open: they are the process's.
func (l *lines) Close() error { return nil }

// over reports whether the client has closed its stream.
func (l *lines) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// Read reads messages alone.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.next()
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if refused := faulty(line); refused != nil {
				_, _ = l.Write(append(refused, '\n'))
			} else {
				l.rest = append(line, '\n')
				break
			}
		}
		if err != nil {
			l.mu.Lock()
			l.ended = true
			l.mu.Unlock()
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// tooLong stands for a line that is passed over.
const tooLong = `"too long"`

// next reads a line; one that is too long is passed over, and a text stands for it that is
// no message.
func (l *lines) next() (line []byte, err error) {
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long:
			return []byte(tooLong), err
		}
		return line, err
	}
}

// faulty returns the answer to a line that is no message, nil if it is one.
func faulty(line []byte) []byte {
	switch {
	case !json.Valid(line):
		return notMessage(nil, jsonrpc.CodeParseError, "the line is not JSON")
	case string(line) == tooLong:
		return notMessage(nil, jsonrpc.CodeInvalidRequest, "the line is longer than 16 MiB")
	case line[0] == '[':
		return notMessage(nil, jsonrpc.CodeInvalidRequest, "batches are not supported: write one message a line")
	}
	_, err := jsonrpc.DecodeMessage(line)
	if err == nil {
		return nil
	}
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(line, &m)
	switch {
	case len(m.ID) > 0 && (m.ID[0] == '"' || m.ID[0] == '-' || m.ID[0] >= '0' && m.ID[0] <= '9'):
	default:
		m.ID = nil
	}
	return notMessage(m.ID, jsonrpc.CodeInvalidRequest, "the line is not a message of JSON-RPC 2.0: "+err.Error())
}

func notMessage(id json.RawMessage, code int64, message string) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message}}) // always possible
	return b
}
