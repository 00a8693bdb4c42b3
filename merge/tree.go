package merge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// This file says what a merge of trees is made from and what comes of it: Input
// and Plan. How one path is planned is in file.go; what keeps a planned path
// from being written in obstacle.go; conflicts in conflict.go, what may be chosen
// for them in decision.go.

// File is a regular file of a tree: its content by hash, and whether it can be
// executed. The zero value is no file.
type File struct {
	Hash       string // SHA-256, 64 hexadecimal digits in lower case
	Size       int64
	Executable bool
}

// There reports whether there is a file.
func (f File) There() bool { return f.Hash != "" }

// same reports whether two files hold the same and can both be executed or not;
// two that are not there are the same.
func (f File) same(g File) bool {
	return f.Hash == g.Hash && (f.Executable == g.Executable || !f.There())
}

// fileOf is the file that holds content.
func fileOf(content []byte, executable bool) File {
	sum := sha256.Sum256(content)
	return File{Hash: hex.EncodeToString(sum[:]), Size: int64(len(content)), Executable: executable}
}

// Tree is one version of a thread's artifacts. Paths are relative and have "/".
type Tree struct {
	Files map[string]File
	// Others are entries that are neither files nor folders (links, pipes and the
	// like) and whatever could not be read. Nothing is read or written through
	// them, and what a source has there or below counts as unchanged, never as
	// deleted.
	Others map[string]bool
}

// hides reports whether something that is no readable file stands at a path or
// above it.
func (t Tree) hides(path string) bool {
	if len(t.Others) == 0 {
		return false
	}
	for dir := path; dir != ""; dir = parent(dir) {
		if t.Others[dir] {
			return true
		}
	}
	return false
}

// Base is the newest content of a path that a source and the target are known
// to have shared, and where that is known from. A file that is not there means
// that both lacked it, or that nothing was shared.
type Base struct {
	File
	From string // "spawn of thread-a", say; "" when nothing was shared
	// Detached says that the content lay beside a thread's files, not among them: it
	// is the base only of files that evidently go on from it.
	Detached bool
}

// Source is one side that brings changes.
type Source struct {
	ID, Title string
	Tree      Tree
	// Base gives the base of a path; nil means that nothing was ever shared.
	Base func(path string) Base
}

// Input is what a merge is planned from.
type Input struct {
	Target  string // the target's thread id
	Tree    Tree
	Sources []Source
	// Read gives content by its hash. It is asked only for what is merged by
	// lines or shown in a conflict.
	Read func(hash string) ([]byte, error)
	// Decisions are what was decided before: by the id of a conflict or, for the
	// content of a whole path, by Change.ID. One that does not fit, and one whose
	// conflict is no more, is ignored.
	Decisions map[string]Decision
	Mergers   []Merger
}

// Limits of what is merged by lines.
const (
	maxBytes = 8 << 20
	maxLines = 200_000
)

// Plan is what a merge would do to the target.
type Plan struct {
	// Files are the paths that change, in order of their bytes. A path with an
	// open conflict is among them with Open > 0.
	Files []Change
	// Conflicts are all, decided ones too, in the order of Files and hunks. Their
	// ids are unique.
	Conflicts []Conflict
}

// Open counts the conflicts that still need a decision.
func (p *Plan) Open() int {
	n := 0
	for _, c := range p.Conflicts {
		if c.Status == Unresolved {
			n++
		}
	}
	return n
}

// How says how a path was settled.
type How string

// The ways.
const (
	Taken    How = "taken"    // from the one source that changed it
	Merged   How = "merged"   // line by line
	Deleted  How = "deleted"  // a source deleted what nobody else changed
	ModeOnly How = "mode"     // only the executable bit changes
	ByList   How = "list"     // a merger proved an answer
	Decided  How = "resolved" // somebody decided
	Waiting  How = "conflict" // somebody has to
)

