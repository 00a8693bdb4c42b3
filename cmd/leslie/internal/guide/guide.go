package guide

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/internal/app/projects"
)

// This file writes the block in AGENTS.md that tells agents which commands to use. It is
// generated from the command table, so it cannot name a command that does not exist.

// guideVersion is the version of the block's wording. Increase it when agents should
// read the block again.
const guideVersion = 12

// What encloses the block.
const (
	// Begin and End enclose the block.
	Begin = "<!-- leslie:begin"
	End   = "<!-- leslie:end -->"
	// OldBegin and OldEnd enclose the Node edition's block; its first tag has attributes.
	OldBegin = "<leslie_system_guide"
	OldEnd   = "</leslie_system_guide>"
)

// Block returns the block.
func Block(all []*cli.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s v%d: this block is leslie's; leslie init rewrites it -->\n", Begin, guideVersion)
	b.WriteString(`## Working with leslie

Objectives are split into threads of work. A thread's artifacts (plans, designs, progress, notes) are files in
` + "`.leslie/threads/ID/`" + `: write them with your own tools. In a linked git worktree that folder is in the main
checkout: use the one that ` + "`leslie context`" + ` prints. Below ` + "`.leslie/`" + ` change nothing else but the files
of a pending merge, ` + "`.leslie/merges/MERGE/work/`" + `: lines without markers there decide a conflict.

One round: ` + "`leslie claim --next --wait 90s`" + ` (threadId null: repeat it until reason is objective_completed;
reason messages: read them with ` + "`leslie context`" + ` first), ` + "`export LESLIE_THREAD=ID`" + `, ` + "`leslie context`" + `, work,
` + "`leslie done`" + `. With LESLIE_THREAD set you can omit the thread's ID. When
an answer warns W105, messages wait for you: run ` + "`leslie context`" + ` at once, in a call of its own, which shows them first;
read them, and act on immediate ones before you continue. ` + "`leslie done`" + ` refuses while messages are unread (T113) or the code
is not committed (T117).

- For output to parse, use ` + "`--format json`" + `: success, data, revision. Exit status 0 means success.
- An error has a code, a hint, and next: lines you can run unchanged. A failed command has changed nothing. Retry only
  if the error is retryable; ` + "`leslie explain CODE`" + ` explains it. Too many failed commands in a row suspend your thread.
- ` + "`--request-id ID`" + ` makes it safe to repeat a write; ` + "`--expect-revision N`" + ` makes it fail if what you read has changed.
- Nothing prompts you. People decide approvals: request one, then wait.
- Claims and history know you by your session. Agents that share one session each set a name of their own, ` + "`LESLIE_ACTOR`" + `
  or ` + "`--actor NAME`" + `, and keep it for every call.

How to work:
- Plan first. Read what ` + "`leslie context`" + ` lists, then write ` + "`plan.md`" + ` before you change anything else: steps as a checklist, and
  how you will know that each is done. When what you learn changes the plan, change the file.
- One file for each purpose: ` + "`plan.md`" + ` what to do; ` + "`progress.md`" + ` what is done, in progress or blocked; ` + "`design/`" + ` how, and why
  not otherwise; ` + "`notes/`" + ` findings, a file for each topic. Whoever merges or continues your thread reads only these.
- In a thread that has a parent write ` + "`plan-ID.md`" + ` and ` + "`progress-ID.md`" + `, with your thread's ID, in their place: others of the same name would be a
  conflict when yours is merged. An inherited ` + "`plan.md`" + ` or ` + "`progress.md`" + ` is its author's; in a thread that you took over go on with its files.
- Update your progress file after each step, not at the end: a thread can be suspended, or taken over, at any moment.
- Spawn a thread for a part that is independent, can run beside others, or needs a clean context. Its intent says what to
  deliver and how to check it; ` + "`--inherit partial --scope plan.md`" + ` or ` + "`--ref ID`" + ` give it what it has to read, ` + "`--depends-on`" + `
  the order. Both are what is there now: ` + "`leslie pull`" + ` or ` + "`leslie reference refresh REF`" + ` bring later changes, ` + "`reference --binding live`" + `
  follows them. Do not spawn for a few steps in a row, or for what needs everything you know now: do that yourself.
- Stay in scope: change what your thread's intent asks for, in your own thread's folder. What is wrong elsewhere goes into
  ` + "`progress.md`" + `, to its thread with ` + "`leslie inject`" + `, or into a new thread; other threads' artifacts are for reading.
- A thread that changes code gets a branch and a worktree with ` + "`leslie spawn --code`" + `. If ` + "`leslie context`" + ` has a line ` + "`code:`" + `,
  work only in the folder that it names and commit there. ` + "`git stash`" + ` is one list for all worktrees, so yours may be taken by others:
  commit instead. Never run ` + "`git clean -x`" + ` or ` + "`git stash --all`" + `: they take ` + "`.leslie/`" + `, the work of every thread, away. ` + "`leslie merge --sources ID --target PARENT --queue`" + ` hands finished work over;
  ` + "`leslie diff ID`" + ` shows what a thread changed, and ` + "`leslie land ID`" + ` brings it to the branch from which it began, if you may.
- Do not guess what a person should decide: request approval and say what you need. If you cannot go on, write why into
  ` + "`progress.md`" + ` and suspend the thread with that reason.
- If you lead and the holder of a thread below yours is gone (` + "`leslie context`" + ` says when it was last heard of), go on with what is
  there: ` + "`leslie claim ID --take-over --reason TEXT`" + `, or give it to another:
  ` + "`leslie transfer ID --to NAME`" + `. W112 tells you that this happened to yours: stop, and take other work.
- Before ` + "`leslie done`" + `: every step of the plan is done or marked as left out, with the reason. If you lead, merge the
  threads that you spawned first.
`)
	for _, when := range cli.Topics() {
		b.WriteString(hints(all, when))
	}
	b.WriteString("\nMore: `leslie help`, `leslie help COMMAND`\n" + End)
	return b.String()
}

