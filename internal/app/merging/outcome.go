package merging

import (
	"strings"
	"time"

	"leslie/internal/git"
	"leslie/merge"
	"leslie/thread"
)

// Outcome is one file of the target as the merge would leave it.
type Outcome struct {
	Path string
	// After is the file; no file where the merge deletes it. With open conflicts it has
	// the conflicts between markers.
	After merge.File
	// Open is the number of conflicts that wait for a decision. Kept: one of them is
	// about the whole file, so that the target's file stays until then.
	Open    int
	Kept    bool
	content []byte
}

// View is what the person is told and shown about a session.
type View struct{ *Session }

// View returns what the person is told and shown.
func (s *Session) View() View { return View{s} }

// Version is a file of a thread that takes part in a merge.
type Version struct {
	Size     int64
	Modified time.Time // zero if unknown
}

// Versions returns the file of each side of a conflict, in their order, and that of the
// base: the zero value where there is none.
func (s View) Versions(c merge.Conflict) (sides []Version, base Version) {
	for _, side := range c.Sides {
		v := Version{}
		for _, one := range s.inputs.parties() {
			if f, ok := one.manifest.Find(c.Path); ok && string(one.ID) == side.Thread {
				v = Version{f.Size, f.ModTime}
			}
		}
		sides = append(sides, v)
	}
	if len(c.Sides) > 1 {
		if _, was := s.inputs.version(s.planned.code, c.Sides[1].Thread, c.Path); was.Hash == c.Base.Hash {
			base.Size = was.Size
		}
	}
	return sides, base
}

// Titles returns the titles of the threads that take part, by their ids.
func (s View) Titles() map[string]string {
	out := map[string]string{}
	for _, one := range s.inputs.parties() {
		out[string(one.ID)] = one.Title
	}
	return out
}

// Target returns the thread into which the session merges.
func (s View) Target() thread.ThreadID { return s.record.Target }

// Reused returns how many decisions were taken over from a merge that was undone.
func (s View) Reused() int { return s.reused }

// Into names where the merge goes: the target, or the branch on which that lands.
func (s View) Into() string { return s.record.Into() }

// Sources returns the threads from which the session merges, in the order of the merge.
func (s View) Sources() []thread.ThreadID { return s.record.Sources }

// Outdated returns the work files with edits that do not fit what the sides are now, from
// the project's root.
func (s View) Outdated() (out []string) {
	for _, path := range s.outdated {
		out = append(out, workPath(s.record.ID, path))
	}
	return out
}

// Files returns what the merge does to each path of its target as it is planned now.
func (s View) Files() []merge.Change { return s.plan.Files }

// Foresee returns what the merge would do to each path with more answers, which are not
// recorded. Errors: T903 for an answer that does not fit, T509.
func (s View) Foresee(answers ...Answer) ([]merge.Change, error) {
	planned, err := planWith(s.Session, answers)
	if err != nil {
		return nil, err
	}
	return planned.plan.Files, nil
}

// Contents returns the content of a path before and after the merge, nil for no file.
// Errors: T507, T508, T509.
func (s View) Contents(f merge.Change) (before, after []byte, err error) {
	if f.Before.There() {
		if before, err = s.inputs.reader.content(f.Before.Hash); err != nil {
			return nil, nil, err
		}
	}
	if after = f.Content; after == nil && f.After.There() {
		after, err = s.inputs.reader.content(f.After.Hash)
	}
	return before, after, err
}

// Outcomes returns the paths that the merge changes or that wait for a decision, in
// order.
func (s *Session) Outcomes() []Outcome {
	var out []Outcome
	for _, f := range s.plan.Files {
		o := Outcome{Path: f.Path, After: f.After, Open: f.Open, content: f.Content}
		switch {
		case f.Open > 0 && f.Merge == nil:
			o.Kept = true
		case f.Open > 0:
			o.content = f.Marked(s.plan.Conflicts).Text
			o.After = merge.File{Hash: string(blobOf(o.content)), Size: int64(len(o.content)), Executable: f.Before.Executable}
		}
		out = append(out, o)
	}
	return out
}

// OutcomeContent returns the content of a file that the merge leaves. Errors: T507, T508, T509.
func (s *Session) OutcomeContent(o Outcome) ([]byte, error) {
	if o.content != nil {
		return o.content, nil
	}
	return s.inputs.reader.content(o.After.Hash)
}

// CodeDiff is what a merge does to the code of its target, as far as it is decided.
type CodeDiff struct {
	Repo   *git.Repo
	Branch string     // on which it lands
	Into   string     // the target, or the branch where that is no thread's
	From   git.Commit // to which it is added
	// Tree is what the merge makes of it: with open conflicts between markers, and the file that
	// is there already where a conflict is about the whole file.
	Tree string
	// Open has the number of open conflicts by the file's path from the top of the repository.
	Open map[string]int
}

// CodeDiff returns what the merge does to the code; nil if it brings none. Sources behind the
// first one with an open conflict are left out: what they do depends on how it is decided. It
// writes objects. Errors: T801.
func (s View) CodeDiff() (*CodeDiff, error) {
	in := s.inputs.code
	if in == nil {
		return nil, nil
	}
	d := &CodeDiff{Repo: in.repo, Branch: in.branch, Into: in.into, From: in.tip, Tree: s.planned.code.tree, Open: map[string]int{}}
	for _, f := range s.plan.Files {
		if path, is := strings.CutPrefix(f.Path, codePrefix); is && f.Open > 0 {
			d.Open[path] = f.Open
		}
	}
	if open := s.planned.code.open; open != nil {
		var err error
		if d.Tree, err = in.resolved(open.merged, open.plan); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Hash is the content's hash.
func (o Outcome) Hash() thread.BlobID { return thread.BlobID(o.After.Hash) }
