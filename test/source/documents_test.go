package source_test

import (
	"bytes"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/warnings"
)

// This file compares documents with the code tables, the packages, the dependencies and
// the files that they link to.

// `go test ./test/source -run Codes -update` (make docs) writes docs/reference/codes.md.
var update = flag.Bool("update", false, "write docs/reference/codes.md anew")

const codesIntro = `# Codes

Every error (T) and every warning (W). The number is the wire name, the kind a stable word for programs. ` + "`leslie explain CODE`" + `
shows the same in a terminal.

Names in braces are filled from an error's ` + "`details`" + ` and a warning's ` + "`context`" + `. Every error also has ` + "`operation`" + `
(the command) and ` + "`changed`" + ` (false if nothing was written). *Recoverable*: the caller can continue without a person.
*Retryable*: the same call may succeed later. *Counted*: several of these in a row suspend an agent's thread (T103); the others are
what a caller has to expect: the end of a wait, a conflict, a failing check, unread messages, a denial (by ` + "`leslie can`" + `, too), a lock.

` + "`make docs` generates this page from `codes/table_rows.go` and `warnings/table.go`" + `; a test compares them.

`

func TestCodesDocumentIsWhatTheTablesSay(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	want.WriteString(codesIntro)
	require.NoError(t, codes.WriteMarkdown(&want))
	want.WriteByte('\n')
	require.NoError(t, warnings.WriteMarkdown(&want))

	name := filepath.Join(root, "docs", "reference", "codes.md")
	if *update {
		require.NoError(t, os.WriteFile(name, want.Bytes(), 0o644))
	}
	got, err := os.ReadFile(name)
	require.NoError(t, err, "run `make docs`")
	assert.Equal(t, want.String(), string(got), "docs/reference/codes.md is out of date: run `make docs`")
}

func TestEveryPackageHasARowInTheArchitecture(t *testing.T) {
	t.Parallel()
	rows := tableRows(section(t, "ARCHITECTURE.md", "## Packages"))
	dirs := map[string]bool{}
	for _, f := range projectTree(t).files {
		dirs[f.dir] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		named := slices.ContainsFunc(rows, func(row string) bool {
			return strings.Contains(row, "`"+dir+"/`") || strings.Contains(row, "`"+dir+"`")
		})
		assert.True(t, named, "ARCHITECTURE.md has no row under \"## Packages\" for `%s/`: say what belongs there", dir)
	}
}

func TestEveryDependencyHasARowInTheArchitecture(t *testing.T) {
	t.Parallel()
	rows := tableRows(section(t, "ARCHITECTURE.md", "## Dependencies"))
	required := requiredModules(t)
	direct := directModules(t, required)
	for _, m := range direct {
		named := slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, "`"+m+"`") })
		assert.True(t, named, "ARCHITECTURE.md has no row under \"## Dependencies\" for `%s`: say what it saves us", m)
	}
	for _, row := range rows {
		if m := firstModule(row); m != "" {
			assert.Contains(t, direct, m, "ARCHITECTURE.md still explains a dependency that no file imports")
		}
	}
}

func TestLeslieIsBuiltWithTheSameTagsEverywhere(t *testing.T) {
	t.Parallel()
	const tags = "urfave_cli_no_docs,urfave_cli_no_suggest"
	for _, name := range []string{"Makefile", "README.md", "test/harness/build.go"} {
		assert.Contains(t, read(t, name), tags, "%s builds leslie with other tags than the others: its start takes longer", name)
	}
	for line := range strings.Lines(read(t, "Makefile")) {
		if regexp.MustCompile(`\$\(GO\) (build|run|test|vet)`).MatchString(line) && !strings.Contains(line, "-tags= ") {
			assert.Contains(t, line, "$(TAGS)", "a line of the Makefile that builds without the tags")
		}
	}
}

func TestLintersStayOutOfTheProductsModule(t *testing.T) {
	t.Parallel()
	gomod := read(t, "go.mod")
	assert.NotContains(t, gomod, "\ntool ", "tools are pinned in tools/go.mod")
	assert.NotContains(t, gomod, "honnef.co/", "linters are pinned in tools/go.mod")
	assert.NotContains(t, gomod, "\nreplace ", "go.mod names the modules that are built")
}

// A line number is wrong after the next change; a name can be searched for.
func TestNoDocumentCitesALineNumber(t *testing.T) {
	t.Parallel()
	cited := regexp.MustCompile(`\.go:[0-9]+|\.go#L[0-9]+`)
	for _, name := range documents(t) {
		assert.Empty(t, cited.FindAllString(read(t, name), -1), "%s cites lines: name the function", name)
	}
}

