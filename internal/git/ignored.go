package git

import (
	"bytes"
	"context"
	"strings"
)

// Ignored returns the files of a worktree that git ignores and that the patterns in a
// file, in the syntax of gitignore, match; with "/", from the top, in the order of git.
func (w Worktree) Ignored(ctx context.Context, patterns string) ([]string, error) {
	out, err := w.run(ctx, command{args: []string{"ls-files", "-z", "--others", "--ignored", "--exclude-from=" + patterns}})
	if err != nil {
		return nil, broken(err)
	}
	if len(out) == 0 {
		return nil, nil
	}
	// check-ignore knows no literal pathspecs; behind "./" nothing is magic.
	var asked bytes.Buffer
	for path := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		asked.WriteString("./" + string(path) + "\x00")
	}
	out, err = w.run(ctx, command{stdin: asked.Bytes(), options: []string{"--no-literal-pathspecs"}, args: []string{"check-ignore", "-z", "--stdin"}})
	if err != nil && !exited(err, 1) { // none
		return nil, broken(err)
	}
	var paths []string
	for path := range strings.SplitSeq(string(out), "\x00") {
		if path != "" {
			paths = append(paths, strings.TrimPrefix(path, "./"))
		}
	}
	return paths, nil
}
