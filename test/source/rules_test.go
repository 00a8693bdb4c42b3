package source_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
)

// This file checks what a review rejects, as far as a program can. A check returns one
// line for each place that breaks its rule.

// maxFuncLines is the longest function, from its first line to its last. The
// median here is about ten; what grows past a screen or two hides a second idea.
const maxFuncLines = 100

// closedName is a name of another package that few files may use.
type closedName struct {
	name string
	only []string // files, or folders that end in "/"
	why  string
}

func closedNames() []closedName {
	env := []string{"cmd/leslie/env.go"}
	// Separate programs that run the binary as a user would.
	apart := []string{"test/harness/", "test/demo/", "test/bench/", "test/dist/", "test/lab/", "test/cluster/", "test/fakeagent/", "test/stress/"}
	// These files measure durations. The store's default clock is the only one below
	// cmd/leslie that a caller need not pass.
	clock := append([]string{"cmd/leslie/env.go", "internal/retry/retry.go", "store/internal/lockfile/lockfile.go", "store/requests.go"}, apart...)
	out := []closedName{}
	for _, name := range []string{"time.Now", "time.Since", "time.Until"} {
		out = append(out, closedName{name, clock, "pass time as a value (env.now, Stamp, Options.Now), so that a test determines it"})
	}
	for _, name := range []string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "os.Getwd", "os.UserHomeDir"} {
		out = append(out, closedName{name, append(slices.Clone(apart), env...), "nothing below main reads a global: take it from env"})
	}
	for _, name := range []string{"os.Stdin", "os.Stdout", "os.Stderr"} {
		out = append(out, closedName{name, append(slices.Clone(apart), env...), "only env holds the process's streams, and only the renderer writes them"})
	}
	for _, name := range []string{"fmt.Print", "fmt.Printf", "fmt.Println"} {
		out = append(out, closedName{name, apart, "printing past the renderer breaks the one JSON document on stdout"})
	}
	for _, name := range []string{"os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln", "syscall.Exit", "runtime.Goexit"} {
		out = append(out, closedName{name, []string{"cmd/leslie/main.go", "test/demo/main.go", "test/dist/main.go", "test/bench/main.go", "test/bench/floor/main.go", "test/lab/torture/", "test/lab/soak/", "test/lab/faults/main.go", "test/cluster/run/main.go", "test/fakeagent/", "test/stress/main.go"}, "only main ends the process; everything else returns an error"})
	}
	for _, name := range []string{"os.Chdir", "os.Setenv", "os.Unsetenv"} {
		out = append(out, closedName{name, []string{"test/harness/memory.go"}, "it changes the whole process for all goroutines"})
	}
	for _, name := range []string{"context.Background", "context.TODO"} {
		out = append(out, closedName{name, []string{"cmd/leslie/internal/cli/interrupt.go", "store/internal/teststore/", "test/bench/main.go", "test/lab/torture/", "test/lab/soak/", "test/lab/faults/main.go", "test/cluster/run/main.go", "test/stress/main.go"}, "a call's context comes from main, so that a signal ends it"})
	}
	for _, name := range []string{"syscall.Fsync", "golang.org/x/sys/unix.Fsync"} {
		out = append(out, closedName{name, []string{"store/"}, "the store promises what is flushed when"})
	}
	return out
}

// checkNames rejects names of other packages outside the files that may use them.
func checkNames(tr *tree) []string {
	closed := closedNames()
	var found []string
	for _, f := range tr.product() {
		f.each(func(n ast.Node) {
			e, ok := n.(ast.Expr)
			if !ok {
				return
			}
			name := f.qualified(e)
			for _, c := range closed {
				if c.name == name && !f.among(c.only) {
					found = append(found, fmt.Sprintf("%s uses %s: %s", f.at(n), name, c.why))
				}
			}
		})
	}
	return found
}

func (f *file) among(paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return f.path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(f.path, p)
	})
}

