package mergecmd

import (
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/landing"
	"leslie/internal/fact"
	"leslie/internal/screen"
)

// dropText is what went, or would go.
type dropText struct {
	*landing.DropResult
	seen bool // the person has seen what would go
}

// IsPartialResult: what would go is shown where nobody can be asked, too.
func (dropText) IsPartialResult() {}

func (d dropText) Text(p *page.Page) {
	for _, i := range d.Items {
		switch {
		case d.Dropped:
			droppedText(p, i)
		case !d.seen:
			p.Line("%s", wouldDrop(i))
		}
	}
	if !d.Dropped {
		p.Line("nothing was changed")
	}
}

func droppedText(p *page.Page, i *landing.DroppedItem) {
	if len(i.Back) == 0 {
		p.Line("nothing to drop: %s is %s", i.ThreadID, i.Status)
		return
	}
	p.Line("dropped %s", i.ThreadID)
	if i.Ref != "" {
		p.Line("  kept what is on no other branch as %s", i.Ref)
	}
	if i.Kept != "" {
		p.Line("  left: %s", i.Kept)
	}
	p.Line("  to bring it back: %s", strings.Join(i.Back, " && "))
}

// wouldDrop says what would go with a thread.
func wouldDrop(i *landing.DroppedItem) string {
	text := string(i.ThreadID) + "  " + i.Title + ": " + string(i.Status)
	if i.Running {
		text += ", its agent runs"
	}
	if changes := page.ChangesText(i.Changes); changes != "" {
		text += "; " + changes
	}
	if i.Worktree != nil {
		text += "; its worktree " + *i.Worktree + " and its branch " + app.OrZero(i.Branch) + " go"
	}
	if i.Merge != "" {
		text += "; its landing that waits, " + string(i.Merge) + ", is given up with its decisions"
	}
	if len(i.Dependents) == 1 {
		text += "; " + string(i.Dependents[0]) + ", which depends on it, begins without it"
	} else if len(i.Dependents) > 1 {
		text += "; " + app.Joined(i.Dependents) + ", which depend on it, begin without it"
	}
	if len(i.Lost) > 0 {
		text += "; too large to be kept: " + app.Joined(i.Lost)
	}
	return text
}

// Drop is the command leslie drop.
func Drop() *cli.Command {
	return &cli.Command{
		Name: "drop", Summary: "throw threads away: cancel and archive them, remove their worktrees and branches",
		Writes: true, NotBatchable: true, Unrecorded: true,
		Detail: "It shows what would go, and asks you; --yes asks nobody. A run is stopped. The worktree and the branch that " +
			"leslie made go; a ref, named in the answer, keeps what is on no other branch, and the answer has the lines that " +
			"bring it back. Artifacts stay in the archive. An agent may drop what it spawned or holds.",
		Example:  "leslie drop write-docs",
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ThreadIDs), Many: true}},
		Flags: []cli.Flag{cli.Toggle("yes", "drop without asking"),
			cli.Toggle("dry-run", "show what would go without changing anything")},
		Run: runDrop,
	}
}

// Confirm asks a person yes or no; about says what each answer does. Errors: T904 if the question is interrupted.
func Confirm(c *cli.Call, p *cli.Prompt, question, aboutYes, aboutNo string) (agreed bool, err error) {
	answer, ok := p.Pick(cli.Menu{Question: question, Choices: []screen.Choice{
		{Word: WordYes, Key: "y", About: aboutYes}, {Word: WordNo, Key: "n", About: aboutNo},
	}})
	if !ok {
		return false, c.Interrupted()
	}
	return answer == WordYes, nil
}

func runDrop(c *cli.Call) (cli.Data, error) {
	in := landing.DropRequest{Threads: c.Flags.Args().Slice(), Yes: c.On("yes")}
	if in.Yes && c.On("dry-run") {
		c.Fault("--dry-run", "", "--dry-run cannot be used with --yes")
	}
	c.CheckRequest(in.Faults, map[string]string{"Threads": "ID"})
	d, err := cli.UseCase(c, landing.Drop, in)
	if err != nil {
		return nil, err
	}
	shown := dropText{DropResult: d}
	switch {
	case in.Yes, c.On("dry-run"):
		return shown, nil
	case !c.CanPrompt():
		return shown, codes.InvalidArgument.New(fact.Of("reason", "to drop a thread without a terminal, say --yes")).
			WithHint("Look at what would go, then: leslie drop " + strings.Join(in.Threads, " ") + " --yes").WithNext("leslie diff " + in.Threads[0])
	}
	p := c.Prompt()
	for _, i := range d.Items {
		p.Say("%s", wouldDrop(i))
	}
	agreed, err := Confirm(c, p, "Drop it?", "throw it away; the answer says how to bring it back", "leave everything as it is")
	if err != nil {
		return shown, err
	}
	if shown.seen = true; agreed {
		in.Yes = true
		if shown.DropResult, err = cli.UseCase(c, landing.Drop, in); err != nil {
			return nil, err
		}
	}
	return shown, nil
}
