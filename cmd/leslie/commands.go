package main

import (
	"slices"
	"strings"
)

// maker makes one command. Making all of them takes as long as reading a small store,
// so a line that begins with its command's name gets only that one.
type maker struct {
	name string
	make func() *command
}

// makers are all commands by name, in the order of help.
func makers() []maker {
	return append(remoteMakers(), []maker{
		{"init", initCommand},
		{"setup", setupCommand},
		{"objective create", objectiveCreateCommand},
		{"objective list", objectiveListCommand},
		{"objective status", objectiveStatusCommand},
		{"objective done", objectiveDoneCommand},
		{"spawn", spawnCommand},
		{"update", updateCommand},
		{"code", codeCommand},
		{"code list", codeListCommand},
		{"code setup", codeSetupCommand},
		{"code remove", codeRemoveCommand},
		{"code restore", codeRestoreCommand},
		{"code prune", codePruneCommand},
		{"list", listCommand},
		{"status", statusCommand},
		{"search", searchCommand},
		{"graph", graphCommand},
		{"report", reportCommand},
		{"artifacts", artifactsCommand},
		{"diff", diffCommand},
		{"show", showCommand},
		{"context", contextCommand},
		{"reference", referenceCommand},
		{"reference list", referenceListCommand},
		{"reference show", referenceShowCommand},
		{"reference refresh", referenceRefreshCommand},
		{"reference remove", referenceRemoveCommand},
		{"lifecycle", lifecycleCommand},
		{"done", doneCommand},
		{"cancel", cancelCommand},
		{"suspend", suspendCommand},
		{"resume", resumeCommand},
		{"archive", archiveCommand},
		{"reopen", reopenCommand},
		{"claim", claimCommand},
		{"renew", renewCommand},
		{"release", releaseCommand},
		{"inject", injectCommand},
		{"merge", mergeCommand},
		{"merge list", mergeListCommand},
		{"merge status", mergeStatusCommand},
		{"merge resolve", mergeResolveCommand},
		{"merge continue", mergeContinueCommand},
		{"merge abort", mergeAbortCommand},
		{"merge land", mergeLandCommand},
		{"pull", pullCommand},
		{"merge-file", mergeFileCommand},
		{"transfer", transferCommand},
		{"approvals", approvalsCommand},
		{"approve", approveCommand},
		{"deny", denyCommand},
		{"revoke", revokeCommand},
		{"ask", askCommand},
		{"answer", answerCommand},
		{"questions", questionsCommand},
		{"comment", commentCommand},
		{"comment resolve", commentResolveCommand},
		{"comments", commentsCommand},
		{"review", reviewCommand},
		{"can", canCommand},
		{"history", historyCommand},
		{"observe", observeCommand},
		{"wait", waitCommand},
		{"undo", undoCommand},
		{"redo", redoCommand},
		{"checkpoint", checkpointCommand},
		{"checkpoint list", checkpointListCommand},
		{"rollback", rollbackCommand},
		{"batch", batchCommand},
		{"import", importCommand},
		{"export", exportCommand},
		{"logs", logsCommand},
		{"stats", statsCommand},
		{"run", runCommand},
		{"run list", runListCommand},
		{"run stop", runStopCommand},
		{"run log", runLogCommand},
		{"transcript", transcriptCommand},
		{"agents", agentsCommand},
		{"config path", configPathCommand},
		{"config show", configShowCommand},
		{"config init", configInitCommand},
		{"mcp", mcpCommand},
		{"hook start", hookStartCommand},
		{"hook stop", hookStopCommand},
		{"tui", tuiCommand},
		{"doctor", doctorCommand},
		{"completion", completionCommand},
		{"explain", explainCommand},
		{"version", versionCommand},
	}...)
}

// aliases are short names of commands. Only lint knows them: answers, the journal and
// request ids have the command's own name.
func aliases() map[string]string {
	return map[string]string{"ls": "list", "log": "history", "new": "spawn"}
}

// ownName is the name of the command that a word names, the word itself if it is no
// alias.
func ownName(word string) string {
	if name, ok := aliases()[word]; ok {
		return name
	}
	return word
}

// aliasOf is the short name of a command, "" if it has none.
func aliasOf(name string) string {
	for alias, of := range aliases() {
		if of == name {
			return alias
		}
	}
	return ""
}

// commands is the table of all commands.
func commands() []*command {
	all := make([]*command, 0, 64)
	for _, m := range makers() {
		all = append(all, m.make())
	}
	return all
}

// commandsFor are the commands that lint needs for a line: only the line's own if it
// begins with the name of its command and has no fault and no word that only the flags of
// other commands could explain, else all. Lint's result is the same either way.
func commandsFor(argv []string) []*command {
	if len(argv) == 1 && argv[0] == "--version" {
		return nil
	}
	if cmd := begun(argv); cmd != nil {
		own := []*command{cmd}
		l := lint(own, argv)
		others := l.help || l.last != nil || len(l.faults) > 0 || slices.ContainsFunc(l.flags, func(f setFlag) bool { return strings.HasPrefix(f.text, "--") })
		if l.cmd == cmd && !others {
			return own
		}
	}
	return commands()
}

// begun returns the command whose name a line begins with, or nil.
func begun(argv []string) *command {
	for words := min(len(argv), 2); words > 0; words-- {
		name := ownName(strings.Join(argv[:words], " "))
		for _, m := range makers() {
			if m.name == name {
				return m.make()
			}
		}
	}
	return nil
}

// threadOperand is the operand of commands on one thread. If it is missing, it is the
// thread that the call speaks for.
func threadOperand() operand { return operand{value: anID("ID", threadIDs), speaks: true} }
