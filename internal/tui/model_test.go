package tui

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/internal/screen"
	"leslie/thread"
)

var update = flag.Bool("update", false, "write the golden frames")

// rig is a screen with a project that is made up. It carries out messages and what they
// cause at once, but for ticks, which arm dialogs.
type rig struct {
	*testing.T
	*Model
	overview *threads.OverviewResult
	err      error
	reads    int               // of the overview
	lines    []string          // of leslie that were carried out, but for those that only show
	handed   []string          // the same, that had the terminal
	answers  map[string]Answer // by line
	held     []tea.Cmd         // what is not carried out while hold
	hold     bool
	ticks    []tea.Msg
	aged     []tea.Msg // what comes after a while
	quit     bool
	followed chan func()
}

func newRig(t *testing.T, width, height int) *rig {
	t.Helper()
	r := &rig{T: t, overview: team(), answers: map[string]Answer{}, followed: make(chan func(), 100)}
	r.Model = New(context.Background(), Backend{
		Actor:    "ann",
		Overview: func(context.Context) (*threads.OverviewResult, error) { r.reads++; return r.overview, r.err },
		Show: func(_ context.Context, width int, line ...string) Answer {
			text := strings.Join(line, " ")
			if a, ok := r.answers[text]; ok {
				return a
			}
			if shows(line) {
				return Answer{fmt.Sprintf("%s in %d cells\n", text, width), true}
			}
			r.lines = append(r.lines, text)
			return Answer{"did " + text + "\n", true}
		},
		Hand: func(line ...string) tea.ExecCommand {
			r.handed = append(r.handed, strings.Join(line, " "))
			return nil
		},
		Type: func(text string) tea.ExecCommand {
			r.handed = append(r.handed, "typed: "+text)
			return nil
		},
		Follow: func(_ context.Context, _ thread.ThreadID, changed func()) error {
			select {
			case r.followed <- changed:
			default: // nobody counts so many
			}
			return nil
		},
	})
	r.tick = func(_ time.Duration, at func(time.Time) tea.Msg) tea.Cmd {
		return func() tea.Msg { return at(time.Time{}) }
	}
	r.do(r.Init())
	r.message(tea.WindowSizeMsg{Width: width, Height: height})
	return r
}

// shows reports whether a line changes nothing.
func shows(line []string) bool {
	switch line[0] {
	case "context", "artifacts", "diff", "transcript", "history", "code", "status", "show", "graph", "comments", "search":
		return true
	case "objective":
		return line[1] == "status"
	case "merge":
		return line[1] == "list" || line[len(line)-1] == "--dry-run"
	}
	return line[len(line)-1] == "--dry-run"
}

// team is an objective with threads in different states.
func team() *threads.OverviewResult {
	depth := func(n int) *int { return &n }
	main := thread.ThreadID("main")
	item := func(id, title string, status thread.Status, d int, parent *thread.ThreadID) threads.OverviewThread {
		return threads.OverviewThread{ThreadItem: app.ThreadItem{ThreadID: thread.ThreadID(id), Title: title, Status: status, ObjectiveID: "ship", ParentID: parent, Depth: depth(d)}}
	}
	lexer := item("lexer", "Write the lexer", thread.Active, 1, &main)
	lexer.Run = &app.RunRecord{RunID: "run-1", Agent: "claude", Phase: thread.RunRunning, Turns: 3, Used: thread.Use{Cost: []thread.Cost{{Amount: 0.42, Currency: "USD"}}}}
	docs := item("docs", "日本語 docs", thread.Active, 1, &main)
	docs.BlockedBy, docs.Unread = []thread.ThreadID{"lexer"}, 2
	lead := item("main", "Plan the parser", thread.WaitingHuman, 0, nil)
	lead.Claim = &app.ClaimRecord{Holder: "ann"}
	done := item("old", "An old one", thread.Completed, 0, nil)
	done.ObjectiveID = "rest"
	return &threads.OverviewResult{
		Project: "parser", Revision: 7,
		Objectives: []threads.OverviewObjective{{ID: "ship", Title: "Ship the parser", Status: thread.ObjectiveActive}, {ID: "rest", Status: thread.ObjectiveCompleted}},
		Threads:    []threads.OverviewThread{lead, lexer, docs, done},
		Waiting: []app.WaitingItem{
			{Kind: app.WaitingApproval, ID: "appr-1", ThreadID: "main", Title: "deploy: ready to deploy", Next: "leslie approve appr-1"},
			{Kind: app.WaitingQuestion, ID: "q-1", ThreadID: "docs", Title: "Which port?", Next: "leslie questions"},
			{Kind: app.WaitingMerge, ID: "merge-1", ThreadID: "main", Title: "docs into main", Next: "leslie merge continue merge-1"},
		},
		Sources: map[string][]thread.ThreadID{"merge-1": {"docs"}},
	}
}

