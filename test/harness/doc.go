// Package harness holds what the test programs (test/soak, test/torture,
// test/bench, test/demo) and tests share: reading what leslie prints as JSON, and
// where temporary files go. It knows the contract and nothing of leslie's
// implementation, so that a mistake there cannot agree with itself.
package harness
