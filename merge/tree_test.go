package merge_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

// files is a tree by path; a content that starts with "+x " is executable.
type files map[string]string

func (f files) tree() merge.Tree {
	t := merge.Tree{Files: map[string]merge.File{}, Others: map[string]bool{}}
	for path, text := range f {
		if path, special := strings.CutSuffix(path, "@"); special {
			t.Others[path] = true
			continue
		}
		t.Files[path] = fileOf(text)
	}
	return t
}

func fileOf(text string) merge.File {
	text, executable := strings.CutPrefix(text, "+x ")
	sum := sha256.Sum256([]byte(text))
	return merge.File{Hash: hex.EncodeToString(sum[:]), Size: int64(len(text)), Executable: executable}
}

// from is a source thread with its files and their bases.
type from struct {
	id          string
	base, files files
}

// input returns a merge into the thread main.
func input(target files, sources ...from) merge.Input {
	shelf := map[string]string{}
	keep := func(f files) {
		for _, text := range f {
			text, _ = strings.CutPrefix(text, "+x ")
			shelf[fileOf(text).Hash] = text
		}
	}
	keep(target)
	in := merge.Input{Target: "main", Tree: target.tree(), Decisions: map[string]merge.Decision{}, Mergers: []merge.Merger{merge.List},
		Read: func(hash string) ([]byte, error) {
			text, ok := shelf[hash]
			if !ok {
				return nil, fmt.Errorf("no content %q", hash)
			}
			return []byte(text), nil
		}}
	for _, s := range sources {
		keep(s.base)
		keep(s.files)
		in.Sources = append(in.Sources, merge.Source{ID: s.id, Title: "Title of " + s.id, Tree: s.files.tree(), Base: func(path string) merge.Base {
			text, ok := s.base[path]
			if !ok {
				return merge.Base{}
			}
			return merge.Base{File: fileOf(text), From: "spawn of " + s.id}
		}})
	}
	return in
}

func planOf(t *testing.T, in merge.Input) *merge.Plan {
	t.Helper()
	p, err := merge.Make(in)
	require.NoError(t, err)
	return p
}

// after returns the target after the plan; paths with open conflicts are unchanged.
func after(t *testing.T, in merge.Input, p *merge.Plan) files {
	t.Helper()
	out := files{}
	show := func(f merge.File, content []byte) string {
		if content == nil {
			var err error
			content, err = in.Read(f.Hash)
			require.NoError(t, err)
		}
		plain := fileOf(string(content))
		require.Equal(t, plain.Hash, f.Hash, "the file's hash is not that of its content")
		require.Equal(t, plain.Size, f.Size)
		if f.Executable {
			return "+x " + string(content)
		}
		return string(content)
	}
	for path, f := range in.Tree.Files {
		out[path] = show(f, nil)
	}
	for _, c := range p.Files {
		require.Equal(t, in.Tree.Files[c.Path], c.Before)
		if c.Open > 0 {
			continue
		}
		delete(out, c.Path)
		if c.After.There() {
			out[c.Path] = show(c.After, c.Content)
		}
	}
	return out
}

// summary describes the conflicts of a plan briefly.
func summary(p *merge.Plan) []string {
	out := []string{}
	for _, d := range p.Conflicts {
		out = append(out, fmt.Sprintf("%s %s %d/%d %s", d.Path, d.Kind, d.Hunk, d.Of, d.Status))
	}
	return out
}

func idsOf(p *merge.Plan) []string {
	var out []string
	for _, d := range p.Conflicts {
		out = append(out, d.ID)
	}
	return out
}

// one returns a tree with the file f.md, or an empty tree for "-".
func one(text string) files {
	if text == "-" {
		return files{}
	}
	return files{"f.md": text}
}

