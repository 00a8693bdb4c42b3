package scope_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/scope"
)

func parse(t *testing.T, patterns ...string) scope.Set {
	t.Helper()
	set, err := scope.Parse(patterns)
	require.NoError(t, err)
	return set
}

func TestAPatternMeansExactPathsFoldersAndGlobsNeverPrefixes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern    string
		yes, never []string
	}{
		{"plan.md", []string{"plan.md"}, []string{"plan.md.bak", "plan", "a/plan.md", "Plan.md"}},
		{"plan", []string{"plan", "plan/", "plan/a.md", "plan/b/c.md"}, []string{"plan.md", "planning/a.md", "a/plan"}},
		{"plan/", []string{"plan/", "plan/a.md"}, []string{"plan", "plan.md"}},
		{"*.md", []string{"plan.md", ".md", "x.md/inner.txt"}, []string{"a/plan.md", "plan.mdx"}},
		{"*", []string{"plan.md", "a/b"}, nil},
		{"*/", []string{"a/", "a/b", "a/b/c"}, []string{"plan.md"}},
		{"a/*", []string{"a/b", "a/b/c"}, []string{"a", "a/", "b/a"}},
		{"a/?.md", []string{"a/1.md"}, []string{"a/12.md", "a/.md"}},
		{"a?b", []string{"axb"}, []string{"a/b"}},
		{"a[^x]b", []string{"ayb"}, []string{"a/b", "axb"}},
		{"a[!x]b", []string{"ayb", "a!b"}, []string{"axb", "a/b"}},
		{"a[x!]b", []string{"axb", "a!b"}, []string{"ayb"}},
		{"[a-c].md", []string{"b.md"}, []string{"d.md"}},
		{"**", []string{"a", "a/b/c", "d/"}, nil},
		{"**/*.md", []string{"a.md", "a/b.md", "a/b/c.md"}, []string{"a/b.txt"}},
		{"a/**/z.md", []string{"a/z.md", "a/b/z.md", "a/b/c/z.md"}, []string{"z.md", "b/a/z.md", "a/z.mdx"}},
		{"a/**", []string{"a/b", "a/b/c", "a/"}, []string{"b/a", "ab"}},
		{"**/a/**/b", []string{"a/b", "x/a/y/a/z/b", "a/b/c"}, []string{"b/a", "x/y/b"}},
		{"{a,b}.md", []string{"{a,b}.md"}, []string{"a.md", "b.md"}},
		{"notes[[]1].md", []string{"notes[1].md"}, []string{"notes1.md"}},
		{"notes[1].md", []string{"notes[1].md", "notes1.md"}, []string{"notes2.md"}},
		{".", []string{"a", "a/b"}, nil},
		{"./a//b/./c", []string{"a/b/c"}, []string{"a/b"}},
		{"a\nb", []string{"a\nb"}, []string{"ab"}},
	} {
		set := parse(t, c.pattern)
		for _, path := range c.yes {
			assert.True(t, set.Match(path), "%q means %q", c.pattern, path)
		}
		for _, path := range c.never {
			assert.False(t, set.Match(path), "%q does not mean %q", c.pattern, path)
		}
	}
}

func TestNoPatternMeansEverything(t *testing.T) {
	t.Parallel()
	for _, set := range []scope.Set{{}, parse(t)} {
		assert.True(t, set.Everything())
		assert.True(t, set.Match("any/thing"))
		assert.True(t, set.Reaches("any"))
		assert.Empty(t, set.Unmatched(nil))
		assert.Empty(t, set.Strings())
	}
}

func TestPatternsAreNormalisedAndUniqueInOrder(t *testing.T) {
	t.Parallel()
	set := parse(t, "./b.md", "a//c/", "b.md", "a/c", "**/*.md", ".")
	assert.Equal(t, []string{"b.md", "a/c/", "a/c", "**/*.md", "."}, set.Strings())
	assert.Equal(t, []string{"b.md", "a/c", "a/c"}, set.Exact())
	assert.Equal(t, set, parse(t, set.Strings()...))
}

func TestAPatternThatLeadsOutIsT507(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"/etc/passwd", "..", "../x", "a/../../x", "a/..", "**/..", "/"} {
		_, err := scope.Parse([]string{"fine.md", bad})
		require.True(t, codes.Has(err, codes.UnsafePath), "%q: %v", bad, err)
		assert.Equal(t, bad, codes.Of(err).Facts().Text("path"))
	}
}