// Change is what happens to one path of the target.
type Change struct {
	Path string
	How  How
	// ID stands for all versions of the path as they are in conflict, "" without
	// one. A Decision under it gives the path its whole content, and is void when
	// any version changes.
	ID     string
	Before File // what the plan found at the target; nothing for a new path
	// After is what the path gets when Open is 0; not there means that the path
	// goes, or does not come.
	After File
	// Content is After's content where that is new: merged or decided. It is nil
	// where Read gives it.
	Content []byte
	Open    int // conflicts without a decision
	// Merge is the line merge behind conflicts that lie in parts of the file, for
	// rendering; nil where the file is in conflict as a whole or in none. Decided
	// conflicts are settled in it.
	Merge *Result
	// Sides names the threads of Merge's sides, the target first.
	Sides []string
}

// Deletes reports whether the change takes away a file that is there.
func (c Change) Deletes() bool { return c.Open == 0 && c.Before.There() && !c.After.There() }

// Idle reports whether the target holds already what the change leads to, as
// when a conflict was decided for the target's own version.
func (c Change) Idle() bool { return c.Open == 0 && c.After.same(c.Before) }

// Make plans the merge of all sources into the target. The plan depends on
// nothing but the input, and for a clean path of one common base not on the
// order of the sources. Every change of a source is in Files or in Conflicts,
// and no open conflict changes the target. Errors are those of Read.
func Make(in Input) (*Plan, error) {
	p := &planner{in: in, ids: identities{}}
	for _, path := range p.paths() {
		file, err := p.path(path)
		if err != nil {
			return nil, err
		}
		if file != nil {
			p.files = append(p.files, file)
		}
	}
	p.pathConflicts()
	return p.gather(), nil
}

type planner struct {
	in    Input
	ids   identities
	files []*planned
}

// planned is one path's part of the plan.
type planned struct {
	Change
	conflicts []Conflict
	sides     []side
}

func (p *planner) gather() *Plan {
	plan := &Plan{}
	for _, f := range p.files {
		plan.Files = append(plan.Files, f.Change)
		plan.Conflicts = append(plan.Conflicts, f.conflicts...)
	}
	return plan
}

// paths are all paths that take part. One that neither the target nor a source
// holds is in no plan: what all deleted is deleted.
func (p *planner) paths() []string {
	all := map[string]bool{}
	trees := []Tree{p.in.Tree}
	for _, s := range p.in.Sources {
		trees = append(trees, s.Tree)
	}
	for _, tree := range trees {
		for path := range tree.Files {
			all[path] = takesPart(path)
		}
	}
	maps.DeleteFunc(all, func(_ string, takes bool) bool { return !takes })
	return slices.Sorted(maps.Keys(all))
}

// takesPart is false for what a thread does not write itself.
func takesPart(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != ".meta" && first != "context"
}

// side is one source at a path that differs from what it began from and from
// what the target holds.
type side struct {
	thread, title string
	base          Base
	file          File
}

// path plans one path; nil when nothing happens to it.
func (p *planner) path(path string) (*planned, error) {
	f := &filePlan{planner: p, path: path, ours: p.in.Tree.Files[path], texts: map[string][]byte{}}
	for _, s := range p.in.Sources {
		if s.Tree.hides(path) {
			continue // named in W204 by whoever read the tree
		}
		next := side{thread: s.ID, title: s.Title, file: s.Tree.Files[path]}
		if s.Base != nil {
			next.base = s.Base(path)
		}
		if next.base.Detached {
			if goOn, err := f.goOn(next.base.File, f.ours, next.file); err != nil {
				return nil, err
			} else if !goOn {
				next.base = Base{}
			}
		}
		if !next.file.same(next.base.File) && !next.file.same(f.ours) {
			f.sides = append(f.sides, next)
		}
	}
	if len(f.sides) == 0 {
		return nil, nil
	}
	return f.plan()
}

// Marked renders a path with its conflicts, as Change.Marked does.
func (p *Plan) Marked(path string) Marked {
	c, _ := p.change(path)
	return c.Marked(p.Conflicts)
}

// change finds the change of a path.
func (p *Plan) change(path string) (Change, bool) {
	i, ok := slices.BinarySearchFunc(p.Files, path, func(c Change, path string) int { return cmp.Compare(c.Path, path) })
	if !ok {
		return Change{}, false
	}
	return p.Files[i], true
}

// conflicts are the conflicts of a path.
func (p *Plan) conflictsAt(path string) []Conflict {
	var out []Conflict
	for _, d := range p.Conflicts {
		if d.Path == path {
			out = append(out, d)
		}
	}
	return out
}
