package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app"
	"leslie/internal/app/decisions"
	"leslie/internal/app/history"
	"leslie/internal/app/views"
	"leslie/internal/graph"
	"leslie/internal/report"
	"leslie/thread"
)

func at(minutes int) time.Time {
	return time.Date(2026, 3, 1, 12, minutes, 0, 0, time.UTC)
}

func known(n int64) *int64 { return &n }

// sample has something in every section. Its texts from outside are text, or begin so.
func sample(text string) *views.ReportResult {
	id := thread.ThreadID(text)
	params, _ := json.Marshal(map[string]string{"title": text})
	since := "2026-03-01T12:00:00Z"
	kim, when := app.Actor{As: thread.User, Actor: text}, at(40)
	use := thread.Use{Input: known(1200), Output: known(34), Cost: []thread.Cost{{Amount: 1.5, Currency: text}}}
	runs := &thread.RunTotals{Runs: 2, Turns: 5, Used: use, Agents: []thread.AgentTotals{{Agent: text, Runs: 2, Turns: 5, Used: use}}}
	return &views.ReportResult{
		Project: text, At: at(60), Revision: 9,
		Objectives: []app.ObjectiveRecord{{ObjectiveID: "ship", Title: text, Status: thread.ObjectiveActive, CreatedAt: at(0), Threads: thread.Counts{thread.Active: 3, thread.Suspended: 1}, Runs: runs}},
		Graph: graph.Graph{
			Objectives: []graph.Objective{{ID: "ship", Title: text, Status: thread.ObjectiveActive}},
			Threads: []graph.Thread{
				{ID: "main", ObjectiveID: "ship", Title: text, Status: thread.Active, Ready: true},
				{ID: id, ObjectiveID: "ship", Title: text, Status: thread.Suspended, Holder: text},
				{ID: "docs", ObjectiveID: "ship", Title: text, Status: thread.WaitingHuman},
				{ID: thread.ThreadID(text + "-gone"), Outside: true},
			},
			Edges: []graph.Edge{
				{Kind: graph.Parent, From: id, To: "main"}, {Kind: graph.Parent, From: "docs", To: "main"},
				{Kind: graph.DependsOn, From: "docs", To: id}, {Kind: graph.Merge, From: id, To: "main", At: 4}, {Kind: graph.Merge, From: "docs", To: "main", MergeID: "merge-a"},
				{Kind: graph.Reference, From: "main", To: thread.ThreadID(text + "-gone"), Binding: thread.Frozen, Unresolved: true},
			},
		},
		Threads: []views.ReportThread{
			{ThreadID: "main", CreatedAt: at(0), Spans: []views.ReportSpan{{Status: thread.Active, From: at(0), To: at(60)}}, Runs: runs},
			{ThreadID: id, CreatedAt: at(15), Spans: []views.ReportSpan{{Status: thread.Active, From: at(15), To: at(30)}, {Status: thread.Suspended, From: at(30), To: at(60)}}},
			{ThreadID: "docs", CreatedAt: at(20), Run: "failed (" + text + ")"},
		},
		Merges: []views.ReportMerge{{
			Seq: 4, At: at(35), By: kim, MergeID: thread.MergeID(text), Target: "main", Sources: []thread.ThreadID{id}, Status: views.MergeMade,
			Decisions: []views.ReportDecision{
				{About: "a", Decision: thread.Decision{Take: "theirs", How: "user", Actor: text}}, {About: "b", Decision: thread.Decision{Take: "theirs", How: "user", Actor: text}},
				{About: "c", Decision: thread.Decision{Take: "text", How: "agent", Actor: text}},
			},
		}},
		Approvals: []app.ApprovalRecord{{
			ThreadID: id, Scope: []string{text, "deploy"}, Reason: text, Status: thread.GrantApproved, CreatedAt: at(10), CreatedBy: app.Actor{As: thread.Agent, Actor: text},
			DecidedAt: &when, DecidedBy: &kim, Verdict: text, Tool: &thread.ToolCall{Command: text},
		}},
		Questions: []decisions.QuestionRecord{{ThreadID: id, To: text, Question: text, Status: thread.QuestionAnswered, Answer: &text, CreatedAt: at(11), CreatedBy: kim, AnsweredAt: &when, AnsweredBy: &kim}},
		Stats: &history.StatsResult{Since: &since, Errors: 3, Codes: []history.CodeStats{
			{Code: "T101", Kind: "thread_not_found", Count: 3, Recovered: 1, Calls: &history.RecoveryCalls{Median: 2, Max: 4}}, {Code: "T903", Kind: text, Count: 1},
		}},
		Runs: runs,
		History: []app.OperationRecord{
			{Seq: 1, OperationID: "op-a", Time: at(0), As: thread.User, Actor: text, Command: "spawn", ThreadID: &id, Params: params},
			{Seq: 2, OperationID: "op-b", Time: at(1), As: thread.Agent, Actor: text, Command: "done", UndoneBy: "op-c"},
		},
	}
}

