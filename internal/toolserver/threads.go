package toolserver

import (
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/decisions"
	"leslie/internal/app/threads"
	"leslie/thread"
)

// This file has the tools for one's own work: context, claim_next, spawn, status, checkpoint,
// transfer, done.

func contextTool() tool {
	return tool{
		name: "context", title: "Read a thread's context",
		description: "What the agent of a thread has to know: intent, messages, artifacts and their folder, references, dependencies, code, what to do next. " +
			"Call it first, and whenever a warning W105 says that messages wait: it shows them and marks your own thread's as read.",
		arguments: []argument{about("the thread")},
		run: func(c *call) (any, error) {
			id := c.own()
			op, err := c.beginOperation("context", true)
			if err != nil {
				return nil, err
			}
			of, block, err := c.Context(op, id, true)
			if err != nil {
				return nil, err
			}
			return contextData{of.ID, of.Status, inCalls(block)}, nil
		},
	}
}

// contextData is a context as a tool answers it: the text has all of it.
type contextData struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Status   thread.Status   `json:"status"`
	Context  string          `json:"context"`
}

func claimNextTool() tool {
	return tool{
		name: "claim_next", title: "Claim a thread to work on",
		description: "Claim the first thread that is ready, or the one that you name, so that no other agent works on it. threadId is null when there is none; " +
			"reason then says whether more may come (timeout, nothing_active: call it again with seconds) or not (objective_completed: stop). " +
			"With take_over it takes a thread from a holder that is gone (heardAt in status and context says when it was last heard of), if you hold a thread above it.",
		arguments: []argument{
			{name: "thread", kind: text, about: "claim this thread instead"},
			seconds("wait so long until one is ready"),
			{name: "take_over", kind: toggle, about: "with thread: claim it although another agent holds it"},
			{name: "reason", kind: text, about: "with take_over: why, which that agent is told"},
		},
		run: func(c *call) (any, error) {
			in := threads.ClaimRequest{Thread: c.text("thread"), Next: !c.has("thread"), Wait: c.seconds(), TakeOver: c.on("take_over"), Reason: c.text("reason")}
			switch {
			case in.TakeOver && in.Next:
				c.fault("thread", "", "take_over goes with thread")
			case in.TakeOver && in.Reason == "":
				c.fault("reason", "", "reason is missing: take_over tells whoever holds the thread why")
			case in.Reason != "" && !in.TakeOver:
				c.fault("reason", in.Reason, "reason goes with take_over")
			}
			if c.has("thread") && c.has("seconds") {
				c.fault("seconds", "", "seconds cannot be used with thread")
			}
			defer c.progress("waiting for a thread that is ready", in.Wait > 0)()
			d, err := useCase(c, "claim", false, threads.Claim, in)
			if claimed, ok := d.(*threads.ClaimResult); ok && err == nil && claimed.ThreadID != nil {
				c.speakFor(*claimed.ThreadID)
			}
			return d, err
		},
	}
}

func spawnTool() tool {
	return tool{
		name: "spawn", title: "Create a thread",
		description: "Split off a part of the work as a thread: one that is independent, can run beside others, or needs a clean context. " +
			"Its intent says what to deliver and how to check it. This starts nobody unless run is true and a person runs leslie run --next.",
		arguments: []argument{
			must(argument{name: "intent", kind: text, about: "what the thread should achieve"}),
			{name: "title", kind: text},
			{name: "thread", kind: text, about: "its parent (default: your own thread)", of: "Parent"},
			{name: "objective", kind: text, about: "default: the parent's, else the only open one, else a new one with the thread's title"},
			{name: "id", kind: text, about: "an id of your choice"},
			{name: "inherit", kind: text, oneOf: []string{string(thread.InheritNone), string(thread.InheritFull), string(thread.InheritPartial)}, about: "copy the parent's artifacts: partial takes those of scope"},
			{name: "scope", kind: list, about: "paths, folders, globs"},
			{name: "refs", kind: list, about: "threads whose artifacts it may read, as they are now"},
			{name: "dependsOn", kind: list, about: "threads that must end first"},
			{name: "priority", kind: number, about: "0 is claimed first, 4 last; default 2"},
			{name: "code", kind: toggle, about: "it changes code: make a git branch and worktree"},
			{name: "claim", kind: toggle, about: "claim it for yourself"},
			{name: "run", kind: toggle, about: "want an agent for it"},
			{name: "agent", kind: text, about: "with run: which agent"},
		},
		run: func(c *call) (any, error) {
			in := threads.SpawnRequest{
				Intent: c.text("intent"), Title: c.text("title"), Parent: c.text("thread"), Objective: c.text("objective"), ID: c.text("id"),
				Inherit: thread.Inherit(c.text("inherit")), Scope: c.list("scope"), Refs: c.list("refs"), DependsOn: c.list("dependsOn"),
				Code: c.on("code"), Claim: c.on("claim"), Run: c.on("run"), Agent: c.text("agent"),
			}
			if in.Parent == "" {
				in.Parent = c.who().Thread
			}
			if c.has("priority") {
				in.Priority = new(thread.Priority(c.number("priority")))
			}
			c.check(in.Faults)
			return useCase(c, "spawn", false, threads.Spawn, in)
		},
	}
}

// What status shows.
const (
	showThread  = "thread"
	showSummary = "summary"
	showThreads = "threads"
	showReady   = "ready"
	showMine    = "mine"
)

