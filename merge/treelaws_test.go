package merge_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

// randomInput returns the files of a target and of sources, with one base for all or
// with their own bases.
func randomInput(seed, n uint64, oneBase bool) (target files, sources []from) {
	g := newGen(seed, n)
	base, still := g.files(), g.pick("50", "85", "92")
	target = g.changed(base, still)
	for i := range 3 {
		was := base
		if !oneBase && g.chance(60) {
			was = g.changed(base, still)
		}
		sources = append(sources, from{[]string{"one", "two", "three"}[i], was, g.changed(was, still)})
	}
	return target, sources
}

func treePaths() []string {
	return []string{"plan.md", "Plan.md", "d", "d/x.md", "d/e/y.txt", "D/x.md", "s.json", "progress.md", "l"}
}

func (g gen) files() files {
	out := files{}
	for _, path := range treePaths() {
		if g.chance(45) {
			out[path] = g.content()
		}
	}
	return out
}

func (g gen) content() string {
	if g.chance(6) {
		return g.pick("\x00", "\xff", "", "\x00"+g.words(1, 2))
	}
	if g.chance(12) {
		return g.pick("alike\n", "+x alike\n")
	}
	text := ""
	for range g.between(0, 9) {
		text += g.line()
	}
	if g.chance(20) {
		text = strings.TrimSuffix(text, "\n")
	}
	return g.pick("", "", "", "+x ") + text
}

func (g gen) line() string {
	return g.pick("- [ ] ", "- ", "", "") + g.words(1, 2) + g.pick("\n", "\n", "\n", "\r\n")
}

// changed returns edited files, of which the given percentage stays unchanged.
func (g gen) changed(was files, still string) files {
	out := maps.Clone(was)
	percent, _ := strconv.Atoi(still)
	for _, path := range treePaths() {
		text, there := was[path]
		switch {
		case g.chance(percent):
		case !there && g.chance(30), there && g.chance(12):
			out[path] = g.content()
		case there && g.chance(12):
			delete(out, path)
		case there && g.chance(8):
			delete(out, path)
			out[path+"@"] = ""
		case there:
			out[path] = g.changedText(text)
		}
	}
	return out
}

func (g gen) changedText(text string) string {
	if g.chance(8) {
		if plain, executable := strings.CutPrefix(text, "+x "); executable {
			return plain
		}
		return "+x " + text
	}
	lines := slices.Collect(strings.Lines(text))
	for range g.between(1, 2) {
		at := g.between(0, len(lines))
		switch {
		case g.chance(60):
			lines = slices.Insert(lines, at, g.line())
		case at < len(lines) && g.chance(50):
			lines[at] = strings.Replace(lines[at], "[ ]", "[x]", 1)
		case at < len(lines):
			lines[at] = g.line()
		}
	}
	return strings.Join(lines, "")
}

// lawful checks the properties of a plan and of its result.
func lawful(t *testing.T, target files, sources []from) *merge.Plan {
	t.Helper()
	in := input(target, sources...)
	p := planOf(t, in)
	require.Equal(t, p, planOf(t, in), "planning twice gives two plans")
	inOneTree(t, in, p)
	nothingLost(t, in, p, target, sources)
	decideAll(t, &in)
	decided := planOf(t, in)
	require.Zero(t, decided.Open(), "%v", summary(decided))
	inOneTree(t, in, decided)
	nothingLeft(t, in, after(t, in, decided), sources)
	return p
}

// inOneTree checks ids, counts, and that all written paths can exist in one tree.
func inOneTree(t *testing.T, in merge.Input, p *merge.Plan) {
	t.Helper()
	ids := idsOf(p)
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), len(p.Conflicts), "two conflicts have one id")
	open := 0
	for _, c := range p.Files {
		open += c.Open
	}
	require.Equal(t, p.Open(), open)
	names := after(t, in, p)
	for _, c := range p.Files {
		if c.Open > 0 || !c.After.There() || c.Before.There() {
			continue
		}
		for name := range names {
			require.False(t, strings.HasPrefix(name, c.Path+"/") || strings.HasPrefix(c.Path, name+"/"), "%s and %s", c.Path, name)
			require.False(t, name != c.Path && strings.EqualFold(name, c.Path), "%s and %s", c.Path, name)
		}
		for name := range in.Tree.Others {
			require.False(t, strings.HasPrefix(c.Path+"/", name+"/"), "%s is written through %s", c.Path, name)
		}
	}
}

