//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// This file causes faults.

// roundFor is how long the workers work in a round.
const roundFor = 6 * time.Second

// healed is how long servers may take to be well again after a fault.
const healed = time.Minute

// fault is one thing that happens to servers.
type fault struct {
	name  string
	cause func(context.Context, *run, *rand.Rand) error // it also ends it
}

func faults(disks bool) []fault {
	all := []fault{{"leader", leaderKilled}, {"all", allKilled}, {"stopped", leaderStopped}, {"still", allStopped}, {"random", randomKills}, {"bit", bitFlipped}}
	if disks {
		all = append(all, fault{"power", powerCut})
	}
	return all
}

// rounds works without a fault, and then with each of them, and checks after each.
func (r *run) rounds(ctx context.Context) {
	over := func() bool { return ctx.Err() != nil || r.ended.Load() }
	if r.setup.only == "" {
		for left := r.setup.length; left > 0 && !over(); left -= 15 * time.Second {
			r.work(min(left, 15*time.Second), nil)
			r.inspect("without a fault")
		}
	}
	dice := rand.New(rand.NewPCG(r.setup.seed, 0))
	for i := range r.setup.rounds {
		for _, f := range faults(r.setup.disks) {
			if over() || r.setup.only != "" && r.setup.only != f.name {
				continue
			}
			var err error
			r.work(roundFor, func() { err = f.cause(ctx, r, dice) })
			healing, cancel := context.WithTimeout(ctx, healed)
			err = errors.Join(err, r.servers.StartAll(), r.servers.Healthy(healing))
			cancel()
			if err != nil {
				r.violate("round %d, %s: %v", i+1, f.name, err)
				return
			}
			r.inspect(fmt.Sprintf("round %d, %s", i+1, f.name))
		}
	}
}

func (r *run) leader(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, healed)
	defer cancel()
	return r.servers.Leader(ctx, r.stream)
}

// within is how long after a leader's death a write succeeds.
const within = 15 * time.Second

// leaderKilled kills the leader of the log, and measures until a write succeeds.
func leaderKilled(ctx context.Context, r *run, _ *rand.Rand) error {
	i, err := r.leader(ctx)
	if err != nil {
		return err
	}
	if err := r.servers.Kill(i); err != nil {
		return err
	}
	begun := time.Now()
	for n := 0; ; n++ {
		id := fmt.Sprintf("probe-%d", begun.UnixNano())
		o := r.call(n%len(r.copies), "objective", "create", "Still there", "--id", id, "--as", "user", "--actor", "probe", "--request-id", id)
		took := time.Since(begun)
		switch {
		case o.Code() != "" && o.Code() != "T510" && o.Code() != "T511" && o.Code() != "T501":
			return fmt.Errorf("after the leader's death: %s", o.Text())
		case !o.OK() && took < healed:
			continue
		case took > within:
			return fmt.Errorf("a write succeeded only %s after the leader's death", took)
		}
		r.report.recoveries = append(r.report.recoveries, took)
		return r.servers.Start(i)
	}
}

func allKilled(_ context.Context, r *run, _ *rand.Rand) error {
	if err := r.servers.KillAll(); err != nil {
		return err
	}
	time.Sleep(500 * time.Millisecond)
	return r.servers.StartAll()
}

func leaderStopped(ctx context.Context, r *run, dice *rand.Rand) error {
	i, err := r.leader(ctx)
	if err != nil {
		return err
	}
	if err := r.servers.Pause(i); err != nil {
		return err
	}
	time.Sleep(time.Duration(1+dice.IntN(8)) * time.Second)
	return r.servers.Resume(i)
}

// answerFor is how long leslie waits for what became of an operation that was sent.
const answerFor = 20 * time.Second

// allStopped stops all servers, the leader last: it still tells where the log ends, and
// cannot confirm what it is sent. It takes so long that who has sent an operation is told that
// nobody knows what became of it (T511), and who waits for a turn that there is none (T510).
func allStopped(ctx context.Context, r *run, dice *rand.Rand) error {
	leader, err := r.leader(ctx)
	if err != nil {
		return err
	}
	order := []int{}
	for i := range r.servers.Size() {
		if i != leader {
			order = append(order, i)
		}
	}
	for _, i := range order {
		if err := r.servers.Pause(i); err != nil {
			return err
		}
	}
	time.Sleep(3 * time.Second)
	if err := r.servers.Pause(leader); err != nil {
		return err
	}
	time.Sleep(answerFor)
	for _, i := range dice.Perm(r.servers.Size()) {
		if err := r.servers.Resume(i); err != nil {
			return err
		}
	}
	return nil
}

func randomKills(_ context.Context, r *run, dice *rand.Rand) error {
	for range 3 {
		if err := r.servers.Kill(dice.IntN(r.servers.Size())); err != nil {
			return err
		}
		time.Sleep(time.Duration(dice.IntN(1500)) * time.Millisecond)
		if err := r.servers.StartAll(); err != nil {
			return err
		}
	}
	return nil
}

func powerCut(_ context.Context, r *run, _ *rand.Rand) error {
	if err := r.servers.PowerCut(); err != nil {
		return err
	}
	return r.servers.StartAll()
}

// bitFlipped ends one server, changes one bit of what it has of the log, and starts it.
func bitFlipped(ctx context.Context, r *run, dice *rand.Rand) error {
	healing, cancel := context.WithTimeout(ctx, healed)
	defer cancel()
	if err := r.servers.Healthy(healing); err != nil {
		return err
	}
	i := dice.IntN(r.servers.Size())
	end := r.servers.Quit
	if dice.IntN(2) == 0 {
		end = r.servers.Kill
	}
	if err := end(i); err != nil {
		return err
	}
	if r.servers.Stored(i, r.stream) {
		if err := r.servers.FlipBit(i, r.stream); err != nil {
			return err
		}
	}
	return r.servers.Start(i)
}
