//go:build unix

package report_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app"
	"leslie/internal/app/history"
	"leslie/internal/app/views"
	"leslie/internal/graph"
	"leslie/thread"
)

// These tests open pages in a headless Chromium, driven by its DevTools protocol. Without
// one they are skipped.

// browser is a running Chromium with one open page.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	session string
	last    int
	// said is what the page logged, and what its policy refused.
	said []string
}

// command is a command of the protocol.
type command struct {
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Session string `json:"sessionId,omitempty"`
	Params  any    `json:"params,omitempty"`
}

// message is the result of a command, or an event.
type message struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

// openBrowser starts Chromium with a pipe for its protocol, and an empty page.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("there is no chromium: install it to see what a browser makes of a report")
	}
	dir, err := os.MkdirTemp("", "chromium") // its last processes may still write there when the test ends
	require.NoError(t, err)
	theirs, to, err := os.Pipe()
	require.NoError(t, err)
	from, ours, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", "--no-first-run",
		"--user-data-dir="+dir, "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{theirs, ours}
	require.NoError(t, cmd.Start())
	_, _ = theirs.Close(), ours.Close()
	b := &browser{t: t, to: to, from: bufio.NewReaderSize(from, 1<<20)}
	t.Cleanup(func() {
		b.call("Browser.close", nil)
		_ = cmd.Wait()
		_, _, _ = to.Close(), from.Close(), os.RemoveAll(dir)
	})
	var target struct{ TargetID string }
	b.answer(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	var attached struct{ SessionID string }
	b.answer(&attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Accessibility"} {
		b.call(domain+".enable", nil)
	}
	return b
}

// call sends a command and returns its result.
func (b *browser) call(method string, params any) json.RawMessage {
	b.t.Helper()
	b.last++
	sent, err := json.Marshal(command{ID: b.last, Method: method, Session: b.session, Params: params})
	require.NoError(b.t, err)
	_, err = b.to.Write(append(sent, 0))
	require.NoError(b.t, err)
	for {
		m := b.receive()
		if m.ID == b.last {
			require.Empty(b.t, string(m.Error), method)
			return m.Result
		}
	}
}

// receive reads a message, and notes what the page said.
func (b *browser) receive() message {
	b.t.Helper()
	raw, err := b.from.ReadBytes(0)
	require.NoError(b.t, err)
	var m message
	require.NoError(b.t, json.Unmarshal(raw[:len(raw)-1], &m))
	switch m.Method {
	case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
		b.said = append(b.said, string(m.Params))
	}
	return m
}

func (b *browser) answer(to any, method string, params any) {
	b.t.Helper()
	require.NoError(b.t, json.Unmarshal(b.call(method, params), to))
}

// eval returns the value of an expression in the page, which may be a promise.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	b.answer(&out, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	require.Nil(b.t, out.ExceptionDetails, expression)
	return out.Result.Value
}

// open opens a report and waits until it is loaded.
func (b *browser) open(r *views.ReportResult) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "report.html")
	require.NoError(b.t, os.WriteFile(path, []byte(written(b.t, r)), 0o600))
	b.call("Page.navigate", map[string]any{"url": "file://" + path})
	for b.eval(`document.readyState === "complete" && document.title.includes("report")`) != true {
		b.eval(`new Promise((done) => document.readyState === "complete" && document.title.includes("report") ? done() : requestAnimationFrame(done))`)
	}
}

// shoot writes a picture of the page, if somebody wants to look at it: LESLIE_SCREENSHOTS
// is a folder. A height of 0 is the whole page.
func (b *browser) shoot(name string, height int) {
	b.t.Helper()
	dir := os.Getenv("LESLIE_SCREENSHOTS")
	if dir == "" {
		return
	}
	how := map[string]any{"captureBeyondViewport": height == 0}
	if height > 0 {
		b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1120, "height": height, "deviceScaleFactor": 1, "mobile": false})
	}
	var shot struct{ Data string }
	b.answer(&shot, "Page.captureScreenshot", how)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600))
}

