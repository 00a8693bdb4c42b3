package mergecmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/landing"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/merge"
	"leslie/thread"
)

// landText is the code of threads as it landed, or would.
type landText struct{ *landing.Result }

func (landText) IsPartialResult() {}

func (d landText) Text(p *page.Page) {
	for _, i := range d.Items {
		landedText(p, i)
	}
	if len(d.Items) == 0 {
		p.Line("nothing is ready to land: no completed thread has code here that has not landed")
	}
}

func landedText(p *page.Page, i *landing.Item) {
	switch {
	case i.Error != nil:
		p.Line("%s did not land: %s %s", i.ThreadID, i.Error.Code, i.Error.Message)
		for _, next := range i.Error.Next {
			p.Line("  next: %s", next)
		}
		return
	case i.Status == merging.NothingToDo && len(i.NotHere) > 0:
		p.Line("nothing to land from here: what %s has of %s is not here", app.Joined(i.NotHere), i.ThreadID)
	case i.Status == merging.NothingToDo && i.Changes != nil && !i.Changes.Landed:
		p.Line("nothing to land: %s has no commit that %s lacks", i.ThreadID, i.Branch)
	case i.Status == merging.NothingToDo:
		p.Line("nothing to land: %s already has all that %s has committed", i.Branch, i.ThreadID)
	case i.Status == merging.Merged && i.Commit != nil: // else only artifacts were merged
		p.Line("landed %s on %s: %s %s%s", i.ThreadID, i.Branch, commitWord(i), (*i.Commit)[:12], amountText(i))
	case i.Status == merging.Merged && i.Target == nil: // somebody merged it with git while the landing waited
		p.Line("nothing left to land: %s has all that %s has committed", i.Branch, i.ThreadID)
	case i.Status == merging.Planned:
		p.Line("would land %s on %s: %s%s%s", i.ThreadID, i.Branch, strings.TrimSuffix(commitWord(i), ", up to"), amountText(i), openText(i))
	default:
		MergeText{Result: i.Merge}.Text(p)
	}
	if len(i.FailedChecks) > 0 && i.Status != merging.NothingToDo {
		p.Line("failed when it last ran: its check %s (leslie status %s)", app.Joined(i.FailedChecks), i.ThreadID)
	}
	if i.Merge != nil && i.Merge.Code != nil {
		beforehandText(p, i.Merge.Code)
	}
	if i.Merge != nil && i.Status == merging.Merged {
		editedText(p, i.Merge.Edited)
	}
	if i.Status == merging.Planned {
		foreseenText(p, i)
		return
	}
	if i.Completed {
		p.Line("completed %s", i.ThreadID)
	}
	switch {
	case i.Removed != nil && i.Removed.Branch != "":
		p.Line("removed its worktree and its branch %s", i.Removed.Branch)
		for _, remote := range i.Removed.Remotes {
			p.Line("%s still has that branch: git push %s --delete %s", remote, remote, i.Removed.Branch)
		}
	case i.Removed != nil:
		p.Line("removed its worktree; its branch stays")
	case i.Kept != "":
		p.Line("kept its worktree and its branch: %s", i.Kept)
	}
	if i.Removed != nil && i.Removed.Ref != "" {
		what := "its own commits"
		if i.Removed.Ignored > 0 && i.How == thread.LandedMerge {
			what = fact.Plural(i.Removed.Ignored, "file") + " that git ignores"
		} else if i.Removed.Ignored > 0 {
			what += " and " + fact.Plural(i.Removed.Ignored, "file") + " that git ignores"
		}
		p.Line("kept %s as %s until code.keep is over (leslie code prune)", what, i.Removed.Ref)
	}
	p.Field("undo", i.Undo)
}

// foreseenText says what a landing would meet, and what would go with it.
func foreseenText(p *page.Page, i *landing.Item) {
	for _, wait := range i.Waits {
		p.Line("  but first: %s", wait)
	}
	if i.Completed {
		p.Line("  it completes %s", i.ThreadID)
	}
	switch {
	case i.Removed != nil && i.Removed.Branch != "":
		p.Line("  it removes its worktree and its branch %s", i.Removed.Branch)
	case i.Removed != nil:
		p.Line("  it removes its worktree; its branch stays")
	case i.Kept != "":
		p.Line("  it keeps its worktree and its branch: %s", i.Kept)
	}
	if len(i.Lost) > 0 {
		p.Line("  too large to be kept: %s", app.Joined(i.Lost))
	}
}

// editedText names the files whose conflicts are resolved as somebody edited them.
func editedText(p *page.Page, paths []string) {
	if len(paths) > 0 {
		p.Line("resolved as you edited it: %s", app.Joined(paths))
	}
}

// commitWord is what a landing puts on the branch.
func commitWord(i *landing.Item) string {
	switch i.How {
	case thread.LandedSquash:
		return "one commit"
	case thread.LandedRebase:
		return "its commits, up to"
	}
	return "merge commit"
}

// amountText is how much lands, behind a comma.
func amountText(i *landing.Item) string {
	if i.Changes == nil {
		return ""
	}
	text := ""
	switch size := page.SizeText(i.Changes.Files, i.Changes.Added, i.Changes.Removed); {
	case i.Changes.Files == 0:
	case i.Changes.Commits == 0: // the branch had them before, and their revert
		text = ", " + size
	case i.How == thread.LandedSquash && i.Changes.Commits > 1:
		text = " of " + fact.Plural(i.Changes.Commits, "commit") + ", " + size
	case i.How == thread.LandedSquash:
		text = ", " + size
	default:
		text = ", " + fact.Plural(i.Changes.Commits, "commit") + ", " + size
	}
	if i.Changes.Uncommitted > 0 {
		text += ", and " + fact.Plural(i.Changes.Uncommitted, "file") + " committed for it"
	}
	return text
}

