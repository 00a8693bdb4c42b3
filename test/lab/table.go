//go:build unix

package lab

import "slices"

// Commands returns every command, in the groups of help.
func Commands() []Command {
	return slices.Concat(begin(), look(), work(), share(), decide(), mergeCommands(), finish(), goBack(), help())
}

// begin has what begins work.
func begin() []Command {
	return []Command{
		{Name: "init", Weight: 1, Reads: true, Draw: fixed("init", "init --no-agents"),
			Rows: []Row{
				{Name: "init", Argv: "init", Empty: true, Prepare: withAgents, Again: true, Keeps: true},
				{Name: "init-bare", Argv: "init --no-agents", Empty: true, Again: true},
				{Name: "init-agents", Argv: "init", Prepare: withAgents, Again: true},
			}},
		{Name: "uninstall", Why: "it takes the store away"},
		{Name: "setup", Weight: 1, Reads: true, May: "T505",
			Draw: fixed("setup claude", "setup claude --remove", "setup --check", "setup --dry-run"),
			Rows: []Row{
				{Name: "setup", Argv: "setup claude",
					Prepare: withAgents, Again: true, OneByOne: true, LeavesTemporary: ".SKILL.md .settings.json ..mcp.json .CLAUDE.md"},
				{Name: "setup-remove", Argv: "setup claude --remove",
					Prepare: withSetUp, Again: true, OneByOne: true, LeavesTemporary: ".settings.json .CLAUDE.md"},
			}},
		{Name: "connect", Why: ofServers},
		{Name: "objective create", Weight: 2, May: "T106", Draw: (*Drawer).objectiveCreate,
			Rows: []Row{
				{Name: "objective-create", Argv: "objective create Second --id second"},
				{Name: "write-on-damaged", Argv: "objective create Second --id second",
					Prepare: withDamaged, Damaged: true},
				{Name: "write-on-crashed-spawn", Argv: "objective create Second --id second",
					Prepare: withCrashedSpawn},
				{Name: "write-on-crashed-merge", Argv: "objective create Second --id second",
					Prepare: withCrashedMerge},
			}},
		{Name: "objective list", Weight: 1, Reads: true, Draw: fixed("objective list", "objective list --limit 3")},
		{Name: "objective status", Weight: 1, Reads: true, May: "T601", Draw: ofObjective("objective status")},
		{Name: "objective done", Weight: 1, May: "T601 T602", Draw: ofObjective("objective done"),
			Rows: []Row{{Name: "objective-done", Argv: "objective done spare", Prepare: withSpare}}},
		{Name: "objective cancel", Weight: 1, May: "T601 T108", Draw: ofObjective("objective cancel"),
			Rows: []Row{{Name: "objective-cancel", Argv: "objective cancel spare", Prepare: withSpare}}},
		{Name: "spawn", Weight: 12, May: limited + gone + "T106 T107 T203 T402 T503 T601 T603 T903",
			Draw: (*Drawer).spawn,
			Rows: []Row{
				{Name: "spawn", Argv: "spawn --id new --intent Do"},
				{Name: "spawn-inherit", Argv: "spawn --id new --intent Do --parent main --inherit full"},
				{Name: "spawn-ref",
					Argv: "spawn --id new --intent Do --parent main --inherit partial --scope design --ref other --depends-on child --tag x"},
				{Name: "spawn-claim",
					Argv: "spawn --id new --intent Do --parent main --inherit full --claim --as agent --actor bot"},
				{Name: "spawn-request",
					Argv: "spawn --id new --intent Do --parent main --inherit full --request-id try-1"},
				{Name: "copy-of-crashed-spawn", Argv: "spawn --id new --intent Do --parent dead --inherit full",
					Prepare: withCrashedSpawn},
				{Name: "copy-of-crashed-merge", Argv: "spawn --id new --intent Do --parent main --inherit full",
					Prepare: withCrashedMerge},
			},
			Git: []GitRow{{Name: "spawn-code", Argv: "spawn --code --id new --intent Do --parent lead", Already: "T106"}}},
		{Name: "update", Weight: 8, May: thread + "T201 T503 T903 T108", Draw: (*Drawer).update,
			Rows: []Row{
				{Name: "update", Argv: "update child --title Better --tag +x --depends-on +other"},
				{Name: "write-on-claimed", Argv: "update child --title Better --as agent --actor bot",
					Prepare: withClaim},
				{Name: "write-past-deadline", Argv: "update child --title Better",
					Prepare: withLapsed, First: "update nobody --title Better"},
				{Name: "mistakes", Argv: "update nobody-5 --title x --thread child --as agent --actor bot",
					Prepare: withMistakes, Status: 11, Code: "T101", Unrecorded: true},
			}},
		{Name: "batch", Weight: 3, NoBatch: true, May: thread + "T102 T106 T108 T402 T601 T603 T903",
			Draw: (*Drawer).batch,
			Rows: []Row{
				{Name: "batch", Argv: "batch " + PlanFile, Prepare: withBatch},
				{Name: "batch-lifecycle", Argv: "batch " + PlanFile, Prepare: withLifecycleBatch},
				{Name: "batch-deciding", Argv: "batch " + PlanFile, Prepare: withDecidingBatch},
			}},
		{Name: "import", Weight: 2, NoBatch: true, May: limited + "T106 T601 T603", Draw: (*Drawer).importBeads,
			Rows: []Row{
				{Name: "import-leslie", Argv: "import node", Prepare: withNodeStore},
				{Name: "import-beads", Argv: "import " + issuesFile + " --objective ship --request-id try-3",
					Prepare: withBeads},
				{Name: "import-export", Argv: "import " + exportFile, Prepare: withExport},
			}},
		{Name: "export", Weight: 1, Reads: true, Stream: true, Draw: fixed("export")},
	}
}

