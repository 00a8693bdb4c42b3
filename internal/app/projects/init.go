package projects

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/store"
	"leslie/store/replica"
	"leslie/thread"
)

// AgentsFile is where coding agents look for a project's instructions, in the
// project's folder.
const AgentsFile = "AGENTS.md"

// AgentsGuide is the block about leslie in AgentsFile.
type AgentsGuide struct {
	// Update returns a text with the guide as it is now.
	Update func(old []byte) []byte
	// Outdated reports whether a text has a guide that Update would change.
	Outdated func(text []byte) bool
}

// InitRequest makes a folder a project.
type InitRequest struct {
	Dir string // absolute
	// Here makes a store in Dir even below another project.
	Here bool
	// Guide is the block to write into AgentsFile; nil: the file is not changed.
	Guide *AgentsGuide
	// Agents are agents that are used here, beside those whose files show it. Those that
	// read only a file of their own get an import of AgentsFile there.
	Agents []string
	DryRun bool // only say what would be created
}

// ownFile is the file that an agent reads, and what shows that it is used.
type ownFile struct{ agent, file, folder string }

func ownFiles() []ownFile {
	return []ownFile{{"claude", "CLAUDE.md", ".claude"}, {"gemini", "GEMINI.md", ".gemini"}}
}

// AgentsWithOwnFile are the agents that need an import of AgentsFile.
func AgentsWithOwnFile() []string {
	var names []string
	for _, own := range ownFiles() {
		names = append(names, own.agent)
	}
	return names
}

// Faults returns what is wrong with the request.
func (in InitRequest) Faults(env app.Environment) []app.Fault {
	if in.Guide == nil && len(in.Agents) > 0 {
		return []app.Fault{{Field: "Agents", Value: app.Joined(in.Agents), Problem: "--agents cannot be used with --no-agents"}}
	}
	return homeFaults(in.Dir, env)
}

// homeFaults refuses the home folder for a project.
func homeFaults(dir string, env app.Environment) []app.Fault {
	if !sameFolder(dir, env.NoProject()) {
		return nil
	}
	return []app.Fault{{Field: "Dir", Value: dir, Problem: "the home folder cannot be a project: its " + store.Dir +
		" contains your own configuration, unless LESLIE_CONFIG or XDG_CONFIG_HOME names another place for that"}}
}

// InitResult is the project's store.
type InitResult struct {
	Root       string  `json:"root"`
	Created    bool    `json:"created"`
	AgentsFile *string `json:"agentsFile"` // null without a Guide; of a dry run, if it would change
	// CopyOf is the project on several machines of which this machine had lost its copy; "" otherwise.
	CopyOf string `json:"copyOf,omitempty"`
	// Repository: the project is in a git repository, whose worktrees have what is committed.
	Repository bool `json:"repository,omitempty"`
	// Unborn: that has no commit, on which work could begin.
	Unborn bool `json:"unborn,omitempty"`
	// NoCode says why threads of this project cannot own code, although it is in a repository.
	NoCode string `json:"noCode,omitempty"`
	// Top is the top of the repository, if the project is a folder within.
	Top string `json:"top,omitempty"`
	// Earlier has the worktrees in the repository that threads of a store which is gone had.
	Earlier []string `json:"earlier,omitempty"`
	// Imports are agents' own files that import AgentsFile.
	Imports []string `json:"imports,omitempty"`
	DryRun  bool     `json:"dryRun,omitempty"`
	// Edited: AgentsFile was written.
	Edited bool `json:"-"`
	app.Change
}

