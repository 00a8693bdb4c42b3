package ledgertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
)

// Setup is an engine, and addresses of a project that it does not have yet.
type Setup struct {
	Engine ledger.Engine
	// Admin may create logs, Writer append to them, Reader read them. No URLs and no
	// Credentials in Reader: the engine has no roles.
	Admin, Writer, Reader ledger.Address
}

// withRoles reports whether somebody may read and not write.
func (s Setup) withRoles() bool { return s.Reader.Credentials != "" }

// Within is how long a call of a healthy engine may take here, before the test fails: much
// more than it takes, because a machine may have other work, and the race detector.
const Within = time.Minute

// Contract tests what ledger.Ledger promises. setup is called for each part, and names
// another project each time.
func Contract(t *testing.T, setup func(t *testing.T) Setup) {
	for _, part := range []struct {
		name string
		test func(*testing.T, Setup)
	}{
		{"an empty log", empty},
		{"a line is appended at its place behind its predecessor", place},
		{"the same line again has the effect of once", again},
		{"lines have any content up to the limit", contents},
		{"of writers at the same time one is first", writers},
		{"many lines at once", many},
		{"lines are read in order from any place", reading},
		{"the reader's error ends reading", readersError},
		{"who follows sees later lines", following},
		{"a turn is one's own", turns},
		{"a turn ends by itself", turnEnds},
		{"a turn that nobody gets ends with its context", turnContext},
		{"blobs of any size", blobs},
		{"a blob is what its name says", blobNames},
		{"blobs at the same time", blobsAtOnce},
		{"a project that is not there", missing},
		{"who may only read", denied},
		{"projects are apart", apart},
		{"what was confirmed is in front of the end of a sealed log", sealing},
		{"a call ends with its context", canceled},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.test(t, setup(t))
		})
	}
}

// Created returns the log of a setup, made and opened by a writer.
func Created(t *testing.T, s Setup) ledger.Ledger {
	t.Helper()
	require.NoError(t, s.Engine.Create(Soon(t), s.Admin))
	return Opened(t, s, s.Writer)
}

// Opened returns a log, which the end of the test closes.
func Opened(t *testing.T, s Setup, at ledger.Address) ledger.Ledger {
	t.Helper()
	l, err := s.Engine.Open(at)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// Soon returns a context that ends when a call takes too long.
func Soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Within)
	t.Cleanup(cancel)
	return ctx
}

// Lines returns lines that follow each other, from a place on.
func Lines(from int64, n int) []ledger.Line {
	out := make([]ledger.Line, n)
	for i := range out {
		seq := from + int64(i)
		out[i] = ledger.Line{Seq: seq, ID: fmt.Sprintf("op-%016d", seq), Data: fmt.Appendf(nil, `{"seq":%d,"op":"a line"}`, seq)}
	}
	return out
}

// Append appends lines one after another, behind the one with the id last.
func Append(t *testing.T, l ledger.Ledger, last string, lines ...ledger.Line) {
	t.Helper()
	for _, line := range lines {
		require.NoError(t, l.Append(Soon(t), last, line), "line %d", line.Seq)
		last = line.ID
	}
}

// Read returns the lines behind a place.
func Read(t *testing.T, l ledger.Ledger, seq int64) []ledger.Line {
	t.Helper()
	var out []ledger.Line
	require.NoError(t, l.After(Soon(t), seq, func(line ledger.Line) error {
		out = append(out, line)
		return nil
	}))
	return out
}

// Same asserts that lines were read as they were appended.
func Same(t *testing.T, want, got []ledger.Line) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if want[i].Seq != got[i].Seq || want[i].ID != got[i].ID || !bytes.Equal(want[i].Data, got[i].Data) {
			require.Failf(t, "another line", "%d: %s at %d, wanted %s at %d", i, got[i].ID, got[i].Seq, want[i].ID, want[i].Seq)
		}
	}
}

func head(t *testing.T, l ledger.Ledger) ledger.Head {
	t.Helper()
	h, err := l.Head(Soon(t))
	require.NoError(t, err)
	return h
}

func empty(t *testing.T, s Setup) {
	l := Created(t, s)
	h := head(t, l)
	assert.Zero(t, h.Seq)
	assert.Empty(t, h.ID)
	assert.Empty(t, Read(t, l, 0))
	require.NoError(t, s.Engine.Create(Soon(t), s.Admin), "what is there is left alone")
	report, err := s.Engine.Check(Soon(t), s.Admin)
	require.NoError(t, err)
	assert.True(t, report.Fine(), "%+v", report)
	Append(t, l, "", Lines(1, 2)...)
	require.NoError(t, s.Engine.Create(Soon(t), s.Admin), "also when lines are in it")
	assert.Equal(t, int64(2), head(t, l).Seq)
}

