//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// This file fills disks: a tmpfs with a given number of pages or files left. No error
// is injected, so short writes are real.

const (
	pageSize  = 4096
	mostLevel = 200
	// someLevels is how many levels -short tries, without looking for the sufficient one.
	someLevels = 12
)

// scarcity is a resource that runs out.
type scarcity struct {
	name    string // pages or files
	options string
	fill    func(dir string, left int) error
}

// Without what fills it, each disk has more than doctor calls full.
func scarcities() []scarcity {
	return []scarcity{
		{"pages", "size=24m,mode=755", fillPages},
		{"files", "size=24m,nr_inodes=320,mode=755", fillFiles},
	}
}

// fullDisks returns a case for each level, from nothing left to enough.
func (r *ready) fullDisks() (out []work) {
	for _, kind := range scarcities() {
		enough := someLevels
		if !r.origin.short {
			enough = r.enough(kind)
		}
		for level := range enough + 1 {
			out = append(out, work{
				matrix: "diskfull", row: r.Name, rest: fmt.Sprintf("%s/%d", kind.name, level), key: kind.name + " left",
				run: func(dir string) result {
					return inOwnMounts(func() result { return r.diskfull(dir, kind, level) })
				},
			})
		}
	}
	return out
}

// enough returns the lowest level at which the command succeeds.
func (r *ready) enough(kind scarcity) int {
	works := func(level int) bool {
		return inOwnMounts(func() result { return r.diskfull(r.origin.Dir+"-full/p", kind, level) }).outcome == succeeded
	}
	low, high := -1, 1
	for high < mostLevel && !works(high) {
		low, high = high, high*2
	}
	for high-low > 1 {
		if mid := (low + high) / 2; works(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// inOwnMounts runs do on an operating-system thread with its own mount namespace, which
// ends with the thread: nothing stays mounted, even if torture is killed.
func inOwnMounts(do func() result) result {
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with its goroutine
		err := syscall.Unshare(syscall.CLONE_FS | syscall.CLONE_NEWNS)
		if err == nil {
			err = syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
		}
		if err != nil {
			done <- result{problem: "a tmpfs cannot be mounted: " + err.Error()}
			return
		}
		done <- do()
	}()
	return <-done
}

// mountable returns why no tmpfs can be mounted, or "".
func mountable(dir string) string {
	return inOwnMounts(func() result {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
			return result{problem: err.Error()}
		}
		_ = syscall.Unmount(dir, 0)
		return result{}
	}).problem
}

// diskfull runs the row's command with level pages or files left.
func (r *ready) diskfull(dir string, kind scarcity, level int) result {
	disk := filepath.Dir(dir)
	if err := os.MkdirAll(disk, 0o755); err != nil {
		return result{problem: err.Error()}
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, kind.options); err != nil {
		return result{problem: err.Error()}
	}
	defer func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }()
	p, err := r.origin.copyTo(dir, 0)
	if err == nil {
		err = kind.fill(disk, level)
	}
	if err != nil {
		return result{problem: err.Error()}
	}
	a, problem := r.readAnswer(p, p.Call(r.argv...))
	if problem != "" {
		return result{problem: problem}
	}
	a.release = func() error { return os.RemoveAll(filepath.Join(disk, "filler")) }
	where, problem := r.checkOnce(a)
	return result{hit: true, outcome: a.outcome(), side: where, problem: problem}
}

// fillPages fills the disk until left pages are free.
func fillPages(dir string, left int) error {
	if err := os.Mkdir(filepath.Join(dir, "filler"), 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "filler", "pages"))
	if err != nil {
		return err
	}
	defer f.Close()
	page, n := bytes.Repeat([]byte{1}, pageSize), int64(0)
	for {
		if _, err := f.Write(page); errors.Is(err, syscall.ENOSPC) {
			break
		} else if err != nil {
			return err
		}
		n++
	}
	return f.Truncate(max(0, n-int64(left)) * pageSize)
}

// fillFiles creates files until only left more are possible.
func fillFiles(dir string, left int) error {
	filler := filepath.Join(dir, "filler")
	if err := os.Mkdir(filler, 0o755); err != nil {
		return err
	}
	n := 0
	for ; ; n++ {
		f, err := os.Create(filepath.Join(filler, fmt.Sprint(n)))
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err != nil {
			return err
		}
		_ = f.Close()
	}
	for i := max(0, n-left); i < n; i++ {
		if err := os.Remove(filepath.Join(filler, fmt.Sprint(i))); err != nil {
			return err
		}
	}
	return nil
}