func written(t testing.TB, r *views.ReportResult) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, report.Write(&b, r, "v1"))
	return b.String()
}

func TestAReportHasAllSections(t *testing.T) {
	t.Parallel()
	page := written(t, sample("part"))
	assert.True(t, report.Is([]byte(page)))
	for _, want := range []string{
		`<title>part: report</title>`, `As of <time datetime="2026-03-01T13:00:00Z">2026-03-01 13:00</time> UTC, revision 9: 3 threads, 2 operations.`,
		`<p>3 active, 1 suspended</p>`, `<p>2 runs, 5 turns, 1,234 tokens, 1.50 part</p>`,
		`<rect class="s-active" x="0" y="0" width="750" height="10"/><rect class="s-suspended" x="750" y="0" width="250" height="10"/>`,
		`<title>part is a child of main</title>`, `<title>main reads frozen, unresolved part-gone</title>`, `class="e-reference frozen trouble"`,
		`<title>docs waits to be merged into main</title>`, `class="e-merge pending"`,
		`aria-label="active 15 min 0 s, suspended 30 min 0 s"`, `aria-label="times unknown"`,
		`<rect class="s-active" x="250" y="0" width="250" height="10"/><rect class="s-suspended" x="500" y="0" width="500" height="10"/>`,
		`<td>reads frozen, unresolved: part-gone<br>merged: part<br>merge pending: docs</td>`, `<td>depends on part</td>`,
		`, run: failed (part)</td>`,
		`<td>2 theirs, by part<br>1 text, by part (agent)</td>`,
		`<td>part, deploy: part<br><code>part</code></td><td>approved</td>`,
		`<th scope="row">T101</th><td>thread_not_found</td><td class="n">3</td><td class="n">1</td><td class="n">2</td><td class="n">4</td>`,
		`<th scope="row">part</th><td class="n">2</td><td class="n">5</td><td class="n">1,200</td><td class="n">34</td><td class="n">-</td><td class="n">1.50 part</td>`,
		`<tr class="undone"><td class="n">2</td><td>2026-03-01 12:01:00</td><td>part (agent)</td><td>done</td>`,
		`<td class="text">{&#34;title&#34;:&#34;part&#34;}</td>`,
	} {
		assert.True(t, strings.Contains(page, want), "the page lacks %s", want)
	}
}

func TestAnEmptyProjectHasAReport(t *testing.T) {
	t.Parallel()
	page := written(t, &views.ReportResult{Project: "empty", At: at(0), Stats: &history.StatsResult{}})
	for _, want := range []string{
		"There are no objectives.", "There are no threads.", "Nothing was merged.", "Nobody asked for an approval.", "Nobody asked a question.",
		"The log has no errors and no warnings.", "leslie has run no agents.", "0 operations",
	} {
		assert.Contains(t, page, want)
	}
}

// Of a long history the newest part stands in the page, and all of it is searched.
func TestALongHistoryIsInThePage(t *testing.T) {
	t.Parallel()
	r := sample("part")
	r.History = nil
	for i := range 1000 {
		r.History = append(r.History, app.OperationRecord{Seq: thread.Revision(i + 1), Command: "update", Params: json.RawMessage(`{"intent":"` + strings.Repeat("x", 5000) + `"}`)})
	}
	page := written(t, r)
	assert.Equal(t, 200, strings.Count(page, `<td>update</td>`))
	assert.Equal(t, 1000, strings.Count(page, `,"update",`))
	assert.Less(t, len(page), 600_000, "parameters are cut")
	assert.Contains(t, page, "1,000 operations")
}

