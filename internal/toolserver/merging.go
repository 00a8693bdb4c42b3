package toolserver

import (
	"leslie/internal/app/landing"
	"leslie/internal/app/merges"
	"leslie/internal/app/merging"
	"leslie/merge"
	"leslie/thread"
)

// This file has the tools for merging: land, merge and resolve. Neither takes a command to run:
// what runs is what the user's own configuration names.

func mergeTool() tool {
	strategies := []string{string(thread.Interactive), string(thread.AgentFirst), string(thread.HumanOnly), string(thread.Strict)}
	return tool{
		name: "merge", title: "Merge threads into a thread",
		description: "Merge the artifacts and the code of threads into another. Nothing of the target changes while a conflict is open: then the merge stays pending (T301), and resolve shows and decides its conflicts; the same call again goes on with it. Code lands in the branch of the thread merged into, else in the branch from which it began, if need be after a person's approval (T402).",
		arguments: []argument{
			must(argument{name: "sources", kind: list, about: "the threads to merge from, in this order"}),
			{name: "thread", kind: text, about: "the thread to merge into (default: your own)", of: "Target"},
			{name: "scope", kind: list, about: "only these artifacts: paths, folders, globs"},
			{name: "strategy", kind: text, oneOf: strategies, about: "who resolves conflicts"},
			{name: "only", kind: text, oneOf: []string{merging.OnlyCode, merging.OnlyArtifacts}},
			{name: "uncommitted", kind: text, oneOf: []string{"refuse", merging.TakeUncommitted}, about: "if a source has uncommitted files: refuse (default), or commit them first"},
			{name: "unread", kind: text, oneOf: []string{"refuse", merging.LeaveUnread}, about: "messages that agents of sources have not read (default refuse)"},
			{name: "squash", kind: toggle, about: "land the code as one ordinary commit"},
			{name: "queue", kind: toggle, about: "only queue it, for leslie merge land"},
			{name: "approval", kind: toggle, about: "apply only after a person's approval", of: "RequireApproval"},
			{name: "preview", kind: toggle, about: "change nothing", of: "DryRun"},
		},
		run: func(c *call) (any, error) {
			in := merges.Request{
				Sources: c.list("sources"), Target: c.own(), Scope: c.list("scope"), Strategy: thread.Strategy(c.text("strategy")),
				RequireApproval: c.on("approval"), DryRun: c.on("preview"), Only: c.text("only"), Squash: c.on("squash"), Queue: c.on("queue"),
				Uncommitted: c.text("uncommitted"), Unread: c.text("unread"),
			}
			c.check(in.Faults)
			defer c.progress("merging", true)()
			return useCase(c, "merge", in.DryRun, merges.Merge, in)
		},
	}
}

func landTool() tool {
	hows := []string{thread.LandedMerge, thread.LandedSquash, thread.LandedRebase}
	return tool{
		name: "land", title: "Land the code of threads",
		description: "Bring the code of threads to the branch from which each began, or that of its parent's code: each in an operation of its own. A person has to agree (T402) unless the policy lets agents land. A conflict leaves the landing pending (T301): resolve it, then the same call again. Afterwards the thread is completed, and its worktree and branch are removed.",
		arguments: []argument{
			{name: "threads", kind: list, about: "default: your own thread"},
			{name: "onto", kind: text, about: "another branch"},
			{name: "how", kind: text, oneOf: hows, about: "a merge commit, one commit, or the thread's own commits on top (default as configured, else merge)"},
			{name: "message", kind: text, about: "of the commit (default: the thread's title and intent)"},
			{name: "keep", kind: toggle, about: "leave the thread, its worktree and its branch as they are"},
			{name: "uncommitted", kind: text, oneOf: []string{"refuse", merging.TakeUncommitted}, about: "uncommitted code (default refuse)"},
			{name: "unread", kind: text, oneOf: []string{"refuse", merging.LeaveUnread}, about: "messages that their agents have not read (default refuse)"},
			{name: "preview", kind: toggle, about: "change nothing", of: "DryRun"},
		},
		run: func(c *call) (any, error) {
			in := landing.Request{
				Threads: c.list("threads"), Onto: c.text("onto"), How: c.text("how"), Message: c.text("message"), Keep: c.on("keep"), DryRun: c.on("preview"),
				Uncommitted: c.text("uncommitted"), Unread: c.text("unread"),
			}
			if len(in.Threads) == 0 && !c.faulty("threads") {
				in.Threads = []string{c.own()}
			}
			c.check(in.Faults)
			defer c.progress("landing", true)()
			d, err := useCase(c, "land", in.DryRun, landing.Land, in)
			if landed, ok := d.(*landing.Result); ok {
				for _, item := range landed.Items {
					if item.Completed {
						c.speakNoMore(item.ThreadID)
					}
				}
			}
			return d, err
		},
	}
}