// look has what shows it.
func look() []Command {
	return []Command{
		{Name: "tui", Why: others},
		{Name: "status", Weight: 3, Reads: true, May: gone, Draw: maybeOf("status")},
		{Name: "list", Weight: 3, Reads: true, May: "T101 T601",
			Draw: fixed("list", "list --ready", "list --all --limit 0", "list --status archived", "list --status active --executor agent", "list --tag t1")},
		{Name: "search", Weight: 1, Reads: true,
			Draw: fixed("search a", "search soak line --all --limit 3", "search a --in artifacts,transcripts")},
		{Name: "graph", Weight: 1, Reads: true,
			Draw: fixed("graph", "graph --all", "graph --render mermaid", "graph --render dot --all")},
		{Name: "code", Why: inGit},
		{Name: "code list", Why: inGit},
		{Name: "code setup", Why: inGit},
		{Name: "code remove", Why: inGit,
			Git: []GitRow{{Name: "code-remove", Argv: "code remove api", Prepare: withLocalWork, Already: "T802"}}},
		{Name: "code restore", Why: inGit,
			Git: []GitRow{
				{Name: "code-restore", Argv: "code restore api", Prepare: withRemovedWorktree, KeepsRescue: true},
			}},
		{Name: "code prune", Why: inGit,
			Git: []GitRow{{Name: "code-prune", Argv: "code prune", Prepare: withPrunable}}},
		{Name: "code repair", Why: inGit,
			Git: []GitRow{{Name: "code-repair", Argv: "code repair", Prepare: withMovedWorktree}}},
		{Name: "show", Weight: 1, Reads: true, May: gone, Draw: (*Drawer).shows},
		{Name: "diff", Weight: 2, Reads: true, May: gone + "T509", Draw: of("diff", "", "--stat")},
		{Name: "artifacts", Weight: 3, Reads: true, May: gone + "T203",
			Draw: of("artifacts", "", "--scope **/*.md", "--limit 2")},
		{Name: "context", Weight: 3, Reads: true, May: gone, Draw: (*Drawer).context,
			Rows: []Row{
				{Name: "context-seen", Argv: "context child --thread child --as agent --actor bot",
					Prepare: withConstraint, AnswersFirst: true},
			}},
		{Name: "history", Weight: 2, Reads: true,
			Draw: fixed("history --limit 5", "history", "history --limit 3 --before 9")},
		{Name: "observe", Weight: 2, Reads: true, Stream: true, May: gone, Draw: (*Drawer).observe},
		{Name: "logs", Weight: 1, Reads: true,
			Draw: fixed("logs", "logs --level error --limit 5", "logs --code T108")},
		{Name: "transcript", Weight: 1, Reads: true, May: gone, Draw: of("transcript", "", "--limit 2")},
		{Name: "stats", Weight: 1, Reads: true, Draw: fixed("stats")},
		{Name: "report", Weight: 1, Reads: true,
			Draw: fixed("report --html report.html", "report --html report.html --all")},
	}
}

