// Empty does nothing. It is the baseline for starting any Go program.
package main

func main() {}
