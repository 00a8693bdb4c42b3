package guide

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"leslie/internal/app/projects"
)

// guideVersion is the version of the block's wording. Increase it when agents should
// read the block again.
const guideVersion = 13

// What encloses the block.
const (
	// Begin and End enclose the block.
	Begin = "<!-- leslie:begin"
	End   = "<!-- leslie:end -->"
	// OldBegin and OldEnd enclose the Node edition's block; its first tag has attributes.
	OldBegin = "<leslie_system_guide"
	OldEnd   = "</leslie_system_guide>"
)

// Block returns the block. Every agent reads it in every session, so it has the round, what an
// answer looks like, and the rules whose breach has cost somebody work; docs/guides/working.md has the rest.
func Block() string {
	return fmt.Sprintf("%s v%d: this block is leslie's; leslie init rewrites it -->\n", Begin, guideVersion) + strings.ReplaceAll(`## Working with leslie

Work in this project is split into threads. A thread has a folder for its plans and notes, ~.leslie/threads/ID/~ in the main
checkout, and may have a git branch with a worktree of its own; ~leslie context~ prints both paths. One round:

    leslie claim --next --wait 90s   # threadId null: repeat, until reason is objective_completed
    export LESLIE_THREAD=ID          # later calls speak for this thread
    leslie context                   # messages, what to deliver, where to work, what comes next
    # work; commit in the worktree that context names; keep plan.md and progress.md up to date
    leslie context                   # alone, and read it: done refuses unread messages (T113) and code without commit (T117)
    leslie done

Exit status 0 means success; ~--format json~ is for parsing. An error has a code, a hint, and ~next~: lines that you can
run unchanged. Retry only what is retryable. ~leslie explain CODE~ explains it. W105 in an answer: messages wait, run
~leslie context~ at once. Nothing prompts you.

Rules whose breach has cost somebody work:

1. Work only in your own thread: in its folder, and in the worktree that the line ~code:~ of ~leslie context~ names. What is
   wrong elsewhere: ~leslie inject ID --content TEXT~ to its thread, or ~leslie spawn~ a new one.
2. Commit on the thread's branch. Never ~git stash~, which is one list for all worktrees, nor ~git clean -x~ or
   ~git stash --all~, which take ~.leslie/~ away. Below ~.leslie/~ change only your own thread's folder and, to decide a
   conflict, ~.leslie/merges/MERGE/work/~.
3. Agents that share a session each set ~LESLIE_ACTOR~, and keep that name. W112: your claim was ended; stop, and take other work.
4. Do not guess what a person should decide: ~leslie ask --question TEXT~, or ~leslie transfer --scope CAPABILITY --reason TEXT~
   for a permission. If you cannot go on, write why into progress.md, and ~leslie suspend --reason TEXT~.
5. Write ~plan.md~ first, as a checklist, and update ~progress.md~ after each step: a thread can be taken over at any moment. In a
   thread that has a parent they are ~plan-ID.md~ and ~progress-ID.md~, whatever its intent says; inherited ones are their author's.

If you lead: ~leslie spawn --code TITLE --parent ID~; ~leslie wait ID~ until the parts are done; ~leslie merge --sources A,B
--target ID~ (after T301 ~leslie merge resolve MERGE PATH --take both~ and the like, then ~leslie merge continue MERGE~); test;
then your own done. Otherwise leave merging to whoever leads. Landing on people's branch (~leslie land ID~) is for whoever was
told to. If ~context~ names a ~leslie pull~ line, run it before you go on. ~leslie transfer ID --to NAME~ hands a thread over,
~leslie undo~ takes your last operation back.

More: ~leslie help working~ (read it before you split, merge or hand over work), ~leslie help how~, ~leslie help COMMAND~
`, "~", "`") + End
}

// AgentsGuide is the block as use cases take it.
func AgentsGuide() *projects.AgentsGuide {
	return &projects.AgentsGuide{
		Update: Update,
		Outdated: func(text []byte) bool {
			_, _, ours := FindBlock(text, Begin, End)
			_, _, older := FindBlock(text, OldBegin, OldEnd)
			return (ours || older) && !bytes.Equal(text, Update(text))
		},
	}
}

// Update puts the block into a text: it replaces an older block, wherever that stands,
// or adds one at the end. Everything else stays unchanged, including line ends.
func Update(old []byte) []byte {
	block, newline := []byte(Block()), []byte("\n")
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
