package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"leslie/internal/app/threads"
	"leslie/thread"
)

// The smallest terminal that shows everything; a smaller one shows the part that has the
// focus.
const (
	enoughColumns = 80
	enoughRows    = 24
)

// focus is the part of the screen that keys move in.
type focus int

const (
	onTree focus = iota
	onDetails
	onWaiting
)

// Model is the state of the screen. It is changed by messages alone, and drawn by View.
type Model struct {
	backend       Backend
	ctx           context.Context
	send          func(tea.Msg) // from another goroutine
	tick          func(time.Duration, func(time.Time) tea.Msg) tea.Cmd
	width, height int

	overview *threads.OverviewResult
	loading  bool // an overview is being read
	stale    bool // something has changed since that began
	aging    bool // it will be read again, because time alone changes it

	rows     []row
	selected string // the key of the selected row
	top      int    // the first row that is shown
	folded   map[string]bool
	input    input    // the filter
	typed    []string // the lines of leslie that a person has typed, the newest last
	filters  bool     // the filter is being typed

	focus    focus
	tab      int
	details  details
	waiting  int // the selected one of what waits
	follows  thread.ThreadID
	unfollow context.CancelFunc

	dialog *dialog
	page   *page  // a text that has the whole screen
	begins bool   // a thread or an objective, which is selected when it is there
	busy   string // the line of leslie that is being carried out
	said   string // what the last one answered
	failed bool   // that was an error
}

// details is what the right side shows.
type details struct {
	about  string // the row, the tab and the width, as key
	wanted string
	lines  []string
	top    int
	busy   bool // they are being read
	stale  bool // they may have changed
}

// The messages.
type (
	overviewMsg struct {
		overview *threads.OverviewResult
		err      error
	}
	changedMsg  struct{}
	agedMsg     struct{}
	entryMsg    struct{ id thread.ThreadID }
	followedMsg struct{ id thread.ThreadID } // it has no transcript, or is shown no more
	detailsMsg  struct {
		about string
		text  string
	}
	answerMsg struct {
		line   []string
		answer Answer
	}
	handedMsg struct{ err error }
	watchMsg  struct{ err error }
	armedMsg  struct{ dialog *dialog }
	pageMsg   struct {
		title string
		text  string
	}
	previewMsg struct {
		dialog *dialog
		text   string
	}
)

// New returns a screen that has read nothing yet.
func New(ctx context.Context, backend Backend) *Model {
	return &Model{backend: backend, ctx: ctx, send: func(tea.Msg) {}, tick: tea.Tick, folded: map[string]bool{}}
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return m.load() }

// load reads the overview, or notes that it has to be read again.
func (m *Model) load() tea.Cmd {
	if m.loading {
		m.stale = true
		return nil
	}
	m.loading, m.stale = true, false
	return func() tea.Msg {
		d, err := m.backend.Overview(m.ctx)
		return overviewMsg{d, err}
	}
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		if m.dialog != nil {
			m.dialog.resize(m.width)
		}
		if m.page != nil {
			m.page.resize(m.width)
		}
		m.scroll()
		return m, m.look()
	case changedMsg:
		return m, m.load()
	case agedMsg:
		m.aging = false
		return m, m.load()
	case overviewMsg:
		return m, m.loaded(msg)
	case detailsMsg:
		return m, m.detailed(msg)
	case entryMsg:
		if msg.id == m.follows {
			m.details.stale = true
			return m, m.look()
		}
	case followedMsg:
		if msg.id == m.follows {
			m.follows = "" // the next look tries again
		}
	case answerMsg:
		m.begins = m.begins && msg.answer.OK
		m.busy, m.failed, m.said = "", !msg.answer.OK, firstLine(msg.answer.Text)
		if m.failed {
			m.dialog = newNotice("leslie "+strings.Join(msg.line, " "), msg.answer.Text, m.width)
		}
		return m, tea.Batch(m.load(), m.arm())
	case tea.FocusMsg: // files may have been written in the meantime, which the watch does not tell
		m.details.stale = true
		return m, tea.Batch(m.load(), m.look())
	case handedMsg:
		m.details.stale = true
		return m, tea.Batch(m.load(), m.look())
	case watchMsg:
		if msg.err != nil && m.ctx.Err() == nil {
			m.said, m.failed = firstLine(msg.err.Error()), true
		}
	case previewMsg:
		if m.dialog != nil && m.dialog == msg.dialog {
			m.dialog.setBody(msg.text, m.width)
		}
	case pageMsg:
		m.page = newPage(msg.title, msg.text, m.width)
	case armedMsg:
		msg.dialog.armed = true
	case tea.PasteMsg:
		return m, m.pasted(msg)
	case tea.KeyPressMsg:
		return m, m.pressed(msg)
	case tea.MouseWheelMsg:
		m.wheel(msg)
		return m, m.look()
	case tea.MouseClickMsg:
		return m, m.clicked(msg)
	}
	return m, nil
}

