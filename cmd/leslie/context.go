package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"leslie/internal/app"
	"leslie/thread"
)

// This file implements context: what a thread's agent needs to know, as one block for
// its prompt. Injections come first and are cut last; those that the block has shown
// to the thread's agent count as seen.

const (
	// maxContext is the length limit of the block in characters, because a prompt pays
	// for every token.
	maxContext = 9500
	// maxInjected is the length limit of one injection, in displayed characters.
	maxInjected = 3000
	// maxField is the length limit of a value on its own line.
	maxField = 500
)

type contextData struct {
	Context   string                  `json:"context"`
	ThreadID  thread.ThreadID         `json:"threadId"`
	Status    thread.Status           `json:"status"`
	Path      string                  `json:"path"`
	DependsOn []app.ContextDependency `json:"dependsOn"`
	Code      *app.ContextCode        `json:"code,omitempty"`
	Comments  []app.CommentRecord     `json:"comments,omitempty"`
	app.ContextRelations
}

func (d *contextData) Text(p *page) { p.b.WriteString(d.Context + "\n") }

func contextCommand() *command {
	return &command{
		name: "context", summary: "print what a thread's agent needs to know, as a block for its prompt",
		hint: hint{starting, "context ID"}, marksSeen: true,
		detail: "Injections, claim, approvals, suggested commands, the thread's artifacts and referenced artifacts, dependencies, " +
			"branch, worktree and checks; at most 9,500 characters. Injections count as seen once the thread's own agent " +
			"(--thread or LESLIE_THREAD) has read them.",
		example:  "leslie context thread-a1b2c3d4",
		operands: []operand{threadOperand()}, run: runContext,
	}
}

func runContext(c *call) (Data, error) {
	d, err := useCase(c, app.Context, app.ContextRequest{Thread: c.targetThread()})
	if err != nil {
		return nil, err
	}
	data, shown := shownContext(c, d)
	if d.Speaks && len(shown) > 0 {
		app.MarkSeen(c.op, d.Thread.ID, shown)
	}
	return data, nil
}

// shownContext is a thread's context for the caller, and which injections it shows.
func shownContext(c *call, d *app.ContextResult) (*contextData, []thread.InjectionID) {
	block, shown := (&contextBlock{places{c}.inContext(d), places{c}.place(app.StatePath), c.who.as == thread.Agent}).render()
	return contextOf(d, block), shown
}

// contextBlock has the content of the block.
type contextBlock struct {
	*app.ContextResult
	state string // the state file's path
	agent bool   // the caller is an agent
}

func fileLines(files []app.ContextFile) []string {
	var out []string
	for _, f := range files {
		out = append(out, fmt.Sprintf("%s (%s)", f.Path, many(int(f.Size), "byte")))
	}
	return out
}

// render writes the block, and returns which injections it shows. Content is escaped so
// that it cannot end the block, start another, or look like one of leslie's own lines.
// Lists are cut first, then the intent, injections last.
func (b *contextBlock) render() (block string, shown []thread.InjectionID) {
	open := fmt.Sprintf("<thread_context thread=%q objective=%q relations_file=%q>\n", b.Thread.ID, b.Thread.ObjectiveID, b.state)
	const closing = "</thread_context>"
	head := saying("status", string(b.Thread.Status)) + saying("title", b.Thread.Title)
	room := maxContext - width(open) - width(head) - width(closing)
	told, shown := b.injections(room - width(cutNotice))
	told += (&seenBlock{b}).render(room - width(cutNotice) - width(told))
	return open + head + told + fitted(b.rest(), room-width(told)) + closing, shown
}

