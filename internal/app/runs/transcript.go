package runs

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/acp"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/fact"
	"leslie/internal/nearest"
	"leslie/internal/transcript"
	"leslie/store"
	"leslie/thread"
)

// This file shows what agents said and did in the runs of a thread.

// TranscriptRequest asks for the transcript of a thread.
type TranscriptRequest struct {
	Thread string // "": the thread that the caller speaks for
	Run    string // only this run, its id or the beginning of it; "": all
	Since  int64  // only entries behind this number
	Limit  int    // only the newest; 0: all
}

// TranscriptHead says what a transcript is about.
type TranscriptHead struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Title    string          `json:"title"`
	Intent   string          `json:"intent"`
	// Agent and Version are those of the run, or of the newest one; "" if there is none.
	Agent   string `json:"agent"`
	Version string `json:"agentVersion"`
	// Machine is the one on which that run is, or was, and has its entries, "" for this one.
	Machine string `json:"machine,omitempty"`
	// Damaged is how many lines of the transcript could not be read, as far as it was.
	Damaged int `json:"damaged"`
}

// TranscriptResult has entries, the oldest first.
type TranscriptResult struct {
	TranscriptHead
	app.Items[TranscriptEntry]
}

// TranscriptEntry is an entry of a transcript. Its JSON is the entry as it was written.
type TranscriptEntry struct{ transcript.Entry }

// Transcript returns the entries of a thread's transcript. Errors: T101, T105, T903 for a
// run that the thread never had, T509.
func Transcript(c *app.Call, in TranscriptRequest) (*TranscriptResult, error) {
	head, q, err := transcriptOf(c, in)
	if err != nil {
		return nil, err
	}
	d := &TranscriptResult{TranscriptHead: head}
	p, err := transcript.Newest(Folder(c, head.ThreadID), q)
	if err != nil {
		return nil, Unreadable(c, head.ThreadID, err)
	}
	d.Items.Items = make([]TranscriptEntry, 0, len(p.Entries))
	for _, e := range p.Entries {
		d.note(e)
		d.Items.Items = append(d.Items.Items, TranscriptEntry{e})
	}
	d.Damaged, d.Total, d.Truncated = p.Damaged, p.Total, p.Total > len(p.Entries)
	return d, nil
}

// transcriptOf finds the thread and the run that a request names.
func transcriptOf(c *app.Call, in TranscriptRequest) (head TranscriptHead, q transcript.Query, err error) {
	c.ReadOnly()
	_, err = c.View(func(s *thread.State) error {
		t, err := s.Thread(c.ThreadOr(in.Thread))
		head.ThreadID, head.Title, head.Intent = t.ID, t.Title, t.Intent
		if run := t.LastRun(); run != nil && strings.HasPrefix(string(run.ID), in.Run) {
			head.Agent, head.Version = run.Agent, run.AgentVersion
			if run.Machine != c.Project().Machine() {
				head.Machine = run.Machine
			}
		}
		return err
	})
	if err != nil {
		return head, q, err
	}
	c.SetTarget(head.ThreadID)
	q = transcript.Query{Since: in.Since, Run: in.Run, Limit: in.Limit}
	if in.Run == "" {
		return head, q, nil
	}
	runs, err := transcript.Runs(Folder(c, head.ThreadID))
	if err != nil {
		return head, q, Unreadable(c, head.ThreadID, err)
	}
	q.Run, err = runNamed(head.ThreadID, runs, in.Run)
	return head, q, err
}

// runNamed returns the run with an id, or with the only id that begins so. Errors: T903.
func runNamed(id thread.ThreadID, runs []string, named string) (string, error) {
	var found []string
	for _, run := range runs {
		if run == named {
			return run, nil
		}
		if strings.HasPrefix(run, named) {
			found = append(found, run)
		}
	}
	f := app.Fault{Field: "Run", Value: named, Allowed: runs}
	switch {
	case len(found) == 1 && !thread.CutOff(named):
		return found[0], nil
	case len(found) == 1:
		f.Problem, f.Allowed = app.Quoted(named)+" ends with a separator, and so names no run", found
	case len(found) > 1:
		f.Problem, f.Allowed = app.Quoted(named)+" begins the ids of "+strconv.Itoa(len(found))+" runs", found
	default:
		f.Problem, f.Nearest = "'"+string(id)+"' has no run "+app.Quoted(named), nearest.Name(named, runs)
	}
	return "", app.FaultsError([]app.Fault{f})
}

// Folder is the folder of what the process of a thread's run writes.
func Folder(c *app.Call, id thread.ThreadID) string { return c.Store().Path(runPath(id)) }

func runPath(id thread.ThreadID) string { return store.RunsDir + "/" + string(id) }

// Unreadable is T505 for a transcript that cannot be read.
func Unreadable(c *app.Call, id thread.ThreadID, err error) error {
	if codes.Of(err) != nil {
		return err
	}
	return codes.ReadFailed.Wrap(err, fact.Of("path", Folder(c, id)), fact.Of("reason", codes.Reason(err)), fact.Of("threadId", id))
}