// work has what carries it out.
func work() []Command {
	return []Command{
		{Name: "claim", Weight: 7, May: thread + "T108 T402 T503", Draw: several((*Drawer).claim),
			Rows: []Row{
				{Name: "claim", Argv: "claim child --as agent --actor bot --for 2h"},
				{Name: "claim-several", Argv: "claim child other --as agent --actor bot --for 2h"},
				{Name: "claim-next", Argv: "claim --next --as agent --actor bot"},
				{Name: "claim-wait", Argv: "claim --next --wait 1m --as agent --actor bot"},
			}},
		{Name: "renew", Weight: 2, May: thread + "T108 T402 T903", Draw: several(ofOwn("renew")),
			Rows: []Row{
				{Name: "renew", Argv: "renew child --as agent --actor bot", Prepare: withClaim},
				{Name: "renew-several", Argv: "renew child other --as agent --actor bot", Prepare: withTwoClaims},
			}},
		{Name: "release", Weight: 3, May: thread + "T108", Draw: several(ofOwn("release")),
			Rows: []Row{
				{Name: "release", Argv: "release child --as agent --actor bot", Prepare: withClaim},
				{Name: "release-several", Argv: "release child other --as agent --actor bot", Prepare: withTwoClaims},
			}},
		{Name: "wait", Weight: 2, Reads: true, May: gone + shut + "T109", Draw: several((*Drawer).wait)},
		{Name: "run", Why: ofAgents},
		{Name: "run list", Why: ofAgents},
		{Name: "run log", Weight: 1, Reads: true, May: gone, Draw: of("run log", "", "--limit 2")},
		{Name: "run stop", Why: ofAgents},
		{Name: "agents", Why: ofAgents},
		{Name: "mcp", Why: others},
		{Name: "hook start", Weight: 1, Reads: true, Draw: fixed("hook start --for claude --format json")},
		{Name: "hook stop", Weight: 1, Reads: true, Draw: fixed("hook stop --for claude --format json")},
	}
}

// share has what passes between threads, and between machines.
func share() []Command {
	return []Command{
		{Name: "reference", Weight: 7, May: thread + "T201 T203 T503", Draw: (*Drawer).reference,
			Rows: []Row{
				{Name: "reference-frozen", Argv: "reference --from child --target other"},
				{Name: "reference-live", Argv: "reference --from child --target other --binding live"},
			}},
		{Name: "reference list", Weight: 1, Reads: true, May: gone,
			Draw: fixed("reference list", "reference list --limit 0")},
		{Name: "reference show", Weight: 2, Reads: true, May: "T204 T202", Draw: ofReference("reference show")},
		{Name: "reference refresh", Weight: 3, May: thread + "T202 T203 T204",
			Draw: ofReference("reference refresh"),
			Rows: []Row{{Name: "reference-refresh", Argv: "reference refresh {ref}", Prepare: withStaleReference}}},
		{Name: "reference remove", Weight: 2, May: thread + "T204", Draw: ofReference("reference remove"),
			Rows: []Row{{Name: "reference-remove", Argv: "reference remove {ref}", Prepare: withStaleReference}}},
		{Name: "inject", Weight: 5, May: thread + "T402 T903", Draw: (*Drawer).inject,
			Rows: []Row{
				{Name: "inject", Argv: "inject child --type constraint --content Slowly --urgency immediate"},
				{Name: "inject-more", Argv: "inject child --type data --content 42", Prepare: withInjection},
				{Name: "inject-withdraw", Argv: "inject --withdraw {inj}", Prepare: withInjection},
			}},
		{Name: "comment", Weight: 2, May: thread + "T203 T508 T903", Draw: (*Drawer).comment,
			Rows: []Row{{Name: "comment", Argv: "comment main design/api.md:3-9 Why?"}}},
		{Name: "comment resolve", Weight: 8, May: thread + "T407",
			Draw: ofRecord("comment resolve", "c-aaaaaaaa", func(s *Snapshot) []string { return s.Comments }),
			Rows: []Row{{Name: "comment-resolve", Argv: "comment resolve {c}", Prepare: withComment}}},
		{Name: "comments", Weight: 1, Reads: true, May: gone, Draw: anyOf("comments", "comments --all", "comments --by w01")},
		{Name: "review", Weight: 1, May: thread + "T508", Draw: (*Drawer).review,
			Rows: []Row{{Name: "comment-review", Argv: "review main --send", Prepare: withComment}}},
		{Name: "publish", Weight: 4, NoBatch: true, Only: connected, Why: "without servers it does nothing",
			May: thread + "T102 T108", Draw: of("publish")},
		{Name: "remote config", Why: ofServers},
		{Name: "remote init", Why: ofServers},
		{Name: "remote move", Why: ofServers},
		{Name: "remote status", Why: ofServers},
		{Name: "remote check", Why: ofServers},
		{Name: "remote restore", Why: ofServers},
		{Name: "remote rejoin", Why: ofServers},
		{Name: "remote leave", Why: ofServers},
	}
}