func place(t *testing.T, s Setup) {
	l := Created(t, s)
	lines := Lines(1, 4)
	conflict := func(last string, line ledger.Line, why string) {
		t.Helper()
		assert.ErrorIs(t, l.Append(Soon(t), last, line), ledger.ErrConflict, why)
	}
	conflict("", lines[1], "there is no first line")
	conflict(lines[0].ID, ledger.Line{Seq: 1, ID: "op-first"}, "there is no line before the first")
	Append(t, l, "", lines[:2]...)
	other := ledger.Line{Seq: 2, ID: "op-other", Data: []byte("other")}
	conflict(lines[0].ID, other, "the place is taken")
	conflict("", ledger.Line{Seq: 1, ID: "op-other"}, "the first place is taken")
	other.Seq = 3
	conflict(lines[0].ID, other, "the line before is another one")
	other.Seq = 4
	conflict(lines[1].ID, other, "there would be a gap")
	Append(t, l, lines[1].ID, lines[2:]...)
	Same(t, lines, Read(t, l, 0))
	h := head(t, l)
	assert.Equal(t, int64(4), h.Seq)
	assert.Equal(t, lines[3].ID, h.ID)
}

func again(t *testing.T, s Setup) {
	l := Created(t, s)
	lines := Lines(1, 3)
	Append(t, l, "", lines[0], lines[1])
	require.NoError(t, l.Append(Soon(t), lines[0].ID, lines[1]), "the last line")
	require.NoError(t, l.Append(Soon(t), "", lines[0]), "one before it")
	Append(t, l, lines[1].ID, lines[2])
	require.NoError(t, Opened(t, s, s.Writer).Append(Soon(t), lines[0].ID, lines[1]), "by another process")
	Same(t, lines, Read(t, l, 0))
}

func contents(t *testing.T, s Setup) {
	l := Created(t, s)
	most := bytes.Repeat([]byte("ab\x00\xff\r\n"), ledger.MaxLine/6+1)[:ledger.MaxLine]
	lines := Lines(1, 3)
	lines[0].Data, lines[1].Data, lines[2].Data = nil, most, []byte("NATS/1.0\r\n\r\n")
	Append(t, l, "", lines...)
	Same(t, lines, Read(t, l, 0))
	tooLong := ledger.Line{Seq: 4, ID: "op-long", Data: append(most, 'x')}
	require.Error(t, l.Append(Soon(t), lines[2].ID, tooLong))
	assert.Equal(t, int64(3), head(t, l).Seq)
}

func writers(t *testing.T, s Setup) {
	const each, count = 10, 8
	created := Created(t, s)
	var all sync.WaitGroup
	for w := range count {
		l := Opened(t, s, s.Writer)
		all.Go(func() {
			for i := range each {
				if !assert.NoError(t, eventually(Soon(t), l, fmt.Sprintf("op-%d-%d", w, i))) {
					return
				}
			}
		})
	}
	all.Wait()
	got, seen := Read(t, created, 0), map[string]int64{}
	require.Len(t, got, each*count)
	for i, line := range got {
		assert.Equal(t, int64(i+1), line.Seq)
		assert.Zero(t, seen[line.ID], "%s is there twice", line.ID)
		seen[line.ID] = line.Seq
	}
	for w := range count { // what one writer did is in its order
		for i := 1; i < each; i++ {
			assert.Less(t, seen[fmt.Sprintf("op-%d-%d", w, i-1)], seen[fmt.Sprintf("op-%d-%d", w, i)])
		}
	}
}

// eventually appends a line wherever the log ends, taking a turn after two conflicts.
func eventually(ctx context.Context, l ledger.Ledger, id string) error {
	for attempt := 1; ; attempt++ {
		done := func() {}
		if attempt > 2 {
			var err error
			if done, err = l.Turn(ctx); err != nil {
				return err
			}
		}
		h, err := l.Head(ctx)
		if err == nil {
			err = l.Append(ctx, h.ID, ledger.Line{Seq: h.Seq + 1, ID: id, Data: []byte(id)})
		}
		done()
		if !errors.Is(err, ledger.ErrConflict) {
			return err
		}
		if now, err := l.Head(ctx); err != nil || now.Seq <= h.Seq {
			return fmt.Errorf("a conflict at %d, and the log ends at %d (%v)", h.Seq+1, now.Seq, err)
		}
	}
}

