package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file draws the screen. From the top: one line about the project; the tree and, beside
// it, the tabs and the details; what waits; one line that says what was done, or which keys
// there are. A dialog lies over the lower part. On a small terminal the part that has the
// focus has the room of all three.

func (m *Model) small() bool { return m.width < enoughColumns || m.height < enoughRows }

func (m *Model) treeWidth() int {
	if m.small() {
		return m.width
	}
	return min(max(m.width*2/5, 36), 72)
}

func (m *Model) detailsWidth() int {
	if m.small() {
		return max(m.width, 1)
	}
	return max(m.width-m.treeWidth()-3, 1)
}

// waitingRows is how many lines what waits has, with its title.
func (m *Model) waitingRows() int {
	if m.small() {
		return max(m.height-2, 1)
	}
	return 1 + max(min(len(m.waitingItems()), max(m.height/5, 3)), 1)
}

// treeRows is how many rows of the tree are shown.
func (m *Model) treeRows() int {
	if m.small() {
		return max(m.height-2, 1)
	}
	return max(m.height-2-m.waitingRows(), 1)
}

func (m *Model) detailsRows() int { return max(m.treeRows()-1, 1) }

// pageRows is how far a page down goes.
func (m *Model) pageRows() int {
	switch m.focus {
	case onDetails:
		return m.detailsRows()
	case onWaiting:
		return max(m.waitingRows()-1, 1)
	}
	return m.treeRows()
}

// dialogRows is how many lines of its text a dialog shows.
func (m *Model) dialogRows() int {
	if m.dialog == nil {
		return 0
	}
	frame := 2 // the title and the keys
	if m.dialog.input != nil {
		frame++
	}
	return max(min(len(m.dialog.body), m.height-1-frame), 0)
}

// View implements tea.Model.
func (m *Model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen, v.MouseMode, v.WindowTitle = true, tea.MouseModeCellMotion, "leslie"
	v.ReportFocus = true // a person comes back from an editor
	return v
}

// lines draws the screen: as many lines as the terminal has, each as wide as it is at most.
func (m *Model) lines() []string {
	if m.width < 1 || m.height < 1 {
		return nil
	}
	var out []string
	if m.page != nil {
		out = m.pageLines()
	} else {
		out = append([]string{m.head()}, m.parts()...)
		out = append(out, m.foot())
	}
	for len(out) < m.height {
		out = append(out, "")
	}
	out = out[:m.height]
	if m.dialog != nil {
		over := m.dialogLines()
		out = append(out[:max(m.height-len(over), 0)], over...)
	}
	for i, l := range out {
		if screen.Width(l) > m.width {
			out[i] = ansi.Truncate(l, m.width, "")
		}
	}
	return out[max(len(out)-m.height, 0):]
}

func (m *Model) head() string {
	left := []screen.Cell{screen.Bold("leslie ")}
	var right []screen.Cell
	if m.overview != nil {
		left = append(left, screen.Faint(m.overview.Project))
		n := len(m.overview.Waiting) + m.overview.WaitingMore
		switch {
		case n > 0 && m.small():
			right = append(right, screen.Bold(fmt.Sprintf("%d waiting", n)))
		case n > 0:
			right = append(right, screen.Faint(countThreads(len(m.overview.Threads))), screen.Bold(fmt.Sprintf(", %d waiting", n)))
		default:
			right = append(right, screen.Faint(countThreads(len(m.overview.Threads))))
		}
	} else {
		left = append(left, screen.Faint("reading..."))
	}
	if m.filters || m.input.value() != "" {
		left = append(left, screen.Text("  filter: "+m.input.value()))
		if m.filters {
			left = append(left, screen.Text("_"))
		}
	}
	return screen.Row(m.width, m.backend.Colours, left, right)
}

func countThreads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprint(n, " threads")
}