func openText(i *landing.Item) string {
	if i.Merge.Unresolved == 0 {
		return ""
	}
	var paths []string
	for _, c := range i.Merge.Conflicts {
		if c.Status == merge.Unresolved && !slices.Contains(paths, c.Path) {
			paths = append(paths, c.Path)
		}
	}
	return "; " + fact.Plural(i.Merge.Unresolved, "conflict") + " to resolve first, in " + app.Joined(paths)
}

// Land is the command leslie land.
func Land() *cli.Command {
	strategies := []string{string(thread.Interactive), string(thread.AgentFirst), string(thread.HumanOnly),
		string(thread.Strict)}
	return &cli.Command{
		Name: "land", Summary: "bring the code of a thread to the branch from which it began", Writes: true,
		NotBatchable: true,
		Detail: "A worktree that has the branch checked out moves along; a thread that has it gets the artifacts, too. " +
			"A conflict leaves the landing pending (T301): resolve it, then the same line again. Then the thread is " +
			"completed, and its worktree and the branch that leslie made go. Hooks of git do not run. An agent needs the capability land, or a " +
			"person's approval.",
		Example:  "leslie land write-docs",
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ThreadIDs), Optional: true, Many: true}},
		Flags: append([]cli.Flag{
			cli.Toggle("ready", "all that is completed and passes its checks"),
			cli.NewFlag("onto", cli.Text("B"), "another branch"),
			cli.Toggle("merge", "make a merge commit (default: code.land, else this)"),
			cli.Toggle("squash", "make one ordinary commit of it"),
			cli.Toggle("rebase", "put its own commits on top of the branch"),
			cli.NewFlag("message", cli.Text("M"), "of the commit (default: title and intent)").Short("m"),
			cli.Toggle("edit", "edit the message first, as git commit does"),
			cli.Toggle("keep", "leave thread, worktree and branch as they are"),
			cli.NewFlag("uncommitted", cli.OneOf("refuse", merging.TakeUncommitted), "refuse what is not committed, or commit it"),
			unreadFlag(),
			cli.NewFlag("conflict-strategy", cli.OneOf(strategies...), "who resolves conflicts"),
			cli.Toggle("dry-run", "show what would happen without changing anything"),
		}, commitFlags()...),
		Run: runLand,
	}
}

// editedMessage has the person edit the message of the commit that lands a thread. Errors: T903
// where nobody can be asked, for several threads, and for an empty message; those of
// landing.MessageOf.
func editedMessage(c *cli.Call, in landing.Request) (string, error) {
	refuse := func(reason string) *codes.Error { return codes.InvalidArgument.New(fact.Of("reason", reason)) }
	switch {
	case len(in.Threads) != 1 || in.How == thread.LandedRebase:
		return "", refuse("--edit is for the one message of one thread").WithNext("leslie help land")
	case !c.CanPrompt():
		return "", refuse("--edit needs a person at a terminal; --message says it in the line").WithNext("leslie help land")
	}
	text := in.Message
	if text == "" {
		words, err := cli.UseCase(c, landing.MessageOf, in.Threads[0])
		if err != nil {
			return "", err
		}
		text = *words
	}
	path, err := textFile("COMMIT_EDITMSG", []byte(text+"\n"))
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(filepath.Dir(path))
	typed, err := inEditor(c, path)
	message := strings.TrimSpace(string(typed))
	switch {
	case err != nil:
		return "", refuse("the editor did not finish, so nothing landed: " + err.Error()).WithNext("leslie diff " + in.Threads[0] + " --code")
	case message == "":
		return "", refuse("the message is empty, so nothing landed").WithNext("leslie diff " + in.Threads[0] + " --code")
	}
	return message, nil
}

func runLand(c *cli.Call) (_ cli.Data, err error) {
	in := landing.Request{
		Threads: c.Flags.Args().Slice(), Ready: c.On("ready"), Onto: c.Text("onto"),
		Message: c.Text("message"), Keep: c.On("keep"), DryRun: c.On("dry-run"), Uncommitted: c.Text("uncommitted"),
		Unread: c.Text("unread"), Strategy: thread.Strategy(c.Text("conflict-strategy")), Resolvers: mergeMeans(c),
	}
	for _, how := range []string{thread.LandedMerge, thread.LandedSquash, thread.LandedRebase} {
		switch {
		case !c.On(how):
		case in.How != "":
			c.Fault("--"+how, "", "--"+how+" cannot be used with --"+in.How)
		default:
			in.How = how
		}
	}
	if len(in.Threads) == 0 && !in.Ready {
		in.Threads = []string{c.TargetThread()}
	}
	c.CheckRequest(in.Faults, map[string]string{"Threads": "ID", "Strategy": "--conflict-strategy", "Timeout": "--agent-timeout"})
	if c.On("edit") && len(c.Faults) == 0 {
		if in.Message, err = editedMessage(c, in); err != nil {
			return nil, err
		}
	}
	result, err := cli.UseCase(c, landing.Land, in)
	if result == nil {
		return nil, err
	}
	return landText{result}, err
}
