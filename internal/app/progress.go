package app

import (
	"io"

	"leslie/store"
)

// Progress is how far a call is that may take a while. It is a hint for people: the numbers
// may begin again when something is read a second time.
type Progress struct {
	What        string // "importing"
	Done, Total int64  // Total is 0 where nobody knows it
	Unit        ProgressUnit
}

// ProgressUnit is what Done and Total count.
type ProgressUnit string

// What is counted: things, bytes, or equal shares of all there is.
const (
	CountsThings ProgressUnit = ""
	CountsBytes  ProgressUnit = "bytes"
	CountsShares ProgressUnit = "shares"
)

// progress tells how far the call is, if anybody asked.
func progress(c *Call, p Progress) {
	if c != nil && c.request.Progress != nil {
		c.request.Progress(p)
	}
}

// storeProgress is how the store tells how far it is, nil if nobody asked.
func (r Request) storeProgress() func(store.Progress) {
	if r.Progress == nil {
		return nil
	}
	return func(p store.Progress) {
		r.Progress(Progress{What: p.What, Done: int64(p.Done), Total: int64(p.Total), Unit: CountsShares})
	}
}

// telling is a reader that tells how much of it was read.
type telling struct {
	io.Reader
	c    *Call
	what string
	done int64
	size int64 // 0 if nobody knows it
}

func (r *telling) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.done += int64(n)
	progress(r.c, Progress{What: r.what, Done: r.done, Total: r.size, Unit: CountsBytes})
	return n, err
}
