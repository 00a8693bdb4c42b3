package projectcmd

import (
	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/guide"
	"leslie/cmd/leslie/internal/mergecmd"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/projects"
	"leslie/internal/fact"
)

type initText struct{ *projects.InitResult }

func (d initText) Text(p *page.Page) {
	if d.DryRun {
		if d.Created {
			p.Line("would create the store in %s/%s", d.Root, app.StoreFolder)
		} else {
			p.Line("the store already exists in %s/%s", d.Root, app.StoreFolder)
		}
		if d.AgentsFile != nil {
			p.Line("would write the lines for agents in %s", *d.AgentsFile)
		}
		p.Line("nothing was changed")
		return
	}
	switch {
	case d.CopyOf != "":
		p.Line("made the copy of %s in %s/%s again; its records come from the project's servers",
			d.CopyOf, d.Root, app.StoreFolder)
	case d.Created:
		p.Line("created the store in %s/%s", d.Root, app.StoreFolder)
	case d.Changed:
		p.Line("the store already exists in %s/%s", d.Root, app.StoreFolder)
	default:
		p.Line("nothing to do: the store is in %s/%s", d.Root, app.StoreFolder)
		return
	}
	if d.AgentsFile != nil {
		commit := ""
		if d.Repository && d.Edited {
			commit = "; commit it, so that worktrees have it"
		}
		p.Line("%s tells agents how to use leslie%s", *d.AgentsFile, commit)
	}
	for _, name := range d.Imports {
		p.Line("%s imports %s", name, projects.AgentsFile)
	}
	if d.Created && d.Top != "" {
		p.Line("it is for this folder and what is below; the top of the repository is %s (leslie init --remove, then leslie init there, for all of it)", d.Top)
	}
	if len(d.Earlier) > 0 {
		p.Line("a store that is gone has left %s; with leslie update ID --worktree DIR a thread takes one", app.Joined(d.Earlier))
	}
	switch {
	case d.CopyOf != "":
		p.Line("next: leslie list")
	case d.Created && d.NoCode != "":
		p.Line("threads here cannot own code: %s", d.NoCode)
		p.Line("next: leslie spawn TEXT")
	case d.Created && d.Unborn:
		p.Line("next: git commit, because a branch begins at a commit; then leslie spawn --code TEXT")
	case d.Created && d.Repository:
		p.Line("next: leslie spawn --code TEXT")
	case d.Created:
		p.Line("next: leslie spawn TEXT")
	}
}

// removedText is what of leslie went from a project, or would go.
type removedText struct{ *projects.RemoveResult }

func (removedText) IsPartialResult() {}

func (d removedText) Text(p *page.Page) {
	if d.Removed {
		p.Line("removed leslie from %s: %s", d.Root, d.what())
		onlyLines(d.RemoveResult, p.Line)
		if len(d.Files) > 0 {
			p.Line("commit the change of %s", app.Joined(d.Files))
		}
		return
	}
	removedLines(d.RemoveResult, p.Line)
}

func (d removedText) what() string {
	text := app.StoreFolder + " with " + fact.Plural(d.Threads, "thread")
	if d.Refs > 0 {
		text += ", " + fact.Plural(d.Refs, "ref") + " of the repository"
	}
	for _, name := range d.Files {
		text += ", its lines in " + name
	}
	return text
}

// onlyLines name the refs that go and whose commits no branch has.
func onlyLines(d *projects.RemoveResult, line func(format string, args ...any)) {
	for _, ref := range d.Only {
		line("  no branch has %s: git branch NAME %s keeps it", ref.Ref, string(ref.Commit)[:12])
	}
}

// agreed asks the person at the terminal whether leslie is to be taken out, once show has said what would go; without
// a terminal it is T903. line takes it out, look only shows.
func agreed(c *cli.Call, show func(line func(format string, args ...any)), line, look string) (yes bool, err error) {
	if !c.CanPrompt() {
		return false, codes.InvalidArgument.New(fact.Of("reason", "to take leslie out without a terminal, say --yes")).
			WithHint("Look at what would go, then: " + line + " --yes").WithNext(look)
	}
	p := c.Prompt()
	show(p.Say)
	return mergecmd.Confirm(c, p, "Remove it?", "take leslie out of this project", "leave everything as it is")
}

// removedLines say what would go.
func removedLines(d *projects.RemoveResult, line func(format string, args ...any)) {
	line("would remove %s", removedText{d}.what())
	onlyLines(d, line)
	line("leslie export keeps the records and artifacts; leslie setup --remove takes out what setup added")
}

func runRemove(c *cli.Call) (cli.Data, error) {
	for _, other := range []string{"no-agents", "here", "agents", "dry-run"} {
		if c.Has(other) {
			c.Fault("--"+other, "", "--"+other+" cannot be used with --remove")
		}
	}
	in := projects.RemoveRequest{Yes: c.On("yes"), Without: guide.Without}
	d, err := cli.UseCase(c, projects.Remove, in)
	if err != nil {
		return nil, err
	}
	if in.Yes {
		return removedText{d}, nil
	}
	yes, asked := agreed(c, func(line func(string, ...any)) { removedLines(d, line) }, "leslie init --remove", "leslie code")
	if yes {
		in.Yes = true
		if d, err = cli.UseCase(c, projects.Remove, in); err != nil {
			return nil, err
		}
	}
	return removedText{d}, asked
}

// Init is the command leslie init.
func Init() *cli.Command {
	return &cli.Command{
		Name: "init", Summary: "create a store in this folder and tell agents about leslie in AGENTS.md", Writes: true,
		Unrecorded: true,
		Detail: "If there is a store in this folder or above, only the block in AGENTS.md is updated. Text outside " +
			"the block is never changed. Some agents read only a file of their own: CLAUDE.md and GEMINI.md get the " +
			"line @" + projects.AgentsFile + " if that agent is used, as its " +
			"file or folder (.claude, .gemini) or --agents shows. --remove takes the lines, the store and leslie's refs out " +
			"again, once no thread owns code.",
		Example: "leslie init",
		Flags: []cli.Flag{
			cli.Toggle("no-agents", "do not change AGENTS.md"),
			cli.Toggle("here", "create a store in this folder even if there is one above"),
			cli.NewFlag("agents", cli.ListOf(projects.AgentsWithOwnFile()...), "agents that are used here"),
			cli.Toggle("remove", "take leslie out of this project again, after asking"),
			cli.Toggle("yes", "ask nobody"),
			cli.Toggle("dry-run", "show what would be created without changing anything"),
		},
		Run: runInit,
	}
}

func runInit(c *cli.Call) (cli.Data, error) {
	if c.On("remove") {
		return runRemove(c)
	}
	in := projects.InitRequest{Dir: c.Who.Dir, Here: c.On("here"), Agents: c.Parts("agents"), DryRun: c.On("dry-run")}
	if !c.On("no-agents") {
		in.Guide = guide.AgentsGuide()
	}
	env := c.Environment()
	c.CheckRequest(func(app.Names) []app.Fault { return in.Faults(env) }, nil)
	if err := c.Usage(); err != nil {
		return nil, err
	}
	op, d, err := projects.Init(c.Ctx, env, c.Caller(), c.Request(), in)
	c.Op = op
	if d == nil {
		return nil, err
	}
	return initText{d}, err
}
