//go:build linux

package main

import (
	"fmt"
	"strings"
)

// This file is the table of rows. A new command needs one row: a name, a function that
// prepares its store, and its arguments.

// row is one command with the store that it runs on.
type row struct {
	name string
	// empty: there is no store; the command creates it.
	empty bool
	// prepare changes the common store to what the command needs.
	prepare func(*fixture)
	// argv is the command. {merge}, {ref} and {op} stand for the newest id of their kind.
	argv []string
	// status and code are the results of an undisturbed run.
	status int
	code   string
	// damaged: readers warn, or fail, until the command has repaired the store.
	damaged bool
	// again: only the same command finishes what a kill interrupted, not any write.
	again bool
	// oneByOne: the command changes several files outside the store, one after the other.
	// A kill leaves some of them changed, each as a whole.
	oneByOne bool
	// keeps: a failure may leave a part of the work done, and reports that
	// (details.changed).
	keeps bool
	// unrecorded: the command answers even if it cannot write what it records. The
	// answer's revision and warnings say whether it was recorded.
	unrecorded bool
	// idle: the command changes nothing.
	idle bool
	// first is a command that records only what this one records first, as an operation
	// of its own. The store after that operation counts as before.
	first []string
	// leavesTemporary: a kill may leave temporary files with these prefixes outside the
	// store, which no later command removes.
	leavesTemporary []string
}