// nothingLost: every line that only one side added is in the result or shown in a
// conflict, and a version that cannot be shown is named in one.
func nothingLost(t *testing.T, in merge.Input, p *merge.Plan, target files, sources []from) {
	t.Helper()
	result := after(t, in, p)
	for i, s := range sources {
		for path, text := range s.files {
			if strings.HasSuffix(path, "@") || text == s.base[path] || text == target[path] || (from{files: s.files}).hides(path) {
				continue
			}
			others := counted([]byte(s.base[path] + "\n" + target[path]))
			for k, other := range sources {
				if k != i {
					maps.Copy(others, counted([]byte(other.files[path]+"\n"+other.base[path])))
				}
			}
			said := counted([]byte(result[path] + "\n" + shown(p, path)))
			for line := range counted([]byte(strings.TrimPrefix(text, "+x "))) {
				if others[line] == 0 && others["+x "+line] == 0 {
					require.True(t, said[line] > 0 || named(p, path, text) || said["+x "+line] > 0, "the line %q of %s in %s is lost: base %q ours %q theirs %q result %q conflicts %v", line, s.id, path, s.base[path], target[path], text, result[path], summary(p))
				}
			}
		}
	}
	for path, text := range target {
		if result[path] == text {
			continue
		}
		changed := slices.ContainsFunc(sources, func(s from) bool { return s.files[path] != s.base[path] })
		require.True(t, changed, "%s changed though no source changed it", path)
		lines := counted([]byte(strings.TrimPrefix(text, "+x ")))
		known := counted([]byte(result[path] + "\n" + shown(p, path)))
		for line := range lines {
			was := slices.ContainsFunc(sources, func(s from) bool { return counted([]byte(strings.TrimPrefix(s.base[path], "+x ")))[line] > 0 })
			require.True(t, was || known[line] > 0 || known["+x "+line] > 0, "the target's line %q in %s is lost", line, path)
		}
	}
}

func (s from) hides(path string) bool {
	for name := range s.files {
		if special, ok := strings.CutSuffix(name, "@"); ok && strings.HasPrefix(path+"/", special+"/") {
			return true
		}
	}
	return false
}

// shown returns all text that the conflicts of a path show, and its merged text.
func shown(p *merge.Plan, path string) string {
	out := ""
	for _, d := range p.Conflicts {
		if d.Path == path {
			for _, s := range d.Sides {
				out += s.Text + "\n"
			}
		}
	}
	for _, c := range p.Files {
		if c.Path == path && c.Open > 0 {
			out += string(c.Marked(p.Conflicts).Text)
		}
	}
	return out
}

// named reports whether a conflict names a version that it does not show.
func named(p *merge.Plan, path, text string) bool {
	return slices.ContainsFunc(p.Conflicts, func(d merge.Conflict) bool {
		return d.Path == path && slices.ContainsFunc(d.Sides, func(s merge.ConflictSide) bool { return s.Hash == fileOf(text).Hash })
	})
}

// decideAll decides until nothing is open: a decided deletion may free a name, and a
// kept file may block one.
func decideAll(t *testing.T, in *merge.Input) {
	t.Helper()
	for range 4 {
		p := planOf(t, *in)
		for i, d := range p.Conflicts {
			if d.Status == merge.Resolved {
				continue
			}
			for _, take := range slices.Concat([][]string{{"theirs", "both", "one", "three", "ours"}, {"both", "two", "base", "ours"}}[i%2]) {
				if d.Fits(take) == nil {
					var err error
					in.Decisions, err = p.Decide(in.Decisions, d.ID, merge.Decision{Take: take, How: "user"})
					require.NoError(t, err)
					break
				}
			}
		}
	}
}

