package git

import (
	"context"
	"strings"
)

// ReadPrograms reads which programs the repository's own configuration names. After it,
// several goroutines may read the repository's worktrees.
func (r *Repo) ReadPrograms(ctx context.Context) error {
	_, err := r.programs(ctx)
	return err
}

// Tips returns the commits of refs, by their full names; one that is not there is left out.
func (r *Repo) Tips(ctx context.Context, refs []string) (map[string]Commit, error) {
	tips := map[string]Commit{}
	if len(refs) == 0 {
		return tips, nil
	}
	out, err := r.at(ctx, command{args: append([]string{"for-each-ref", "--format=%(objectname) %(refname)", "--"}, refs...)})
	if err != nil {
		return nil, broken(err)
	}
	for line := range strings.Lines(string(out)) {
		commit, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		tips[ref] = Commit(commit)
	}
	return tips, nil
}
