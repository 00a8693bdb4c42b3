package toolserver

import (
	"time"

	"leslie/internal/app/artifacts"
	"leslie/internal/app/decisions"
	"leslie/internal/app/merges"
	"leslie/internal/app/threads"
	"leslie/thread"
)

// This file has the tools for work with others: reference, diff, inject, ask, answer, comments, wait.

func referenceTool() tool {
	return tool{
		name: "reference", title: "Reference another thread's artifacts",
		description: "Give a thread read-only access to another thread's artifacts: frozen as they are now, or live as they change. With refresh, a frozen reference gets what has changed since.",
		arguments: []argument{
			{name: "target", kind: text, about: "the thread to read from"},
			{name: "thread", kind: text, about: "the thread that reads (default: your own)", of: "From"},
			{name: "scope", kind: list, about: "only these: paths, folders, globs"},
			{name: "binding", kind: text, oneOf: []string{string(thread.Frozen), string(thread.Live)}, about: "default frozen"},
			{name: "refresh", kind: text, about: "instead of target: the id of a reference"},
		},
		run: func(c *call) (any, error) {
			if c.has("refresh") {
				for _, name := range []string{"target", "thread", "scope", "binding"} {
					if c.has(name) {
						c.fault(name, "", name+" cannot be used with refresh")
					}
				}
				return useCase(c, "reference refresh", false, artifacts.RefreshReference, artifacts.ReferenceRequest{Reference: c.text("refresh")})
			}
			in := artifacts.CreateReferenceRequest{From: c.own(), Target: c.text("target"), Scope: c.list("scope"), Binding: thread.Binding(c.text("binding"))}
			c.check(in.Faults)
			return useCase(c, "reference", false, artifacts.CreateReference, in)
		},
	}
}

func diffTool() tool {
	return tool{
		name: "diff", title: "Show what a thread changed", reads: true,
		description: "What a thread changed: its code (landed, committed, not committed; compared with the branch in which it lands), then its artifacts, compared with what it inherited. Other versions have artifacts only: a checkpoint, a pending merge (what it would change), THREAD@CHECKPOINT; with to, any two are compared.",
		arguments: []argument{
			{name: "thread", kind: text, about: "the first version (default: your own thread)", of: "From"},
			{name: "to", kind: text, about: "the second"},
			{name: "scope", kind: list, about: "only these: paths, folders, globs of artifacts; code:PATH of the code"},
			{name: "only", kind: text, oneOf: []string{string(merges.OnlyCode), string(merges.OnlyArtifacts)}, about: "default both"},
			{name: "stat", kind: toggle, about: "counts only, no lines"},
		},
		run: func(c *call) (any, error) {
			in := merges.DiffRequest{From: c.own(), To: c.text("to"), Scope: c.list("scope"), Only: merges.DiffOnly(c.text("only")), Stat: c.on("stat")}
			c.check(in.Faults)
			return useCase(c, "diff", true, merges.Diff, in)
		},
	}
}

func injectTool() tool {
	return tool{
		name: "inject", title: "Send a message to a thread",
		description: "Send another thread's agent data, a constraint that holds until the thread ends, feedback, or a priority. It gets it with its context.",
		arguments: []argument{
			must(argument{name: "thread", kind: text, about: "who gets it"}),
			must(argument{name: "content", kind: text}),
			{name: "type", kind: text, oneOf: []string{string(thread.InjectData), string(thread.InjectConstraint), string(thread.InjectFeedback), string(thread.InjectPriority)}, about: "default feedback"},
			{name: "urgency", kind: text, oneOf: []string{string(thread.Immediate), string(thread.NextStep)}, about: "default next_step"},
		},
		run: func(c *call) (any, error) {
			in := threads.InjectRequest{Thread: c.text("thread"), Type: thread.InjectionType(c.text("type")), Urgency: thread.Urgency(c.text("urgency")), Content: c.text("content")}
			if in.Type == "" {
				in.Type = thread.InjectFeedback
			}
			c.check(in.Faults)
			return useCase(c, "inject", false, threads.Inject, in)
		},
	}
}

