package main

import (
	"bytes"
	"fmt"
	"strings"
)

// This file writes the block in AGENTS.md that teaches an agent the commands.
// It is made from the command table, so it cannot say what leslie does not do.

// guideVersion is the version of the block's wording: raised when an agent
// should read it anew.
const guideVersion = 2

const (
	guideBegin = "<!-- leslie:begin"
	guideEnd   = "<!-- leslie:end -->"
	// An earlier edition's block.
	oldBegin = "<leslie_system_guide>"
	oldEnd   = "</leslie_system_guide>"
)

// occasion is when an agent needs a command: a heading of the block.
type occasion string

// The occasions, in the order in which work meets them.
const (
	starting  occasion = "Start"
	sharing   occasion = "Share"
	asking    occasion = "Ask a person"
	stepIn    occasion = "Step in"
	watching  occasion = "Wait and look"
	bringing  occasion = "Merge"
	goingBack occasion = "Go back"
	ending    occasion = "End"
)

func occasions() []occasion {
	return []occasion{starting, sharing, asking, stepIn, watching, bringing, goingBack, ending}
}

// lesson is how the block teaches a command.
type lesson struct {
	when occasion
	line string // an example behind "leslie", with words in capitals to fill in
}

// guide is the block.
func guide(all []*command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s v%d: this block is leslie's; leslie init rewrites it -->\n", guideBegin, guideVersion)
	b.WriteString(`## Working with leslie

Objectives are split into threads of work. A thread's artifacts (plans, designs, progress, notes) are files in
` + "`.leslie/threads/ID/`" + `: write them with your own tools, and change nothing else below ` + "`.leslie/`" + `.

One round: ` + "`leslie claim --next`" + ` (threadId null: nothing is ready), ` + "`export LESLIE_THREAD=ID`" + `, ` + "`leslie context`" + `, work,
` + "`leslie done`" + `. LESLIE_THREAD says which thread you speak for; its ID may then be left out. Run ` + "`leslie context`" + ` again
between steps: what others injected comes first, once; heed what is immediate before you go on.

- Answers to parse: ` + "`--format json`" + ` gives success, data, revision. Exit status 0 means done.
- An error has a code, a hint, and next: lines that run as they stand. A failed command has changed nothing. Try again
  only what is retryable; ` + "`leslie explain CODE`" + ` says more. After some failed commands in a row your thread is suspended.
- ` + "`--request-id ID`" + ` makes repeating a write harmless, ` + "`--expect-revision N`" + ` guards what you have read.
- Nothing prompts you. People decide approvals: ask, then wait. Never say ` + "`--as user`" + `.
`)
	for _, when := range occasions() {
		b.WriteString(lessons(all, when))
	}
	b.WriteString("\nMore: `leslie help`, `leslie help COMMAND`\n" + guideEnd)
	return b.String()
}

// lessons are the commands for one occasion.
func lessons(all []*command, when occasion) string {
	var b strings.Builder
	for _, cmd := range all {
		if cmd.teach.when == when {
			fmt.Fprintf(&b, "- `leslie %s`: %s\n", cmd.teach.line, cmd.summary)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + string(when) + ":\n" + b.String()
}

// withGuide puts the block into a text: in place of an older one, else at the
// end. Everything outside the block stays as it is, line ends too.
func withGuide(old []byte, all []*command) []byte {
	block, newline := []byte(guide(all)), []byte("\n")
	// A carriage return at the very end would make a line end with the newline
	// that follows it.
	if bytes.Contains(old, []byte("\r\n")) || bytes.HasSuffix(old, []byte("\r")) {
		newline = []byte("\r\n")
		block = bytes.ReplaceAll(block, []byte("\n"), newline)
	}
	if at, end, ok := findBlock(old, guideBegin, guideEnd); ok {
		return splice(old, at, end, block)
	}
	if at, end, ok := findBlock(old, oldBegin, oldEnd); ok {
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

// findBlock finds the first begin that is followed by its end: a begin without
// an end is somebody's text and stays.
func findBlock(text []byte, begin, end string) (from, to int, ok bool) {
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
