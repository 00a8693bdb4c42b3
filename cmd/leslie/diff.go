package main

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/scope"
)

// diffText is a diff in the unified format of git, so that git apply and patch read it.
type diffText struct {
	*app.DiffResult
	stat bool
}

func (d diffText) Text(p *page) {
	switch {
	case len(d.Files) == 0:
		p.line("no differences between %s and %s", d.From.String(), d.To.String())
	case d.stat:
		d.statText(p)
	default:
		for _, f := range d.Files {
			fileDiffText(p, f)
		}
	}
}

// fileDiffText is one file of a diff.
func fileDiffText(p *page, f app.FileDiff) {
	from, to := gitName("a/"+f.Path), gitName("b/"+f.Path)
	p.content(bold, "diff --git "+from+" "+to)
	switch {
	case f.Change == app.ConflictFile:
		p.content("", conflictNote(f))
		return
	case f.From == nil:
		p.content(bold, "new file mode "+gitMode(f.To))
	case f.To == nil:
		p.content(bold, "deleted file mode "+gitMode(f.From))
	case f.From.Executable != f.To.Executable:
		p.content(bold, "old mode "+gitMode(f.From), "new mode "+gitMode(f.To))
	}
	if f.From == nil {
		from = "/dev/null"
	}
	if f.To == nil {
		to = "/dev/null"
	}
	switch {
	case f.Binary:
		p.content("", "Binary files "+from+" and "+to+" differ")
	case f.TooLarge:
		p.content("", "Files "+from+" and "+to+" differ; they are too large to compare line by line")
	}
	if len(f.Hunks) == 0 {
		return
	}
	p.content(bold, "--- "+endOfName(from), "+++ "+endOfName(to))
	for _, h := range f.Hunks {
		p.content(blue, h.Header())
		for _, line := range h.Lines {
			p.content(map[byte]string{'-': red, '+': green}[line[0]], line)
		}
	}
}

// conflictNote says that a whole file is in conflict, so that nothing differs yet.
func conflictNote(f app.FileDiff) string {
	return "Conflict about the whole file: " + many(f.Conflicts, "decision") + " missing"
}

func gitMode(f *app.DiffFile) string {
	if f.Executable {
		return "100755"
	}
	return "100644"
}

// gitName is a name as git writes it: quoted if it has quotes, backslashes or control
// characters.
func gitName(name string) string {
	if strings.ContainsAny(name, "\"\\") || strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
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
func (d diffText) statText(p *page) {
	width, most := 0, 1
	for _, f := range d.Files {
		width, most = max(width, len([]rune(escape(f.Path)))), max(most, f.Added+f.Removed)
	}
	for _, f := range d.Files {
		name := escape(f.Path)
		p.line("%s%s | %s", styled(name), styled(strings.Repeat(" ", width-len([]rune(name)))), styled(d.statOf(p, f, most)))
	}
	p.line("%s changed, %s added, %s removed", many(len(d.Files), "file"), many(d.Added, "line"), many(d.Removed, "line"))
}

func (d diffText) statOf(p *page, f app.FileDiff, most int) string {
	switch {
	case f.Change == app.ConflictFile:
		return "conflict about the whole file"
	case f.Binary:
		return "binary, " + string(f.Change)
	case f.TooLarge:
		return "too large to compare line by line, " + string(f.Change)
	case f.Change == app.ModeFile:
		return "mode " + gitMode(f.From) + " -> " + gitMode(f.To)
	}
	bar := func(colour, sign string, n int) string {
		signs := n
		if most > maxBar {
			signs = (n*maxBar + most - 1) / most
		}
		text := strings.Repeat(sign, signs)
		if p.coloured && text != "" {
			return "\x1b[" + colour + "m" + text + "\x1b[0m"
		}
		return text
	}
	out := strconv.Itoa(f.Added+f.Removed) + " " + bar(green, "+", f.Added) + bar(red, "-", f.Removed)
	if f.Change != app.ModifiedFile {
		out += " (" + string(f.Change) + ")"
	}
	return out
}

func diffCommand() *command {
	return &command{
		name: "diff", summary: "show what differs between two versions of artifacts",
		hint: hint{sharing, "diff ID"},
		detail: "A version is ID (the thread's current files), ID@CHECKPOINT (by id or name), ID@base (what the thread last had in common with its parent), " +
			"or the id of a pending MERGE (its target as the merge would leave it; open conflicts are between markers). " +
			"A alone is compared as you would expect: a thread with what it inherited, a checkpoint or base with the thread's current files, a merge with its target. " +
			"PATHs are files, folders and globs. Exit status 0, with or without differences.",
		example: "leslie diff thread-a1b2c3d4@base -- plan.md",
		operands: []operand{
			{value: aVersion("A"), optional: true}, {value: aVersion("B"), optional: true},
			{value: anyText("PATH"), optional: true, many: true, dashed: true},
		},
		flags: []cli.Flag{toggle("stat", "show only how many lines differ in each file")},
		run:   runDiff,
	}
}

func runDiff(c *call) (Data, error) {
	versions, paths := c.line.operands[:c.line.named], c.line.operands[c.line.named:]
	in := app.DiffRequest{Scope: paths, Stat: c.on("stat")}
	switch {
	case len(versions) > 0:
		in.From = versions[0]
	case c.who.thread == "":
		c.fault("A", "", "the operand A is missing (or give --thread)")
	}
	if len(versions) > 1 {
		in.To = versions[1]
	}
	for _, path := range paths {
		if _, err := scope.Parse([]string{path}); err != nil && !leadsOut(err) {
			c.fault("PATH", path, "PATH must be a path, folder or glob: "+err.Error())
		}
	}
	return runUseCase(c, app.Diff, in, func(d *app.DiffResult) Data { return diffText{d, in.Stat} })
}
