package importing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
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
//	priority                                  priority; one in words is a tag: priority:high
//	labels, issue_type                        tags: label, type:T
//	comments                                  an artifact, comments/ID.md
//	blocks, waits-for                         dependencies
//	parent-child                              the parent
//	open, in_progress, hooked, pinned         active
//	blocked                                   active if a dependency is open, else suspended
//	deferred                                  suspended
//	closed                                    completed
//	tombstone                                 nothing: the issue was deleted
//
// A line with another _type than issue, or with neither an id nor a title, is no issue: it
// is noted and passed over.

// beadsIssue has the fields that map, or that a note speaks of. The line itself is kept.
type beadsIssue struct {
	ID          string            `json:"id"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Design      string            `json:"design"`
	Acceptance  string            `json:"acceptance_criteria"`
	Notes       string            `json:"notes"`
	Status      string            `json:"status"`
	Priority    json.RawMessage   `json:"priority"` // 1, "1" or "P1"
	Type        string            `json:"issue_type"`
	Assignee    string            `json:"assignee"`
	CreatedBy   string            `json:"created_by"`
	CreatedAt   string            `json:"created_at"`
	UpdatedAt   string            `json:"updated_at"`
	ClosedAt    string            `json:"closed_at"`
	CloseReason string            `json:"close_reason"`
	Labels      json.RawMessage   `json:"labels"` // a list, or a text
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
	passed := &Source{}
	err := Lines(r, from, MaxLine, func(number int, line []byte) error {
		at := fmt.Sprintf("%s, line %d", from, number)
		issue, what, err := readIssue(at, line)
		if err != nil {
			return err
		}
		if what != "" {
			passed.note("line", at, "%s: not imported", what)
			return nil
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
	b := &beads{Source: passed, from: from, now: now, known: known, ids: newIDs(ids)}
	b.Renamed = b.ids.renamed(ids)
	for _, issue := range issues {
		if err := b.issue(issue); err != nil {
			return nil, err
		}
	}
	return b.Source, nil
}

// readIssue reads a line. what is what the line is if it is no issue.
func readIssue(at string, line []byte) (issue beadsIssue, what string, err error) {
	if err := text(at, line); err != nil {
		return issue, "", err
	}
	members, err := object(at, line)
	if err != nil {
		return issue, "", err
	}
	if what := notIssue(members); what != "" {
		return issue, what, nil
	}
	if err := json.Unmarshal(line, &issue); err != nil {
		return issue, "", broken(at, err.Error())
	}
	if strings.TrimSpace(issue.ID) == "" || strings.TrimSpace(issue.Title) == "" {
		return issue, "", broken(at, "an issue needs an id and a title")
	}
	issue.line = slices.Clone(line)
	return issue, "", nil
}

// notIssue says what a line is that is no issue, "" for one that is.
func notIssue(members []member) string {
	named := false
	for _, m := range members {
		switch m.name {
		case "_type":
			var kind string
			if json.Unmarshal(m.value, &kind) == nil && kind != "" && kind != "issue" {
				kind, _ = cutText(kind, 100)
				return "no issue but a " + kind
			}
		case "id", "title":
			named = true
		}
	}
	if named {
		return ""
	}
	return "no issue, for it has no id and no title"
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
		b.note("deleted", in.ID, "the issue was deleted (tombstone): not imported")
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
	word := ""
	t.Priority, word = priorityOf(in.Priority)
	t.Tags = b.tagsOf(in, word)
	open := b.relations(in, &t)
	b.statusOf(in, &t, open)
	if in.Assignee != "" {
		b.note("assignee", b.record(in), "assignee %s: claims are leases that expire; claim the thread again", in.Assignee)
	}
	if len(in.Comments) > 0 {
		name := commentsFile(t.ID)
		b.note("comments", b.record(in), "comments (%d): in %s", len(in.Comments), name)
		b.Artifacts = append(b.Artifacts, KeptFile{Thread: t.ID, Path: name, Data: commentsOf(in)})
	}
	b.Threads = append(b.Threads, t)
	b.keep(t.ID, "issue.json", append(in.line, '\n'))
	return nil
}

func (b *beads) titleOf(in beadsIssue) string {
	title, cut := cutText(strings.TrimSpace(strings.ReplaceAll(in.Title, "\n", " ")), maxTitle)
	if cut {
		b.note("cut", b.record(in), "the title is cut at %d characters: all of it is in %s/issue.json", maxTitle, KeptDir)
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
		b.note("cut", b.record(in), "the text is cut at %d KiB: all of it is in %s/issue.json", maxIntent>>10, KeptDir)
	}
	return intent
}

func (b *beads) tagsOf(in beadsIssue, priority string) []string {
	var tags []string
	var label string
	switch {
	case json.Unmarshal(in.Labels, &tags) == nil:
	case json.Unmarshal(in.Labels, &label) == nil:
		tags = strings.FieldsFunc(label, func(r rune) bool { return r == ',' || r == ' ' })
	case len(in.Labels) > 0:
		b.note("tag", b.record(in), "labels: kept in %s/issue.json", KeptDir)
	}
	if in.Type != "" {
		tags = append(tags, "type:"+in.Type)
	}
	if priority != "" {
		tags = append(tags, "priority:"+priority)
	}
	return cleanTags(b.Source, b.record(in), tags)
}

// priorityOf returns the priority of 1, 1.0, "1" and "P1"; nil and the word itself for one that
// leslie does not have.
func priorityOf(raw json.RawMessage) (p *thread.Priority, word string) {
	var n float64
	switch {
	case json.Unmarshal(raw, &word) == nil: // so is null, and empty
		word = strings.TrimSpace(word)
		digits := word
		if len(word) > 1 {
			digits = strings.TrimPrefix(strings.TrimPrefix(word, "P"), "p")
		}
		var err error
		if n, err = strconv.ParseFloat(digits, 64); err != nil {
			return nil, word
		}
	case json.Unmarshal(raw, &n) == nil:
		word = strconv.FormatFloat(n, 'f', -1, 64)
	default:
		return nil, ""
	}
	level := thread.Priority(n)
	switch {
	case float64(level) != n, level < thread.HighestPriority, level > thread.LowestPriority:
		return nil, word
	case level == thread.NormalPriority:
		return nil, ""
	}
	return &level, ""
}

// commentsFile is the artifact with an issue's comments. Its name has the thread's id, so
// that a merge brings it beside those of other threads.
func commentsFile(id thread.ThreadID) string { return "comments/" + string(id) + ".md" }

// commentsOf is the text of an issue's comments, in their order.
func commentsOf(in beadsIssue) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Comments on %s\n", in.ID)
	for _, raw := range in.Comments {
		var c struct {
			Author string `json:"author"`
			Text   string `json:"text"`
			At     string `json:"created_at"`
		}
		if json.Unmarshal(raw, &c) != nil || strings.TrimSpace(c.Text) == "" {
			var words string
			if c.Text = string(raw); json.Unmarshal(raw, &words) == nil {
				c.Text = words
			}
		}
		head := strings.Join(strings.Fields(c.Author+" "+c.At), " ")
		if head == "" {
			head = "somebody"
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", head, strings.TrimRight(c.Text, "\n"))
	}
	return b.Bytes()
}

// cleanTags returns tags as records have them: sorted, none twice, none too long.
func cleanTags(s *Source, record string, tags []string) []string {
	var out []string
	for _, tag := range tags {
		switch {
		case strings.TrimSpace(tag) == "":
		case utf8.RuneCountInString(tag) > maxTag:
			s.note("tag", record, "a tag of more than %d characters", maxTag)
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
			b.note("dependency", b.record(in), "a dependency of another issue (%s)", d.Issue)
			continue
		}
		status, known := b.known[d.On]
		on := b.ids.thread(d.On)
		switch {
		case !known || status == "tombstone":
			b.note("dependency", b.record(in), "%s %s: there is no such issue", d.Type, d.On)
		case d.Type == "parent-child" && t.ParentID == "":
			t.ParentID = on
		case d.Type == "blocks" || d.Type == "waits-for" || d.Type == "":
			t.DependsOn = append(t.DependsOn, on)
			open = open || status != "closed"
		default:
			b.note("dependency", b.record(in), "%s %s", d.Type, on)
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
		b.note("status", b.record(in), "the status %s: active", in.Status)
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
