//go:build !unix

package main

import "os"

// peak is unknown on this system.
func peak(*os.ProcessState) int64 { return 0 }

// flushDisks does nothing: this system has no such call.
func flushDisks() {}