// Init makes a store, unless the folder is in a project already, and writes AgentsFile.
// The Call is for logging and warnings as after every use case; it is nil if there is no
// store. If AgentsFile cannot be written, a new store stays, and Init returns the result
// with the error. Errors: T502, T505, T506, T507, T903.
func Init(ctx context.Context, env app.Environment, caller app.Caller, r app.Request, in InitRequest) (*app.Call, *InitResult, error) {
	if err := app.FaultsError(in.Faults(env)); err != nil {
		return nil, nil, err
	}
	p := app.NewProject(env, in.Dir)
	if !in.Here {
		if st, err := store.Find(in.Dir, p.StoreOptions()); err == nil {
			p = app.NewProject(env, st.Root())
		} else if !codes.Has(err, codes.NotInitialized) {
			return nil, nil, err
		}
	}
	if in.DryRun {
		return nil, foreseenInit(p, in), nil
	}
	st, created, notes, err := store.Create(ctx, store.Wait{Timeout: r.LockTimeout, Notify: r.Waiting}, p.Root(), p.StoreOptions())
	if err != nil {
		return nil, nil, withoutStore(p, err)
	}
	p = app.NewProject(env, st.Root())
	c := p.Call(ctx, caller, r)
	c.SetChanged(created) // whatever fails now
	c.Warn(notes...)
	if err := recognizeStore(c, created); err != nil {
		return c, nil, err
	}
	d := &InitResult{
		Root: p.Root(), Created: created, Change: app.Change{Changed: created},
		Repository: app.Exists(filepath.Join(code.NearestGit(p.Root()), ".git")),
	}
	if created {
		if remote, err := replica.Read(p.Root()); err == nil && remote != nil {
			d.CopyOf = remote.Project
		}
	}
	if d.Repository {
		d.look(c)
	}
	if in.Guide == nil {
		return c, d, nil
	}
	edited, notes, err := c.Store().EditFile(ctx, c.LockWait(), AgentsFile, in.Guide.Update)
	if err != nil {
		return c, d, err
	}
	c.Warn(notes...)
	name := AgentsFile
	d.AgentsFile, d.Edited, d.Changed = &name, edited, created || edited
	return c, d, importGuide(c, d, in.Agents)
}

// foreseenInit is the answer of a dry run.
func foreseenInit(p *app.Project, in InitRequest) *InitResult {
	d := &InitResult{
		Root: p.Root(), Created: !app.Exists(filepath.Join(p.Root(), store.Dir)), DryRun: true,
		Repository: app.Exists(filepath.Join(code.NearestGit(p.Root()), ".git")),
	}
	if in.Guide == nil {
		return d
	}
	old, err := os.ReadFile(filepath.Join(p.Root(), AgentsFile))
	if name := AgentsFile; err != nil || !bytes.Equal(in.Guide.Update(old), old) {
		d.AgentsFile = &name
	}
	return d
}

// look finds what keeps threads from owning code.
func (d *InitResult) look(c *app.Call) {
	repo, err := code.OpenRepo(c)
	if err != nil {
		d.NoCode = codes.Of(err).Facts().Text("reason")
		return
	}
	if !sameFolder(repo.Top, d.Root) {
		d.Top = repo.Top
	}
	head, err := repo.Resolve(c.Context(), "HEAD")
	d.Unborn = err == nil && head == ""
	if !d.Created {
		return
	}
	worktrees, _ := repo.Worktrees(c.Context())
	for _, w := range worktrees {
		if strings.HasPrefix(w.Branch, app.BranchFolder) {
			d.Earlier = append(d.Earlier, w.Dir)
		}
	}
}

// importGuide adds an import of AgentsFile to the files of agents that are used here and
// may read no other. Errors: those of EditFile.
func importGuide(c *app.Call, d *InitResult, agents []string) error {
	for _, own := range ownFiles() {
		file := filepath.Join(d.Root, own.file)
		used := slices.Contains(agents, own.agent) || app.Exists(file) || app.Exists(filepath.Join(d.Root, own.folder))
		if !used || sameFolder(file, filepath.Join(d.Root, AgentsFile)) {
			continue
		}
		edited, notes, err := c.Store().EditFile(c.Context(), c.LockWait(), own.file, withImport)
		if err != nil {
			return err
		}
		c.Warn(notes...)
		d.Imports, d.Changed = append(d.Imports, own.file), d.Changed || edited
	}
	return nil
}

// withImport is a text that imports AgentsFile: a line of it says so.
func withImport(old []byte) []byte {
	const line = "@" + AgentsFile
	for l := range bytes.Lines(old) {
		if slices.Contains(strings.Fields(string(l)), line) {
			return old
		}
	}
	newline := "\n"
	if bytes.Contains(old, []byte("\r\n")) {
		newline = "\r\n"
	}
	out := slices.Clone(old)
	if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, newline...)
	}
	if len(out) > 0 {
		out = append(out, newline...)
	}
	return append(out, line+newline...)
}

// withoutStore returns why no store could be created. It suggests no commands that
// need a store.
func withoutStore(p *app.Project, err error) error {
	e := codes.Of(err)
	if _, missing := store.Find(p.Root(), p.StoreOptions()); missing == nil || e == nil {
		return err
	}
	return e.WithNext("leslie help init")
}

// recognizeStore checks that an existing store can be read before anything next to it
// changes. A store that was just created needs no check, which could fail.
func recognizeStore(c *app.Call, created bool) error {
	if created {
		c.SetRevision(new(thread.Revision))
		return nil
	}
	_, err := c.View(func(*thread.State) error { return nil })
	return err
}

// sameFolder reports whether two names lead to the same folder.
func sameFolder(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