// A file that a guide or a package's comment names is where it says: without a folder, in the package's own, the one
// above or one below.
func TestFilesOfTheSourceThatAreNamedAreThere(t *testing.T) {
	t.Parallel()
	cited := regexp.MustCompile(`[\w*./-]*[\w*]\.go\b`)
	files := projectTree(t).files
	named := func(in, name string) bool {
		return slices.ContainsFunc(files, func(f *file) bool {
			if strings.Contains(name, "/") || in == "" {
				return strings.HasSuffix("/"+f.path, "/"+name)
			}
			matches, _ := path.Match(name, path.Base(f.path))
			return matches && (f.dir == in || f.dir == path.Dir(in) || strings.HasPrefix(f.dir, in+"/"))
		})
	}
	for _, name := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md"} {
		for _, file := range cited.FindAllString(read(t, name), -1) {
			assert.True(t, strings.Contains(file, "*") || strings.HasSuffix(file, "nats.go") || named("", file), "%s names %s, which is not there", name, file)
		}
	}
	for _, f := range files {
		if path.Base(f.path) != "doc.go" {
			continue
		}
		for line := range strings.Lines(read(t, f.path)) {
			for _, file := range cited.FindAllString(line, -1) {
				assert.True(t, named(f.dir, file), "%s names %s, which is not there", f.path, file)
			}
		}
	}
}

func TestLinksBetweenDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	for _, name := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, name), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := path.Join(path.Dir(name), m[1])
			if m[1] == "" {
				to = name
			}
			_, err := os.Stat(filepath.Join(root, filepath.FromSlash(to)))
			assert.NoError(t, err, "%s links to %s", name, m[1])
			if m[2] != "" && err == nil {
				assert.Contains(t, anchors(read(t, to)), m[2], "%s links to %s%s", name, m[1], m[2])
			}
		}
	}
}

// anchors are the addresses of a document's headings.
func anchors(document string) (out []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(document, -1) {
		plain := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, "#"+strings.ReplaceAll(plain, " ", "-"))
	}
	return out
}

// A page for users has one purpose, and no more words than somebody reads at once; what only those who work on leslie
// need is in docs/internals. Pages that a program writes are looked up, not read.
func TestAPageIsReadAtOnce(t *testing.T) {
	t.Parallel()
	all := 0
	for _, name := range documents(t) {
		if name != "README.md" && !strings.HasPrefix(name, "docs/") || strings.HasPrefix(name, "docs/internals/") ||
			slices.Contains([]string{"docs/reference/codes.md", "docs/reference/commands.md"}, name) {
			continue
		}
		n := len(strings.Fields(read(t, name)))
		assert.LessOrEqual(t, n, 1200, "%s has %d words", name, n)
		all += n
	}
	assert.LessOrEqual(t, all, 20000, "all pages together")
}

// documents returns every Markdown file of the project.
func documents(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return enter(name)
		case strings.HasSuffix(name, ".md"):
			rel, err := relative(name)
			if err != nil {
				return err
			}
			out = append(out, rel)
		}
		return nil
	})
	require.NoError(t, err)
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// section returns a document's text under a heading of the second level.
func section(t *testing.T, name, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut("\n"+read(t, name), "\n"+heading+"\n")
	require.True(t, ok, "%s has the heading %q", name, heading)
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// tableRows returns the lines of a text that are rows of a table.
func tableRows(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "|") {
			out = append(out, line)
		}
	}
	return out
}

// firstModule returns the first `host/path` of a row, or "".
func firstModule(row string) string {
	m := regexp.MustCompile("`([a-z0-9-]+\\.[a-z0-9.-]+/[^`]+)`").FindStringSubmatch(row)
	if m == nil {
		return ""
	}
	return m[1]
}

// requiredModules returns every module that go.mod requires.
func requiredModules(t *testing.T) []string {
	t.Helper()
	var out []string
	required := regexp.MustCompile(`^(?:require )?\s*(\S+\.\S+/\S+) v\S+`)
	for line := range strings.Lines(read(t, "go.mod")) {
		if m := required.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			out = append(out, m[1])
		}
	}
	require.NotEmpty(t, out)
	return out
}

// directModules returns the required modules that a file of the project imports; it does
// not trust go.mod's comments.
func directModules(t *testing.T, required []string) []string {
	t.Helper()
	direct := map[string]bool{}
	for _, f := range projectTree(t).files {
		for p := range f.imports() {
			for _, m := range required {
				if within(p, m) {
					direct[m] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(direct))
}