// do carries out a command, and what its message causes.
func (r *rig) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if r.hold {
		r.held = append(r.held, cmd)
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			r.do(c)
		}
	case tea.QuitMsg:
		r.quit = true
	case armedMsg:
		r.ticks = append(r.ticks, msg)
	case agedMsg:
		r.aged = append(r.aged, msg)
	default:
		if strings.HasPrefix(fmt.Sprintf("%T", msg), "tui.") {
			r.message(msg)
		}
	}
}

func (r *rig) message(msg tea.Msg) {
	_, cmd := r.Update(msg)
	r.do(cmd)
}

// release carries out what was held.
func (r *rig) release() {
	r.hold = false
	held := r.held
	r.held = nil
	for _, cmd := range held {
		r.do(cmd)
	}
}

// press presses keys, of which those of one character are typed.
func (r *rig) press(keys ...string) {
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
		"right": tea.KeyRight, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd}
	for _, key := range keys {
		k := tea.Key{Code: codes[key]}
		if k.Code == 0 {
			k = tea.Key{Code: []rune(key)[0], Text: key}
		}
		r.message(tea.KeyPressMsg(k))
	}
}

// types types a text into a dialog.
func (r *rig) types(text string) {
	for _, c := range text {
		r.press(string(c))
	}
}

// arm lets the time pass after which a dialog takes keys.
func (r *rig) arm() {
	r.Helper()
	require.NotEmpty(r, r.ticks, "a dialog has appeared")
	for _, msg := range r.ticks {
		r.message(msg)
	}
	r.ticks = nil
}

func (r *rig) frame() string { return strings.Join(r.Model.lines(), "\n") + "\n" }

func TestFrames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		width, height int
		ascii         bool
		keys          []string
	}{
		{"tree-80x24", 80, 24, false, nil},
		{"tree-200x50", 200, 50, false, []string{"down", "4"}},
		{"ascii-80x24", 80, 24, true, []string{"down", "down"}},
		{"small-60x15", 60, 15, false, nil},
		{"approve-80x24", 80, 24, false, []string{"tab", "tab", "a"}},
		{"help-80x24", 80, 24, false, []string{"?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.width, c.height)
			r.backend.ASCII = c.ascii
			r.press(c.keys...)
			file := filepath.Join("testdata", c.name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(r.frame()), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), r.frame())
		})
	}
}

// At every size each part is reached, one after the other.
func TestEachPartIsReachedAtEverySize(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{20, 5}, {40, 10}, {60, 15}, {79, 23}, {80, 23}, {79, 24}, {80, 24}, {120, 40}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, size[0], size[1])
			r.press("down")
			assert.Contains(t, r.frame(), "main")
			r.press("tab")
			assert.Contains(t, r.frame(), "context main in")
			r.press("2")
			assert.Contains(t, r.frame(), "artifacts main")
			r.press("tab")
			assert.Contains(t, r.frame(), "approval")
			r.press("down", "enter")
			assert.Contains(t, r.frame(), "answer q-1")
			r.arm()
			r.types("80")
			r.press("enter")
			assert.Equal(t, []string{"answer q-1 -- 80"}, r.lines)
			r.press("tab")
			assert.Contains(t, r.frame(), "Ship the")
			r.press("enter")
			assert.Equal(t, onDetails, r.focus)
			r.press("esc", "?")
			for range 60 {
				r.press("pgdown")
			}
			assert.Contains(t, r.frame(), "named.", "the end of the help is reached")
			r.press("esc")
			r.message(tea.WindowSizeMsg{Width: 120, Height: 40})
			r.message(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			assert.Contains(t, r.frame(), "Ship the", "after another size, too")
		})
	}
}