func TestABrowserShowsAReport(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	for _, text := range append(hostile(), "part") {
		b.open(sample(text))
		assert.Equal(t, "yes", b.eval(`document.documentElement.dataset.ready`), "the script ran with %q", text)
		assert.Equal(t, float64(2), b.eval(`document.querySelectorAll("#rows tr").length`), "%q", text)
		assert.Equal(t, float64(2), b.eval(`document.scripts.length`))
		assert.Equal(t, float64(0), b.eval(`document.images.length`))
		assert.Empty(t, b.said, "%q", text)
	}
	for _, scheme := range []string{"light", "dark"} {
		b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
		dark := b.eval(`getComputedStyle(document.body).backgroundColor`) == "rgb(13, 17, 23)"
		assert.Equal(t, scheme == "dark", dark)
		b.shoot(scheme, 0)
	}
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": "print"})
	assert.Equal(t, "rgb(255, 255, 255)", b.eval(`getComputedStyle(document.body).backgroundColor`), "dark schemes print light")
	assert.Equal(t, "none", b.eval(`getComputedStyle(document.getElementById("finder")).display`))
	assert.Equal(t, "visible", b.eval(`getComputedStyle(document.querySelector(".scroll")).overflow`), "nothing is cut")
	var pdf struct{ Data string }
	b.answer(&pdf, "Page.printToPDF", map[string]any{"printBackground": true})
	assert.NotEmpty(t, pdf.Data)
	assert.Empty(t, b.said)
}

// The pictures of docs/images are of this report:
//
//	LESLIE_SCREENSHOTS=$PWD/docs/images go test ./internal/report -run PictureOfTheDocuments
func TestThePictureOfTheDocuments(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.open(showcase())
	assert.Equal(t, float64(9), b.eval(`document.querySelectorAll("svg.graph g[transform]").length`))
	assert.Equal(t, float64(9), b.eval(`document.querySelectorAll("svg.time").length`))
	assert.Empty(t, b.said)
	b.eval(`document.getElementById("graph").scrollIntoView()`)
	b.shoot("report", 900)
}

// The policy refuses what a page could be made to do.
func TestAReportCanLoadNothing(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.open(sample("part"))
	refused := b.eval(`new Promise((done) => {
		const found = [];
		document.addEventListener("securitypolicyviolation", (e) => { found.push(e.effectiveDirective); if (found.length === 5) done(found.sort().join(" ")); });
		const add = (name, set) => { const e = document.createElement(name); Object.assign(e, set); document.body.append(e); };
		add("img", { src: "http://127.0.0.1:9/x.png" });
		add("script", { textContent: "document.title = 'run'" });
		add("style", { textContent: "body { color: red }" });
		add("iframe", { src: "http://127.0.0.1:9/" });
		fetch("http://127.0.0.1:9/").catch(() => {});
	})`)
	assert.Equal(t, "connect-src frame-src img-src script-src-elem style-src-elem", refused)
	assert.Equal(t, "part: report", b.eval(`document.title`), "the script did not run")
}

// A browser gives each picture and control to a screen reader by a name.
func TestAReportHasNamesForScreenReaders(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.open(sample("part"))
	var tree struct {
		Nodes []struct {
			Ignored bool
			Role    struct{ Value string }
			Name    struct{ Value string }
		}
	}
	b.answer(&tree, "Accessibility.getFullAXTree", nil)
	count := map[string]int{}
	for _, n := range tree.Nodes {
		role := strings.ToLower(n.Role.Value)
		if n.Ignored || !strings.Contains(" image img region link searchbox button navigation columnheader rowheader heading ", " "+role+" ") {
			continue
		}
		count[role]++
		assert.NotEmpty(t, n.Name.Value, "a %s without a name", role)
	}
	assert.Positive(t, count["image"]+count["img"])
	for _, role := range []string{"region", "heading", "columnheader", "rowheader", "searchbox"} {
		assert.Positive(t, count[role], role)
	}
	assert.Equal(t, "en", b.eval(`document.documentElement.lang`))
	assert.Equal(t, float64(1), b.eval(`document.querySelectorAll("h1").length`))
}

func TestABigReportIsSearched(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.open(large(1000, 10_000))
	rows := func() any { return b.eval(`document.querySelectorAll("#rows tr").length`) }
	found := func() any { return b.eval(`document.getElementById("found").textContent`) }
	search := func(words string) {
		b.eval(`(() => { const f = document.getElementById("find"); f.value = ` + jsString(t, words) + `; f.dispatchEvent(new Event("input")); })()`)
	}
	assert.Equal(t, float64(200), rows())
	assert.Equal(t, "1 to 200 of 10000", found())
	b.eval(`document.getElementById("older").click()`)
	assert.Equal(t, "201 to 400 of 10000", found())
	search("PART 1234 claude")
	assert.Equal(t, "1 to 2 of 2", found(), "revision 1234, and a title")
	assert.Equal(t, float64(2), rows())
	assert.Contains(t, b.eval(`document.getElementById("rows").textContent`), "Part 1234 of the work")
	search("<nothing>")
	assert.Equal(t, "nothing found", found())
	search("")
	assert.Equal(t, float64(200), rows())
	assert.Empty(t, b.said)
	t.Logf("loaded in %v ms", b.eval(`Math.round(performance.getEntriesByType("navigation")[0].loadEventEnd)`))
	b.shoot("big", 0)
}

