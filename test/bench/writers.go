package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// This file measures concurrent writers: P at a time, each starting ten processes one
// after the other.

const each = 10

// crowd is the result of a number of concurrent writers.
type crowd struct {
	perSecond float64
	calls     series
}

func measureWriters(b *bench) error {
	s, err := b.storeOf(plan{live: 1_000})
	if err != nil {
		return err
	}
	copied := filepath.Join(s.dir, "floor", "state")
	if err := s.copyState(copied); err != nil {
		return err
	}
	spawn := b.writes(s)[0]
	floor := fixed("floor", s.dir, b.floor, "write", copied)
	rounds := 5
	if b.short {
		rounds = 1
	}
	t := b.report.crowd(fmt.Sprintf("Writers at once, %s threads", grouped(s.plan.live)))
	for _, writers := range []int{1, 8, 32} {
		var mine, floors []crowd
		for range rounds {
			if err := s.restore(); err != nil {
				return err
			}
			m, err := b.crowd(writers, spawn)
			if err != nil {
				return err
			}
			f, err := b.crowd(writers, floor)
			if err != nil {
				return err
			}
			mine, floors = append(mine, m), append(floors, f)
		}
		t.add(writers, mine, floors)
		if writers == 32 {
			b.report.atLeast("32 writers x 10 spawns, of the durable floor", middle(mine)/middle(floors), crowdLimit)
			b.report.target("p99 of one call among 32 writers, by its median", tail(mine), tailLimit)
		}
	}
	return s.restore()
}

// crowd runs the writers; a failing call fails the measurement.
func (b *bench) crowd(writers int, s subject) (crowd, error) {
	var wait sync.WaitGroup
	var lock sync.Mutex
	var out crowd
	var failed error
	start := time.Now()
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				m, err := b.process(s.dir, s.argv(w*each+i)...)
				lock.Lock()
				out.calls = append(out.calls, m)
				if err != nil && failed == nil {
					failed = err
				}
				lock.Unlock()
			}
		})
	}
	wait.Wait()
	out.perSecond = float64(writers*each) / time.Since(start).Seconds()
	return out, failed
}

// middle returns the median rate.
func middle(crowds []crowd) float64 {
	var values []float64
	for _, c := range crowds {
		values = append(values, c.perSecond)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// tail returns the 99th percentile of all calls, divided by their median.
func tail(crowds []crowd) float64 {
	walls := allWalls(crowds)
	return walls[len(walls)*99/100] / walls[len(walls)/2]
}

func allWalls(crowds []crowd) []float64 {
	var walls []float64
	for _, c := range crowds {
		for _, m := range c.calls {
			walls = append(walls, m.wall.Seconds()*1e3)
		}
	}
	slices.Sort(walls)
	return walls
}
