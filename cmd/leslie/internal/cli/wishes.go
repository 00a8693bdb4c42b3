package cli

import (
	"slices"
	"strings"
)

// This file leads from what people want to do to the commands that do it. leslie help how
// lists all of it; a command that does not exist names the lines that its word stands for.

// Wish is something that people want to do.
type Wish struct {
	Title string // what they want, in the form "stop agents"
	Words string // what other programs, or people, call it
	// Lines do it, the usual one first. Words in capitals are to be filled in. One that has none
	// and only reads can be run as it is.
	Lines []string
	Topic string // the document about it
}

// Wishes are in the order of a person's work. A word stands for one of them only, and is the
// name of no command.
func Wishes() []Wish {
	return []Wish{
		{"begin in a project", "start begin", []string{"leslie init", "leslie spawn --code TITLE"}, "tutorial"},
		{"give work to an agent", "create add make task todo fork branch execute exec launch go",
			[]string{"leslie spawn --code TITLE", "leslie run ID", "leslie run --new TITLE"}, "agents"},
		{"find a thread's worktree", "worktree worktrees checkout switch cd path", []string{"leslie code", "leslie code ID"}, "code"},
		{"see what goes on", "ps top jobs running dashboard ui gui watch monitor overview inbox",
			[]string{"leslie status", "leslie run list", "leslie tui"}, "observing"},
		{"see all threads", "threads tasks tree", []string{"leslie list --tree", "leslie list --all", "leslie graph"}, "relations"},
		{"follow what happens", "events tail follow stream activity feed subscribe", []string{"leslie observe", "leslie wait ID"}, "observing"},
		{"see who did what", "blame who audit did timeline actions", []string{"leslie history --by NAME --since today", "leslie list --by NAME", "leslie transcript ID"}, "observing"},
		{"read a thread or a file", "view cat open get read info describe details inspect",
			[]string{"leslie status ID", "leslie show ID:PATH", "leslie show OP"}, "relations"},
		{"find a text", "find grep query", []string{"leslie search TEXT"}, "observing"},
		{"take a thread yourself", "take grab pick lock own", []string{"leslie claim ID", "leslie context ID"}, "claims"},
		{"give back a thread you hold", "unclaim unlock yield", []string{"leslie release ID"}, "claims"},
		{"hand a thread to somebody", "handoff handover hand assign reassign give delegate pass",
			[]string{"leslie transfer ID --to NAME"}, "claims"},
		{"send a message to an agent", "note notes message messages msg mail send tell say chat notify",
			[]string{"leslie inject ID --content TEXT", "leslie comment ID PATH TEXT"}, "agents"},
		{"answer what agents ask", "reply respond", []string{"leslie questions", "leslie answer Q TEXT"}, "capabilities"},
		{"allow or refuse a request", "accept allow permit grant reject refuse decline",
			[]string{"leslie approvals", "leslie approve APPROVAL", "leslie deny APPROVAL"}, "capabilities"},
		{"rename or change a thread", "rename edit modify change set mv move reparent", []string{"leslie update ID --title TITLE"}, "relations"},
		{"let a thread wait for another", "depend depends dependency block after", []string{"leslie update ID --depends-on +ID2"}, "relations"},
		{"share files between threads", "ref refs link attach", []string{"leslie reference --from ID --target ID2"}, "relations"},
		{"finish a thread", "finish complete close end", []string{"leslie done ID", "leslie objective done OBJECTIVE"}, "claims"},
		{"look at changes and land them", "push ship deliver integrate submit apply",
			[]string{"leslie diff ID", "leslie land ID"}, "code"},
		{"open a pull request", "pr mr pull-request", []string{"leslie code ID", "git push origin BRANCH"}, "forge"},
		{"bring in later changes", "sync fetch rebase refresh", []string{"leslie pull ID"}, "merging"},
		{"decide a conflict", "conflict conflicts resolve mergetool", []string{"leslie merge list", "leslie merge status MERGE",
			"leslie merge resolve MERGE PATH --take SIDE", "leslie merge continue MERGE"}, "merging"},
		{"give a merge up", "abort", []string{"leslie merge abort MERGE"}, "merging"},
		{"stop agents", "kill terminate halt quit shutdown interrupt", []string{"leslie stop ID", "leslie stop --all"}, "agents"},
		{"pause a thread, and resume it", "pause hold park unpause", []string{"leslie suspend ID", "leslie resume ID"}, "claims"},
		{"go on after a crash", "crash recover recovery continue restart retry repair fix fsck check",
			[]string{"leslie status", "leslie doctor", "leslie run --next"}, "recovery"},
		{"take something back", "revert reset back unmerge unland", []string{"leslie history", "leslie undo OP"}, "undo"},
		{"save a state and go back to it", "save snapshot stash commit tag rewind",
			[]string{"leslie checkpoint ID --name NAME", "leslie rollback ID --to CHECKPOINT"}, "undo"},
		{"throw a thread away", "rm delete remove del discard trash abandon", []string{"leslie drop ID"}, "code"},
		{"clean up what has landed", "cleanup clean gc prune tidy", []string{"leslie code prune", "leslie archive ID"}, "code"},
		{"back up and restore", "backup dump restore", []string{"leslie export", "leslie import FILE"}, "backup"},
		{"take leslie out of a project", "deinit purge destroy eject wipe",
			[]string{"leslie uninstall --dry-run", "leslie uninstall"}, "uninstall"},
		{"work on several machines", "share clone join invite collaborate colleague team machines server",
			[]string{"leslie remote config DIR --servers NAME=HOST:PORT", "leslie remote init URL", "leslie connect URL"}, "machines"},
		{"use it in scripts and in CI", "ci script scripts automation pipeline",
			[]string{"leslie list --format json", "leslie wait ID --timeout 10m", "leslie help commands --format json"}, "ci"},
		{"several projects in one repo", "monorepo projects workspace workspaces", []string{"leslie -C DIR init"}, "projects"},
		{"see what agents cost", "cost costs usage tokens budget spend bill metrics", []string{"leslie stats", "leslie run list --all"}, "agents"},
		{"see what you may do", "whoami permissions rights", []string{"leslie can CAPABILITY ID"}, "capabilities"},
		{"change the configuration", "settings preferences options configure", []string{"leslie config show", "leslie config init"}, "configuration"},
		{"install or choose an agent", "models providers login install agent", []string{"leslie agents --check", "leslie setup"}, "setup"},
		{"read the manual", "man manual docs doc documentation guide", []string{"leslie help topics", "leslie help TOPIC"}, "tutorial"},
	}
}

