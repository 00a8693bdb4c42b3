//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"leslie/store"
	"leslie/test/harness"
	"leslie/test/lab"
	"leslie/thread"
)

// This file measures what docs/guides/machines.md says about time. It is the only one that uses
// leslie's packages: to make a long history.

const (
	measuredThreads = 1000    // in the project where writes are measured
	measuredWrites  = 40      // of each kind, one after the other
	measuredHistory = 100_000 // operations that a new copy gets
	measuredClones  = 5
	crowd           = 32 // machines that write at once
	crowdFor        = 30 * time.Second
)

// measureAll measures on one server and on three.
func measureAll(ctx context.Context, s setup, short bool, out io.Writer) (kept bool, err error) {
	for _, servers := range []int{1, 3} {
		s.copies, s.tls = crowd, true
		f, err := newFleet(ctx, s, servers)
		if err == nil {
			m := measuring{ctx: ctx, fleet: f, out: out, short: short, only: s.only}
			err = m.all(servers)
		}
		if f != nil {
			f.close(err == nil && !s.keep, out)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

type measuring struct {
	*fleet
	ctx   context.Context
	out   io.Writer
	short bool
	only  string
}

func (m *measuring) all(servers int) error {
	fmt.Fprintf(m.out, "%d server(s), %d replica(s):\n", servers, servers)
	if err := m.fill(m.connected); err != nil {
		return err
	}
	for _, what := range []struct {
		name    string
		measure func() error
	}{{"writes", m.writes}, {"together", m.together}, {"trips", m.trips}, {"clones", m.clones}} {
		if m.only != "" && m.only != what.name {
			continue
		}
		if err := what.measure(); err != nil {
			return err
		}
	}
	return nil
}

// fill makes a thousand threads with one batch.
func (m *measuring) fill(run func(argv []string, stdin string) lab.Outcome) error {
	var text strings.Builder
	for i := range measuredThreads {
		raw, _ := json.Marshal([]string{"spawn", "--intent", "Work", "--objective", "goal", "--id", fmt.Sprintf("t-%d", i)})
		text.Write(append(raw, '\n'))
	}
	if o := run([]string{"batch", "-"}, text.String()); !o.OK() {
		return fmt.Errorf("leslie batch: %s", o.Text())
	}
	return nil
}

// connected runs leslie in a connected copy.
func (m *measuring) connected(argv []string, stdin string) lab.Outcome {
	return m.machine("writer", 1).Run(m.leslie, argv, stdin, lab.Interruption{})
}

// writes compares spawn in a connected copy with spawn in a store of its own, alternating.
func (m *measuring) writes() error {
	alone := filepath.Join(m.dir, "alone")
	if err := os.Mkdir(alone, 0o755); err != nil {
		return err
	}
	own := func(argv []string, stdin string) lab.Outcome {
		p := m.machine("writer", 0)
		p.Dir = alone
		return p.Run(p.Leslie, argv, stdin, lab.Interruption{})
	}
	for _, argv := range [][]string{{"init", "--here"}, {"objective", "create", "Goal", "--id", "goal"}} {
		if o := own(argv, ""); !o.OK() {
			return fmt.Errorf("leslie %s: %s", argv, o.Text())
		}
	}
	if err := m.fill(own); err != nil {
		return err
	}
	var times [2][]time.Duration
	for i := range measuredWrites {
		for kind, run := range []func([]string, string) lab.Outcome{own, m.connected} {
			o := run([]string{"spawn", "--intent", "Measured", "--objective", "goal", "--id", fmt.Sprintf("m-%d", i)}, "")
			if !o.OK() {
				return fmt.Errorf("leslie spawn: %s", o.Text())
			}
			times[kind] = append(times[kind], o.End.Sub(o.Begin))
		}
	}
	a, c := part(times[0], 0.5), part(times[1], 0.5)
	fmt.Fprintf(m.out, "  spawn at %d threads, median of %d: alone %s, connected %s: %.2f times\n", measuredThreads, measuredWrites, ms(a), ms(c), float64(c)/float64(a))
	return nil
}

// together has all machines write at once.
func (m *measuring) together() error {
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	length := crowdFor
	if m.short {
		length /= 3
	}
	var going sync.WaitGroup
	for i := range m.copies {
		if o := m.call(i, "status"); !o.OK() {
			return fmt.Errorf("leslie status: %s", o.Text())
		}
	}
	begun := time.Now()
	until := begun.Add(length)
	for i := range m.copies {
		going.Go(func() {
			for n := 0; time.Now().Before(until); n++ {
				o := m.call(i, "inject", fmt.Sprintf("t-%d", i), "--type", "data", "--content", "note")
				mu.Lock()
				if all = append(all, o.End.Sub(o.Begin)); !o.OK() {
					failed = fmt.Errorf("leslie inject: %s", o.Text())
				}
				mu.Unlock()
			}
		})
	}
	going.Wait()
	took := time.Since(begun)
	fmt.Fprintf(m.out, "  %d machines at once: %d writes, %.0f a second, p50 %s, p99 %s\n", len(m.copies), len(all), float64(len(all))/took.Seconds(), ms(part(all, 0.5)), ms(part(all, 0.99)))
	return failed
}

// trips counts round trips of a write: how much longer it takes behind a way that is long.
func (m *measuring) trips() error {
	at := len(m.copies) - 1
	name := filepath.Join(m.copies[at], ".leslie", "remote.json")
	was, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	defer func() { _ = os.WriteFile(name, was, 0o644) }()
	for _, scheme := range []string{"nats", "tls"} {
		const delay = 100 * time.Millisecond
		near, err := m.behind(at, name, scheme, 0)
		if err != nil {
			return err
		}
		away, err := m.behind(at, name, scheme, delay)
		if err != nil {
			return err
		}
		// To the proxy it is no way: what TCP takes is added.
		fmt.Fprintf(m.out, "  a write by %s takes %.1f round trips\n", scheme, 1+float64(away-near)/float64(2*delay))
	}
	return nil
}

// behind returns the shortest time of a write in a copy whose way to a server takes a time in each
// direction. name is the file that says where the server is.
func (m *measuring) behind(at int, name, scheme string, delay time.Duration) (time.Duration, error) {
	address, stop, err := far(strings.TrimPrefix(m.servers.URLs()[0], "nats://"), delay)
	if err != nil {
		return 0, err
	}
	defer stop()
	data, _ := json.Marshal(map[string]string{"url": scheme + "://" + address, "project": m.project})
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return 0, err
	}
	var all []time.Duration
	for range 7 {
		o := m.call(at, "spawn", "--intent", "Far", "--objective", "goal")
		if !o.OK() {
			return 0, fmt.Errorf("leslie spawn: %s", o.Text())
		}
		all = append(all, o.End.Sub(o.Begin))
	}
	return slices.Min(all), nil
}

// far listens where a server is reached by a way that takes a time in each direction.
func far(server string, delay time.Duration) (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", server)
			if err != nil {
				_ = here.Close()
				continue
			}
			go carry(there, here, delay)
			go carry(here, there, delay)
		}
	}()
	return l.Addr().String(), func() { _ = l.Close() }, nil
}