// hints are the commands for one topic.
func hints(all []*cli.Command, when cli.Topic) string {
	var b strings.Builder
	for _, cmd := range all {
		if cmd.Hint.When == when {
			fmt.Fprintf(&b, "- `leslie %s`: %s\n", cmd.Hint.Line, cmd.Summary)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + string(when) + ":\n" + b.String()
}

// AgentsGuide is the block as use cases take it.
func AgentsGuide(all []*cli.Command) *projects.AgentsGuide {
	return &projects.AgentsGuide{
		Update: func(old []byte) []byte { return Update(old, all) },
		Outdated: func(text []byte) bool {
			_, _, ours := FindBlock(text, Begin, End)
			_, _, older := FindBlock(text, OldBegin, OldEnd)
			return (ours || older) && !bytes.Equal(text, Update(text, all))
		},
	}
}

// Update puts the block into a text: it replaces an older block, wherever that stands,
// or adds one at the end. Everything else stays unchanged, including line ends.
func Update(old []byte, all []*cli.Command) []byte {
	block, newline := []byte(Block(all)), []byte("\n")
	// A carriage return at the very end would make a line end with the newline
	// that follows it.
	if bytes.Contains(old, []byte("\r\n")) || bytes.HasSuffix(old, []byte("\r")) {
		newline = []byte("\r\n")
		block = bytes.ReplaceAll(block, []byte("\n"), newline)
	}
	out := withBlock(old, block, newline)
	at, end, ok := FindBlock(out, Begin, End)
	if !ok {
		return out
	}
	return slices.Concat(WithoutOld(out[:at]), out[at:end], WithoutOld(out[end:]))
}

// Without is a text without the block, and without the empty line that Update put before it.
func Without(text []byte) []byte {
	at, end, ok := FindBlock(text, Begin, End)
	if !ok {
		return text
	}
	for _, newline := range []string{"\r\n", "\n"} {
		end += len(text[end:]) - len(bytes.TrimPrefix(text[end:], []byte(newline)))
		if before, is := bytes.CutSuffix(text[:at], []byte(newline+newline)); is {
			at = len(before) + len(newline)
		}
	}
	return splice(text, at, end, nil)
}

// WithoutOld removes the blocks of the Node edition: beside today's they would teach
// commands that do not exist.
func WithoutOld(text []byte) []byte {
	for {
		at, end, ok := FindBlock(text, OldBegin, OldEnd)
		if !ok {
			return text
		}
		text = splice(text, at, end, nil)
	}
}

// withBlock is a text with the block in the place of an older one, or at the end.
func withBlock(old, block, newline []byte) []byte {
	if at, end, ok := FindBlock(old, Begin, End); ok {
		return splice(old, at, end, block)
	}
	if at, end, ok := FindBlock(old, OldBegin, OldEnd); ok {
		return splice(old, at, end, block)
	}
	if len(old) == 0 {
		return append(append([]byte{}, block...), '\n')
	}
	out := append([]byte{}, old...)
	if !bytes.HasSuffix(out, newline) {
		out = append(out, newline...)
	}
	return append(append(append(out, newline...), block...), newline...)
}

func splice(old []byte, at, end int, block []byte) []byte {
	return append(append(append([]byte{}, old[:at]...), block...), old[end:]...)
}

// FindBlock finds the first begin that is followed by its end: a begin without
// an end is somebody's text and stays.
func FindBlock(text []byte, begin, end string) (from, to int, ok bool) {
	for from = 0; ; from++ {
		i := bytes.Index(text[from:], []byte(begin))
		if i < 0 {
			return 0, 0, false
		}
		from += i
		rest := text[from+len(begin):]
		close := bytes.Index(rest, []byte(end))
		if close < 0 {
			return 0, 0, false
		}
		if again := bytes.Index(rest, []byte(begin)); again < 0 || again > close {
			return from, from + len(begin) + close + len(end), true
		}
	}
}
