package proctest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// operation is a line of a stream of operations.
type operation struct {
	Seq         int     `json:"seq"`
	OperationID string  `json:"operationId"`
	Command     string  `json:"command"`
	ThreadID    *string `json:"threadId"`
}

// observer is a running observe, and its lines.
type observer struct {
	*started
	lines *bufio.Reader
	pipe  io.Closer
}

func (p *project) observe(args ...string) *observer {
	p.t.Helper()
	s := p.command(append([]string{"observe"}, args...)...)
	s.Stdout = nil
	pipe, err := s.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, s.Start())
	p.t.Cleanup(func() { _ = s.Process.Kill() })
	return &observer{started: s, lines: bufio.NewReader(pipe), pipe: pipe}
}

// next reads the next line. It returns io.EOF at the end of the stream, also after an
// incomplete line.
func (o *observer) next(t *testing.T) (operation, error) {
	t.Helper()
	line, err := o.lines.ReadBytes('\n')
	if err != nil {
		return operation{}, io.EOF
	}
	var op operation
	require.NoError(t, json.Unmarshal(line, &op), "%s", line)
	require.NotZero(t, op.Seq, "%s", line)
	return op, nil
}

// heard reads n operations.
func (o *observer) heard(t *testing.T, n int) (all []operation) {
	t.Helper()
	for range n {
		op, err := o.next(t)
		require.NoError(t, err, "after %d lines", len(all))
		all = append(all, op)
	}
	return all
}

// inOrder reads the operations with these numbers, and fails at the first other one.
func (o *observer) inOrder(t *testing.T, from, to int) (all []operation) {
	t.Helper()
	for seq := from; seq <= to; seq++ {
		op := o.heard(t, 1)[0]
		require.Equal(t, seq, op.Seq)
		all = append(all, op)
	}
	return all
}

// requireInOrder asserts that operations have these numbers, each once.
func requireInOrder(t *testing.T, all []operation, from, to int) {
	t.Helper()
	require.Len(t, all, to-from+1)
	ids := map[string]bool{}
	for i, op := range all {
		require.Equal(t, from+i, op.Seq)
		ids[op.OperationID] = true
	}
	require.Len(t, ids, len(all))
}

func TestObserversMissNothingOfAThousandOperationsByEightWriters(t *testing.T) {
	t.Parallel()
	const writers = 8
	each := orInShort(125, 15)
	all := 1 + writers*each // one made the objective
	p := newProject(t)
	calm := p.observe("--follow", "--since", "0")
	one := p.observe("--follow", "--target", "w3", "--since", "0")
	_, err := one.next(t)
	require.ErrorIs(t, err, io.EOF, "the thread is not there yet")
	require.Error(t, one.Wait())

	var work sync.WaitGroup
	for i := range writers {
		work.Go(func() {
			id := fmt.Sprintf("w%d", i)
			_, err := p.succeed("spawn", "--id", id, "--intent", "Write")
			assert.NoError(t, err)
			for n := range each - 1 {
				if _, err := p.succeed("update", id, "--title", fmt.Sprintf("Title %d", n)); !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	var resumed []operation
	var watching sync.WaitGroup
	watching.Go(func() { resumed = p.observeKilled(t, all) })
	requireInOrder(t, calm.inOrder(t, 1, all), 1, all)
	work.Wait()
	watching.Wait()
	requireInOrder(t, resumed, 1, all)

	mine := p.observe("--target", "w3").heard(t, each)
	for _, op := range mine {
		assert.Equal(t, "w3", *op.ThreadID)
	}
	late := p.observe("--since", strconv.Itoa(all-40))
	requireInOrder(t, late.inOrder(t, all-39, all), all-39, all)
	_, err = late.next(t)
	require.ErrorIs(t, err, io.EOF, "without --follow it ends")
	require.NoError(t, late.Wait())
	requireEnd(t, calm, os.Interrupt)
	p.requireHealthy()
}

// observeKilled reads operations until it has all. It kills the observer at random
// moments, and the next one continues after the last complete line.
func (p *project) observeKilled(t *testing.T, all int) (heard []operation) {
	rnd, last := random(t), 0
	for last < all {
		o := p.observe("--follow", "--since", strconv.Itoa(last))
		for range min(1+rnd.IntN(all/8), all-last) {
			op, err := o.next(t)
			if !assert.NoError(t, err, "%s", &o.stderr) {
				return heard
			}
			heard, last = append(heard, op), op.Seq
		}
		assert.NoError(t, o.Process.Kill())
		for { // read what it wrote before it was killed
			op, err := o.next(t)
			if err != nil {
				break
			}
			heard, last = append(heard, op), op.Seq
		}
		_ = o.Wait()
	}
	return heard
}

// requireEnd ends an observer by a signal.
func requireEnd(t *testing.T, o *observer, signal os.Signal) {
	t.Helper()
	require.NoError(t, o.Process.Signal(signal))
	for err := error(nil); err == nil; {
		_, err = o.next(t)
	}
	_ = o.Wait()
	assert.Equal(t, 130, o.ProcessState.ExitCode())
	doc, err := harness.Read(o.stderr.Bytes())
	require.NoError(t, err, "%s", &o.stderr)
	assert.Equal(t, "T904", doc.Code())
	assert.Equal(t, 1, bytes.Count(o.stderr.Bytes(), []byte("\n")), "one line")
}

func TestAnObserverFollowsFromNowUntilASignal(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		p := newProject(t)
		o := p.observe("--follow", "--events", "objective")
		first := make(chan operation, 1)
		go func() {
			op, _ := o.next(t)
			first <- op
		}()
		var op operation
		for made := 0; op.Seq == 0; made++ { // until it observes one
			p.ok("objective", "create", fmt.Sprintf("Objective %d", made))
			select {
			case op = <-first:
			default:
			}
		}
		assert.Greater(t, op.Seq, 1, "what was there before is not told")
		last := op.Seq
		for range 3 {
			p.ok("objective", "create", "After the first")
			next := o.heard(t, 1)[0]
			assert.Equal(t, last+1, next.Seq)
			last = next.Seq
		}
		requireEnd(t, o, signal)
		_, err := os.Stat(p.path("logs"))
		assert.ErrorIs(t, err, os.ErrNotExist, "the end of a stream is nothing to log")
	}
}

func TestAnObserverEndsSilentlyWhenItsReaderIsGone(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	o := p.observe("--follow", "--since", "0")
	o.heard(t, 1)
	require.NoError(t, o.pipe.Close())
	p.ok("objective", "create", "Unheard")
	_ = o.Wait()
	assert.Empty(t, o.stderr.String())
}
