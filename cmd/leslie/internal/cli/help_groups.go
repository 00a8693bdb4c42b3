package cli

import (
	"slices"
	"strings"
)

// This file arranges the commands for help: leslie help shows the groups on one screen,
// leslie help commands every command.

// helpGroup is a heading of help with its commands, in the order of a person's work. A
// name stands for its subcommands, too.
type helpGroup struct{ title, Names string }

// HelpGroups are the headings of help, in its order.
func HelpGroups() []helpGroup {
	return []helpGroup{
		{"Begin", "init setup connect objective spawn update batch import export"},
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

// groupRows are the groups with the names of their commands.
func groupRows() (out []helpRow) {
	for _, g := range HelpGroups() {
		out = append(out, helpRow{g.title, strings.Join(strings.Fields(g.Names), ", ")})
	}
	return out
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
		b.WriteString(g.title + ":\n" + h.rows(commandRows(own)) + "\n")
	}
	return b.String()
}