func sealing(t *testing.T, s Setup) {
	l := Created(t, s)
	Append(t, l, "", Lines(1, 3)...)
	const count = 4
	var confirmed atomic.Int64
	ten, ended := make(chan struct{}), make(chan error, count)
	for w := range count {
		writer := Opened(t, s, s.Writer)
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("op-%d-%d", w, i)
				if err := eventually(Soon(t), writer, id); err != nil {
					ended <- err
					return
				}
				if confirmed.Add(1) == 10 {
					close(ten)
				}
			}
		}()
	}
	<-ten
	last, err := s.Engine.Seal(Soon(t), s.Admin)
	require.NoError(t, err)
	for range count {
		require.ErrorIs(t, <-ended, ledger.ErrSealed)
	}
	assert.Len(t, Read(t, l, 0), int(last))
	assert.Equal(t, last, 3+confirmed.Load())
	require.ErrorIs(t, s.Engine.Create(Soon(t), s.Admin), ledger.ErrSealed)
	again, err := s.Engine.Seal(Soon(t), s.Admin)
	require.NoError(t, err)
	assert.Equal(t, last, again)
	require.NoError(t, s.Engine.Discard(Soon(t), s.Admin))
	require.NoError(t, s.Engine.Create(Soon(t), s.Admin))
	Append(t, l, "", Lines(1, 2)...)
	Same(t, Lines(1, 2), Read(t, l, 0))
}

func many(t *testing.T, s Setup) {
	l := Created(t, s)
	lines := Lines(1, 5000)
	require.NoError(t, l.AppendAll(Soon(t), "", nil))
	require.NoError(t, l.AppendAll(Soon(t), "", lines[:3000]))
	require.NoError(t, l.AppendAll(Soon(t), lines[1999].ID, lines[2000:]), "a part is there already")
	Same(t, lines, Read(t, l, 0))
	assert.ErrorIs(t, l.AppendAll(Soon(t), "", []ledger.Line{{Seq: 1, ID: "op-x"}, {Seq: 2, ID: "op-y"}}), ledger.ErrConflict)
	assert.Equal(t, int64(5000), head(t, l).Seq)
}

func reading(t *testing.T, s Setup) {
	l := Created(t, s)
	lines := Lines(1, 2500)
	require.NoError(t, l.AppendAll(Soon(t), "", lines))
	reader := l
	if s.withRoles() {
		reader = Opened(t, s, s.Reader)
	}
	for _, from := range []int64{0, 1, 999, 1000, 2498, 2499, 2500, 2501} {
		Same(t, lines[min(from, 2500):], Read(t, reader, from))
	}
	got := Read(t, reader, 0)
	h := head(t, reader)
	for i := 1; i < len(got); i++ {
		if got[i].Time.Before(got[i-1].Time) {
			assert.Failf(t, "the engine's clock went back", "line %d", got[i].Seq)
		}
	}
	assert.True(t, h.At.Equal(got[len(got)-1].Time), "the time of the last line")
	assert.False(t, h.Now.Before(got[len(got)-1].Time), "the engine's clock is behind its last line")
}

func readersError(t *testing.T, s Setup) {
	l := Created(t, s)
	require.NoError(t, l.AppendAll(Soon(t), "", Lines(1, 100)))
	enough := errors.New("enough")
	count := 0
	stop := func(ledger.Line) error {
		if count++; count == 10 {
			return enough
		}
		return nil
	}
	require.ErrorIs(t, l.After(Soon(t), 0, stop), enough)
	assert.Equal(t, 10, count)
	count = 0
	require.ErrorIs(t, l.Follow(Soon(t), 0, stop), enough)
	assert.Equal(t, 10, count)
}

