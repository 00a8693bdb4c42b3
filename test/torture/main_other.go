//go:build !linux

package main

import "fmt"

// main has nothing to do where there is no strace.
func main() {
	fmt.Println("torture: passed over: it needs Linux and strace")
}
