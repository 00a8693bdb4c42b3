package graph_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/graph"
	"leslie/thread"
)

// release is a graph with every kind of edge. Its texts from outside are the two given.
func release(id, title string) graph.Graph {
	hostile := thread.ThreadID(id)
	return graph.Graph{
		Objectives: []graph.Objective{{ID: "ship", Title: title, Status: thread.ObjectiveActive}, {ID: "empty", Title: "Empty", Status: thread.ObjectiveActive}},
		Threads: []graph.Thread{
			{ID: "main", ObjectiveID: "ship", Title: "Main", Status: thread.Active, Ready: true},
			{ID: hostile, ObjectiveID: "ship", Title: title, Status: thread.Suspended, Holder: title},
			{ID: "docs", ObjectiveID: "other", Title: "Docs", Status: thread.Completed, Outside: true},
			{ID: "gone", Outside: true},
		},
		Edges: []graph.Edge{
			{Kind: graph.Parent, From: hostile, To: "main"},
			{Kind: graph.DependsOn, From: hostile, To: "main"},
			{Kind: graph.Reference, From: hostile, To: "docs", Binding: thread.Frozen, Stale: 2},
			{Kind: graph.Reference, From: "main", To: "docs", Binding: thread.Live},
			{Kind: graph.Reference, From: "main", To: "gone", Binding: thread.Frozen, Unresolved: true},
			{Kind: graph.Merge, From: "docs", To: "main", At: 7},
			{Kind: graph.Merge, From: hostile, To: "main", MergeID: "merge-a"},
			{Kind: graph.Parent, From: "docs", To: "nobody"}, // is left out
		},
	}
}

func TestMermaidHasThreadsAndEdges(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `flowchart TB
  subgraph o1["Ship it"]
    t1["<b>main</b><br/>Main<br/>active, ready"]:::active
    t2["<b>part</b><br/>Ship it<br/>suspended"]:::suspended
  end
  subgraph o2["Empty"]
  end
    t3["<b>docs</b><br/>Docs<br/>completed"]:::completed
    t4["<b>gone</b><br/>missing"]:::missing
  t1 --> t2
  t2 -->|"depends on"| t1
  t2 -.->|"reads frozen, stale"| t3
  t1 -->|"reads"| t3
  t1 -.->|"reads frozen, unresolved"| t4
  t3 ==>|"merged"| t1
  t2 -.->|"merge pending"| t1
  linkStyle 2,4 stroke:#b91c1c,color:#b91c1c
`, strings.SplitAfter(release("part", "Ship it").Mermaid(), "color:#b91c1c\n")[0])
}

func TestDOTHasThreadsAndEdges(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `    t1 [label="main\nMain\nactive, ready", fillcolor="#dbeafe", color="#1d4ed8", fontcolor="#172554"];
    t2 [label="part\nShip it\nsuspended", fillcolor="#fef3c7", color="#b45309", fontcolor="#451a03"];
  }
  subgraph cluster_2 {
    label="Empty";
  }
    t3 [label="docs\nDocs\ncompleted", fillcolor="#dcfce7", color="#15803d", fontcolor="#052e16"];
    t4 [label="gone\nmissing", fillcolor="#fee2e2", color="#b91c1c", fontcolor="#450a0a"];
  t1 -> t2;
  t1 -> t2 [dir=back, color="#7c3aed", label="depends on"];
  t2 -> t3 [constraint=false, style=dashed, label="reads frozen, stale", color="#b91c1c", fontcolor="#b91c1c"];
  t1 -> t3 [constraint=false, label="reads"];
  t1 -> t4 [constraint=false, style=dashed, label="reads frozen, unresolved", color="#b91c1c", fontcolor="#b91c1c"];
  t3 -> t1 [constraint=false, penwidth=2, label="merged"];
  t2 -> t1 [constraint=false, style=dotted, penwidth=2, label="merge pending"];
}
`, strings.SplitAfterN(release("part", "Ship it").DOT(), "label=\"Ship it\";\n", 2)[1])
}

