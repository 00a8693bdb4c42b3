package acp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// MaxLine is the length of the longest line that is read, in bytes. Longer ones are
// skipped.
const MaxLine = 32 << 20

// ErrClosed means that the agent's output ended.
var ErrClosed = errors.New("the agent closed the connection")

// The error codes of the protocol.
const (
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeAuthRequired   = -32000
	CodeCancelled      = -32800
)

// Error is an error that an agent answered.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error implements error.
func (e *Error) Error() string {
	text := e.Message
	if detail := e.detail(); detail != "" && detail != text {
		text += ": " + detail
	}
	return fmt.Sprintf("the agent answered: %s (%d)", text, e.Code)
}

// detailBytes is how much of an error's details its text repeats.
const detailBytes = 500

// detail is what some agents say beside a message that is always the same.
func (e *Error) detail() string {
	var text string
	var in struct {
		Details string `json:"details"`
		Message string `json:"message"`
	}
	if json.Unmarshal(e.Data, &text) != nil && json.Unmarshal(e.Data, &in) == nil {
		text = cmp.Or(in.Details, in.Message)
	}
	return strings.ToValidUTF8(text[:min(len(text), detailBytes)], "")
}

// Handler receives what an agent sends on its own. The methods but Permission are called
// by the goroutine that reads, in the order of the messages.
type Handler interface {
	// Update receives an update of the session. raw is valid until it returns.
	Update(kind string, raw json.RawMessage)
	// Permission decides a request for permission, in a goroutine of its own. ctx ends
	// when the agent takes its request back, or the connection ends.
	Permission(ctx context.Context, request PermissionRequest) PermissionOutcome
	// Junk receives a line that is no message, at most junkBytes of it; size is its length.
	Junk(line []byte, size int)
	// Refused receives the name of a request that was refused.
	Refused(method string)
}

// junkBytes is how much of a line that is no message a handler receives.
const junkBytes = 4 << 10

// Conn is a connection to an agent.
type Conn struct {
	in      io.Reader
	handler Handler

	out     io.Writer
	writing sync.Mutex
	queue   [][]byte // what is to be written
	queued  int      // its bytes
	busy    bool     // a goroutine writes it
	broken  error    // why nothing can be written any more

	mu      sync.Mutex
	last    int64
	waiting map[int64]chan<- answer
	serving map[string]context.CancelFunc // requests of the agent that are not answered, by id
	ended   error                         // why there are no more messages
	servers sync.WaitGroup
}

type answer struct {
	result json.RawMessage
	err    error
}

// message is any message of JSON-RPC. Of its parameters it has what notifications have, so
// that a burst of updates is decoded once; those of a request are decoded by request.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Update    part            `json:"update"`
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// part is a part of the line that is being decoded, not a copy.
type part []byte

// UnmarshalJSON implements json.Unmarshaler.
func (p *part) UnmarshalJSON(raw []byte) error {
	*p = raw
	return nil
}

// decode decodes a line; ok is false if it is no message. Parameters of another form than
// those of leslie's notifications are no fault of the message.
func decode(line []byte) (m message, ok bool) {
	err := json.Unmarshal(line, &m)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) && (other.Field == "params" || strings.HasPrefix(other.Field, "params.")) {
		err = nil
	}
	return m, err == nil
}

// kindOf returns the kind of an update, "" if it has none.
func kindOf(update []byte) string {
	const first = `{"sessionUpdate":"`
	if rest, found := bytes.CutPrefix(update, []byte(first)); found { // as most agents write it
		if name, _, closed := bytes.Cut(rest, []byte{'"'}); closed && !bytes.ContainsRune(name, '\\') && bytes.Count(rest, []byte("sessionUpdate")) == 0 {
			return string(name)
		}
	}
	var kind struct {
		Kind string `json:"sessionUpdate"`
	}
	if json.Unmarshal(update, &kind) != nil {
		return ""
	}
	return kind.Kind
}

// NewConn returns a connection that reads an agent's output and writes its input. Call
// Serve next.
func NewConn(in io.Reader, out io.Writer, handler Handler) *Conn {
	return &Conn{in: in, out: out, handler: handler, waiting: map[int64]chan<- answer{}, serving: map[string]context.CancelFunc{}}
}

// Serve reads messages until the agent's output ends, and waits for the answers to its
// requests, which are decided under ctx. It returns why the output ended: ErrClosed, or an
// error of reading.
func (c *Conn) Serve(ctx context.Context) error {
	lines := bufio.NewReaderSize(c.in, 64<<10)
	var err error
	for err == nil {
		err = c.next(ctx, lines)
	}
	if errors.Is(err, io.EOF) {
		err = ErrClosed
	}
	c.mu.Lock()
	for _, cancel := range c.serving {
		cancel()
	}
	c.mu.Unlock()
	c.end(err)
	c.servers.Wait()
	return err
}

// end answers the calls that wait, and those to come, with an error.
func (c *Conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended = err
	}
	for id, ch := range c.waiting {
		ch <- answer{err: c.ended}
		delete(c.waiting, id)
	}
}

// next reads and handles one line.
func (c *Conn) next(ctx context.Context, lines *bufio.Reader) error {
	line, size, err := readLine(lines)
	if size > MaxLine {
		c.handler.Junk(line[:min(len(line), junkBytes)], size)
		return err
	}
	if line = bytes.TrimSpace(line); len(line) > 0 {
		c.handle(ctx, line)
	}
	return err
}

// readLine returns the next line, valid until the next call. Of one longer than MaxLine it
// keeps the beginning only.
func readLine(lines *bufio.Reader) (line []byte, size int, err error) {
	part, err := lines.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return part, len(part), err
	}
	line, size = bytes.Clone(part), len(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = lines.ReadSlice('\n')
		size += len(part)
		if size <= MaxLine {
			line = append(line, part...)
		} else {
			line = line[:min(len(line), junkBytes)]
		}
	}
	return line, size, err
}

