//go:build !linux

package main

import "fmt"

// main has nothing to do where there is no strace.
func main() {
	fmt.Println("torture: skipped: it needs Linux and strace")
}
