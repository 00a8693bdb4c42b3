package threads

import (
	"fmt"
	"slices"
	"strings"

	"leslie/internal/app"
	"leslie/thread"
)

// This file delivers comments: those that a thread's agent has not been sent yet go to it as
// one message.

// ReviewCommentsRequest shows what the open comments on a thread say together.
type ReviewCommentsRequest struct {
	Thread string // "": the thread that the caller speaks for
	// Send delivers, to the thread's agent, those that it has not been sent.
	Send bool
}

// ReviewCommentsResult has the open comments on a thread.
type ReviewCommentsResult struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Comments []CommentRecord `json:"comments"`
	// Message is what was sent, or would be, "" if all of them have been.
	Message     string             `json:"message"`
	InjectionID thread.InjectionID `json:"injectionId,omitempty"`
	app.Change
}

// ReviewComments returns the open comments on a thread, and with Send delivers the new ones
// as one message: where each is, its lines, and what it says. Sent again, it sends nothing
// twice. Errors: T101, T105; with Send T107, T508 and those of a write; those of reading.
func ReviewComments(c *app.Call, in ReviewCommentsRequest) (*ReviewCommentsResult, error) {
	if !in.Send {
		c.ReadOnly()
	}
	id := c.ThreadOr(in.Thread)
	var t thread.Thread
	var open []thread.Comment
	_, err := c.View(func(s *thread.State) (err error) {
		t, err = s.Thread(id)
		open = s.OpenComments(t.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	d := &ReviewCommentsResult{ThreadID: t.ID, Comments: located(c, open)}
	var sent []thread.CommentID
	d.Message, sent = reviewMessage(d.Comments)
	if !in.Send {
		return d, nil
	}
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*ReviewCommentsResult, thread.ThreadID, error) {
		d := *d
		still := slices.DeleteFunc(slices.Clone(d.Comments), func(r CommentRecord) bool {
			now, err := s.AnyComment(string(r.CommentID))
			return err != nil || now.State != thread.CommentOpen || now.Message != ""
		})
		d.Message, sent = reviewMessage(still)
		if len(sent) == 0 {
			return &d, t.ID, nil
		}
		i, err := s.SendComments(t.ID, sent, thread.NewInjection{
			ID: c.NewMessageID(s), Thread: string(t.ID), Type: thread.InjectFeedback, Urgency: thread.NextStep, Content: d.Message,
		}, stamp)
		if err != nil {
			return nil, "", err
		}
		app.PlanInjectionLine(s, t.ID, i.Line())
		d.InjectionID = i.ID
		for k := range d.Comments {
			d.Comments[k].Sent = d.Comments[k].Sent || slices.Contains(sent, d.Comments[k].CommentID)
		}
		return &d, t.ID, nil
	})
}

// reviewMessage composes the comments that were not sent yet, as many as one message takes.
// The rest waits for the next message.
func reviewMessage(all []CommentRecord) (message string, in []thread.CommentID) {
	unsent := slices.DeleteFunc(slices.Clone(all), func(r CommentRecord) bool { return r.Sent })
	if len(unsent) == 0 {
		return "", nil
	}
	var b strings.Builder
	ending := "\nAct on each, then: leslie comment resolve C\n"
	for _, r := range unsent {
		part := r.excerpt()
		if len(in) > 0 && b.Len()+len(part)+len(ending)+100 > app.MaxContent {
			break
		}
		b.WriteString(part)
		in = append(in, r.CommentID)
	}
	head := fmt.Sprintf("%d review comments:\n", len(in))
	if len(in) == 1 {
		head = "1 review comment:\n"
	}
	return app.CutBytes(head+b.String(), app.MaxContent-len(ending)) + ending, in
}

// maxExcerpt is how many of its lines the excerpt of a comment quotes.
const maxExcerpt = 12

// excerpt is a comment as its thread's agent reads it.
func (d CommentRecord) excerpt() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s (%s)", d.Where(), d.CommentID)
	if d.Outdated {
		b.WriteString(", outdated: " + d.Why)
	}
	b.WriteString("\n")
	quoted := strings.Split(strings.TrimRight(strings.ReplaceAll(d.Quote, "\r\n", "\n"), "\n"), "\n")
	for i, line := range quoted {
		if i == maxExcerpt {
			fmt.Fprintf(&b, "> ... (%d more lines)\n", d.Was.Last-d.Was.First+1-maxExcerpt)
			break
		}
		b.WriteString("> " + line + "\n")
	}
	b.WriteString(strings.TrimRight(d.Comment, "\n") + "\n")
	return b.String()
}

// Where is the comment's place as a caller writes it.
func (d CommentRecord) Where() string {
	if d.Lines.First == d.Lines.Last {
		return fmt.Sprintf("%s:%d", d.Path, d.Lines.First)
	}
	return fmt.Sprintf("%s:%d-%d", d.Path, d.Lines.First, d.Lines.Last)
}
