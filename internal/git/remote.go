package git

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// This file pushes branches to a remote of git and fetches them from it, which leslie does only where the
// user's configuration says so (code.travel).

// remoteFor is how long git may take to reach a remote.
const remoteFor = time.Minute

// remote returns the remote to which a person pushes: that of remote.pushDefault, else the only one, else
// origin; "" for none.
func (r *Repo) remote(ctx context.Context) (string, error) {
	out, err := r.at(ctx, command{args: []string{"config", "--get", "remote.pushDefault"}})
	if name := strings.TrimSpace(string(out)); err == nil && name != "" {
		return name, nil
	} else if err != nil && !exited(err, 1) {
		return "", broken(err)
	}
	if out, err = r.at(ctx, command{args: []string{"remote"}}); err != nil {
		return "", broken(err)
	}
	names := strings.Fields(string(out))
	switch {
	case len(names) == 1:
		return names[0], nil
	case slices.Contains(names, "origin"):
		return "origin", nil
	}
	return "", nil
}

// reach runs a command that speaks to the person's remote, which follows its arguments: without a question,
// a hook, or a program that only the repository's own configuration names. Errors: T801, T808, T904.
func (r *Repo) reach(ctx context.Context, remote string, args []string, refspec string) error {
	if remote == "" {
		return unavailable(nil, "the repository has no remote")
	}
	if err := r.checkTransport(ctx); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, remoteFor)
	defer cancel()
	_, err := r.Worktree(r.Top, r.Admin).run(within, command{
		env:  []string{"GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "SSH_ASKPASS_REQUIRE=never"},
		args: append(args, "--", remote, refspec),
	})
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		return unavailable(err, "the remote "+remote+" did not answer within "+remoteFor.String())
	}
	return broken(err)
}

// checkTransport returns T808 for a program that the repository's own configuration names to speak to remotes,
// unless the repository is trusted.
func (r *Repo) checkTransport(ctx context.Context) error {
	if r.Trust {
		return nil
	}
	out, err := r.at(ctx, command{args: []string{"config", "--local", "--name-only", "--get-regexp",
		`^(core\.(sshcommand|gitproxy|askpass)|credential\..*|remote\..*\.(receivepack|uploadpack|vcs))$`}})
	if exited(err, 1) {
		return nil
	}
	if err != nil {
		return broken(err)
	}
	key, _, _ := strings.Cut(string(out), "\n")
	return untrusted(key, filepath.Join(r.Admin, "config"))
}

// Push pushes a branch to the person's remote, under its own name and never by force. Errors: T801 with what
// git says, T808, T904.
func (r *Repo) Push(ctx context.Context, branch string) error {
	remote, err := r.remote(ctx)
	if err != nil {
		return err
	}
	args := []string{"push", "--quiet", "--no-verify", "--recurse-submodules=no"}
	err = r.reach(ctx, remote, args, heads+branch+":"+heads+branch)
	f, ok := errors.AsType[*failure](err)
	if !ok || !strings.Contains(f.stderr, "[rejected]") {
		return err
	}
	return unavailable(err, remote+" has commits of "+branch+" that it lacks here: git pull --no-rebase "+remote+" "+branch+
		" in its worktree, then repeat the call")
}

// Fetch fetches a branch, and those in the same folder, as leslie/, from the person's remote: as that has them, below
// refs/remotes. A branch that the remote does not have is no error. Errors: as Push.
func (r *Repo) Fetch(ctx context.Context, branch string) error {
	remote, err := r.remote(ctx)
	if err != nil {
		return err
	}
	args, what := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules"}, heads+branch
	isName := !strings.ContainsAny(remote, "/:") // of a URL there are no remote branches
	if folder := path.Dir(branch); folder != "." && isName {
		what = "+" + heads + folder + "/*:refs/remotes/" + remote + "/" + folder + "/*"
	}
	return r.reach(ctx, remote, args, what)
}
