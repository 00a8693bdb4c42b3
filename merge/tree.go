package merge

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// This file defines the input and the result of a merge of trees: Input and Plan.
// file.go plans one path, pathconflict.go detects paths that cannot be written,
// conflict.go defines conflicts, and decision.go the choices for them.

// File is a regular file of a tree: the hash of its content, and whether it is
// executable. The zero value means no file.
type File struct {
	Hash       string // SHA-256, 64 hexadecimal digits in lower case
	Size       int64
	Executable bool
}

// There reports whether the file exists.
func (f File) There() bool { return f.Hash != "" }

// same reports whether two files have the same content and executable bit. Two files
// that do not exist are the same.
func (f File) same(g File) bool {
	return f.Hash == g.Hash && (f.Executable == g.Executable || !f.There())
}

// fileOf returns the file with this content.
func fileOf(content []byte, executable bool) File {
	sum := sha256.Sum256(content)
	return File{Hash: hex.EncodeToString(sum[:]), Size: int64(len(content)), Executable: executable}
}

// Tree is one version of a thread's artifacts. Paths are relative, with "/".
type Tree struct {
	Files map[string]File
	// Others has entries that are neither files nor folders (such as links and
	// pipes) or could not be read. The merge never reads or writes through them, and
	// a source's files at or below them count as unchanged, never as deleted.
	Others map[string]bool
}

// hides reports whether a path, or a folder above it, is in Others.
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

// Base is the newest content of a path that a source and the target are known to have
// shared, and how that is known. A file that does not exist means that both lacked
// it, or that nothing was shared.
type Base struct {
	File
	From string // for example "spawn of thread-a"; "" if nothing was shared
	// Detached says that the content was stored next to a thread's files, not among
	// them: it is a base only for files that are clearly derived from it.
	Detached bool
}

// Source is one side of the merge other than the target.
type Source struct {
	ID, Title string
	Tree      Tree
	// Base returns the base of a path; nil means that nothing was ever shared.
	Base func(path string) Base
}

// Input has everything that a plan depends on.
type Input struct {
	Target  string // the target's thread id
	Tree    Tree
	Sources []Source
	// Read returns content by its hash. Make calls it only for files that are merged
	// by lines or shown in a conflict.
	Read func(hash string) ([]byte, error)
	// Decisions has earlier decisions by the id of a conflict or, for the content of
	// a whole path, by Change.ID. Make ignores a decision that does not fit or whose
	// conflict no longer exists.
	Decisions map[string]Decision
	Mergers   []Merger
	// Contested has paths that are in conflict as a whole, and why, whatever their
	// versions say: another program could not merge them.
	Contested map[string]string
}

// Size limits for merging by lines.
const (
	maxBytes = 8 << 20
	maxLines = 200_000
)

// Plan says what a merge would do to the target.
type Plan struct {
	// Files has the paths that change, sorted by their bytes. It includes a path with
	// an open conflict, with Open > 0.
	Files []Change
	// Conflicts has all conflicts, including resolved ones, in the order of Files and
	// hunks. Their ids are unique.
	Conflicts []Conflict
}

// Open returns the number of conflicts that still need a decision.
func (p *Plan) Open() int {
	n := 0
	for _, c := range p.Conflicts {
		if c.Status == Unresolved {
			n++
		}
	}
	return n
}

// How says how the result of a path was determined.
type How string

// The values of How.
const (
	Taken    How = "taken"    // from the one source that changed it
	Merged   How = "merged"   // line by line
	Deleted  How = "deleted"  // a source deleted it and nobody else changed it
	ModeOnly How = "mode"     // only the executable bit changes
	ByList   How = howList    // the list merger proved an answer
	ByTable  How = howTable   // the table merger did
	Decided  How = "resolved" // somebody decided
	Waiting  How = "conflict" // a decision is missing
)

// Change says what the merge does to one path of the target.
type Change struct {
	Path string
	How  How
	// ID identifies all versions of a path in conflict, "" without a conflict. A
	// Decision with this id decides the whole content of the path, and becomes void
	// if any version changes.
	ID     string
	Before File // the file in the target; no file for a new path
	// After is the result if Open is 0. No file means that the path is deleted or not
	// added.
	After File
	// Content is After's content if that is new: merged or decided. It is nil if Read
	// returns it.
	Content []byte
	Open    int // conflicts without a decision
	// Merge is the line merge of a file with conflicts in parts of it, for rendering;
	// nil if the whole file or nothing is in conflict. Resolved conflicts are settled
	// in it.
	Merge *Result
	// Sides has the threads of Merge's sides, the target first.
	Sides []string

	sides []side // the sources' versions
}

// Deletes reports whether the change deletes an existing file.
func (c Change) Deletes() bool { return c.Open == 0 && c.Before.There() && !c.After.There() }

// Idle reports whether the target already has the result, for example because a
// conflict was decided for the target's version.
func (c Change) Idle() bool { return c.Open == 0 && c.After.same(c.Before) }

// Make plans the merge of all sources into the target. The plan depends only on the
// input; for a clean path with one common base, it does not depend on the order of
// the sources. Every change of a source is in Files or in Conflicts, and an open
// conflict never changes the target. Errors: those of Read.
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
}

func (p *planner) gather() *Plan {
	plan := &Plan{}
	for _, f := range p.files {
		plan.Files = append(plan.Files, f.Change)
		plan.Conflicts = append(plan.Conflicts, f.conflicts...)
	}
	return plan
}

// paths returns all paths that take part. A path that neither the target nor a source
// has is not in the plan: all have deleted it.
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

// takesPart reports whether a path is a thread's own artifact, not leslie's.
func takesPart(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != ".meta" && first != "context"
}

// side is one source's version of a path, if it differs from its base and from the
// target's version.
type side struct {
	thread, title string
	base          Base
	file          File
}

// path plans one path. It returns nil if the merge does not change it.
func (p *planner) path(path string) (*planned, error) {
	f := &filePlan{planner: p, path: path, ours: p.in.Tree.Files[path], texts: map[string][]byte{}}
	for _, s := range p.in.Sources {
		if s.Tree.hides(path) {
			continue // the caller that read the tree names it in W204
		}
		next := side{thread: s.ID, title: s.Title, file: s.Tree.Files[path]}
		if s.Base != nil {
			next.base = s.Base(path)
		}
		if next.base.Detached {
			if derived, err := f.derived(next.base.File, f.ours, next.file); err != nil {
				return nil, err
			} else if !derived {
				next.base = Base{}
			}
		}
		changed := !next.file.same(next.base.File) && !next.file.same(f.ours)
		if _, contested := p.in.Contested[path]; changed || contested {
			f.sides = append(f.sides, next)
		}
	}
	if len(f.sides) == 0 {
		return nil, nil
	}
	if _, contested := p.in.Contested[path]; contested {
		return f.whole(PathClash)
	}
	return f.plan()
}

// Marked renders a path with its conflicts, as Change.Marked does.
func (p *Plan) Marked(path string) Marked {
	c, _ := p.change(path)
	return c.Marked(p.Conflicts)
}

// change returns the change of a path.
func (p *Plan) change(path string) (Change, bool) {
	i, ok := slices.BinarySearchFunc(p.Files, path, func(c Change, path string) int { return cmp.Compare(c.Path, path) })
	if !ok {
		return Change{}, false
	}
	return p.Files[i], true
}

// conflictsAt returns the conflicts of a path.
func (p *Plan) conflictsAt(path string) []Conflict {
	var out []Conflict
	for _, d := range p.Conflicts {
		if d.Path == path {
			out = append(out, d)
		}
	}
	return out
}