// parts are the tree, the details and what waits; on a small terminal the one that has the
// focus.
func (m *Model) parts() []string {
	switch {
	case !m.small():
		return append(m.middle(), m.waitingLines()...)
	case m.focus == onDetails:
		return m.detailsLines()
	case m.focus == onWaiting:
		out := m.waitingLines()
		return append(out, make([]string, max(m.waitingRows()-len(out), 0))...)
	}
	return m.middle()
}

// middle is the tree, and beside it the details.
func (m *Model) middle() []string {
	s, width := m.backend.signs(), m.treeWidth()
	out := make([]string, m.treeRows())
	var right []string
	if !m.small() {
		right = m.detailsLines()
	}
	for i := range out {
		text := strings.Repeat(" ", max(width, 0))
		if at := m.top + i; at < len(m.rows) {
			r := m.rows[at]
			mark := "  "
			if r.key == m.selected {
				mark = s.mark + " "
			}
			text = r.draw(max(width-2, 1), m.backend.Colours, s, m.folded[r.key])
			text = m.chosen(mark+text, r.key == m.selected, m.focus == onTree)
		} else if i == 0 && m.overview != nil {
			text = screen.Row(width, m.backend.Colours, []screen.Cell{screen.Faint("  " + m.nothing())}, nil)
		}
		if !m.small() {
			text += " " + s.beside + " " + right[i]
		}
		out[i] = text
	}
	return out
}

func (m *Model) nothing() string {
	if m.input.value() != "" {
		return "nothing matches"
	}
	return "no threads: N begins an objective"
}

// chosen draws the selected line of a part: in reverse if the part has the focus, without
// colours, whose contrast would be another one there.
func (m *Model) chosen(text string, selected, focused bool) string {
	if !selected || !focused {
		return text
	}
	return "\x1b[7m" + ansi.Strip(text) + "\x1b[0m"
}

// detailsLines are the tabs, and the part of the details that is shown.
func (m *Model) detailsLines() []string {
	out := make([]string, m.treeRows())
	out[0] = m.tabsLine()
	for i := range m.detailsRows() {
		if at := m.details.top + i; at < len(m.details.lines) && i+1 < len(out) {
			out[i+1] = ansi.Truncate(m.details.lines[at], m.detailsWidth(), "")
		}
	}
	return out
}

func (m *Model) tabsLine() string {
	if m.thread() == nil {
		return m.label("objective", m.focus == onDetails)
	}
	var names []string
	for i, t := range tabs() {
		name := fmt.Sprint(i+1, " ", t.name)
		switch {
		case i == m.tab:
			name = m.label(name, m.focus == onDetails)
		case m.backend.Colours:
			name = "\x1b[" + screen.SGRGrey + "m" + name + "\x1b[0m"
		}
		names = append(names, name)
	}
	line := strings.Join(names, "  ")
	if screen.Width(line) > m.detailsWidth() {
		return m.shortTabs()
	}
	return line
}

// shortTabs is the line of tabs where the names of the others have no room: their first
// letters, or their numbers.
func (m *Model) shortTabs() (line string) {
	for letters := 4; letters != 1; letters-- {
		var names []string
		for i, t := range tabs() {
			name := fmt.Sprint(i + 1)
			switch {
			case i == m.tab:
				name = m.label(name+" "+t.name, m.focus == onDetails)
			case letters > 2:
				name += " " + t.name[:min(letters, len(t.name))]
			}
			names = append(names, name)
		}
		if line = strings.Join(names, " "); screen.Width(line) <= m.detailsWidth() {
			break
		}
	}
	return line
}

// label is the name of what is shown; in reverse if it has the focus.
func (m *Model) label(name string, focused bool) string {
	if focused {
		return "\x1b[7m" + name + "\x1b[0m"
	}
	return "[" + name + "]"
}

// rule is a line across the screen with a title.
func (m *Model) rule(title string, focused bool) string {
	s := m.backend.signs()
	text := screen.Cut(title, max(m.width-6, 1))
	rest := max(m.width-screen.Width(text)-4, 0)
	if focused {
		text = "\x1b[7m" + text + "\x1b[0m"
	}
	return s.rule + s.rule + " " + text + " " + strings.Repeat(s.rule, rest)
}

