package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"leslie/internal/app"
	"leslie/store"
	"leslie/thread"
)

// This file is context: what a thread's agent has to know, as one block for its
// prompt. What others told the thread comes first and is cut last; what the block
// has shown to that agent counts as seen.

const (
	// maxContext is the longest block, in characters: it is made for a prompt,
	// where every token is paid for.
	maxContext = 9500
	// maxInjected is the most of one injection, in characters as they read.
	maxInjected = 3000
	// maxField is the longest value on a line of its own.
	maxField = 500
	// seenTimeout is how long the note that something was seen waits for the lock.
	seenTimeout = time.Second
)

type contextData struct {
	Context string `json:"context"`
}

func (d *contextData) Text(p *page) { p.b.WriteString(d.Context + "\n") }

func contextCommand() *command {
	return &command{
		name: "context", summary: "print what a thread's agent needs to know, as a block for its prompt",
		teach: lesson{starting, "context ID"},
		detail: "Injections, claim, approvals, suggested commands, the thread's artifacts and referenced artifacts, dependencies, " +
			"branch and worktree; at most 9,500 characters. Injections count as seen once the thread's own agent " +
			"(--thread or LESLIE_THREAD) has read them.",
		example:  "leslie context thread-a1b2c3d4",
		operands: []operand{threadOperand()}, run: runContext,
	}
}

func runContext(c *call) (Data, error) {
	arg := c.targetThread()
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	b := &contextBlock{agent: c.who.as == thread.Agent, now: c.now()}
	if _, err := c.view(func(s *thread.State) error { return b.gather(s, arg, c.who.thread) }); err != nil {
		return nil, err
	}
	if err := b.read(c, st); err != nil {
		return nil, err
	}
	text, shown := b.render()
	if b.speaks && len(shown) > 0 {
		c.see(st, b.thread.ID, shown)
	}
	return &contextData{Context: text}, nil
}

// see notes what the thread's agent has just got: an operation of the system,
// since context only reads. Where that cannot be written it waits for the next
// time; the answer stands.
func (c *call) see(st *store.Store, id thread.ThreadID, shown []thread.InjectionID) {
	by := thread.Stamp{Time: c.now(), As: c.who.as, Actor: c.who.actor}
	commit, err := c.system(st, store.Wait{Timeout: seenTimeout}, "seen", by.Time, func(s *thread.State, _ thread.Stamp) thread.ThreadID {
		if s.Limited(string(id)) != nil {
			return "" // its agent changes nothing until a person has looked
		}
		_, _ = s.See(string(id), shown, by) // what is gone was seen by nobody
		return id
	})
	// When nothing came between, the caller knows this revision: its own next
	// --expect-revision is not to fail because of it.
	if err == nil && commit.Changed && commit.Revision == *c.revision+1 {
		c.revision = &commit.Revision
	}
}

// contextBlock is what the block says.
type contextBlock struct {
	agent     bool // an agent asks
	speaks    bool // it speaks for the thread
	now       time.Time
	thread    thread.Thread
	objective string
	depends   []string
	asked     []thread.Approval // nobody has decided them
	granted   []thread.Approval
	wakeable  bool
	refs      []thread.Reference
	own       []string
	referred  [][]string // of each reference
}

// gather takes from the State what the block says.
func (b *contextBlock) gather(s *thread.State, arg, speaker string) error {
	t, err := s.Thread(arg)
	if err != nil {
		return err
	}
	if b.refs, err = referencesFrom(s, t); err != nil {
		return err
	}
	b.thread, b.wakeable = t, s.Resumable(t)
	if o, ok := s.Objectives.Peek(string(t.ObjectiveID)); ok {
		b.objective = o.Title
	}
	for _, id := range t.DependsOn {
		b.depends = append(b.depends, string(id)+" ("+string(s.StatusOf(id))+")")
	}
	for _, g := range s.ApprovalsOf(t.ID) {
		switch g.EffectiveAt(b.now).Status {
		case thread.GrantOpen:
			b.asked = append(b.asked, g)
		case thread.GrantApproved:
			b.granted = append(b.granted, g)
		}
	}
	if b.agent && speaker != "" {
		own, err := s.Thread(speaker)
		b.speaks = err == nil && own.ID == t.ID
	}
	return nil
}

