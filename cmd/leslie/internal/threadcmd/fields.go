package threadcmd

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file has the fields of a thread at the command line: the flags that set them, and the
// columns and lines that show them.

// spawnFlags set the fields of a new thread.
func spawnFlags() []cli.Flag {
	inherit := []string{string(thread.InheritNone), string(thread.InheritFull), string(thread.InheritPartial)}
	return []cli.Flag{
		cli.NewFlag("intent", cli.Text("TEXT").Required(), "what the thread should achieve; - reads stdin"),
		cli.NewFlag("title", cli.Text("T"), "at most 200 characters (default: from the intent)"),
		cli.NewFlag("objective", cli.ID("ID", cli.ObjectiveIDs), "default: parent's, the only open, else a new one"),
		cli.NewFlag("parent", cli.ID("ID", cli.ThreadIDs), "the parent thread (default: --thread)"),
		cli.NewFlag("id", cli.ID("ID", cli.OtherIDs), "use this id instead of one from the title"),
		cli.NewFlag("inherit", cli.OneOf(inherit...), "copy the parent's artifacts: all or --scope"),
		cli.NewFlag("scope", cli.Scopes("P,..."), "which artifacts to inherit: paths, folders, globs"),
		cli.NewFlag("ref", cli.IDs("ID,...", cli.ThreadIDs), "threads to reference, as snapshots taken now"),
		cli.NewFlag("depends-on", cli.IDs("ID,...", cli.ThreadIDs), "threads that must terminate first"),
		cli.NewFlag("tag", cli.Texts("T").Offering(cli.TagNames), "a tag; can be repeated"),
		cli.NewFlag("executor", cli.OneOf(executorWords()...), "who does the work (default agent)"),
		priorityFlag(),
		cli.Toggle("run", "let leslie run --next start an agent on it first"),
		cli.NewFlag("agent", cli.Text("NAME").Offering(cli.AgentNames), "with --run: the agent (leslie agents)"),
		cli.Toggle("claim", "also claim the thread, in the same operation"),
		cli.Toggle("code", "make a git branch and worktree: leslie help code"),
		cli.NewFlag("base", cli.Text("REF").Offering(cli.ThreadIDs),
			"or a thread (default: parent's branch, HEAD)"),
		cli.NewFlag("uncommitted", cli.OneOf("leave", "take"), "the parent's uncommitted code"),
		cli.NewFlag("accept", cli.CheckNames(), "checks that an agent's done has to pass"),
		cli.Toggle("no-setup", "do not run code.setup in the worktree"),
		cli.NewFlag("branch", cli.Text("B"), "its git branch, a new one or one that is there"),
		cli.NewFlag("worktree", cli.Text("DIR"), "the git worktree of the thread's code"),
		cli.FormerList("tags", "tag"), cli.FormerSwitch("no-run"), cli.FormerSwitch("foreground"),
	}
}

func spawnRequest(c *cli.Call) threads.SpawnRequest {
	return threads.SpawnRequest{
		Intent: c.Text("intent"), Title: c.Text("title"), ID: c.Text("id"), Objective: c.Text("objective"),
		Parent:  c.Text("parent"),
		Inherit: thread.Inherit(c.Text("inherit")), Scope: c.Parts("scope"), Refs: c.Parts("ref"),
		DependsOn: c.Parts("depends-on"),
		Tags:      c.Texts("tag"), Executor: thread.Executor(c.Text("executor")), Priority: priority(c), Branch: c.Text("branch"),
		Worktree: c.FromDir(c.Text("worktree")),
		Claim:    c.On("claim"), Run: c.On("run"), Agent: c.Text("agent"), Code: c.On("code"), Base: c.Text("base"),
		Uncommitted: c.Text("uncommitted"), NoSetup: c.On("no-setup"), Accept: c.Parts("accept"),
	}
}

// SpawnFlags are those of a new thread that somebody else's command makes: all but what that
// command decides itself.
func SpawnFlags() []cli.Flag {
	decided := []string{"intent", "objective", "agent", "run", "claim", "executor"}
	var out []cli.Flag
	for _, o := range cli.ShownOptions(spawnFlags()) {
		if !slices.Contains(decided, o.Name) {
			out = append(out, o)
		}
	}
	return out
}

// SpawnRequest reads SpawnFlags, and what the thread is for.
func SpawnRequest(c *cli.Call) threads.SpawnRequest {
	in := spawnRequest(c)
	in.Agent, in.Run, in.Claim, in.Executor = "", false, false, ""
	return in
}

