package mergecmd

import (
	"fmt"
	"strconv"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merges"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/thread"
)

// diffText is a diff in the unified format of git, so that git apply and patch read it.
type diffText struct {
	*merges.DiffResult
	stat bool
}

func (d diffText) Text(p *page.Page) {
	if d.Pending != "" {
		p.Line("its landing waits; what that would bring: leslie diff %s", string(d.Pending))
	}
	if d.Code != nil {
		d.codeText(p)
	}
	if d.Files == nil { // they were not compared
		return
	}
	switch {
	case d.Code != nil && len(d.Files) == 0:
		p.Line("\nartifacts: no changes")
	case len(d.Files) == 0:
		p.Line("no artifacts differ between %s and %s", d.From.String(), d.To.String())
	case d.Code != nil:
		p.Line("\nartifacts: %s", page.SizeText(len(d.Files), d.Added, d.Removed))
	}
	if d.BothCode {
		p.Line("their code is not compared: leslie code --pairs says where it conflicts, leslie diff ID what each changed")
	}
	if d.stat {
		statText(p, artifactStats(d.Files))
		return
	}
	for _, f := range d.Files {
		FileDiffText(p, f)
	}
}

// codeText is what a thread changed in its code: a line for each part, then its files as git
// writes them.
func (d diffText) codeText(p *page.Page) {
	for i, part := range d.Code.Parts {
		gap := ""
		if i > 0 {
			gap = "\n"
		}
		p.Line(gap+"%s: %s", partName(d.Code, part), page.SizeText(len(part.Files), part.Added, part.Removed))
		for i, subject := range part.Subjects {
			p.Line("  commit: %s %s", part.Ids[i][:12], subject)
		}
		if more := part.Commits - len(part.Subjects); more > 0 && len(part.Subjects) > 0 {
			p.Line("  and %s before these", fact.Plural(more, "commit"))
		}
		for _, f := range part.Files {
			if f.Conflicts > 0 {
				p.Line("  conflict: %s, %s missing", f.Path, fact.Plural(f.Conflicts, "decision"))
			}
		}
		if d.stat {
			statText(p, codeStats(part.Files))
			continue
		}
		for _, f := range part.Files {
			if f.Change != code.ConflictFile {
				patchText(p, f.Patch)
			}
		}
	}
	switch {
	case len(d.Code.Parts) > 0:
	case len(d.NotHere) > 0:
		p.Line("the code on %s has no changes here: what %s has of it is not here", d.Code.Branch, app.Joined(d.NotHere))
	default:
		p.Line("the code on %s has no changes", d.Code.Branch)
	}
	if d.Code.Kept != "" {
		p.Line("\n%s keeps them (leslie history %s names the operation that removed it: leslie undo OP)", d.Code.Kept, d.To.ThreadID)
	}
}

// partName says where a part of a thread's code is.
func partName(c *code.Changes, part code.Part) string {
	switch part.Kind {
	case code.LandedPart:
		return "code that landed in " + part.Into + " with " + (*part.To)[:12]
	case code.MergePart:
		return "code that the merge brings to " + part.Into
	case code.AstrayPart:
		return "code committed in " + c.Worktree + " that " + c.Branch + " lacks, " + fact.Plural(part.Commits, "commit")
	case code.PushedPart:
		return "code on " + part.Upstream + " that " + c.Branch + " lacks, and that a landing brings, too, " +
			fact.Plural(part.Commits, "commit")
	case code.UncommittedPart:
		return "code not committed in " + c.Worktree
	}
	since := part.From[:12]
	if c.Target != nil {
		since = *c.Target
	}
	name := "code committed on " + c.Branch + " since " + since
	if c.BranchGone {
		name = "code that was committed on " + c.Branch + ", which is gone, since " + since
	}
	if part.Commits > 0 { // none, if the target took back what it had
		name += ", " + fact.Plural(part.Commits, "commit")
	}
	return name
}