// The last line names no key that does nothing where the person is.
func TestTheLastLineNamesOnlyKeysThatDoSomething(t *testing.T) {
	t.Parallel()
	at := map[string][]string{
		"objective": nil, "thread": {"down"}, "child": {"down", "down"}, "details": {"down", "enter"}, "details of an objective": {"enter"},
		"approval": {"tab", "tab"}, "question": {"tab", "tab", "down"}, "merge": {"tab", "tab", "down", "down"},
	}
	for _, size := range [][2]int{{20, 5}, {40, 10}, {60, 15}, {79, 23}, {80, 24}, {120, 40}, {200, 50}} {
		for name, keys := range at {
			t.Run(fmt.Sprint(size, name), func(t *testing.T) {
				t.Parallel()
				start := func() *rig {
					r := newRig(t, size[0], size[1])
					r.press(keys...)
					return r
				}
				named := strings.Split(strings.TrimSpace(ansi.Strip(start().foot())), "  ")
				assert.Contains(t, strings.Join(named, " "), "tab", "the next part is reached")
				for _, one := range named {
					r := start()
					before := r.frame()
					key, _, _ := strings.Cut(one, " ")
					if key == "1" {
						key = "3" // of the tabs, another than the one that is shown
					}
					r.press(key)
					assert.True(t, r.quit || len(r.handed) > 0 || r.frame() != before, "%s does something", one)
					assert.NotRegexp(t, "does nothing|is no key|no approval|no merge|has no parent|…", r.foot(), one)
				}
			})
		}
	}
}

func TestAFrameFitsEveryTerminal(t *testing.T) {
	t.Parallel()
	hostile := "\x1b]0;title\x07\x1b[2J\u202e\u009b31m日本語 👩‍👩‍👧‍👦 \n\r" + strings.Repeat("long ", 100)
	r := newRig(t, 100, 30)
	for i := range r.overview.Threads {
		r.overview.Threads[i].Title, r.overview.Threads[i].Claim = hostile, &app.ClaimRecord{Holder: hostile}
	}
	for i := range r.overview.Waiting {
		r.overview.Waiting[i].Title = hostile
	}
	r.overview.Objectives[0].Title = hostile
	r.overview.Project = hostile
	r.err = errors.New(hostile)
	for _, colours := range []bool{false, true} {
		r.backend.Colours = colours
		for _, keys := range [][]string{nil, {"down", "tab"}, {"tab"}, {"a"}, {"esc"}, {"esc", "esc", "?"}} {
			r.press(keys...)
			for width := 1; width < 130; width += 7 {
				for height := 1; height < 60; height += 5 {
					r.message(tea.WindowSizeMsg{Width: width, Height: height})
					r.message(changedMsg{})
					lines := r.Model.lines()
					require.Len(t, lines, height, "%dx%d", width, height)
					for _, l := range lines {
						require.LessOrEqual(t, screen.Width(l), width, "%dx%d: %q", width, height, l)
						require.Empty(t, controls(l), "%dx%d: %q", width, height, l)
					}
				}
			}
		}
	}
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// controls are the characters of a line that a terminal acts on, but for styles.
func controls(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return r
		}
		return -1
	}, colour.ReplaceAllString(line, ""))
}

func TestAnApprovalIsAskedForAndNotGivenByKeysInFlight(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.press("tab", "tab", "a", "enter", "y", "enter") // all but the first were meant for something else
	assert.Empty(t, r.lines)
	assert.Contains(t, r.frame(), "approve appr-1 of main?")
	assert.Contains(t, r.frame(), "show appr-1 in 96 cells", "what is asked for is shown")
	r.arm()
	r.types("go on")
	r.press("enter")
	assert.Equal(t, []string{"approve appr-1 --reason=go on"}, r.lines)
	assert.Contains(t, r.frame(), "did approve appr-1")

	r.press("d")
	r.arm()
	r.press("esc")
	r.press("d")
	r.arm()
	r.press("enter")
	assert.Equal(t, "deny appr-1", r.lines[len(r.lines)-1], "a reason may be left out")
	assert.Len(t, r.lines, 2)
}

func TestAnApprovalIsTheOneThatWasShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.press("tab", "tab", "a")
	r.overview = team()
	r.overview.Waiting = r.overview.Waiting[1:] // somebody else has decided it in the meantime
	r.message(changedMsg{})
	r.arm()
	r.press("enter")
	assert.Equal(t, []string{"approve appr-1"}, r.lines, "T404 will say so; nothing else is approved")
}

func TestWhatWaitsIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.press("tab", "tab", "down", "enter")
	r.arm()
	r.press("enter")
	assert.Empty(t, r.lines, "an answer has a text")
	r.types("--port 80")
	r.press("enter")
	assert.Equal(t, []string{"answer q-1 -- --port 80"}, r.lines)
	r.press("down", "enter")
	assert.Equal(t, []string{"merge continue merge-1"}, r.handed)
	r.press("esc", "down", "down", "a")
	assert.Contains(t, r.frame(), "no approval is selected")
}

func TestWhatDestroysAsksFirst(t *testing.T) {
	t.Parallel()
	for key, line := range map[string]string{"x": "run stop lexer", "R": "run lexer --detach", "u": "undo", "m": ""} {
		r := newRig(t, 100, 30)
		r.press("down", "down", key)
		require.NotNil(t, r.dialog, key)
		r.press("y")
		assert.Empty(t, r.lines, "%s: the key was in flight", key)
		r.arm()
		r.press("enter", "x", "j", "space")
		assert.Empty(t, r.lines, "%s: nothing but y does it", key)
		require.NotNil(t, r.dialog, key)
		r.press("n")
		assert.Nil(t, r.dialog, key)
		r.press(key)
		r.arm()
		r.press("y")
		if line != "" {
			assert.Equal(t, []string{line}, r.lines, key)
		} else {
			assert.Equal(t, []string{"merge lexer main"}, r.handed, key)
		}
	}
	r := newRig(t, 100, 30)
	r.press("down", "m")
	assert.Contains(t, r.frame(), "main has no parent")
}

func TestAThreadIsToldSuspendedAndResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.press("down", "down")
	for key, typed := range map[string]string{"i": "--use tabs", "s": "later", "r": ""} {
		r.press(key)
		if key != "i" {
			r.arm()
		}
		r.types(typed)
		r.press("enter")
	}
	assert.ElementsMatch(t, []string{"inject lexer --content=--use tabs", "suspend lexer --reason=later", "resume lexer"}, r.lines)
}

func TestWhatIsTypedAtOnceIsAMessageAndNoDecision(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.press("down", "down", "i")
	r.types("use tabs")
	r.press("enter")
	assert.Equal(t, []string{"inject lexer --content=use tabs"}, r.lines, "nothing is lost while a person types fast")
	r.press("i", "enter")
	assert.Len(t, r.lines, 1, "an empty text is none")
	r.press("esc", "s", "y", "enter")
	assert.Len(t, r.lines, 1, "what needs no text waits")
}

func TestAThreadIsBegunBelowTheSelectedOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.press("n")
	r.types("Write it")
	r.press("enter", "down", "left", "n")
	r.types("--part")
	r.hold = true
	r.press("enter")
	r.overview = team()
	fresh := r.overview.Threads[1]
	fresh.ThreadID, fresh.Title = "thread-k3v7q2ma", "A part"
	r.overview.Threads = append(r.overview.Threads[:1:1], append([]threads.OverviewThread{fresh}, r.overview.Threads[1:]...)...)
	r.release()
	assert.Equal(t, []string{"spawn --objective=ship -- Write it", "spawn --parent=main -- --part"}, r.lines)
	assert.Equal(t, "t:thread-k3v7q2ma", r.selected, "it is selected, also below what was folded")
	assert.Contains(t, r.frame(), "▌       A part       running", "a title says more than an id that nobody chose, and a part of that says nothing")

	r.overview = &threads.OverviewResult{}
	r.message(changedMsg{})
	r.press("n")
	r.types("Ship")
	r.press("enter")
	assert.Equal(t, "objective create -- Ship", r.lines[len(r.lines)-1], "there is no thread without one")
	r = newRig(t, 100, 30)
	r.press("down", "N")
	r.types("Another")
	r.press("enter")
	assert.Equal(t, []string{"objective create -- Another"}, r.lines)
}