// table returns every command that writes, in the order of help.
func table() []row {
	words := strings.Fields
	return []row{
		{name: "init", empty: true, prepare: withAgents, argv: words("init"), again: true, keeps: true},
		{name: "init-bare", empty: true, argv: words("init --no-agents"), again: true},
		{name: "init-agents", prepare: withAgents, argv: words("init"), again: true},
		{name: "setup", prepare: withAgents, argv: words("setup claude"), again: true, oneByOne: true, leavesTemporary: words(".SKILL.md .settings.json ..mcp.json .CLAUDE.md")},
		{name: "setup-remove", prepare: withSetUp, argv: words("setup claude --remove"), again: true, oneByOne: true, leavesTemporary: words(".settings.json .CLAUDE.md")},
		{name: "objective-create", argv: words("objective create Second --id second")},
		{name: "objective-done", prepare: withSpare, argv: words("objective done spare")},
		{name: "spawn", argv: words("spawn --id new --intent Do")},
		{name: "spawn-inherit", argv: words("spawn --id new --intent Do --parent main --inherit full")},
		{name: "spawn-ref", argv: words("spawn --id new --intent Do --parent main --inherit partial --scope design --ref other --depends-on child --tag x")},
		{name: "spawn-claim", argv: words("spawn --id new --intent Do --parent main --inherit full --claim --as agent --actor bot")},
		{name: "spawn-request", argv: words("spawn --id new --intent Do --parent main --inherit full --request-id try-1")},
		{name: "update", argv: words("update child --title Better --tag +x --depends-on +other")},
		{name: "reference-frozen", argv: words("reference --from child --target other")},
		{name: "reference-live", argv: words("reference --from child --target other --binding live")},
		{name: "reference-refresh", prepare: withStaleReference, argv: words("reference refresh {ref}")},
		{name: "reference-remove", prepare: withStaleReference, argv: words("reference remove {ref}")},
		{name: "lifecycle", argv: words("lifecycle child --action cancel --reason over")},
		{name: "suspend", argv: words("suspend child")},
		{name: "resume", prepare: withSuspended, argv: words("resume child")},
		{name: "done", argv: words("done child")},
		{name: "cancel", argv: words("cancel child")},
		{name: "archive", prepare: withDone, argv: words("archive child")},
		{name: "reopen", prepare: withDone, argv: words("reopen child --reason again")},
		{name: "claim", argv: words("claim child --as agent --actor bot --for 2h")},
		{name: "claim-next", argv: words("claim --next --as agent --actor bot")},
		{name: "claim-wait", argv: words("claim --next --wait 1m --as agent --actor bot")},
		{name: "renew", prepare: withClaim, argv: words("renew child --as agent --actor bot")},
		{name: "release", prepare: withClaim, argv: words("release child --as agent --actor bot")},
		{name: "write-on-claimed", prepare: withClaim, argv: words("update child --title Better --as agent --actor bot")},
		{name: "inject", argv: words("inject child --type constraint --content Slowly --urgency immediate")},
		{name: "inject-more", prepare: withInjection, argv: words("inject child --type data --content 42")},
		{name: "inject-withdraw", prepare: withInjection, argv: words("inject --withdraw {inj}")},
		{name: "context-seen", prepare: withConstraint, argv: words("context child --thread child --as agent --actor bot"), unrecorded: true},
		{name: "merge-clean", prepare: withChanges, argv: words("merge --sources child --target main")},
		{name: "merge-pending", prepare: withConflict, argv: words("merge --sources child --target main"), status: 13, code: "T301"},
		{name: "merge-resolve", prepare: withPending, argv: words("merge resolve {merge} --take theirs")},
		{name: "merge-resolve-edited", prepare: withEditedWork, argv: words("merge resolve {merge} --take ours")},
		{name: "merge-continue", prepare: withResolved, argv: words("merge continue {merge}")},
		{name: "merge-abort", prepare: withPending, argv: words("merge abort {merge}")},
		{name: "merge-scoped", prepare: withConflict, argv: words("merge --sources child --target main --scope plan.md,tokens,old.md --request-id try-2")},
		{name: "merge-validated", prepare: withChanges, argv: words("merge --sources child --target main --validate true")},
		{name: "merge-refused", prepare: withChanges, argv: words("merge --sources child --target main --validate false"), status: 13, code: "T302", idle: true},
		{name: "merge-approval", prepare: withChanges, argv: words("merge --sources child --target main --require-approval"), status: 14, code: "T402"},
		{name: "merge-approved", prepare: withApprovedMerge, argv: words("merge continue {merge}")},
		{name: "pull", prepare: withMovedParent, argv: words("pull child")},
		{name: "merge-queue", prepare: withChanges, argv: words("merge --sources child --target main --queue")},
		{name: "merge-land", prepare: withQueued, argv: words("merge land main")},
		{name: "merge-file", prepare: withThreeFiles, argv: words("merge-file --in-place --format json ours.md base.md theirs.md"), leavesTemporary: words(".ours.md")},
		{name: "transfer-request", argv: words("transfer child --direction request_approval --scope deploy,code_edit --reason ship --timeout 9h")},
		{name: "transfer-delegate", argv: words("transfer child --direction delegate --scope code_edit --to agent --timeout 9h")},
		{name: "transfer-handoff", argv: words("transfer child --direction handoff --to human")},
		{name: "ask", argv: words("ask child --question Which? --choice a --choice b")},
		{name: "ask-thread", argv: words("ask child --question Which? --to other")},
		{name: "answer", prepare: withQuestion, argv: words("answer {q} --choice b")},
		{name: "comment", argv: words("comment main design/api.md:3-9 Why?")},
		{name: "comment-resolve", prepare: withComment, argv: words("comment resolve {c}")},
		{name: "comment-review", prepare: withComment, argv: words("review main --send")},
		{name: "approve", prepare: withRequest, argv: words("approve {appr}")},
		{name: "deny", prepare: withRequest, argv: words("deny {appr} --reason no")},
		{name: "revoke", prepare: withGrant, argv: words("revoke {appr}")},
		{name: "write-past-deadline", prepare: withLapsed, argv: words("update child --title Better"), first: words("update nobody --title Better")},
		{name: "checkpoint", argv: words("checkpoint main --name first")},
		{name: "rollback", prepare: withCheckpoint, argv: words("rollback main --to first")},
		{name: "undo-merge", prepare: withMerged, argv: words("undo")},
		{name: "undo-update", prepare: withUpdated, argv: words("undo")},
		{name: "undo-spawn", prepare: withSpawned, argv: words("undo")},
		{name: "undo-archive", prepare: withArchived, argv: words("undo")},
		{name: "undo-rollback", prepare: withRolledBack, argv: words("undo")},
		{name: "undo-batch", prepare: withBatchDone, argv: words("undo")},
		{name: "undo-done", prepare: withDone, argv: words("undo")},
		{name: "redo-update", prepare: undone(withUpdated), argv: words("redo")},
		{name: "redo-spawn", prepare: undone(withSpawned), argv: words("redo")},
		{name: "redo-batch", prepare: undone(withBatchDone), argv: words("redo")},
		{name: "redo-merge", prepare: undone(withMerged), argv: words("redo")},
		{name: "redo-rollback", prepare: undone(withRolledBack), argv: words("redo")},
		{name: "redo-again", prepare: undone(withMerged), argv: words("undo {op}")},
		{name: "undo-redone", prepare: withRedone, argv: words("undo")},
		{name: "batch", prepare: withBatch, argv: words("batch " + planFile)},
		{name: "import-leslie", prepare: withNodeStore, argv: words("import node")},
		{name: "import-beads", prepare: withBeads, argv: words("import " + issuesFile + " --objective ship --request-id try-3")},
		{name: "import-export", prepare: withExport, argv: words("import " + exportFile)},
		{name: "mistakes", prepare: withMistakes, argv: words("update nobody-5 --title x --thread child --as agent --actor bot"), status: 11, code: "T101", unrecorded: true},
		{name: "doctor-repair", prepare: withBothDamaged, argv: words("doctor --repair"), damaged: true, again: true, keeps: true},
		{name: "write-on-damaged", prepare: withDamaged, argv: words("objective create Second --id second"), damaged: true},
		{name: "write-on-crashed-spawn", prepare: withCrashedSpawn, argv: words("objective create Second --id second")},
		{name: "write-on-crashed-merge", prepare: withCrashedMerge, argv: words("objective create Second --id second")},
		{name: "copy-of-crashed-spawn", prepare: withCrashedSpawn, argv: words("spawn --id new --intent Do --parent dead --inherit full")},
		{name: "undo-of-crashed-merge", prepare: withCrashedMerge, argv: words("undo")},
		{name: "redo-of-crashed-undo", prepare: withCrashedUndo, argv: words("redo")},
		{name: "checkpoint-of-crashed-merge", prepare: withCrashedMerge, argv: words("checkpoint main --name first")},
		{name: "copy-of-crashed-merge", prepare: withCrashedMerge, argv: words("spawn --id new --intent Do --parent main --inherit full")},
	}
}

