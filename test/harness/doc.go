// Package harness holds what the test programs (test/soak, test/torture,
// test/bench, test/demo) and tests share: building leslie, running it and reading
// its answer, comparing files, and where temporary files go. It knows the contract
// and nothing of leslie's implementation, so that a mistake there cannot agree with
// itself.
package harness