func statusTool() tool {
	return tool{
		name: "status", title: "Look at threads", reads: true,
		description: "A thread with all its relations; or with show: a summary of the project and what waits for somebody, the list of threads, those that are ready to be claimed, or those that you have claimed.",
		arguments: []argument{
			about("the thread; without one, the summary"),
			{name: "show", kind: text, oneOf: []string{showThread, showSummary, showThreads, showReady, showMine}},
			{name: "objective", kind: text, about: "with threads, ready or mine: only its threads"},
		},
		run: runStatus,
	}
}

func runStatus(c *call) (any, error) {
	show, id := c.text("show"), c.text("thread")
	if id == "" {
		id = c.who().Thread
	}
	listing := show == showThreads || show == showReady || show == showMine
	if c.has("thread") && (listing || show == showSummary) {
		c.fault("thread", id, "thread cannot be used with show "+show)
	}
	if c.has("objective") && !listing {
		c.fault("objective", c.text("objective"), "objective goes with show threads, ready or mine")
	}
	switch {
	case listing:
		in := threads.ListRequest{Objective: c.text("objective"), Ready: show == showReady, ActorFilter: app.ActorFilter{Mine: show == showMine}, Limit: app.DefaultLimit}
		return useCase(c, "list", true, threads.List, in)
	case show == showSummary, show == "" && id == "":
		return useCase(c, "status", true, threads.Summary, threads.SummaryRequest{})
	}
	return useCase(c, "status", true, threads.Status, threads.StatusRequest{Thread: c.own()})
}

func checkpointTool() tool {
	return tool{
		name: "checkpoint", title: "Save a thread's artifacts",
		description: "Save the artifacts of a thread as they are now, so that they can be compared and brought back.",
		arguments:   []argument{about("the thread"), {name: "name", kind: text, about: "to find it again"}},
		run: func(c *call) (any, error) {
			in := artifacts.CheckpointRequest{Thread: c.own(), Name: c.text("name")}
			c.check(in.Faults)
			return useCase(c, "checkpoint", false, threads.Checkpoint, in)
		},
	}
}

// What transfer does besides the directions of the command.
const doRelease = "release"

func transferTool() tool {
	return tool{
		name: "transfer", title: "Hand a thread over, or request an approval",
		description: "Hand your thread to somebody (to), who goes on with its claim, branch and worktree; give it back for anybody (direction release); or ask a person for capabilities (request_approval with scope), which wait or context tells of.",
		arguments: []argument{
			about("the thread"),
			must(argument{name: "direction", kind: text, oneOf: []string{string(decisions.HandOff), doRelease, string(decisions.RequestApproval)}}),
			{name: "to", kind: text, about: "with handoff: human, agent (any), or the name of one"},
			{name: "scope", kind: list, about: "with request_approval: the capabilities, as context names them"},
			{name: "reason", kind: text, about: "what is done, what is left, or why you ask"},
		},
		run: runTransfer,
	}
}

func runTransfer(c *call) (any, error) {
	direction, to := c.text("direction"), c.text("to")
	id := c.own()
	if to != "" && direction != string(decisions.HandOff) {
		c.fault("to", to, "to goes with direction "+string(decisions.HandOff))
	}
	if direction == doRelease {
		if c.has("scope") {
			c.fault("scope", "", "scope goes with direction "+string(decisions.RequestApproval))
		}
		d, err := useCase(c, "release", false, threads.Release, threads.HolderRequest{Thread: id, Reason: c.text("reason")})
		if given, ok := d.(*threads.ClaimResult); ok && err == nil && given.ThreadID != nil {
			c.speakNoMore(*given.ThreadID)
		}
		return d, err
	}
	in := decisions.TransferRequest{Thread: id, Direction: decisions.Direction(direction), Scope: c.list("scope"), Reason: c.text("reason")}
	if to == string(thread.ByHuman) || to == string(thread.ByAgent) {
		in.To = thread.Executor(to)
	} else {
		in.ToActor = to
	}
	if !c.faulty("direction") {
		c.check(in.Faults)
	}
	d, err := useCase(c, "transfer", false, decisions.Transfer, in)
	if given, ok := d.(*decisions.TransferResult); ok && err == nil && in.Direction == decisions.HandOff {
		c.speakNoMore(given.ThreadID)
	}
	return d, err
}

func doneTool() tool {
	return tool{
		name: "done", title: "End or pause a thread",
		description: "Complete a thread once every step of its plan is done and its children are merged. If you cannot go on, suspend it with the reason instead; cancel it if nobody needs it any more. " +
			"Refuses (T113) while messages are unread: call context; and (T117) while code is not committed on the thread's branch.",
		arguments: []argument{
			about("the thread"),
			{name: "action", kind: text, oneOf: []string{string(thread.Done), string(thread.Suspend), string(thread.Cancel)}, about: "default done"},
			{name: "reason", kind: text, about: "why, for the record"},
			{name: "uncommitted", kind: text, oneOf: []string{threads.LeaveUncommitted}, about: "leave files of the worktree uncommitted"},
			{name: "no_commits", kind: toggle, about: "the branch needs no commit of its own"},
		},
		takesBack: true,
		run: func(c *call) (any, error) {
			action := thread.Action(c.text("action"))
			if action == "" {
				action = thread.Done
			}
			in := threads.LifecycleRequest{Thread: c.own(), Action: action, Reason: c.text("reason"), Uncommitted: c.text("uncommitted"), NoCommits: c.on("no_commits")}
			defer c.progress("checking the thread's work", action == thread.Done)()
			d, err := useCase(c, string(action), false, threads.Lifecycle, in)
			if ended, ok := d.(*threads.LifecycleResult); ok && err == nil && action != thread.Done { // which may land
				c.speakNoMore(ended.ThreadID)
			}
			return d, err
		},
	}
}
