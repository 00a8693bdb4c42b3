package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// This file compares land and diff with what git takes for the same, in a repository with many
// files: each landing has a thread with one commit, which spawn and git made before.

const codeFiles = 20_000

func measureCode(b *bench) error {
	git := b.installed("git")
	if git == "" {
		return nil
	}
	files := codeFiles
	if b.short {
		files = 2_000
	}
	r := &repository{b: b, git: git, dir: filepath.Join(b.dir, "repository")}
	if err := r.make(files); err != nil {
		return err
	}
	got, err := b.alternate(max(b.runs/3, 7), within,
		subject{name: "land", dir: r.dir, before: r.thread, argv: func(n int) []string { return []string{b.leslie, "land", fmt.Sprint("land-", n)} }},
		subject{name: "git", dir: r.dir, before: r.branch, argv: func(n int) []string {
			return []string{"sh", "-ec", fmt.Sprintf("%[1]s merge -q --no-ff -m merge git-%[2]d; %[1]s worktree remove ../git-%[2]d; %[1]s branch -q -d git-%[2]d", git, n)}
		}})
	if err != nil {
		return err
	}
	t := b.report.table(fmt.Sprintf("Code, %s files", grouped(files)), "")
	t.add("land", got["land"], "git merge, worktree remove, branch -d", got["git"])
	b.report.target("`land` of one commit, by git merge, worktree remove and branch -d", got["land"].wall().median/got["git"].wall().median, landLimit)
	return r.measureDiff(t)
}

// measureDiff compares diff of a thread that has a commit, and a file that is not committed, with
// what git prints of both.
func (r *repository) measureDiff(t *table) error {
	if err := r.thread(-1); err != nil {
		return err
	}
	dir := filepath.Join(r.dir+".worktrees", "land--1")
	if err := os.WriteFile(filepath.Join(dir, "d0", "f0.txt"), []byte("changed\n"), 0o644); err != nil {
		return err
	}
	got, err := r.b.alternate(r.b.runs, within,
		fixed("diff", r.dir, r.b.leslie, "diff", "land--1", "--code"),
		fixed("git", r.dir, "sh", "-ec", fmt.Sprintf("%[1]s diff main...leslie/land--1; %[1]s -C %[2]s diff HEAD", r.git, dir)))
	if err != nil {
		return err
	}
	t.add("diff", got["diff"], "git diff of both parts", got["git"])
	r.b.report.targets = append(r.b.report.targets, target{
		what: "`diff ID`, beyond git diff", measured: got["diff"].wall().median - got["git"].wall().median, limit: diffLimit, unit: " ms",
	})
	return nil
}

// repository is a git repository with a store.
type repository struct {
	b        *bench
	git, dir string
}

func (r *repository) make(files int) error {
	for n := range files {
		name := filepath.Join(r.dir, fmt.Sprint("d", n/100), fmt.Sprintf("f%d.txt", n))
		if n%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "file %d\n", n), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{r.git, "init", "-q", "-b", "main"}, {r.git, "config", "user.name", "bench"}, {r.git, "config", "user.email", "bench@example.org"},
		{r.git, "config", "gc.auto", "0"}, {r.git, "add", "."}, {r.git, "commit", "-q", "-m", "files"}, {r.b.leslie, "init", "--no-agents"},
	} {
		if _, err := r.b.output(r.dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// thread makes the thread land-N with a commit.
func (r *repository) thread(n int) error {
	id := fmt.Sprint("land-", n)
	if _, err := r.b.output(r.dir, r.b.leslie, "spawn", "--code", "Land it", "--id", id); err != nil {
		return err
	}
	return r.commit(filepath.Join(r.dir+".worktrees", id), id)
}

// branch makes the branch git-N with a worktree and a commit.
func (r *repository) branch(n int) error {
	name := fmt.Sprint("git-", n)
	dir := filepath.Join(filepath.Dir(r.dir), name)
	if _, err := r.b.output(r.dir, r.git, "worktree", "add", "-q", "-b", name, dir); err != nil {
		return err
	}
	return r.commit(dir, name)
}

func (r *repository) commit(dir, name string) error {
	if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte(name+"\n"), 0o644); err != nil {
		return err
	}
	if _, err := r.b.output(dir, r.git, "add", "."); err != nil {
		return err
	}
	_, err := r.b.output(dir, r.git, "commit", "-q", "-m", name)
	return err
}