// read lists the artifacts, its own and one level of those it refers to. What
// cannot be read is said in the block: a context with a gap beats none.
func (b *contextBlock) read(c *call, st *store.Store) error {
	entries, err := c.artifacts(st, b.thread.ID)
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
			out = append(out, fmt.Sprintf("%s (%s)", e.Path, many(int(e.Size), "byte")))
		}
	}
	return out
}

// render writes the block, and says which injections it shows. Content is escaped
// so that none of it can end the block, begin another, or look like a line of
// leslie's own. Lists are cut first, then the intent, the injections last.
func (b *contextBlock) render() (block string, shown []thread.InjectionID) {
	open := fmt.Sprintf("<thread_context thread=%q objective=%q relations_file=%q>\n", b.thread.ID, b.thread.ObjectiveID, store.Dir+"/"+store.StateFile)
	const closing = "</thread_context>"
	head := saying("status", string(b.thread.Status)) + saying("title", b.thread.Title)
	room := maxContext - width(open) - width(head) - width(closing)
	told, shown := b.injections(room - width(cutNotice))
	return open + head + told + fitted(b.rest(), room-width(told)) + closing, shown
}

// injections are those that were not seen, as far as there is room.
func (b *contextBlock) injections(room int) (told string, shown []thread.InjectionID) {
	unseen := b.thread.Unseen()
	if len(unseen) == 0 {
		return "", nil
	}
	told = fmt.Sprintf("injections: %d not seen yet", len(unseen))
	if b.agent && !b.speaks {
		told += " (nor now: only --thread " + string(b.thread.ID) + " marks them as seen)"
	}
	told += "\n"
	more := func(n int) string {
		if b.speaks {
			return fmt.Sprintf("(%d more come with the next leslie context)\n", n)
		}
		return fmt.Sprintf("(%d more: leslie status %s)\n", n, b.thread.ID)
	}
	for i, in := range unseen {
		part, fits := b.injection(in, room-width(told)-width(more(len(unseen))))
		if !fits && i > 0 {
			return told + more(len(unseen)-i), shown
		}
		told, shown = told+part, append(shown, in.ID)
	}
	return told, shown
}

// injection is one of them, in at most room characters; fits is false where they
// and not its own limit cut it. Such a one is better told another time, unless it
// is the first.
func (b *contextBlock) injection(in thread.Injection, room int) (text string, fits bool) {
	head := inert(fmt.Sprintf("%s, %s, %s from %s %s at %s", in.Type, in.Urgency, in.ID,
		in.Created.As, cut(in.Created.Actor, maxTitle), in.Created.At.Format(time.RFC3339))) + ":\n"
	tail := "  (cut here: " + threadPath(b.thread.ID) + "/" + app.InjectionsFile + " has all of it)\n"
	text, whole, fits := quotation(in.Content, room-width(head)-width(tail))
	if !whole {
		text += tail
	}
	return head + text, fits
}

// quotation is a text in lines with a margin that no line of leslie's own has, in
// at most room characters. whole says that all of it is there, fits that room did
// not cut it: of a long one its beginning is there.
func quotation(text string, room int) (lines string, whole, fits bool) {
	const margin = "  | "
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var b strings.Builder
	b.WriteString(margin)
	limit := maxInjected
	if room -= len(margin) + len("\n"); room < 0 {
		return "", false, false
	}
	for _, r := range text {
		piece, length := inert(string(r)), 1
		if r == '\n' {
			piece = "\n" + margin
		} else {
			length = width(piece)
		}
		limit, room = limit-length, room-width(piece)
		if limit < 0 || room < 0 {
			return b.String() + "\n", false, limit < 0
		}
		b.WriteString(piece)
	}
	return b.String() + "\n", true, true
}

