package git

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file finds what a worktree has beyond its commits: files that differ from the index,
// and files that git does not track or ignores.

// Limits of what is kept of what git ignores.
const (
	ignoredSize  = 1 << 20 // of one file, in bytes
	ignoredFiles = 1000    // of one folder that is ignored as a whole
	ignoredTotal = 64 << 20
)

// extent says what of a worktree is looked at.
type extent int

const (
	// everything: also what git ignores; repositories within prevent it.
	everything extent = iota
	// ownWork leaves out what git ignores, and repositories within.
	ownWork
	// amount is everything, but of tracked files only how many have changed: git says it of all but
	// those at which it was told not to look.
	amount
)

// survey is what a worktree has.
type survey struct {
	w      Worktree
	extent extent
	files  *folder
	status Status
	// differs has the tracked paths whose bytes are not the object in the index; converted
	// those of them that git writes itself when it checks the object out.
	differs, gone, converted    []string
	untracked, ignored, dropped []string
	changed                     int
}

func (w Worktree) survey(ctx context.Context, extent extent) (*survey, error) {
	if err := w.CheckIdle(); err != nil {
		return nil, err
	}
	s := &survey{w: w, extent: extent, files: newFolder(w.Dir)}
	var err error
	if s.status, err = w.Status(ctx); err != nil {
		return nil, err
	}
	switch {
	case len(s.status.Unmerged) > 0:
		return nil, w.busy("A merge (" + s.status.Unmerged[0] + " is not resolved)")
	case s.status.Head == "":
		return nil, w.busy("A branch without a commit")
	}
	if err := s.others(ctx); err != nil {
		return nil, err
	}
	if err := s.tracked(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (w Worktree) busy(what string) *codes.Error {
	return codes.WorktreeBusy.New(fact.Of("path", w.Dir), fact.Of("what", what))
}

// ownRepository is T805 for a folder with commits that are nowhere else.
func (w Worktree) ownRepository(name string) error {
	return codes.WorktreeBusy.New(fact.Of("path", w.Dir), fact.Of("what", "Work in a repository of its own ("+name+")")).
		WithHint("leslie does not look into submodules and nested repositories: push what only it has, and take it out of the worktree (git submodule deinit, or move it away), then repeat the call")
}

// tracked compares each file of the index with its object.
func (s *survey) tracked(ctx context.Context) error {
	out, err := s.w.run(ctx, command{options: []string{"--no-optional-locks"}, args: []string{"ls-files", "-v", "--stage", "-z"}})
	if err != nil {
		return broken(err)
	}
	dirty := map[string]bool{}
	for _, name := range s.status.Dirty {
		dirty[name] = true
	}
	s.changed = len(s.status.Dirty)
	for _, line := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, name, _ := strings.Cut(line, "\t")
		field := strings.Fields(head) // tag, mode, object, stage
		if len(field) != 4 {
			continue
		}
		if field[1] == "160000" {
			if s.extent != ownWork && s.files.filled(name) {
				return s.w.ownRepository(name)
			}
			continue
		}
		hidden := field[0] != "H" // git was told not to look at it
		if s.extent == amount && !hidden {
			continue
		}
		is, err := s.files.blob(name, s.w.repo.hash)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.gone = append(s.gone, name)
		case err != nil:
			return err
		case is.Object == field[2] && is.Mode == field[1]:
			if is.size == 0 { // perhaps only its name was added, and the index as a tree lacks it
				s.differs = append(s.differs, name)
			}
		case !hidden && !dirty[name] && is.size > ignoredSize:
			s.converted = append(s.converted, name)
		default:
			s.differs = append(s.differs, name)
			if hidden && !dirty[name] {
				s.changed++
			}
		}
	}
	return nil
}

// others finds the files that git does not track.
func (s *survey) others(ctx context.Context) error {
	if s.extent == ownWork {
		all, err := s.list(ctx, "--others", "--exclude-standard")
		for _, name := range all {
			if !strings.HasSuffix(name, "/") && !s.files.ownGit(name) {
				s.untracked = append(s.untracked, name)
			}
		}
		return err
	}
	if err := s.files.readable(); err != nil {
		return err // git would pass over what is in it
	}
	all, err := s.list(ctx, "--others")
	if err != nil {
		return err
	}
	ignored, err := s.list(ctx, "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return err
	}
	dirs := map[string]*total{} // ignored as a whole
	files := map[string]bool{}
	for _, name := range ignored {
		if strings.HasSuffix(name, "/") {
			dirs[name] = &total{}
		} else {
			files[name] = true
		}
	}
	var kept []string
	for _, name := range all {
		if strings.HasSuffix(name, "/") || s.files.ownGit(name) {
			return s.w.ownRepository(strings.TrimSuffix(name, "/"))
		}
		dir, within := above(name, dirs)
		if !within && !files[name] {
			s.untracked = append(s.untracked, name)
			continue
		}
		info, err := s.files.lstat(name)
		if err != nil {
			return err
		}
		if info.Size() > ignoredSize {
			s.dropped = append(s.dropped, name)
			continue
		}
		kept = append(kept, name)
		if within {
			dir.files++
			dir.size += info.Size()
		}
	}
	for name, t := range dirs {
		if t.large() {
			s.dropped = append(s.dropped, name)
		}
	}
	for _, name := range kept {
		if dir, within := above(name, dirs); !within || !dir.large() {
			s.ignored = append(s.ignored, name)
		}
	}
	return nil
}

// total is how much an ignored folder has.
type total struct {
	files int
	size  int64
}

func (t total) large() bool { return t.files > ignoredFiles || t.size > ignoredTotal }

// above returns the folder of a set that a file is in.
func above(name string, dirs map[string]*total) (*total, bool) {
	for i := range len(name) {
		if name[i] == '/' {
			if t, ok := dirs[name[:i+1]]; ok {
				return t, true
			}
		}
	}
	return nil, false
}

func (s *survey) list(ctx context.Context, options ...string) ([]string, error) {
	out, err := s.w.run(ctx, command{options: []string{"--no-optional-locks"}, args: append([]string{"ls-files", "-z"}, options...)})
	if err != nil {
		return nil, broken(err)
	}
	return splitNames(out), nil
}

func splitNames(out []byte) []string {
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 })
}
