package source_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rule is a property of the source.
type rule struct {
	name    string
	check   func(*tree) []string
	samples []sample
}

// sample shows what a rule rejects: a tree that breaks it once, and a similar one that
// keeps it.
type sample struct {
	name       string
	red, green map[string]string
}

func TestTheSourceKeepsItsRules(t *testing.T) {
	t.Parallel()
	tr := projectTree(t)
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			found := r.check(tr)
			slices.Sort(found)
			assert.Empty(t, found, "%s:\n%s", r.name, strings.Join(found, "\n"))
		})
	}
}

func TestEachRuleFindsWhatItRejects(t *testing.T) {
	t.Parallel()
	for _, r := range rules() {
		require.NotEmpty(t, r.samples, "%s", r.name)
		for _, s := range r.samples {
			t.Run(r.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				assert.Len(t, r.check(parseTree(t, s.red)), 1, "the sample that breaks the rule")
				assert.Empty(t, r.check(parseTree(t, s.green)), "the sample that keeps it")
			})
		}
	}
}

// rules returns all rules.
func rules() []rule {
	return append(packageRules(), sourceRules()...)
}

func packageRules() []rule {
	imports := func(path, imported string) map[string]string { return one(path, "import _ \""+imported+"\"") }
	return []rule{
		{"every package has a row", checkPackages, []sample{
			{"a new folder", one("attic/a.go", ""), one("thread/a.go", "")},
		}},
		{"a package imports only what its row allows", checkImports, []sample{
			{"a package above", imports("thread/a.go", "leslie/store"), imports("store/a.go", "leslie/thread")},
			{"a package above in a test", imports("thread/a_test.go", "leslie/store"), imports("thread/a_test.go", "leslie/thread")},
			{"a package without a row", imports("thread/a.go", "leslie/attic"), imports("thread/a.go", "leslie/internal/nearest")},
			{"the tests' harness", imports("store/a.go", "leslie/test/harness"), imports("store/a_test.go", "leslie/test/harness")},
			{"main", imports("store/a.go", "leslie/cmd/leslie"), imports("cmd/leslie/a.go", "leslie/store")},
			{"one of the lowest packages", imports("internal/fact/a.go", "leslie/codes"), imports("codes/a.go", "leslie/internal/fact")},
			{"the lock", imports("cmd/leslie/a.go", "github.com/gofrs/flock"), imports("store/a.go", "github.com/gofrs/flock")},
			{"the lock in a test", imports("cmd/leslie/a_test.go", "example.org/flock"), imports("cmd/leslie/a_test.go", "github.com/gofrs/flock")},
			{"the command-line library", imports("store/a.go", "github.com/urfave/cli/v2"), imports("cmd/leslie/internal/cli/a.go", "github.com/urfave/cli/v2")},
			{"terminals", imports("store/a.go", "golang.org/x/term"), imports("cmd/leslie/a.go", "golang.org/x/term")},
			{"a new dependency", imports("store/a.go", "example.org/x"), imports("store/a.go", "golang.org/x/sys/unix")},
			{"what is for tests", imports("store/a.go", "github.com/stretchr/testify/assert"), imports("store/a_test.go", "github.com/stretchr/testify/assert")},
			{"weak randomness", imports("thread/a.go", "math/rand/v2"), imports("thread/a_test.go", "math/rand/v2")},
			{"strong randomness", imports("store/a.go", "crypto/rand"), imports("cmd/leslie/a.go", "crypto/rand")},
			{"other programs", imports("store/a.go", "os/exec"), imports("cmd/leslie/internal/cli/a.go", "os/exec")},
			{"the operating system", imports("thread/a.go", "os"), imports("thread/a.go", "io/fs")},
			{"the network", imports("cmd/leslie/a.go", "net/http"), imports("store/a_test.go", "net")},
			{"a log", imports("store/a.go", "log/slog"), imports("cmd/leslie/a.go", "log/slog")},
		}},
	}
}