func TestPathRules(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 8<<20)
	many := strings.Repeat("\n", 200_000)
	for name, c := range map[string]struct {
		base, ours, theirs string
		want               string
		how                merge.How
		conflict           string
	}{
		"nothing changed":                   {"a\n", "a\n", "a\n", "a\n", "", ""},
		"T = B keeps O":                     {"a\n", "o\n", "a\n", "o\n", "", ""},
		"T = B keeps a deletion by O":       {"a\n", "-", "a\n", "-", "", ""},
		"O = T keeps O":                     {"a\n", "x\n", "x\n", "x\n", "", ""},
		"O = B takes T":                     {"a\n", "a\n", "t\n", "t\n", merge.Taken, ""},
		"O = B takes a binary T":            {"a\n", "a\n", "\x00", "\x00", merge.Taken, ""},
		"O = B takes a large T":             {"a\n", "a\n", big + "x", big + "x", merge.Taken, ""},
		"O = B takes a deletion":            {"a\n", "a\n", "-", "-", merge.Deleted, ""},
		"an added path is taken":            {"-", "-", "t\n", "t\n", merge.Taken, ""},
		"an added executable is taken":      {"-", "-", "+x t\n", "+x t\n", merge.Taken, ""},
		"an empty added path is taken":      {"-", "-", "", "", merge.Taken, ""},
		"both deleted":                      {"a\n", "-", "-", "-", "", ""},
		"both added alike":                  {"-", "x\n", "x\n", "x\n", "", ""},
		"changes apart merge":               {"a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", merge.Merged, ""},
		"changes in one line":               {"a\n", "o\n", "t\n", "o\n", merge.Waiting, "content"},
		"both added differently":            {"-", "o\n", "t\n", "o\n", merge.Waiting, "add/add"},
		"changed here, deleted there":       {"a\n", "o\n", "-", "o\n", merge.Waiting, "modify/delete"},
		"deleted here, changed there":       {"a\n", "-", "t\n", "-", merge.Waiting, "modify/delete"},
		"deleted here, executable there":    {"a\n", "-", "+x a\n", "-", merge.Waiting, "modify/delete"},
		"executable here, deleted there":    {"a\n", "+x a\n", "-", "+x a\n", merge.Waiting, "modify/delete"},
		"the executable bit alone":          {"a\n", "a\n", "+x a\n", "+x a\n", merge.ModeOnly, ""},
		"the executable bit taken away":     {"+x a\n", "+x a\n", "a\n", "a\n", merge.ModeOnly, ""},
		"bit here, content there":           {"a\n", "+x a\n", "t\n", "+x t\n", merge.Taken, ""},
		"content here, bit there":           {"a\n", "o\n", "+x a\n", "+x o\n", merge.ModeOnly, ""},
		"content alike, bit there":          {"a\n", "x\n", "+x x\n", "+x x\n", merge.ModeOnly, ""},
		"both set the bit, content there":   {"a\n", "+x a\n", "+x t\n", "+x t\n", merge.Taken, ""},
		"the bit goes with a line merge":    {"a\nb\nc\n", "A\nb\nc\n", "+x a\nb\nC\n", "+x A\nb\nC\n", merge.Merged, ""},
		"added alike but for the bit":       {"-", "x\n", "+x x\n", "x\n", merge.Waiting, "mode"},
		"binary on our side":                {"a\n", "\x00", "t\n", "\x00", merge.Waiting, "binary"},
		"binary on theirs":                  {"a\n", "o\n", "t\xff", "o\n", merge.Waiting, "binary"},
		"binary base":                       {"\x00", "o\n", "t\n", "o\n", merge.Waiting, "binary"},
		"8 MiB are merged":                  {"a\n", "a\nb\n", big, "a\nb\n", merge.Waiting, "content"},
		"more than 8 MiB":                   {"a\n", "o\n", big + "x", "o\n", merge.Waiting, "too_large"},
		"200,000 lines are merged":          {"a\n", "a\nb\n", many, "a\nb\n", merge.Waiting, "content"},
		"more than 200,000 lines":           {"a\n", "o\n", many + "x", "o\n", merge.Waiting, "too_large"},
		"lists settle what lines cannot":    {"- a\n", "- a\n- o\n", "- a\n- t\n", "- a\n- o\n- t\n", merge.ByList, ""},
		"CRLF and no final newline survive": {"a\r\nb\r\nc", "A\r\nb\r\nc", "a\r\nb\r\nC", "A\r\nb\r\nC", merge.Merged, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(one(c.ours), from{"t", one(c.base), one(c.theirs)})
			p := planOf(t, in)
			assert.True(t, maps.Equal(one(c.want), after(t, in, p)), "the target does not look as it should")
			if c.how == "" {
				assert.Empty(t, p.Files)
				assert.Empty(t, p.Conflicts)
				return
			}
			require.Len(t, p.Files, 1)
			assert.Equal(t, c.how, p.Files[0].How)
			assert.Equal(t, c.how == merge.Deleted, p.Files[0].Deletes())
			if c.conflict == "" {
				assert.Zero(t, p.Open())
				return
			}
			require.Len(t, p.Conflicts, 1)
			assert.Equal(t, merge.ConflictKind(c.conflict), p.Conflicts[0].Kind)
			assert.Equal(t, 1, p.Open())
			assert.Equal(t, 1, p.Files[0].Open)
		})
	}
}

