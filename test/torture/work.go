//go:build linux

package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// This file runs cases side by side, each in a folder of its own.

// work is one case.
type work struct {
	matrix, row, rest string
	key               string // what its table counts it under; the row when it is empty
	run               func(dir string) result
}

func (w work) name() string {
	return strings.TrimSuffix(w.matrix+"/"+w.row+"/"+w.rest, "/")
}

// result is how a case ended.
type result struct {
	hit            bool   // the disturbance came where it was meant
	outcome        string // a column of the matrix's table
	side           side   // where the store was found
	problem        string // the promise that was broken, "" when none was
	commits, syncs int    // what an order case saw
}

// choice says which cases are run.
type choice struct {
	only  string
	seed  uint64
	short bool
	list  bool
}

// stride is, in short, every how manieth case of a matrix is run.
func (c choice) stride(matrix string) int {
	strides := map[string]int{"kill": 8, "fault": 50, "permanent": 40, "read": 120, "diskfull": 12, "permissions": 40}
	if n := strides[matrix]; c.short && n > 0 {
		return n
	}
	return 1
}

// of picks the cases of a row in a matrix: all, those that are asked for, or
// every so manieth from one on that the seed draws, and at least one.
func (c choice) of(all []work) (out []work) {
	for i, w := range all {
		stride := uint64(min(c.stride(w.matrix), len(all)))
		name := w.name()
		switch {
		case c.only != "":
			if name == c.only || strings.HasPrefix(name, strings.TrimSuffix(c.only, "/")+"/") {
				out = append(out, w)
			}
		case (uint64(i)+c.first(w))%stride == 0:
			out = append(out, w)
		}
	}
	return out
}

// first draws a number for a row of a matrix.
func (c choice) first(w work) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %s", c.seed, w.matrix, w.row)
	return h.Sum64() >> 1
}

// wants reports whether a row or a matrix can have a case that is asked for.
func (c choice) wants(matrix, row string) bool {
	prefix := matrix + "/" + row + "/"
	return c.only == "" || strings.HasPrefix(prefix, c.only+"/") || strings.HasPrefix(c.only+"/", prefix)
}

// each calls do for every item, on so many at once, with a fresh folder's name.
func each[T any](r *rig, workers int, items []T, do func(dir string, item T)) {
	var group sync.WaitGroup
	queue := make(chan int)
	for range workers {
		group.Go(func() {
			for i := range queue {
				dir := filepath.Join(r.dir, fmt.Sprintf("run-%d", r.next.Add(1)))
				_ = os.Mkdir(dir, 0o755) // what is made below it fails, and says so
				do(filepath.Join(dir, "p"), items[i])
				_ = os.RemoveAll(dir)
			}
		})
	}
	for i := range items {
		queue <- i
	}
	close(queue)
	group.Wait()
}
