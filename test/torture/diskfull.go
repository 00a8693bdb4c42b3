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

// This file fills disks: a tmpfs with a given number of pages or files left.
// Nothing is injected here, so short writes are real ones.

const (
	pageSize  = 4096
	mostLevel = 200
	// someLevels are tried in short, where what is enough is not looked for.
	someLevels = 12
)

// scarcity is a resource that runs out.
type scarcity struct {
	name    string // left: pages or files
	options string
	fill    func(dir string, left int) error
}

func scarcities() []scarcity {
	return []scarcity{
		{"pages", "size=1m,mode=755", fillPages},
		{"files", "size=4m,nr_inodes=220,mode=755", fillFiles},
	}
}

// fullDisks are a case for each level, from nothing left to what is enough.
func (r *ready) fullDisks() (out []work) {
	for _, kind := range scarcities() {
		enough := someLevels
		if !r.origin.short {
			enough = r.enough(kind)
		}
		for level := range enough + 1 {
			out = append(out, work{
				matrix: "diskfull", row: r.name, rest: fmt.Sprintf("%s/%d", kind.name, level), key: kind.name + " left",
				run: func(dir string) result {
					return inOwnMounts(func() result { return r.diskfull(dir, kind, level) })
				},
			})
		}
	}
	return out
}

// enough is the least level at which the command succeeds.
func (r *ready) enough(kind scarcity) int {
	works := func(level int) bool {
		return inOwnMounts(func() result { return r.diskfull(r.origin.dir+"-full/p", kind, level) }).outcome == succeeded
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

// inOwnMounts runs do on a thread with mounts of its own. They end with it:
// nothing stays mounted, whatever happens to torture.
func inOwnMounts(do func() result) result {
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its goroutine
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

// mountable says why no tmpfs can be mounted, "" when one can.
func mountable(dir string) string {
	return inOwnMounts(func() result {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
			return result{problem: err.Error()}
		}
		_ = syscall.Unmount(dir, 0)
		return result{}
	}).problem
}

// diskfull runs the row's line with so much left.
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
	a, problem := r.readAnswer(p, p.call(r.argv...))
	if problem != "" {
		return result{problem: problem}
	}
	a.release = func() error { return os.RemoveAll(filepath.Join(disk, "filler")) }
	where, problem := r.checkOnce(a)
	return result{hit: true, outcome: a.outcome(), side: where, problem: problem}
}

// fillPages leaves so many pages.
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

// fillFiles leaves so many files.
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