func TestABadPatternIsT903AndNamed(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "a\\b", "a\x00b", "[", "[]", "a[b", "[a/b]", "[b-a", "\xff", strings.Repeat("a", 4097)} {
		_, err := scope.Parse([]string{bad})
		require.True(t, codes.Has(err, codes.InvalidArgument), "%q: %v", bad, err)
		got, ok := codes.Of(err).Facts().Get("pattern")
		assert.True(t, ok)
		if len(bad) < 200 {
			assert.Equal(t, bad, got)
		}
		assert.Contains(t, codes.Of(err).Facts().Text("reason"), "scope")
	}
}

func TestABadGlobSaysWhy(t *testing.T) {
	t.Parallel()
	for bad, why := range map[string]string{
		"[":          `"[" has no closing ']'`,
		"a[b/c]":     `"[b" has no closing ']'`,
		"notes/[]":   `"[]" is not a class of characters such as [a-c] or [!x]`,
		"[a][b-].md": `"[b-]" is not a class of characters such as [a-c] or [!x]`,
		"[a]x[c":     `"[c" has no closing ']'`,
	} {
		_, err := scope.Parse([]string{bad})
		assert.Equal(t, "The scope '"+bad+"' is not a glob: "+why, codes.Of(err).Facts().Text("reason"))
	}
}

func TestUnmatchedPatternsAreNamed(t *testing.T) {
	t.Parallel()
	set := parse(t, "plan.md", "design/", "*.txt", "gone/**")
	assert.Equal(t, []string{"*.txt", "gone/**"}, set.Unmatched([]string{"plan.md", "design/", "design/a.md"}))
	assert.Equal(t, set.Strings(), set.Unmatched(nil))
}

func TestAWalkMaySkipFoldersThatAreNotReached(t *testing.T) {
	t.Parallel()
	set := parse(t, "a/b/c.md", "d/*/e", "f", "g/**/h")
	for _, folder := range []string{"a", "a/b", "d", "d/x", "f", "f/deep/er", "g", "g/x/y", "d/x/e"} {
		assert.True(t, set.Reaches(folder), folder)
	}
	for _, folder := range []string{"b", "a/c", "a/b/c", "d/x/y", "ff", "x/g"} {
		assert.False(t, set.Reaches(folder), folder)
	}
}

func TestManyWildcardsMatchInBoundedTime(t *testing.T) {
	t.Parallel()
	set := parse(t, strings.Repeat("**/*a*/", 500)+"b")
	assert.False(t, set.Match(strings.Repeat("aaaaaaaa/", 500)+"c"))
}

// FuzzScope checks the properties of a set: it never panics, its normalised form parses
// to itself, a match of a folder is a match of everything below it, and a walk that
// skips folders that are not reached misses nothing.
func FuzzScope(f *testing.F) {
	for _, seed := range [][2]string{
		{"plan.md", "plan.md"}, {"**/*.md", "a/b.md"}, {"a/[!b]/", "a/c/d"}, {"../x", "x"}, {"a[", "a["},
		{"a/**/b/**", "a/x/b/y"}, {"?", "é"}, {"[a-\xff]", "b"}, {"./", "x"}, {"*/", "a/b"}, {"[!]", "]"}, {"a//", "a"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		set, err := scope.Parse([]string{pattern})
		if err != nil {
			if !codes.Has(err, codes.UnsafePath) && !codes.Has(err, codes.InvalidArgument) {
				t.Fatalf("%q: %v", pattern, err)
			}
			return
		}
		again, err := scope.Parse(set.Strings())
		if err != nil || again.Strings()[0] != set.Strings()[0] {
			t.Fatalf("%q is read back as %v, %v", set.Strings(), again.Strings(), err)
		}
		if set.Match(path) != again.Match(path) {
			t.Fatalf("%q and its canonical form differ on %q", pattern, path)
		}
		clean := strings.Trim(path, "/")
		if clean == "" || strings.Contains(clean, "//") || !set.Match(clean) {
			return
		}
		if !set.Match(clean + "/below") {
			t.Fatalf("%q means %q and nothing below it", pattern, clean)
		}
		for i := range len(clean) {
			if clean[i] == '/' && !set.Reaches(clean[:i]) {
				t.Fatalf("%q means %q and does not reach %q", pattern, clean, clean[:i])
			}
		}
	})
}
