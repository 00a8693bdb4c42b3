//go:build !unix

package main

import "fmt"

// main has nothing to do where a process cannot be killed by a signal.
func main() {
	fmt.Println("soak: skipped: it needs unix")
}
