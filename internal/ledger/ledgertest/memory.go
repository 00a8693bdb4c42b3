// Package ledgertest is for tests of what uses a ledger, and of ledgers: an engine in
// memory, and the tests that every engine has to pass.
package ledgertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"leslie/internal/ledger"
)

// Memory is an engine in memory, for tests: of one process, and gone with it. The zero
// value works, and is safe for concurrent use.
type Memory struct {
	// Now is its clock; nil: it says nothing of the time.
	Now func() time.Time
	// Replicas is how many copies of a log there are said to be; 0: one.
	Replicas int
	// Before is called before each call of a ledger takes effect, with its name and the
	// project; its error is the call's. nil: nothing fails.
	Before func(call, project string) error
	// Accepts says whether the credentials of an address are refused, by its error; nil: none are.
	Accepts func(at ledger.Address) error
	// Worn: it stores what it has again, and no other content.
	Worn bool
	// After is called when a call has taken effect; its error is the call's, as if the
	// answer was lost.
	After func(call, project string) error

	mu   sync.Mutex
	logs map[string]*memoryLog
	made int // how many logs were made
}

// turnFor is how long somebody has the turn at most.
const turnFor = 5 * time.Second

type memoryLog struct {
	name  string // which of the project's logs it is
	lines []ledger.Line
	blobs map[string][]byte // nil: damaged
	// damaged are the places whose lines cannot be read any more.
	damaged map[int64]bool
	sealed  bool          // it takes no line
	grown   chan struct{} // closed when a line is appended
	turn    chan struct{}
}

// Configure returns files for servers that nobody starts.
func (m *Memory) Configure(s ledger.ServerSetup) (files []ledger.SetupFile, err error) {
	for _, one := range s.Servers {
		if one.Name == "bad" {
			return nil, errors.New("that server cannot be")
		}
		files = append(files, ledger.SetupFile{Name: one.Name + ".conf", Data: []byte(one.Address + "\n")})
	}
	data := append([]byte("admin:memory\n"), s.Trusted...)
	return append(files, ledger.SetupFile{Name: "admin.creds", Data: data, Secret: true}), nil
}

// Create makes the log of a project.
func (m *Memory) Create(ctx context.Context, at ledger.Address) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.logs == nil {
		m.logs = map[string]*memoryLog{}
	}
	if l := m.logs[at.Project]; l != nil && l.sealed {
		return ledger.ErrSealed
	} else if l == nil {
		m.made++
		m.logs[at.Project] = &memoryLog{name: strconv.Itoa(m.made), blobs: map[string][]byte{}, grown: make(chan struct{}), turn: make(chan struct{}, 1)}
	}
	return nil
}

// Open returns the log of a project, which may be made later.
func (m *Memory) Open(at ledger.Address) (ledger.Ledger, error) {
	return memoryLedger{m, at.Project, at}, nil
}

// Check reports that all is well.
func (m *Memory) Check(ctx context.Context, _ ledger.Address) (ledger.Report, error) {
	return ledger.Report{Servers: max(1, m.Replicas), Replicas: max(1, m.Replicas)}, ctx.Err()
}

// Drop loses a log.
func (m *Memory) Drop(project string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.logs, project)
}

// Cut takes the last lines of a log away, so that it ends at a place: what no engine may do.
func (m *Memory) Cut(project string, at int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.logs[project]
	l.lines = slices.Clone(l.lines[:at])
}

// Damage makes a line of a log unreadable.
func (m *Memory) Damage(project string, at int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.logs[project]
	if l.damaged == nil {
		l.damaged = map[int64]bool{}
	}
	l.damaged[at] = true
}

// DamageBlobs makes all content of a log unreadable, until it is stored anew.
func (m *Memory) DamageBlobs(project string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for sum := range m.logs[project].blobs {
		m.logs[project].blobs[sum] = nil
	}
}

// unreadable is the error for a line that is damaged, nil for others.
func (log *memoryLog) unreadable(at int64) error {
	if log.damaged[at] {
		return fmt.Errorf("line %d of the log is damaged or missing: %w", at, ledger.ErrGap)
	}
	return nil
}

// Seal ends a log.
func (m *Memory) Seal(ctx context.Context, at ledger.Address) (last int64, err error) {
	err = memoryLedger{m, at.Project, at}.with(ctx, "seal", func(log *memoryLog) error {
		log.sealed, last = true, int64(len(log.lines))
		return nil
	})
	return last, err
}

// Discard deletes the lines of a log.
func (m *Memory) Discard(ctx context.Context, at ledger.Address) error {
	return memoryLedger{m, at.Project, at}.with(ctx, "discard", func(log *memoryLog) error {
		m.made++
		log.name, log.lines, log.damaged, log.sealed = strconv.Itoa(m.made), nil, nil, false
		return nil
	})
}

type memoryLedger struct {
	engine  *Memory
	project string
	at      ledger.Address
}

// with calls do with the log, locked, between the engine's hooks.
func (l memoryLedger) with(ctx context.Context, call string, do func(*memoryLog) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m := l.engine
	if m.Accepts != nil {
		if err := m.Accepts(l.at); err != nil {
			return err
		}
	}
	if m.Before != nil {
		if err := m.Before(call, l.project); err != nil {
			return err
		}
	}
	m.mu.Lock()
	log := m.logs[l.project]
	err := ledger.ErrMissing
	if log != nil {
		err = do(log)
	}
	m.mu.Unlock()
	if err == nil && m.After != nil {
		err = m.After(call, l.project)
	}
	return err
}