// patchText writes a file's part of git's output.
func patchText(p *page.Page, patch string) {
	inHunk := false
	for line := range strings.SplitSeq(strings.TrimSuffix(patch, "\n"), "\n") {
		colour := cli.Bold
		switch {
		case strings.HasPrefix(line, "diff --git "):
			inHunk = false
		case strings.HasPrefix(line, "@@"):
			inHunk, colour = true, cli.Blue
		case inHunk && line != "":
			colour = map[byte]string{'-': cli.Red, '+': cli.Green}[line[0]]
		}
		p.Content(colour, line)
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
	return "Conflict about the whole file: " + fact.Plural(f.Conflicts, "decision") + " missing"
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

// CountsAt says in a few words how much differs at a path of a merge's plan.
func CountsAt(d *merges.DiffResult, path string) string {
	for _, f := range d.Files {
		if f.Path == path {
			return countsOf(f)
		}
	}
	if d.Code == nil {
		return ""
	}
	for _, part := range d.Code.Parts {
		for _, f := range part.Files {
			switch {
			case thread.CodePrefix+f.Path != path:
			case f.Binary:
				return "binary"
			case f.Change != code.ConflictFile:
				return fmt.Sprintf("+%d -%d", f.Added, f.Removed)
			}
		}
	}
	return ""
}

// countsOf says in a few words how much of a file differs.
func countsOf(f merges.FileDiff) string {
	switch {
	case f.Binary:
		return "binary"
	case f.TooLarge:
		return "too large to compare line by line"
	case f.Change == merges.ModeFile:
		return "mode " + GitMode(f.From) + " -> " + GitMode(f.To)
	case f.Change == merges.ConflictFile:
		return ""
	}
	return fmt.Sprintf("+%d -%d", f.Added, f.Removed)
}

// maxBar is how many signs a bar of --stat has.
const maxBar = 40

// fileStat is a file in --stat.
type fileStat struct {
	name           string
	added, removed int
	note           string // what there is to say of a file without lines, or beside them
	lines          bool
}

func artifactStats(files []merges.FileDiff) (all []fileStat) {
	for _, f := range files {
		s := fileStat{name: f.Path, added: f.Added, removed: f.Removed}
		switch {
		case f.Change == merges.ConflictFile:
			s.note = "conflict about the whole file"
		case f.Binary:
			s.note = "binary, " + string(f.Change)
		case f.TooLarge:
			s.note = "too large to compare line by line, " + string(f.Change)
		case f.Change == merges.ModeFile:
			s.note = "mode " + GitMode(f.From) + " -> " + GitMode(f.To)
		default:
			s.lines = true
			if f.Change != merges.ModifiedFile {
				s.note = " (" + string(f.Change) + ")"
			}
		}
		all = append(all, s)
	}
	return all
}

func codeStats(files []code.File) (all []fileStat) {
	for _, f := range files {
		s := fileStat{name: f.Path, added: f.Added, removed: f.Removed, lines: !f.Binary}
		switch {
		case f.Change == code.ConflictFile:
			s.note, s.lines = "conflict about the whole file", false
		case f.Binary:
			s.note = "binary, " + string(f.Change)
		case f.Was != "":
			s.note = " (renamed from " + f.Was + ")"
		case f.Change != code.ModifiedFile:
			s.note = " (" + string(f.Change) + ")"
		}
		all = append(all, s)
	}
	return all
}

// statText is how many lines differ in each file, nothing for none.
func statText(p *page.Page, files []fileStat) {
	if len(files) == 0 {
		return
	}
	width, most, added, removed := 0, 1, 0, 0
	for _, f := range files {
		width, most = max(width, len([]rune(page.Escape(f.name)))), max(most, f.added+f.removed)
		added, removed = added+f.added, removed+f.removed
	}
	for _, f := range files {
		name := page.Escape(f.name)
		p.Line("%s%s | %s", page.Styled(name), page.Styled(strings.Repeat(" ", width-len([]rune(name)))),
			page.Styled(f.text(p, most)))
	}
	p.Line("%s changed, %s added, %s removed", fact.Plural(len(files), "file"), fact.Plural(added, "line"),
		fact.Plural(removed, "line"))
}

func (f fileStat) text(p *page.Page, most int) string {
	note := page.Escape(f.note)
	if !f.lines {
		return note
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
	return strconv.Itoa(f.added+f.removed) + " " + bar(cli.Green, "+", f.added) + bar(cli.Red, "-", f.removed) + note
}

// Diff is the command leslie diff.
func Diff() *cli.Command {
	return &cli.Command{
		Name: "diff", Summary: "show what a thread changed: its code, then its artifacts",
		Detail: "A thread alone: its code as git diff TARGET...BRANCH shows it, what is not committed, what has " +
			"landed; then its artifacts, compared with what it inherited. " +
			"Without A: that of the worktree you are in. A pending MERGE: what it would change, its open conflicts between markers. " +
			"Other versions are of artifacts: ID@CHECKPOINT (by id or name) and ID@base (what the " +
			"thread last had in common with its parent), compared with the thread's current files; or any A with any B. " +
			"PATHs are files, folders and globs of artifacts, else of the code (always with code: or --code). Exit status 0, with or without differences.",
		Example: "leslie diff write-docs -- code:cmd/main.go",
		Operands: []cli.Operand{
			{Value: cli.ThreadVersion("A"), Optional: true}, {Value: cli.ThreadVersion("B"), Optional: true},
			{Value: cli.Text("PATH").Offering(cli.FileNames), Optional: true, Many: true, Dashed: true},
		},
		Flags: []cli.Flag{
			cli.Toggle("stat", "show only how many lines differ in each file"),
			cli.Toggle("code", "show only the code"), cli.Toggle("artifacts", "show only the artifacts"),
		},
		Run: runDiff,
	}
}

func runDiff(c *cli.Call) (cli.Data, error) {
	versions, paths := c.Line.Operands[:c.Line.Named], c.Line.Operands[c.Line.Named:]
	in := merges.DiffRequest{Scope: paths, Stat: c.On("stat")}
	switch {
	case c.On("code") && c.On("artifacts"):
		c.Fault("--code", "", "--code cannot be used with --artifacts")
	case c.On("code"):
		in.Only = merges.OnlyCode
	case c.On("artifacts"):
		in.Only = merges.OnlyArtifacts
	}
	switch {
	case len(versions) > 0:
		in.From = versions[0]
	default:
		in.From = c.OwnThread("A")
	}
	if len(versions) > 1 {
		in.To = versions[1]
	}
	for _, path := range paths {
		if _, err := scope.Parse([]string{strings.TrimPrefix(path, thread.CodePrefix)}); err != nil && !app.IsUnsafePath(err) {
			c.Fault("PATH", path, "PATH must be a path, folder or glob: "+err.Error())
		}
	}
	return cli.RunUseCase(c, merges.Diff, in, func(d *merges.DiffResult) cli.Data { return diffText{d, in.Stat} })
}
