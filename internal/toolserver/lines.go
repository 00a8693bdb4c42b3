package toolserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// This file keeps what is no message from the library, which would end at the first one:
// it is answered with an error, and the next line counts.

// maxLine is the length of the longest line that is read.
const maxLine = 16 << 20

// grace is how long requests are still carried out after the client has closed its
// stream.
const grace = 2 * time.Second

// lines are the messages of a client, one a line, and the way back.
type lines struct {
	in  *bufio.Reader
	out io.Writer
	mu  sync.Mutex // of out

	written func(result json.RawMessage) // is told each result that was written whole

	rest  []byte // of the line that is being read
	ended bool

	asked    map[jsonrpc.ID]bool // requests that have no answer yet
	answered chan struct{}       // ready when one of them has got it
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), out: out, written: func(json.RawMessage) {}, asked: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1)}
}

// Write writes to the client, a whole message at a time.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.out.Write(p)
	if len(l.asked) > 0 {
		if m, wrong := jsonrpc.DecodeMessage(p); wrong == nil {
			if answer, ok := m.(*jsonrpc.Response); ok {
				delete(l.asked, answer.ID)
				if err == nil {
					l.written(answer.Result)
				}
			}
		}
		select {
		case l.answered <- struct{}{}:
		default:
		}
	}
	return n, err
}

// settle waits until each request is answered, but not for longer than grace: a program
// that pipes its requests in closes the stream right behind the last one.
func (l *lines) settle() {
	late := time.After(grace)
	for {
		l.mu.Lock()
		open := len(l.asked)
		l.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-l.answered:
		case <-late:
			return
		}
	}
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
			m, refused := message(line)
			if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
				l.mu.Lock()
				l.asked[r.ID] = true
				l.mu.Unlock()
			}
			if refused != nil {
				_, _ = l.Write(append(refused, '\n'))
			} else {
				l.rest = append(line, '\n')
				break
			}
		}
		if err != nil {
			l.settle()
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

// message returns the message that a line is, or the answer to one that is none.
func message(line []byte) (m jsonrpc.Message, refused []byte) {
	switch {
	case !json.Valid(line):
		return nil, notMessage(nil, jsonrpc.CodeParseError, "the line is not JSON")
	case string(line) == tooLong:
		return nil, notMessage(nil, jsonrpc.CodeInvalidRequest, "the line is longer than 16 MiB")
	case line[0] == '[':
		return nil, notMessage(nil, jsonrpc.CodeInvalidRequest, "batches are not supported: write one message a line")
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err == nil {
		return m, nil
	}
	var part struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(line, &part)
	switch {
	case len(part.ID) > 0 && (part.ID[0] == '"' || part.ID[0] == '-' || part.ID[0] >= '0' && part.ID[0] <= '9'):
	default:
		part.ID = nil
	}
	return nil, notMessage(part.ID, jsonrpc.CodeInvalidRequest, "the line is not a message of JSON-RPC 2.0: "+err.Error())
}

func notMessage(id json.RawMessage, code int64, message string) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message}}) // always possible
	return b
}