func askTool() tool {
	return tool{
		name: "ask", title: "Ask a person or another thread",
		description: "Ask a person what you must not decide yourself, or another thread's agent with to. The work goes on; the answer arrives as a message with context, or here with seconds.",
		arguments: []argument{
			must(argument{name: "question", kind: text}),
			{name: "thread", kind: text, about: "who asks (default: your own)"},
			{name: "to", kind: text, about: "a thread (default: a person)"},
			{name: "choices", kind: list, about: "answers to choose from"},
			seconds("wait so long for the answer"),
		},
		run: func(c *call) (any, error) {
			in := decisions.AskRequest{Thread: c.own(), To: c.text("to"), Question: c.text("question"), Choices: c.list("choices"), Wait: c.seconds() > 0, Timeout: c.seconds()}
			if in.To == string(thread.ByHuman) {
				in.To = ""
			}
			c.check(in.Faults)
			defer c.progress("waiting for an answer", in.Wait)()
			return useCase(c, "ask", false, decisions.Ask, in)
		},
	}
}

func answerTool() tool {
	return tool{
		name: "answer", title: "Answer a question",
		description: "Answer a question that another thread's agent has put to your thread; context shows them. What is put to a person only a person answers.",
		arguments: []argument{
			must(argument{name: "question", kind: text, about: "its id"}),
			{name: "text", kind: text},
			{name: "choice", kind: text, about: "instead of text: one of the choices that were offered, or its number"},
		},
		run: func(c *call) (any, error) {
			in := decisions.AnswerRequest{Question: c.text("question"), Text: c.text("text"), Choice: c.text("choice")}
			c.check(in.Faults)
			return useCase(c, "answer", false, decisions.Answer, in)
		},
	}
}

func commentsTool() tool {
	return tool{
		name: "comments", title: "Read, resolve and make comments",
		description: "The open comments on lines of a thread's artifacts or code, which keep its agent from completing it (T113). Act on each, then resolve it. With place and text, make one.",
		arguments: []argument{
			about("the thread"),
			{name: "resolve", kind: text, about: "the id of a comment that you have acted on"},
			{name: "place", kind: text, about: "PATH, PATH:LINE or PATH:FIRST-LAST; code:PATH for the code"},
			{name: "text", kind: text, about: "with place: the comment"},
		},
		run: func(c *call) (any, error) {
			for _, name := range []string{"thread", "place", "text"} {
				if c.has("resolve") && c.has(name) {
					c.fault(name, "", name+" cannot be used with resolve")
				}
			}
			switch {
			case c.has("resolve"):
				return useCase(c, "comment resolve", false, threads.ResolveComment, threads.ResolveCommentRequest{Comment: c.text("resolve")})
			case c.has("place") || c.has("text"):
				in := threads.CommentRequest{Thread: c.own(), Place: c.text("place"), Text: c.text("text")}
				c.check(in.Faults)
				return useCase(c, "comment", false, threads.Comment, in)
			}
			in := threads.ListCommentsRequest{}
			if own := c.own(); own != "" {
				in.Threads = []string{own}
			}
			return useCase(c, "comments", true, threads.ListComments, in)
		},
	}
}

// patience is how long wait waits if nobody says: clients time out after a minute.
const patience = 50 * time.Second

func waitTool() tool {
	return tool{
		name: "wait", title: "Wait for threads", reads: true,
		description: "Wait until threads are done, have any change, have no active children, have a person's decision, or are ready. It also returns when messages wait for you. T109 means: not yet, wait again.",
		arguments: []argument{
			about("the thread"),
			{name: "threads", kind: list, about: "several threads instead"},
			{name: "until", kind: text, oneOf: untilWords(), about: "default done"},
			{name: "since", kind: number, about: "with any: changes after this revision"},
			seconds("default 50"),
		},
		run: runWait,
	}
}

func untilWords() []string {
	return []string{string(thread.UntilDone), string(thread.UntilAny), string(thread.UntilChildren), string(thread.UntilDecision), string(thread.UntilReady)}
}

func runWait(c *call) (any, error) {
	in := threads.WaitRequest{Threads: c.list("threads"), Until: thread.Until(c.text("until")), Timeout: c.seconds()}
	if in.Until == "" {
		in.Until = thread.UntilDone
	}
	if in.Timeout == 0 {
		in.Timeout = patience
	}
	if since, ok := c.values["since"].(int); ok {
		revision := thread.Revision(since)
		in.Since = &revision
		if in.Until != thread.UntilAny {
			c.fault("since", "", "since goes with until any")
		}
	}
	switch {
	case c.has("thread") && c.has("threads"):
		c.fault("threads", "", "threads cannot be used with thread")
	case c.has("thread") || len(in.Threads) == 0 && in.Until.NeedsThread(c.who().Thread != ""):
		in.Threads = []string{c.own()}
	}
	defer c.progress("waiting", true)()
	return useCase(c, "wait", true, threads.Wait, in)
}