var (
	policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`)
	block  = regexp.MustCompile(`(?s)<(style|script)>(.*?)</(?:style|script)>`)
	tag    = regexp.MustCompile(`<[a-zA-Z/!][^>]*>`)
	value  = regexp.MustCompile(`"[^"]*"`)
	link   = regexp.MustCompile(`(?:href|src|srcset|action|data|poster|formaction)="([^"]*)"`)
)

// A browser runs and draws only what the policy names by its hash.
func TestThePolicyNamesTheStyleAndTheScript(t *testing.T) {
	t.Parallel()
	page := written(t, sample("part"))
	rule := html.UnescapeString(policy.FindStringSubmatch(page)[1])
	assert.True(t, strings.HasPrefix(rule, "default-src 'none'; "), rule)
	assert.NotContains(t, rule, "unsafe")
	blocks := block.FindAllStringSubmatch(page, -1)
	require.Len(t, blocks, 2)
	for _, b := range blocks {
		sum := sha256.Sum256([]byte(b[2]))
		assert.Contains(t, rule, b[1]+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	assert.NotContains(t, page, ` style="`)
	assert.NotRegexp(t, ` on[a-z]+="`, page)
}

// without is a page's tags without what their attributes say.
func without(page string) string {
	return value.ReplaceAllString(strings.Join(tag.FindAllString(block.ReplaceAllString(page, ""), -1), ""), `""`)
}

func hostile() []string {
	return []string{
		`<script>alert(1)</script>`, `</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onclick='alert(1)`, `javascript:alert(1)`,
		`]]><!-- x`, "{{.Policy}}", `</style><style>*{}</style>`, `</title></svg><a href="http://example.com">`, "\x00\xff\u2028</SCRIPT >", `<!--<script>`, `url(http://example.com)`,
	}
}

func TestNoTextBecomesMarkup(t *testing.T) {
	t.Parallel()
	want := without(written(t, sample("part")))
	for _, text := range hostile() {
		page := written(t, sample(text))
		assert.Equal(t, want, without(page), "%q", text)
		for _, found := range link.FindAllStringSubmatch(page, -1) {
			assert.True(t, strings.HasPrefix(found[1], "#"), "%q leads to %q", text, found[1])
		}
	}
}

// A command that somebody is asked to trust must read as what it is, in the page and in
// what its script shows.
func TestWhatHidesOrReordersIsShown(t *testing.T) {
	t.Parallel()
	const text = "rm \u202ecod.exe\u2066 \x1b[2J\u200b\u2028 👩\u200d💻"
	page := written(t, sample(text))
	assert.NotContains(t, page, "\u202e")
	for _, r := range page {
		require.False(t, unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Cf, r) && r != '\u200d', "%q", r)
	}
	const want = `rm \u202ecod.exe\u2066 \x1b[2J\u200b\u2028 ` + "👩\u200d💻"
	assert.Contains(t, page, `<br><code>`+want+`</code></td><td>approved</td>`)
	_, data, _ := strings.Cut(page, `id="operations">`)
	data, _, _ = strings.Cut(data, "</script>")
	var rows [][]any
	require.NoError(t, json.Unmarshal([]byte(data), &rows))
	assert.Equal(t, want, rows[1][4])
}

func FuzzReport(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text)
	}
	want := without(written(f, sample("part")))
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || text == "main" || text == "docs" {
			t.Skip("another graph")
		}
		assert.Equal(t, want, without(written(t, sample(text))))
	})
}