func (l memoryLedger) now() time.Time {
	if l.engine.Now != nil {
		return l.engine.Now()
	}
	return time.Time{}
}

func (l memoryLedger) Head(ctx context.Context) (h ledger.Head, err error) {
	err = l.with(ctx, "head", func(log *memoryLog) error {
		h = ledger.Head{Seq: int64(len(log.lines)), Now: l.now(), Log: log.name}
		if h.Seq > 0 {
			h.ID, h.At = log.lines[h.Seq-1].ID, log.lines[h.Seq-1].Time
		}
		return log.unreadable(h.Seq)
	})
	return h, err
}

func (l memoryLedger) Append(ctx context.Context, last string, line ledger.Line) error {
	return l.with(ctx, "append", func(log *memoryLog) error { return log.append(last, line, l.now()) })
}

func (log *memoryLog) append(last string, line ledger.Line, now time.Time) error {
	if len(line.Data) > ledger.MaxLine {
		return errors.New("the line is too long")
	}
	at := int64(len(log.lines))
	if line.Seq <= at && line.Seq > 0 && log.lines[line.Seq-1].ID == line.ID {
		return nil // it was sent again
	}
	was := ""
	if at > 0 {
		was = log.lines[at-1].ID
	}
	if log.sealed {
		return ledger.ErrSealed
	}
	if line.Seq != at+1 || last != was {
		return ledger.ErrConflict
	}
	line.Data, line.Time = slices.Clone(line.Data), now
	log.lines = append(log.lines, line)
	close(log.grown)
	log.grown = make(chan struct{})
	return nil
}

func (l memoryLedger) AppendAll(ctx context.Context, last string, lines []ledger.Line) error {
	for _, line := range lines {
		if err := l.Append(ctx, last, line); err != nil {
			return err
		}
		last = line.ID
	}
	return nil
}

// from returns the lines behind a place, and what is closed when more come.
func (l memoryLedger) from(ctx context.Context, seq int64) (lines []ledger.Line, grown <-chan struct{}, err error) {
	err = l.with(ctx, "after", func(log *memoryLog) error {
		grown = log.grown
		for at := seq; at < int64(len(log.lines)); at++ {
			if err := log.unreadable(at + 1); err != nil {
				return err
			}
			lines = append(lines, log.lines[at])
		}
		return nil
	})
	return lines, grown, err
}

func (l memoryLedger) After(ctx context.Context, seq int64, each func(ledger.Line) error) error {
	lines, _, err := l.from(ctx, seq)
	for _, line := range lines { // those in front of a damaged one as well
		if err := each(line); err != nil {
			return err
		}
	}
	return err
}

func (l memoryLedger) Follow(ctx context.Context, seq int64, each func(ledger.Line) error) error {
	for {
		lines, grown, err := l.from(ctx, seq)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, line := range lines {
			if err := each(line); err != nil {
				return err
			}
			seq = line.Seq
		}
		select {
		case <-ctx.Done():
			return nil
		case <-grown:
		}
	}
}

func (l memoryLedger) Turn(ctx context.Context) (done func(), err error) {
	var turn chan struct{}
	if err := l.with(ctx, "turn", func(log *memoryLog) error { turn = log.turn; return nil }); err != nil {
		return nil, err
	}
	select {
	case turn <- struct{}{}:
		end := sync.OnceFunc(func() { <-turn })
		time.AfterFunc(turnFor, end)
		return end, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l memoryLedger) PutBlob(ctx context.Context, sum string, data []byte) error {
	return l.putBlob(ctx, sum, data, false)
}

func (l memoryLedger) RenewBlob(ctx context.Context, sum string, data []byte) error {
	return l.putBlob(ctx, sum, data, true)
}

func (l memoryLedger) putBlob(ctx context.Context, sum string, data []byte, renew bool) error {
	if is := sha256.Sum256(data); hex.EncodeToString(is[:]) != sum {
		return errors.New("the content is not that of its name")
	}
	return l.with(ctx, "put", func(log *memoryLog) error {
		_, there := log.blobs[sum]
		if !there && l.engine.Worn {
			return &ledger.TooFewError{}
		}
		if !there || renew {
			log.blobs[sum] = append([]byte{}, data...)
		}
		return nil
	})
}

func (l memoryLedger) GetBlob(ctx context.Context, sum string) (data []byte, err error) {
	err = l.with(ctx, "get", func(log *memoryLog) error {
		found, ok := log.blobs[sum]
		if !ok {
			return ledger.ErrMissing
		}
		if found == nil {
			return fmt.Errorf("the content %s is damaged: %w", sum, ledger.ErrGap)
		}
		data = found
		return nil
	})
	return data, err
}

// Servers are none.
func (l memoryLedger) Servers(context.Context) []ledger.ServerStanding { return nil }

// MayAppend is false for whoever is denied to append.
func (l memoryLedger) MayAppend(ctx context.Context) (bool, error) {
	err := l.with(ctx, "append", func(*memoryLog) error { return nil })
	if errors.Is(err, ledger.ErrDenied) && !errors.As(err, new(*ledger.LoginError)) {
		return false, nil
	}
	return err == nil, err
}

func (l memoryLedger) Close() error { return nil }
