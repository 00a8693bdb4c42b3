package tui

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/internal/screen"
	"leslie/thread"
)

// helpText says what the keys do.
const helpText = `Moving
  up down j k pgup pgdn home end   move in the part that has the focus
  tab, shift+tab                   tree, details, what waits
  left right h l                   fold and unfold; in the details another tab
  1 to 8    context, artifacts, diff, transcript, history, merges, code, status
  /                                filter by ids, titles, states; esc ends that
What waits
  a, d                             approve, deny: you are asked for a reason
  enter                            answer, go on with a merge, resume
The selected thread
  n    a new thread below it       C    claim it, take it over
  i    tell its agent something    D    it is done
  R    run its agent               x    stop its run
  s r  suspend, resume it          v    comments on its files
  m    merge it into its parent    V    comment on lines of a file
  c    resolve conflicts of it     ctrl+l   read its files again

  N    a new objective             g    the graph
  S    search                      u    undo your last operation
  :    any other line of leslie; tab types the id of the selected thread
  ?    this help                   q    leave: nothing that runs is ended
What destroys asks first. Each key carries out a command, which is named.
`

// pressed handles a key.
func (m *Model) pressed(msg tea.KeyPressMsg) tea.Cmd {
	if msg.String() == "ctrl+j" { // Enter, typed before the terminal was ours
		msg = tea.KeyPressMsg{Code: tea.KeyEnter}
	}
	key := msg.String()
	switch {
	case m.dialog != nil:
		return m.dialogKey(msg)
	case m.page != nil:
		m.pageKey(key)
		return nil
	case m.filters:
		return m.filterKey(msg)
	}
	if cmd, known := m.moved(key); known {
		if !m.failed {
			m.said = "" // it was about what has been left
		}
		return cmd
	}
	return m.acted(key)
}

// pasted puts a text into what is typed into.
func (m *Model) pasted(msg tea.PasteMsg) tea.Cmd {
	switch {
	case m.dialog != nil && m.dialog.input != nil && m.dialog.armed:
		m.dialog.input.update(msg)
	case m.dialog == nil && m.filters:
		m.input.update(msg)
		m.arrange()
		return m.look()
	}
	return nil
}

func (m *Model) filterKey(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "ctrl+c":
		m.input.set("")
		fallthrough
	case "enter":
		m.filters = false
		m.arrange()
		return m.look()
	}
	m.input.update(msg)
	m.arrange()
	return m.look()
}

// moved handles the keys that change nothing but what is shown.
func (m *Model) moved(key string) (cmd tea.Cmd, known bool) {
	switch key {
	case "ctrl+c", "q":
		return tea.Quit, true
	case "tab", "shift+tab":
		m.turn(key == "tab")
	case "esc":
		m.said, m.failed = "", false
		if m.input.value() != "" {
			m.input.set("")
			m.arrange()
		}
		m.focus = onTree
	case "/":
		m.filters, m.focus = true, onTree
	case "ctrl+l":
		m.details.stale = true
		return tea.Batch(m.load(), m.look()), true
	case "?":
		m.page = newPage("leslie tui", helpText, m.width)
	case "left", "h", "right", "l":
		m.sideways(key == "right" || key == "l")
	case "up", "k":
		m.by(-1)
	case "down", "j":
		m.by(1)
	case "pgup":
		m.by(-m.pageRows())
	case "pgdown", "space":
		m.by(m.pageRows())
	case "home":
		m.by(-1 << 30)
	case "end", "G":
		m.by(1 << 30)
	default:
		n, err := strconv.Atoi(key)
		if err != nil || n < 1 || n > len(tabs()) {
			return nil, false
		}
		m.tab = n - 1
		if m.small() {
			m.focus = onDetails
		}
	}
	return m.look(), true
}

// turn moves the focus to the next part, or to the one before.
func (m *Model) turn(forward bool) {
	step := 1
	if !forward {
		step = 2
	}
	m.focus = m.beside(step)
}

// beside is the part so many behind the one that has the focus. What waits is passed over
// while nothing does.
func (m *Model) beside(step int) focus {
	next := (m.focus + focus(step)) % 3
	if next == onWaiting && len(m.waitingItems()) == 0 {
		next = (next + focus(step)) % 3
	}
	return next
}

// sideways folds and unfolds in the tree, and changes the tab elsewhere.
func (m *Model) sideways(right bool) {
	if m.focus == onDetails {
		step := 1
		if !right {
			step = len(tabs()) - 1
		}
		m.tab = (m.tab + step) % len(tabs())
		return
	}
	i := m.at()
	if m.focus != onTree || i < 0 {
		return
	}
	r := m.rows[i]
	switch {
	case right:
		delete(m.folded, r.key)
	case r.folds && !m.folded[r.key]:
		m.folded[r.key] = true
	case r.parent != "":
		m.selected = r.parent
	}
	m.arrange()
}

