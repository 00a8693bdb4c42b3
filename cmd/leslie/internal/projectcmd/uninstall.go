package projectcmd

import (
	"slices"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/guide"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/projects"
)

// uninstalledText is what of leslie went from a project, or would go.
type uninstalledText struct {
	*projects.UninstallResult
	seen bool // it was shown before it was asked for
}

func (uninstalledText) IsPartialResult() {}

func (d uninstalledText) Text(p *page.Page) {
	if !d.Removed {
		if !d.seen {
			uninstalledLines(d.UninstallResult, p.Line)
		}
		p.Line("nothing was changed")
		return
	}
	p.Line("removed leslie from %s: %s", d.Root, removedText{&d.RemoveResult}.what())
	for _, w := range d.Worktrees {
		p.Line("  %s", worktreeText(w))
	}
	onlyLines(&d.RemoveResult, p.Line)
	if files := slices.Concat(d.Files, d.Setup); len(files) > 0 {
		p.Line("commit the change of %s", app.Joined(files))
	}
	p.Line("what leslie setup --scope user added to your own files stays: leslie setup --remove --scope user")
}

func worktreeText(w projects.UninstalledCode) string {
	text := "the worktree " + w.Worktree + " of " + string(w.ThreadID)
	if w.BranchKept {
		return text + "; its branch " + w.Branch + " stays"
	}
	return text + ", and its branch " + w.Branch
}

// uninstalledLines say what would go.
func uninstalledLines(d *projects.UninstallResult, line func(format string, args ...any)) {
	line("would remove %s", removedText{&d.RemoveResult}.what())
	for _, w := range d.Worktrees {
		line("  %s", worktreeText(w))
	}
	for _, name := range d.Setup {
		line("  what leslie setup put into %s", name)
	}
	onlyLines(&d.RemoveResult, line)
	for _, work := range d.Blocked {
		line("first: %s is nowhere else", work)
	}
	line("leslie export > FILE keeps the records and artifacts")
}

// Uninstall is the command leslie uninstall.
func Uninstall() *cli.Command {
	return &cli.Command{
		Name: "uninstall", Summary: "take everything of leslie out of a project, after showing it", Writes: true,
		Unrecorded: true, NotBatchable: true,
		Detail: "The worktrees and branches of threads, the refs that leslie made, what leslie init and leslie setup wrote into " +
			"files of the project, and .leslie with all records. It shows what would go, and asks; --yes asks nobody. It refuses " +
			"while an agent runs, and while a thread has work that is nowhere else. A person's alone.",
		Example: "leslie uninstall --dry-run",
		Flags: []cli.Flag{
			cli.Toggle("dry-run", "show what would go without changing anything"),
			cli.Toggle("keep-branches", "leave the branches of threads"),
			cli.Toggle("yes", "ask nobody"),
		},
		Run: runUninstall,
	}
}

func runUninstall(c *cli.Call) (cli.Data, error) {
	in := projects.UninstallRequest{Yes: c.On("yes"), KeepBranches: c.On("keep-branches"), DryRun: c.On("dry-run"), Without: guide.Without}
	if in.Yes && c.On("dry-run") {
		c.Fault("--dry-run", "", "--dry-run cannot be used with --yes")
	}
	d, err := cli.UseCase(c, projects.Uninstall, in)
	if err != nil {
		return nil, err
	}
	shown := uninstalledText{UninstallResult: d}
	if in.Yes || c.On("dry-run") {
		return shown, nil
	}
	show := func(line func(string, ...any)) { uninstalledLines(d, line) }
	yes, asked := agreed(c, show, "leslie uninstall", "leslie uninstall --dry-run")
	if shown.seen = c.CanPrompt(); yes {
		in.Yes = true
		if shown.UninstallResult, err = cli.UseCase(c, projects.Uninstall, in); err != nil {
			return nil, err
		}
	}
	return shown, asked
}