func sourceRules() []rule {
	return []rule{
		{"names of other packages stay where they belong", checkNames, []sample{
			{"the clock", one("cmd/leslie/a.go", "import clock \"time\"\nfunc f() { _ = clock.Now }"), one("cmd/leslie/a.go", "func f(time struct{ Now int }) { _ = time.Now }")},
			{"the environment", one("store/a.go", "import \"os\"\nfunc f() { _ = os.Getenv(\"A\") }"), one("cmd/leslie/env.go", "import \"os\"\nfunc f() { _ = os.Getenv(\"A\") }")},
			{"the end of the process", one("cmd/leslie/a.go", "import \"os\"\nfunc f() { os.Exit(1) }"), one("cmd/leslie/main.go", "import \"os\"\nfunc f() { os.Exit(1) }")},
			{"printing", one("cmd/leslie/a.go", "import \"fmt\"\nfunc f() { fmt.Println() }"), one("cmd/leslie/a.go", "import \"fmt\"\nfunc f() { _ = fmt.Sprint() }")},
			{"the process's streams", one("store/a.go", "import \"os\"\nfunc f() { _ = os.Stderr }"), one("cmd/leslie/env.go", "import \"os\"\nfunc f() { _ = os.Stderr }")},
			{"what changes the process", one("cmd/leslie/a.go", "import \"os\"\nfunc f() { os.Chdir(\"\") }"), one("cmd/leslie/a_test.go", "import \"os\"\nfunc f() { os.Chdir(\"\") }")},
			{"a context of one's own", one("store/a.go", "import \"context\"\nfunc f() { _ = context.Background() }"), one("cmd/leslie/internal/cli/interrupt.go", "import \"context\"\nfunc f() { _ = context.Background() }")},
		}},
		{"only the renderer writes", checkStreams, []sample{
			{"a stream of env", one("cmd/leslie/a.go", "func f(c call) { c.Env.Stdout.Write(nil) }"), one("cmd/leslie/internal/cli/reply.go", "func f(c call) { c.Env.Stdout.Write(nil) }")},
			{"a builtin", one("store/a.go", "func f() { println() }"), one("store/a.go", "func f(println func()) { println() }")},
		}},
		{"only the store flushes files", checkSync, []sample{
			{"a file", one("cmd/leslie/a.go", "func f(g *os.File) { g.Sync() }"), one("cmd/leslie/a.go", "func f(g spawning) { g.stage.Sync() }")},
		}},
		{"no init", checkInit, []sample{
			{"a function", one("store/a.go", "func init() {}"), one("store/a.go", "func (s *Store) init() {}")},
		}},
		{"no package variable", checkVars, []sample{
			{"a cache", one("store/a.go", "var cache = map[string]int{}"), one("store/a.go", "import \"errors\"\nvar errGone = errors.New(\"gone\")\nvar _ I = T{}")},
			{"one without a value", one("store/a.go", "var hook func()"), one("store/a_test.go", "var hook func()")},
		}},
		{"nobody sets a package variable", checkSetVars, []sample{
			{"its own", one("codes/a.go", "var table [2]int\nfunc f() { table[0]++ }"), one("codes/a.go", "var table [2]int\nfunc f() { table := table; table[0]++ }")},
			{"from a test", map[string]string{"store/a.go": "package store\nvar now int", "store/a_test.go": "package store\nfunc f() { now = 1 }"}, one("store/a_test.go", "var now int\nfunc f() { now = 1 }")},
			{"another package's", one("store/a_test.go", "import \"os\"\nfunc f() { os.Args = nil }"), one("store/a_test.go", "func f(os struct{ Args []string }) { os.Args = nil }")},
		}},
		{"no constructor takes anything", checkAnys, []sample{
			{"an error", one("codes/a.go", "func fail(args ...any) error { return nil }"), one("codes/a.go", "func fail(args ...Fact) error { return nil }")},
			{"the long spelling", one("codes/a.go", "func fail(format string, args ...interface{}) error { return nil }"), one("cmd/leslie/internal/page/page.go", "func (p *page) line(format string, args ...any) {}")},
		}},
		{"commands ask internal/app, not the store", checkStoreImports, []sample{
			{"a new command", one("cmd/leslie/a.go", "import _ \"leslie/store\""), one("cmd/leslie/a_test.go", "import _ \"leslie/store\"")},
		}},
		{"no function is long", checkLength, []sample{
			{"one line too many", one("store/a.go", "func f() {\n"+fillerLines(maxFuncLines-1)+"}"), one("store/a.go", "func f() {\n"+fillerLines(maxFuncLines-2)+"}")},
		}},
		{"exported names are documented", checkDocs, []sample{
			{"a package", map[string]string{"store/a.go": "package store"}, map[string]string{"store/a.go": "package store", "store/doc.go": source("store", "")}},
			{"a function", one("store/a.go", "func F() {}"), one("store/a.go", "// F does.\nfunc F() {}")},
			{"a method", one("store/a.go", "func (s *Store[T]) F() {}"), one("store/a.go", "func (s *hidden) F() {}")},
			{"a type", one("store/a.go", "type T struct{}"), one("store/a.go", "// T is.\ntype T struct{}\ntype hidden int")},
			{"a value", one("store/a.go", "const C = 1"), one("store/a.go", "// The sizes.\nconst (\n\tC = 1\n\tD = 2\n)")},
		}},
		{"names say something", checkEmptyNames, []sample{
			{"a type", one("store/a.go", "type blobManager struct{}"), one("store/a.go", "type blobs struct{}")},
			{"a file", one("store/string_utils.go", ""), one("store/strings.go", "")},
			{"a package", one("common/a.go", ""), one("store/a.go", "")},
		}},
		{"nothing is left unfinished", checkUnfinished, []sample{
			{"a comment", one("store/a.go", "// TODO: all of it"), one("store/a.go", "const todo = \"TODO\"")},
		}},
		{"no test sleeps", checkSleep, []sample{
			{"for real", one("store/a_test.go", "import \"time\"\nfunc f() { time.Sleep(1) }"), one("store/a_test.go", "import (\"time\"; _ \"testing/synctest\")\nfunc f() { time.Sleep(1) }")},
		}},
	}
}

// one returns a tree of one file, with a package clause and comment.
func one(name, code string) map[string]string {
	return map[string]string{name: source(path.Base(path.Dir(name)), code)}
}

func source(pkg, code string) string {
	return "// Package " + pkg + " is a sample.\npackage " + pkg + "\n" + code
}

func fillerLines(n int) string { return strings.Repeat("\t_ = 0\n", n) }
