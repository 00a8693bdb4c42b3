package mergecmd

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merges"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/merge"
	"leslie/thread"
)

type mergeListText struct{ *merges.ListResult }

func (d mergeListText) Text(p *page.Page) {
	columns := []page.Column[merging.Item]{
		{Column: screen.Column{Name: "MERGE"},
			Cell: page.Text(func(m merging.Item) thread.MergeID { return m.MergeID })},
		{Column: screen.Column{Name: "TARGET"},
			Cell: page.Text(func(m merging.Item) string { return cmp.Or(m.Onto, string(m.Target)) })},
		{Column: screen.Column{Name: "SOURCES", Shrinks: true},
			Cell: page.Text(func(m merging.Item) string { return app.Joined(m.Sources) })},
		{Column: screen.Column{Name: "STRATEGY", DropOrder: 1},
			Cell: page.Text(func(m merging.Item) thread.Strategy { return m.Strategy })},
		{Column: screen.Column{Name: "SINCE", DropOrder: 3},
			Cell: func(m merging.Item) screen.Cell { return p.When(&m.CreatedAt) }},
		{Column: screen.Column{Name: "BY", DropOrder: 2, Shrinks: true},
			Cell: page.Text(func(m merging.Item) string { return m.CreatedBy.Actor })},
		{Column: screen.Column{Name: "APPROVAL"},
			Cell: page.Text(func(m merging.Item) string { return requestText(m.Approval, m.RequireApproval) })},
	}
	if slices.ContainsFunc(d.Items.Items, func(m merging.Item) bool { return m.Queued }) {
		columns = append(columns, page.Column[merging.Item]{Column: screen.Column{Name: "QUEUED", Shrinks: true},
			Cell: page.Text(queuedText)})
	}
	page.TableOf(p, d.Items.Items, columns)
	p.Rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.Line("no merge is pending")
	}
}

// List is the command leslie merge list.
func List() *cli.Command {
	return &cli.Command{
		Name: "merge list", Summary: "list pending merges, of all threads or into and from some", Example: "leslie merge list",
		Operands: []cli.Operand{cli.ListedThreads()},
		Flags:    append(cli.RecordFlags("merges"), cli.LimitFlag(), cli.TimeFlag()), Run: runMergeList,
	}
}

func runMergeList(c *cli.Call) (cli.Data, error) {
	in := merges.ListRequest{Limit: c.Count("limit", app.DefaultLimit), RecordFilter: c.RecordFilter()}
	return cli.RunUseCase(c, merges.List, in, func(d *merges.ListResult) cli.Data { return mergeListText{d} })
}

func mergeOperand() cli.Operand { return cli.Operand{Value: cli.ID("M", cli.MergeIDs), Meant: true} }

// Status is the command leslie merge status.
func Status() *cli.Command {
	return &cli.Command{
		Name: "merge status", Summary: "show a pending merge and its conflicts",
		Example: "leslie merge status merge-a1b2c3d4",
		Detail: "Text shows the first lines of each side; --conflict shows one conflict, or those of a path, with " +
			"all lines.",
		Operands: []cli.Operand{mergeOperand()},
		Flags: []cli.Flag{cli.NewFlag("conflict", cli.Text("C").Offering(cli.ConflictIDs),
			"only this conflict, or the conflicts of this path, with all lines")},
		Run: runMergeStatus,
	}
}

func runMergeStatus(c *cli.Call) (cli.Data, error) {
	in := merges.StatusRequest{Merge: c.MeantRecord(cli.MergeIDs), Conflict: c.Text("conflict")}
	result, err := cli.UseCase(c, merges.Status, in)
	if err != nil {
		return nil, err
	}
	return MergeText{Result: result, whole: in.Conflict != "", goOn: in.Conflict == ""}, nil
}

// Resolve is the command leslie merge resolve.
func Resolve() *cli.Command {
	return &cli.Command{
		Name: "merge resolve", Summary: "resolve a conflict of a pending merge, or all conflicts of a path",
		Writes: true, NotBatchable: true,
		Detail: "--take chooses a side: ours (the target), theirs (the only source), base, both, delete, keep, or a " +
			"thread's id. --file gives the content of the named conflict, or of the whole path; - reads standard " +
			"input. --additions both takes all sides of every conflict in which they only added lines, and leaves " +
			"the others open. A PATH means its open conflicts; without PATH or CONFLICT, the choice applies to " +
			"every open conflict. --all, or naming a CONFLICT, also replaces answers that were given.",
		Example: "leslie merge resolve merge-a1b2c3d4 plan.md --take both",
		Operands: []cli.Operand{mergeOperand(),
			{Value: cli.Text("PATH|CONFLICT").Offering(cli.ConflictIDs), Optional: true}},
		Flags: []cli.Flag{
			cli.NewFlag("take", cli.Text("SIDE").Offering(cli.SideNames),
				"ours, theirs, base, both, delete, keep, or a thread's id"),
			cli.NewFlag("file", cli.Text("F|-"), "a file with the content; - reads standard input"),
			cli.NewFlag("additions", cli.OneOf(merge.TakeBoth), "take both where all sides only added lines"),
			cli.Toggle("all", "also replace answers that were given already"),
			cli.NewFlag("reason", cli.Text("R"), "why, for the record"),
		},
		Run: runMergeResolve,
	}
}

