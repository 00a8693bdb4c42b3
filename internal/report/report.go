package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/internal/app"
	"leslie/internal/app/views"
	"leslie/internal/graph"
	"leslie/thread"
)

// files are the page, its style and its script.
//
//go:embed page.html page.css page.js
var files embed.FS

// start begins every page: by it leslie knows a file that it may replace.
const start = "<!doctype html>\n" + mark + "\n"

const mark = "<!-- report by leslie -->"

// Is reports whether a file's content is a page that Write wrote.
func Is(content []byte) bool { return bytes.HasPrefix(content, []byte(start)) }

// Limits of what a page has.
const (
	// newest is how many operations stand in the page without its script.
	newest = 200
	// most is how many operations a page has.
	most = 20_000
	// longest is how many characters of an operation's parameters are shown.
	longest = 300
)

// Write writes the page. version is leslie's own.
func Write(w io.Writer, r *views.ReportResult, version string) error {
	p, err := pageOf(r, version)
	if err != nil {
		return err
	}
	text, err := files.ReadFile("page.html")
	if err != nil {
		return err
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"mark": func() template.HTML { return mark }, "count": count, "short": short,
		"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"join":  func(words []string) string { return strings.Join(words, ", ") },
	}).Parse(string(text))
	if err != nil {
		return err
	}
	return t.Execute(escapingWriter{w}, p)
}

// page is what the template shows.
type page struct {
	*views.ReportResult
	Policy, Title, Version string
	Style                  template.CSS
	Script                 template.JS
	Sections               []section
	Objectives             []objective
	Graph                  picture
	Threads                []threadRow
	From                   time.Time // of the oldest thread
	Statuses               []thread.Status
	Merges                 []mergeRow
	Agents                 []agentRow
	Newest                 []operationRow
	Operations             [][]any
	HistoryTotal           int
}

type section struct{ ID, Name string }

func pageOf(r *views.ReportResult, version string) (*page, error) {
	style, err := files.ReadFile("page.css")
	if err != nil {
		return nil, err
	}
	script, err := files.ReadFile("page.js")
	if err != nil {
		return nil, err
	}
	p := &page{
		ReportResult: r, Title: r.Project, Version: version, Style: template.CSS(style), Script: template.JS(script),
		Policy: "default-src 'none'; style-src '" + hash(style) + "'; script-src '" + hash(script) + "'; base-uri 'none'; form-action 'none'",
		Sections: []section{
			{"objectives", "Objectives"}, {"graph", "Graph"}, {"threads", "Threads over time"}, {"merges", "Merges"}, {"approvals", "Approvals and questions"},
			{"errors", "Errors and warnings"}, {"usage", "Usage and cost"}, {"history", "History"},
		},
		Graph: draw(r.Graph), Statuses: []thread.Status{thread.Active, thread.WaitingHuman, thread.Suspended}, HistoryTotal: len(r.History),
	}
	for _, o := range r.Objectives {
		p.Objectives = append(p.Objectives, objectiveOf(o))
	}
	p.threads()
	for _, m := range r.Merges {
		p.Merges = append(p.Merges, mergeRow{m, decided(m)})
	}
	slices.Reverse(p.Merges)
	p.agents()
	p.history()
	return p, nil
}

// hash is how a policy names a text.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// objective is an objective with its threads by status.
type objective struct {
	app.ObjectiveRecord
	Words, Used string
	Shares      []share
}

// share is a part of a bar of the width 1000.
type share struct {
	Status thread.Status
	X, W   string
}

func objectiveOf(o app.ObjectiveRecord) objective {
	out := objective{ObjectiveRecord: o, Used: totals(o.Runs)}
	total, at := 0, 0
	for _, n := range o.Threads {
		total += n
	}
	var words []string
	for _, status := range thread.Statuses() {
		n := o.Threads[status]
		if n == 0 {
			continue
		}
		words = append(words, strconv.Itoa(n)+" "+string(status))
		out.Shares = append(out.Shares, share{status, decimal(float64(at) * 1000 / float64(total)), decimal(float64(n) * 1000 / float64(total))})
		at += n
	}
	if out.Words = strings.Join(words, ", "); out.Words == "" {
		out.Words = "no threads"
	}
	return out
}

// threadRow is a thread of the table.
type threadRow struct {
	graph.Thread
	Depth     int
	Label     string
	Words     string // its times by status
	Spans     []share
	Relations []string
	Used      string
}

// deepest is how far a thread's name is moved to the right.
const deepest = 6

// threads fills the table of threads: children behind their parents.
func (p *page) threads() {
	times := map[thread.ThreadID]views.ReportThread{}
	p.From = p.At
	for _, t := range p.ReportResult.Threads {
		times[t.ThreadID] = t
		if t.CreatedAt.Before(p.From) {
			p.From = t.CreatedAt
		}
	}
	relations := p.ReportResult.Graph.Of()
	var add func(trees []*graph.Tree, depth int)
	add = func(trees []*graph.Tree, depth int) {
		for _, t := range trees {
			if !t.Outside {
				row := threadRow{Thread: t.Thread, Depth: min(depth, deepest), Label: label(t.Thread) + ranAs(times[t.ID]), Used: totals(times[t.ID].Runs)}
				row.Spans, row.Words = p.spans(times[t.ID])
				for _, e := range relations[t.ID] {
					row.Relations = append(row.Relations, relation(e))
				}
				p.Threads = append(p.Threads, row)
			}
			add(t.Children, depth+1)
		}
	}
	for _, g := range p.ReportResult.Graph.Groups() {
		add(g.Roots, 0)
	}
}

