package mergecmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"leslie/cmd/leslie/internal/cli"
	"leslie/internal/external"
	"leslie/merge"
)

// This file has a person edit a conflict.

// errUnchanged: the person changed nothing in the editor.
var errUnchanged = errors.New("nothing was changed in the editor")

// edit opens the lines of a conflict in the person's editor: with markers, or as they
// were edited before. Its error says that they were not changed, or that markers are left.
func (p *mergePrompt) edit(d merge.Conflict) ([]byte, error) {
	marked, err := d.Marked()
	if err != nil {
		return nil, err
	}
	given := marked.Text
	if d.Result != nil && d.Result.Take == merge.TakeText {
		given = []byte(d.Result.Text)
	}
	path, err := textFile(filepath.Base(d.Path), given)
	if err != nil {
		return nil, err
	}
	dir, keep := filepath.Dir(path), false
	defer func() {
		if !keep {
			_ = os.RemoveAll(dir)
		}
	}()
	typed, err := inEditor(p.c, path)
	unread := error(nil)
	if typed == nil {
		unread = fs.ErrNotExist
	}
	changed := unread == nil && !bytes.Equal(typed, given)
	switch {
	case err == nil && !changed:
		return nil, errUnchanged
	case err == nil && marked.Unmarked(typed):
		return typed, nil
	case err == nil:
		err = errors.New("there are conflict markers left in it")
	default:
		err = fmt.Errorf("the editor did not finish: %w", err)
	}
	// The editor may have saved the text, perhaps under another name.
	if left, _ := os.ReadDir(dir); len(left) > 1 || changed {
		keep, err = true, fmt.Errorf("%w; what was typed is kept in %s", err, dir)
	}
	return nil, err
}

// textFile writes a text into a folder of its own, which the caller removes.
func textFile(name string, text []byte) (path string, err error) {
	dir, err := os.MkdirTemp("", "leslie-edit-")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return path, nil
}

// inEditor has the person edit a file, and returns what it has then, also if the editor failed; nil
// for a file that cannot be read.
func inEditor(c *cli.Call, path string) (typed []byte, err error) {
	editor := cmp.Or(c.Env.Getenv("VISUAL"), c.Env.Getenv("EDITOR"), "vi")
	argv, err := external.Split(editor)
	if err != nil {
		return nil, err
	}
	err = c.RunEditor(argv[0], append(argv[1:], path)...)
	typed, unread := os.ReadFile(path)
	if unread == nil && typed == nil {
		typed = []byte{}
	}
	return typed, errors.Join(err, unread)
}
