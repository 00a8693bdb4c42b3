//go:build !linux

package main

import "fmt"

// main has nothing to do where processes cannot be killed and traced.
func main() {
	fmt.Println("faults: skipped: it needs Linux")
}