// rest is the block behind what was injected.
func (b *contextBlock) rest() string {
	t := b.thread
	var body strings.Builder
	body.WriteString(saying("goal", b.objective) + saying("executor", string(t.Executor)) + b.standing() +
		saying("parent", string(t.ParentID)) + saying("branch", t.Branch) + saying("worktree", t.Worktree) +
		saying("depends on", strings.Join(b.depends, ", ")) + saying("tags", joined(t.Tags)))
	body.WriteString("next:\n" + listed(b.next(commands())))
	body.WriteString("intent:\n" + indented(cut(t.Intent, 4000)))
	body.WriteString("artifacts in " + threadPath(t.ID) + "/:\n" + listed(b.own))
	for i, ref := range b.refs {
		where := threadPath(ref.Target)
		if ref.Binding == thread.Frozen {
			where = frozenPath(ref)
		}
		body.WriteString(inert(fmt.Sprintf("reference %s to %s (%s, read-only) in %s/:", ref.ID, ref.Target, ref.Binding, where)) + "\n" + listed(b.referred[i]))
	}
	return body.String()
}

// standing is who holds the thread, what it waits for and what it may do.
func (b *contextBlock) standing() string {
	var out strings.Builder
	if held := b.thread.Held(b.now); held != nil {
		out.WriteString(saying("claim", held.Holder+" until "+held.Until.Format(time.RFC3339)))
	}
	for _, g := range b.asked {
		what := string(g.ID) + " for " + joined(g.Scope)
		if g.MergeID != "" {
			what += " of " + string(g.MergeID)
		}
		if g.Deadline != nil {
			what += ", until " + g.Deadline.Format(time.RFC3339) + ", then " + string(g.Fallback)
		}
		out.WriteString(saying("waits for a person", what))
	}
	for _, g := range b.granted {
		what := joined(g.Scope) + " (" + string(g.ID)
		if g.MergeID != "" {
			what += ", for " + string(g.MergeID) + " alone"
		}
		if g.Until != nil {
			what += ", until " + g.Until.Format(time.RFC3339)
		}
		out.WriteString(saying("granted", what+")"))
	}
	if m := b.thread.Mistakes; m != nil {
		out.WriteString(saying("stopped", fmt.Sprintf("%d failed commands in a row, last %s; a person looks at it and resumes it", m.Count, m.LastCode)))
	}
	if b.wakeable {
		out.WriteString("wakeable: every child is terminated\n")
	}
	return out.String()
}

// next is what the thread's agent may run next: lines in which the thread stands,
// with the summaries of their commands. A line whose command is not in the table
// is left out.
func (b *contextBlock) next(all []*command) []string {
	ids := strings.NewReplacer("ID", string(b.thread.ID), "PARENT", string(b.thread.ParentID))
	var out []string
	for _, line := range b.steps() {
		if cmd := lint(all, strings.Fields(line)).cmd; cmd != nil {
			out = append(out, "leslie "+ids.Replace(line)+": "+cmd.summary)
		}
	}
	return out
}

// steps are next's lines, with ID for the thread and PARENT for its parent.
func (b *contextBlock) steps() []string {
	switch st := b.thread.Status; {
	case b.thread.Mistakes != nil:
		return []string{"status ID"}
	case st == thread.WaitingHuman:
		return []string{"wait ID --until decision"}
	case st == thread.Suspended && b.wakeable:
		return []string{"resume ID"}
	case st == thread.Suspended:
		return []string{"wait ID --until any", "resume ID"}
	case st == thread.Active:
		return []string{"checkpoint ID", "spawn --parent ID --intent TEXT", "transfer ID --direction request_approval --scope CAP", "done ID"}
	case st == thread.Archived:
		return []string{"status ID"}
	case b.thread.ParentID != "":
		return []string{"merge --sources ID --target PARENT", "archive ID"}
	}
	return []string{"archive ID"}
}

// saying is a field on a line of its own; nothing for an empty one.
func saying(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ": " + cut(inert(value), maxField) + "\n"
}

// width is a text's length in characters.
func width(text string) int { return utf8.RuneCountInString(text) }

const cutNotice = "(cut here: leslie status and leslie artifacts show the rest)\n"

// fitted cuts lines off the end until the text is at most n characters long, and
// says so; the notice alone has to fit. A long line is cut, not dropped.
func fitted(text string, n int) string {
	if width(text) <= n {
		return text
	}
	left := n - width(cutNotice)
	var b strings.Builder
	for line := range strings.Lines(text) {
		if width(line) > left {
			if left > maxField {
				b.WriteString(cut(strings.TrimSuffix(line, "\n"), left-1) + "\n")
			}
			break
		}
		left -= width(line)
		b.WriteString(line)
	}
	return b.String() + cutNotice
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
