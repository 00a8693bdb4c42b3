//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/gdamore/tcell/v3/color"
	"github.com/gdamore/tcell/v3/vt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
	"leslie/internal/screen"
)

// terminal is a person's terminal: it runs leslie on a pseudo-terminal, one process after
// another, and knows what its screen shows then. The processes' clock starts at the
// bench's time.
type terminal struct {
	t      *testing.T
	b      *bench
	env    []string
	size   pty.Winsize
	screen vt.MockTerm

	waits func() error // for the process
	keys  *os.File     // what the person types goes there

	mu      sync.Mutex
	written []byte        // by the process since the last send
	changed chan struct{} // closed when more was written, or the process ended
	ended   bool
}

// openTerminal returns a terminal of so many columns and rows. No marker of an agent is in
// the environment, so leslie talks to a person, called kim.
func openTerminal(t *testing.T, b *bench, cols, rows int, env ...string) *terminal {
	t.Helper()
	screen := vt.NewMockTerm(vt.MockOptSize{X: vt.Col(cols), Y: vt.Row(rows)})
	require.NoError(t, screen.Start())
	t.Cleanup(func() { _ = screen.Stop() })
	const clusters = "\x1b[?2027h" // characters of several code points share a cell
	_, err := screen.Write([]byte(clusters))
	require.NoError(t, err)
	return &terminal{
		t: t, b: b, screen: screen, size: pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)},
		env: append([]string{b.clock(), "TERM=xterm-256color", "LESLIE_PAGER=cat"}, env...),
	}
}

// clock is the variable that starts a process's clock at the bench's time.
func (b *bench) clock() string { return testClock + "=" + b.Now().Format(time.RFC3339) }

// start starts leslie. Its output goes to the screen below what is there.
func (s *terminal) start(args ...string) {
	s.t.Helper()
	s.startProcess(process(s.t, s.b, s.env, args...))
}

// startProcess starts another program like that.
func (s *terminal) startProcess(cmd *exec.Cmd) {
	s.t.Helper()
	s.keys, s.waits = startOnTerminal(s.t, cmd, &s.size)
	s.written, s.changed, s.ended = nil, make(chan struct{}), false
	go s.show()
}

// show copies what the process writes to the screen until no process has the terminal.
func (s *terminal) show() {
	part := make([]byte, 4096)
	for {
		n, err := s.keys.Read(part)
		_, _ = s.screen.Write(slices.Clone(part[:n])) // it is read later
		s.mu.Lock()
		s.written = append(s.written, part[:n]...)
		s.ended = err != nil // EIO on Linux
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// sequence matches what a terminal acts on and does not show.
var sequence = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")

// look returns what was written since the last send, without colours, and a channel that
// is closed when that changes.
func (s *terminal) look() (text string, changed <-chan struct{}, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sequence.ReplaceAllString(string(s.written), ""), s.changed, s.ended
}

// waitFor waits until leslie has written text since the last send. It fails if the process
// ends without.
func (s *terminal) waitFor(text string) {
	s.t.Helper()
	for {
		written, changed, ended := s.look()
		if strings.Contains(written, text) {
			return
		}
		require.False(s.t, ended, "it ended without %q:\n%s", text, written)
		<-changed
	}
}

// send types keys: "\r" is Enter, "\x04" Ctrl-D.
func (s *terminal) send(keys string) {
	s.t.Helper()
	s.forget()
	_, err := s.keys.WriteString(keys)
	require.NoError(s.t, err)
}

// interrupt types Ctrl-C.
func (s *terminal) interrupt() {
	s.t.Helper()
	s.forget()
	interrupt(s.t, s.keys)
}

func (s *terminal) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = nil
}

// wait waits until the process ends and returns its exit status; -1 after a signal.
func (s *terminal) wait() int {
	s.t.Helper()
	for _, changed, ended := s.look(); !ended; _, changed, ended = s.look() {
		<-changed
	}
	status := exitStatus(s.t, s.waits())
	require.NoError(s.t, s.keys.Close())
	return status
}

// run starts leslie, waits for its end and checks that it succeeded.
func (s *terminal) run(args ...string) {
	s.t.Helper()
	s.start(args...)
	require.Zero(s.t, s.wait(), "leslie %s\n%s", strings.Join(args, " "), strings.Join(s.lines(), "\n"))
}

// clear clears the screen.
func (s *terminal) clear() {
	s.t.Helper()
	_, err := s.screen.Write([]byte("\x1b[0m\x1b[2J\x1b[H"))
	require.NoError(s.t, err)
}

// lines are the lines of the screen without blanks at their ends, up to the last that
// shows something.
func (s *terminal) lines() []string {
	var all []string
	for y := range int(s.size.Rows) {
		text, _ := s.row(y)
		all = append(all, strings.TrimRight(text, " "))
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// row is a line of the screen, with the cell that shows each of its bytes.
func (s *terminal) row(y int) (text string, of []vt.Cell) {
	covered := 0 // cells that belong to the wide character before them
	for x := range int(s.size.Cols) {
		cell := s.screen.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)})
		switch {
		case covered > 0:
			covered--
			continue
		case cell.C == "":
			cell.C = " "
		}
		covered = max(cell.W-1, 0)
		text += cell.C
		of = append(of, slices.Repeat([]vt.Cell{cell}, len(cell.C))...)
	}
	return text, of
}