func TestAnyLineIsTyped(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.press(":", "enter")
	assert.Empty(t, r.handed)
	r.types("spawn --code 'a b'")
	r.press("enter")
	assert.Equal(t, []string{"typed: spawn --code 'a b'"}, r.handed)
	assert.Nil(t, r.dialog)
}

func TestALineIsTypedWithWhatIsSelectedAndAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	typed := func() string { return strings.TrimPrefix(r.handed[len(r.handed)-1], "typed: ") }
	for _, c := range []struct{ before, line string }{
		{"claim ", "claim lexer"}, {"claim", "claim lexer"}, {"claim le", "claim lexer"}, {"spawn --parent=", "spawn --parent=lexer"}, {"spawn --ref main,", "spawn --ref main,lexer"},
	} {
		r.press("home", "down", "down", ":")
		r.types(c.before)
		r.press("tab", "enter")
		assert.Equal(t, c.line, typed())
	}
	r.press("home", ":", "tab", "enter")
	assert.Equal(t, "ship", typed(), "an objective has an id as well")

	r.press(":", "up", "up", "up", "down", "x", "enter")
	assert.Equal(t, "spawn --ref main,lexerx", typed(), "a line that failed is not typed twice")
	r.press(":")
	for range 10 {
		r.press("up")
	}
	r.press("enter")
	assert.Equal(t, "claim lexer", typed(), "the oldest one")
	r.press(":", "up", "down", "down", "enter")
	assert.NotNil(t, r.dialog, "what is behind the newest one is empty")

	r = newRig(t, 100, 30)
	r.overview = &threads.OverviewResult{}
	r.message(changedMsg{})
	r.press(":", "tab", "up", "down", "enter")
	assert.Empty(t, r.handed)
}

func TestEverydayWorkHasKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.press("down", "down", "D", "y")
	assert.Empty(t, r.lines, "the second key was in flight")
	r.arm()
	r.press("y", "C", "V")
	r.types("plan.md:3-5  --name it")
	r.press("enter", "V")
	r.types("plan.md:3")
	r.press("enter")
	assert.Equal(t, []string{"done lexer", "claim lexer", "comment lexer plan.md:3-5 -- --name it", "comment lexer plan.md:3 -- "}, r.lines)

	r.answers["search -- --two words"] = Answer{"found it\n", true}
	r.press("S")
	r.types("--two words")
	r.press("enter")
	require.NotNil(t, r.page, "what is found has the screen")
	assert.Contains(t, r.frame(), "found it")
	r.press("esc")
	assert.NotContains(t, r.frame(), "found it")
}

func TestAPendingMergeIsFoundFromItsSourceToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.press("down", "down", "down", "c")
	assert.Equal(t, []string{"merge continue merge-1"}, r.handed)
	r.press("up", "c")
	assert.Len(t, r.handed, 1, "another thread has nothing to do with it")
	assert.Contains(t, r.frame(), "no merge of it is pending")
}

func TestCodeThatWaitsIsLandedFromTheList(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.overview.Waiting = []app.WaitingItem{{Kind: app.WaitingLand, ID: "old", ThreadID: "old", Title: "An old one", Next: "leslie land old"}}
	r.message(changedMsg{})
	r.press("tab", "tab")
	assert.Contains(t, r.frame(), "enter land")
	r.press("enter")
	assert.Contains(t, r.frame(), "leslie land old?")
	assert.Contains(t, r.frame(), "diff old", "it shows what the thread changed")
	r.arm()
	r.press("y")
	assert.Equal(t, []string{"land old"}, r.handed)
}

func TestARowSaysWhatMattersFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	made := thread.ThreadID("thread-k3v7q2ma")
	t2 := &r.overview.Threads[2]
	t2.ThreadID, t2.Title, t2.Unread, t2.BlockedBy = made, "Write the manual of the parser", 0, []thread.ThreadID{"thread-4e55raz6"}
	r.overview.Threads[1].Run, r.overview.Threads[1].Status = nil, thread.Suspended
	r.overview.Threads[1].Claim, r.overview.Threads[1].Unread = &app.ClaimRecord{Holder: "somebody"}, 2
	r.overview.Waiting[1].ThreadID = made
	r.overview.Waiting[2].Title, r.overview.Sources["merge-1"] = "thread-k3v7q2ma into main, queued", []thread.ThreadID{made}
	r.message(changedMsg{})
	assert.Contains(t, r.frame(), "Write the manual of the… blocked", "no id takes room that nobody chose")
	assert.Contains(t, r.frame(), "2 new suspended", "and not who had claimed it")
	assert.Contains(t, r.frame(), "question  Write the manual of the parser  Which port?", "what waits has the names of the tree")
	assert.Contains(t, r.frame(), "merge  Write the manual of the parser into main, queued")
	r.press("end", "up", "up", "n")
	assert.Contains(t, r.frame(), "a new thread below Write the manual of the parser")
}

func TestAKeyThatDoesNothingSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.press("s")
	assert.Contains(t, r.frame(), "s does nothing where no thread is selected; ? shows the keys", "an objective is")
	r.press("down")
	assert.NotContains(t, r.frame(), "? shows the keys", "it is about the key before")
	r.press("e")
	assert.Contains(t, r.frame(), "e is no key here; ? shows the keys")
	r.press("v")
	assert.Contains(t, r.frame(), "V writes one, : comment resolve ID settles one")
}

func TestTheSelectedRowHasNoColours(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.backend.Colours = true
	r.press("down", "down")
	lines := strings.Split(r.frame(), "\n")
	assert.Contains(t, lines[1], "\x1b[1m", "the others have theirs")
	assert.Regexp(t, "^\x1b\\[7m[^\x1b]*\x1b\\[0m │", lines[3], "reversed they would have another contrast")
}

func TestWhereThereIsNothingTheScreenSaysHowToBegin(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("down", "down", "7")
	assert.Contains(t, r.frame(), "No code. leslie spawn --code", "and no error")
	r.overview.Threads[1].Code = &app.CodeRecord{}
	r.message(changedMsg{})
	assert.Contains(t, r.frame(), "code lexer in 41 cells")
	r.overview = &threads.OverviewResult{}
	r.message(changedMsg{})
	assert.Contains(t, r.frame(), "N begins an objective")
}

func TestFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	assert.True(t, r.View().ReportFocus)
	for name, msg := range map[string]tea.Msg{"a person comes back from an editor": tea.FocusMsg{}, "a key": tea.KeyPressMsg{Code: 'l', Mod: tea.ModCtrl}} {
		r.press("home", "down", "down", "2")
		r.answers["artifacts lexer --limit 0"] = Answer{name + "\n", true}
		r.message(msg)
		assert.Contains(t, r.frame(), name)
	}
}

func TestTheHelpFits(t *testing.T) {
	t.Parallel()
	for _, line := range strings.Split(helpText, "\n") {
		assert.LessOrEqual(t, len(line), enoughColumns, "%q", line)
	}
	assert.LessOrEqual(t, len(linesOf(helpText)), enoughRows-2)
}

func TestAFailureIsShownInFull(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.answers["undo"] = Answer{"error code=T110\nhint: Undo the later operations first\n", false}
	r.press("u")
	r.arm()
	r.press("y")
	assert.Contains(t, r.frame(), "hint: Undo the later operations first")
	r.press("q")
	assert.False(t, r.quit, "the key was in flight")
	r.arm()
	r.press("q")
	assert.Nil(t, r.dialog)
	assert.False(t, r.quit)
	r.press("q")
	assert.True(t, r.quit)
}

