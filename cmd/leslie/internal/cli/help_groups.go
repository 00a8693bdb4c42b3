package cli

import (
	"slices"
	"strings"
)

// This file arranges the commands for help: leslie help shows what a day needs on one screen,
// leslie help commands every command by its group.

// helpGroup is a heading of help with its commands, in the order of a person's work. A
// name stands for its subcommands, too.
type helpGroup struct{ Title, Names string }

// HelpGroups are the headings of help, in its order.
func HelpGroups() []helpGroup {
	return []helpGroup{
		{"Begin", "init setup uninstall connect objective spawn update batch import export"},
		{"Look", "tui status list search graph code show diff artifacts context history observe logs transcript " +
			"stats report"},
		{"Work", "claim renew release wait run agents mcp hook"},
		{"Share", "reference inject comment comments review publish remote"},
		{"Decide", "transfer approvals approve deny revoke can ask answer questions"},
		{"Merge", "land merge pull merge-file"},
		{"Finish", "done drop cancel suspend resume archive reopen lifecycle"},
		{"Go back", "undo redo checkpoint rollback"},
		{"Help", "config completion doctor explain version"},
	}
}

// dayRows are the lines of the first page of help: what a day needs, in the order of a day.
func dayRows() []helpRow {
	return []helpRow{
		{"Begin    init", "set leslie up in this project"},
		{"         spawn --code TITLE", "create a thread, with a branch and a worktree"},
		{"         run ID", "start an agent on it; --next: on what is ready"},
		{"Work     claim ID", "take a thread to work on it yourself"},
		{"         done ID", "complete it"},
		{"Decide   answer", "answer what agents ask (list: questions)"},
		{"         approve", "decide what they request (list: approvals)"},
		{"Merge    diff ID", "show what a thread changed"},
		{"         land ID", "bring its code to the branch from which it began"},
		{"         merge", "merge threads: --sources A,B --target T"},
		{"Look     status [ID]", "show what goes on, and what waits for you"},
		{"         list", "list threads (a dashboard to keep open: tui)"},
		{"Go back  history", "list what was done, and by whom (--by NAME)"},
		{"         undo [OP]", "take an operation back"},
		{"         stop [ID]", "stop agents; --all: every one"},
	}
}

// topicOf is the document about a command, or a group of them; "" for none.
func topicOf(command string) string {
	first, _, _ := strings.Cut(command, " ")
	for _, t := range []struct{ topic, commands string }{
		{"tutorial", "init objective spawn"},
		{"agents", "run agents transcript"},
		{"claims", "claim renew release lifecycle done cancel suspend resume archive reopen"},
		{"working", "context inject"},
		{"code", "code diff land drop"},
		{"merging", "merge pull merge-file"},
		{"undo", "undo redo checkpoint rollback"},
		{"observing", "observe wait history logs stats status search list"},
		{"capabilities", "transfer approvals approve deny revoke ask answer questions can"},
		{"reviewing", "comment comments review"},
		{"machines", "remote connect publish"},
		{"relations", "reference update artifacts show"},
		{"terminal", "completion"},
		{"ci", "batch"},
		{"recovery", "doctor"},
		{"codes", "explain"},
		{"import", "import"},
		{"backup", "export"},
		{"configuration", "config"},
		{"setup", "setup hook"},
		{"uninstall", "uninstall"},
		{"tui", "tui"},
		{"report", "report"},
		{"graph", "graph"},
		{"mcp", "mcp"},
	} {
		if slices.Contains(strings.Fields(t.commands), first) {
			return t.topic
		}
	}
	return ""
}

// grouped has all commands under the titles of their groups.
func (h helpPage) grouped(all []*Command) string {
	var b strings.Builder
	for _, g := range HelpGroups() {
		names := strings.Fields(g.Names)
		own := slices.DeleteFunc(slices.Clone(all),
			func(cmd *Command) bool { return !slices.Contains(names, cmd.Path()[0]) })
		slices.SortStableFunc(own, func(a, b *Command) int {
			return slices.Index(names,
				a.Path()[0]) - slices.Index(names, b.Path()[0])
		})
		b.WriteString(g.Title + ":\n" + h.rows(commandRows(own)) + "\n")
	}
	return b.String()
}