// by moves in the part that has the focus.
func (m *Model) by(n int) {
	switch m.focus {
	case onDetails:
		m.details.top = max(min(m.details.top+n, len(m.details.lines)-m.detailsRows()), 0)
	case onWaiting:
		m.waiting = max(min(m.waiting+n, len(m.waitingItems())-1), 0)
	default:
		if len(m.rows) > 0 {
			m.selected = m.rows[max(min(m.at()+n, len(m.rows)-1), 0)].key
			m.scroll()
		}
	}
}

func (m *Model) waitingItems() []app.WaitingItem {
	if m.overview == nil {
		return nil
	}
	return m.overview.Waiting
}

// waits is what waits that a key is about: the selected one, or in the tree the only one of
// that kind about the selected thread.
func (m *Model) waits(kinds ...app.WaitingKind) *app.WaitingItem {
	items := m.waitingItems()
	if m.focus == onWaiting {
		if m.waiting < len(items) && slices.Contains(kinds, items[m.waiting].Kind) {
			return &items[m.waiting]
		}
		return nil
	}
	t := m.thread()
	var found *app.WaitingItem
	for i := range items {
		if t != nil && m.concerns(items[i], t.ThreadID) && slices.Contains(kinds, items[i].Kind) {
			if found != nil {
				return nil
			}
			found = &items[i]
		}
	}
	return found
}

// concerns reports whether an item is about a thread: a merge is about those that it takes
// from as well.
func (m *Model) concerns(item app.WaitingItem, id thread.ThreadID) bool {
	return item.ThreadID == id || slices.Contains(m.overview.Sources[item.ID], id)
}

// acted handles the keys that do something. All of them open a dialog first, or change
// nothing that is lost.
func (m *Model) acted(key string) tea.Cmd {
	if m.busy != "" {
		m.said = "wait: " + m.busy
		return nil
	}
	m.said, m.failed, m.begins = "", false, false
	switch key {
	case "g":
		return m.open("graph", "graph")
	case "u":
		return m.ask(newConfirmation("undo your last operation?", "reading...", m.width, "undo"), "undo", "--dry-run")
	case "a", "d":
		return m.decide(key == "a")
	case "enter":
		return m.entered()
	case ":":
		return m.ask(m.newTyped())
	case "S":
		return m.ask(m.newSearch())
	case "n", "N":
		return m.askForNew(key == "n")
	}
	t := m.about()
	if t == "" {
		m.said = key + " does nothing where no thread is selected; ? shows the keys"
		return nil
	}
	switch key {
	case "i":
		return m.ask(newText("tell the agent of "+m.name(t), "It gets the text with its next context.", "text", m.width, func(typed string) []string {
			return []string{"inject", t, "--content=" + typed}
		}))
	case "s":
		return m.ask(newQuestion("suspend "+m.name(t), "", optional, m.width, false, func(typed string) []string {
			return withReason([]string{"suspend", t}, typed)
		}))
	case "r":
		return m.ask(newQuestion("resume "+m.name(t), "", optional, m.width, false, func(typed string) []string {
			return withReason([]string{"resume", t}, typed)
		}))
	case "x":
		return m.ask(newConfirmation("stop the run of "+m.name(t)+"?", "Its agent is ended when its turn has ended. What it did stays.", m.width, "run", "stop", t))
	case "R":
		return m.ask(newConfirmation("run the agent of "+m.name(t)+"?", "It works in the background; x stops it, and tab 4 shows what it does.", m.width, "run", t, "--detach"))
	case "v":
		return m.open("comments on "+m.name(t)+": V writes one, : comment resolve ID settles one", "comments", t)
	case "V":
		return m.ask(newText("comment on "+m.name(t), "Its file, the lines and the text: plan.md:3 Name it, or plan.md:3-5 Name it, or code:main.go:7 Name it.", "comment", m.width, func(typed string) []string {
			where, text, _ := strings.Cut(typed, " ")
			return []string{"comment", t, where, "--", strings.TrimSpace(text)}
		}))
	case "C":
		return m.claim(t)
	case "D":
		return m.ask(newConfirmation("is "+m.name(t)+" done?", "It is completed, and what depends on it is ready.", m.width, "done", t))
	case "m":
		return m.merge(t)
	case "c":
		return m.conflicts()
	default:
		m.said = key + " is no key here; ? shows the keys"
	}
	return nil
}

// claim claims a thread, also one that another holds who does not go on with it.
func (m *Model) claim(id string) tea.Cmd {
	i := slices.IndexFunc(m.overview.Threads, func(t threads.OverviewThread) bool { return string(t.ThreadID) == id })
	if i < 0 || m.overview.Threads[i].Claim == nil || m.overview.Threads[i].Claim.Holder == m.backend.Actor {
		return m.carryOut("claim", id)
	}
	held := m.overview.Threads[i].Claim
	about := held.Holder + " holds it, last heard of " + screen.Since(held.Heard()) + ". Its files, branch and worktree stay; it is told why."
	return m.ask(newQuestion("take "+m.name(id)+" over?", about, "reason", m.width, true, func(typed string) []string {
		return []string{"claim", id, "--take-over", "--reason=" + typed}
	}))
}

