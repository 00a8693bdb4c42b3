package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// This file compares a batch of 1,000 spawns with one spawn.

const batched = 1_000

func measureBatch(b *bench) error {
	size := 10_000
	if b.short {
		size = 1_000
	}
	if !b.knows("batch") {
		b.report.note("`leslie batch` is not there in this binary and was left out.")
		return nil
	}
	s, err := b.storeOf(plan{live: size})
	if err != nil {
		return err
	}
	lines := filepath.Join(s.dir, "batch.jsonl")
	if err := writeLines(lines, batched, func(n int) string {
		return fmt.Sprintf(`["spawn","--objective",%q,"--tag","bench","--intent","The %d. thread of a batch"]`, idOf("obj-", 0), n)
	}); err != nil {
		return err
	}
	again := func(int) error { return s.restore() }
	spawn := b.writes(s)[0]
	spawn.before = again
	batch := fixed("batch", s.dir, b.leslie, "batch", lines)
	batch.before = again
	copied := filepath.Join(s.dir, "floor", "state")
	if err := s.copyState(copied); err != nil {
		return err
	}
	// The baseline creates its folders where the batch does: the time depends on the file
	// system and on how many folders are there.
	folders := fixed("folders", s.dir, b.floor, "folders", copied, s.file("threads"))
	got, err := b.alternate(max(b.runs/3, 7), within, spawn, batch, fixed("floor", s.dir, b.floor, "write", copied), folders)
	if err != nil {
		return err
	}
	if err := b.batchIsThere(s, lines); err != nil {
		return err
	}
	t := b.report.table(fmt.Sprintf("A batch of %s spawns, %s threads", grouped(batched), grouped(size)), "")
	t.add("spawn", got["spawn"], "the durable floor", got["floor"])
	t.add("batch", got["batch"], "the floor with as many folders", got["folders"])
	b.report.memory("batch", s, got["batch"])
	b.report.target(fmt.Sprintf("a batch of %s spawns by one, %s threads", grouped(batched), grouped(size)), got["batch"].wall().median/got["spawn"].wall().median, batchLimit)
	return s.restore()
}

// knows reports whether the binary has a command; for an unknown one it answers T903.
func (b *bench) knows(command string) bool {
	cmd := exec.CommandContext(b.ctx, b.leslie, "help", command)
	cmd.Env = b.environment()
	out, err := cmd.CombinedOutput()
	return err == nil || !strings.Contains(string(out), "T903")
}

// batchIsThere checks once that the folders exist when the batch has answered.
func (b *bench) batchIsThere(s *store, lines string) error {
	if err := s.restore(); err != nil {
		return err
	}
	before, err := os.ReadDir(s.file("threads"))
	if err != nil {
		return err
	}
	if _, err := b.output(s.dir, b.leslie, "batch", lines); err != nil {
		return err
	}
	after, err := os.ReadDir(s.file("threads"))
	if err == nil && len(after)-len(before) != batched {
		err = fmt.Errorf("the batch made %d folders", len(after)-len(before))
	}
	return err
}