func TestConflictsDescribeTheirSides(t *testing.T) {
	t.Parallel()
	in := input(files{"f.txt": "1\n2\n3\n4\nO\n6\n"}, from{"a", files{"f.txt": "1\n2\n3\n4\n5\n6\n"}, files{"f.txt": "1\n2\n3\n4\nT\n6\n"}})
	p := planOf(t, in)
	require.Len(t, p.Conflicts, 1)
	d := p.Conflicts[0]
	at := merge.Range{First: 5, Last: 5}
	assert.Equal(t, []merge.ConflictSide{{Role: "ours", Thread: "main", Lines: at, Text: "O\n"},
		{Role: "theirs", Thread: "a", Title: "Title of a", Lines: at, Text: "T\n"}}, d.Sides)
	assert.Equal(t, "spawn of a", d.Base.From)
	assert.Equal(t, "5\n", d.Base.Text)
	assert.Equal(t, merge.ConflictContext{Before: "2\n3\n4\n", After: "6\n"}, d.Context)
	assert.False(t, d.Whole())
	assert.NotNil(t, p.Files[0].Merge)

	in = input(files{"f.txt": "o\n"}, from{"a", files{"f.txt": "b\n"}, files{}})
	d = planOf(t, in).Conflicts[0]
	assert.True(t, d.Whole())
	assert.True(t, d.Sides[1].Absent)
	assert.Equal(t, "o\n", d.Sides[0].Text)
	assert.Equal(t, "b\n", d.Base.Text)
}

func TestListAnswersAreReported(t *testing.T) {
	t.Parallel()
	in := input(one("- [x] a\n- b\n"), from{"t", one("- [ ] a\n- b\n"), one("- [ ] a\n- b\n- c\n")},
		from{"u", one("- [ ] a\n- b\n"), one("- [ ] a\n- b\n- d\n")})
	p := planOf(t, in)
	require.NotEmpty(t, p.Conflicts)
	for _, d := range p.Conflicts {
		assert.Equal(t, merge.Resolved, d.Status)
		assert.Equal(t, "list", d.How)
	}
	assert.Equal(t, merge.ByList, p.Files[0].How)
	assert.Equal(t, one("- [x] a\n- b\n- c\n- d\n"), after(t, in, p))

	in.Decisions[p.Conflicts[0].ID] = merge.Decision{Take: merge.TakeBase, How: "user"}
	p = planOf(t, in)
	assert.Equal(t, merge.Decided, p.Files[0].How, "a decision stands above the list merger")
	assert.Equal(t, "user", p.Conflicts[0].How)
	in.Mergers = nil
	assert.NotContains(t, fmt.Sprint(planOf(t, in).Conflicts), "list")
}

func TestLaterSourcesJoinAnOpenConflict(t *testing.T) {
	t.Parallel()
	base := one("a\nb\nc\n")
	in := input(base, from{"one", base, one("a\nX\nc\n")}, from{"two", base, one("a\nY\nc\n")}, from{"three", base, one("a\nb\nz\nc\n")})
	p := planOf(t, in)
	require.Len(t, p.Conflicts, 1)
	var threads []string
	for _, s := range p.Conflicts[0].Sides {
		threads = append(threads, s.Thread)
	}
	assert.Equal(t, []string{"main", "one", "two", "three"}, threads, "an addition right below touches it")
	assert.Equal(t, threads, p.Files[0].Sides)
}

func TestSourcesOfDifferentBasesAreMergedInTurn(t *testing.T) {
	t.Parallel()
	in := input(one("a\nb\nc\nd\ne\n"), from{"old", one("a\nb\nc\n"), one("A\nb\nc\n")}, from{"new", one("a\nb\nc\nd\n"), one("a\nb\nC\nd\n")})
	p := planOf(t, in)
	assert.Empty(t, p.Conflicts)
	assert.Equal(t, one("A\nb\nC\nd\ne\n"), after(t, in, p))
	assert.Equal(t, merge.Merged, p.Files[0].How)

	clash := input(one("a\nb\nc\nd\ne\n"), from{"old", one("a\nb\nc\n"), one("X\nb\nc\n")}, from{"new", one("a\nb\nc\nd\n"), one("Y\nb\nc\nd\n")})
	p = planOf(t, clash)
	assert.Equal(t, []string{"f.md content 1/1 unresolved"}, summary(p))
	assert.True(t, p.Conflicts[0].Whole())
	assert.Nil(t, p.Files[0].Merge)
	id := p.Conflicts[0].ID
	slices.Reverse(clash.Sources)
	assert.Equal(t, []string{id}, idsOf(planOf(t, clash)), "the order of sources shows in the id")

	clash = input(one("a\nb\nc\nd\ne\n"), from{"old", one("a\nb\n"), one("X\nb\nc\n")}, from{"new", one("a\nb\nc\nd\n"), one("Y\nb\nc\nd\n")})
	assert.NotEqual(t, []string{id}, idsOf(planOf(t, clash)), "another base is another conflict")

	lists := input(one("- a\n- b\n- c\n"), from{"old", one("- a\n"), one("- a\n- x\n")}, from{"new", one("- a\n- b\n"), one("- a\n- b\n- y\n")})
	p = planOf(t, lists)
	assert.Equal(t, merge.ByList, p.Files[0].How)
	for _, item := range []string{"- a\n", "- b\n", "- c\n", "- x\n", "- y\n"} {
		assert.Equal(t, 1, strings.Count(after(t, lists, p)["f.md"], item), item)
	}
}

func TestSourcesThatContinueFromEachOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ours string
		a, b [2]string // base and file
		want string
	}{
		"b went on from a":               {"o\n", [2]string{"o\n", "1\n"}, [2]string{"1\n", "2\n"}, "2\n"},
		"both lead to one version":       {"o\n", [2]string{"o\n", "2\n"}, [2]string{"1\n", "2\n"}, "2\n"},
		"both deleted, one knew ours":    {"o\n", [2]string{"o\n", "-"}, [2]string{"1\n", "-"}, "-"},
		"b went on from what a deleted":  {"o\n", [2]string{"o\n", "-"}, [2]string{"-", "2\n"}, "2\n"},
		"only a changed, b sets the bit": {"o\n", [2]string{"o\n", "1\n"}, [2]string{"o\n", "+x o\n"}, "+x 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := from{"a", one(c.a[0]), one(c.a[1])}, from{"b", one(c.b[0]), one(c.b[1])}
			for _, in := range []merge.Input{input(one(c.ours), a, b), input(one(c.ours), b, a)} {
				p := planOf(t, in)
				assert.Empty(t, p.Conflicts)
				assert.Equal(t, one(c.want), after(t, in, p))
			}
		})
	}
}

func TestSeveralSourcesAndDeletions(t *testing.T) {
	t.Parallel()
	b := one("b\n")
	for name, c := range map[string]struct {
		ours    string
		sources []string
		want    []string
	}{
		"one deleted, one changed":         {"b\n", []string{"-", "x\n"}, []string{"f.md modify/delete 1/1 unresolved"}},
		"one deleted, one left it":         {"b\n", []string{"-", "b\n"}, []string{}},
		"one deleted, one set the bit":     {"b\n", []string{"-", "+x b\n"}, []string{"f.md modify/delete 1/1 unresolved"}},
		"one set the bit, one deleted":     {"b\n", []string{"+x b\n", "-"}, []string{"f.md modify/delete 1/1 unresolved"}},
		"deleted here and by one":          {"-", []string{"-", "b\n"}, []string{}},
		"all deleted":                      {"b\n", []string{"-", "-"}, []string{}},
		"the target deleted, two changed":  {"-", []string{"x\n", "y\n"}, []string{"f.md modify/delete 1/1 unresolved"}},
		"the target changed, both deleted": {"o\n", []string{"-", "-"}, []string{"f.md modify/delete 1/1 unresolved"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(one(c.ours), from{"a", b, one(c.sources[0])}, from{"b", b, one(c.sources[1])})
			p := planOf(t, in)
			assert.Equal(t, c.want, summary(p))
			if c.ours == "-" && len(c.want) == 0 {
				assert.Empty(t, p.Files, "what is gone is not deleted again")
			}
		})
	}
	in := input(files{}, from{"a", nil, one("x\n")}, from{"b", nil, one("y\n")})
	assert.Equal(t, []string{"f.md add/add 1/1 unresolved"}, summary(planOf(t, in)))
	in = input(files{}, from{"a", nil, one("x\n")}, from{"b", nil, one("+x x\n")})
	assert.Equal(t, []string{"f.md mode 1/1 unresolved"}, summary(planOf(t, in)))
}

