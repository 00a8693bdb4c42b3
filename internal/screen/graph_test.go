package screen_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"github.com/stretchr/testify/assert"

	"leslie/internal/graph"
	"leslie/internal/screen"
	"leslie/thread"
)

func sample(title string) graph.Graph {
	return graph.Graph{
		Objectives: []graph.Objective{{ID: "ship", Title: title, Status: thread.ObjectiveActive}, {ID: "later", Title: "Later", Status: thread.ObjectiveActive}},
		Threads: []graph.Thread{
			{ID: "main", ObjectiveID: "ship", Title: title, Status: thread.Active, Ready: true},
			{ID: "part", ObjectiveID: "ship", Title: "Write it", Status: thread.Active, Holder: "bot", Run: thread.RunRunning},
			{ID: "deep", ObjectiveID: "ship", Title: "Check it", Status: thread.Completed, Run: thread.RunEnded},
			{ID: "docs", ObjectiveID: "ship", Title: "Tell of it", Status: thread.WaitingHuman},
			{ID: "lib", ObjectiveID: "other", Title: "Library", Status: thread.Suspended, Outside: true},
			{ID: "gone", Outside: true},
		},
		Edges: []graph.Edge{
			{Kind: graph.Parent, From: "part", To: "main"},
			{Kind: graph.Parent, From: "deep", To: "part"},
			{Kind: graph.Parent, From: "docs", To: "main"},
			{Kind: graph.DependsOn, From: "docs", To: "part"},
			{Kind: graph.DependsOn, From: "docs", To: "deep"},
			{Kind: graph.Reference, From: "part", To: "lib", RefID: "ref-a", Binding: thread.Frozen, Stale: 1200},
			{Kind: graph.Reference, From: "docs", To: "part", RefID: "ref-b", Binding: thread.Live},
			{Kind: graph.Reference, From: "docs", To: "gone", RefID: "ref-c", Binding: thread.Frozen, Unresolved: true},
			{Kind: graph.Merge, From: "deep", To: "part", At: 9},
			{Kind: graph.Merge, From: "docs", To: "main", MergeID: "merge-a"},
		},
	}
}

func drawnGraph(v screen.Graph) string {
	var lines []string
	for _, row := range v.Draw() {
		lines = append(lines, row.Text)
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestAGraphIsDrawnAsTrees(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `Ship it  ship, active
└─ main        active, ready  Ship it
   │  merge pending from docs
   ├─ part     active         Write it (bot, run running)
   │  │  reads lib (frozen, stale: 1,200 files)
   │  │  merged deep
   │  └─ deep  completed      Check it
   └─ docs     waiting_human  Tell of it
         depends on part (active), deep (completed)
         reads part (live), gone (frozen, unresolved)

Later  later, active
  no threads

Threads elsewhere
├─ lib   suspended      Library
└─ gone  missing
`, drawnGraph(screen.Graph{Graph: sample("Ship it")}))
}

func TestAGraphFitsTheScreen(t *testing.T) {
	t.Parallel()
	wide := drawnGraph(screen.Graph{Graph: sample("日本日本日本日本"), Width: 34})
	assert.Equal(t, "日本日本日本日本  ship, active\n└─ main        active, ready  日…\n", strings.Join(strings.SplitAfter(wide, "\n")[:2], ""))
	ascii := drawnGraph(screen.Graph{Graph: sample("日本"), Width: 80, ASCII: true})
	assert.Equal(t, "??  ship, active\n`- main        active, ready  ??\n", strings.Join(strings.SplitAfter(ascii, "\n")[:2], ""))
	assert.Equal(t, `Ship it  ship, active
`+"`"+`- main        active, ready  Sh~
   |  merge pending from docs
   |- part     active         Wr~
   |  |  reads lib (frozen,
   |  |  stale: 1,200 files)
   |  |  merged deep
   |  `+"`"+`- deep  completed      Ch~
   `+"`"+`- docs     waiting_human  Te~
         depends on part
         (active), deep
         (completed)
         reads part (live), gone
         (frozen, unresolved)
`, strings.SplitAfter(drawnGraph(screen.Graph{Graph: sample("Ship it"), Width: 33, ASCII: true}), "unresolved)\n")[0])
}

func TestARowKnowsItsThread(t *testing.T) {
	t.Parallel()
	rows := screen.Graph{Graph: sample("Ship it")}.Draw()
	assert.Equal(t, screen.GraphRow{Text: "Ship it  ship, active"}, rows[0])
	assert.Equal(t, thread.ThreadID("main"), rows[1].Thread)
	assert.True(t, rows[1].First)
	assert.Equal(t, thread.ThreadID("main"), rows[2].Thread)
	assert.False(t, rows[2].First)
}

func TestADeepGraphKeepsItsIDs(t *testing.T) {
	t.Parallel()
	g := graph.Graph{Objectives: []graph.Objective{{ID: "o", Title: "O", Status: thread.ObjectiveActive}}}
	last := thread.ThreadID("")
	for _, name := range strings.Split(strings.Repeat("a", 40), "") {
		id := last + thread.ThreadID(name)
		g.Threads = append(g.Threads, graph.Thread{ID: id, ObjectiveID: "o", Status: thread.Active})
		if last != "" {
			g.Edges = append(g.Edges, graph.Edge{Kind: graph.Parent, From: id, To: last})
		}
		last = id
	}
	for _, row := range (screen.Graph{Graph: g, Width: 60}).Draw()[1:] {
		assert.Contains(t, row.Text, "a", "an id")
		assert.Contains(t, row.Text, "active", "a status")
	}
}

// FuzzGraph checks that a graph with any texts stays in its lines and controls no terminal.
func FuzzGraph(f *testing.F) {
	f.Add("Ship it", "part", 80, false)
	f.Add("\x1b[2J\x1b]0;x\a \u202eevil", "日本語\n", 24, true)
	f.Add("👩\u200d💻 e\u0301", "\xff\t", 40, false)
	f.Fuzz(func(t *testing.T, title, id string, width int, ascii bool) {
		width = 20 + max(width, -width)%200
		g := sample(title)
		for i := range g.Threads {
			if g.Threads[i].ID == "part" {
				g.Threads[i].ID, g.Threads[i].Holder = thread.ThreadID(id), title
			}
		}
		for i := range g.Edges {
			if g.Edges[i].From == "part" {
				g.Edges[i].From = thread.ThreadID(id)
			}
			if g.Edges[i].To == "part" {
				g.Edges[i].To = thread.ThreadID(id)
			}
		}
		for _, row := range (screen.Graph{Graph: g, Width: width, ASCII: ascii}).Draw() {
			assert.LessOrEqual(t, displaywidth.String(row.Text), width)
			assert.False(t, strings.ContainsFunc(row.Text, func(r rune) bool {
				return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' || ascii && r > unicode.MaxASCII
			}), "%q", row.Text)
		}
	})
}
