// Package merging is one merge on its way: a session that plans, asks, records
// and applies.
//
//	session, err := merging.Start(call, request)  // or Load, for a merge that is pending
//	session.Conflicts()                           // what is open, and what was decided
//	session.Answer(merging.Answer{...})           // record decisions and plan again
//	result, err := session.Finish()               // ask who may be asked, then Apply
//
// The plan is pure and in memory (planning.go): Start and Load read the trees once
// (inputs.go), merge.Make plans from what was read, and an answer plans again
// from the same. Nothing is stored before Apply, or before somebody is asked:
// then the merge is recorded as pending, so that a caller who is cut off finds
// it again (pending.go). What is recorded are parameters and decisions.
//
// Whoever decides is a Resolver (resolver.go): the person at a terminal, an
// agent's command (agent.go), a test. Every decision takes the same way
// (answer.go), that of `merge resolve` too. Whether the threads' files are still
// what was planned on is asked once, by Apply (apply.go); if not, the session
// loads and plans again, and keeps the decisions whose conflicts still exist.
//
// A session works for one use case, which it knows as Operations, and reads
// through Files. It belongs to one goroutine.
package merging