func TestPathsThatAreNotMerged(t *testing.T) {
	t.Parallel()
	base := files{"d/f.md": "b\n", "l.md": "b\n", "p/q/r.md": "b\n"}
	source := files{".meta/x": "1", "context/inherited/y": "2", "d@": "", "l.md@": "", "p/q@": "", "contexts.md": "3"}
	in := input(base, from{"a", base, source})
	in.Sources = append(in.Sources, merge.Source{ID: "b", Tree: files{"new.md": "4"}.tree()})
	shelf := in.Read
	in.Read = func(hash string) ([]byte, error) {
		if hash == fileOf("4").Hash {
			return []byte("4"), nil
		}
		return shelf(hash)
	}
	p := planOf(t, in)
	want := maps.Clone(base)
	want["contexts.md"], want["new.md"] = "3", "4"
	assert.Equal(t, want, after(t, in, p), "what stands behind a link counts as unchanged")
}

func TestReadIsCalledOnlyForMergedOrShownFiles(t *testing.T) {
	t.Parallel()
	base := files{"taken": "b", "bit": "b", "gone": "b", "binary": "b"}
	in := input(files{"taken": "b", "bit": "b", "gone": "b", "binary": "\x00"}, from{"a", base, files{"taken": "t", "bit": "+x b", "new": "n", "binary": "\x00\x00"}})
	read := in.Read
	asked := map[string]int{}
	in.Read = func(hash string) ([]byte, error) { asked[hash]++; return read(hash) }
	planOf(t, in)
	assert.LessOrEqual(t, len(asked), 3, "only the versions of the binary file")
	for hash, n := range asked {
		assert.Equal(t, 1, n, "%s was read again", hash)
	}
	failed := errors.New("the disk failed")
	in.Read = func(string) ([]byte, error) { return nil, failed }
	_, err := merge.Make(in)
	require.ErrorIs(t, err, failed)
	_, err = merge.Make(input(one("o"), from{"a", one("b"), files{}}))
	require.NoError(t, err)
	broken := input(one("o"), from{"a", one("b"), files{}})
	broken.Read = in.Read
	_, err = merge.Make(broken)
	require.ErrorIs(t, err, failed, "a deletion is shown beside the text")
}

func TestPlansAreOrdered(t *testing.T) {
	t.Parallel()
	in := input(files{"b": "b\n", "d/e": "x"}, from{"a", files{"b": "c\n"}, files{"b": "x\n", "a": "1", "z": "2", "d": "3", "d-": "4"}})
	p := planOf(t, in)
	var paths []string
	for _, c := range p.Files {
		paths = append(paths, c.Path)
	}
	assert.Equal(t, []string{"a", "b", "d", "d-", "z"}, paths)
	assert.Equal(t, []string{"b content 1/1 unresolved", "d path 1/1 unresolved"}, summary(p))
}

func TestEqualConflictsHaveTheirOwnIDs(t *testing.T) {
	t.Parallel()
	in := input(one("O\nk\nO\n"), from{"a", one("b\nk\nb\n"), one("T\nk\nT\n")})
	in.Mergers = nil
	p := planOf(t, in)
	require.Len(t, p.Conflicts, 2)
	assert.NotEqual(t, p.Conflicts[0].ID, p.Conflicts[1].ID)
	in.Decisions[p.Conflicts[1].ID] = merge.Decision{Take: merge.TakeTheirs, How: "user"}
	p = planOf(t, in)
	assert.Equal(t, []string{"f.md content 1/2 unresolved", "f.md content 2/2 resolved"}, summary(p))
}

func TestIDsIdentifyPathKindBaseAndSides(t *testing.T) {
	t.Parallel()
	id := func(path, base, ours, theirs string) string {
		p := planOf(t, input(files{path: ours}, from{"a", files{path: base}, files{path: theirs}}))
		require.Len(t, p.Conflicts, 1)
		return p.Conflicts[0].ID
	}
	first := id("f", "b\n", "o\n", "t\n")
	assert.Equal(t, first, id("f", "b\n", "t\n", "o\n"), "swapped sides")
	assert.Equal(t, first, id("f", "k\n\nb\n", "k\n\no\n", "k\n\nt\n"), "the rest of the file")
	for name, other := range map[string]string{
		"path": id("g", "b\n", "o\n", "t\n"), "base": id("f", "c\n", "o\n", "t\n"),
		"side": id("f", "b\n", "o\n", "u\n"),
	} {
		assert.NotEqual(t, first, other, "another %s", name)
	}
	added := input(one("o\n"), from{"a", files{}, one("t\n")})
	assert.NotEqual(t, id("f.md", "", "o\n", "t\n"), planOf(t, added).Conflicts[0].ID, "another kind")
	assert.NotEqual(t, id("f", "b\n", "\x00o", "t\n"), id("f", "b\n", "\x00o", "+x t\n"), "another executable bit")
}
