//go:build !windows

package git

import (
	"os"
	"syscall"
)

// hold takes a lock that lasts until release, or until the end of this process and of every
// one that has inherited the file. Error: syscall.EWOULDBLOCK if somebody has it.
func hold(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	return locked(f, err)
}

// holdFolder is hold for a folder.
func holdFolder(dir string) (*os.File, error) { return locked(os.Open(dir)) }

func locked(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// release ends a lock of hold at once, also where a process that has nothing to do with it
// was being started and still has a copy of the file.
func release(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}

// inherited are the files that a process gets beside its standard ones.
func inherited(f *os.File) []*os.File {
	if f == nil {
		return nil
	}
	return []*os.File{f}
}
