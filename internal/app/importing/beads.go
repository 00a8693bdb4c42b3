package importing

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file reads the issues of beads: a JSON object a line. An issue becomes a thread.
//
//	beads                                     leslie
//	title, description, design, acceptance    title, intent
//	criteria, notes
//	labels, issue_type, priority              tags: label, type:T, priority:N
//	blocks, waits-for                         dependencies
//	parent-child                              the parent
//	open, in_progress, hooked, pinned         active
//	blocked                                   active if a dependency is open, else suspended
//	deferred                                  suspended
//	closed                                    completed
//	tombstone                                 nothing: the issue was deleted

// beadsIssue has the fields that map, or that a note speaks of. The line itself is kept.
type beadsIssue struct {
	ID          string            `json:"id"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Design      string            `json:"design"`
	Acceptance  string            `json:"acceptance_criteria"`
	Notes       string            `json:"notes"`
	Status      string            `json:"status"`
	Priority    *int              `json:"priority"`
	Type        string            `json:"issue_type"`
	Assignee    string            `json:"assignee"`
	CreatedBy   string            `json:"created_by"`
	CreatedAt   string            `json:"created_at"`
	UpdatedAt   string            `json:"updated_at"`
	ClosedAt    string            `json:"closed_at"`
	CloseReason string            `json:"close_reason"`
	Labels      []string          `json:"labels"`
	Depends     []beadsDependency `json:"dependencies"`
	Comments    []json.RawMessage `json:"comments"`

	line []byte
}

type beadsDependency struct {
	Issue string `json:"issue_id"`
	On    string `json:"depends_on_id"`
	Type  string `json:"type"`
}

// Limits of leslie's records that a longer text is cut to.
const (
	maxTitle  = 200      // characters
	maxTag    = 100      // characters
	maxIntent = 64 << 10 // bytes
)

// ReadBeads reads issues. from names the input in errors; now is the time of records
// without one. The threads have no objective yet. Errors: T502 with the line, T106 for an
// id that occurs twice, T508 for a line over MaxLine, and what r returns.
func ReadBeads(r io.Reader, from string, now time.Time) (*Source, error) {
	var issues []beadsIssue
	var ids []string
	known := map[string]string{} // the status of each issue
	err := Lines(r, from, MaxLine, func(number int, line []byte) error {
		at := fmt.Sprintf("%s, line %d", from, number)
		issue, err := readIssue(at, line)
		if err != nil {
			return err
		}
		if _, twice := known[issue.ID]; twice {
			return codes.AlreadyExists.New(fact.Of("id", issue.ID), fact.Of("path", from), fact.Of("line", number)).
				WithHint("The input has this id twice; nothing was imported").WithNext("leslie help import")
		}
		known[issue.ID] = issue.Status
		issues, ids = append(issues, issue), append(ids, issue.ID)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(issues) == 0 {
		return nil, broken(from, "it holds no issue")
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return known[id] == "tombstone" })
	b := &beads{Source: &Source{}, from: from, now: now, known: known, ids: newIDs(ids)}
	b.Renamed = b.ids.renamed(ids)
	for _, issue := range issues {
		if err := b.issue(issue); err != nil {
			return nil, err
		}
	}
	return b.Source, nil
}

func readIssue(at string, line []byte) (issue beadsIssue, err error) {
	if err := text(at, line); err != nil {
		return issue, err
	}
	if _, err := object(at, line); err != nil {
		return issue, err
	}
	if err := json.Unmarshal(line, &issue); err != nil {
		return issue, broken(at, err.Error())
	}
	if strings.TrimSpace(issue.ID) == "" || strings.TrimSpace(issue.Title) == "" {
		return issue, broken(at, "an issue needs an id and a title")
	}
	issue.line = slices.Clone(line)
	return issue, nil
}

// beads is one reading.
type beads struct {
	*Source
	from  string
	now   time.Time
	known map[string]string
	ids   *idMap
}

// record names an issue for notes.
func (b *beads) record(issue beadsIssue) string {
	return thread.TableThreads + "/" + string(b.ids.thread(issue.ID))
}

func (b *beads) issue(in beadsIssue) error {
	if in.Status == "tombstone" {
		b.note(in.ID, "the issue was deleted (tombstone): not imported")
		return nil
	}
	created, err := stampOf(b.from+", "+in.ID, in.CreatedAt, b.now)
	if err != nil {
		return err
	}
	updated, err := stampOf(b.from+", "+in.ID, in.UpdatedAt, created)
	if err != nil {
		return err
	}
	by := in.CreatedBy
	if by == "" {
		by = "beads"
	}
	t := thread.Thread{
		ID: b.ids.thread(in.ID), Executor: thread.ByAgent, Inherit: thread.InheritNone, Updated: updated,
		Created: thread.Attribution{At: created, As: thread.User, Actor: by},
	}
	t.Title, t.Intent = b.titleOf(in), b.intentOf(in)
	t.Tags = b.tagsOf(in)
	open := b.relations(in, &t)
	b.statusOf(in, &t, open)
	if in.Assignee != "" {
		b.note(b.record(in), "assignee %s: claims are leases that expire; claim the thread again", in.Assignee)
	}
	if len(in.Comments) > 0 {
		b.note(b.record(in), "comments (%d): kept in %s/issue.json", len(in.Comments), KeptDir)
	}
	b.Threads = append(b.Threads, t)
	b.keep(t.ID, "issue.json", append(in.line, '\n'))
	return nil
}

func (b *beads) titleOf(in beadsIssue) string {
	title, cut := cutText(strings.TrimSpace(strings.ReplaceAll(in.Title, "\n", " ")), maxTitle)
	if cut {
		b.note(b.record(in), "the title is cut at %d characters: all of it is in %s/issue.json", maxTitle, KeptDir)
	}
	return title
}

// intentOf is the issue's texts as one.
func (b *beads) intentOf(in beadsIssue) string {
	parts := []string{}
	for _, p := range []struct{ title, text string }{{"", in.Description}, {"Design", in.Design}, {"Acceptance criteria", in.Acceptance}, {"Notes", in.Notes}} {
		switch {
		case strings.TrimSpace(p.text) == "":
		case p.title == "":
			parts = append(parts, p.text)
		default:
			parts = append(parts, "## "+p.title+"\n\n"+p.text)
		}
	}
	if len(parts) == 0 {
		return in.Title
	}
	intent := strings.Join(parts, "\n\n")
	if len(intent) > maxIntent {
		intent = strings.ToValidUTF8(intent[:maxIntent], "")
		b.note(b.record(in), "the text is cut at %d KiB: all of it is in %s/issue.json", maxIntent>>10, KeptDir)
	}
	return intent
}

func (b *beads) tagsOf(in beadsIssue) []string {
	tags := slices.Clone(in.Labels)
	if in.Type != "" {
		tags = append(tags, "type:"+in.Type)
	}
	if in.Priority != nil {
		tags = append(tags, fmt.Sprintf("priority:%d", *in.Priority))
	}
	return cleanTags(b.Source, b.record(in), tags)
}

// cleanTags returns tags as records have them: sorted, none twice, none too long.
func cleanTags(s *Source, record string, tags []string) []string {
	var out []string
	for _, tag := range tags {
		switch {
		case strings.TrimSpace(tag) == "":
		case utf8.RuneCountInString(tag) > maxTag:
			s.note(record, "a tag of more than %d characters", maxTag)
		default:
			out = append(out, tag)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// relations sets the parent and the dependencies; open reports whether a dependency is
// not terminated.
func (b *beads) relations(in beadsIssue, t *thread.Thread) (open bool) {
	for _, d := range in.Depends {
		if d.Issue != "" && d.Issue != in.ID {
			b.note(b.record(in), "a dependency of another issue (%s)", d.Issue)
			continue
		}
		status, known := b.known[d.On]
		on := b.ids.thread(d.On)
		switch {
		case !known || status == "tombstone":
			b.note(b.record(in), "%s %s: there is no such issue", d.Type, d.On)
		case d.Type == "parent-child" && t.ParentID == "":
			t.ParentID = on
		case d.Type == "blocks" || d.Type == "waits-for" || d.Type == "":
			t.DependsOn = append(t.DependsOn, on)
			open = open || status != "closed"
		default:
			b.note(b.record(in), "%s %s", d.Type, on)
		}
	}
	slices.Sort(t.DependsOn)
	t.DependsOn = slices.Compact(t.DependsOn)
	return open
}

func (b *beads) statusOf(in beadsIssue, t *thread.Thread, open bool) {
	t.Status = thread.Active
	switch in.Status {
	case "open", "in_progress", "hooked", "pinned", "":
	case "blocked":
		if !open {
			t.Status, t.Reason = thread.Suspended, "blocked"
		}
	case "deferred":
		t.Status, t.Reason = thread.Suspended, "deferred"
	case "closed":
		t.Status, t.Reason = thread.Completed, in.CloseReason
	default:
		b.note(b.record(in), "the status %s: active", in.Status)
	}
}

// cutText cuts a text to so many characters.
func cutText(text string, limit int) (string, bool) {
	runes := []rune(text)
	if len(runes) <= limit {
		return text, false
	}
	return string(runes[:limit]), true
}
