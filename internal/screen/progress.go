package screen

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// This file draws how far something is that takes a while.

// Progress is how far something is.
type Progress struct {
	What        string // "importing"
	Done, Total int64  // Total is 0 where nobody knows it
	Unit        Unit
}

// Unit is what Done and Total count.
type Unit string

// Things have numbers of their own, bytes are shown in larger units, and of shares only
// their part of the whole is shown.
const (
	Things Unit = ""
	Bytes  Unit = "bytes"
	Shares Unit = "shares"
)

// Line draws the progress in a line of fewer than width cells, so that the cursor stays in
// it. taken is how long it took so far.
func (p Progress) Line(taken time.Duration, width int) string {
	parts := []string{p.What}
	switch {
	case p.Unit == Shares:
	case p.Total > 0:
		parts = append(parts, p.amount(p.Done)+" of "+p.amount(p.Total))
	case p.Done > 0:
		parts = append(parts, p.amount(p.Done))
	}
	if done := min(p.Done, p.Total); done > 0 {
		parts = append(parts, strconv.FormatInt(done*100/p.Total, 10)+" %")
		if done < p.Total {
			parts = append(parts, remaining(time.Duration(float64(taken)/float64(done)*float64(p.Total-done)))+" left")
		}
	}
	for len(parts) > 1 && cells(strings.Join(parts, ", ")) >= width {
		parts = parts[:len(parts)-1]
	}
	return cut(strings.Join(parts, ", "), max(width-1, 0))
}

func (p Progress) amount(n int64) string {
	if p.Unit != Bytes {
		return strconv.FormatInt(n, 10)
	}
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%d kB", (n+999)/1000)
}

// remaining is a duration in its largest unit, rounded up.
func remaining(d time.Duration) string {
	switch {
	case d <= 90*time.Second:
		return strconv.Itoa(int((d+time.Second-1)/time.Second)) + " s"
	case d <= 90*time.Minute:
		return strconv.Itoa(int((d+time.Minute-1)/time.Minute)) + " min"
	}
	return strconv.Itoa(int((d+time.Hour-1)/time.Hour)) + " h"
}
