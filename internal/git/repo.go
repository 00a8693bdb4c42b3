package git

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
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
	// user trusts the project, whatever they are.
	Trust bool
	// Seen: they may run if they are those with this Fingerprint; "" for none.
	Seen string
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
	recent := make(chan error, 1)
	go func() { recent <- system.recent(ctx) }()
	out, err := system.run(ctx, command{dir: dir, args: []string{
		"rev-parse", "--path-format=absolute", "--git-common-dir", "--is-bare-repository", "--show-object-format",
	}})
	if old := <-recent; old != nil {
		return nil, old
	}
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
		return unavailable(err, "there is no git repository in "+dir).
			WithHint("git init makes one, and git commit its first commit; threads without code need neither")
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
	f, ok := err.(*failure)
	if !ok {
		return err
	}
	e := unavailable(f, f.Error())
	if name, _ := missingProgram(f.stderr); name != "" {
		return e.WithHint("Install " + name + ", then repeat the call; git config --show-origin --get-regexp '^filter' shows who names it")
	}
	if strings.Contains(f.stderr, lfsMissing) {
		return e.WithHint("Bring the content with git lfs fetch, or leave it out with GIT_LFS_SKIP_SMUDGE=1 in the environment; then repeat the call")
	}
	return e
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
