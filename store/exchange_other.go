//go:build !linux

package store

// exchange has two folders change their names.
func exchange(a, b string) error { return exchangeByThree(a, b) }