const (
	statePath  = "thread_relations.json"
	backupPath = statePath + ".bak"
)

// common makes the store that all rows start with, except the empty ones.
func common(f *fixture) {
	f.ok("init --no-agents")
	f.ok("objective create Ship --id ship")
	f.ok("spawn --id main --intent Plan --executor human")
	f.write("main", "plan.md", "# Plan\n\n- [ ] lexer\n- [ ] parser\n")
	f.write("main", "design/api.md", lines("api", 40))
	f.write("main", "design/deep/notes.md", "first\nsecond\nthird\n")
	f.write("main", "old.md", "to be deleted\n")
	f.write("main", "data.bin", "\x00\xff"+strings.Repeat("x", 12_000))
	f.ok("spawn --id child --intent Lexer --parent main --inherit full")
	f.ok("spawn --id other --intent Other")
	f.write("other", "progress.md", lines("progress", 300))
}

func lines(word string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(word + " " + strings.Repeat("=", i%7) + "\n")
	}
	return b.String()
}

const plan = `["objective", "create", "Second", "--id", "second"]
["spawn", "--id", "new", "--intent", "Do", "--objective", "ship", "--parent", "main", "--inherit", "partial", "--scope", "design"]
["spawn", "--id", "newer", "--intent", "Do more", "--parent", "new", "--inherit", "full", "--depends-on", "child"]
["reference", "--from", "child", "--target", "other"]
["inject", "newer", "--type", "data", "--content", "42"]
["update", "child", "--tag", "+x"]
["checkpoint", "main"]
["suspend", "other"]
`