// spans returns a thread's times as parts of a bar, and their sums in words.
func (p *page) spans(t views.ReportThread) (bar []share, words string) {
	all := p.At.Sub(p.From).Seconds()
	sums := map[thread.Status]time.Duration{}
	for _, s := range t.Spans {
		sums[s.Status] += s.To.Sub(s.From)
		if all <= 0 {
			continue
		}
		x, w := s.From.Sub(p.From).Seconds()*1000/all, s.To.Sub(s.From).Seconds()*1000/all
		bar = append(bar, share{s.Status, decimal(min(max(x, 0), 998)), decimal(max(w, 2))})
	}
	var parts []string
	for _, status := range thread.Statuses() {
		if sum, ok := sums[status]; ok {
			parts = append(parts, string(status)+" "+duration(sum))
		}
	}
	if len(parts) == 0 {
		return bar, "times unknown"
	}
	return bar, strings.Join(parts, ", ")
}

// ranAs says, behind a comma, how the newest run of a thread's agent stands.
func ranAs(t views.ReportThread) string {
	if t.Run == "" {
		return ""
	}
	return ", run: " + t.Run
}

// label is a thread's status.
func label(t graph.Thread) string {
	text := string(t.Status)
	if t.Ready {
		text += ", ready"
	}
	if t.Holder != "" {
		text += ", " + t.Holder
	}
	return text
}

// relation is what a thread has to do with another, in words.
func relation(e graph.Edge) string {
	switch e.Kind {
	case graph.DependsOn:
		return "depends on " + string(e.To)
	case graph.Reference:
		return e.Words() + ": " + string(e.To)
	}
	return e.Words() + ": " + string(e.From)
}

// mergeRow is a merge with who decided what.
type mergeRow struct {
	views.ReportMerge
	Decided []string
}

// decided counts the decisions of a merge by who made them and what they chose.
func decided(m views.ReportMerge) (out []string) {
	type key struct{ take, how, actor string }
	counts := map[key]int{}
	var order []key
	for _, d := range m.Decisions {
		k := key{d.Take, d.How, d.Actor}
		if counts[k] == 0 {
			order = append(order, k)
		}
		counts[k]++
	}
	for _, k := range order {
		text := strconv.Itoa(counts[k]) + " " + k.take + ", by "
		switch {
		case k.actor == "":
			text += k.how
		case k.how == string(thread.User):
			text += k.actor
		default:
			text += k.actor + " (" + k.how + ")"
		}
		out = append(out, text)
	}
	return out
}

// agentRow is what an agent has used.
type agentRow struct {
	Name                  string
	Runs, Turns           int
	In, Out, Cached, Cost string
}

func (p *page) agents() {
	if p.Runs == nil {
		return
	}
	row := func(name string, runs, turns int, u thread.Use) agentRow {
		return agentRow{name, runs, turns, amount(u.Input), amount(u.Output), amount(u.CachedRead), cost(u.Cost)}
	}
	for _, a := range p.Runs.Agents {
		p.Agents = append(p.Agents, row(a.Agent, a.Runs, a.Turns, a.Used))
	}
	if len(p.Agents) != 1 {
		p.Agents = append(p.Agents, row("all", p.Runs.Runs, p.Runs.Turns, p.Runs.Used))
	}
}

// operationRow is an operation of the history.
type operationRow struct {
	Seq                               thread.Revision
	Time, By, Command, Thread, Params string
	Undone                            bool
}

// history fills the table of the history, newest first.
func (p *page) history() {
	for _, op := range slices.Backward(p.History) {
		if len(p.Operations) == most {
			break
		}
		row := operationRow{Seq: op.Seq, Time: seconds(op.Time), By: op.Actor, Command: op.Command, Params: app.Cut(string(op.Params), longest), Undone: op.UndoneBy != ""}
		if op.As != thread.User {
			row.By += " (" + string(op.As) + ")"
		}
		if op.ThreadID != nil {
			row.Thread = string(*op.ThreadID)
		}
		if len(p.Newest) < newest {
			p.Newest = append(p.Newest, row)
		}
		undone := 0
		if row.Undone {
			undone = 1
		}
		// What the script shows is escaped here: in JSON an escape would be the character again.
		p.Operations = append(p.Operations, []any{row.Seq, row.Time, visible(row.By), visible(row.Command), visible(row.Thread), visible(row.Params), undone})
	}
}

// totals says what runs have used, "" for none.
func totals(r *thread.RunTotals) string {
	if r == nil {
		return ""
	}
	parts := []string{count(r.Runs, "run"), count(r.Turns, "turn")}
	if n, known := r.Used.Tokens(); known {
		parts = append(parts, amount(&n)+" tokens")
	}
	if text := cost(r.Used.Cost); text != "-" {
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func cost(all []thread.Cost) string {
	var parts []string
	for _, c := range all {
		parts = append(parts, fmt.Sprintf("%.2f %s", c.Amount, c.Currency))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// amount is a number with commas between thousands, - for an unknown one.
func amount(n *int64) string {
	if n == nil {
		return "-"
	}
	digits := strconv.FormatInt(*n, 10)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// count is a number with a word whose plural ends in s.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	wide := int64(n)
	return amount(&wide) + " " + thing
}

func short(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

func seconds(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// duration is a time in its two largest units.
func duration(d time.Duration) string {
	d = d.Round(time.Second)
	days, hours, minutes := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60
	switch {
	case days > 0:
		return fmt.Sprintf("%d d %d h", days, hours)
	case hours > 0:
		return fmt.Sprintf("%d h %d min", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%d min %d s", minutes, int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}

// decimal is a number with at most two digits behind the point.
func decimal(n float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(n, 'f', 2, 64), "0"), ".")
}
