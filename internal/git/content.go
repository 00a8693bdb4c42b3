package git

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"leslie/codes"
)

// Content returns the tree that a worktree would have if all that git does not ignore
// were committed. Nothing is written in the repository, nor is a filter of its own run.
func (w Worktree) Content(ctx context.Context) (tree string, err error) {
	err = w.withContent(ctx, func(run runner) error {
		out, err := run(ctx, command{args: []string{"write-tree"}}) // it reads files, too: those as old as the index
		tree = strings.TrimSpace(string(out))
		return broken(err)
	})
	return tree, err
}

// runner runs git.
type runner func(context.Context, command) ([]byte, error)

// withContent calls use with a git whose index, a copy, has the tree of Content.
func (w Worktree) withContent(ctx context.Context, use func(run runner) error) error {
	filters, err := w.repo.withoutFilters(ctx)
	if err != nil {
		return err
	}
	changed, err := w.run(ctx, command{options: []string{"--no-optional-locks"}, with: filters, args: []string{
		"ls-files", "-z", "--modified", "--others", "--exclude-standard", "--full-name",
	}})
	if err != nil {
		return broken(err)
	}
	dir, remove, err := w.repo.scratch()
	if err != nil {
		return err
	}
	defer remove()
	index, objects := filepath.Join(dir, "index"), filepath.Join(dir, "objects")
	if err := os.Mkdir(objects, 0o700); err != nil {
		return writeFailed(objects, err)
	}
	if err := copyIndex(filepath.Join(w.Admin, "index"), index); err != nil {
		return err
	}
	there, gone := w.sorted(string(changed))
	run := func(ctx context.Context, c command) ([]byte, error) {
		c.with = filters
		c.env = []string{
			"GIT_INDEX_FILE=" + index, "GIT_OBJECT_DIRECTORY=" + objects,
			"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + listed(filepath.Join(w.repo.Admin, "objects")),
		}
		return w.run(ctx, c)
	}
	if err := (snapshot{gone: gone, there: there}).stage(ctx, run); err != nil {
		return err
	}
	return use(run)
}

// sorted tells the paths of files, and of submodules, from those in whose place a folder
// is by now. It leaves out repositories that git does not track.
func (w Worktree) sorted(changed string) (there, gone string) {
	var present, absent strings.Builder
	for path := range strings.SplitSeq(changed, "\x00") {
		full := filepath.Join(w.Dir, filepath.FromSlash(path))
		info, err := os.Lstat(full)
		switch {
		case path == "" || strings.HasSuffix(path, "/"):
		case err == nil && info.IsDir() && !isRepository(full):
			absent.WriteString(path + "\x00")
		default:
			present.WriteString(path + "\x00")
		}
	}
	return present.String(), absent.String()
}

func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// listed is a path as git reads it in a list of paths, whatever separates those.
func listed(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(filepath.ToSlash(path)) + `"`
}

// copyIndex copies an index, with its time; none is an empty one. git compares the content
// of files that are not older than the index, because it may have been written in the same
// second as they: a copy of a later time would hide what was edited then.
func copyIndex(from, to string) error {
	data, written, err := readIndex(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return codes.ReadFailed.OfPath(from, err)
	}
	if err = os.WriteFile(to, data, 0o600); err == nil {
		err = os.Chtimes(to, written, written)
	}
	return writeFailed(to, err)
}

// readIndex reads an index and when it was written, both of the same file: git replaces it.
func readIndex(name string) (data []byte, written time.Time, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, written, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, written, err
	}
	data, err = io.ReadAll(file)
	return data, info.ModTime(), err
}
