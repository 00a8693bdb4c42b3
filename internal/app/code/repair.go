package code

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
)

// This file finds the code of threads after somebody moved the project, worktrees, or both,
// as git worktree repair does.

// RepairRequest names the folders to which worktrees were moved. What is still where it
// was, or beside it, or in the same place from the moved project, is found without.
type RepairRequest struct {
	Folders []string // absolute
}

// RepairResult says which worktrees were found, and which were not.
type RepairResult struct {
	Repaired []RepairedCode `json:"repaired"`
	Left     []LeftCode     `json:"left"`
	app.Change
}

// RepairedCode is the code of a thread that was found.
type RepairedCode struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Worktree string          `json:"worktree"`
	Was      string          `json:"was"` // where it was recorded
}

// Repair finds the worktrees of threads again: it records where the repository and they
// are, and has them and the repository name each other. It touches no worktree of the
// repository of which the project is a copy. Errors: T903 for a folder that is the worktree
// of no thread; T801, T805, those of a write.
func Repair(c *app.Call, in RepairRequest) (*RepairResult, error) {
	if first, ok, err := app.Answered[RepairResult](c); ok || err != nil {
		return first, err
	}
	var owners []thread.Thread
	if _, err := c.View(func(s *thread.State) error { owners = s.ThreadsWithCode(); return nil }); err != nil {
		return nil, err
	}
	repo, err := OpenRepo(c)
	if err != nil {
		return nil, err
	}
	found, left, used := map[thread.ThreadID]codePlace{}, []LeftCode{}, map[string]bool{}
	for _, t := range owners {
		place, problem := PlaceOf(c, repo, t, in.Folders)
		used[place.Dir] = true
		switch {
		case problem != "":
			left = append(left, LeftCode{t.ID, WorktreeDir(c, t), problem})
		case place.Moved:
			found[t.ID] = place
		}
	}
	for _, dir := range in.Folders {
		if !used[dir] {
			return nil, app.FaultsError([]app.Fault{{Field: "DIR", Value: dir, Problem: app.Quoted(dir) + " is the worktree of no thread of this project"}})
		}
	}
	rejoined := false
	for _, t := range owners {
		if place, ok := found[t.ID]; ok && place.Dir != "" {
			release, err := Hold(c, t.ID)
			if err != nil {
				return nil, err
			}
			changed, err := place.LinkBothWays()
			release()
			if err != nil {
				return nil, err
			}
			rejoined = rejoined || changed
		}
	}
	d, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*RepairResult, thread.ThreadID, error) {
		d := &RepairResult{Repaired: []RepairedCode{}, Left: left}
		for _, was := range owners {
			place, ok := found[was.ID]
			now, err := s.OwnCode(string(was.ID))
			if !ok || err != nil || now.Worktree != was.Worktree || now.OwnedCode().Repo != was.OwnedCode().Repo || now.OwnedCode().State != was.OwnedCode().State {
				continue // it changed since, or it is where it was
			}
			worktree := was.Worktree
			if place.Dir != "" {
				worktree = c.Project().Worktree(place.Dir)
			}
			if _, err := s.MoveCode(was.ID, repo.Admin, place.Admin, worktree, stamp); err != nil {
				return nil, "", err
			}
			d.Repaired = append(d.Repaired, RepairedCode{was.ID, c.Project().Absolute(worktree), WorktreeDir(c, was)})
		}
		return d, "", nil
	})
	if err == nil && rejoined {
		d.SetChanged(true)
	}
	return d, err
}

// codePlace is where the code of a thread is. Dir is "" if the worktree's files were not
// found.
type codePlace struct {
	git.Worktree
	Moved bool // it is not where it was, or its repository is not
}

