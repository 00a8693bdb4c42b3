package projects

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/store"
	"leslie/thread"
)

// This file takes leslie out of a project again.

// RemoveRequest takes leslie out of a project.
type RemoveRequest struct {
	Yes bool // do it; otherwise the answer says what would go
	// Without returns a text without the block of AgentsFile.
	Without func(text []byte) []byte
}

// RemoveResult says what went, or would go.
type RemoveResult struct {
	Root    string `json:"root"`
	Removed bool   `json:"removed"`
	Threads int    `json:"threads"`
	// Files are the files outside of the store that lose leslie's lines, or go because nothing else is in them.
	Files []string `json:"files"`
	// Refs is how many refs of leslie the repository has; Only are those whose commits no branch has.
	Refs int       `json:"refs"`
	Only []OnlyRef `json:"only"`
	app.Change
}

// OnlyRef is a ref with commits that no branch has.
type OnlyRef struct {
	Ref    string     `json:"ref"`
	Commit git.Commit `json:"commit"`
}

// Remove takes leslie out of a project: its block in AgentsFile, the refs that it made, and the folder with
// the store. Code that threads own has to be landed or dropped before. Errors: T402 for an agent; T903 while threads own
// code, or a run goes on; T501, T505, T507, T509, T801.
func Remove(c *app.Call, in RemoveRequest) (*RemoveResult, error) {
	if err := mayTakeOut(c, "leslie init --remove"); err != nil {
		return nil, err
	}
	c.ReadOnly()
	d := &RemoveResult{Root: c.Project().Root(), Files: []string{}, Only: []OnlyRef{}}
	owners, err := d.look(c)
	if err != nil {
		return nil, err
	}
	if len(owners) > 0 {
		ids := make([]string, len(owners))
		for i, t := range owners {
			ids[i] = string(t.ID)
		}
		return nil, codes.InvalidArgument.New(fact.Of("reason", "threads own code: "+strings.Join(ids, ", ")), fact.Of("threads", ids)).
			WithHint("Land it (leslie land ID) or throw it away (leslie drop ID) first, so that nothing of it is lost").WithNext("leslie code")
	}
	found, err := d.find(c, in.Without)
	if err != nil || !in.Yes {
		return d, err
	}
	return d, d.take(c, found)
}

// mayTakeOut is T402 for an agent; line is what a person runs.
func mayTakeOut(c *app.Call, line string) error {
	if err := app.MayChangeOwn(*c.Project().Environment(), c.Caller()); err != nil {
		return codes.PermissionDenied.New(fact.Of("capability", "taking leslie out of a project")).
			WithHint("A person decides that, in a terminal of their own: " + line).WithNext("leslie status")
	}
	return nil
}

// remains are what leslie has put outside of the store.
type remains struct {
	repo  *git.Repo // nil where there is none
	refs  map[string]git.Commit
	texts map[string][]byte // of d.Files; nil for one that goes
}

// find finds leslie's refs and its lines in files. Errors: T801.
func (d *RemoveResult) find(c *app.Call, without func([]byte) []byte) (found remains, err error) {
	found.refs = map[string]git.Commit{}
	found.repo, err = code.OpenRepo(c)
	if codes.Has(err, codes.GitUnavailable) {
		found.repo, err = nil, nil
	}
	if err == nil && found.repo != nil {
		found.refs, err = found.repo.OwnRefs(c.Context())
		for _, ref := range app.SortedKeys(found.refs) {
			if with, err := found.repo.BranchWith(c.Context(), found.refs[ref]); err == nil && with == "" {
				d.Only = append(d.Only, OnlyRef{ref, found.refs[ref]})
			}
		}
	}
	if err != nil {
		return found, err
	}
	d.Refs = len(found.refs)
	found.texts = d.texts(without)
	return found, nil
}

// take takes the block, the refs and the store out.
func (d *RemoveResult) take(c *app.Call, found remains) error {
	for _, name := range d.Files {
		if err := rewrite(c, name, found.texts[name]); err != nil {
			return err
		}
		d.Changed = true
	}
	if found.repo != nil {
		if err := found.repo.DropOwn(c.Context(), found.refs); err != nil {
			return err
		}
	}
	if err := removeStore(filepath.Join(d.Root, store.Dir)); err != nil {
		return err
	}
	d.Removed, d.Changed = true, true
	return nil
}

// look counts the threads, and returns those that own code; it refuses while some run. Errors: T903, those of a view.
func (d *RemoveResult) look(c *app.Call) (owners []thread.Thread, err error) {
	_, err = c.View(func(s *thread.State) error {
		archived, err := s.First(thread.Filter{Status: thread.Archived}, 0)
		if err != nil {
			return err
		}
		d.Threads = s.Threads.Len() + len(archived.Threads)
		for _, t := range s.ThreadsWithCode() {
			if owned := t.OwnedCode(); owned.State != thread.CodeRemoved && (owned.Made.Worktree || owned.Made.Branch) {
				owners = append(owners, t)
			}
		}
		var going []string
		for t := range s.Threads.All() {
			if t.LastRun().Going() {
				going = append(going, string(t.ID))
			}
		}
		if len(going) > 0 {
			return codes.InvalidArgument.New(fact.Of("reason", "agents run: "+strings.Join(going, ", ")), fact.Of("threads", going)).
				WithHint("Stop them first: leslie stop --all").WithNext("leslie run list")
		}
		return nil
	})
	return owners, err
}

// texts are the files outside of the store as they are without leslie, nil for one that goes.
func (d *RemoveResult) texts(without func([]byte) []byte) map[string][]byte {
	out := map[string][]byte{}
	change := func(name string, edit func([]byte) []byte) {
		old, err := os.ReadFile(filepath.Join(d.Root, name))
		if err != nil {
			return
		}
		left := edit(old)
		if !bytes.Equal(left, old) {
			d.Files = append(d.Files, name)
			if len(bytes.TrimSpace(left)) == 0 {
				left = nil
			}
			out[name] = left
		}
	}
	change(AgentsFile, without)
	for _, own := range ownFiles() {
		if !sameFolder(filepath.Join(d.Root, own.file), filepath.Join(d.Root, AgentsFile)) {
			change(own.file, withoutImport)
		}
	}
	return out
}

// withoutImport is a text without what withImport adds at its end: the line, and the empty line before it. A line
// elsewhere is somebody's own.
func withoutImport(text []byte) []byte {
	lines := slices.Collect(bytes.Lines(text))
	last := len(lines) - 1
	switch {
	case last < 0 || string(bytes.TrimSpace(lines[last])) != "@"+AgentsFile:
		return text
	case last > 0 && len(bytes.TrimSpace(lines[last-1])) == 0:
		last--
	case last > 0:
		return text
	}
	return bytes.Join(lines[:last], nil)
}

// rewrite gives a file another text, or deletes it for nil.
func rewrite(c *app.Call, name string, text []byte) error {
	if text != nil {
		_, notes, err := c.Store().EditFile(c.Context(), c.LockWait(), name, func([]byte) []byte { return text })
		c.Warn(notes...)
		return err
	}
	if err := os.Remove(filepath.Join(c.Project().Root(), name)); err != nil {
		return codes.WriteFailed.OfPath(name, err)
	}
	return nil
}

// removeStore deletes the folder with the store. It gets another name first, so that no command finds half of it.
func removeStore(dir string) error {
	aside := dir + ".removed"
	err := os.Rename(dir, aside)
	if err == nil {
		err = os.RemoveAll(aside)
	}
	if err != nil {
		return codes.WriteFailed.OfPath(dir, err)
	}
	return nil
}
