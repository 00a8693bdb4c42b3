package house_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file is the table of packages: what each may know. A forbidden import fails
// with the reason why it is forbidden, so that whoever meets it can tell
// whether the code or the table is wrong.

// allowance is one package folder and what it may import besides the standard
// library.
type allowance struct {
	dir string
	// packages are leslie's packages that it may import, modules the other modules.
	packages, modules []string
}

// allowances is the table; ARCHITECTURE.md says what each package is for.
func allowances() []allowance {
	return []allowance{
		{dir: "internal/fact"},
		{dir: "codes", packages: []string{"internal/fact"}},
		{dir: "warnings", packages: []string{"internal/fact"}},
		{dir: "internal/nearest", modules: []string{"github.com/xrash/smetrics"}},
		{dir: "internal/scope", packages: []string{"codes", "internal/fact"}},
		{dir: "internal/retry", packages: []string{"codes", "internal/fact"}},
		{dir: "internal/atomicfile", modules: []string{"github.com/google/renameio/v2"}},
		{dir: "thread", packages: []string{"codes", "internal/fact", "warnings", "internal/nearest"}},
		{dir: "merge", packages: []string{"codes", "warnings", "internal/fact"}},
		{dir: "store/internal/jsonl"},
		{dir: "store/internal/lockfile", packages: []string{"codes", "internal/retry"}, modules: []string{"github.com/gofrs/flock"}},
		{dir: "store/internal/saferoot", packages: []string{"internal/atomicfile", "codes", "internal/fact"}},
		{
			dir:      "store",
			packages: []string{"thread", "internal/retry", "internal/atomicfile", "store/internal/jsonl", "store/internal/lockfile", "store/internal/saferoot", "codes", "warnings", "internal/fact", "internal/scope"},
			modules:  []string{"github.com/gofrs/flock", "github.com/fsnotify/fsnotify", "golang.org/x/sys"},
		},
		{dir: "internal/external", packages: []string{"codes", "internal/fact"}, modules: []string{"github.com/kballard/go-shellquote"}},
		{dir: "internal/app/changes", packages: []string{"internal/fact", "codes", "warnings", "thread", "store"}},
		{dir: "internal/app/merging", packages: []string{"internal/app/changes", "internal/fact", "codes", "warnings", "internal/retry", "internal/scope", "thread", "merge", "store", "internal/external"}},
		{dir: "internal/app", packages: []string{"internal/app/changes", "internal/app/merging", "internal/fact", "codes", "warnings", "internal/nearest", "internal/scope", "thread", "merge", "store", "internal/external"}},
		{
			dir:      "cmd/leslie",
			packages: []string{"internal/app", "internal/app/merging", "internal/fact", "codes", "warnings", "internal/nearest", "internal/scope", "internal/retry", "thread", "merge", "store", "internal/external"},
			modules:  []string{"github.com/urfave/cli/v2", "go.yaml.in/yaml/v3", "golang.org/x/term"},
		},
		{dir: "test/harness"},
		{dir: "test/bench"},
		{dir: "test/bench/empty"},
		{dir: "test/bench/floor"},
		{dir: "test/demo"},
		{dir: "test/torture", packages: []string{"test/harness"}},
		{dir: "test/soak", packages: []string{"test/harness"}},
		{dir: "test/proctest", packages: []string{"test/harness"}},
		{dir: "test/house", packages: []string{"codes", "warnings"}},
	}
}

// testModules are what tests of every package may import besides; a test may also
// use a module of any row, to play another process or to read an answer.
func testModules() []string {
	return []string{"github.com/stretchr/testify", "github.com/rogpeppe/go-internal", "github.com/creack/pty", "go.yaml.in/yaml/v3"}
}

// whyNotPackage is why a package is closed to those whose row does not name it.
func whyNotPackage(dir string) string {
	return reason(dir, map[string]string{
		"internal/fact":           "facts are made where something is known to have happened",
		"codes":                   "a package below the codes has no failures of its own to name",
		"warnings":                "this package has nothing to warn about: it answers or fails",
		"internal/nearest":        "a near miss is named where ids and commands are looked up, by rules and by the command line",
		"internal/scope":          "which artifacts are meant is asked where trees are walked (store) and lines are checked (cmd/leslie)",
		"internal/atomicfile":     "files are written by the store",
		"internal/retry":          "only the lock and calls to agents are tried again; a rule that fails would fail again",
		"thread":                  "the rules stand above this package; a package that knows them cannot serve others",
		"merge":                   "merging is asked for by a command and works over bytes; the store keeps its result and the rules do not know it",
		"store/internal/jsonl":    "the form of the store's files is the store's",
		"store/internal/lockfile": "locks are the store's",
		"store/internal/saferoot": "files of the store's folder are the store's",
		"store":                   "only a command opens the store; everything below is handed a State or bytes and stays testable without a disk",
		"internal/external":       "who may run what is decided by a command; below it nothing starts a program",
		"internal/app":            "use cases are what commands, interfaces and servers call; nothing below knows them",
		"cmd/leslie":              "nothing imports main; what others need is a package of its own",
		"test/harness":            "it runs the binary and reads its answers from outside, for tests; leslie itself must not agree with its own reader by sharing it",
		"test/bench":              "it measures the binary from outside",
		"test/demo":               "the demo speaks with the binary as a stranger would",
		"test/torture":            "it tests the shipped binary from outside",
		"test/soak":               "it tests the shipped binary from outside",
		"test/proctest":           "it tests the binary from outside, with processes of its own",
		"test/house":              "the building rules are no part of the product",
	})
}

