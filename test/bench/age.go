package main

import (
	"fmt"
)

// This file compares stores with the same live threads: a new one, one with many
// archived threads, one with a long history.

func measureAge(b *bench) error {
	young := plan{live: 1_000}
	old := plan{live: 1_000, archived: 99_000}
	long := plan{live: 1_000, operations: 1_000_000}
	if b.short {
		old.archived, long.operations = 9_000, 50_000
	}
	var stores []*store
	for _, p := range []plan{young, old, long} {
		s, err := b.storeOf(p)
		if err != nil {
			return err
		}
		if err := s.restore(); err != nil {
			return err
		}
		stores = append(stores, s)
	}
	names := []string{"young", "archived", "history"}
	t := b.report.table("Age, 1,000 live threads", fmt.Sprintf("with %s archived threads, with %s further operations", grouped(old.archived), grouped(long.operations)))
	for k := range b.commands(stores[0]) {
		var subjects []subject
		for i, s := range stores {
			c := b.commands(s)[k]
			c.name = names[i] + " " + c.name
			subjects = append(subjects, c)
		}
		got, err := b.alternate(2*b.runs, within, subjects...)
		if err != nil {
			return err
		}
		was := got[subjects[0].name]
		for i, what := range []string{"archived threads", "operations"} {
			name, s := subjects[i+1].name, got[subjects[i+1].name]
			t.add(name, s, "the young store", was)
			b.report.target(fmt.Sprintf("%s: `%s` by the same without", what, b.commands(stores[0])[k].name), s.wall().median/was.wall().median, ageLimit)
		}
	}
	return nil
}

// commands are those that must not become slower as a store ages; history reads only
// the operations that it shows.
func (b *bench) commands(s *store) []subject { return append(b.reads(s), b.writes(s)...) }
