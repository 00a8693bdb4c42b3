package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
)

// This file measures other programs doing the most similar work on as many records.
// They promise less: taskwarrior calls no fsync.

// rival is a command of another program, and the command of leslie that must not be
// slower ("": none).
type rival struct {
	subject subject
	against string
}

// largestRival limits the number of records for other programs.
const largestRival = 10_000

func (b *bench) rivals(s *store) ([]rival, error) {
	if s.plan.live > largestRival {
		return nil, nil
	}
	tasks, err := b.taskwarrior(s)
	if err != nil {
		return nil, err
	}
	rows, err := b.sqlite(s)
	return append(tasks, rows...), err
}

// taskwarrior prepares as many pending tasks as the store has threads.
func (b *bench) taskwarrior(s *store) ([]rival, error) {
	task := b.installed("task")
	if task == "" {
		return nil, nil
	}
	dir := filepath.Join(s.dir, "task")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	rc := filepath.Join(dir, "taskrc")
	if err := os.WriteFile(rc, []byte("data.location="+dir+"\nconfirmation=no\nnews.version=9.9.9\n"), 0o644); err != nil {
		return nil, err
	}
	if err := writeLines(filepath.Join(dir, "pending.data"), s.plan.live, func(n int) string {
		t := s.plan.thread(n, int64(n+1))
		return fmt.Sprintf("[description:\"%s\" entry:\"%d\" modified:\"%d\" status:\"pending\" tags:\"bench\" uuid:\"%08x-0000-4000-8000-%012x\"]",
			t.Intent, t.Created.At.Unix(), t.Created.At.Unix(), n, n)
	}); err != nil {
		return nil, err
	}
	call := func(args ...string) []string { return append([]string{task, "rc:" + rc}, args...) }
	return []rival{
		{subject{name: "task add", dir: dir, argv: func(int) []string {
			return call("add", "+bench", "depends:1", "Measure what one more thread costs, with tags and dependencies")
		}}, "spawn"},
		{subject{name: "task modify depends", dir: dir, argv: func(n int) []string {
			return call("2", "modify", []string{"depends:3", "depends:"}[n%2])
		}}, "reference"},
		{subject{name: "task start", dir: dir, argv: func(n int) []string {
			return call("4", []string{"start", "stop"}[n%2])
		}}, "lifecycle"},
	}, nil
}

// sqlite prepares as many rows of the same size as the store has threads.
func (b *bench) sqlite(s *store) ([]rival, error) {
	sqlite := b.installed("sqlite3")
	if sqlite == "" {
		return nil, nil
	}
	dir := filepath.Join(s.dir, "sqlite")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	load, db := filepath.Join(dir, "load.sql"), filepath.Join(dir, "threads.db")
	if err := writeLines(load, s.plan.live+3, func(n int) string {
		switch n {
		case 0:
			return "CREATE TABLE IF NOT EXISTS threads(id TEXT PRIMARY KEY, record TEXT);"
		case 1:
			return "BEGIN;"
		case s.plan.live + 2:
			return "COMMIT;"
		}
		body, _ := plainJSON(s.plan.thread(n-2, int64(n)))
		return fmt.Sprintf("INSERT INTO threads VALUES('%s', '%s');", threadID(n-2), body)
	}); err != nil {
		return nil, err
	}
	if _, err := b.output(dir, sqlite, db, ".read "+load); err != nil {
		return nil, err
	}
	return []rival{
		{subject{name: "sqlite3 insert", dir: dir, argv: func(n int) []string {
			return []string{sqlite, db, fmt.Sprintf("INSERT OR REPLACE INTO threads VALUES('new-%d', '{\"intent\":\"Measure what one more thread costs\"}')", n)}
		}}, ""},
		{subject{name: "sqlite3 update", dir: dir, argv: func(n int) []string {
			return []string{sqlite, db, fmt.Sprintf("UPDATE threads SET record = json_set(record, '$.revision', %d) WHERE id = '%s'", n, threadID(1))}
		}}, ""},
	}, nil
}

// writeLines writes a file of n lines.
func writeLines(name string, n int, line func(int) string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	for i := range n {
		if _, err := out.WriteString(line(i) + "\n"); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Close()
}