func following(t *testing.T, s Setup) {
	l := Created(t, s)
	lines := Lines(1, 300)
	Append(t, l, "", lines[:3]...)
	follower := l
	if s.withRoles() {
		follower = Opened(t, s, s.Reader)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	seen := make(chan ledger.Line, len(lines))
	ended := make(chan error, 1)
	go func() {
		ended <- follower.Follow(ctx, 1, func(line ledger.Line) error { seen <- line; return nil })
	}()
	next := func() (line ledger.Line) {
		select {
		case line = <-seen:
		case <-time.After(Within):
			require.Fail(t, "no line came")
		}
		return line
	}
	got := []ledger.Line{next(), next()}
	last := lines[2].ID
	for i := 3; i < 20; i++ { // one after another: each is seen before the next is there
		Append(t, l, last, lines[i])
		got = append(got, next())
		last = lines[i].ID
	}
	require.NoError(t, l.AppendAll(Soon(t), last, lines[20:]))
	for len(got) < len(lines)-1 {
		got = append(got, next())
	}
	Same(t, lines[1:], got)
	stop()
	require.NoError(t, <-ended, "the end of its context is no failure")
}

func turns(t *testing.T, s Setup) {
	created := Created(t, s)
	done, err := created.Turn(Soon(t))
	require.NoError(t, err)
	const count = 5
	var all sync.WaitGroup
	var mu sync.Mutex
	holders, most := 0, 0
	for range count {
		l := Opened(t, s, s.Writer)
		all.Go(func() {
			done, err := l.Turn(Soon(t))
			if !assert.NoError(t, err) {
				return
			}
			mu.Lock()
			holders++
			most = max(most, holders)
			mu.Unlock()
			_, _ = l.Head(Soon(t))
			mu.Lock()
			holders--
			mu.Unlock()
			done()
			done() // once is enough, and twice no harm
		})
	}
	done()
	all.Wait()
	assert.Equal(t, 1, most, "several had the turn at the same time")
}

func turnEnds(t *testing.T, s Setup) {
	require.NoError(t, s.Engine.Create(Soon(t), s.Admin))
	gone, err := s.Engine.Open(s.Writer)
	require.NoError(t, err)
	_, err = gone.Turn(Soon(t))
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	done, err := Opened(t, s, s.Writer).Turn(Soon(t))
	require.NoError(t, err, "who has got the turn is gone, and still nobody else gets it")
	done()
}

func turnContext(t *testing.T, s Setup) {
	l := Created(t, s)
	done, err := l.Turn(Soon(t))
	require.NoError(t, err)
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = l.Turn(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	done()
	done, err = l.Turn(Soon(t))
	require.NoError(t, err, "who gave up does not get the turn instead")
	done()
}

// Hash returns the name of content.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Content returns bytes that differ from place to place, and with the seed.
func Content(seed, n int) []byte {
	var out []byte
	for i := 0; len(out) < n; i++ {
		sum := sha256.Sum256([]byte(strconv.Itoa(seed) + "/" + strconv.Itoa(i)))
		out = append(out, sum[:]...)
	}
	return out[:n]
}

func blobs(t *testing.T, s Setup) {
	l := Created(t, s)
	reader := l
	if s.withRoles() {
		reader = Opened(t, s, s.Reader)
	}
	for i, size := range []int{0, 1, 512 << 10, 512<<10 + 1, 600 << 10, 5 << 20} {
		data := Content(i, size)
		_, err := reader.GetBlob(Soon(t), Hash(data))
		require.ErrorIs(t, err, ledger.ErrMissing, "%d bytes", size)
		require.NoError(t, l.PutBlob(Soon(t), Hash(data), data), "%d bytes", size)
		require.NoError(t, l.PutBlob(Soon(t), Hash(data), data), "%d bytes, again", size)
		got, err := reader.GetBlob(Soon(t), Hash(data))
		require.NoError(t, err, "%d bytes", size)
		assert.True(t, bytes.Equal(data, got), "%d bytes", size)
	}
	assert.Zero(t, head(t, l).Seq, "blobs are not lines")
}

func blobNames(t *testing.T, s Setup) {
	l := Created(t, s)
	data := []byte("content")
	require.Error(t, l.PutBlob(Soon(t), Hash([]byte("other")), data), "a name of other content")
	_, err := l.GetBlob(Soon(t), Hash([]byte("other")))
	require.ErrorIs(t, err, ledger.ErrMissing)
	_, err = l.GetBlob(Soon(t), Hash(data))
	require.ErrorIs(t, err, ledger.ErrMissing)
	for _, name := range []string{"", "abc", strings.Repeat("*", 64), Hash(data) + "0", Hash(data)[:62] + ".>"} {
		require.Error(t, l.PutBlob(Soon(t), name, data), "%q", name)
		_, err := l.GetBlob(Soon(t), name)
		require.Error(t, err, "%q", name)
	}
}

func blobsAtOnce(t *testing.T, s Setup) {
	created := Created(t, s)
	data := Content(1, 1<<20)
	var all sync.WaitGroup
	for range 4 {
		l := Opened(t, s, s.Writer)
		all.Go(func() { assert.NoError(t, l.PutBlob(Soon(t), Hash(data), data)) })
	}
	for i := range 20 {
		all.Go(func() {
			small := Content(100+i, 1000)
			assert.NoError(t, created.PutBlob(Soon(t), Hash(small), small))
			got, err := created.GetBlob(Soon(t), Hash(small))
			assert.NoError(t, err)
			assert.Equal(t, small, got)
		})
	}
	all.Wait()
	got, err := created.GetBlob(Soon(t), Hash(data))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(data, got))
}

func missing(t *testing.T, s Setup) {
	l := Opened(t, s, s.Writer)
	_, err := l.Head(Soon(t))
	assert.ErrorIs(t, err, ledger.ErrMissing)
	each := func(ledger.Line) error { return nil }
	assert.ErrorIs(t, l.After(Soon(t), 0, each), ledger.ErrMissing)
	assert.ErrorIs(t, l.Follow(Soon(t), 0, each), ledger.ErrMissing)
	assert.ErrorIs(t, l.Append(Soon(t), "", Lines(1, 1)[0]), ledger.ErrMissing)
	assert.ErrorIs(t, l.PutBlob(Soon(t), Hash(nil), nil), ledger.ErrMissing)
	_, err = l.GetBlob(Soon(t), Hash(nil))
	assert.ErrorIs(t, err, ledger.ErrMissing)
	_, err = l.Turn(Soon(t))
	assert.ErrorIs(t, err, ledger.ErrMissing)
}

func denied(t *testing.T, s Setup) {
	if !s.withRoles() {
		t.Skip("this engine has no roles")
	}
	l := Created(t, s)
	lines := Lines(1, 2)
	Append(t, l, "", lines[0])
	data := []byte("content")
	require.NoError(t, l.PutBlob(Soon(t), Hash(data), data))
	reader := Opened(t, s, s.Reader)
	refused := func(call string, do func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), Within)
		defer cancel()
		assert.ErrorIs(t, do(ctx), ledger.ErrDenied, call)
		assert.NoError(t, ctx.Err(), "%s: the refusal came only at the end", call)
	}
	for _, one := range []struct {
		who string
		ledger.Ledger
		may bool
	}{{"writer", l, true}, {"reader", reader, false}} {
		may, err := one.MayAppend(Soon(t))
		require.NoError(t, err, one.who)
		assert.Equal(t, one.may, may, one.who)
	}
	Same(t, lines[:1], Read(t, reader, 0))
	refused("append", func(ctx context.Context) error { return reader.Append(ctx, lines[0].ID, lines[1]) })
	refused("append all", func(ctx context.Context) error { return reader.AppendAll(ctx, lines[0].ID, lines[1:]) })
	refused("put", func(ctx context.Context) error {
		other := []byte("other")
		return reader.PutBlob(ctx, Hash(other), other)
	})
	refused("create", func(ctx context.Context) error {
		other := s.Reader
		other.Project += "x"
		return s.Engine.Create(ctx, other)
	})
	Same(t, lines[:1], Read(t, reader, 0))
	got, err := reader.GetBlob(Soon(t), Hash(data))
	require.NoError(t, err)
	assert.Equal(t, data, got)
	Append(t, l, lines[0].ID, lines[1])
}

func apart(t *testing.T, s Setup) {
	one := Created(t, s)
	s.Admin.Project += "b"
	s.Writer.Project += "b"
	two := Created(t, s)
	lines := Lines(1, 2)
	Append(t, one, "", lines...)
	data := []byte("content")
	require.NoError(t, one.PutBlob(Soon(t), Hash(data), data))
	assert.Zero(t, head(t, two).Seq)
	_, err := two.GetBlob(Soon(t), Hash(data))
	assert.ErrorIs(t, err, ledger.ErrMissing)
	Append(t, two, "", lines[0])
	assert.Equal(t, int64(2), head(t, one).Seq)
}

func canceled(t *testing.T, s Setup) {
	l := Created(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	line := Lines(1, 1)[0]
	_, err := l.Head(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, l.Append(ctx, "", line), context.Canceled)
	assert.ErrorIs(t, l.After(ctx, 0, func(ledger.Line) error { return nil }), context.Canceled)
	assert.NoError(t, l.Follow(ctx, 0, func(ledger.Line) error { return nil }))
	Append(t, l, "", line)
}
