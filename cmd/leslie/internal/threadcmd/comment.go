package threadcmd

import (
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file implements comments on lines of a thread's files: comment, comment resolve,
// comments, and review, which sends them to the thread's agent.

// commentText is one comment.
func commentText(p *page.Page, d threads.CommentRecord) {
	p.Line("comment %s  %s  %s  %s", d.CommentID, commentState(d), d.ThreadID, d.Where())
	for line := range strings.Lines(d.Quote) {
		p.Line("  > %s", page.Styled(page.Visible(strings.TrimRight(line, "\r\n"))))
	}
	p.Lines("comment", d.Comment)
	p.Line("  by %s (%s), %s", d.CreatedBy.Actor, d.CreatedBy.As, p.At(d.CreatedAt))
	if d.ResolvedBy != nil {
		p.Line("  resolved by %s (%s), %s", d.ResolvedBy.Actor, d.ResolvedBy.As, p.At(*d.ResolvedAt))
	}
}

// commentState is a comment's state in words.
func commentState(d threads.CommentRecord) string {
	state := string(d.State)
	if d.State == thread.CommentOpen && d.Sent {
		state += ", sent"
	}
	if d.Why != "" {
		if d.Outdated {
			state += ", outdated"
		}
		state += " (" + d.Why + ")"
	}
	return state
}

type commentedText struct{ *threads.CommentResult }

func (d commentedText) Text(p *page.Page) {
	if !d.Changed {
		p.Line("nothing changed")
	}
	commentText(p, d.CommentRecord)
	if d.Changed && d.State == thread.CommentOpen {
		p.Line("its agent finds it in leslie context; to tell it now: leslie review %s --send", string(d.ThreadID))
	}
}

type commentsText struct {
	*threads.ListCommentsResult
	all bool
}

func (d commentsText) Text(p *page.Page) {
	for _, one := range d.Items.Items {
		commentRecord(p, one)
	}
	p.Rest(len(d.Items.Items), d.Total)
	switch {
	case len(d.Items.Items) > 0:
	case d.all:
		p.Line("no comments yet")
	default:
		p.Line("no open comments")
	}
}

// commentRecord is a comment in a list.
func commentRecord(p *page.Page, d threads.CommentRecord) {
	if p.Width == 0 {
		commentText(p, d)
		return
	}
	row := []screen.Cell{
		screen.Text(string(d.CommentID)), screen.Text(string(d.ThreadID)), screen.Text(d.Where()),
		screen.Text(commentState(d)), p.When(&d.CreatedAt),
	}
	p.Draw(screen.Table{Columns: make([]screen.Column, len(row)), Rows: [][]screen.Cell{row}})
	for line := range strings.Lines(d.Quote) {
		p.Paragraph("  > ", strings.TrimRight(line, "\r\n"))
	}
	p.Paragraph("  ", d.Comment)
}

type sentCommentsText struct{ *threads.ReviewCommentsResult }

func (d sentCommentsText) Text(p *page.Page) {
	for _, one := range d.Comments {
		commentRecord(p, one)
	}
	switch {
	case len(d.Comments) == 0:
		p.Line("no open comments on %s", string(d.ThreadID))
	case d.InjectionID != "":
		p.Line("sent to the agent of %s as %s", string(d.ThreadID), d.InjectionID)
	case d.Message == "":
		p.Line("all of them were sent to the agent of %s", string(d.ThreadID))
	default:
		p.Line("not sent yet; send the new ones with: leslie review %s --send", string(d.ThreadID))
	}
}

// Comment is the command leslie comment.
func Comment() *cli.Command {
	return &cli.Command{
		Name: "comment", Summary: "comment on lines of a thread's artifact, or of its code", Writes: true,
		NamesThread: true,
		Detail: "PATH is an artifact of ID, or code:PATH a file in its worktree; LINES are a line or FIRST-LAST, " +
			"without them it is the whole file. The comment follows its lines when the file changes, and is " +
			"outdated when they are gone. While it is open, the thread's agent cannot complete the thread (T113), " +
			"and what it is about is not merged (T408). leslie review ID --send brings comments to the agent.",
		Example: `leslie comment write-docs report.md:10-14 "Name the source"`,
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ThreadIDs)},
			{Value: cli.Text("PATH[:LINES]").Offering(cli.FileNames)}, {Value: cli.Text("TEXT")}},
		Run: runComment,
	}
}

func runComment(c *cli.Call) (cli.Data, error) {
	in := threads.CommentRequest{Thread: c.Operand(0), Place: c.Operand(1), Text: c.Operand(2)}
	c.CheckRequest(in.Faults, map[string]string{"Place": "PATH[:LINES]", "Text": "TEXT"})
	return cli.RunUseCase(c, threads.Comment, in, func(d *threads.CommentResult) cli.Data { return commentedText{d} })
}

// CommentResolve is the command leslie comment resolve.
func CommentResolve() *cli.Command {
	return &cli.Command{
		Name: "comment resolve", Summary: "resolve a comment that was acted on", Writes: true,
		Detail:   "A resolved comment stays in leslie comments --all. leslie undo opens it again.",
		Example:  "leslie comment resolve c-a1b2c3d4",
		Operands: []cli.Operand{{Value: cli.ID("C", cli.CommentIDs)}},
		Run:      runCommentResolve,
	}
}

func runCommentResolve(c *cli.Call) (cli.Data, error) {
	in := threads.ResolveCommentRequest{Comment: c.Operand(0)}
	return cli.RunUseCase(c, threads.ResolveComment, in,
		func(d *threads.CommentResult) cli.Data { return commentedText{d} })
}

// Comments is the command leslie comments.
func Comments() *cli.Command {
	return &cli.Command{
		Name: "comments", Summary: "list the open comments on threads, or on all", NamesThread: true,
		Detail: "--all includes resolved comments and those on threads that have ended. The lines are where they " +
			"are now.",
		Example:  "leslie comments write-docs",
		Operands: []cli.Operand{cli.ListedThreads()},
		Flags: append(cli.RecordFlags("comments"), cli.Toggle("all", "include resolved comments"),
			cli.LimitFlag(), cli.TimeFlag()),
		Run: runComments,
	}
}

func runComments(c *cli.Call) (cli.Data, error) {
	in := threads.ListCommentsRequest{All: c.On("all"), Limit: c.Count("limit", app.DefaultLimit), RecordFilter: c.RecordFilter()}
	return cli.RunUseCase(c, threads.ListComments, in,
		func(d *threads.ListCommentsResult) cli.Data { return commentsText{d, in.All} })
}

// Review is the command leslie review.
func Review() *cli.Command {
	return &cli.Command{
		Name: "review", Summary: "show the open comments on a thread, or send them to its agent", Writes: true,
		OnlyWith: "send", NamesThread: true,
		Detail: "--send delivers those that were not sent yet as one message, each with its place and lines; sent " +
			"again, it sends nothing twice. Without it nothing changes.",
		Example:  "leslie review write-docs --send",
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags:    []cli.Flag{cli.Toggle("send", "deliver the new comments to the thread's agent")},
		Run:      runReview,
	}
}

func runReview(c *cli.Call) (cli.Data, error) {
	in := threads.ReviewCommentsRequest{Thread: c.TargetThread(), Send: c.On("send")}
	return cli.RunUseCase(c, threads.ReviewComments, in,
		func(d *threads.ReviewCommentsResult) cli.Data { return sentCommentsText{d} })
}
