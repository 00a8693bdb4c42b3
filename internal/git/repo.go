package git

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// Repo is a repository. It is found once and then named by its folders, whatever
// somebody puts in place of a worktree's .git file.
type Repo struct {
	// Admin is the folder with the repository's objects and branches (its common
	// folder), absolute.
	Admin string
	// Top is the main worktree, absolute; "" for a bare repository.
	Top string
	// Trust: programs that the repository's own configuration names may run, because the
	// user trusts the project.
	Trust bool
	// Driver is the one command that may merge whoever is trusted: leslie's own, if the
	// repository's configuration names exactly it as merge.leslie.driver.
	Driver string

	system System
	hash   int // length of an object id
	local  *localPrograms
}

// The oldest git that can be used: merge-tree computes merges since then.
const (
	oldestMajor = 2
	oldestMinor = 38
)

// Open finds the repository that a folder belongs to.
func Open(ctx context.Context, dir string, system System) (*Repo, error) {
	if err := system.recent(ctx); err != nil {
		return nil, err
	}
	out, err := system.run(ctx, command{dir: dir, args: []string{
		"rev-parse", "--path-format=absolute", "--git-common-dir", "--is-bare-repository", "--show-object-format",
	}})
	if err != nil {
		return nil, notFound(err, dir)
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) != 3 {
		return nil, unavailable(nil, "git rev-parse: unexpected answer")
	}
	r := &Repo{Admin: filepath.Clean(lines[0]), system: system, hash: 40}
	if lines[2] == "sha256" {
		r.hash = 64
	}
	if lines[1] == "false" && filepath.Base(r.Admin) == ".git" {
		r.Top = filepath.Dir(r.Admin)
	}
	return r, nil
}

// recent returns T801 if git is missing or older than 2.38.
func (s System) recent(ctx context.Context) error {
	out, err := s.run(ctx, command{args: []string{"version"}})
	if err != nil {
		return broken(err)
	}
	version, _ := strings.CutPrefix(strings.TrimSpace(string(out)), "git version ")
	parts := append(strings.SplitN(version, ".", 3), "", "")
	major, _ := strconv.Atoi(parts[0])
	minor, _ := strconv.Atoi(parts[1])
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return unavailable(nil, "git is version "+version+", and leslie needs 2.38 or newer")
	}
	return nil
}

// notFound says why there is no repository to work in.
func notFound(err error, dir string) error {
	reason := lastLine(stderrOf(err))
	switch {
	case strings.Contains(reason, "not a git repository"):
		return unavailable(err, "there is no git repository in "+dir)
	case strings.Contains(reason, "dubious ownership"):
		return unavailable(err, "the git repository of "+dir+" belongs to another user").
			WithHint("Check who owns the folder; git config --global --add safe.directory trusts it for this user")
	}
	return broken(err)
}

func stderrOf(err error) string {
	if f, ok := err.(*failure); ok {
		return f.stderr
	}
	return ""
}

// broken returns T801 for a failure that nobody expected, and other errors unchanged.
func broken(err error) error {
	if f, ok := err.(*failure); ok {
		return unavailable(f, f.Error())
	}
	return err
}

func exitText(status int) string {
	if status < 0 {
		return "a signal"
	}
	return "status " + strconv.Itoa(status)
}

// at runs git in the repository's admin folder, without a worktree, and pins it there.
func (r *Repo) at(ctx context.Context, c command) ([]byte, error) {
	c.dir = r.Admin
	c.env = append(c.env, "GIT_DIR="+r.Admin)
	return r.system.run(ctx, c)
}

// localPrograms are the names in the repository's own configuration for which git would
// run a program.
type localPrograms struct {
	filters []string // of content: clean, smudge, process
	drivers []string // of merges
}

// programs reads the repository's own configuration, once.
func (r *Repo) programs(ctx context.Context) (*localPrograms, error) {
	if r.local != nil {
		return r.local, nil
	}
	out, err := r.at(ctx, command{args: []string{
		"config", "--null", "--show-scope", "--get-regexp", `^(filter\..*\.(clean|smudge|process)|merge\..*\.driver)$`,
	}})
	if err != nil && !exited(err, 1) { // none
		return nil, broken(err)
	}
	found := &localPrograms{}
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if scope := fields[i]; scope != "local" && scope != "worktree" {
			continue
		}
		key, value, _ := strings.Cut(fields[i+1], "\n")
		if key == "merge.leslie.driver" && value == r.Driver {
			continue
		}
		name := key[strings.Index(key, ".")+1 : strings.LastIndex(key, ".")]
		list := &found.filters
		if strings.HasPrefix(key, "merge.") {
			list = &found.drivers
		}
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	r.local = found
	return found, nil
}

// withoutFilters returns the options that leave the repository's own filters out, for
// a command that only reads; none if the repository is trusted.
func (r *Repo) withoutFilters(ctx context.Context) ([]string, error) {
	if r.Trust {
		return nil, nil
	}
	local, err := r.programs(ctx)
	if err != nil {
		return nil, err
	}
	var options []string
	for _, name := range local.filters {
		for _, key := range []string{"clean=", "smudge=", "process=", "required=false"} {
			options = append(options, "-c", "filter."+name+"."+key)
		}
	}
	return options, nil
}

// CheckPrograms returns T808 if checking out or merging would run a program that the
// repository's own configuration names, unless the repository is trusted.
func (r *Repo) CheckPrograms(ctx context.Context) error {
	if r.Trust {
		return nil
	}
	local, err := r.programs(ctx)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		kind  string
		names []string
	}{{"filter", local.filters}, {"merge", local.drivers}} {
		if len(one.names) > 0 {
			return codes.UntrustedGitConfig.New(fact.Of("key", one.kind+"."+one.names[0]), fact.Of("path", filepath.Join(r.Admin, "config")))
		}
	}
	return nil
}
