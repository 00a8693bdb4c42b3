package source_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// This file parses source: the project's own tree, or a sample of a few files that breaks
// or keeps a rule. It parses the files of every operating system and builds nothing: it
// uses go/types with unresolved imports, which is enough to tell time.Now from a variable
// called time.

// module is the prefix of every package path.
const module = "leslie"

// root is the project's folder, relative to this package.
const root = "../.."

// file is one Go file.
type file struct {
	path   string // from the root, with "/"
	dir    string // its package
	isTest bool
	ast    *ast.File
	tree   *tree
}

// tree holds all Go files of the project or of a sample.
type tree struct {
	fset  *token.FileSet
	files []*file
	uses  map[*ast.Ident]types.Object
	defs  map[*ast.Ident]types.Object
}

// projectTree returns every Go file of the project's module, parsed once for all tests.
func projectTree(t *testing.T) *tree {
	t.Helper()
	tr, err := parsedProject()
	require.NoError(t, err)
	require.NotEmpty(t, tr.files, "the project has Go files")
	return tr
}

var parsedProject = sync.OnceValues(func() (*tree, error) {
	sources := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(name)
		}
		if strings.HasSuffix(name, ".go") {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			rel, err := relative(name)
			if err != nil {
				return err
			}
			sources[rel] = string(text)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return parse(sources)
})

// enter skips what the go command skips: hidden folders, testdata, and other modules.
func enter(name string) error {
	base := filepath.Base(name)
	if name == root {
		return nil
	}
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func relative(name string) (string, error) {
	rel, err := filepath.Rel(root, name)
	return filepath.ToSlash(rel), err
}

// parseTree parses the sources of a sample, by path.
func parseTree(t *testing.T, sources map[string]string) *tree {
	t.Helper()
	tr, err := parse(sources)
	require.NoError(t, err)
	return tr
}

func parse(sources map[string]string) (*tree, error) {
	tr := &tree{fset: token.NewFileSet(), uses: map[*ast.Ident]types.Object{}, defs: map[*ast.Ident]types.Object{}}
	packages := map[string][]*ast.File{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		parsed, err := parser.ParseFile(tr.fset, name, sources[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		dir := path.Dir(name)
		tr.files = append(tr.files, &file{path: name, dir: dir, isTest: strings.HasSuffix(name, "_test.go"), ast: parsed, tree: tr})
		key := dir + " " + parsed.Name.Name
		packages[key] = append(packages[key], parsed)
	}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	for key, files := range packages {
		// Errors are expected: imports are not resolved and the files of
		// several operating systems define a name twice.
		_, _ = config.Check(key, tr.fset, files, &types.Info{Uses: tr.uses, Defs: tr.defs})
	}
	return tr, nil
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not resolved") }

// product returns the files that are not tests.
func (tr *tree) product() []*file {
	var out []*file
	for _, f := range tr.files {
		if !f.isTest {
			out = append(out, f)
		}
	}
	return out
}

// at returns a node's file and line.
func (f *file) at(n ast.Node) string {
	p := f.tree.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// imports returns the paths that the file imports, each with its spec.
func (f *file) imports() map[string]*ast.ImportSpec {
	out := map[string]*ast.ImportSpec{}
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out[p] = spec
		}
	}
	return out
}

// qualified returns an expression such as "time.Now" with its whole import path, or "" if
// it is not a name of another package.
func (f *file) qualified(e ast.Expr) string {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	if pkg, ok := f.tree.uses[id].(*types.PkgName); ok {
		return pkg.Imported().Path() + "." + sel.Sel.Name
	}
	return ""
}

// packageVar returns the package-level variable that an identifier refers to, or nil.
func (f *file) packageVar(id *ast.Ident) *types.Var {
	obj := f.tree.uses[id]
	if obj == nil {
		obj = f.tree.defs[id]
	}
	v, ok := obj.(*types.Var)
	if !ok || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() {
		return nil
	}
	return v
}

// funcs returns the file's functions and methods.
func (f *file) funcs() []*ast.FuncDecl {
	var out []*ast.FuncDecl
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			out = append(out, fn)
		}
	}
	return out
}

// each calls visit with every node of the file.
func (f *file) each(visit func(ast.Node)) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if n != nil {
			visit(n)
		}
		return true
	})
}
