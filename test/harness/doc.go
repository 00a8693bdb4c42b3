// Package harness holds what the test programs (test/lab, test/bench,
// test/demo) and tests share: building leslie, running it and reading its answer,
// comparing files, and folders for temporary files. It has its own types for the
// contract and imports none of leslie's packages, so a mistake there does not go
// unnoticed here.
package harness
