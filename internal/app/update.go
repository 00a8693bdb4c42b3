package app

import (
	"path/filepath"
	"slices"
	"strings"

	"leslie/thread"
)

// UpdateRequest changes a thread's own fields; a nil field is not changed.
type UpdateRequest struct {
	Thread string // "": the thread that the caller speaks for
	thread.Edit
}

// Faults returns what is wrong with the request. Faults of dropped values use the
// names of the added ones (AddTags, AddDepends).
func (in UpdateRequest) Faults(name Names) []Fault {
	k := newChecks(name)
	if in.Title != nil {
		k.needed("Title", *in.Title)
		k.title("Title", *in.Title)
	}
	if in.Intent != nil {
		k.content("Intent", *in.Intent)
	}
	k.tags("AddTags", in.AddTags)
	k.ids("AddDepends", slices.Concat(in.AddDepends, in.DropDepend)...)
	for _, edit := range []struct {
		field     string
		add, drop []string
	}{{"AddTags", in.AddTags, in.DropTags}, {"AddDepends", in.AddDepends, in.DropDepend}} {
		for _, v := range edit.add {
			if slices.Contains(edit.drop, v) {
				k.add(edit.field, v, "both adds and drops %s", quoted(v))
			}
		}
	}
	return k.faults
}

// UpdateResult is the thread after the change.
type UpdateResult struct {
	ThreadRecord
	Change
}

// Update changes a thread's own fields. A worktree is a folder, absolute or relative
// to the project's root. With a new intent, a title that was the first line of the old
// one becomes the first line of the new one. A thread owns the code of a worktree of the
// project's repository that it is given. Errors: T903 (also for a dependency on the
// thread itself), T101, T105, T107 for an archived thread, T108, T201 if dependencies
// would form a cycle, T803 for another worktree or branch than those that leslie made for
// the thread, and those of a write.
func Update(c *Call, in UpdateRequest) (*UpdateResult, error) {
	if err := refused(in.Faults(nil)); err != nil {
		return nil, err
	}
	id, edit := c.threadOr(in.Thread), in.Edit
	if edit.Worktree != nil {
		place := c.project.worktree(*edit.Worktree)
		edit.Worktree = &place
	}
	found, err := namedWorktree(c, id, edit)
	if err != nil {
		return nil, err
	}
	return write(c, func(s *thread.State, stamp thread.Stamp) (*UpdateResult, thread.ThreadID, error) {
		if err := respectClaim(c, s, id, stamp); err != nil {
			return nil, "", err
		}
		edit := edit
		was, err := s.Thread(id)
		if err == nil && edit.Intent != nil && edit.Title == nil && was.Title == firstLine(was.Intent) {
			title := firstLine(*edit.Intent)
			edit.Title = &title
		}
		if edit.Branch == nil && found != nil {
			edit.Branch = &found.branch
		}
		t, err := s.Edit(id, edit, stamp)
		if err == nil && (edit.Branch != nil || edit.Worktree != nil) {
			t, err = s.Rehome(was, t, found.code(), stamp)
		}
		if err != nil {
			return nil, "", err
		}
		return &UpdateResult{ThreadRecord: threadOf(c, t)}, t.ID, nil
	})
}

// worktree returns a folder as stored in a thread: relative to the project's root if
// it is inside it, otherwise absolute.
func (p *Project) worktree(dir string) string {
	if dir == "" {
		return ""
	}
	dir = p.absolute(dir)
	if rel, err := filepath.Rel(p.root, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(rel)
	}
	return dir
}

// absolute returns a folder, absolute or from the project's root, as an absolute one.
func (p *Project) absolute(dir string) string {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.root, dir)
	}
	return filepath.Clean(dir)
}