// wishOf returns what a word stands for, in any case.
func wishOf(word string) (Wish, bool) {
	word = strings.ToLower(word)
	all := Wishes()
	i := slices.IndexFunc(all, func(w Wish) bool { return slices.Contains(strings.Fields(w.Words), word) })
	if i < 0 {
		return Wish{}, false
	}
	return all[i], true
}

// hint says what does it.
func (w Wish) hint() string { return "To " + w.Title + ": " + strings.Join(w.Lines, "; ") }

// next is a line that can be run as it is: the first of the wish if that only reads, else the
// help of its command.
func (w Wish) next(all []*Command) string {
	l := ParseLine(all, strings.Fields(w.Lines[0])[1:])
	switch {
	case l.Cmd == nil:
		return w.Lines[0]
	case l.Cmd.Writes || l.Cmd.Lasts || l.Cmd.Streams != nil || strings.ToLower(w.Lines[0]) != w.Lines[0]:
		return "leslie help " + l.Cmd.Name
	}
	return w.Lines[0]
}

// topic is the page of help about it.
func (w Wish) topic() helpTopic {
	return helpTopic{Summary: "To " + w.Title + ":", Detail: "  " + strings.Join(w.Lines, "\n  ") + "\n", Whole: w.Topic}
}

// wishRows are all wishes, each with its lines.
func wishRows() (out []helpRow) {
	for _, w := range Wishes() {
		out = append(out, helpRow{w.Title, strings.ReplaceAll(strings.Join(w.Lines, "; "), "leslie ", "")})
	}
	return out
}
