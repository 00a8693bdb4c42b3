//go:build unix

package lab

import (
	"fmt"
	"path"
	"strings"
)

// This file prepares the stores of the rows.

// Common makes the store that all rows start with, except the empty ones.
func Common(f *Fixture) {
	f.Ok("init --no-agents")
	f.Ok("objective create Ship --id ship")
	f.Ok("spawn --id main --intent Plan --executor human")
	f.Write("main", "plan.md", "# Plan\n\n- [ ] lexer\n- [ ] parser\n")
	f.Write("main", "design/api.md", lines("api", 40))
	f.Write("main", "design/deep/notes.md", "first\nsecond\nthird\n")
	f.Write("main", "old.md", "to be deleted\n")
	f.Write("main", "data.bin", "\x00\xff"+strings.Repeat("x", 12_000))
	f.Ok("spawn --id child --intent Lexer --parent main --inherit full")
	f.Ok("spawn --id other --intent Other")
	f.Write("other", "progress.md", lines("progress", 300))
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
func withSetUp(f *Fixture) {
	withAgents(f)
	f.Put(".claude/settings.json", "{\n  // mine\n  \"model\": \"x\"\n}\n")
	f.Put("CLAUDE.md", "# Mine\n")
	f.Ok("setup claude")
}

func withAgents(f *Fixture) { f.Put("AGENTS.md", "# Agents\n\nBe kind.\n") }

func withStaleReference(f *Fixture) {
	f.Ok("reference --from child --target other")
	f.Write("other", "progress.md", "all done\n")
	f.Write("other", "more/new.md", "more\n")
}

func withSpare(f *Fixture) { f.Ok("objective create Spare --id spare") }

func withDone(f *Fixture) { f.Ok("done child") }

func withTwoDone(f *Fixture) { f.Ok("done child other") }

func withSuspended(f *Fixture) { f.Ok("suspend child") }

// withClaim: of a whole run, the claim outlives the slowest.
func withClaim(f *Fixture) { f.Ok("claim child --as agent --actor bot --for 48h") }

func withTwoClaims(f *Fixture) { f.Ok("claim child other --as agent --actor bot --for 48h") }

func withConstraint(f *Fixture) {
	f.Ok("inject child --type constraint --content " + strings.Repeat("Slowly.", 60))
	withInjection(f)
}

func withInjection(f *Fixture) { f.Ok("inject child --type feedback --content Shorter") }

func withRequest(f *Fixture) {
	f.Ok("transfer child --direction request_approval --scope deploy --reason ship")
}

func withQuestion(f *Fixture) { f.Ok("ask child --question Which? --choice a --choice b") }

func withComment(f *Fixture) { f.Ok("comment main design/api.md:3-9 Why?") }

func withGrant(f *Fixture) {
	withRequest(f)
	f.Ok("approve {appr}")
}

// withLapsed: a deadline has passed since the last write.
func withLapsed(f *Fixture) {
	f.Ok("transfer child --direction request_approval --scope deploy --timeout 1ms --fallback skip")
}

// withCheckpoint: a checkpoint, after which files were changed, added and removed.
func withCheckpoint(f *Fixture) {
	f.Ok("checkpoint main --name first")
	f.Write("main", "plan.md", "# Another plan\n")
	f.Write("main", "design/api.md", lines("another api", 30))
	f.Write("main", "new/file.md", "new\n")
	f.Remove("main", "old.md")
}

func withRolledBack(f *Fixture) {
	withCheckpoint(f)
	f.Ok("rollback main --to first")
}

// undone: what a store was prepared with last is undone.
func undone(prepare func(*Fixture)) func(*Fixture) {
	return func(f *Fixture) {
		prepare(f)
		f.Ok("undo")
	}
}

func withRedone(f *Fixture) {
	undone(withMerged)(f)
	f.Ok("redo")
}

func withUpdated(f *Fixture) { f.Ok("update child --title Better --tag +x") }

func withSpawned(f *Fixture) {
	f.Ok("spawn --id new --intent Do --parent main --inherit full --ref other")
}

func withArchived(f *Fixture) {
	withDone(f)
	f.Ok("archive child")
}

// PlanFile is the input of batch. If it cannot be read, batch reports a usage error
// (T903), not a storage error.
const PlanFile = "plan.jsonl"

func withBatch(f *Fixture) { f.Put(PlanFile, plan) }

const lifecyclePlan = `["objective", "done", "spare"]
["objective", "cancel", "given", "--reason", "over"]
["resume", "a"]
["lifecycle", "a", "--action", "cancel", "--reason", "over"]
["reopen", "b", "--reason", "again"]
["renew", "c", "d"]
["release", "c", "d"]
["done", "b", "c"]
["archive", "b", "c"]
["cancel", "d"]
["claim", "child", "--for", "48h"]
["ask", "child", "--question", "And now?"]
["comment", "main", "plan.md:1", "Why?"]
["transfer", "other", "--direction", "handoff", "--to", "human"]
`

const decidingPlan = `["reference", "refresh", "{stale}"]
["reference", "remove", "{live}"]
["answer", "{q}", "--choice", "b"]
["comment", "resolve", "{c}"]
["review", "main", "--send"]
["approve", "{yes}"]
["deny", "{no}", "--reason", "no"]
["revoke", "{granted}"]
`

// withLifecycleBatch: a batch of the commands that end, hold and hand on threads, and of
// those that ask.
func withLifecycleBatch(f *Fixture) {
	withSpare(f)
	f.Ok("objective create Given --id given")
	for _, id := range []string{"a", "b", "c", "d"} {
		f.Ok("spawn --id " + id + " --intent Do --objective ship")
	}
	f.Ok("suspend a")
	f.Ok("done b")
	f.Ok("claim c d --for 48h")
	f.Put(PlanFile, lifecyclePlan)
}

// withDecidingBatch: a batch of the commands that decide about what exists already. Those
// that make it are in another, because an undisturbed run has records in the order of ids.
func withDecidingBatch(f *Fixture) {
	withQuestion(f)
	withComment(f)
	f.Ok("comment main design/api.md:1 Who?")
	withStaleReference(f)
	f.Ok("reference --from main --target child --binding live")
	refs := f.all("ref")
	for _, scope := range []string{"deploy", "code_edit", "read"} {
		f.Ok("transfer other --direction request_approval --scope " + scope + " --reason ship")
	}
	asked := f.all("appr")
	if f.Err == nil {
		f.Ok("approve " + asked[0])
		f.Put(PlanFile, strings.NewReplacer("{q}", f.newest("q"), "{c}", f.newest("c"), "{stale}", refs[0], "{live}", refs[1],
			"{granted}", asked[0], "{yes}", asked[1], "{no}", asked[2]).Replace(decidingPlan))
	}
}

// issuesFile is input like PlanFile.
const issuesFile = "issues.jsonl"

func withBeads(f *Fixture) {
	f.Put(issuesFile, `{"id":"bd-1","title":"Lexer","description":"Tokens","status":"closed"}
{"id":"bd-1.1","title":"Parser","status":"open","dependencies":[{"issue_id":"bd-1.1","depends_on_id":"bd-1","type":"blocks"}]}
`)
}

const exportFile = "export.jsonl"

func withExport(f *Fixture) {
	f.Put(exportFile, `{"leslie":"export","format":1,"version":"3.0","revision":0}
{"record":"objectives/far","value":{"objectiveId":"far","title":"Far","createdAt":"2026-01-02T03:04:05Z","archived":0,"revision":1}}
{"record":"threads/away","value":{"threadId":"away","objectiveId":"far","title":"Away","intent":"Go","status":"active","executor":"agent","inherit":"none","created":{"at":"2026-01-02T03:04:05Z","as":"user","actor":"ann"},"updatedAt":"2026-01-02T03:04:05Z","revision":2}}
{"file":"threads/away/plan.md","text":"plan\n"}
{"file":"threads/away/run.sh","executable":true,"base64":"//4="}
{"end":5}
`)
}

// withNodeStore: a store of the Node edition with a reference and an archived thread.
func withNodeStore(f *Fixture) {
	f.Put("node/.leslie/objectives.json", `{"objectives": {"old": {"title": "Old"}}}`)
	f.Put("node/.leslie/thread_relations.json", `{"version": "1.0", "threads": {
 "first": {"title": "First", "objective": "old", "status": "active"},
 "second": {"title": "Second", "objective": "old", "status": "archived", "parent_id": "first"}},
 "operations": [{"command": "spawn", "operator": "user", "params": {"thread_id": "first", "intent": "Begin"}}],
 "relations": {"first": {"references_to": ["second"]}}}`)
	f.Put("node/.leslie/threads/first/plan.md", lines("plan", 30))
	f.Put("node/.leslie/threads/second/notes.md", "notes\n")
}

func withBatchDone(f *Fixture) {
	withBatch(f)
	f.Ok("batch " + PlanFile)
}

// withMistakes: one more failure suspends the agent's thread.
func withMistakes(f *Fixture) {
	for i := range 4 {
		f.Ends(11, fmt.Sprintf("update nobody-%d --title x --thread child --as agent --actor bot", i+1))
	}
}

func withThreeFiles(f *Fixture) {
	f.Put("base.md", lines("line", 30))
	f.Put("ours.md", "the beginning\n"+lines("line", 30))
	f.Put("theirs.md", lines("line", 30)+"the end\n")
}

// withChanges: a merge will replace, add and delete files, and merge lines.
func withChanges(f *Fixture) {
	f.Write("child", "plan.md", "# Plan\n\n- [x] lexer\n- [ ] parser\n")
	f.Write("child", "design/api.md", lines("api", 40)+"the end\n")
	f.Write("main", "design/api.md", "the beginning\n"+lines("api", 40))
	f.Write("child", "tokens/list.md", "a list\n")
	f.Write("child", "data.bin", "\x00\xfe"+strings.Repeat("y", 9_000))
	f.Remove("child", "old.md")
}

// withTwoSources: two threads have changed other files of the same target.
func withTwoSources(f *Fixture) {
	withChanges(f)
	f.Write("other", "more/new.md", "more\n")
}

// withMovedParent: the parent changes what its child has, and adds to it.
func withMovedParent(f *Fixture) {
	f.Write("main", "design/deep/notes.md", "first\nnewer\n")
	f.Write("main", "added.md", "added\n")
}

func withConflict(f *Fixture) {
	withChanges(f)
	f.Write("main", "design/deep/notes.md", "first\nours\nthird\n")
	f.Write("child", "design/deep/notes.md", "first\ntheirs\nthird\n")
}

func withPending(f *Fixture) {
	withConflict(f)
	f.Ends(13, "merge --sources child --target main")
}

// withEditedWork: somebody edits the file with markers, outside of them.
func withEditedWork(f *Fixture) {
	withPending(f)
	f.Prepend(path.Join("merges", f.Filled([]string{"{merge}"})[0], "work", "design/deep/notes.md"), "edited\n")
}

func withResolved(f *Fixture) {
	withPending(f)
	f.Ok("merge resolve {merge} --take both")
}

func withMerged(f *Fixture) {
	withChanges(f)
	f.Ok("merge --sources child --target main")
}

func withQueued(f *Fixture) {
	withChanges(f)
	f.Ok("merge --sources child --target main --queue")
}

func withApprovedMerge(f *Fixture) {
	withChanges(f)
	f.Ends(14, "merge --sources child --target main --require-approval")
	f.Ok("approve {appr}")
}

func withDamaged(f *Fixture) { f.Halve(StateFile) }

func withBothDamaged(f *Fixture) {
	f.Halve(StateFile)
	f.Halve(BackupFile)
}

// withCrashedSpawn: the last writer was killed right after its commit.
func withCrashedSpawn(f *Fixture) {
	f.Crash("spawn --id dead --intent Die --parent main --inherit full --ref other --request-id last")
}

func withCrashedMerge(f *Fixture) {
	withChanges(f)
	f.Crash("merge --sources child --target main")
}

func withCrashedUndo(f *Fixture) {
	withMerged(f)
	f.Crash("undo")
}