func (m *Model) waitingLines() []string {
	items, rows := m.waitingItems(), max(m.waitingRows()-1, 1)
	out := []string{m.rule("waiting for you", m.focus == onWaiting)}
	if len(items) == 0 {
		return append(out, screen.Row(m.width, m.backend.Colours, []screen.Cell{screen.Faint("  nothing")}, nil))
	}
	top := max(m.waiting-rows+1, 0)
	for i := top; i < min(top+rows, len(items)); i++ {
		item := items[i]
		mark := "  "
		if i == m.waiting && m.focus == onWaiting {
			mark = m.backend.signs().mark + " "
		}
		left := []screen.Cell{screen.WaitingCell(string(item.Kind)), screen.Text("  " + m.concern(item))}
		line := mark + screen.Row(max(m.width-2, 1), m.backend.Colours, left, []screen.Cell{screen.Faint(does(item.Kind))})
		out = append(out, m.chosen(line, i == m.waiting, m.focus == onWaiting))
	}
	return out
}

// concern says what waits, and of which thread, by the names that the tree has.
func (m *Model) concern(item app.WaitingItem) string {
	title := item.Title
	for _, id := range append([]thread.ThreadID{item.ThreadID}, m.overview.Sources[item.ID]...) {
		if madeUp(id) {
			title = strings.ReplaceAll(title, string(id), m.name(string(id)))
		}
	}
	if name := m.name(string(item.ThreadID)); item.Kind != app.WaitingMerge && name != title { // a merge names its target itself
		return screen.Cut(name, max(m.width/3, 1)) + "  " + title
	}
	return title
}

// does says which keys decide what waits.
func does(kind app.WaitingKind) string {
	switch kind {
	case app.WaitingApproval:
		return "a approve  d deny"
	case app.WaitingQuestion:
		return "enter answer"
	case app.WaitingMerge:
		return "enter go on"
	case app.WaitingUnmerged:
		return "enter merge"
	case app.WaitingLand:
		return "enter land"
	}
	return "enter resume"
}

// foot says what was done, or which keys there are: as many as have room.
func (m *Model) foot() string {
	text := screen.Faint(fitting(m.keys(), m.width))
	switch {
	case m.busy != "":
		text = screen.Text(m.busy + " ...")
	case m.failed:
		text = screen.Bold(ansi.Strip(m.said))
	case m.said != "":
		text = screen.Text(ansi.Strip(m.said))
	}
	return screen.Row(m.width, m.backend.Colours, []screen.Cell{text}, nil)
}

// fitting joins as many keys as a line has room for.
func fitting(keys []string, width int) string {
	line := keys[0]
	for _, key := range keys[1:] {
		if screen.Width(line)+2+screen.Width(key) > width {
			break
		}
		line += "  " + key
	}
	return line
}

// keys are those that do something where the person is now, what is wanted most first.
func (m *Model) keys() []string {
	keys := []string{"tab " + []string{"tree", "details", "what waits"}[m.beside(1)], "? help", "q quit"}
	if m.focus == onWaiting {
		if items := m.waitingItems(); m.waiting < len(items) {
			keys = slices.Insert(keys, 1, strings.Split(does(items[m.waiting].Kind), "  ")...)
		}
		return append(keys, ": any line", "S search", "u undo")
	}
	if m.waits(app.WaitingApproval) != nil {
		keys = append(keys, "a approve", "d deny")
	}
	if m.waits(app.WaitingMerge) != nil {
		keys = append(keys, "c conflicts")
	}
	if m.focus == onDetails && m.thread() != nil {
		keys = append(keys, "1 to 8 tabs")
	}
	keys = append(keys, "/ filter", ": any line", "n new")
	if t := m.thread(); t != nil {
		keys = append(keys, "i tell", "R run", "D done")
		if t.ParentID != nil {
			keys = append(keys, "m merge")
		}
	}
	return append(keys, "u undo", "S search", "N objective", "g graph")
}