func (c *Conn) handle(ctx context.Context, line []byte) {
	m, ok := decode(line)
	if line[0] != '{' || !ok {
		c.handler.Junk(line[:min(len(line), junkBytes)], len(line))
		return
	}
	hasID := len(m.ID) > 0 && !bytes.Equal(m.ID, []byte("null"))
	switch {
	case m.Method == "" && hasID:
		c.resolve(m, line)
	case m.Method == "":
		c.handler.Junk(line[:min(len(line), junkBytes)], len(line))
	case hasID:
		c.request(ctx, m, line)
	case m.Method == "session/update":
		kind := kindOf(m.Params.Update)
		if kind == "" {
			c.handler.Junk(line[:min(len(line), junkBytes)], len(line))
			return
		}
		c.handler.Update(kind, json.RawMessage(m.Params.Update))
	case m.Method == "$/cancel_request":
		c.mu.Lock()
		if cancel := c.serving[string(m.Params.RequestID)]; cancel != nil {
			cancel()
		}
		c.mu.Unlock()
	}
}

// resolve hands an answer to the call that waits for it.
func (c *Conn) resolve(m message, line []byte) {
	var id int64
	if json.Unmarshal(m.ID, &id) != nil {
		c.handler.Junk(line[:min(len(line), junkBytes)], len(line))
		return
	}
	c.mu.Lock()
	ch := c.waiting[id]
	delete(c.waiting, id)
	c.mu.Unlock()
	switch {
	case ch == nil: // nobody waits any more
	case m.Error != nil:
		ch <- answer{err: m.Error}
	default:
		ch <- answer{result: m.Result}
	}
}

// request serves a request of the agent.
func (c *Conn) request(ctx context.Context, m message, line []byte) {
	if m.Method != "session/request_permission" {
		c.handler.Refused(m.Method)
		_ = c.write(map[string]any{"id": m.ID, "error": Error{Code: CodeMethodNotFound, Message: "method not found: " + m.Method}})
		return
	}
	var request struct {
		Params *PermissionRequest `json:"params"`
	}
	err := json.Unmarshal(line, &request)
	if err == nil && request.Params == nil {
		err = errors.New("params are missing")
	}
	if err != nil {
		_ = c.write(map[string]any{"id": m.ID, "error": Error{Code: CodeInvalidParams, Message: err.Error()}})
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	c.serving[string(m.ID)] = cancel
	c.mu.Unlock()
	c.servers.Go(func() {
		outcome := c.handler.Permission(ctx, *request.Params)
		takenBack := ctx.Err() != nil
		c.mu.Lock()
		delete(c.serving, string(m.ID))
		c.mu.Unlock()
		cancel()
		if takenBack {
			_ = c.write(map[string]any{"id": m.ID, "error": Error{Code: CodeCancelled, Message: "cancelled"}})
			return
		}
		_ = c.write(map[string]any{"id": m.ID, "result": map[string]any{"outcome": outcome}})
	})
}

// Call sends a request and waits for its answer, which it decodes into result. Errors: an
// *Error that the agent answered, ErrClosed, an error of the streams or of ctx. Once ctx
// ends the agent is told that nobody waits any more.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	ch := make(chan answer, 1)
	c.mu.Lock()
	if c.ended != nil {
		c.mu.Unlock()
		return c.ended
	}
	c.last++
	id := c.last
	c.waiting[id] = ch
	c.mu.Unlock()
	err := c.write(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		c.forget(id)
		return err
	}
	select {
	case a := <-ch:
		if a.err != nil || result == nil {
			return a.err
		}
		if err := json.Unmarshal(a.result, result); err != nil {
			return fmt.Errorf("the answer to %s: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		c.forget(id)
		_ = c.Notify("$/cancel_request", map[string]any{"requestId": id})
		return context.Cause(ctx)
	}
}

func (c *Conn) forget(id int64) {
	c.mu.Lock()
	delete(c.waiting, id)
	c.mu.Unlock()
}

// Notify sends a notification.
func (c *Conn) Notify(method string, params any) error {
	return c.write(map[string]any{"method": method, "params": params})
}

func (c *Conn) write(m map[string]any) error {
	m["jsonrpc"] = "2.0"
	var b bytes.Buffer
	encoder := json.NewEncoder(&b) // ends the line
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m); err != nil {
		return err
	}
	return c.send(b.Bytes())
}

// maxQueued is how many bytes may wait for an agent that does not read its input.
const maxQueued = 64 << 20

var errDeaf = errors.New("the agent does not read its input")

// send writes without waiting for an agent that does not read.
func (c *Conn) send(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	switch {
	case c.broken != nil:
		return c.broken
	case c.queued+len(line) > maxQueued:
		return errDeaf
	}
	c.queue, c.queued = append(c.queue, line), c.queued+len(line)
	if !c.busy {
		c.busy = true
		go c.flush()
	}
	return nil
}

// flush writes what is queued. It ends with the queue, or with the agent.
func (c *Conn) flush() {
	for {
		c.writing.Lock()
		if len(c.queue) == 0 {
			c.busy = false
			c.writing.Unlock()
			return
		}
		line := c.queue[0]
		c.queue = c.queue[1:]
		c.writing.Unlock()
		_, err := c.out.Write(line)
		c.writing.Lock()
		c.queued -= len(line)
		if err != nil {
			c.broken, c.busy, c.queue = err, false, nil
		}
		c.writing.Unlock()
		if err != nil {
			c.end(err)
			return
		}
	}
}