var (
	palette = regexp.MustCompile(`:root \{([^}]*)\}`)
	colour  = regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6})`)
)

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		require.NoError(t, err)
		v := float64(n) / 255
		if v <= 0.03928 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// WCAG 2 asks for 4.5 to 1 for texts, and 3 to 1 for what has to be seen otherwise.
func TestColoursHaveContrast(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("page.css")
	require.NoError(t, err)
	palettes := palette.FindAllStringSubmatch(string(css), -1)
	require.Len(t, palettes, 2, "a light and a dark one")
	for i, p := range palettes {
		colours := map[string]string{}
		for _, c := range colour.FindAllStringSubmatch(p[1], -1) {
			colours[c[1]] = c[2]
		}
		require.NotEmpty(t, colours)
		contrast := func(a, b string) float64 {
			x, y := luminance(t, colours[a]), luminance(t, colours[b])
			return (max(x, y) + 0.05) / (min(x, y) + 0.05)
		}
		for _, text := range []string{"fg", "dim", "link", "active", "waiting", "suspended", "completed"} {
			assert.GreaterOrEqual(t, contrast(text, "bg"), 4.5, "%s on the background of palette %d", text, i)
		}
		assert.GreaterOrEqual(t, contrast("dim", "soft"), 4.5)
		for _, fill := range []string{"active", "waiting", "suspended", "completed", "ended", "missing"} {
			assert.GreaterOrEqual(t, contrast("fg", "f-"+fill), 4.5, "text in a box that is %s in palette %d", fill, i)
		}
		for _, line := range []string{"ended", "bad", "merge", "depends"} {
			assert.GreaterOrEqual(t, contrast(line, "bg"), 3.0, "%s in palette %d", line, i)
		}
	}
}

// large is a report about many threads and operations.
func large(threads, operations int) *views.ReportResult {
	r := sample("part")
	r.Graph.Threads, r.Graph.Edges, r.Threads, r.History = nil, nil, nil, nil
	for i := range threads {
		id := thread.ThreadID(fmt.Sprintf("t%d", i))
		r.Graph.Threads = append(r.Graph.Threads, graph.Thread{ID: id, ObjectiveID: "ship", Title: fmt.Sprintf("Part %d of the work", i), Status: thread.Active})
		if i > 20 {
			r.Graph.Edges = append(r.Graph.Edges, graph.Edge{Kind: graph.Parent, From: id, To: thread.ThreadID(fmt.Sprintf("t%d", i/8))})
		}
		if i > 0 {
			r.Graph.Edges = append(r.Graph.Edges, graph.Edge{Kind: graph.Reference, From: id, To: thread.ThreadID(fmt.Sprintf("t%d", i-1)), Binding: thread.Frozen, Stale: i % 3})
		}
		times := views.ReportThread{ThreadID: id, CreatedAt: at(0)}
		for n := range 6 {
			times.Spans = append(times.Spans, views.ReportSpan{Status: []thread.Status{thread.Active, thread.Suspended}[n%2], From: at(10 * n), To: at(10*n + 10)})
		}
		r.Threads = append(r.Threads, times)
	}
	for i := range operations {
		id := thread.ThreadID(fmt.Sprintf("t%d", i%max(threads, 1)))
		r.History = append(r.History, app.OperationRecord{
			Seq: thread.Revision(i + 1), Time: at(0).Add(time.Duration(i) * time.Second), As: thread.Agent, Actor: "claude", Command: "update", ThreadID: &id,
			Params: json.RawMessage(fmt.Sprintf(`{"operands":["%s"],"title":"Part %d of the work, as somebody named it"}`, id, i)),
		})
	}
	return r
}

// Boxes must not lie on each other, and a child is on the right of its parent.
func TestBoxesHaveRoom(t *testing.T) {
	t.Parallel()
	page := written(t, large(300, 1))
	boxes := regexp.MustCompile(`<g transform="translate\((\d+) (\d+)\)">`).FindAllStringSubmatch(page, -1)
	require.Len(t, boxes, 300)
	columns := map[string][]int{}
	for _, b := range boxes {
		y, err := strconv.Atoi(b[2])
		require.NoError(t, err)
		for _, other := range columns[b[1]] {
			require.GreaterOrEqual(t, max(y-other, other-y), 44, "column %s", b[1])
		}
		columns[b[1]] = append(columns[b[1]], y)
	}
	assert.Greater(t, len(columns), 2)
	assert.Contains(t, written(t, large(2001, 1)), "2,001 threads are too many to draw")
}

func BenchmarkWrite(b *testing.B) {
	r := large(1000, 10_000)
	for b.Loop() {
		var out bytes.Buffer
		require.NoError(b, report.Write(&out, r, "v1"))
		b.ReportMetric(float64(out.Len()), "bytes")
	}
}