// PlaceOf finds where a thread's code is, among folders too; problem says why it was
// not found, "" if it was, or is where it was, or has none.
func PlaceOf(c *app.Call, repo *git.Repo, t thread.Thread, folders []string) (place codePlace, problem string) {
	code, dir := t.OwnedCode(), WorktreeDir(c, t)
	if code.Repo == "" {
		return codePlace{}, "" // another machine's
	}
	place = codePlace{Worktree: repo.Worktree("", code.Admin), Moved: code.Repo != repo.Admin}
	if place.Moved && code.Admin != "" {
		below, err := filepath.Rel(code.Repo, code.Admin)
		if err != nil {
			return place, "its folder " + code.Admin + " is in no repository"
		}
		place.Admin = filepath.Join(repo.Admin, below)
	}
	copied := place.Moved && !FolderMissing(code.Repo) && !sameFolders(code.Repo, repo.Admin)
	switch has := place.Admin != "" && place.Has(t.Branch); {
	case place.Moved && !has && c.Project().Machine() != "":
		return codePlace{}, "" // it may be another machine's
	case code.State == thread.CodeRemoved || code.State == thread.CodeMaking:
		if copied {
			problem = copyOf(code.Repo)
		}
		return place, problem
	case !place.Moved && (!FolderMissing(dir) || FolderMissing(code.Admin)):
		return codePlace{}, "" // it is where it was, or lost for good
	case !place.Moved && code.State == thread.CodeRemoving:
		return codePlace{}, "" // its removal has moved it aside, and goes on when it is called again
	}
	for _, one := range slices.Concat(folders, likelyPlaces(c, repo, t), []string{repo.Worktree(dir, place.Admin).MovedTo()}) {
		if place.IsAt(one, code.Admin) {
			place.Dir, place.Moved = one, true
			return place, ""
		}
	}
	switch {
	case copied:
		return place, copyOf(code.Repo)
	case !place.Moved:
		return codePlace{}, "its worktree " + dir + " is not there: leslie code restore " + string(t.ID) + " makes it again; if it was moved: leslie code repair DIR"
	}
	return place, ""
}

func copyOf(repo string) string {
	return "it is in the repository " + repo + ", which is there: this project is a copy of that one"
}

func sameFolders(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// likelyPlaces returns the folders in which a thread's worktree may be: where it was, where
// that is from the moved repository, and what is beside them.
func likelyPlaces(c *app.Call, repo *git.Repo, t thread.Thread) (places []string) {
	dir := WorktreeDir(c, t)
	places = []string{dir}
	if below, err := filepath.Rel(filepath.Dir(t.OwnedCode().Repo), dir); err == nil {
		places = append(places, filepath.Join(repo.Top, below))
	}
	if names, err := NamesNow(c, repo); err == nil {
		places = append(places, filepath.Join(names.dir, filepath.Base(dir)))
	}
	for _, one := range slices.Clone(places) {
		entries, _ := os.ReadDir(filepath.Dir(one))
		for _, e := range entries {
			if e.IsDir() && !strings.HasSuffix(e.Name(), ".leslie-removed") {
				places = append(places, filepath.Join(filepath.Dir(one), e.Name()))
			}
		}
	}
	return places
}

// MovedText says of a thread's code that it was moved, and which line records that; "" if
// it is where it was.
func MovedText(c *app.Call, repo *git.Repo, t thread.Thread) string {
	place, problem := PlaceOf(c, repo, t, nil)
	switch {
	case place.Moved && problem != "":
		return problem
	case place.Moved && t.OwnedCode().Repo != repo.Admin:
		return RepoMovedText(t.OwnedCode().Repo)
	case place.Moved:
		return "its worktree was moved to " + place.Dir + ": leslie code repair records that"
	}
	return ""
}

// RepoMovedText says that a repository is not where it was.
func RepoMovedText(from string) string {
	return "its repository was moved from " + from + ": leslie code repair records where it is"
}

// inAnotherRepo is T801 for code that is not in the project's repository.
func inAnotherRepo(id thread.ThreadID, was string, repo *git.Repo) *codes.Error {
	e := codes.GitUnavailable.New(fact.Of("reason", "the code of '"+string(id)+"' is in the repository "+was+", and the project is in "+repo.Admin),
		fact.Of("threadId", id))
	if FolderMissing(was) {
		return e.WithHint("If the project was moved, leslie code repair finds its worktrees").WithNext("leslie code " + string(id))
	}
	return e.WithHint("That repository is there, and its worktrees are its own. Work there, or spawn other threads here").WithNext("leslie code " + string(id))
}
