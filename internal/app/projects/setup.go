package projects

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merges"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/internal/setup"
	"leslie/store"
	"leslie/warnings"
)

// This file puts leslie's pieces into the files of coding agents and git, and takes them
// out again. Package setup knows the pieces; setup_files.go has the files.

// SetupRequest sets agents up for leslie, or git.
type SetupRequest struct {
	Dir     string   // absolute
	Targets []string // of setup.Targets; nil: all of them, and git only in a repository
	Scope   setup.Scope
	// Remove takes the pieces out; Check only says how they stand.
	Remove, Check bool
	// DryRun finds out what would be done, and does nothing.
	DryRun bool
}

// Faults returns what is wrong with the request.
func (in SetupRequest) Faults(env app.Environment) []app.Fault {
	if in.Scope == setup.UserScope && env.Home == "" {
		return []app.Fault{{Field: "Scope", Value: string(in.Scope), Problem: "the home folder is unknown: set HOME"}}
	}
	return nil
}

// SetupResult says how the pieces stood, and what was done.
type SetupResult struct {
	Scope setup.Scope `json:"scope"`
	Root  string      `json:"root"` // the folder to which paths are relative
	Items []SetupItem `json:"items"`
	Total int         `json:"total"`
	// Files has what was changed, or would be.
	Files []merges.FileDiff `json:"files,omitempty"`
	// Notes are sentences about what leslie cannot do.
	Notes []string `json:"notes,omitempty"`
	app.Change
}

// SetupAction is what was done with a piece.
type SetupAction string

// The actions. PieceLeft: somebody edited it, or an agent that is still set up shares it.
const (
	PieceAdded   SetupAction = "added"
	PieceUpdated SetupAction = "updated"
	PieceRemoved SetupAction = "removed"
	PieceLeft    SetupAction = "left"
)

// SetupItem is one piece in one file.
type SetupItem struct {
	Targets []string `json:"targets"` // that use it, of those of the request
	Piece   string   `json:"piece"`
	Path    string   `json:"path"`
	// State is how it stood, "unreadable" where Problem says why.
	State   setup.State `json:"state"`
	Problem string      `json:"problem,omitempty"`
	Action  SetupAction `json:"action,omitempty"`
}

// Unreadable is the state of a piece in a file that cannot be read or changed.
const Unreadable setup.State = "unreadable"

// Setup puts the pieces of the targets into their files, or takes them out. All files are
// read before one is changed, and an error leaves all as they were. The warnings say what
// a power cut may undo (W505). Errors: T402 for an agent that would change the user's own
// files, T507 for a link that leads out of the project, T508, T509, T505, T801 if git is
// named and there is no repository, T903 also for a file that cannot be changed, T904.
func Setup(ctx context.Context, env app.Environment, caller app.Caller, in SetupRequest) (*SetupResult, warnings.List, error) {
	if err := app.FaultsError(in.Faults(env)); err != nil {
		return nil, nil, err
	}
	if in.Scope == setup.UserScope && !in.Check && !in.DryRun {
		if err := app.MayChangeOwn(env, caller); err != nil {
			return nil, nil, err
		}
	}
	s := &settingUp{ctx: ctx, env: env, in: in, files: map[string]*setupFile{}}
	if err := s.find(); err != nil {
		return nil, nil, err
	}
	if err := s.plan(); err != nil {
		return nil, nil, err
	}
	if in.Check {
		return s.d, nil, nil
	}
	changed := s.changedFiles()
	for _, f := range changed {
		s.d.Files = append(s.d.Files, f.diff())
	}
	if in.DryRun || len(changed) == 0 {
		return s.d, nil, nil
	}
	notes, err := writeSetup(ctx, changed)
	if err != nil {
		return nil, nil, err
	}
	s.d.Changed = true
	return s.d, notes, nil
}

// settingUp is one use of Setup.
type settingUp struct {
	ctx   context.Context
	env   app.Environment
	in    SetupRequest
	repo  *git.Repo // nil if there is none, or it does not matter
	files map[string]*setupFile
	order []*setupFile
	d     *SetupResult
}

