package app

import (
	"io"
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

// Report tells how far the call is, if anybody asked.
func (c *Call) Report(p Progress) {
	if c != nil && c.request.Progress != nil {
		c.request.Progress(p)
	}
}

// ReportCheck tells how far a check of the whole store is, in equal shares, if anybody asked.
func (c *Call) ReportCheck(what string, done, total int) {
	c.Report(Progress{What: what, Done: int64(done), Total: int64(total), Unit: CountsShares})
}

// ProgressReader is a reader that tells how much of it was read.
type ProgressReader struct {
	io.Reader
	C    *Call
	What string
	done int64
	Size int64 // 0 if nobody knows it
}

// Read reads, and tells how far.
func (r *ProgressReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.done += int64(n)
	r.C.Report(Progress{What: r.What, Done: r.done, Total: r.Size, Unit: CountsBytes})
	return n, err
}