func jsString(t *testing.T, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	require.NoError(t, err)
	return string(out)
}

// showcase is a day of a small project.
func showcase() *views.ReportResult {
	hour := func(h float64) time.Time { return at(0).Add(time.Duration(h * float64(time.Hour))) }
	r := &views.ReportResult{Project: "payments", At: hour(8), Revision: 214, Stats: &history.StatsResult{}}
	r.Graph.Objectives = []graph.Objective{{ID: "ship", Title: "Ship the payments API", Status: thread.ObjectiveActive}, {ID: "docs", Title: "Documentation", Status: thread.ObjectiveActive}}
	add := func(objective, parent, id, title string, status thread.Status, cost float64, changes ...any) {
		r.Graph.Threads = append(r.Graph.Threads, graph.Thread{ID: thread.ThreadID(id), ObjectiveID: thread.ObjectiveID(objective), Title: title, Status: status})
		if parent != "" {
			r.Graph.Edges = append(r.Graph.Edges, graph.Edge{Kind: graph.Parent, From: thread.ThreadID(id), To: thread.ThreadID(parent)})
		}
		own := views.ReportThread{ThreadID: thread.ThreadID(id), CreatedAt: hour(changes[0].(float64))}
		for i := 0; i+2 < len(changes); i += 2 {
			own.Spans = append(own.Spans, views.ReportSpan{Status: changes[i+1].(thread.Status), From: hour(changes[i].(float64)), To: hour(changes[i+2].(float64))})
		}
		if cost > 0 {
			tokens := int64(cost * 61_000)
			own.Runs = &thread.RunTotals{Runs: 1, Turns: int(cost*4) + 1, Used: thread.Use{Output: &tokens, Cost: []thread.Cost{{Amount: cost, Currency: "USD"}}}}
		}
		r.Threads = append(r.Threads, own)
	}
	const active, waits, suspended, done = thread.Active, thread.WaitingHuman, thread.Suspended, thread.Completed
	add("ship", "", "lead", "Plan and merge", active, 0, 0.0, active, 1.0, suspended, 6.5, active, 8.0)
	add("ship", "lead", "api", "Design the endpoints", active, 2.1, 0.6, active, 3.0, waits, 3.7, active, 8.0)
	add("ship", "api", "auth", "Tokens and scopes", done, 1.4, 1.2, active, 4.6)
	add("ship", "api", "limits", "Rate limits", active, 0.8, 2.0, suspended, 4.6, active, 8.0)
	add("ship", "lead", "store", "Durable storage", waits, 3.2, 0.7, active, 7.1, waits, 8.0)
	add("ship", "store", "schema", "Schema and migrations", done, 0.9, 1.5, active, 2.6, waits, 2.9, active, 5.2)
	add("ship", "lead", "client", "Client library", active, 1.1, 0.8, suspended, 5.0, active, 8.0)
	add("ship", "client", "examples", "Examples", suspended, 0.3, 5.4, active, 6.9, suspended, 8.0)
	add("docs", "", "guide", "User guide", active, 0.6, 3.4, active, 8.0)
	r.Graph.Edges = append(r.Graph.Edges,
		graph.Edge{Kind: graph.DependsOn, From: "limits", To: "auth"}, graph.Edge{Kind: graph.DependsOn, From: "examples", To: "schema"},
		graph.Edge{Kind: graph.Reference, From: "guide", To: "api", Binding: thread.Frozen, Stale: 2}, graph.Edge{Kind: graph.Reference, From: "examples", To: "auth", Binding: thread.Live},
		graph.Edge{Kind: graph.Merge, From: "auth", To: "api", At: 90}, graph.Edge{Kind: graph.Merge, From: "schema", To: "store", At: 120}, graph.Edge{Kind: graph.Merge, From: "api", To: "lead", MergeID: "merge-a"},
	)
	r.Objectives = []app.ObjectiveRecord{
		{ObjectiveID: "ship", Title: "Ship the payments API", Status: thread.ObjectiveActive, CreatedAt: hour(0), Threads: thread.Counts{active: 4, waits: 1, suspended: 1, done: 2}},
		{ObjectiveID: "docs", Title: "Documentation", Status: thread.ObjectiveActive, CreatedAt: hour(3), Threads: thread.Counts{active: 1}},
	}
	for range 214 {
		r.History = append(r.History, app.OperationRecord{Command: "update"})
	}
	return r
}
