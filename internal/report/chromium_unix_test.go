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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app"
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
func (b *browser) open(r *app.ReportResult) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "report.html")
	require.NoError(b.t, os.WriteFile(path, []byte(written(b.t, r)), 0o600))
	b.call("Page.navigate", map[string]any{"url": "file://" + path})
	for b.eval(`document.readyState === "complete" && document.title.includes("report")`) != true {
		b.eval(`new Promise((done) => document.readyState === "complete" && document.title.includes("report") ? done() : requestAnimationFrame(done))`)
	}
}

// shoot writes a picture of the page, if somebody wants to look at it.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("LESLIE_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.answer(&shot, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true})
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
		b.shoot(scheme)
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
	b.shoot("big")
}

func jsString(t *testing.T, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	require.NoError(t, err)
	return string(out)
}