// withSetUp: an agent is set up, beside what was in its files.
func withSetUp(f *fixture) {
	withAgents(f)
	f.put(".claude/settings.json", "{\n  // mine\n  \"model\": \"x\"\n}\n")
	f.put("CLAUDE.md", "# Mine\n")
	f.ok("setup claude")
}

func withAgents(f *fixture) { f.put("AGENTS.md", "# Agents\n\nBe kind.\n") }

func withStaleReference(f *fixture) {
	f.ok("reference --from child --target other")
	f.write("other", "progress.md", "all done\n")
	f.write("other", "more/new.md", "more\n")
}

func withSpare(f *fixture) { f.ok("objective create Spare --id spare") }

func withDone(f *fixture) { f.ok("done child") }

func withSuspended(f *fixture) { f.ok("suspend child") }

// withClaim: of a whole run, the claim outlives the slowest.
func withClaim(f *fixture) { f.ok("claim child --as agent --actor bot --for 48h") }

func withConstraint(f *fixture) {
	f.ok("inject child --type constraint --content " + strings.Repeat("Slowly.", 60))
	withInjection(f)
}

func withInjection(f *fixture) { f.ok("inject child --type feedback --content Shorter") }

func withRequest(f *fixture) {
	f.ok("transfer child --direction request_approval --scope deploy --reason ship")
}

func withQuestion(f *fixture) { f.ok("ask child --question Which? --choice a --choice b") }

func withComment(f *fixture) { f.ok("comment main design/api.md:3-9 Why?") }

func withGrant(f *fixture) {
	withRequest(f)
	f.ok("approve {appr}")
}

// withLapsed: a deadline has passed since the last write.
func withLapsed(f *fixture) {
	f.ok("transfer child --direction request_approval --scope deploy --timeout 1ms --fallback skip")
}

// withCheckpoint: a checkpoint, after which files were changed, added and removed.
func withCheckpoint(f *fixture) {
	f.ok("checkpoint main --name first")
	f.write("main", "plan.md", "# Another plan\n")
	f.write("main", "design/api.md", lines("another api", 30))
	f.write("main", "new/file.md", "new\n")
	f.remove("main", "old.md")
}

func withRolledBack(f *fixture) {
	withCheckpoint(f)
	f.ok("rollback main --to first")
}

// undone: what a store was prepared with last is undone.
func undone(prepare func(*fixture)) func(*fixture) {
	return func(f *fixture) {
		prepare(f)
		f.ok("undo")
	}
}

func withRedone(f *fixture) {
	undone(withMerged)(f)
	f.ok("redo")
}

func withUpdated(f *fixture) { f.ok("update child --title Better --tag +x") }

func withSpawned(f *fixture) {
	f.ok("spawn --id new --intent Do --parent main --inherit full --ref other")
}

func withArchived(f *fixture) {
	withDone(f)
	f.ok("archive child")
}

// planFile is the input of batch. If it cannot be read, batch reports a usage error
// (T903), not a storage error.
const planFile = "plan.jsonl"

func withBatch(f *fixture) { f.put(planFile, plan) }

// issuesFile is input like planFile.
const issuesFile = "issues.jsonl"

func withBeads(f *fixture) {
	f.put(issuesFile, `{"id":"bd-1","title":"Lexer","description":"Tokens","status":"closed"}
{"id":"bd-1.1","title":"Parser","status":"open","dependencies":[{"issue_id":"bd-1.1","depends_on_id":"bd-1","type":"blocks"}]}
`)
}

const exportFile = "export.jsonl"

func withExport(f *fixture) {
	f.put(exportFile, `{"leslie":"export","format":1,"version":"3.0","revision":0}
{"record":"objectives/far","value":{"objectiveId":"far","title":"Far","createdAt":"2026-01-02T03:04:05Z","archived":0,"revision":1}}
{"record":"threads/away","value":{"threadId":"away","objectiveId":"far","title":"Away","intent":"Go","status":"active","executor":"agent","inherit":"none","created":{"at":"2026-01-02T03:04:05Z","as":"user","actor":"ann"},"updatedAt":"2026-01-02T03:04:05Z","revision":2}}
{"file":"threads/away/plan.md","text":"plan\n"}
{"file":"threads/away/run.sh","executable":true,"base64":"//4="}
{"end":5}
`)
}