// askForNew asks for a new thread below what is selected, or for an objective: also where there
// is none yet.
func (m *Model) askForNew(aThread bool) tea.Cmd {
	line, title, above := []string{"objective", "create"}, "a new objective", ""
	if i := m.at(); aThread && i >= 0 {
		r := m.rows[i]
		above = r.key
		if r.thread != nil {
			line, title = []string{"spawn", "--parent=" + string(r.thread.ThreadID)}, "a new thread below "+m.name(string(r.thread.ThreadID))
		} else {
			line, title = []string{"spawn", "--objective=" + string(r.objective.ID)}, "a new thread of "+string(r.objective.ID)
		}
	}
	return m.ask(newText(title, "", "what it should achieve", m.width, func(typed string) []string {
		m.begins = true
		delete(m.folded, above)
		return append(line, "--", typed)
	}))
}

// about is the thread that a key is about: that of what waits, if it has the focus.
func (m *Model) about() string {
	if items := m.waitingItems(); m.focus == onWaiting && m.waiting < len(items) {
		return string(items[m.waiting].ThreadID)
	}
	if t := m.thread(); t != nil {
		return string(t.ThreadID)
	}
	return ""
}

// ask opens a dialog. preview is a line whose answer becomes its body.
func (m *Model) ask(d *dialog, preview ...string) tea.Cmd {
	m.dialog = d
	if len(preview) == 0 {
		return m.arm()
	}
	width := max(m.width-4, 20)
	return tea.Batch(m.arm(), func() tea.Msg { return previewMsg{d, m.backend.Show(m.ctx, width, preview...).Text} })
}

// open shows what a line prints on the whole screen.
func (m *Model) open(title string, line ...string) tea.Cmd {
	width := max(m.width, 20)
	return func() tea.Msg { return pageMsg{title, m.backend.Show(m.ctx, width, line...).Text} }
}

func (m *Model) decide(approve bool) tea.Cmd {
	item := m.waits(app.WaitingApproval)
	if item == nil {
		m.said = "no approval is selected: tab leads to what waits"
		return nil
	}
	verb := "deny"
	if approve {
		verb = "approve"
	}
	id := item.ID
	return m.ask(newQuestion(verb+" "+id+" of "+m.name(string(item.ThreadID))+"?", "reading...", optional, m.width, false, func(typed string) []string {
		return withReason([]string{verb, id}, typed)
	}), "show", id)
}

// optional asks for a reason that may be left out.
const optional = "reason (may be empty)"

func withReason(line []string, reason string) []string {
	if reason == "" {
		return line
	}
	return append(line, "--reason="+reason)
}

// entered goes to the details from the tree, and answers what waits.
func (m *Model) entered() tea.Cmd {
	items := m.waitingItems()
	if m.focus != onWaiting || m.waiting >= len(items) {
		m.focus = onDetails
		return m.look()
	}
	item := items[m.waiting]
	switch item.Kind {
	case app.WaitingApproval:
		return m.decide(true)
	case app.WaitingQuestion:
		return m.ask(newQuestion("answer "+item.ID+" of "+m.name(string(item.ThreadID)), item.Title, "answer", m.width, true, func(typed string) []string {
			return []string{"answer", item.ID, "--", typed}
		}), "show", item.ID)
	case app.WaitingMerge:
		return m.conflicts()
	case app.WaitingUnmerged:
		return m.merge(string(item.ThreadID))
	case app.WaitingLand:
		return m.land(string(item.ThreadID))
	}
	return m.ask(newConfirmation("resume "+m.name(string(item.ThreadID))+"?", item.Title, m.width, "resume", string(item.ThreadID)), "status", string(item.ThreadID))
}

// land asks whether to land the code of a thread, and shows what it changed.
func (m *Model) land(id string) tea.Cmd {
	d := newConfirmation("leslie land "+id+"?", "reading...", m.width, "land", id)
	d.hands = true // it may ask about conflicts
	return m.ask(d, "diff", id)
}

// merge asks whether to merge a thread into its parent, and shows what would happen.
func (m *Model) merge(id string) tea.Cmd {
	i := slices.IndexFunc(m.overview.Threads, func(t threads.OverviewThread) bool { return string(t.ThreadID) == id })
	if i < 0 || m.overview.Threads[i].ParentID == nil {
		m.said = m.name(id) + " has no parent to be merged into; : merge " + id + " INTO merges it into another"
		return nil
	}
	line := []string{"merge", id, string(*m.overview.Threads[i].ParentID)}
	d := newConfirmation("leslie "+strings.Join(line, " ")+"?", "reading...", m.width, line...)
	d.hands = true // it may ask about conflicts
	return m.ask(d, append(slices.Clone(line), "--dry-run")...)
}

// conflicts has the questions of the pending merge of the selected thread asked.
func (m *Model) conflicts() tea.Cmd {
	item := m.waits(app.WaitingMerge)
	if item == nil {
		m.said = "no merge of it is pending, or several: tab leads to what waits"
		return nil
	}
	return m.hand("merge", "continue", item.ID)
}
