package doctor

import (
	"fmt"

	"leslie/store"
)

// This file looks whether the disk of the store has room for its next writes.

// space is what the disk of a folder has left.
type space struct {
	free  uint64 // bytes, for the caller
	files uint64 // names, for the caller; noLimit where the disk has no such limit
}

const noLimit = ^uint64(0)

// Below these a write may fail at any moment. A write takes the state twice, beside what it keeps.
const (
	leastFree  = 16 << 20
	leastFiles = 64
)

// full says what a disk lacks; "" for nothing.
func (s space) full() string {
	switch {
	case s.free < leastFree:
		return fmt.Sprintf("the disk has %d MiB left: writes fail when it is full; make room, nothing that is stored is damaged", s.free>>20)
	case s.files < leastFiles:
		return fmt.Sprintf("the disk has room for %d more files (inodes): writes fail when there is none; delete some, nothing that is stored is damaged", s.files)
	}
	return ""
}

// disk reports a disk that is full, or nearly.
func (x *examination) disk() error {
	for _, name := range []string{".", store.BlobsDir} {
		left, ok := spaceOf(x.Store.Path(name))
		if problem := left.full(); ok && problem != "" {
			x.permanent("T505", name, problem)
			return nil
		}
	}
	return nil
}
