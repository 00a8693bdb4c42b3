package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file implements comments on lines of a thread's files: comment, comment resolve,
// comments, and review, which sends them to the thread's agent.

// commentText is one comment.
func commentText(p *page, d app.CommentRecord) {
	p.line("comment %s  %s  %s  %s", d.CommentID, commentState(d), d.ThreadID, d.Where())
	for line := range strings.Lines(d.Quote) {
		p.line("  > %s", strings.TrimRight(line, "\r\n"))
	}
	p.lines("comment", d.Comment)
	p.line("  by %s (%s), %s", d.CreatedBy.Actor, d.CreatedBy.As, p.at(d.CreatedAt))
	if d.ResolvedBy != nil {
		p.line("  resolved by %s (%s), %s", d.ResolvedBy.Actor, d.ResolvedBy.As, p.at(*d.ResolvedAt))
	}
}

// commentState is a comment's state in words.
func commentState(d app.CommentRecord) string {
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

type commentedText struct{ *app.CommentResult }

func (d commentedText) Text(p *page) {
	if !d.Changed {
		p.line("nothing changed")
	}
	commentText(p, d.CommentRecord)
	if d.Changed && d.State == thread.CommentOpen {
		p.line("its agent gets it with: leslie review %s --send", string(d.ThreadID))
	}
}

type commentsText struct {
	*app.ListCommentsResult
	all bool
}

func (d commentsText) Text(p *page) {
	for _, one := range d.Items.Items {
		commentRecord(p, one)
	}
	p.rest(len(d.Items.Items), d.Total)
	switch {
	case len(d.Items.Items) > 0:
	case d.all:
		p.line("no comments yet")
	default:
		p.line("no open comments")
	}
}

// commentRecord is a comment in a list.
func commentRecord(p *page, d app.CommentRecord) {
	if p.width == 0 {
		commentText(p, d)
		return
	}
	row := []screen.Cell{
		screen.Text(string(d.CommentID)), screen.Text(string(d.ThreadID)), screen.Text(d.Where()), screen.Text(commentState(d)), p.when(&d.CreatedAt),
	}
	p.draw(screen.Table{Columns: make([]screen.Column, len(row)), Rows: [][]screen.Cell{row}})
	for line := range strings.Lines(d.Quote) {
		p.paragraph("  > ", strings.TrimRight(line, "\r\n"))
	}
	p.paragraph("  ", d.Comment)
}

type sentCommentsText struct{ *app.ReviewCommentsResult }

func (d sentCommentsText) Text(p *page) {
	for _, one := range d.Comments {
		commentRecord(p, one)
	}
	switch {
	case len(d.Comments) == 0:
		p.line("no open comments on %s", string(d.ThreadID))
	case d.InjectionID != "":
		p.line("sent to the agent of %s as %s", string(d.ThreadID), d.InjectionID)
	case d.Message == "":
		p.line("all of them were sent to the agent of %s", string(d.ThreadID))
	default:
		p.line("not sent yet; send the new ones with: leslie review %s --send", string(d.ThreadID))
	}
}

func commentCommand() *command {
	return &command{
		name: "comment", summary: "comment on lines of a thread's artifact, or of its code", writes: true, namesThread: true,
		detail: "PATH is an artifact of ID, or code:PATH a file in its worktree; LINES are a line or FIRST-LAST, without them it is the whole file. " +
			"The comment follows its lines when the file changes, and is outdated when they are gone. While it is open, the thread's agent cannot " +
			"complete the thread (T113), and what it is about is not merged (T408). leslie review ID --send brings comments to the agent.",
		example:  `leslie comment thread-a1b2c3d4 report.md:10-14 "Name the source"`,
		operands: []operand{{value: anID("ID", threadIDs)}, {value: anyText("PATH[:LINES]")}, {value: anyText("TEXT")}},
		run:      runComment,
	}
}

func runComment(c *call) (Data, error) {
	in := app.CommentRequest{Thread: c.operand(0), Place: c.operand(1), Text: c.operand(2)}
	c.checkRequest(in.Faults, map[string]string{"Place": "PATH[:LINES]", "Text": "TEXT"})
	return runUseCase(c, app.Comment, in, func(d *app.CommentResult) Data { return commentedText{d} })
}

func commentResolveCommand() *command {
	return &command{
		name: "comment resolve", summary: "resolve a comment that was acted on", writes: true,
		hint:     hint{asking, "comment resolve C"},
		detail:   "A resolved comment stays in leslie comments --all. leslie undo opens it again.",
		example:  "leslie comment resolve c-a1b2c3d4",
		operands: []operand{{value: anID("C", commentIDs)}},
		run:      runCommentResolve,
	}
}

func runCommentResolve(c *call) (Data, error) {
	in := app.ResolveCommentRequest{Comment: c.operand(0)}
	return runUseCase(c, app.ResolveComment, in, func(d *app.CommentResult) Data { return commentedText{d} })
}

func commentsCommand() *command {
	return &command{
		name: "comments", summary: "list the open comments on a thread, or on all", namesThread: true,
		detail:   "--all includes resolved comments and those on threads that have ended. The lines are where they are now.",
		example:  "leslie comments thread-a1b2c3d4",
		operands: []operand{{value: anID("ID", threadIDs), optional: true}},
		flags: []cli.Flag{
			toggle("all", "include resolved comments"),
			limitFlag(), timeFlag(),
		},
		run: runComments,
	}
}

func runComments(c *call) (Data, error) {
	in := app.ListCommentsRequest{Thread: c.operand(0), All: c.on("all"), Limit: c.count("limit", app.DefaultLimit)}
	return runUseCase(c, app.ListComments, in, func(d *app.ListCommentsResult) Data { return commentsText{d, in.All} })
}

func reviewCommand() *command {
	return &command{
		name: "review", summary: "show the open comments on a thread, or send them to its agent", writes: true, onlyWith: "send", namesThread: true,
		detail: "--send delivers those that were not sent yet as one message, each with its place and lines; sent again, it sends nothing twice. " +
			"Without it nothing changes.",
		example:  "leslie review thread-a1b2c3d4 --send",
		operands: []operand{threadOperand()},
		flags:    []cli.Flag{toggle("send", "deliver the new comments to the thread's agent")},
		run:      runReview,
	}
}

func runReview(c *call) (Data, error) {
	in := app.ReviewCommentsRequest{Thread: c.targetThread(), Send: c.on("send")}
	return runUseCase(c, app.ReviewComments, in, func(d *app.ReviewCommentsResult) Data { return sentCommentsText{d} })
}
