package projectcmd

import (
	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/guide"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/projects"
)

type initText struct{ *projects.InitResult }

func (d initText) Text(p *page.Page) {
	switch {
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
		if d.Repository {
			commit = "; commit it, so that worktrees have it"
		}
		p.Line("%s tells agents how to use leslie%s", *d.AgentsFile, commit)
	}
	for _, name := range d.Imports {
		p.Line("%s imports %s", name, projects.AgentsFile)
	}
	switch {
	case d.Created && d.Unborn:
		p.Line("next: git commit, because a branch begins at a commit; then leslie spawn --code TEXT")
	case d.Created && d.Repository:
		p.Line("next: leslie spawn --code TEXT")
	case d.Created:
		p.Line("next: leslie spawn TEXT")
	}
}

// Init is the command leslie init.
func Init() *cli.Command {
	return &cli.Command{
		Name: "init", Summary: "create a store in this folder and tell agents about leslie in AGENTS.md", Writes: true,
		Unrecorded: true,
		Detail: "If there is a store in this folder or above, only the block in AGENTS.md is updated. Text outside " +
			"the block is never changed. Some agents read only a file of their own: CLAUDE.md and GEMINI.md get the " +
			"line @" + projects.AgentsFile + " if that agent is used, as its " +
			"file or folder (.claude, .gemini) or --agents shows.",
		Example: "leslie init",
		Flags: []cli.Flag{
			cli.Toggle("no-agents", "do not change AGENTS.md"),
			cli.Toggle("here", "create a store in this folder even if there is one above"),
			cli.NewFlag("agents", cli.ListOf(projects.AgentsWithOwnFile()...), "agents that are used here"),
			cli.FormerSwitch("yes"),
		},
		Run: runInit,
	}
}

func runInit(c *cli.Call) (cli.Data, error) {
	in := projects.InitRequest{Dir: c.Who.Dir, Here: c.On("here"), Agents: c.Parts("agents")}
	if !c.On("no-agents") {
		in.Guide = guide.AgentsGuide(c.Env.Commands.All())
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
