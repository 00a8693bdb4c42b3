package threadcmd

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file implements context: what a thread's agent needs to know, as one block for
// its prompt. Injections come first and are cut last; those that the block has shown
// to the thread's agent count as seen.

const (
	// MaxContext is the length limit of the block in characters, because a prompt pays
	// for every token.
	MaxContext = 9500
	// maxInjected is the length limit of one injection, in displayed characters.
	maxInjected = 3000
	// maxField is the length limit of a value on its own line.
	maxField = 500
)

type contextData struct {
	Context   string                      `json:"context"`
	ThreadID  thread.ThreadID             `json:"threadId"`
	Status    thread.Status               `json:"status"`
	Path      string                      `json:"path"`
	Claim     *app.ClaimRecord            `json:"claim"`
	Former    *thread.FormerClaim         `json:"former,omitempty"`
	Reopened  *thread.Reopening           `json:"reopened,omitempty"`
	DependsOn []threads.ContextDependency `json:"dependsOn"`
	Code      *threads.ContextCode        `json:"code,omitempty"`
	Comments  []threads.CommentRecord     `json:"comments,omitempty"`
	Progress  *threads.Progress           `json:"progress,omitempty"`
	threads.ContextRelations
}

func (d *contextData) Text(p *page.Page) { p.B.WriteString(d.Context + "\n") }

// Context is the command leslie context.
func Context() *cli.Command {
	return &cli.Command{
		Name: "context", Summary: "print what a thread's agent needs to know, as a block for its prompt",
		MarksSeen: true,
		Detail: "Injections, claim, approvals, suggested commands, the thread's artifacts and referenced artifacts, " +
			"dependencies, branch, worktree and checks; at most 9,500 characters. Injections count as seen once the " +
			"thread's own agent (--thread or LESLIE_THREAD) has got the whole answer. Without a thread it says what " +
			"you hold: your claims, open requests, questions, and merges that are not finished, each with the line " +
			"that goes on with it.",
		Example:  "leslie context write-docs",
		Operands: []cli.Operand{cli.ThreadOperand()}, Run: runContext,
	}
}

// heldData is what the caller holds, in place of a thread's context.
type heldData struct {
	Context string `json:"context"`
	*threads.HeldResult
}

func (d heldData) Text(p *page.Page) { p.B.WriteString(d.Context + "\n") }

// heldLines are what the caller holds, for a prompt.
func heldLines(held []app.WaitingItem) string {
	var b strings.Builder
	b.WriteString("you hold:")
	for _, h := range held {
		b.WriteString("\n  " + escapeMarkup(fmt.Sprintf("%s %s: %s; next: %s", h.Kind, h.ID,
			app.Cut(cli.WaitingWords(h), page.MaxTitle), h.Next)))
	}
	return b.String()
}

func runContext(c *cli.Call) (cli.Data, error) {
	if held := heldInstead(c); held != nil {
		return heldData{heldLines(held.Held), held}, nil
	}
	d, err := cli.UseCase(c, threads.Context, threads.ContextRequest{Thread: c.TargetThread(), Unnamed: c.Operand(0) == ""})
	if err != nil {
		return nil, err
	}
	data, shown := ShownContext(c, d)
	if d.Speaks {
		c.Op.WillShow(d.Thread, shown)
	}
	return data, nil
}

// heldInstead returns what the caller holds if the call has no thread, nil if that is
// nothing.
func heldInstead(c *cli.Call) *threads.HeldResult {
	if c.Operand(0) != "" || c.Who.Thread != "" {
		return nil
	}
	if c.Who.Thread = c.WorktreeThread(); c.Who.Thread != "" {
		return nil
	}
	held, err := cli.UseCase(c, threads.Held, threads.HeldRequest{})
	if err != nil || len(held.Held) == 0 {
		return nil
	}
	return held
}

// ShownContext is a thread's context for the caller, and which injections it shows.
func ShownContext(c *cli.Call, d *threads.ContextResult) (*contextData, []thread.InjectionID) {
	block, shown := ContextText(c, d, c.Who.As == thread.Agent)
	return contextOf(d, block), shown
}

// ContextText is the block of a thread's context as a caller reads it, an agent or another,
// and which injections it shows.
func ContextText(c *cli.Call, d *threads.ContextResult, agent bool) (string, []thread.InjectionID) {
	b := contextBlock{ContextResult: c.InContext(d), state: c.Place(app.StatePath), agent: agent,
		commands: c.Env.Commands}
	return b.render()
}

// contextBlock has the content of the block.
type contextBlock struct {
	*threads.ContextResult
	state string // the state file's path
	agent bool   // the caller is an agent

	commands cli.CommandTable
}