// nothingLeft: merged content is the base from then on, and merging the same sources
// again changes nothing.
func nothingLeft(t *testing.T, in merge.Input, result files, sources []from) {
	t.Helper()
	for special := range in.Tree.Others {
		result[special+"@"] = ""
	}
	again := slices.Clone(sources)
	for i := range again {
		again[i].base = again[i].files
	}
	p := planOf(t, input(result, again...))
	require.Empty(t, p.Files)
	require.Empty(t, p.Conflicts)
}

const treeCases = 1200

func TestPlansHaveTheirProperties(t *testing.T) {
	t.Parallel()
	kinds := map[merge.ConflictKind]int{}
	ways := map[merge.How]int{}
	for n := range uint64(treeCases) {
		target, sources := randomInput(606, n, n%2 == 0)
		p := lawful(t, target, sources)
		for _, d := range p.Conflicts {
			kinds[d.Kind]++
		}
		for _, c := range p.Files {
			ways[c.How]++
		}
	}
	t.Logf("conflicts: %v; paths: %v", kinds, ways)
	for _, kind := range []merge.ConflictKind{merge.Content, merge.AddAdd, merge.ModifyDelete, merge.Mode, merge.BinaryFile, merge.PathClash} {
		assert.Positive(t, kinds[kind], "no %s conflict was tried", kind)
	}
	for _, how := range []merge.How{merge.Taken, merge.Merged, merge.Deleted, merge.ModeOnly, merge.ByList, merge.Waiting} {
		assert.Positive(t, ways[how], "no path was %s", how)
	}
}

func TestSourcesOfOneBaseInSixOrders(t *testing.T) {
	t.Parallel()
	clean := 0
	for n := range uint64(treeCases) {
		target, s := randomInput(707, n, true)
		var result files
		var ids []string
		for i, o := range orders() {
			in := input(target, s[o[0]], s[o[1]], s[o[2]])
			p := planOf(t, in)
			if i == 0 {
				result, ids = after(t, in, p), idsOf(p)
				if p.Open() == 0 && len(p.Files) > 0 {
					clean++
				}
			}
			require.Equal(t, result, after(t, in, p), "another order gives another text")
			require.Equal(t, ids, idsOf(p), "another order gives other ids")
		}
	}
	t.Logf("%d of %d were clean", clean, treeCases)
	assert.Positive(t, clean)
}

func FuzzPlan(f *testing.F) {
	f.Add("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "a\nb\nc\nd\n", "f.md", "f.md/x", uint8(0))
	f.Add("- [ ] a\n", "- [x] a\n- b\n", "- [ ] a\n- c\n", "- [ ] a\n- d\n", "F.md", "f.md", uint8(7))
	f.Add("", "x", "\x00", "y\r\n", "/a//", "..", uint8(255))
	f.Add("b\n", "o\n", "t\n", "u\n", "d/f", "d", uint8(0x5a))
	f.Fuzz(func(t *testing.T, base, ours, theirs, third, path, other string, bits uint8) {
		for _, text := range []string{base, ours, theirs, third} {
			if strings.HasPrefix(text, "+x ") {
				return
			}
		}
		if strings.HasSuffix(path, "@") || strings.HasSuffix(other, "@") || !plain(path) || !plain(other) {
			return
		}
		on := func(bit int) bool { return bits>>bit&1 == 1 }
		give := func(there bool, name, text string, more files) files {
			out := maps.Clone(more)
			if there {
				out[name] = text
			}
			return out
		}
		was := give(!on(0), path, base, files{})
		target := give(!on(1), path, ours, give(on(2), other, base, files{}))
		one := from{"one", was, give(!on(3), path, theirs, give(on(4), other, theirs, files{}))}
		two := from{"two", was, give(!on(5), path, third, files{})}
		if on(6) {
			two.base = give(on(7), path, ours, files{})
		}
		lawful(t, target, []from{one, two})
	})
}

// plain reports whether a path takes part in merges.
func plain(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != ".meta" && first != "context"
}
