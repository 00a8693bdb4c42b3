package scope_test

import (
	"path"
	"strings"
	"testing"

	"leslie/internal/scope"
)

// FuzzMatch compares a set with a direct implementation of the rule: a pattern matches
// a path if its segments, with ** for any number of them, match those of the path or
// of one of its parent folders.
func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{
		{"plan.md", "plan.md"}, {"plan", "plan.md"}, {"**/*.md", "a/b.md"}, {"a/**/b/**/c", "a/b/x/b/c/c"}, {"**/**", "a"},
		{"a/[!b]/", "a/c/d"}, {"a/", "a"}, {"a/", "a/"}, {"[a-c]*/?", "bx/é"}, {"*", ".hidden"}, {"a*b*c", "a/b/c"}, {"[^/]", "/"},
		{"**a/x", "b/a/x"}, {"x/**", "x"}, {"x/**/", "x/y"}, {"[]", "[]"}, {"[a", "[a"}, {"a/../b", "b"}, {".", "a"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		set, err := scope.Parse([]string{pattern})
		if err != nil || !artifact(name) {
			return
		}
		if got, want := set.Match(name), means(set.Strings()[0], name); got != want {
			t.Fatalf("%q means %q: %v, by the rule %v", set.Strings()[0], name, got, want)
		}
	})
}

// artifact reports whether a name is one that a walk may yield.
func artifact(name string) bool {
	clean := strings.TrimSuffix(name, "/")
	return clean != "" && path.Clean("/"+clean) == "/"+clean && len(name) < 300
}

func means(pattern, name string) bool {
	if pattern == "." {
		return true
	}
	parts := strings.Split(strings.TrimSuffix(name, "/"), "/")
	if strings.HasSuffix(pattern, "/") && !strings.HasSuffix(name, "/") {
		parts = parts[:len(parts)-1]
	}
	segments := strings.Split(strings.TrimSuffix(pattern, "/"), "/")
	for n := 1; n <= len(parts); n++ {
		if walk(segments, parts[:n], map[[2]int]bool{}) {
			return true
		}
	}
	return false
}

// walk matches segment by segment and tries every length for **; tried has the pairs
// that are known to fail.
func walk(segments, parts []string, tried map[[2]int]bool) bool {
	at := [2]int{len(segments), len(parts)}
	switch {
	case tried[at]:
		return false
	case len(segments) == 0:
		return len(parts) == 0
	}
	tried[at] = true
	if segments[0] == "**" {
		for n := 0; n <= len(parts); n++ {
			if walk(segments[1:], parts[n:], tried) {
				return true
			}
		}
		return false
	}
	return len(parts) > 0 && segment(segments[0], parts[0]) && walk(segments[1:], parts[1:], tried)
}

// segment matches one segment: path.Match with [!a] for [^a], or the name itself.
func segment(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	return pattern == name || ok && err == nil
}