// checkStreams rejects writing to the caller's streams outside the renderer.
func checkStreams(tr *tree) []string {
	// reply.go and stream.go answer, call.go reports waiting, log.go writes debug lines, prompt.go
	// and merge_prompt.go ask, pager.go shows a long answer, progress.go how far one is, run_live.go what runs do;
	// tui.go shows answers on a screen.
	writers := []string{"cmd/leslie/env.go", "cmd/leslie/internal/cli/reply.go", "cmd/leslie/internal/cli/stream.go", "cmd/leslie/internal/cli/call.go", "cmd/leslie/internal/cli/open.go", "cmd/leslie/internal/cli/prompt.go", "cmd/leslie/internal/cli/pager.go", "cmd/leslie/internal/cli/progress.go", "cmd/leslie/internal/mergecmd/merge_prompt.go", "cmd/leslie/internal/mergecmd/merge_review.go", "cmd/leslie/internal/runcmd/run_live.go", "cmd/leslie/internal/screencmd/tui.go"}
	var found []string
	for _, f := range tr.product() {
		f.each(func(n ast.Node) {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if (n.Sel.Name == "Stdout" || n.Sel.Name == "Stderr") && within(f.dir, "cmd/leslie") && !f.among(writers) {
					found = append(found, fmt.Sprintf("%s uses %s: return Data with its text, or a warning; only the renderer writes", f.at(n), n.Sel.Name))
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
					if _, builtin := f.tree.uses[id].(*types.Builtin); builtin {
						found = append(found, f.at(n)+" prints with a builtin: only the renderer writes")
					}
				}
			}
		})
	}
	return found
}

// checkSync rejects flushing a file outside the store and transcripts. Without types it
// knows only a method's name, so it recognizes a Sync of the store itself by the
// variable's name.
func checkSync(tr *tree) []string {
	var found []string
	for _, f := range tr.product() {
		if f.dir == "store" || strings.HasPrefix(f.dir, "store/") || f.dir == "internal/atomicfile" || f.dir == "internal/transcript" || strings.HasPrefix(f.dir, "test/bench") { // which measures what a flush costs
			continue
		}
		f.each(func(n ast.Node) {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Sync" || lastName(sel.X) == "stage" {
				return
			}
			found = append(found, f.at(n)+" calls Sync: what is flushed when is the store's promise (a store.Stage is held in a name that is stage)")
		})
	}
	return found
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// checkInit rejects func init.
func checkInit(tr *tree) []string {
	var found []string
	for _, f := range tr.files {
		for _, fn := range f.funcs() {
			if fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, f.at(fn)+" has an init: what runs before main can be neither ordered, tested nor refused; call it where it is needed")
			}
		}
	}
	return found
}

// allowedVars returns the package variables that never change, and what a whole test program counts,
// with the reason.
func allowedVars() map[string]string {
	return map[string]string{
		"codes.table":                               "an array that is only read; Table returns copies",
		"warnings.table":                            "an array that is only read; Table returns copies",
		"thread.noArchive":                          "an empty source, only read",
		"internal/ledger/jetstream.ServerConfig":    "a file that the compiler puts into the program",
		"docs.files":                                "documents that the compiler puts into the binary",
		"internal/report.files":                     "a page that the compiler puts into the binary",
		"cmd/leslie/internal/cli.completionScripts": "files that the compiler puts into the binary",
		"cmd/leslie.version":                        "set by the linker when a release is built",
		"cmd/leslie/internal/cli.globalTable":       "flags that are only read, in the binary and not made at each start",
		"cmd/leslie/internal/cli.writeTable":        "the same",
		"test/harness.ports":                        "no two tests of a program may be given the same port",
	}
}

// makers returns functions whose results never change: errors to compare with, compiled
// expressions.
func makers() []string {
	return []string{"errors.New", "fmt.Errorf", "regexp.MustCompile"}
}

