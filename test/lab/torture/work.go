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

// This file runs cases in parallel, each in its own folder.

// work is one case.
type work struct {
	matrix, row, rest string
	key               string // its line in the report's table; by default the row
	run               func(dir string) result
}

func (w work) name() string {
	return strings.TrimSuffix(w.matrix+"/"+w.row+"/"+w.rest, "/")
}

// result is the result of a case.
type result struct {
	hit            bool   // the disturbance hit its target
	outcome        string // a column of the matrix's table
	side           side   // the state of the store
	problem        string // the broken promise, "" if none
	commits, syncs int    // counted by an order case
}

// choice selects the cases to run.
type choice struct {
	only  string
	seed  uint64
	short bool
	list  bool
}

// stride returns n, where -short runs every n-th case of a matrix.
func (c choice) stride(matrix string) int {
	strides := map[string]int{"kill": 16, "git": 120, "run": 80, "fault": 100, "permanent": 80, "read": 240, "diskfull": 24, "permissions": 80}
	if n := strides[matrix]; c.short && n > 0 {
		return n
	}
	return 1
}

// of selects cases of a row in a matrix: all, those that -only names, or every n-th from
// one that the seed determines, but at least one.
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

// first returns a number that the seed determines for a row of a matrix.
func (c choice) first(w work) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %s", c.seed, w.matrix, w.row)
	return h.Sum64() >> 1
}

// wants reports whether -only can name a case of a row in a matrix.
func (c choice) wants(matrix, row string) bool {
	prefix := matrix + "/" + row + "/"
	return c.only == "" || strings.HasPrefix(prefix, c.only+"/") || strings.HasPrefix(c.only+"/", prefix)
}

// each calls do for every item, on parallel workers, with the name of a new folder.
func each[T any](r *rig, workers int, items []T, do func(dir string, item T)) {
	var group sync.WaitGroup
	queue := make(chan int)
	for range workers {
		group.Go(func() {
			for i := range queue {
				dir := filepath.Join(r.dir, fmt.Sprintf("run-%d", r.next.Add(1)))
				_ = os.Mkdir(dir, 0o755) // on failure, making files in it fails, too
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
