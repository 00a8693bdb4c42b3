package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// dialog asks a person, or tells what a line of leslie has answered. It lies over the lower
// part of the screen. A new one takes no keys for a moment.
type dialog struct {
	title string
	text  string   // as it came
	body  []string // in lines of the screen
	top   int
	input *input // nil: nothing is typed
	armed bool   // it takes keys
	// line makes the line of leslie of what was typed; nil: there is nothing to do.
	line func(typed string) []string
	// needs: something has to be typed.
	needs bool
	// hands: the line gets the terminal for itself.
	hands bool
	// whole: what is typed is a whole line of leslie, which gets the terminal.
	whole bool
	about string // whole: the id that tab types
	back  int    // whole: how many lines back the one is that is shown
	// opens: the line's answer has the whole screen.
	opens bool
}

// newNotice tells something.
func newNotice(title, text string, width int) *dialog {
	d := &dialog{title: title}
	d.setBody(text, width)
	return d
}

// newConfirmation asks whether to carry out a line.
func newConfirmation(title, text string, width int, line ...string) *dialog {
	d := newNotice(title, text, width)
	d.line = func(string) []string { return line }
	return d
}

// newQuestion asks for a text.
func newQuestion(title, text, label string, width int, needs bool, line func(typed string) []string) *dialog {
	d := newNotice(title, text, width)
	d.input, d.needs, d.line = &input{prompt: label + ": "}, needs, line
	return d
}

// newText asks for a text without which nothing is done, so that no key in flight does
// anything: it takes keys at once.
func newText(title, text, label string, width int, line func(typed string) []string) *dialog {
	d := newQuestion(title, text, label, width, true, line)
	d.armed = true
	return d
}

// newTyped asks for a line of leslie.
func (m *Model) newTyped() *dialog {
	text := "help shows all commands; spawn --help explains one."
	about := m.selectedID()
	if about != "" {
		text += " tab types " + about + "."
	}
	if len(m.typed) > 0 {
		text += " up brings back what was typed before."
	}
	d := newText("a line of leslie", text, "leslie", m.width, nil)
	d.whole, d.about = true, about
	return d
}

// newSearch asks for words, and what is found has the screen.
func (m *Model) newSearch() *dialog {
	d := newText("search", "In titles, intents, artifacts and history of threads that are not archived.", "words", m.width, func(typed string) []string {
		return []string{"search", "--", typed}
	})
	d.opens = true
	return d
}

// recall puts a line that was typed before in place of what is typed: by one further back,
// or forward.
func (m *Model) recall(by int) {
	d := m.dialog
	d.back = max(min(d.back+by, len(m.typed)), 0)
	d.input.set("")
	if d.back > 0 {
		d.input.set(m.typed[len(m.typed)-d.back])
	}
}

func (d *dialog) setBody(text string, width int) {
	d.text = strings.TrimRight(text, "\n")
	d.resize(width)
}

func (d *dialog) resize(width int) {
	d.body = nil
	if d.text != "" {
		d.body = strings.Split(ansi.Wrap(d.text, max(width-4, 10), ""), "\n")
	}
	d.top = 0
}

// keys says which keys the dialog takes.
func (d *dialog) keys() string {
	switch {
	case !d.armed:
		return ""
	case d.input != nil:
		return "enter sends it, esc leaves"
	case d.line != nil:
		return "y does it, esc leaves"
	}
	return "esc or enter closes"
}

// dialogKey handles a key while a dialog is open.
func (m *Model) dialogKey(msg tea.KeyPressMsg) tea.Cmd {
	d := m.dialog
	if !d.armed {
		return nil // it was meant for what was there before
	}
	switch key := msg.String(); {
	case key == "esc" || key == "ctrl+c":
		m.dialog = nil
		return nil
	case d.whole && (key == "up" || key == "down"):
		m.recall(map[string]int{"up": 1, "down": -1}[key])
		return nil
	case d.whole && key == "tab":
		d.input.complete(d.about)
		return nil
	case key == "pgdown" || key == "down":
		d.top = min(d.top+max(m.dialogRows(), 1), max(len(d.body)-m.dialogRows(), 0))
		return nil
	case key == "pgup" || key == "up":
		d.top = max(d.top-max(m.dialogRows(), 1), 0)
		return nil
	case d.input != nil && key == "enter":
		typed := strings.TrimSpace(d.input.value())
		if typed == "" && d.needs {
			return nil
		}
		if d.whole {
			m.dialog = nil
			m.typed = append(m.typed, typed)
			return m.give(m.backend.Type(typed))
		}
		return m.agreed(d.line(typed))
	case d.input != nil:
		d.input.update(msg)
		return nil
	case d.line != nil && (key == "y" || key == "Y"):
		return m.agreed(d.line(""))
	case d.line != nil && key != "n" && key != "N" && key != "q":
		return nil // nothing is done by accident
	case d.line != nil || key == "enter" || key == "q" || key == "space":
		m.dialog = nil
	}
	return nil
}

// agreed does what a dialog asked about.
func (m *Model) agreed(line []string) tea.Cmd {
	d := m.dialog
	m.dialog = nil
	switch {
	case d.hands:
		return m.hand(line...)
	case d.opens:
		return m.open("leslie "+strings.Join(line, " "), line...)
	}
	return m.carryOut(line...)
}

// page is a text that has the whole screen.
type page struct {
	title string
	text  string // as it came
	lines []string
	top   int
}

func newPage(title, text string, width int) *page {
	p := &page{title: title, text: text}
	p.resize(width)
	return p
}

func (p *page) resize(width int) {
	p.lines = linesOf(ansi.Wrap(p.text, max(width, 1), ""))
	p.top = 0
}

func (m *Model) pageKey(key string) {
	p, rows := m.page, max(m.height-2, 1)
	switch key {
	case "esc", "q", "enter", "ctrl+c", "?", "g", "v":
		m.page = nil
		return
	case "down", "j":
		p.top++
	case "up", "k":
		p.top--
	case "pgdown", "space":
		p.top += rows
	case "pgup":
		p.top -= rows
	case "home":
		p.top = 0
	case "end":
		p.top = len(p.lines)
	}
	p.top = max(min(p.top, len(p.lines)-rows), 0)
}
