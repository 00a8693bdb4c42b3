// Package merging runs one merge: a session that plans, asks, records and applies.
//
//	session, err := merging.Start(call, request)  // or Load, for a pending merge
//	session.Conflicts()                           // open and resolved conflicts
//	session.Answer(merging.Answer{...})           // record decisions and plan again
//	result, err := session.Finish()               // ask the resolvers, then Apply
//
// The plan is pure and in memory (planning.go): Start and Load read the trees once
// (inputs.go), merge.Make plans from what was read, and an answer plans again from the
// same data. Nothing is stored before Apply, or before somebody is asked: then the
// merge is recorded as pending, so that a caller who is interrupted finds it again
// (pending.go). The record has parameters and decisions.
//
// Decisions come from a Resolver (resolver.go): the person at a terminal, an agent's
// command (agent.go), a test. All decisions go through the same code (answer.go),
// including those of `merge resolve`. Only Apply checks whether the threads' files are
// still as planned (apply.go); if not, the session loads and plans again, and keeps
// the decisions whose conflicts still exist.
//
// A session belongs to one use case, which it knows as Operations, and reads through
// Files. It must be used by one goroutine only.
package merging