// What resolve does with a pending merge.
const (
	doShow  = "show"
	doApply = "apply"
	doAbort = "abort"
)

func resolveTool() tool {
	takes := []string{merge.TakeOurs, merge.TakeTheirs, merge.TakeBase, merge.TakeBoth, merge.TakeDelete, merge.TakeKeep}
	return tool{
		name: "resolve", title: "Resolve a pending merge", takesBack: true,
		description: "Without take or content, show a pending merge and its conflicts with all sides. With one of them, decide a conflict: ours is the version of the thread merged into. Once none is open, apply the merge; or abort it.",
		arguments: []argument{
			must(argument{name: "merge", kind: text, about: "its id"}),
			{name: "conflict", kind: text, about: "a conflict's id, or a path for all of its conflicts (default: every open one)"},
			{name: "take", kind: text, oneOf: takes},
			{name: "content", kind: text, about: "instead of take: the text for the conflict, without the lines around it"},
			{name: "whole", kind: toggle, about: "content is the whole file at the path"},
			{name: "replace", kind: toggle, about: "also replace earlier answers"},
			{name: "reason", kind: text, about: "why"},
			{name: "action", kind: text, oneOf: []string{doShow, doApply, doAbort}, about: "instead of a decision"},
			{name: "unread", kind: text, oneOf: []string{"refuse", merging.LeaveUnread}, about: "with apply: as for merge"},
		},
		run: runResolve,
	}
}

func runResolve(c *call) (any, error) {
	id, action := c.text("merge"), c.text("action")
	decides := c.has("take") || c.has("content")
	for _, name := range []string{"take", "content", "whole", "replace", "reason"} {
		switch {
		case !c.has(name):
		case action != "":
			c.fault(name, "", name+" cannot be used with action")
		case !decides:
			c.fault(name, "", name+" needs take or content")
		}
	}
	if c.has("conflict") && (action == doApply || action == doAbort) {
		c.fault("conflict", c.text("conflict"), "conflict cannot be used with action "+action)
	}
	if c.has("unread") && action != doApply {
		c.fault("unread", c.text("unread"), "unread goes with action "+doApply)
	}
	switch {
	case decides:
		return decide(c, id)
	case action == doApply:
		defer c.progress("applying the merge", true)()
		return useCase(c, "merge continue", false, merges.Continue, merges.ContinueRequest{Merge: id, Unread: c.text("unread")})
	case action == doAbort:
		return useCase(c, "merge abort", false, merges.Abort, merges.AbortRequest{Merge: id})
	}
	return useCase(c, "merge status", true, merges.Status, merges.StatusRequest{Merge: id, Conflict: c.text("conflict")})
}

// decide decides a conflict.
func decide(c *call, id string) (any, error) {
	choice := merging.Choice{About: c.text("conflict"), All: c.on("replace"), Take: c.text("take"), Reason: c.text("reason")}
	if content, given := c.values["content"].(string); given {
		if c.has("take") {
			c.fault("content", "", "content cannot be used with take")
		}
		if choice.About == "" {
			c.fault("conflict", "", "conflict is missing: content needs the conflict or the path that it is for")
		}
		choice.Whole = c.on("whole")
		choice.Take, choice.Content = merge.TakeText, func() ([]byte, error) { return []byte(content), nil }
	}
	if c.has("whole") && c.has("take") {
		c.fault("whole", "", "whole goes with content")
	}
	in := merges.ResolveRequest{Merge: id, Choice: choice}
	if len(c.faults) == 0 {
		c.check(in.Faults)
	}
	return useCase(c, "merge resolve", false, merges.Resolve, in)
}