// updateFlags set fields of a thread that is there.
func updateFlags() []cli.Flag {
	return []cli.Flag{
		cli.NewFlag("title", cli.Text("T"), "the new title, at most 200 characters"),
		cli.NewFlag("intent", cli.Text("TEXT"), "the new intent, at most 64 KiB; - reads standard input"),
		priorityFlag(),
		cli.NewFlag("tag", cli.Edits("+T|-T", cli.TagNames), "add or remove a tag; can be repeated"),
		cli.NewFlag("depends-on", cli.Edits("+ID|-ID", cli.ThreadIDs),
			"add or remove a dependency; can be repeated"),
		cli.NewFlag("branch", cli.Text("B").OrEmpty(), "the git branch of the thread's code"),
		cli.NewFlag("worktree", cli.Text("DIR").OrEmpty(), "the git worktree of the thread's code"),
	}
}

func updateRequest(c *cli.Call) threads.UpdateRequest {
	in := threads.UpdateRequest{Thread: c.TargetThread(),
		Edit: thread.Edit{Title: c.Optional("title"), Intent: c.Optional("intent"), Priority: priority(c), Branch: c.Optional("branch")}}
	in.AddTags, in.DropTags = edits(&c.Given, "tag")
	in.AddDepends, in.DropDepend = edits(&c.Given, "depends-on")
	if dir := c.Optional("worktree"); dir != nil {
		place := c.FromDir(*dir)
		in.Worktree = &place
	}
	return in
}

// priorityFlag says how early among ready threads a thread is claimed.
func priorityFlag() cli.Flag {
	var levels []string
	for p := thread.HighestPriority; p <= thread.LowestPriority; p++ {
		levels = append(levels, strconv.Itoa(int(p)))
	}
	return cli.NewFlag("priority", cli.OneOf(levels...).As("N"), "0 is claimed first, 4 last (normal: 2)")
}

// priority is the value of the flag, nil if it was not given.
func priority(c *cli.Call) *thread.Priority {
	if !c.Has("priority") {
		return nil
	}
	return new(thread.Priority(c.Count("priority", 0)))
}

// ranked is a priority that is not the normal one, as a text.
func ranked(p thread.Priority) string {
	if p == thread.NormalPriority {
		return ""
	}
	return strconv.Itoa(int(p))
}

// edits sorts "+VALUE" and "-VALUE".
func edits(c *cli.Given, flag string) (add, drop []string) {
	for _, v := range c.Texts(flag) {
		if v[0] == '+' {
			add = append(add, v[1:])
		} else {
			drop = append(drop, v[1:])
		}
	}
	return add, drop
}

func executorWords() []string { return []string{string(thread.ByHuman), string(thread.ByAgent)} }

// threadColumns are the columns of a list of threads.
func threadColumns(p *page.Page) []page.Column[app.ThreadItem] {
	columns := []page.Column[app.ThreadItem]{
		{Column: screen.Column{Name: "THREAD"}, Cell: page.Text(func(t app.ThreadItem) string {
			return strings.Repeat("  ", app.OrZero(t.Depth)) + string(t.ThreadID)
		})},
		{Column: screen.Column{Name: "STATUS"},
			Cell: func(t app.ThreadItem) screen.Cell { return screen.StatusCell(t.Status) }},
		{Column: screen.Column{Name: "EXECUTOR", DropOrder: 1},
			Cell: page.Text(func(t app.ThreadItem) thread.Executor { return t.Executor })},
		{Column: screen.Column{Name: "PRIORITY", DropOrder: 4},
			Cell: page.Text(func(t app.ThreadItem) string { return ranked(t.Priority) }), HideIfEmpty: true},
		{Column: screen.Column{Name: "OBJECTIVE", DropOrder: 3},
			Cell: page.Text(func(t app.ThreadItem) thread.ObjectiveID { return t.ObjectiveID })},
		{Column: screen.Column{Name: "PARENT", DropOrder: 2},
			Cell: page.Text(func(t app.ThreadItem) thread.ThreadID { return app.OrZero(t.ParentID) })},
		{Column: screen.Column{Name: "CLAIM", DropOrder: 6, Shrinks: true},
			Cell: page.Text(func(t app.ThreadItem) string { return holder(p, t.Claim) }), HideIfEmpty: true},
		{Column: screen.Column{Name: "HEARD", DropOrder: 3},
			Cell: func(t app.ThreadItem) screen.Cell { return heard(p, t.Claim) }, HideIfEmpty: true},
		{Column: screen.Column{Name: "RUN", DropOrder: 7}, Cell: page.Text(shortRun), HideIfEmpty: true},
		{Column: screen.Column{Name: "TAGS", DropOrder: 4, Shrinks: true},
			Cell: page.Text(func(t app.ThreadItem) string { return strings.Join(t.Tags, ",") }), MaxChars: 30,
			HideIfEmpty: true},
		{Column: screen.Column{Name: "UPDATED", DropOrder: 5},
			Cell: func(t app.ThreadItem) screen.Cell { return p.When(&t.UpdatedAt) }, PersonOnly: true},
		{Column: screen.Column{Name: "TITLE", Shrinks: true},
			Cell: page.Text(func(t app.ThreadItem) string { return t.Title }), MaxChars: 60},
	}
	if !p.Timed {
		columns = slices.DeleteFunc(columns, func(c page.Column[app.ThreadItem]) bool { return c.Name == "HEARD" })
	}
	return columns
}

