package threadcmd

import (
	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/thread"
)

type updateText struct{ *threads.UpdateResult }

func (d updateText) Text(p *page.Page) {
	if !d.Changed {
		p.Line("nothing changed")
	}
	threadText(p, d.ThreadRecord)
	if d.PersonsCheckout {
		personsCheckout(p, d.ThreadID)
	}
}

// personsCheckout says why no agent works in a worktree by itself.
func personsCheckout(p *page.Page, id thread.ThreadID) {
	p.Line("leslie did not make its worktree, so no agent is offered it or started there: " +
		"leslie transfer " + string(id) + " --to agent says that agents may")
}

// Update is the command leslie update.
func Update() *cli.Command {
	return &cli.Command{
		Name: "update", Summary: "change a thread's title, intent, tags, dependencies, branch or worktree",
		Writes: true,
		Detail: "--branch \"\" and --worktree \"\" clear the field. With a new intent, a title that was the first " +
			"line of the old one becomes the first line of the new one.",
		Example:  "leslie update write-docs --tag +api --depends-on +write-tests",
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags:    updateFlags(),
		Run:      runUpdate,
	}
}

func runUpdate(c *cli.Call) (cli.Data, error) {
	in := updateRequest(c)
	c.CheckRequest(in.Faults, map[string]string{"AddTags": "--tag", "AddDepends": "--depends-on"})
	var flags []string
	said := false
	for _, f := range updateFlags() {
		name := f.Names()[0]
		flags, said = append(flags, "--"+name), said || c.Has(name) || c.Faulty(name)
	}
	if !said {
		c.Fault("flags", "", "say what is to change: "+app.OrList(flags)+
			"; who carries it out: leslie transfer ID --to human|agent|NAME")
	}
	if in.Intent != nil && len(c.Faults) == 0 { // else standard input is left unread
		text := c.ReadContent("intent", app.MaxContent)
		in.Intent = &text
	}
	data, err := cli.RunUseCase(c, threads.Update, in, func(d *threads.UpdateResult) cli.Data { return updateText{d} })
	return data, c.UsageOf(c.AsUsageError(err, "depends-on"), nil)
}