// withNodeStore: a store of the Node edition with a reference and an archived thread.
func withNodeStore(f *fixture) {
	f.put("node/.leslie/objectives.json", `{"objectives": {"old": {"title": "Old"}}}`)
	f.put("node/.leslie/thread_relations.json", `{"version": "1.0", "threads": {
 "first": {"title": "First", "objective": "old", "status": "active"},
 "second": {"title": "Second", "objective": "old", "status": "archived", "parent_id": "first"}},
 "operations": [{"command": "spawn", "operator": "user", "params": {"thread_id": "first", "intent": "Begin"}}],
 "relations": {"first": {"references_to": ["second"]}}}`)
	f.put("node/.leslie/threads/first/plan.md", lines("plan", 30))
	f.put("node/.leslie/threads/second/notes.md", "notes\n")
}

func withBatchDone(f *fixture) {
	withBatch(f)
	f.ok("batch " + planFile)
}

// withMistakes: one more failure suspends the agent's thread.
func withMistakes(f *fixture) {
	for i := range 4 {
		f.ends(11, fmt.Sprintf("update nobody-%d --title x --thread child --as agent --actor bot", i+1))
	}
}

func withThreeFiles(f *fixture) {
	f.put("base.md", lines("line", 30))
	f.put("ours.md", "the beginning\n"+lines("line", 30))
	f.put("theirs.md", lines("line", 30)+"the end\n")
}

// withChanges: a merge will replace, add and delete files, and merge lines.
func withChanges(f *fixture) {
	f.write("child", "plan.md", "# Plan\n\n- [x] lexer\n- [ ] parser\n")
	f.write("child", "design/api.md", lines("api", 40)+"the end\n")
	f.write("main", "design/api.md", "the beginning\n"+lines("api", 40))
	f.write("child", "tokens/list.md", "a list\n")
	f.write("child", "data.bin", "\x00\xfe"+strings.Repeat("y", 9_000))
	f.remove("child", "old.md")
}

// withMovedParent: the parent changes what its child has, and adds to it.
func withMovedParent(f *fixture) {
	f.write("main", "design/deep/notes.md", "first\nnewer\n")
	f.write("main", "added.md", "added\n")
}

func withConflict(f *fixture) {
	withChanges(f)
	f.write("main", "design/deep/notes.md", "first\nours\nthird\n")
	f.write("child", "design/deep/notes.md", "first\ntheirs\nthird\n")
}

func withPending(f *fixture) {
	withConflict(f)
	f.ends(13, "merge --sources child --target main")
}

// withEditedWork: somebody edits the file with markers, outside of them.
func withEditedWork(f *fixture) {
	withPending(f)
	f.prepend("merges/"+f.filled([]string{"{merge}"})[0]+"/work/design/deep/notes.md", "edited\n")
}

func withResolved(f *fixture) {
	withPending(f)
	f.ok("merge resolve {merge} --take both")
}

func withMerged(f *fixture) {
	withChanges(f)
	f.ok("merge --sources child --target main")
}

func withQueued(f *fixture) {
	withChanges(f)
	f.ok("merge --sources child --target main --queue")
}

func withApprovedMerge(f *fixture) {
	withChanges(f)
	f.ends(14, "merge --sources child --target main --require-approval")
	f.ok("approve {appr}")
}

func withDamaged(f *fixture) { f.halve(statePath) }

func withBothDamaged(f *fixture) {
	f.halve(statePath)
	f.halve(backupPath)
}

// withCrashedSpawn: the last writer was killed right after its commit.
func withCrashedSpawn(f *fixture) {
	f.crash("spawn --id dead --intent Die --parent main --inherit full --ref other --request-id last")
}

func withCrashedMerge(f *fixture) {
	withChanges(f)
	f.crash("merge --sources child --target main")
}

func withCrashedUndo(f *fixture) {
	withMerged(f)
	f.crash("undo")
}
