package threadcmd

import (
	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/thread"
)

type lifecycleText struct{ *threads.LifecycleResult }

func (d lifecycleText) Text(p *page.Page) {
	switch {
	case d.SentAgain:
		p.Line("thread %s  %s already; what it got since is with the other machines now", d.ThreadID, d.Status)
	case d.Changed:
		p.Line("thread %s  %s -> %s", d.ThreadID, d.From, d.Status)
	default:
		p.Line("thread %s  %s already; nothing changed", d.ThreadID, d.Status)
	}
	p.Line("objective %s  %s", d.Objective.ObjectiveID, d.Objective.Status)
	if len(d.Objective.ToLand) > 0 {
		p.Field("of the objective not landed", app.Joined(d.Objective.ToLand)+" (leslie land --ready)")
	}
	p.Field("ready now", app.Joined(d.Ready))
	p.Field("withdrawn without a decision", app.Joined(d.Withdrawn))
	p.Field("closed without an answer", app.Joined(d.Unanswered))
	switch id := d.ThreadID; {
	case d.Changes != nil && d.LandsIn != "" && d.Changes.Commits > 0:
		p.Field("its code", page.ChangesText(d.Changes))
		p.Line("look: leslie diff %s; land it on %s: leslie land %s", id, d.LandsIn, id)
		return
	case len(d.NotHere) > 0:
		p.Field("its code", "what "+app.Joined(d.NotHere)+" has of it is not here")
	case d.Changes != nil:
		p.Field("its code", page.ChangesText(d.Changes)+" (leslie diff "+string(id)+")")
	case d.LandsIn != "":
		p.Field("its code lands in", d.LandsIn+" (leslie land "+string(id)+")")
	}
	if d.Code != "" {
		p.Field("its worktree stays", d.Code+" (leslie code remove "+string(d.ThreadID)+" keeps what is not committed)")
	}
}

// Lifecycle is the command leslie lifecycle.
func Lifecycle() *cli.Command {
	words := make([]string, 0, len(thread.Actions()))
	for _, a := range thread.Actions() {
		words = append(words, string(a))
	}
	return &cli.Command{
		Name: "lifecycle", Summary: "change a thread's status", Writes: true,
		Detail:   "done, cancel, suspend, resume, archive and reopen are also commands.",
		Example:  "leslie lifecycle write-docs --action suspend --reason \"waits for the API\"",
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags: []cli.Flag{
			cli.NewFlag("action", cli.OneOf(words...).Required().Formerly(map[string]string{"blocked": "suspend"}),
				"what to do"),
			cli.ReasonFlag(), successorFlag(), uncommittedLeftFlag(), noCommitsFlag(),
		},
		Run: func(c *cli.Call) (cli.Data, error) {
			c.Require("action")
			for _, flag := range []string{"uncommitted", "no-commits"} {
				if c.Has(flag) && c.Text("action") != string(thread.Done) {
					c.Fault("--"+flag, "", "--"+flag+" goes with --action done")
				}
			}
			if c.Has("successor") && c.Text("action") != string(thread.Cancel) {
				c.Fault("--successor", "", "--successor goes with --action cancel")
			}
			return runLifecycle(c, thread.Action(c.Text("action")))
		},
	}
}

// Done is the command leslie done.
func Done() *cli.Command {
	cmd := shortLifecycle(thread.Done, "complete a thread")
	cmd.Detail = "An agent completes a thread with code once its work is committed on the thread's branch: with " +
		"files that are not committed, or without a commit since the thread began, it is refused (T117). " +
		"--uncommitted leave and --no-commits say that it is meant to be so, and the record keeps it. A person is " +
		"warned (W810)."
	cmd.Flags = append(cmd.Flags, uncommittedLeftFlag(), noCommitsFlag())
	return cmd
}

func uncommittedLeftFlag() cli.Flag {
	return cli.NewFlag("uncommitted", cli.OneOf(threads.LeaveUncommitted),
		"leave files of the thread's worktree uncommitted")
}

func noCommitsFlag() cli.Flag {
	return cli.Toggle("no-commits", "the thread's branch needs no commit of its own")
}

// Cancel is the command leslie cancel.
func Cancel() *cli.Command {
	cmd := shortLifecycle(thread.Cancel, "cancel a thread")
	cmd.Detail = "Whoever has claimed the thread is told by its next answer (W112), and until the claim would have " +
		"expired leslie inject still reaches it. --successor names the thread that goes on in its place; its agent " +
		"finds it in context, status and errors."
	cmd.Flags = append(cmd.Flags, successorFlag())
	return cmd
}

func successorFlag() cli.Flag {
	return cli.NewFlag("successor", cli.ID("ID", cli.ThreadIDs), "the thread that replaces it")
}

// Suspend is the command leslie suspend.
func Suspend() *cli.Command {
	return shortLifecycle(thread.Suspend, "suspend a thread until it is resumed")
}

// Resume is the command leslie resume.
func Resume() *cli.Command {
	cmd := shortLifecycle(thread.Resume, "resume a suspended thread")
	cmd.Detail = "A thread that is active already is not changed (T102); leslie status ID says how to go on with it."
	cmd.Operands = []cli.Operand{cli.ThreadOperand()} // a person looks at each thread before it goes on
	return cmd
}

// Archive is the command leslie archive.
func Archive() *cli.Command {
	return shortLifecycle(thread.Archive, "archive a completed or cancelled thread; it stays readable")
}

// Reopen is the command leslie reopen.
func Reopen() *cli.Command {
	cmd := shortLifecycle(thread.Reopen, "make a completed or cancelled thread active again")
	cmd.Detail = "People may reopen any thread. An agent may reopen the thread that it speaks for, those below it " +
		"or below a thread that it has claimed, and those that it spawned. Not under an objective that is done " +
		"(T603)."
	return cmd
}

func shortLifecycle(action thread.Action, summary string) *cli.Command {
	return &cli.Command{
		Name: string(action), Summary: summary, Writes: true,
		Example:  "leslie " + string(action) + " write-docs",
		Operands: []cli.Operand{cli.ThreadsOperand()}, Flags: []cli.Flag{cli.ReasonFlag()},
		Run: func(c *cli.Call) (cli.Data, error) { return runLifecycle(c, action) },
	}
}

func runLifecycle(c *cli.Call, action thread.Action) (cli.Data, error) {
	in := threads.LifecycleRequest{Action: action, Reason: c.Text("reason")}
	if action == thread.Cancel {
		in.Successor = c.Text("successor")
	}
	if action == thread.Done {
		in.Uncommitted, in.NoCommits = c.Text("uncommitted"), c.On("no-commits")
	}
	return cli.ForThreads(c, func(op *app.Call, id string) (*threads.LifecycleResult, error) {
		in.Thread = id
		return threads.Lifecycle(op, in)
	}, func(d *threads.LifecycleResult) cli.Data { return lifecycleText{d} })
}