// decide has what people decide.
func decide() []Command {
	return []Command{
		{Name: "transfer", Weight: 4, Many: true, May: thread + "T102 T401 T402 T404", Draw: (*Drawer).transfer,
			Rows: []Row{
				{Name: "transfer-request",
					Argv: "transfer child --direction request_approval --scope deploy,code_edit --reason ship --timeout 9h"},
				{Name: "transfer-delegate",
					Argv: "transfer child --direction delegate --scope code_edit --to agent --timeout 9h"},
				{Name: "transfer-handoff", Argv: "transfer child --direction handoff --to human"},
			}},
		{Name: "approvals", Weight: 1, Reads: true, May: gone,
			Draw: anyOf("approvals", "approvals --all", "approvals --all --limit 2", "approvals --since 2h")},
		{Name: "approve", Weight: 3, May: thread + "T102 T402 T403 T404", Draw: ofApproval("approve"),
			Rows: []Row{{Name: "approve", Argv: "approve {appr}", Prepare: withRequest}}},
		{Name: "deny", Weight: 2, May: thread + "T102 T402 T403 T404", Draw: ofApproval("deny"),
			Rows: []Row{{Name: "deny", Argv: "deny {appr} --reason no", Prepare: withRequest}}},
		{Name: "revoke", Weight: 1, May: thread + "T102 T402 T403 T404", Draw: ofApproval("revoke"),
			Rows: []Row{{Name: "revoke", Argv: "revoke {appr}", Prepare: withGrant}}},
		{Name: "can", Weight: 1, Reads: true, May: gone + "T402", Draw: maybeOf("can code_edit", "can read")},
		{Name: "ask", Weight: 3, May: thread + "T401 T508 T108", Draw: (*Drawer).ask,
			Rows: []Row{
				{Name: "ask", Argv: "ask child --question Which? --choice a --choice b"},
				{Name: "ask-thread", Argv: "ask child --question Which? --to other"},
			}},
		{Name: "answer", Weight: 3, May: thread + "T402 T405 T406 T903", Draw: (*Drawer).answer,
			Rows: []Row{{Name: "answer", Argv: "answer {q} --choice b", Prepare: withQuestion}}},
		{Name: "questions", Weight: 1, Reads: true, May: gone,
			Draw: anyOf("questions", "questions --all", "questions --all --limit 2", "questions --mine")},
	}
}