// loaded takes over an overview; what is selected stays selected.
func (m *Model) loaded(msg overviewMsg) tea.Cmd {
	m.loading = false
	if msg.err != nil {
		m.said, m.failed = firstLine(msg.err.Error()), true
	} else {
		before := m.overview
		m.overview = msg.overview
		m.arrange()
		m.selectNew(before)
		m.waiting = max(min(m.waiting, len(m.overview.Waiting)-1), 0)
		m.details.stale = true
	}
	cmds := []tea.Cmd{m.look(), m.age()}
	if m.stale {
		cmds = append(cmds, m.load())
	}
	return tea.Batch(cmds...)
}

// ageAfter is how often the screen is read again while somebody works: who is not heard of
// changes nothing.
const ageAfter = time.Minute

// age has the overview read again in a while if somebody holds a thread.
func (m *Model) age() tea.Cmd {
	held := func(t threads.OverviewThread) bool { return t.Claim != nil }
	if m.aging || m.overview == nil || !slices.ContainsFunc(m.overview.Threads, held) {
		return nil
	}
	m.aging = true
	return m.tick(ageAfter, func(time.Time) tea.Msg { return agedMsg{} })
}

// selectNew selects what the person has just begun: the row that was not there before.
func (m *Model) selectNew(before *threads.OverviewResult) {
	if !m.begins || before == nil {
		return
	}
	known := map[string]bool{}
	for _, r := range tree(before, nil, "") {
		known[r.key] = true
	}
	for _, r := range m.rows {
		if !known[r.key] {
			m.selected, m.begins = r.key, false
			m.scroll()
			return
		}
	}
}

// arrange makes the rows. Where the selected one is gone the one in its place is selected.
func (m *Model) arrange() {
	if m.overview == nil {
		return
	}
	at := max(m.at(), 0)
	m.rows = tree(m.overview, m.folded, m.input.value())
	if filter := strings.ToLower(m.input.value()); m.filters && filter != "" {
		if i := m.at(); i < 0 || !m.rows[i].matches(filter) { // not what is only above a match
			if i = slices.IndexFunc(m.rows, func(r row) bool { return r.matches(filter) }); i >= 0 {
				m.selected = m.rows[i].key
			}
		}
	}
	if m.at() < 0 {
		m.selected = ""
		if len(m.rows) > 0 {
			m.selected = m.rows[min(at, len(m.rows)-1)].key
		}
	}
	m.scroll()
}

// at is the index of the selected row, -1 if there is none.
func (m *Model) at() int {
	return slices.IndexFunc(m.rows, func(r row) bool { return r.key == m.selected })
}

// thread is the selected thread, nil for none.
func (m *Model) thread() *threads.OverviewThread {
	if i := m.at(); i >= 0 {
		return m.rows[i].thread
	}
	return nil
}

// selectedID is the id of what the keys are about: of an objective, or of a thread.
func (m *Model) selectedID() string {
	if t := m.about(); t != "" {
		return t
	}
	if i := m.at(); i >= 0 {
		return string(m.rows[i].objective.ID)
	}
	return ""
}

// name is what a person knows a thread by.
func (m *Model) name(id string) string {
	if m.overview != nil {
		for i := range m.overview.Threads {
			if t := &m.overview.Threads[i]; string(t.ThreadID) == id {
				name, _ := names(t)
				return name
			}
		}
	}
	return id
}