// style says how the screen shows the first occurrence of text: "", "bold", "dim red".
func (s *terminal) style(text string) string {
	s.t.Helper()
	for y := range int(s.size.Rows) {
		line, of := s.row(y)
		if at := strings.Index(line, text); at >= 0 {
			return styleName(of[at].S)
		}
	}
	require.Fail(s.t, "not on the screen", "%q:\n%s", text, strings.Join(s.lines(), "\n"))
	return ""
}

func styleName(s vt.Style) string {
	var words []string
	for _, attr := range []struct {
		bit  vt.Attr
		name string
	}{{vt.Bold, "bold"}, {vt.Dim, "dim"}, {vt.Underline, "underline"}, {vt.Reverse, "reverse"}} {
		if s.Attr()&attr.bit != 0 {
			words = append(words, attr.name)
		}
	}
	for sgr, name := range map[string]string{cli.Red: "red", cli.Green: "green", cli.Blue: "blue", screen.SGRMagenta: "magenta", cli.Dim: "dim"} {
		index, err := strconv.Atoi(strings.TrimPrefix(sgr, "38;5;"))
		if err == nil && s.Fg() == color.PaletteColor(index) {
			words = append(words, name)
		}
	}
	return strings.Join(words, " ")
}

// golden compares the screen with testdata/screen/NAME.txt.
func (s *terminal) golden(name string) {
	s.t.Helper()
	s.goldenFrom("", name)
}

// goldenFrom compares the screen from the first line on that starts with a text.
func (s *terminal) goldenFrom(from, name string) {
	s.t.Helper()
	lines := s.lines()
	first := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, from) })
	require.GreaterOrEqual(s.t, first, 0, "no line starts with %q: %q", from, lines)
	got := strings.Join(lines[first:], "\n") + "\n"
	path := filepath.Join("testdata", "screen", name+".txt")
	if *update {
		require.NoError(s.t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(s.t, err)
	assert.Equal(s.t, string(want), got)
}

func TestTheScreenShowsWhatAProcessWrites(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "spawn", "--intent", "x", "--id", "wide", "--title", "中文 e\u0301 🇩🇪 end")
	s := openTerminal(t, b, 80, 24)
	s.run("status", "wide")
	assert.Contains(t, strings.Join(s.lines(), "\n"), "中文 e\u0301 🇩🇪 end")
	s.clear()
	assert.Empty(t, s.lines())
	s.start("status", "thread-xyz")
	assert.Equal(t, 11, s.wait())
	assert.Equal(t, "red", s.style("error"))
	assert.Equal(t, "bold", s.style("hint:"))
	assert.Equal(t, "dim", s.style("code=T101"))
	assert.Equal(t, "bold", s.style("not found"))
}

func TestTheScreenAnswersAndInterruptsAPrompt(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.asks(t, "main", "deploy")
	s := openTerminal(t, b, 80, 24)
	s.start("approve")
	s.waitFor(askDecision)
	s.interrupt()
	assert.Equal(t, 130, s.wait())
	s.start("approve")
	s.waitFor(askDecision)
	s.send("approve\r")
	assert.Zero(t, s.wait())
	assert.Contains(t, strings.Join(s.lines(), "\n"), "approved")
}