// mergeCommands has what merges.
func mergeCommands() []Command {
	return []Command{
		{Name: "merge", Weight: 10, Many: true, NoBatch: true,
			May: thread + "T408 T409 T102 T203 T301 T302 T303 T304 T305 T402 T404 T503 T108", Draw: (*Drawer).merge,
			Rows: []Row{
				{Name: "merge-clean", Argv: "merge --sources child --target main", Prepare: withChanges},
				{Name: "merge-several", Argv: "merge child other main", Prepare: withTwoSources},
				{Name: "merge-pending", Argv: "merge --sources child --target main",
					Prepare: withConflict, Status: 13, Code: "T301"},
				{Name: "merge-scoped", Argv: "merge --sources child --target main --scope plan.md,tokens,old.md --request-id try-2",
					Prepare: withConflict},
				{Name: "merge-validated", Argv: "merge --sources child --target main --validate true",
					Prepare: withChanges},
				{Name: "merge-refused", Argv: "merge --sources child --target main --validate false",
					Prepare: withChanges, Status: 13, Code: "T302", Idle: true},
				{Name: "merge-approval", Argv: "merge --sources child --target main --require-approval",
					Prepare: withChanges, Status: 14, Code: "T402"},
				{Name: "merge-queue", Argv: "merge --sources child --target main --queue", Prepare: withChanges},
			},
			Git: []GitRow{
				{Name: "merge-code", Argv: "merge --sources api --target lead", Again: goOnMerging},
				{Name: "merge-code-nowhere", Argv: "merge --sources api --target lead",
					Prepare: withNoCheckout, Again: goOnMerging},
			}},
		{Name: "land", Why: inGit, Many: true, NoBatch: true,
			Git: []GitRow{
				{Name: "land", Argv: "land api --onto main"},
				{Name: "land-rebase", Argv: "land api --onto main --rebase"},
				{Name: "land-nowhere", Argv: "land api --onto release --squash", Prepare: withBranchNowhere},
			}},
		{Name: "drop", Why: inGit, Many: true, NoBatch: true,
			Git: []GitRow{{Name: "drop", Argv: "drop api --yes", Prepare: withLocalWork}}},
		{Name: "merge list", Weight: 1, Reads: true, May: gone, Draw: anyOf("merge list")},
		{Name: "merge status", Weight: 2, Reads: true, May: thread + "T303", Draw: ofMerge("merge status")},
		{Name: "merge resolve", Weight: 5, NoBatch: true, May: thread + "T303 T304 T402 T903 T108",
			Draw: (*Drawer).mergeResolve,
			Rows: []Row{
				{Name: "merge-resolve", Argv: "merge resolve {merge} --take theirs", Prepare: withPending},
				{Name: "merge-resolve-edited", Argv: "merge resolve {merge} --take ours", Prepare: withEditedWork},
			}},
		{Name: "merge continue", Weight: 5, Many: true, NoBatch: true,
			May: thread + "T408 T409 T102 T301 T302 T303 T304 T402 T404 T108", Draw: ofMerge("merge continue"),
			Rows: []Row{
				{Name: "merge-continue", Argv: "merge continue {merge}", Prepare: withResolved},
				{Name: "merge-approved", Argv: "merge continue {merge}", Prepare: withApprovedMerge},
			}},
		{Name: "merge abort", Weight: 3, NoBatch: true, May: thread + "T303 T108", Draw: ofMerge("merge abort"),
			Rows: []Row{{Name: "merge-abort", Argv: "merge abort {merge}", Prepare: withPending}}},
		{Name: "merge land", Weight: 2, Many: true, NoBatch: true, NoRequest: true,
			May: thread + "T408 T409 T107 T108 T203 T301 T302 T304 T402 T404 T805", Draw: of("merge land"),
			Rows: []Row{{Name: "merge-land", Argv: "merge land main", Prepare: withQueued}},
			Git:  []GitRow{{Name: "merge-land-code", Argv: "merge land lead", Prepare: withQueueOfCode}}},
		{Name: "pull", Weight: 4, Many: true, NoBatch: true,
			May: thread + "T408 T102 T203 T301 T302 T303 T304 T305 T402 T404 T503 T903 T108", Draw: of("pull"),
			Rows: []Row{{Name: "pull", Argv: "pull child", Prepare: withMovedParent}}},
		{Name: "merge-file", Weight: 1, Reads: true, May: "T301", Draw: (*Drawer).mergeFile,
			Rows: []Row{
				{Name: "merge-file", Argv: "merge-file --in-place --format json ours.md base.md theirs.md",
					Prepare: withThreeFiles, LeavesTemporary: ".ours.md"},
			}},
	}
}

// finish has what ends threads, and begins them again.
func finish() []Command {
	return []Command{
		{Name: "done", Weight: 2, May: thread + "T102 T402 T108 T113 T117",
			Draw: several(of("done", "", "--reason finished")),
			Rows: []Row{
				{Name: "done", Argv: "done child"},
				{Name: "done-several", Argv: "done child other"},
			}},
		{Name: "cancel", Weight: 2, May: thread + "T102 T108", Draw: several((*Drawer).cancel),
			Rows: []Row{
				{Name: "cancel", Argv: "cancel child"},
				{Name: "cancel-several", Argv: "cancel child other"},
			}},
		{Name: "suspend", Weight: 2, May: thread + "T102 T108", Draw: several(of("suspend")),
			Rows: []Row{
				{Name: "suspend", Argv: "suspend child"},
				{Name: "suspend-several", Argv: "suspend child other"},
			}},
		{Name: "resume", Weight: 4, May: thread + "T102 T402 T108", Draw: (*Drawer).resume,
			Rows: []Row{{Name: "resume", Argv: "resume child", Prepare: withSuspended}}},
		{Name: "archive", Weight: 6, May: thread + "T102 T108", Draw: several((*Drawer).archive),
			Rows: []Row{
				{Name: "archive", Argv: "archive child", Prepare: withDone},
				{Name: "archive-several", Argv: "archive child other", Prepare: withTwoDone},
			}},
		{Name: "reopen", Weight: 2, May: thread + "T102 T402 T603 T108", Draw: several((*Drawer).reopen),
			Rows: []Row{
				{Name: "reopen", Argv: "reopen child --reason again", Prepare: withDone},
				{Name: "reopen-several", Argv: "reopen child other --reason again", Prepare: withTwoDone},
			}},
		{Name: "lifecycle", Weight: 3, May: thread + "T102 T402 T404 T603 T108 T113 T117", Draw: (*Drawer).lifecycle,
			Rows: []Row{{Name: "lifecycle", Argv: "lifecycle child --action cancel --reason over"}}},
	}
}