func fileLines(files []threads.ContextFile) []string {
	var out []string
	for _, f := range files {
		line := f.Path + " (" + fact.Plural(int(f.Size), "byte")
		if f.Inherited {
			line += ", inherited from the parent"
		}
		if f.VersionOf != "" {
			line += ", the other version of " + f.VersionOf
		}
		out = append(out, line+")")
	}
	return out
}

// render writes the block, and returns which injections it shows. Content is escaped so
// that it cannot end the block, start another, or look like one of leslie's own lines.
// Injections stand first, with their number in the first line. Lists are cut first, then
// the intent, injections last.
func (b *contextBlock) render() (block string, shown []thread.InjectionID) {
	open := fmt.Sprintf("<"+blockTag+" thread=%q objective=%q relations_file=%q", b.Thread.ID, b.Thread.ObjectiveID,
		b.state)
	if n := len(b.Thread.Unseen()); n > 0 {
		open += fmt.Sprintf(" messages=\"%d\"", n)
	}
	open += ">\n"
	const closing = "</" + blockTag + ">"
	head := fieldLine("status", string(b.Thread.Status)) + fieldLine("title", b.Thread.Title)
	room := MaxContext - Width(open) - Width(head) - Width(closing)
	told, shown := b.injections(room - Width(cutNotice))
	before := (&seenBlock{b}).render(room - Width(cutNotice) - Width(told))
	return open + told + head + before + truncated(b.rest(), room-Width(told)-Width(before)) + closing, shown
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
		part, fits := b.injection(in, room-Width(told)-Width(more(len(unseen))))
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
	head := escapeMarkup(fmt.Sprintf("%s, %s, %s from %s %s at %s", in.Type, in.Urgency, in.ID,
		in.Created.As, app.Cut(in.Created.Actor, page.MaxTitle), in.Created.At.Format(time.RFC3339))) + ":\n"
	tail := "  (cut here: " + b.Folder + "/" + app.InjectionsFile + " has all of it)\n"
	text, whole, fits := quotation(in.Content, maxInjected, room-Width(head)-Width(tail))
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
	for _, r := range withoutTags(text) {
		piece, length := page.Escape(string(r)), 1
		if r == '\n' {
			piece = "\n" + margin
		} else {
			length = Width(piece)
		}
		limit, room = limit-length, room-Width(piece)
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
	body.WriteString(fieldLine("goal", b.Objective) + fieldLine("executor", string(t.Executor)) + b.claimAndGrants() +
		b.comments() +
		fieldLine("parent", string(t.ParentID)) + b.code() +
		fieldLine("depends on", strings.Join(depends, ", ")) + contextFields(t))
	body.WriteString(b.moved() + b.relations() + b.acceptance())
	body.WriteString("next:\n" + listed(b.next(b.commands.All())))
	body.WriteString("intent:\n" + indented(app.Cut(t.Intent, 4000)))
	files := fileLines(b.Files)
	if b.FolderMissing {
		files = []string{"(the folder is missing; leslie doctor shows what can be restored)"}
	}
	body.WriteString("artifacts in " + b.Folder + "/:\n" + listed(files))
	for _, ref := range b.References {
		lines := fileLines(ref.Files)
		if ref.Problem != "" {
			lines = []string{"(" + ref.Problem + ")"}
		}
		if len(ref.Stale) > 0 {
			lines = append(lines, fmt.Sprintf("(the target has changed since: %s; leslie reference refresh %s "+
				"brings it)",
				app.Joined(ref.Stale[:min(len(ref.Stale), 5)]), ref.ID))
		}
		body.WriteString(escapeMarkup(fmt.Sprintf("reference %s to %s (%s, read-only) in %s/:", ref.ID, ref.Target,
			ref.Binding, ref.Folder)) + "\n" + listed(lines))
	}
	return body.String()
}

// code renders where the thread's agent works on code.
func (b *contextBlock) code() string {
	code, id := b.Code, string(b.Thread.ID)
	switch {
	case code == nil:
		return fieldLine("branch", b.Thread.Branch) + fieldLine("worktree", b.Thread.Worktree)
	case code.State == thread.CodeElsewhere:
		line := fieldLine("code", "branch "+code.Branch+"; its worktree is on "+code.Machine+", not on this machine; leslie claim "+id+
			" or leslie code setup "+id+" makes one here with the commits that have come")
		if code.Left != nil {
			line += fieldLine(page.LeftLabel(*code.Left), page.LeftText(*code.Left, code.Left.Worktree))
		}
		return line
	case code.State == thread.CodeMaking:
		return fieldLine("code", "its worktree is not finished; leslie code setup "+id+" finishes it")
	case code.State == thread.CodeRemoving || code.State == thread.CodeRemoved:
		return fieldLine("code", "its worktree was removed; branch "+code.Branch+"; leslie code restore "+id+
			" brings it back")
	case code.Moved != "":
		return fieldLine("code", code.Moved+"; until then git does not work in "+code.Folder)
	case code.State == thread.CodeLost:
		return fieldLine("code", "its worktree "+code.Folder+" is not there; do not work elsewhere; leslie code restore "+
			id+" makes it again on "+code.Branch)
	}
	if b.Thread.Status.Terminated() {
		return fieldLine("code", "branch "+code.Branch+" in "+code.Folder)
	}
	from := code.Start
	if code.Target != nil {
		from = *code.Target
	}
	line := fieldLine("code", "work only in "+code.Folder+", on "+code.Branch+", from "+from+
		"; commit there; if git refuses, leslie done --uncommitted leave, and say so in your last message: "+
		"a person can land uncommitted files")
	if a := code.Changes; a != nil && a.Commits+a.Uncommitted > 0 {
		line += fieldLine("done so far", page.ChangesText(a)+" (leslie diff "+id+")")
		for _, subject := range code.Commits {
			line += fieldLine("  commit", app.Cut(subject, page.MaxTitle))
		}
	}
	return line
}

// moved renders what the thread builds on and has changed since, with the line that
// brings the changes.
func (b *contextBlock) moved() string {
	var out strings.Builder
	for _, m := range b.Moved {
		out.WriteString(fieldLine("moved on", fmt.Sprintf("%s changed %s since (%s); bring them: %s",
			m.From, fact.Plural(len(m.Paths), "artifact"), app.Joined(m.Paths[:min(len(m.Paths), 5)]), m.Next)))
	}
	if b.Code == nil {
		return out.String()
	}
	for _, m := range b.Code.Behind {
		them := "them"
		if m.Commits == 1 {
			them = "it"
		}
		out.WriteString(fieldLine("code behind",
			fmt.Sprintf("%s has %s that %s lacks; bring %s: %s", m.From, fact.Plural(m.Commits, "commit"), b.Thread.ID,
				them, m.Next)))
	}
	return out.String()
}

// acceptance renders the checks that done will run.
func (b *contextBlock) acceptance() string {
	code := b.Thread.OwnedCode()
	if code == nil || b.Thread.Status.Terminated() {
		return ""
	}
	out := fieldLine("accept", app.Joined(code.Accept))
	for _, e := range code.FailedChecks() {
		what := e.Check + " " + failedText(e) + ": " + e.Command
		if lines := e.LastLines(); len(lines) > 0 {
			what += "; it ended with: " + app.Cut(strings.Join(lines, " | "), page.MaxTitle)
		}
		out += fieldLine("check", what)
	}
	return out
}

// maxQuestions is how many unanswered questions the block lists; JSON has all.
const maxQuestions = 10

// maxOpenComments is how many open comments the block lists; JSON has all.
const maxOpenComments = 10

// comments renders the open comments on the thread.
func (b *contextBlock) comments() string {
	var out strings.Builder
	for i, d := range b.Comments {
		if i == maxOpenComments {
			out.WriteString(fieldLine("open comments",
				fmt.Sprintf("%d more: leslie comments %s", len(b.Comments)-i, b.Thread.ID)))
			break
		}
		where := d.Where()
		if d.Outdated {
			where += " (" + d.Why + ")"
		}
		out.WriteString(fieldLine("open comment",
			where+": "+app.Cut(d.Comment, page.MaxTitle)+"; once you have acted on it: leslie comment resolve "+
				string(d.CommentID)))
	}
	return out.String()
}

// claimAndGrants renders who has claimed the thread, what it waits for and what it may do.
func (b *contextBlock) claimAndGrants() string {
	var out strings.Builder
	if held := b.Thread.Held(b.At); held != nil {
		out.WriteString(fieldLine("claim", held.Holder+" until "+held.Until.Format(time.RFC3339)+silence(b.Claim)))
	}
	if was := b.Thread.AtWork(b.At); was != nil && b.Thread.Ended == nil {
		out.WriteString(fieldLine("claim ended", was.Said()))
	}
	if b.Code != nil && b.Code.Machine == "" {
		out.WriteString(fieldLine("not handed on", notHandedOn(b.Thread.ID, b.Thread.TakenFromElsewhere(b.At))))
	}
	if h := b.Thread.HandedOver(b.At); h != nil && b.Thread.AtWork(b.At) == nil { // else it is told above
		out.WriteString(fieldLine("before you", h.Said()))
	}
	if b.Progress != nil {
		out.WriteString(escapeMarkup(b.Progress.Path) + " ends:\n")
		for _, line := range b.Progress.Lines {
			out.WriteString("  " + escapeMarkup(app.Cut(strings.TrimRight(line, "\r"), page.MaxTitle)) + "\n")
		}
	}
	if back := b.Thread.Back(); back != nil {
		out.WriteString(fieldLine("reopened", reopenedText(*back)))
	}
	for _, g := range b.Requested {
		what := string(g.ID) + " for " + app.Joined(g.Scope)
		if g.MergeID != "" {
			what += " of " + string(g.MergeID)
		}
		if g.Deadline != nil {
			what += ", until " + g.Deadline.Format(time.RFC3339) + ", then " + string(g.Fallback)
		}
		out.WriteString(fieldLine("waits for a person", what))
	}
	for i, q := range b.Questions {
		if i == maxQuestions {
			out.WriteString(fieldLine("asked", fmt.Sprintf("%d more: leslie questions", len(b.Questions)-i)))
			break
		}
		of := "a person"
		if q.To != string(thread.ByHuman) {
			of = q.To
		}
		out.WriteString(fieldLine("asked", fmt.Sprintf("%s of %s, no answer yet: %s", q.QuestionID, of,
			app.Cut(app.FirstLine(q.Question), page.MaxTitle))))
	}
	for _, g := range b.Granted {
		what := app.Joined(g.Scope) + " (" + string(g.ID)
		if g.MergeID != "" {
			what += ", for " + string(g.MergeID) + " alone"
		}
		if g.Until != nil {
			what += ", until " + g.Until.Format(time.RFC3339)
		}
		out.WriteString(fieldLine("granted", what+")"))
	}
	out.WriteString(fieldLine("ended", b.Thread.EndedBy()))
	if m := b.Thread.Mistakes; m != nil {
		out.WriteString(fieldLine("stopped", fmt.Sprintf("%d failed commands in a row, last %s; a person looks at it "+
			"and resumes it", m.Count, m.LastCode)))
	}
	if b.Resumable {
		out.WriteString("wakeable: every child is terminated\n")
	}
	return out.String()
}

// next returns the commands that the thread's agent may run next, with this thread's
// id and what they are for here. It leaves out commands that are not in the table.
func (b *contextBlock) next(all []*cli.Command) []string {
	ids := strings.NewReplacer("ID", string(b.Thread.ID), "PARENT", string(b.Thread.ParentID))
	var out []string
	for _, line := range b.steps() {
		command, use, _ := strings.Cut(line, ": ")
		if cli.ParseLine(all, strings.Fields(command)).Cmd != nil {
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
	case b.EndedByOther:
		next := []string{look, "claim --next --wait 90s: take other work"}
		if id := string(b.Thread.Successor); id != "" {
			next = append(next, "context "+id+": what replaces it")
		}
		return next
	case b.Thread.ParentID != "":
		return []string{"merge --sources ID --target PARENT: bring its artifacts to its parent", keep}
	}
	return []string{keep}
}

// fieldLine renders a field on its own line; nothing for an empty one.
func fieldLine(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ": " + app.Cut(escapeMarkup(value), maxField) + "\n"
}

// Width is a text's length in characters.
func Width(text string) int { return utf8.RuneCountInString(text) }

// cutNotice stands where a context was cut.
const cutNotice = "(cut here: leslie status and leslie artifacts show the rest)\n"

// truncated removes lines from the end until the text has at most n characters, and adds
// a notice. A long line is cut, not removed.
func truncated(text string, n int) string {
	if Width(text) <= n {
		return text
	}
	left := n - Width(cutNotice)
	var b strings.Builder
	for line := range strings.Lines(text) {
		if Width(line) > left {
			if left > maxField {
				b.WriteString(app.Cut(strings.TrimSuffix(line, "\n"), left-1) + "\n")
			}
			break
		}
		left -= Width(line)
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
		b.WriteString("  " + escapeMarkup(l) + "\n")
	}
	return b.String()
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString("  " + escapeMarkup(line) + "\n")
	}
	return b.String()
}

// blockTag is the name of the block's tags.
const blockTag = "thread_context"

// escapeMarkup escapes content so that it cannot look like the block's markup; what else is in
// angle brackets stays.
func escapeMarkup(s string) string { return withoutTags(page.Escape(s)) }

// withoutTags escapes the "<" of everything that could be one of the block's tags.
func withoutTags(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "<")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name := strings.TrimLeftFunc(rest, func(r rune) bool { return r == '/' || unicode.IsSpace(r) })
		if len(name) >= len(blockTag) && strings.EqualFold(name[:len(blockTag)], blockTag) {
			b.WriteString("&lt;")
		} else {
			b.WriteString("<")
		}
		s = rest
	}
}
