package mergecmd

import (
	"strconv"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/merges"
	"leslie/internal/scope"
)

// diffText is a diff in the unified format of git, so that git apply and patch read it.
type diffText struct {
	*merges.DiffResult
	stat bool
}

func (d diffText) Text(p *page.Page) {
	switch {
	case len(d.Files) == 0:
		p.Line("no differences between %s and %s", d.From.String(), d.To.String())
	case d.stat:
		d.statText(p)
	default:
		for _, f := range d.Files {
			FileDiffText(p, f)
		}
	}
}

// FileDiffText is one file of a diff.
func FileDiffText(p *page.Page, f merges.FileDiff) {
	from, to := gitName("a/"+f.Path), gitName("b/"+f.Path)
	p.Content(cli.Bold, "diff --git "+from+" "+to)
	switch {
	case f.Change == merges.ConflictFile:
		p.Content("", conflictNote(f))
		return
	case f.From == nil:
		p.Content(cli.Bold, "new file mode "+GitMode(f.To))
	case f.To == nil:
		p.Content(cli.Bold, "deleted file mode "+GitMode(f.From))
	case f.From.Executable != f.To.Executable:
		p.Content(cli.Bold, "old mode "+GitMode(f.From), "new mode "+GitMode(f.To))
	}
	if f.From == nil {
		from = "/dev/null"
	}
	if f.To == nil {
		to = "/dev/null"
	}
	switch {
	case f.Binary:
		p.Content("", "Binary files "+from+" and "+to+" differ")
	case f.TooLarge:
		p.Content("", "Files "+from+" and "+to+" differ; they are too large to compare line by line")
	}
	if len(f.Hunks) == 0 {
		return
	}
	p.Content(cli.Bold, "--- "+endOfName(from), "+++ "+endOfName(to))
	for _, h := range f.Hunks {
		p.Content(cli.Blue, h.Header())
		for _, line := range h.Lines {
			p.Content(map[byte]string{'-': cli.Red, '+': cli.Green}[line[0]], line)
		}
	}
}

// conflictNote says that a whole file is in conflict, so that nothing differs yet.
func conflictNote(f merges.FileDiff) string {
	return "Conflict about the whole file: " + page.Many(f.Conflicts, "decision") + " missing"
}

// GitMode is a file mode as git writes it.
func GitMode(f *merges.DiffFile) string {
	if f.Executable {
		return "100755"
	}
	return "100644"
}

// gitName is a name as git writes it: quoted if it has quotes, backslashes or control
// characters.
func gitName(name string) string {
	if strings.ContainsAny(name, "\"\\") || strings.IndexFunc(name,
		func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
		return quotedName(name)
	}
	return name
}

// quotedName quotes a name for git, which knows octal escapes only.
func quotedName(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch ch := name[i]; {
		case ch == '"' || ch == '\\':
			b.WriteString(`\` + string(ch))
		case ch < ' ' || ch == 0x7f:
			b.WriteString(`\` + strconv.FormatInt(0o1000+int64(ch), 8)[1:])
		default:
			b.WriteByte(ch)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// endOfName adds the tab that ends a name with spaces for patch.
func endOfName(name string) string {
	if strings.Contains(name, " ") {
		return name + "\t"
	}
	return name
}

// maxBar is how many signs a bar of --stat has.
const maxBar = 40

// statText is how many lines differ in each file.
func (d diffText) statText(p *page.Page) {
	width, most := 0, 1
	for _, f := range d.Files {
		width, most = max(width, len([]rune(page.Escape(f.Path)))), max(most, f.Added+f.Removed)
	}
	for _, f := range d.Files {
		name := page.Escape(f.Path)
		p.Line("%s%s | %s", page.Styled(name), page.Styled(strings.Repeat(" ", width-len([]rune(name)))),
			page.Styled(d.statOf(p, f, most)))
	}
	p.Line("%s changed, %s added, %s removed", page.Many(len(d.Files), "file"), page.Many(d.Added, "line"),
		page.Many(d.Removed, "line"))
}

func (d diffText) statOf(p *page.Page, f merges.FileDiff, most int) string {
	switch {
	case f.Change == merges.ConflictFile:
		return "conflict about the whole file"
	case f.Binary:
		return "binary, " + string(f.Change)
	case f.TooLarge:
		return "too large to compare line by line, " + string(f.Change)
	case f.Change == merges.ModeFile:
		return "mode " + GitMode(f.From) + " -> " + GitMode(f.To)
	}
	bar := func(colour, sign string, n int) string {
		signs := n
		if most > maxBar {
			signs = (n*maxBar + most - 1) / most
		}
		text := strings.Repeat(sign, signs)
		if p.Coloured && text != "" {
			return "\x1b[" + colour + "m" + text + "\x1b[0m"
		}
		return text
	}
	out := strconv.Itoa(f.Added+f.Removed) + " " + bar(cli.Green, "+", f.Added) + bar(cli.Red, "-", f.Removed)
	if f.Change != merges.ModifiedFile {
		out += " (" + string(f.Change) + ")"
	}
	return out
}

// Diff is the command leslie diff.
func Diff() *cli.Command {
	return &cli.Command{
		Name: "diff", Summary: "show what differs between two versions of artifacts",
		Hint: cli.Hint{When: cli.Sharing, Line: "diff ID"},
		Detail: "A version is ID (the thread's current files), ID@CHECKPOINT (by id or name), ID@base (what the " +
			"thread last had in common with its parent), or the id of a pending MERGE (its target as the merge " +
			"would leave it; open conflicts are between markers). A alone is compared as you would expect: a thread " +
			"with what it inherited, a checkpoint or base with the thread's current files, a merge with its target. " +
			"PATHs are files, folders and globs. Exit status 0, with or without differences.",
		Example: "leslie diff thread-a1b2c3d4@base -- plan.md",
		Operands: []cli.Operand{
			{Value: cli.AVersion("A"), Optional: true}, {Value: cli.AVersion("B"), Optional: true},
			{Value: cli.AnyText("PATH").Offering(cli.FileNames), Optional: true, Many: true, Dashed: true},
		},
		Flags: []cli.Flag{cli.Toggle("stat", "show only how many lines differ in each file")},
		Run:   runDiff,
	}
}

func runDiff(c *cli.Call) (cli.Data, error) {
	versions, paths := c.Line.Operands[:c.Line.Named], c.Line.Operands[c.Line.Named:]
	in := merges.DiffRequest{Scope: paths, Stat: c.On("stat")}
	switch {
	case len(versions) > 0:
		in.From = versions[0]
	case c.Who.Thread == "":
		c.Fault("A", "", "the operand A is missing (or give --thread)")
	}
	if len(versions) > 1 {
		in.To = versions[1]
	}
	for _, path := range paths {
		if _, err := scope.Parse([]string{path}); err != nil && !app.LeadsOut(err) {
			c.Fault("PATH", path, "PATH must be a path, folder or glob: "+err.Error())
		}
	}
	return cli.RunUseCase(c, merges.Diff, in, func(d *merges.DiffResult) cli.Data { return diffText{d, in.Stat} })
}
