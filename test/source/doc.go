// Package source checks rules about leslie's own source, as tests: which package may
// import which, what a review rejects, and that documents agree with the code.
//
// What belongs here: rules that hold for every package. A rule about one package's
// behaviour is a test in that package.
//
// Read first: packages_test.go (the table of packages and what each may import), then
// rules_test.go (what a review rejects), documents_test.go (which documents are
// compared), binary_test.go (which modules the program contains). tree_test.go parses the
// source. Each rule has a sample that breaks it and one that keeps it, so a rule that
// finds nothing any more fails, too.
package source