// note takes over what an entry says of the agent.
func (h *TranscriptHead) note(e transcript.Entry) {
	var s struct{ Agent, Version string }
	if e.Kind == transcript.Session && e.Decode(&s) == nil && s.Agent != "" {
		h.Agent, h.Version = s.Agent, s.Version
	}
}

// Line returns an entry in two texts, either of which may be empty: a word that says what
// became of it, and what it is about.
func (e TranscriptEntry) Line() (outcome, about string) {
	var v struct {
		Agent, Version, Title, Verdict, Reason, Line, Method, StopReason, Stop string
		Error, CheckpointID                                                    string

		Lost bool
		Call struct {
			Tool, Command string
			Paths         []string
		}
	}
	switch e.Kind {
	case transcript.Tool:
		call := e.call()
		return call.outcome(), JoinTexts(": ", firstText(call.Title, call.ID), e.failure())
	case transcript.Text, transcript.Thought, transcript.Prompt, transcript.Error:
		return "", e.Text
	}
	_ = e.Decode(&v) // what is not there is empty
	switch e.Kind {
	case transcript.Permission:
		what := firstText(v.Call.Command, strings.Join(v.Call.Paths, ", "), v.Title)
		return v.Verdict, JoinTexts(": ", v.Call.Tool, what+inBrackets(v.Reason))
	case transcript.Session:
		if v.Lost {
			outcome = "lost"
		}
		return outcome, v.Agent + inBrackets(v.Version)
	case transcript.Junk:
		return "", v.Line
	case transcript.Refused:
		return "", v.Method
	case transcript.End:
		return "", v.StopReason
	case transcript.Kept:
		if v.Error != "" {
			return "failed", v.Error
		}
		return "", "turn " + strconv.Itoa(e.Turn) + " in " + v.CheckpointID
	case transcript.Ended:
		return v.Stop, v.Reason
	case transcript.Usage:
		return "", usedInLine(e.Raw)
	case transcript.Update:
		var u struct {
			Update string `json:"sessionUpdate"`
		}
		_ = json.Unmarshal(e.Raw, &u)
		return "", u.Update
	}
	return "", e.Text
}

// toolUpdate is what is shown of a call of a tool, or of what became of it.
type toolUpdate struct {
	ID     string `json:"toolCallId"`
	Title  string `json:"title"`
	Status string `json:"status"`
}

func (e TranscriptEntry) call() (u toolUpdate) {
	_ = json.Unmarshal(e.Raw, &u) // what is not there is empty
	return u
}

// failure is the first lines of what a failed call of a tool answered, "" for another entry.
func (e TranscriptEntry) failure() string {
	var call acp.ToolCall
	if json.Unmarshal(e.Raw, &call) != nil || call.Status != "failed" {
		return ""
	}
	return strings.Join(agents.OutputOf(call, shownOutput), " / ")
}

// outcome is the status in words, if it is one that the protocol knows.
func (u toolUpdate) outcome() string {
	if slices.Contains([]string{"pending", "in_progress", "completed", "failed"}, u.Status) {
		return strings.ReplaceAll(u.Status, "_", " ")
	}
	return ""
}

// usedInLine is the state of a session's context and its cost in words.
func usedInLine(raw json.RawMessage) string {
	var u acp.UsageUpdate
	_ = json.Unmarshal(raw, &u)
	text := strconv.FormatInt(u.Used, 10) + " of " + strconv.FormatInt(u.Size, 10) + " tokens"
	if u.Cost != nil {
		text += ", " + strconv.FormatFloat(u.Cost.Amount, 'f', 2, 64) + " " + u.Cost.Currency
	}
	return text
}

// AgentLine returns the agent with its version, "" if neither is known.
func (h TranscriptHead) AgentLine() string { return h.Agent + inBrackets(h.Version) }

// inBrackets returns a text that is not empty behind a space, in brackets.
func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// firstText returns the first text that is not empty.
func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// JoinTexts joins those of two texts that are not empty.
func JoinTexts(separator, a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + separator + b
}

// ConversationResult is a transcript as a conversation.
type ConversationResult struct {
	TranscriptHead
	Runs []string
	// From and To are the times of the first and of the last entry.
	From, To time.Time
	Parts    []*ConversationPart
	// LeftOut is how many parts at the beginning were left out because of their size.
	LeftOut int
}

// ConversationPart is something that was said or done. A call of a tool with all that was
// told of it is one part, and so is a text with all of its pieces.
type ConversationPart struct {
	Run  string
	Turn int
	At   time.Time
	Kind string // of its first entry
	// Outcome and Text are those of TranscriptEntry.Line.
	Outcome, Text string
}

// Words reports whether the part is a text of several lines.
func (p *ConversationPart) Words() bool {
	return slices.Contains([]string{transcript.Prompt, transcript.Text, transcript.Thought, transcript.Error}, p.Kind)
}

