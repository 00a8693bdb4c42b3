// Package house holds leslie's own building rules and nothing that runs: which
// room may import which, what a review refuses, and that documents which repeat
// the code still agree with it. All of it is tests over the source tree, so
// `go test ./...` is the review that never tires.
//
// What belongs here: rules that hold for every room. A rule about one room's
// behaviour is a test in that room.
//
// Read first: rooms_test.go (the table of rooms and what each may know), then
// smells_test.go (what a review refuses), documents_test.go (what is compared).
// tree_test.go reads the source. Each rule carries a sample that breaks it and
// one that keeps it, so a rule that has gone blind fails too.
package house
