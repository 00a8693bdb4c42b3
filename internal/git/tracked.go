package git

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
)

// maxIndex is the largest index that MayTrack reads, in bytes.
const maxIndex = 64 << 20

// MayTrack reports whether git may track a file in the worktree at top whose path ends with
// some bytes: whether its index has them. It starts no git, so it costs little, but other
// files may end so, too.
func MayTrack(top, end string) bool {
	name := filepath.Join(top, ".git", "index")
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIndex {
		return false
	}
	index, err := os.ReadFile(name)
	return err == nil && bytes.Contains(index, []byte(end+"\x00"))
}

// Indexed reports whether git tracks one of these paths in the main worktree.
func (r *Repo) Indexed(ctx context.Context, paths ...string) (bool, error) {
	args := append([]string{"ls-files", "-z", "--"}, paths...)
	out, err := r.Worktree(r.Top, r.Admin).run(ctx, command{options: []string{"--literal-pathspecs"}, args: args})
	if err != nil {
		return false, broken(err)
	}
	return len(out) > 0, nil
}
