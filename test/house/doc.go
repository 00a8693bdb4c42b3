// Package house holds rules over leslie's own source, as tests: which package may
// import which, what a review refuses, and that documents that repeat the code
// agree with it.
//
// What belongs here: rules that hold for every package. A rule about one package's
// behaviour is a test in that package.
//
// Read first: packages_test.go (the table of packages and what each may import),
// then rules_test.go (what a review refuses), documents_test.go (what is compared),
// binary_test.go (which modules the program contains). tree_test.go reads the
// source. Each rule has a sample that breaks it and one that keeps it, so a rule
// that no longer sees anything fails, too.
package house