// goBack has what goes back.
func goBack() []Command {
	return []Command{
		{Name: "undo", Weight: 7, NoBatch: true, May: thread + "T102 T108 T110 T112 T402 T505", Draw: (*Drawer).undo,
			Rows: []Row{
				{Name: "undo-merge", Argv: "undo", Prepare: withMerged},
				{Name: "undo-update", Argv: "undo", Prepare: withUpdated},
				{Name: "undo-spawn", Argv: "undo", Prepare: withSpawned},
				{Name: "undo-archive", Argv: "undo", Prepare: withArchived},
				{Name: "undo-rollback", Argv: "undo", Prepare: withRolledBack},
				{Name: "undo-batch", Argv: "undo", Prepare: withBatchDone},
				{Name: "undo-done", Argv: "undo", Prepare: withDone},
				{Name: "redo-again", Argv: "undo {op}", Prepare: undone(withMerged)},
				{Name: "undo-redone", Argv: "undo", Prepare: withRedone},
				{Name: "undo-of-crashed-merge", Argv: "undo", Prepare: withCrashedMerge},
			},
			Git: []GitRow{{Name: "undo-code", Argv: "undo {op}", Prepare: withLandedCode, Already: "T110"}}},
		{Name: "redo", Weight: 4, NoBatch: true, May: thread + "T102 T108 T110 T112 T402 T505",
			Draw: fixed("redo", "redo", "redo --dry-run"),
			Rows: []Row{
				{Name: "redo-update", Argv: "redo", Prepare: undone(withUpdated)},
				{Name: "redo-spawn", Argv: "redo", Prepare: undone(withSpawned)},
				{Name: "redo-batch", Argv: "redo", Prepare: undone(withBatchDone)},
				{Name: "redo-merge", Argv: "redo", Prepare: undone(withMerged)},
				{Name: "redo-rollback", Argv: "redo", Prepare: undone(withRolledBack)},
				{Name: "redo-of-crashed-undo", Argv: "redo", Prepare: withCrashedUndo},
			}},
		{Name: "checkpoint", Weight: 4, May: thread + "T106 T108", Draw: (*Drawer).checkpoint,
			Rows: []Row{
				{Name: "checkpoint", Argv: "checkpoint main --name first"},
				{Name: "checkpoint-of-crashed-merge", Argv: "checkpoint main --name first", Prepare: withCrashedMerge},
			}},
		{Name: "checkpoint list", Weight: 1, Reads: true, May: gone, Draw: of("checkpoint list", "", "--limit 2")},
		{Name: "rollback", Weight: 4, NoBatch: true, May: thread + "T111 T505 T108", Draw: (*Drawer).rollback,
			Rows: []Row{{Name: "rollback", Argv: "rollback main --to first", Prepare: withCheckpoint}},
			Git:  []GitRow{{Name: "rollback-turn", Argv: "rollback api --turn 1", Prepare: withTurn}}},
	}
}

// help has the rest; the last three are no commands of leslie.
func help() []Command {
	return []Command{
		{Name: "config path", Why: ofUser},
		{Name: "config show", Why: ofUser},
		{Name: "config init", Why: ofUser},
		{Name: "config trust", Why: ofUser},
		{Name: "config allow", Why: ofUser},
		{Name: "completion", Why: noStore},
		{Name: "doctor", Weight: 1, Reads: true, Draw: fixed("doctor", "doctor", "doctor --repair"),
			Rows: []Row{
				{Name: "doctor-repair", Argv: "doctor --repair",
					Prepare: withBothDamaged, Damaged: true, Again: true, Keeps: true},
			}},
		{Name: "explain", Weight: 1, Reads: true, Draw: fixed("explain", "explain T301")},
		{Name: "version", Weight: 1, Reads: true, Draw: fixed("version")},
		{Name: "a wrong line", Weight: 3, Reads: true, May: "T903", Draw: (*Drawer).misspelt},
		{Name: "a save", Weight: 16, Reads: true, Draw: (*Drawer).saves},
		{Name: "a configuration", Weight: 1, Reads: true, Only: alone, Draw: (*Drawer).configures},
	}
}