// find finds the project and its repository, and what is to be set up.
func (s *settingUp) find() error {
	in := &s.in
	s.d = &SetupResult{Scope: in.Scope, Root: s.env.Home, Items: []SetupItem{}}
	all := len(in.Targets) == 0
	if all {
		in.Targets = setup.Targets()
	}
	if in.Scope == setup.UserScope {
		return nil
	}
	st, err := store.Find(in.Dir, app.NewProject(s.env, "").StoreOptions())
	found := err == nil
	if !found && !codes.Has(err, codes.NotInitialized) {
		return err
	}
	var noRepo error
	if !found || slices.Contains(in.Targets, setup.GitTarget) {
		noRepo = s.openGit()
	}
	if s.ctx.Err() != nil {
		return noRepo
	}
	switch {
	case found:
		s.d.Root = st.Root()
	case noRepo == nil: // the worktree in which one is
		s.d.Root = code.NearestGit(in.Dir)
	default:
		s.d.Root = in.Dir
	}
	if noRepo != nil && slices.Contains(in.Targets, setup.GitTarget) {
		if !all {
			return noRepo
		}
		in.Targets = slices.DeleteFunc(in.Targets, func(name string) bool { return name == setup.GitTarget })
		s.d.Notes = append(s.d.Notes, "git was left out: "+codes.Of(noRepo).Facts().Text("reason"))
	}
	if sameFolder(s.d.Root, s.env.NoProject()) {
		return app.FaultsError([]app.Fault{{Field: "Dir", Value: s.d.Root, Problem: "the home folder cannot be a project: --scope user is for your own configuration"}})
	}
	return nil
}

// openGit finds the repository. Errors: T801, T904.
func (s *settingUp) openGit() (err error) {
	if s.repo, err = git.Open(s.ctx, s.in.Dir, git.System{Environ: s.environ()}); err != nil {
		return err
	}
	if s.repo.Top == "" {
		return codes.GitUnavailable.New(fact.Of("reason", "the repository in "+s.repo.Admin+" has no main worktree"))
	}
	return nil
}

func (s *settingUp) environ() []string {
	if s.env.Environ == nil {
		return nil
	}
	return s.env.Environ()
}

// folder is the folder that a base stands for.
func (s *settingUp) folder(base setup.Base) string {
	own := func(variable, usual string) string {
		for _, entry := range s.environ() {
			if value, ok := strings.CutPrefix(entry, variable+"="); ok && filepath.IsAbs(value) {
				return value
			}
		}
		return filepath.Join(s.env.Home, usual)
	}
	switch base {
	case setup.Git:
		return s.repo.Admin
	case setup.Home:
		return s.env.Home
	case setup.ClaudeHome:
		return own("CLAUDE_CONFIG_DIR", ".claude")
	case setup.CodexHome:
		return own("CODEX_HOME", ".codex")
	case setup.KimiHome:
		return own("KIMI_CODE_HOME", ".kimi-code")
	case setup.ConfigHome:
		return own("XDG_CONFIG_HOME", ".config")
	}
	return s.d.Root
}

// placed is a piece with its file and the targets that use it.
type placed struct {
	setup.Piece
	file    *setupFile
	targets []string
	// absent says that it does not belong here.
	absent bool
}

// pieces returns the pieces of targets, each once, in the order of the table.
func (s *settingUp) pieces(targets []string) (out []*placed, err error) {
	for _, target := range targets {
		for _, p := range setup.Pieces(target, s.in.Scope) {
			file, err := s.open(p)
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(out, func(q *placed) bool { return q.file == file && q.Name == p.Name })
			if i < 0 {
				i = len(out)
				belongs, err := s.belongs(p, file)
				if err != nil {
					return nil, err
				}
				out = append(out, &placed{Piece: p, file: file, absent: !belongs})
			}
			out[i].targets = append(out[i].targets, target)
		}
	}
	return out, nil
}

// belongs reports whether a piece belongs into its file here. Errors: T509.
func (s *settingUp) belongs(p setup.Piece, file *setupFile) (bool, error) {
	if p.Only == "" {
		return true, nil
	}
	path := filepath.Join(s.d.Root, p.Only)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, codes.ReadFailed.OfPath(p.Only, err)
	}
	return !sameFolder(path, file.path), nil // a link to it has all that it imports
}