func carry(to, from net.Conn, delay time.Duration) {
	type piece struct {
		data []byte
		at   time.Time
	}
	pieces := make(chan piece, 10_000)
	go func() {
		for p := range pieces {
			time.Sleep(time.Until(p.at))
			_, _ = to.Write(p.data) // else who reads sees the end
		}
		_ = to.Close()
	}()
	defer close(pieces)
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			pieces <- piece{slices.Clone(buffer[:n]), time.Now().Add(delay)}
		}
		if err != nil {
			return
		}
	}
}

// clones makes a project with a long history, and connects new machines.
func (m *measuring) clones() error {
	// In memory, if there is room: its many writes are not what is measured.
	folder, err := os.MkdirTemp(harness.MemoryDir(), "leslie-long-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	long := filepath.Join(folder, "project")
	n := measuredHistory
	if m.short {
		n /= 10
	}
	if err := history(m.ctx, long, n); err != nil {
		return err
	}
	run := func(dir, role string, argv ...string) lab.Outcome {
		p := m.machine(role, 0)
		p.Dir, p.Limit = dir, 10*time.Minute
		return p.Call(argv...)
	}
	o := run(long, "admin", "remote", "init", strings.Join(m.servers.URLs(), ","))
	if !o.OK() {
		return fmt.Errorf("leslie remote init: %s", o.Text())
	}
	fmt.Fprintf(m.out, "  remote init of %d operations: %s\n", n, ms(o.End.Sub(o.Begin)))
	var made struct{ URL string }
	o.Into(&made)
	var all []time.Duration
	for i := range measuredClones {
		dir := filepath.Join(m.dir, fmt.Sprintf("clone%d", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		o := run(dir, "writer", "connect", made.URL)
		if !o.OK() {
			return fmt.Errorf("leslie connect: %s", o.Text())
		}
		all = append(all, o.End.Sub(o.Begin))
	}
	fmt.Fprintf(m.out, "  connect of %d operations, median of %d: %s (%s to %s)\n", n, len(all), ms(part(all, 0.5)), ms(slices.Min(all)), ms(slices.Max(all)))
	return nil
}

// history makes a store with many operations.
func history(ctx context.Context, dir string, n int) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	st, _, _, err := store.Create(ctx, store.Wait{Timeout: time.Minute}, dir, store.Options{})
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range n {
		now := time.Now().UTC().Truncate(time.Millisecond)
		op := thread.OperationID(fmt.Sprintf("op-%016x", r.Uint64()))
		call := store.Call{Stamp: thread.Stamp{Operation: op, Time: now, As: thread.User, Actor: "ann"}, Command: "objective create", Params: json.RawMessage(`{}`), Wait: store.Wait{Timeout: time.Minute}}
		_, err := st.Update(ctx, call, func(s *thread.State) (store.Outcome, error) {
			id := thread.ObjectiveID(fmt.Sprintf("goal-%d", i%200))
			s.Objectives.Put(thread.Objective{ID: id, Title: fmt.Sprintf("A goal as it is after operation %d", i), CreatedAt: now})
			return store.Outcome{Answer: json.RawMessage(`{"objectiveId":"` + string(id) + `"}`)}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// part returns what a part of the times does not exceed.
func part(times []time.Duration, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000) }