// checkVars rejects package variables outside tests, except those that never change.
func checkVars(tr *tree) []string {
	var found []string
	for _, f := range tr.product() {
		for _, spec := range f.packageVars() {
			for i, name := range spec.Names {
				made := i < len(spec.Values) && f.isMade(spec.Values[i])
				if name.Name == "_" || made || allowedVars()[f.dir+"."+name.Name] != "" {
					continue
				}
				found = append(found, fmt.Sprintf("%s has the package variable %s: pass it as a value; if nothing ever changes it, say so in test/source/rules_test.go", f.at(name), name.Name))
			}
		}
	}
	return found
}

func (f *file) packageVars() []*ast.ValueSpec {
	var out []*ast.ValueSpec
	for _, d := range f.ast.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, s := range g.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					out = append(out, v)
				}
			}
		}
	}
	return out
}

func (f *file) isMade(value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	return ok && slices.Contains(makers(), f.qualified(call.Fun))
}

// checkSetVars rejects setting a package variable of the same or of another package. Tests
// may set their own.
func checkSetVars(tr *tree) []string {
	var found []string
	for _, f := range tr.files {
		refuse := func(target ast.Expr) {
			if name := f.setVar(target); name != "" {
				found = append(found, fmt.Sprintf("%s sets %s: a package variable that changes ties every caller and every parallel test together", f.at(target), name))
			}
		}
		f.each(func(n ast.Node) {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, target := range n.Lhs {
						refuse(target)
					}
				}
			case *ast.IncDecStmt:
				refuse(n.X)
			}
		})
	}
	return found
}

// setVar returns the package variable that an assignment changes, or "".
func (f *file) setVar(target ast.Expr) string {
	for {
		if name := f.qualified(target); name != "" {
			return name
		}
		switch e := target.(type) {
		case *ast.Ident:
			v := f.packageVar(e)
			if v == nil || strings.HasSuffix(f.tree.fset.Position(v.Pos()).Filename, "_test.go") {
				return ""
			}
			return e.Name
		case *ast.SelectorExpr:
			target = e.X
		case *ast.IndexExpr:
			target = e.X
		case *ast.StarExpr:
			target = e.X
		case *ast.ParenExpr:
			target = e.X
		default:
			return ""
		}
	}
}

// checkAnys rejects constructors that take ...any: the compiler then finds neither a wrong
// nor a missing value.
func checkAnys(tr *tree) []string {
	var found []string
	for _, f := range tr.product() {
		for _, fn := range f.funcs() {
			params := fn.Type.Params.List
			if len(params) == 0 || fn.Type.Results == nil {
				continue
			}
			if last, ok := params[len(params)-1].Type.(*ast.Ellipsis); ok && isAny(last.Elt) {
				found = append(found, fmt.Sprintf("%s: %s takes ...any: state facts (fact.Of) or take what it needs by type", f.at(fn), fn.Name.Name))
			}
		}
	}
	return found
}

func isAny(e ast.Expr) bool {
	if i, ok := e.(*ast.InterfaceType); ok {
		return len(i.Methods.List) == 0
	}
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "any"
}

// checkLength rejects long functions, except in tests, which may be long tables.
func checkLength(tr *tree) []string {
	var found []string
	for _, f := range tr.product() {
		for _, fn := range f.funcs() {
			from, to := tr.fset.Position(fn.Pos()).Line, tr.fset.Position(fn.End()).Line
			if lines := to - from + 1; lines > maxFuncLines {
				found = append(found, fmt.Sprintf("%s: %s has %d lines; %d is the most", f.at(fn), fn.Name.Name, lines, maxFuncLines))
			}
		}
	}
	return found
}

// checkStoreImports rejects files of cmd/leslie that import the store.
func checkStoreImports(tr *tree) []string {
	var found []string
	for _, f := range tr.product() {
		if spec := f.imports()[module+"/store"]; spec != nil && within(f.dir, "cmd/leslie") {
			found = append(found, f.at(spec)+" imports the store: ask internal/app, which terminal interfaces and servers share")
		}
	}
	return found
}