func runMergeResolve(c *cli.Call) (cli.Data, error) {
	switch {
	case c.Has("additions") && (c.Has("take") || c.Has("file")):
		c.Fault("--additions", "", "--additions cannot be used with --take or --file")
	case c.Has("take") == c.Has("file") && !c.Has("additions"):
		c.Fault("--take", "", "say --take SIDE or --file F, and not both")
	}
	id, about := c.MeantWith(cli.MergeIDs)
	if c.Has("file") && about == "" {
		c.Fault("PATH|CONFLICT", "", "--file needs the PATH or the CONFLICT that it is for")
	}
	in := merges.ResolveRequest{Merge: id,
		Choice: merging.Choice{About: about, All: c.On("all"), Take: c.Text("take"), Reason: c.Text("reason")}}
	if c.Has("additions") {
		in.Additions, in.Take = true, merge.TakeBoth
	}
	if c.Has("file") {
		in.Take, in.Whole = merge.TakeText, true
		in.Content = func() ([]byte, error) { return readFile(c, c.Text("file")) }
	}
	return runMerging(c, merges.Resolve, in)
}

// readFile reads a file named by the caller, or standard input for "-". Errors: T903,
// T508, T509.
func readFile(c *cli.Call, name string) ([]byte, error) {
	in := c.Env.Stdin
	if name != "-" {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Who.Dir, path)
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, codes.ReadFailed.OfPath(name, err)
		}
		defer f.Close()
		in = f
	}
	var text bytes.Buffer
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			text.Grow(int(min(info.Size(), app.MaxFile)) + bytes.MinRead) // read in one go
		}
	}
	_, err := text.ReadFrom(io.LimitReader(in, app.MaxFile+1))
	data := text.Bytes()
	switch {
	case err != nil:
		return nil, codes.ReadFailed.OfPath(name, err)
	case len(data) > app.MaxFile:
		return nil, codes.TooLarge.New(fact.Of("what", name), fact.Of("limit", "64 MiB"))
	}
	return data, nil
}

// Continue is the command leslie merge continue.
func Continue() *cli.Command {
	return &cli.Command{
		Name: "merge continue", Summary: "apply a pending merge once all conflicts are resolved", Writes: true,
		NotBatchable: true,
		Detail: "The files in the merge's work folder count, too: a conflict whose lines were edited and have no " +
			"markers left is resolved by them, and so are changes elsewhere in a file once it has no markers left.",
		Example:  "leslie merge continue merge-a1b2c3d4",
		Operands: []cli.Operand{mergeOperand()},
		Flags: append([]cli.Flag{cli.Toggle("dry-run", "show what would happen without changing anything"),
			unreadFlag()}, commitFlags()...),
		Run: runMergeContinue,
	}
}

func runMergeContinue(c *cli.Call) (cli.Data, error) {
	in := merges.ContinueRequest{Merge: c.MeantRecord(cli.MergeIDs), DryRun: c.On("dry-run"),
		Unread: c.Text("unread"), Resolvers: mergeMeans(c)}
	c.CheckRequest(in.Faults, map[string]string{"Merge": "M", "Timeout": "--agent-timeout"})
	return runMerging(c, merges.Continue, in)
}

// Abort is the command leslie merge abort.
func Abort() *cli.Command {
	return &cli.Command{
		Name: "merge abort", Summary: "abort a pending merge; the target stays unchanged", Writes: true,
		NotBatchable: true,
		Example:      "leslie merge abort merge-a1b2c3d4",
		Operands:     []cli.Operand{mergeOperand()}, Run: runMergeAbort,
	}
}

func runMergeAbort(c *cli.Call) (cli.Data, error) {
	return runMerging(c, merges.Abort, merges.AbortRequest{Merge: c.MeantRecord(cli.MergeIDs)})
}