// scroll moves the tree so that the selected row is shown.
func (m *Model) scroll() {
	rows := m.treeRows()
	at := max(m.at(), 0)
	m.top = max(min(m.top, at), at-rows+1, 0)
	m.top = min(m.top, max(len(m.rows)-rows, 0))
}

// look has the details read for what is selected, if they are not shown.
func (m *Model) look() tea.Cmd {
	if m.overview == nil || m.width == 0 || m.small() && m.focus != onDetails {
		return nil
	}
	line, about := m.line()
	m.details.wanted = about
	follow := m.follow()
	if m.details.busy || about == m.details.about && !m.details.stale {
		return follow
	}
	m.details.busy, m.details.stale = true, false
	width, lacks := m.detailsWidth(), ""
	if m.thread() != nil {
		lacks = tabs()[m.tab].lacks
	}
	return tea.Batch(follow, func() tea.Msg {
		if line == nil {
			return detailsMsg{about: about, text: lacks}
		}
		return detailsMsg{about: about, text: m.backend.Show(m.ctx, width, line...).Text}
	})
}

// line is the line of leslie whose answer the details are, and what they are about.
func (m *Model) line() (line []string, about string) {
	i := m.at()
	if i < 0 {
		return nil, "nothing"
	}
	r := m.rows[i]
	about = fmt.Sprint(r.key, " ", m.tab, " ", m.detailsWidth())
	if r.thread == nil {
		return []string{"objective", "status", string(r.objective.ID)}, about
	}
	if tabs()[m.tab].lacks != "" && r.thread.Code == nil {
		return nil, about
	}
	return tabs()[m.tab].line(string(r.thread.ThreadID)), about
}

// detailed takes over what was read, and has it read again if something else is wanted by
// now.
func (m *Model) detailed(msg detailsMsg) tea.Cmd {
	was := m.details
	m.details.busy = false
	m.details.about = msg.about
	m.details.lines = linesOf(ansi.Wrap(msg.text, m.detailsWidth(), ""))
	atEnd := was.top >= len(was.lines)-m.detailsRows() // a transcript that grows stays at its end
	if m.details.about != was.about {
		m.details.top, atEnd = 0, true
	}
	if strings.HasPrefix(msg.about, "t:") && tabs()[m.tab].newest && atEnd {
		m.details.top = max(len(m.details.lines)-m.detailsRows(), 0)
	}
	m.details.top = max(min(m.details.top, len(m.details.lines)-1), 0)
	if m.details.wanted != msg.about || m.details.stale {
		return m.look()
	}
	return nil
}

// follow begins to follow the transcript of the selected thread while it is shown.
func (m *Model) follow() tea.Cmd {
	id := thread.ThreadID("")
	if t := m.thread(); t != nil && tabs()[m.tab].newest {
		id = t.ThreadID
	}
	if id == m.follows {
		return nil
	}
	if m.unfollow != nil {
		m.unfollow()
		m.unfollow = nil
	}
	if m.follows = id; id == "" {
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.unfollow = cancel
	return func() tea.Msg {
		_ = m.backend.Follow(ctx, id, func() { m.send(entryMsg{id}) })
		return followedMsg{id}
	}
}

// carryOut carries out a line of leslie.
func (m *Model) carryOut(line ...string) tea.Cmd {
	m.busy, m.said, m.failed = "leslie "+strings.Join(line, " "), "", false
	width := max(m.width-4, 20)
	return func() tea.Msg { return answerMsg{line, m.backend.Show(m.ctx, width, line...)} }
}

// hand gives the terminal to a line of leslie.
func (m *Model) hand(line ...string) tea.Cmd { return m.give(m.backend.Hand(line...)) }

// give gives the terminal to a command until it ends.
func (m *Model) give(command Command) tea.Cmd {
	return tea.Exec(command, func(err error) tea.Msg { return handedMsg{err} })
}

// armAfter is how long a dialog that has just appeared takes no keys: those in flight were
// meant for something else.
const armAfter = 300 * time.Millisecond

// arm has the dialog take keys in a moment.
func (m *Model) arm() tea.Cmd {
	d := m.dialog
	if d == nil || d.armed {
		return nil
	}
	return m.tick(armAfter, func(time.Time) tea.Msg { return armedMsg{d} })
}

func linesOf(text string) []string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