// holder is who holds a thread, and where no column has it how long the holder is silent.
func holder(p *page.Page, claim *app.ClaimRecord) string {
	if claim == nil {
		return ""
	}
	name := app.Cut(claim.Holder, 30)
	quiet := time.Minute
	if p.Width > 0 {
		quiet = 10 * time.Minute // the room is for what matters more
	}
	if p.Timed && p.Width == 0 || claim.Silent < quiet {
		return name
	}
	return name + " (" + screen.Since(claim.Heard()) + ")"
}

// heard is when the holder of a thread was last heard of.
func heard(p *page.Page, claim *app.ClaimRecord) screen.Cell {
	if claim == nil {
		return p.When(nil)
	}
	return p.When(&claim.HeardAt)
}

// shortRun says how a thread's run stands: its phase, or how it stopped, and its turns.
func shortRun(t app.ThreadItem) string {
	switch r := t.Run; {
	case r == nil:
		return ""
	case r.Phase == thread.RunWanted:
		return string(r.Phase)
	case r.Killed:
		return "killed, " + fact.Plural(r.Turns, "turn")
	case r.Stop != "":
		return string(r.Stop) + ", " + fact.Plural(r.Turns, "turn")
	default:
		return string(r.Phase) + ", " + fact.Plural(r.Turns, "turn")
	}
}

// threadText renders a thread.
func threadText(p *page.Page, d app.ThreadRecord) {
	p.Line("thread %s  %s", d.ThreadID, d.Status)
	p.Field("title", d.Title)
	if app.FirstLine(d.Intent) != d.Title {
		p.Lines("intent", app.Cut(d.Intent, 2000))
	}
	p.Field("reason", d.Reason)
	if d.Ended != nil {
		p.Field("ended", d.Ended.At.Format(time.RFC3339)+" by "+d.Ended.Actor+" ("+string(d.Ended.As)+")")
		p.Field("replaced by", string(d.Successor))
	}
	p.Field("executor", string(d.Executor))
	p.Field("priority", ranked(d.Priority))
	p.Field("objective", string(d.ObjectiveID))
	if d.ParentID != nil {
		p.Field("parent", string(*d.ParentID)+" (inherits: "+string(d.Inherit)+")")
	}
	p.Field("tags", app.Joined(d.Tags))
	p.Field("depends on", app.Joined(d.DependsOn))
	p.Field("branch", d.Branch)
	if d.Code == nil || d.Code.State != thread.CodeRemoved {
		p.Field("worktree", d.Worktree)
	}
	if d.Code != nil {
		codeFields(p, d.Code)
	}
	acceptanceText(p, d.Code)
	p.Field("path", p.Place(d.Path))
	p.Field("created", d.CreatedAt.Format(time.RFC3339)+" by "+d.CreatedBy.Actor+" ("+string(d.CreatedBy.As)+")")
	p.Field("updated", d.UpdatedAt.Format(time.RFC3339))
	p.Field("revision", int64(d.Revision))
}

// codeFields says how a thread's code stands, as it is recorded.
func codeFields(p *page.Page, c *app.CodeRecord) {
	from := c.Start
	if c.Target != nil {
		from = *c.Target
	}
	if c.State == thread.CodeRemoved {
		p.Field("code", "its worktree was removed; it began at "+from)
		p.Field("kept", c.Kept)
	} else if c.Machine != "" {
		p.Field("code", "on "+c.Machine+", from "+from)
	} else {
		p.Field("code", c.State.Words()+", from "+from)
	}
	for _, l := range c.Landed {
		if !l.Pulled {
			p.Field("landed", "in "+l.Place()+" as "+l.Commit[:min(12, len(l.Commit))]+" ("+l.How+")")
		}
	}
}

// contextFields renders fields of a thread for its agent.
func contextFields(t thread.Thread) string {
	return fieldLine("priority", ranked(t.Priority.Level())) + fieldLine("tags", app.Joined(t.Tags))
}