// plan finds out what becomes of each file. Errors: T903 for a file that cannot be
// changed; with Check the item says so.
func (s *settingUp) plan() error {
	pieces, err := s.pieces(s.in.Targets)
	if err != nil {
		return err
	}
	shared, err := s.shared(pieces)
	if err != nil {
		return err
	}
	items := make([]SetupItem, len(pieces))
	for i, p := range pieces {
		items[i] = SetupItem{Targets: p.targets, Piece: p.Name, Path: p.file.shown}
		if items[i].State, err = p.Look(p.file.old); err != nil {
			if !s.in.Check {
				return unchangeable(p.file, err)
			}
			items[i].State, items[i].Problem = Unreadable, err.Error()
		}
	}
	for i := range pieces {
		if s.in.Remove { // in the other order, so that each finds what it has left
			i = len(pieces) - 1 - i
		}
		if err := s.change(pieces[i], &items[i], shared[pieces[i]]); err != nil {
			return err
		}
	}
	for i, p := range pieces {
		if !p.absent || items[i].State != setup.Missing {
			s.d.Items = append(s.d.Items, items[i])
		}
	}
	s.d.Total = len(s.d.Items)
	for _, target := range s.in.Targets {
		now := s.in.Check || slices.ContainsFunc(items, func(i SetupItem) bool { return i.Action != "" && slices.Contains(i.Targets, target) })
		if now && !s.in.Remove {
			s.d.Notes = append(s.d.Notes, setup.Notes(target, s.in.Scope)...)
		}
	}
	return nil
}

// change changes the text of one piece's file.
func (s *settingUp) change(p *placed, item *SetupItem, shared bool) (err error) {
	now := p.file.text
	switch {
	case s.in.Check:
		return nil
	case item.State == setup.Edited || s.in.Remove && shared && item.State != setup.Missing:
		item.Action = PieceLeft
		return nil
	case s.in.Remove:
		item.Action = PieceRemoved
		p.file.text, err = p.Remove(now)
	case p.absent && item.State == setup.Missing:
	default:
		item.Action = PieceAdded
		if item.State == setup.Outdated {
			item.Action = PieceUpdated
		}
		p.file.text, err = p.Install(now)
	}
	if sameText(now, p.file.text) {
		item.Action = ""
	}
	if err != nil {
		return unchangeable(p.file, err)
	}
	return nil
}

// shared are the pieces that another target uses, which is set up: something is here that
// it does not share.
func (s *settingUp) shared(pieces []*placed) (map[*placed]bool, error) {
	out := map[*placed]bool{}
	if !s.in.Remove {
		return out, nil
	}
	same := func(p *placed) func(*placed) bool {
		return func(q *placed) bool { return q.file == p.file && q.Name == p.Name }
	}
	for _, target := range setup.Targets() {
		if slices.Contains(s.in.Targets, target) || target == setup.GitTarget {
			continue
		}
		theirs, err := s.pieces([]string{target})
		if err != nil {
			return nil, err
		}
		used := slices.ContainsFunc(theirs, func(q *placed) bool {
			state, err := q.Look(q.file.old)
			return err == nil && state != setup.Missing && !slices.ContainsFunc(pieces, same(q))
		})
		for _, p := range pieces {
			if used && slices.ContainsFunc(theirs, same(p)) {
				out[p] = true
			}
		}
	}
	return out, nil
}

// unchangeable is T903 for a file that a piece does not fit into.
func unchangeable(f *setupFile, err error) error {
	broken := &setup.Broken{}
	if !errors.As(err, &broken) {
		return err
	}
	return codes.InvalidArgument.Wrap(err, fact.Of("reason", f.shown+" cannot be changed: "+broken.Reason), fact.Of("path", f.shown)).
		WithHint("Repair the file, or name only the agents that do not use it").WithNext("leslie setup --check")
}

// changedFiles are the files whose text changes.
func (s *settingUp) changedFiles() (out []*setupFile) {
	for _, f := range s.order {
		if !sameText(f.old, f.text) {
			out = append(out, f)
		}
	}
	return out
}

// sameText reports whether two texts are equal, where nil is no file.
func sameText(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