func TestTheSelectedThreadStaysSelected(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.press("down", "down", "down")
	assert.Equal(t, "t:docs", r.selected)
	r.overview = team()
	r.overview.Threads = append(r.overview.Threads[:1:1], r.overview.Threads[2:]...)
	r.message(changedMsg{})
	assert.Equal(t, "t:docs", r.selected, "another one is gone")
	r.overview.Threads = r.overview.Threads[:1]
	r.message(changedMsg{})
	assert.NotEmpty(t, r.selected, "the next one, where it is gone itself")
	r.overview = &threads.OverviewResult{}
	r.message(changedMsg{})
	assert.Contains(t, r.frame(), "no threads")
	r.press("i", "m", "x", "a", "enter", "down", "left")
	assert.Empty(t, r.lines)
}

func TestTheTreeIsFilteredAndFolded(t *testing.T) {
	t.Parallel()
	keys := func(r *rig) (out []string) {
		for _, row := range r.rows {
			out = append(out, row.key)
		}
		return out
	}
	r := newRig(t, 100, 30)
	r.press("/")
	r.types("LEX")
	assert.Equal(t, []string{"o:ship", "t:main", "t:lexer"}, keys(r), "with what is above it")
	assert.Equal(t, "t:lexer", r.selected, "what is filtered for, and not what is above it")
	assert.False(t, r.quit)
	r.message(tea.KeyPressMsg{Code: 'j', Mod: tea.ModCtrl})
	r.press("q")
	assert.True(t, r.quit, "the filter is no longer typed")
	r.press("esc")
	assert.Len(t, r.rows, 6)

	r.press("home", "down", "left")
	assert.Equal(t, []string{"o:ship", "t:main", "o:rest", "t:old"}, keys(r))
	r.press("left")
	assert.Equal(t, "o:ship", r.selected)
	r.press("left")
	assert.Equal(t, []string{"o:ship", "o:rest", "t:old"}, keys(r))
	r.press("right")
	assert.Equal(t, []string{"o:ship", "t:main", "o:rest", "t:old"}, keys(r), "what was folded below stays so")
}

func TestManyChangesAreReadOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	before := r.reads
	r.hold = true
	for range 100 {
		r.message(changedMsg{})
	}
	assert.Len(t, r.held, 1)
	r.release()
	assert.Equal(t, before+2, r.reads, "what changed while it was read is read after it")
}

func TestDetailsAreOfWhatIsSelectedLast(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.hold = true
	r.press("down", "down", "down")
	assert.Len(t, r.held, 1, "one is read at a time")
	r.release()
	assert.Equal(t, []string{"context docs in 57 cells"}, r.details.lines)
	r.press("4")
	assert.Equal(t, []string{"transcript docs --limit 200 in 57 cells"}, r.details.lines)
	r.press("enter", "right")
	assert.Equal(t, []string{"history --thread docs --limit 200 in 57 cells"}, r.details.lines)
}

func TestATranscriptIsFollowed(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	text := strings.Repeat("line\n", 99)
	r.answers["transcript lexer --limit 200"] = Answer{text + "last\n", true}
	r.press("down", "down", "4")
	require.Len(t, r.followed, 1)
	assert.Contains(t, r.frame(), "last", "its end is shown")
	r.answers["transcript lexer --limit 200"] = Answer{text + "last\nnewer\n", true}
	r.follows = "lexer"
	r.message(entryMsg{"lexer"})
	assert.Contains(t, r.frame(), "newer")
	r.press("tab", "pgup")
	r.answers["transcript lexer --limit 200"] = Answer{text + "last\nnewer\nnewest\n", true}
	r.message(entryMsg{"lexer"})
	assert.NotContains(t, r.frame(), "newest", "who reads something else is not moved")
}

func TestTheMouse(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.message(tea.MouseClickMsg{X: 5, Y: 3, Button: tea.MouseLeft})
	assert.Equal(t, "t:lexer", r.selected)
	r.message(tea.MouseClickMsg{X: 44, Y: 1, Button: tea.MouseLeft})
	r.message(tea.MouseClickMsg{X: 5, Y: 27, Button: tea.MouseLeft})
	assert.Equal(t, onWaiting, r.Model.focus)
	assert.Equal(t, 1, r.waiting)
	r.message(tea.MouseWheelMsg{X: 5, Y: 3, Button: tea.MouseWheelUp})
	assert.Equal(t, "o:ship", r.selected)
	assert.Equal(t, onWaiting, r.Model.focus)
	for x := range 100 {
		for y := range 30 {
			r.message(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
			r.message(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelDown})
		}
	}
	assert.Empty(t, r.lines, "a click only selects")
}