func (m *Model) dialogLines() []string {
	d, rows := m.dialog, m.dialogRows()
	out := []string{m.rule(d.title, true)}
	for i := range rows {
		if at := d.top + i; at < len(d.body) {
			out = append(out, "  "+d.body[at])
		}
	}
	if d.input != nil {
		out = append(out, "  "+d.input.draw(m.width-2))
	}
	keys := d.keys()
	if len(d.body) > rows {
		keys += fmt.Sprintf(", pgdown shows more (%d of %d lines)", min(d.top+rows, len(d.body)), len(d.body))
	}
	if screen.Width(keys) > m.width { // the first words say what each does, its keys are enough
		keys = strings.NewReplacer(" sends it", "", " leaves", "", " does it", "", " closes", "", " shows more", "").Replace(keys)
	}
	return append(out, screen.Row(m.width, m.backend.Colours, []screen.Cell{screen.Faint(keys)}, nil))
}

func (m *Model) pageLines() []string {
	p := m.page
	out := []string{m.rule(p.title, false)}
	for i := p.top; i < min(p.top+max(m.height-2, 1), len(p.lines)); i++ {
		out = append(out, p.lines[i])
	}
	for len(out) < m.height-1 {
		out = append(out, "")
	}
	return append(out, screen.Row(m.width, m.backend.Colours, []screen.Cell{screen.Faint("esc goes back")}, nil))
}

// wheel moves what is under the mouse.
func (m *Model) wheel(msg tea.MouseWheelMsg) {
	step := 3
	if msg.Button == tea.MouseWheelUp {
		step = -3
	}
	switch part := m.under(msg.X, msg.Y); {
	case m.dialog != nil:
		m.dialog.top = max(min(m.dialog.top+step, len(m.dialog.body)-m.dialogRows()), 0)
	case m.page != nil:
		m.page.top = max(min(m.page.top+step, len(m.page.lines)-max(m.height-2, 1)), 0)
	default:
		was := m.focus
		m.focus = part
		m.by(step)
		m.focus = was
	}
}

// under is the part of the screen at a place.
func (m *Model) under(x, y int) focus {
	switch {
	case m.small():
		return m.focus
	case y > m.treeRows():
		return onWaiting
	case x > m.treeWidth():
		return onDetails
	}
	return onTree
}

// clicked selects what is under the mouse.
func (m *Model) clicked(msg tea.MouseClickMsg) tea.Cmd {
	if msg.Button != tea.MouseLeft || m.dialog != nil || m.page != nil || m.filters {
		return nil
	}
	part := m.under(msg.X, msg.Y)
	if part == onWaiting && len(m.waitingItems()) == 0 {
		return nil
	}
	m.focus = part
	switch part {
	case onTree:
		if at := m.top + msg.Y - 1; msg.Y > 0 && at < len(m.rows) {
			if m.rows[at].key == m.selected && m.rows[at].folds {
				m.folded[m.selected] = !m.folded[m.selected]
			}
			m.selected = m.rows[at].key
			m.arrange()
		}
	case onDetails:
		if msg.Y == 1 {
			m.clickedTab(msg.X - (m.width - m.detailsWidth()))
		}
	case onWaiting:
		rows, above := max(m.waitingRows()-1, 1), m.treeRows()+2
		if m.small() {
			above = 2
		}
		if at := max(m.waiting-rows+1, 0) + msg.Y - above; at >= 0 && at < len(m.waitingItems()) {
			m.waiting = at
		}
	}
	return m.look()
}

// clickedTab selects the tab whose name is at a column of the line of tabs.
func (m *Model) clickedTab(x int) {
	plain := ansi.Strip(m.tabsLine())
	for i := range tabs() {
		begin := strings.Index(plain, fmt.Sprint(i+1))
		next := strings.Index(plain, fmt.Sprint(i+2))
		if begin >= 0 && x >= begin-1 && (next < 0 || i+1 == len(tabs()) || x < next) {
			m.tab = i
			return
		}
	}
}
