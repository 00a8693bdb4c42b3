// Package decisions has what people decide: approvals and questions, and handing a thread over.
//
// # How people and agents work together
//
// Nothing runs in the background, so no agreement depends on a running process.
//
//   - Grants (thread/grant.go): a request and a delegation are the same record. A thread waits
//     while one of its requests is open; its asker may withdraw it (mayWithdraw), which
//     decides nothing. Whoever reads applies the deadlines: app.Call.view applies State.Expire
//     to what it read; app.Call.update first records it as an operation of the system and then
//     does what was asked. The history therefore shows that a deadline decided.
//   - Questions (thread/question.go) stop nothing: the asking thread goes on, or its call
//     waits. The answer is an injection into it, so it is read and counted like every message.
//     Only a person answers what a person was asked; the same question asked again is the open
//     one.
//   - Claims (thread/claim.go) are leases that expire on their own. One rule
//     (thread.State.RespectClaim, asked by each use case that changes a thread's status,
//     fields or artifacts) refuses other agents and warns people and the holder of an
//     ancestor's claim. Any change by the holder extends the claim in the same operation
//     (app.Call.update).
//   - Injections (thread/inject.go) stay in the thread's record until context has shown them
//     to the thread's own agent. Marking them as seen is an operation of the system, because
//     context only reads; if it cannot be written, they are shown again. thread.State.UnreadOf
//     alone says what is unread; each answer tells a caller who speaks for the thread
//     (app.Call.Notices), wait ends and done refuses by it. A step of its own kind
//     (store/internal/filework/append.go) appends each line to their file once, however often
//     it runs.
//   - Waiting (store/watch.go, internal/app/await.go): look at the State, sleep until the
//     system reports a change or a deadline comes, look again. observe continues in the
//     journal where it stopped.
//   - The mistake limit (internal/app/failures.go) counts failures in a row in the last 64 KiB
//     of the log, whose lines name each failure and its actor. The first success after a
//     failure is logged too, a reading command's only for an agent that speaks for a thread,
//     so counting needs no state of its own. Looking costs 0.02 ms without a log and 0.15 ms
//     with a long one.
//   - Batch (internal/app/draft.go) runs each line as its own call on a State in memory
//     (State.Fork for its reads), stages its files, and keeps its rule. Under one lock that
//     State becomes the operation; if another process wrote in between, all rules run again. A
//     command that plans from files which another line may change is marked notBatchable and
//     cannot be batched.
//   - Undo (thread/undo.go) inverts one operation field by field, and refuses if a later
//     operation depends on it. Its own line in the journal names what it undid
//     (thread.Reversal), so one walk backwards knows what is undone
//     (internal/app/history/undo_step.go): what undid an operation is met before it. A redo is
//     the undo of an undo; the list of the files that an undo replaced makes that exact.
package decisions