// injections renders the unseen injections that fit.
func (b *contextBlock) injections(room int) (told string, shown []thread.InjectionID) {
	unseen := b.Thread.Unseen()
	if len(unseen) == 0 {
		return "", nil
	}
	told = fmt.Sprintf("injections: %d not seen yet", len(unseen))
	if b.agent && !b.Speaks {
		told += " (nor now: only --thread " + string(b.Thread.ID) + " marks them as seen)"
	}
	told += "\n"
	more := func(n int) string {
		if b.Speaks {
			return fmt.Sprintf("(%d more come with the next leslie context)\n", n)
		}
		return fmt.Sprintf("(%d more: leslie status %s)\n", n, b.Thread.ID)
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

// injection renders one injection in at most room characters; fits is false if room,
// not the injection's own limit, cut it. Such an injection is left for the next
// context, unless it is the first.
func (b *contextBlock) injection(in thread.Injection, room int) (text string, fits bool) {
	head := inert(fmt.Sprintf("%s, %s, %s from %s %s at %s", in.Type, in.Urgency, in.ID,
		in.Created.As, cut(in.Created.Actor, maxTitle), in.Created.At.Format(time.RFC3339))) + ":\n"
	tail := "  (cut here: " + b.Folder + "/" + app.InjectionsFile + " has all of it)\n"
	text, whole, fits := quotation(in.Content, maxInjected, room-width(head)-width(tail))
	if !whole {
		text += tail
	}
	return head + text, fits
}

// quotation renders the first limit characters of a text in lines with a margin that no
// line of leslie's own has, in at most room characters. whole says that all of it is
// included, fits that room did not cut it.
func quotation(text string, limit, room int) (lines string, whole, fits bool) {
	const margin = "  | "
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var b strings.Builder
	b.WriteString(margin)
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

// rest renders the block after the injections.
func (b *contextBlock) rest() string {
	t := b.Thread
	var depends []string
	for _, on := range b.DependsOn {
		depends = append(depends, string(on.ID)+" ("+string(on.Status)+")")
	}
	var body strings.Builder
	body.WriteString(saying("goal", b.Objective) + saying("executor", string(t.Executor)) + b.standing() + b.comments() +
		saying("parent", string(t.ParentID)) + b.code() +
		saying("depends on", strings.Join(depends, ", ")) + saying("tags", joined(t.Tags)))
	body.WriteString(b.moved() + b.relations() + b.acceptance())
	body.WriteString("next:\n" + listed(b.next(commands())))
	body.WriteString("intent:\n" + indented(cut(t.Intent, 4000)))
	body.WriteString("artifacts in " + b.Folder + "/:\n" + listed(fileLines(b.Files)))
	for _, ref := range b.References {
		lines := fileLines(ref.Files)
		if ref.Problem != "" {
			lines = []string{"(" + ref.Problem + ")"}
		}
		if len(ref.Stale) > 0 {
			lines = append(lines, fmt.Sprintf("(the target has changed since: %s; leslie reference refresh %s brings it)",
				joined(ref.Stale[:min(len(ref.Stale), 5)]), ref.ID))
		}
		body.WriteString(inert(fmt.Sprintf("reference %s to %s (%s, read-only) in %s/:", ref.ID, ref.Target, ref.Binding, ref.Folder)) + "\n" + listed(lines))
	}
	return body.String()
}

// code renders where the thread's agent works on code.
func (b *contextBlock) code() string {
	code, id := b.Code, string(b.Thread.ID)
	switch {
	case code == nil:
		return saying("branch", b.Thread.Branch) + saying("worktree", b.Thread.Worktree)
	case code.State == thread.CodeMaking:
		return saying("code", "its worktree is not finished; leslie code setup "+id+" finishes it")
	case code.State == thread.CodeRemoving || code.State == thread.CodeRemoved:
		return saying("code", "its worktree was removed; branch "+code.Branch)
	}
	from := code.Start
	if code.Target != nil {
		from = *code.Target
	}
	return saying("code", "work only in "+code.Folder+", on "+code.Branch+", from "+from+"; commit there; if you cannot, say so: leslie merge --uncommitted take commits it for you")
}

// moved renders what the thread builds on and has changed since, with the line that
// brings the changes.
func (b *contextBlock) moved() string {
	var out strings.Builder
	for _, m := range b.Moved {
		out.WriteString(saying("moved on", fmt.Sprintf("%s changed %s since (%s); bring them: %s",
			m.From, many(len(m.Paths), "artifact"), joined(m.Paths[:min(len(m.Paths), 5)]), m.Next)))
	}
	return out.String()
}

// acceptance renders the checks that done will run.
func (b *contextBlock) acceptance() string {
	code := b.Thread.OwnedCode()
	if code == nil || b.Thread.Status.Terminated() {
		return ""
	}
	return saying("accept", joined(code.Accept))
}

// maxOpenComments is how many open comments the block lists; JSON has all.
const maxOpenComments = 10

// comments renders the open comments on the thread.
func (b *contextBlock) comments() string {
	var out strings.Builder
	for i, d := range b.Comments {
		if i == maxOpenComments {
			out.WriteString(saying("open comments", fmt.Sprintf("%d more: leslie comments %s", len(b.Comments)-i, b.Thread.ID)))
			break
		}
		where := d.Where()
		if d.Outdated {
			where += " (" + d.Why + ")"
		}
		out.WriteString(saying("open comment", where+": "+cut(d.Comment, maxTitle)+"; once you have acted on it: leslie comment resolve "+string(d.CommentID)))
	}
	return out.String()
}

// standing renders who has claimed the thread, what it waits for and what it may do.
func (b *contextBlock) standing() string {
	var out strings.Builder
	if held := b.Thread.Held(b.At); held != nil {
		out.WriteString(saying("claim", held.Holder+" until "+held.Until.Format(time.RFC3339)))
	}
	for _, g := range b.Requested {
		what := string(g.ID) + " for " + joined(g.Scope)
		if g.MergeID != "" {
			what += " of " + string(g.MergeID)
		}
		if g.Deadline != nil {
			what += ", until " + g.Deadline.Format(time.RFC3339) + ", then " + string(g.Fallback)
		}
		out.WriteString(saying("waits for a person", what))
	}
	for _, g := range b.Granted {
		what := joined(g.Scope) + " (" + string(g.ID)
		if g.MergeID != "" {
			what += ", for " + string(g.MergeID) + " alone"
		}
		if g.Until != nil {
			what += ", until " + g.Until.Format(time.RFC3339)
		}
		out.WriteString(saying("granted", what+")"))
	}
	if m := b.Thread.Mistakes; m != nil {
		out.WriteString(saying("stopped", fmt.Sprintf("%d failed commands in a row, last %s; a person looks at it and resumes it", m.Count, m.LastCode)))
	}
	if b.Resumable {
		out.WriteString("wakeable: every child is terminated\n")
	}
	return out.String()
}

// next returns the commands that the thread's agent may run next, with this thread's
// id and what they are for here. It leaves out commands that are not in the table.
func (b *contextBlock) next(all []*command) []string {
	ids := strings.NewReplacer("ID", string(b.Thread.ID), "PARENT", string(b.Thread.ParentID))
	var out []string
	for _, line := range b.steps() {
		command, use, _ := strings.Cut(line, ": ")
		if lint(all, strings.Fields(command)).cmd != nil {
			out = append(out, "leslie "+ids.Replace(command)+": "+use)
		}
	}
	return out
}

// steps returns next's commands, each with its use, with ID for the thread and PARENT
// for its parent.
func (b *contextBlock) steps() []string {
	const look, keep = "status ID: everything that is recorded of it", "archive ID: put it away; it stays readable"
	switch st := b.Thread.Status; {
	case b.Thread.Mistakes != nil:
		return []string{look}
	case st == thread.WaitingHuman:
		return []string{"wait ID --until decision: until a person has decided"}
	case st == thread.Suspended && b.Resumable:
		return []string{"resume ID: continue it"}
	case st == thread.Suspended:
		return []string{"wait ID --until any: until something changes", "resume ID: continue it"}
	case st == thread.Active:
		work := []string{
			"checkpoint ID: save the artifacts, for rollback", "spawn --parent ID --intent TEXT: split off a part",
			"transfer ID --direction request_approval --scope CAP: ask a person", "done ID: complete it",
		}
		if b.Thread.Held(b.At) == nil {
			work = append([]string{"claim ID: claim a thread before you work on it"}, work...)
		}
		return work
	case st == thread.Archived:
		return []string{look}
	case b.Thread.ParentID != "":
		return []string{"merge --sources ID --target PARENT: bring its artifacts to its parent", keep}
	}
	return []string{keep}
}

// saying renders a field on its own line; nothing for an empty one.
func saying(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ": " + cut(inert(value), maxField) + "\n"
}

// width is a text's length in characters.
func width(text string) int { return utf8.RuneCountInString(text) }

const cutNotice = "(cut here: leslie status and leslie artifacts show the rest)\n"

// fitted removes lines from the end until the text has at most n characters, and adds
// a notice. A long line is cut, not removed.
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

// inert escapes content so that it cannot look like the block's markup.
func inert(s string) string { return strings.ReplaceAll(escape(s), "<", "&lt;") }