// checkDocs rejects packages without a package comment, and exported names without a doc
// comment.
func checkDocs(tr *tree) []string {
	var found []string
	documented := map[string]bool{}
	for _, f := range tr.product() {
		documented[f.dir] = documented[f.dir] || f.ast.Doc.Text() != ""
		for _, d := range f.ast.Decls {
			for _, name := range undocumented(d) {
				found = append(found, fmt.Sprintf("%s: %s has no doc comment", f.at(name), name.Name))
			}
		}
	}
	for dir, ok := range documented {
		if !ok {
			found = append(found, dir+": no file has a package comment that says what belongs here")
		}
	}
	return found
}

func undocumented(d ast.Decl) []*ast.Ident {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc.Text() == "" && d.Name.IsExported() && receiverIsExported(d) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		if d.Doc.Text() != "" {
			return nil
		}
		var out []*ast.Ident
		for _, s := range d.Specs {
			out = append(out, undocumentedSpec(s)...)
		}
		return out
	}
	return nil
}

func undocumentedSpec(s ast.Spec) []*ast.Ident {
	var names []*ast.Ident
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Doc.Text()+s.Comment.Text() == "" {
			names = []*ast.Ident{s.Name}
		}
	case *ast.ValueSpec:
		if s.Doc.Text()+s.Comment.Text() == "" {
			names = s.Names
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(id *ast.Ident) bool { return !id.IsExported() })
}

func receiverIsExported(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	exported := false
	ast.Inspect(fn.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !exported {
			exported = id.IsExported()
			return false
		}
		return true
	})
	return exported
}

// emptyName matches names without meaning.
var emptyName = regexp.MustCompile(`(?i)(manager|helper|util)`)

// emptyPackageNames returns names of packages that could contain anything.
func emptyPackageNames() []string {
	return []string{"util", "utils", "common", "helper", "helpers", "types", "manager", "misc", "shared", "base"}
}

// checkEmptyNames rejects names of packages, files and declarations that fit anything.
func checkEmptyNames(tr *tree) []string {
	var found []string
	for _, f := range tr.files {
		if slices.Contains(emptyPackageNames(), path.Base(f.dir)) {
			found = append(found, f.dir+": a package's name says what belongs there")
		}
		if emptyName.MatchString(path.Base(f.path)) {
			found = append(found, f.path+": a file's name says its one idea")
		}
		f.each(func(n ast.Node) {
			if id, ok := n.(*ast.Ident); ok && tr.defs[id] != nil && emptyName.MatchString(id.Name) {
				found = append(found, fmt.Sprintf("%s: the name %s says nothing about what it is", f.at(id), id.Name))
			}
		})
	}
	return found
}

// unfinished matches marks of unfinished work, which belongs in an issue.
var unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)

// checkUnfinished rejects marks of unfinished work in comments.
func checkUnfinished(tr *tree) []string {
	var found []string
	for _, f := range tr.files {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if mark := unfinished.FindString(c.Text); mark != "" {
					found = append(found, fmt.Sprintf("%s: %s: finish it, or write an issue", f.at(c), mark))
				}
			}
		}
	}
	return found
}

// checkSleep rejects tests that really sleep: they are slow, and fail on a busy machine.
// Under testing/synctest sleeping takes no time and is exact.
func checkSleep(tr *tree) []string {
	var found []string
	for _, f := range tr.files {
		if !f.isTest || f.imports()["testing/synctest"] != nil {
			continue
		}
		f.each(func(n ast.Node) {
			if e, ok := n.(ast.Expr); ok && f.qualified(e) == "time.Sleep" {
				found = append(found, f.at(n)+" sleeps: use testing/synctest, or wait for what is awaited")
			}
		})
	}
	return found
}