func TestReadingMayFail(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.err = errors.New("the store cannot be read")
	r.message(changedMsg{})
	assert.Contains(t, r.frame(), "the store cannot be read")
	assert.Contains(t, r.frame(), "Plan the parser", "what was read before stays")
}

func TestALineIsEdited(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("/")
	r.types("one two")
	r.message(tea.KeyPressMsg{Code: 'w', Mod: tea.ModCtrl})
	r.message(tea.PasteMsg{Content: "a\nb\x1b"})
	assert.Equal(t, "one a b ", r.input.value())
	r.press("home", "x", "right", "right")
	r.message(tea.KeyPressMsg{Code: tea.KeyBackspace})
	r.message(tea.KeyPressMsg{Code: tea.KeyDelete})
	assert.Equal(t, "xo a b ", r.input.value())
	r.message(tea.KeyPressMsg{Code: 'k', Mod: tea.ModCtrl})
	assert.Equal(t, "xo", r.input.value())
	r.message(tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl})
	assert.Empty(t, r.input.value())
	for range 3 {
		r.message(tea.KeyPressMsg{Code: tea.KeyBackspace})
		r.press("left")
	}
	in := input{prompt: "text: "}
	in.put(strings.Repeat("long 日本語 ", 20) + "end")
	for width := 1; width < 120; width++ {
		line := in.draw(width)
		assert.LessOrEqual(t, screen.Width(line), max(width, len("text: ")+3), "%d", width)
		if width > 20 {
			assert.Contains(t, line, "end")
		}
	}
}

// BenchmarkKey is what a key takes until the screen is drawn, with 1,000 threads.
func BenchmarkKey(b *testing.B) {
	overview := &threads.OverviewResult{Objectives: []threads.OverviewObjective{{ID: "ship", Title: "Ship"}}}
	for i := range 1000 {
		overview.Threads = append(overview.Threads, threads.OverviewThread{ThreadItem: app.ThreadItem{
			ThreadID: thread.ThreadID(fmt.Sprint("thread-", i)), Title: "Write a part of it", Status: thread.Active, ObjectiveID: "ship",
		}})
	}
	m := New(context.Background(), Backend{Colours: true, Show: func(context.Context, int, ...string) Answer { return Answer{} }})
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	m.Update(overviewMsg{overview: overview})
	keys := []tea.KeyPressMsg{{Code: tea.KeyDown}, {Code: tea.KeyPgDown}, {Code: tea.KeyUp}}
	began, n := time.Now(), 0
	for b.Loop() {
		m.Update(keys[n%3])
		m.View()
		n++
	}
	b.ReportMetric(float64(time.Since(began).Microseconds())/float64(n)/1000, "ms/key")
}

func TestAHolderThatIsNotHeardOfIsShownAndItsThreadTakenOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	require.Len(t, r.aged, 1, "somebody holds a thread")
	silent := team()
	heard := time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)
	silent.Threads[2].BlockedBy = nil
	silent.Threads[2].Claim = &app.ClaimRecord{Holder: "worker", HeardAt: heard, Silent: 42 * time.Minute}
	r.overview = silent
	r.message(r.aged[0]) // nothing was recorded: time alone has passed
	assert.Contains(t, r.View().Content, "42 min ago @")
	assert.Len(t, r.aged, 2, "and so on")

	r.press("down", "down", "down")
	require.Equal(t, thread.ThreadID("docs"), r.thread().ThreadID)
	r.press("C")
	assert.Contains(t, r.View().Content, "worker holds it, last heard of 42 min ago")
	r.arm()
	r.press("enter")
	assert.Empty(t, r.lines, "the holder is told why")
	r.types("it is gone")
	r.press("enter")
	assert.Equal(t, []string{"claim docs --take-over --reason=it is gone"}, r.lines)
	r.press("up", "up", "C")
	assert.Equal(t, "claim main", r.lines[1], "one's own claim is extended")
}