// whyNotModule is why a module is closed to those whose row does not name it.
func whyNotModule(path string) string {
	return reason(path, map[string]string{
		"github.com/fsnotify/fsnotify":      "waiting for a change without losing one wants the store's order: watch first, then look",
		"github.com/google/renameio/v2":     "internal/atomicfile replaces files, on every system",
		"github.com/gofrs/flock":            "one lock, one place: a second user of it could deadlock or free the store's lock",
		"golang.org/x/sys":                  "calls to the operating system belong to the store",
		"github.com/urfave/cli/v2":          "only the command line knows flags and commands; everything below is handed options as values",
		"golang.org/x/term":                 "only the command line knows terminals; everything below is handed facts about them",
		"go.yaml.in/yaml/v3":                "answers are written in one place, the command line",
		"github.com/kballard/go-shellquote": "a command line is taken apart where it is run",
		"github.com/xrash/smetrics":         "what counts as near is decided in one package",
	})
}

func reason(key string, reasons map[string]string) string {
	if why := reasons[key]; why != "" {
		return why
	}
	return "test/house/packages_test.go gives no reason yet; it needs one"
}

// closedStd is a package of the standard library that is not open to every package.
type closedStd struct {
	path string // also those below it
	open []string
	why  string
}

func closedStds() []closedStd {
	files := []string{"store", "store/internal/lockfile", "store/internal/saferoot", "internal/atomicfile", "internal/app", "internal/app/merging", "cmd/leslie", "test/harness", "test/demo", "test/bench", "test/bench/floor", "test/torture", "test/soak", "test/house"}
	runs := []string{"internal/external", "cmd/leslie", "test/harness", "test/demo", "test/bench", "test/torture", "test/soak"}
	speaks := []string{"cmd/leslie", "test/bench"}
	return []closedStd{
		{"os/exec", runs, "only a command starts another program, never under the lock and never from the project's configuration alone"},
		{"os/signal", append(slices.Clone(speaks), "test/soak"), "signals end a call's context in main"},
		{"os/user", speaks, "who acts is handed down as a value"},
		{"os", append(slices.Clone(files), "internal/external"), "this package is pure: files are the store's, the environment is the command line's"},
		{"path/filepath", files, "this package is pure: paths of artifacts have '/' on every machine (package path)"},
		{"syscall", append(slices.Clone(files), "internal/external"), "this package is pure"},
		{"math/rand", append(slices.Clone(speaks), "test/torture", "test/soak"), "randomness is handed down as a value, so that a test decides it"},
		{"crypto/rand", speaks, "randomness is handed down as a value, so that a test decides it"},
		{"log", append(slices.Clone(speaks), "internal/app"), "an error is logged once, where its use case ends; below it is returned"},
		{"net", nil, "leslie has no daemon and no socket: agents' sandboxes have no network"},
		{"plugin", nil, "leslie is one static binary"},
		{"unsafe", nil, "nothing here is worth it"},
		{"C", nil, "leslie is pure Go: CGO_ENABLED=0"},
	}
}

// checkPackages refuses a folder with Go files that has no row.
func checkPackages(tr *tree) []string {
	dirs := map[string]bool{}
	for _, f := range tr.files {
		dirs[f.dir] = true
	}
	var found []string
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if _, ok := packageOf(dir); !ok {
			found = append(found, dir+": a package without a row in test/house/packages_test.go: say what it may import")
		}
	}
	return found
}

func packageOf(dir string) (allowance, bool) {
	all := allowances()
	i := slices.IndexFunc(all, func(r allowance) bool { return r.dir == dir })
	if i < 0 {
		return allowance{}, false
	}
	return all[i], true
}

// checkImports refuses imports that the table does not open.
func checkImports(tr *tree) []string {
	var found []string
	for _, f := range tr.files {
		r, ok := packageOf(f.dir)
		if !ok {
			continue
		}
		for p, spec := range f.imports() {
			if why := r.refuses(p, f.isTest); why != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s (open to %s: %s)", f.at(spec), p, why, r.dir, r.allowed()))
			}
		}
	}
	return found
}

// refuses says why a package must not import another, "" when it may.
func (r allowance) refuses(p string, isTest bool) string {
	if dir, ok := strings.CutPrefix(p, module+"/"); ok {
		if slices.Contains(r.packages, dir) || isTest && (dir == r.dir || dir == "test/harness") {
			return ""
		}
		return whyNotPackage(dir)
	}
	if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") {
		return r.refusesModule(p, isTest)
	}
	if isTest {
		return ""
	}
	for _, c := range closedStds() {
		if within(p, c.path) && !slices.Contains(c.open, r.dir) {
			return c.why
		}
	}
	return ""
}

func (r allowance) refusesModule(p string, isTest bool) string {
	holds := func(modules []string) bool {
		return slices.ContainsFunc(modules, func(m string) bool { return within(p, m) })
	}
	known := ""
	for _, other := range allowances() {
		for _, m := range other.modules {
			if within(p, m) {
				known = m
			}
		}
	}
	switch {
	case holds(r.modules), isTest && known != "", isTest && holds(testModules()):
		return ""
	case known != "":
		return whyNotModule(known)
	case holds(testModules()):
		return "it is for tests"
	}
	return "a new dependency needs a row in test/house/packages_test.go and one in ARCHITECTURE.md that says what it saves us"
}

// allowed is what the package may import, for a reader.
func (r allowance) allowed() string {
	if open := append(slices.Clone(r.packages), r.modules...); len(open) > 0 {
		return "std, " + strings.Join(open, ", ")
	}
	return "std alone"
}

// within reports whether a path is p or below it.
func within(path, p string) bool { return path == p || strings.HasPrefix(path, p+"/") }
