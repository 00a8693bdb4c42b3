// Package runs runs coding agents on threads: one run, its turns and its end, many of them one
// after another, their transcripts, and the check before a night. Which agents there are, how each
// is started and what limits its account has is in package agents; the agent's process and session
// in internal/runner; what a person decides for an agent in package decisions.
//
// # How agents are run
//
// leslie run is one process for one thread (run.go). internal/acp speaks the
// protocol, internal/runner has the agent's process and session, internal/permit the rules,
// internal/transcript what was said. turns.go supervises: it gives the agent a turn,
// watches the store meanwhile, and after each turn reads the thread to decide what comes next.
// handler.go receives what the agent sends.
//
//   - The record (thread/run.go): a thread has its newest run, and the sums of those before it
//     by agent, so its size does not grow. stats adds up these sums. Start, session, turn and
//     end are an operation each; all but the start are the system's, so nobody's undo meets
//     them, and what is recorded of runs is never undone.
//   - Life: .leslie/runs/THREAD/lock is held while the process lives (store/runs.go) and is
//     the only proof of it. A killed process leaves a run that is running without its lock.
//     The next one ends what has the run's LESLIE_RUN in its environment, opens the session
//     again, and sends a text that says what happened; a turn whose end is recorded is never
//     sent again.
//   - Whatever is ready (loop.go) is one process with a lock of its own
//     (.leslie/runs/.loop/) and a goroutine for each run. Each look at the store finds what
//     can be started: killed, parked, woken, wanted, ready. What it decides by is recorded
//     (Run.Awaits, NotBefore, Stop, and whether the thread changed since), so a kill loses
//     nothing and no failed run is repeated. run.Awaits is set in the operation by
//     which the agent suspends its thread, since the last child may end before the run is
//     parked.
//   - In the background (detach.go) leslie starts itself in a session of its own, without
//     LESLIE_RUN, so that the end of the run of an agent that started it does not end it.
//   - Stopping is a wish in the record, which the process sees as it sees messages. It needs
//     no signal and works from everywhere.
//   - The claim is held by run:THREAD, the name that the agent's own calls have, so its writes
//     extend it. Losing it ends the run.
//   - A call that a person decides is an ordinary approval with a digest of the call
//     (thread.ToolCall). It grants that call once: the operation that uses it ends it. The
//     agent waits at most 10 minutes; a later answer is found by the digest when the resumed
//     agent asks again.
//   - A merge's agent (internal/app/merges/agent.go) has no run and no record: it is started when the merge
//     asks first, works in a temporary folder, and ends with the call. Package merging knows
//     it as a function, like a command, and checks the answers of both.
//   - What a person allows for good (internal/app/decisions/approve_always.go, internal/app/config/rule.go) goes into their
//     configuration as text, at a place that its parser found: the result counts only if it
//     says what it should, so no comment and no other key can change. The file has a lock
//     beside it (store/ownfile.go).
//   - Cost is what the agent says last of its session. A session that is opened again may go
//     on counting or begin anew: it goes on if its first amount is at least what is known of
//     it.
//   - What a turn leaves (keep.go): a checkpoint with the number of the turn, and a commit
//     of the work in the worktree (internal/git/work.go, the shape of a rescue without what
//     git ignores). Unchanged work is the same commit. A rollback (internal/app/history/rollback_turn.go) exchanges
//     saved work in place, between two operations; in between the code is rolling, and whoever
//     comes next brings back what was there. Its undo is the exchange backwards. Keeping a
//     turn takes 137 to 271 ms for a worktree of 2,000 files on two cores at load 6 (260 to
//     816 ms at load 20), of which comparing with the turn before and writing the ref take 5
//     to 24 ms. An exchange takes 282 ms; a rollback starts at most 87 processes of git.
package runs
