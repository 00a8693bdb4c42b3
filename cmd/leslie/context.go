package main

import (
	"fmt"
	"strings"

	"leslie/store"
	"leslie/thread"
)

// maxContext is the longest context block, in characters: it is made for a
// prompt, where every token is paid for.
const maxContext = 9500

type contextData struct {
	Context string `json:"context"`
}

func (d *contextData) Text(p *page) { p.b.WriteString(d.Context + "\n") }

func contextCommand() *command {
	return &command{
		name: "context", summary: "print a thread's context as a block for an agent's prompt",
		detail: "Its own artifacts, those it refers to, its dependencies, branch and worktree;\n" +
			"at most 9,500 characters.",
		example:  "leslie context thread-a1b2c3d4",
		operands: []operandSpec{threadOperand()}, run: runContext,
	}
}

func runContext(c *call) (Data, error) {
	arg := c.subject()
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	b := &contextBlock{}
	_, err = c.view(func(s *thread.State) error {
		t, err := s.Thread(arg)
		if err != nil {
			return err
		}
		if b.refs, err = referencesFrom(s, t); err != nil {
			return err
		}
		b.thread, b.objective = t, ""
		if o, ok := s.Objectives.Peek(string(t.ObjectiveID)); ok {
			b.objective = o.Title
		}
		b.depends = nil
		for _, id := range t.DependsOn {
			b.depends = append(b.depends, string(id)+" ("+string(s.StatusOf(id))+")")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := b.read(c, st); err != nil {
		return nil, err
	}
	return &contextData{Context: b.render()}, nil
}

// contextBlock is what the block says.
type contextBlock struct {
	thread    thread.Thread
	objective string
	depends   []string
	refs      []thread.Reference
	own       []string
	referred  [][]string // of each reference
}

// read lists the artifacts, its own and one level of those it refers to. What
// cannot be read is said in the block: a context with a gap beats none.
func (b *contextBlock) read(c *call, st *store.Store) error {
	entries, err := st.Artifacts(b.thread.ID)
	if err != nil {
		return err
	}
	b.own = assets(entries)
	for _, ref := range b.refs {
		switch entries, err := c.readable(st, ref); {
		case !ref.Resolved:
			b.referred = append(b.referred, []string{"(the target could not be resolved)"})
		case err != nil:
			b.referred = append(b.referred, []string{"(cannot be read: " + err.Error() + ")"})
		default:
			b.referred = append(b.referred, assets(entries))
		}
	}
	return nil
}

func assets(entries []store.Entry) []string {
	var out []string
	for _, e := range filesOf(entries) {
		if e.Type == store.TypeFile {
			out = append(out, fmt.Sprintf("%s (%d bytes)", e.Path, e.Size))
		}
	}
	return out
}

// render writes the block. Content is escaped so that none of it can end the
// block or begin another; lists are cut first, the intent last.
func (b *contextBlock) render() string {
	t := b.thread
	open := fmt.Sprintf("<thread_context thread=%q objective=%q relations_file=%q>\n", t.ID, t.ObjectiveID, store.Dir+"/"+store.StateFile)
	const closing = "</thread_context>"
	var body strings.Builder
	say := func(name, value string) {
		if value != "" {
			body.WriteString(name + ": " + inert(value) + "\n")
		}
	}
	say("status", string(t.Status))
	say("title", t.Title)
	say("goal", b.objective)
	say("executor", string(t.Executor))
	say("parent", string(t.ParentID))
	say("branch", t.Branch)
	say("worktree", t.Worktree)
	say("depends on", strings.Join(b.depends, ", "))
	say("tags", joined(t.Tags))
	body.WriteString("intent:\n" + indented(cut(t.Intent, 4000)))
	body.WriteString("artifacts in " + threadPath(t.ID) + "/:\n" + listed(b.own))
	for i, ref := range b.refs {
		where := threadPath(ref.Target)
		if ref.Binding == thread.Frozen {
			where = frozenPath(ref)
		}
		body.WriteString(fmt.Sprintf("reference %s to %s (%s, read-only) in %s/:\n", ref.ID, ref.Target, ref.Binding, where) + listed(b.referred[i]))
	}
	body.WriteString(fmt.Sprintf("commands: leslie status %s; leslie artifacts %s; leslie done %s; leslie help\n", t.ID, t.ID, t.ID))
	return open + fitted(body.String(), maxContext-len([]rune(open))-len([]rune(closing))) + closing
}

// fitted cuts whole lines off the end until the text is at most n characters
// long, and says so.
func fitted(text string, n int) string {
	const notice = "(cut here: leslie status and leslie artifacts show the rest)\n"
	if len([]rune(text)) <= n {
		return text
	}
	left := n - len([]rune(notice))
	var b strings.Builder
	for line := range strings.Lines(text) {
		if left -= len([]rune(line)); left < 0 {
			break
		}
		b.WriteString(line)
	}
	return b.String() + notice
}

func listed(lines []string) string {
	if len(lines) == 0 {
		return "  (none)\n"
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("  " + inert(l) + "\n")
	}
	return b.String()
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString("  " + inert(line) + "\n")
	}
	return b.String()
}

// inert is content that cannot be taken for the block's own markup.
func inert(s string) string { return strings.ReplaceAll(escape(s), "<", "&lt;") }