const (
	// mostConversation limits the size of the texts of a conversation, in bytes.
	mostConversation = 4 << 20
	// mostPart is the size from which another part begins.
	mostPart = 128 << 10
)

// Conversation returns a thread's transcript as a conversation. Errors: those of
// Transcript.
func Conversation(c *app.Call, in TranscriptRequest) (*ConversationResult, error) {
	head, q, err := transcriptOf(c, in)
	if err != nil {
		return nil, err
	}
	d := &conversation{ConversationResult: &ConversationResult{TranscriptHead: head}, calls: map[string]*ConversationPart{}}
	if q.Limit > 0 {
		var p transcript.Page
		p, err = transcript.Newest(Folder(c, head.ThreadID), q)
		for _, e := range p.Entries {
			d.add(TranscriptEntry{e})
		}
		d.Damaged = p.Damaged
	} else {
		d.Damaged, err = transcript.Read(Folder(c, head.ThreadID), q.Since, q.Run, func(e transcript.Entry) error {
			d.add(TranscriptEntry{e})
			return c.Context().Err()
		})
	}
	switch {
	case c.Context().Err() != nil:
		return nil, codes.Interrupted.Wrap(context.Cause(c.Context()))
	case err != nil:
		return nil, Unreadable(c, head.ThreadID, err)
	}
	return d.ConversationResult, nil
}

// EachPart calls fn with the parts of all of a thread's transcript, in their order.
// Errors: T509, T904.
func EachPart(c *app.Call, id thread.ThreadID, fn func(*ConversationPart)) error {
	d := &conversation{ConversationResult: &ConversationResult{}, whole: fn, calls: map[string]*ConversationPart{}}
	_, err := transcript.Read(Folder(c, id), 0, "", func(e transcript.Entry) error {
		d.add(TranscriptEntry{e})
		return c.Context().Err()
	})
	if err != nil {
		return Unreadable(c, id, err)
	}
	for _, part := range d.Parts {
		fn(part)
	}
	return nil
}

// conversation is one in the making.
type conversation struct {
	*ConversationResult
	size int
	// whole, if not nil, is called with each part that is dropped: it is whole, but for the
	// end of a call of a tool that took very long.
	whole func(*ConversationPart)
	calls map[string]*ConversationPart // that go on, by the agent's id
}

func (d *conversation) add(e TranscriptEntry) {
	if d.From.IsZero() {
		d.From = e.At
	}
	d.To = e.At
	d.note(e.Entry)
	if !slices.Contains(d.Runs, e.Run) {
		d.Runs = append(d.Runs, e.Run)
	}
	if e.Kind == transcript.Usage || e.Kind == transcript.Update {
		return
	}
	if e.Kind == transcript.Tool && d.continuesCall(e) {
		return
	}
	outcome, text := e.Line()
	part := &ConversationPart{Run: e.Run, Turn: e.Turn, At: e.At, Kind: e.Kind, Outcome: outcome, Text: text}
	switch e.Kind {
	case transcript.Tool:
		d.calls[e.call().ID] = part
	case transcript.Text, transcript.Thought:
		if n := len(d.Parts); n > 0 && d.Parts[n-1].takes(part) {
			d.Parts[n-1].Text += text
			d.grow(len(text))
			return
		}
	case transcript.End:
		clear(d.calls)
	}
	d.append(part)
}

// takes reports whether another part continues a text.
func (p *ConversationPart) takes(next *ConversationPart) bool {
	return p.Kind == next.Kind && p.Run == next.Run && p.Turn == next.Turn && len(p.Text) < mostPart
}

// continuesCall adds what became of a call of a tool to its part, if that has begun.
func (d *conversation) continuesCall(e TranscriptEntry) bool {
	call := e.call()
	part := d.calls[call.ID]
	if part == nil || part.Run != e.Run || part.Turn != e.Turn {
		return false
	}
	part.Outcome = firstText(call.outcome(), part.Outcome)
	if call.Title != "" {
		d.grow(len(call.Title) - len(part.Text))
		part.Text = call.Title
	}
	if failure := e.failure(); failure != "" {
		text := JoinTexts(": ", part.Text, failure)
		d.grow(len(text) - len(part.Text))
		part.Text = text
	}
	return true
}

func (d *conversation) append(part *ConversationPart) {
	d.Parts = append(d.Parts, part)
	d.grow(len(part.Text) + partBytes)
}

// partBytes is what a part costs beside its text.
const partBytes = 200

// grow counts bytes, and drops the oldest parts if there are too many.
func (d *conversation) grow(n int) {
	for d.size += n; d.size > mostConversation && len(d.Parts) > 1; d.LeftOut++ {
		d.size -= len(d.Parts[0].Text) + partBytes
		if d.whole != nil {
			d.whole(d.Parts[0])
		}
		d.Parts = d.Parts[1:]
	}
}