func TestTextsAreEscaped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ title, mermaid, dot string }{
		{`say "hi"`, `say #34;hi#34;`, `say \"hi\"`},
		{`end"]; click t1 href "x`, `end#34;#93;#59; click t1 href #34;x`, `end\"]; click t1 href \"x`},
		{`<img src=x>`, `#60;img src=x#62;`, `<img src=x>`},
		{"a\nb", `a#92;nb`, `a\\nb`},
		{"\x1b[31m", `#92;x1b#91;31m`, `\\x1b[31m`},
		{`back\slash \N`, `back#92;slash #92;N`, `back\\slash \\N`},
		{"`code` **bold**", "#96;code#96; #42;#42;bold#42;#42;", "`code` **bold**"},
		{"&lt; #35;", "#38;lt#59; #35;35#59;", "&amp;lt; #35;"},
		{"style x:#1;", "style x#58;#35;1#59;", "style x:#1;"},
		{"日本 e\u0301 \u202eevil", "日本 e\u0301 #92;u202eevil", "日本 e\u0301 \\\\u202eevil"},
		{"\xff", "\uFFFD", "\uFFFD"},
	} {
		g := release("part", c.title)
		assert.Contains(t, g.Mermaid(), `subgraph o1["`+c.mermaid+`"]`)
		assert.Contains(t, g.Mermaid(), `<br/>`+c.mermaid+`<br/>`)
		assert.Contains(t, g.DOT(), `label="`+c.dot+`";`)
		assert.Contains(t, g.DOT(), `\n`+c.dot+`\n`)
	}
}

func TestGroupsAreTrees(t *testing.T) {
	t.Parallel()
	groups := release("part", "x").Groups()
	require.Len(t, groups, 3)
	require.Len(t, groups[0].Roots, 1)
	assert.Equal(t, thread.ThreadID("main"), groups[0].Roots[0].ID)
	require.Len(t, groups[0].Roots[0].Children, 1)
	assert.Equal(t, thread.ThreadID("part"), groups[0].Roots[0].Children[0].ID)
	assert.Empty(t, groups[1].Roots)
	assert.Nil(t, groups[2].Objective)
	assert.Len(t, groups[2].Roots, 2)
}

// Only a damaged store can have such parents; the graph helps to find them.
func TestACircleOfParentsIsDrawn(t *testing.T) {
	t.Parallel()
	g := graph.Graph{
		Objectives: []graph.Objective{{ID: "o"}},
		Threads:    []graph.Thread{{ID: "a", ObjectiveID: "o"}, {ID: "b", ObjectiveID: "o"}, {ID: "c", ObjectiveID: "o"}},
		Edges: []graph.Edge{
			{Kind: graph.Parent, From: "a", To: "b"}, {Kind: graph.Parent, From: "b", To: "a"}, {Kind: graph.Parent, From: "c", To: "c"}, {Kind: graph.Parent, From: "a", To: "c"},
		},
	}
	var ids []thread.ThreadID
	var walk func([]*graph.Tree)
	walk = func(trees []*graph.Tree) {
		for _, n := range trees {
			ids = append(ids, n.ID)
			walk(n.Children)
		}
	}
	walk(g.Groups()[0].Roots)
	assert.ElementsMatch(t, []thread.ThreadID{"a", "b", "c"}, ids)
}

var (
	mermaidLabel = regexp.MustCompile(`"(?:<b>|</b>|<br/>|#[0-9]+;|[^"\x00-\x1f\x7f<>#&;:\[\]{}|` + "`" + `*\\])*"`)
	dotText      = regexp.MustCompile(`"(?:[^"\\\n]|\\["\\n])*"`)
)

// FuzzDrawings checks that no text from outside leaves its string, whatever it is: without
// strings, a drawing is the same for all texts.
func FuzzDrawings(f *testing.F) {
	f.Add("part", "Ship it")
	f.Add(`a"]`, "\"]\n  click t1 href \"javascript:x\"")
	f.Add(`\`, `\" -> t1; \\`)
	f.Add("%%", "`**x**` &quot; #quot; #34; <b>")
	f.Fuzz(func(t *testing.T, id, title string) {
		if id == "" || id == "main" || id == "docs" || id == "gone" || title == "" || title == id {
			t.Skip("another graph")
		}
		plain, g := release("part", "Ship it"), release(id, title)
		without := func(of *regexp.Regexp, text string) string { return of.ReplaceAllString(text, `""`) }
		assert.Equal(t, without(mermaidLabel, plain.Mermaid()), without(mermaidLabel, g.Mermaid()))
		assert.Equal(t, without(dotText, plain.DOT()), without(dotText, g.DOT()))
	})
}
