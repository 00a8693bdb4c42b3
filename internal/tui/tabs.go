package tui

// tab is one view of a thread: what a command prints of it.
type tab struct {
	name   string
	line   func(id string) []string
	newest bool   // it grows at its end, which is shown
	lacks  string // what a thread without code shows instead
}

// tabs are the views, in their order.
func tabs() []tab {
	return []tab{
		{name: "context", line: func(id string) []string { return []string{"context", id} }},
		{name: "artifacts", line: func(id string) []string { return []string{"artifacts", id, "--limit", "0"} }},
		{name: "diff", line: func(id string) []string { return []string{"diff", id} }},
		{name: "transcript", line: func(id string) []string { return []string{"transcript", id, "--limit", "200"} }, newest: true},
		{name: "history", line: func(id string) []string { return []string{"history", "--thread", id, "--limit", "200"} }},
		{name: "merges", line: func(id string) []string { return []string{"merge", "list", "--thread", id} }},
		{name: "code", line: func(id string) []string { return []string{"code", id} }, lacks: "No code. leslie spawn --code gives a new thread a branch and a worktree."},
		{name: "status", line: func(id string) []string { return []string{"status", id} }},
	}
}
