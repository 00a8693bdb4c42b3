package mergecmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
	editor := p.c.Env.Getenv("VISUAL")
	if editor == "" {
		editor = p.c.Env.Getenv("EDITOR")
	}
	if editor == "" {
		editor = "vi"
	}
	argv, err := external.Split(editor)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "leslie-edit-")
	if err != nil {
		return nil, err
	}
	keep := false
	defer func() {
		if !keep {
			_ = os.RemoveAll(dir)
		}
	}()
	path := filepath.Join(dir, filepath.Base(d.Path))
	if err := os.WriteFile(path, given, 0o600); err != nil {
		return nil, err
	}
	err = p.c.RunEditor(argv[0], append(argv[1:], path)...)
	typed, unread := os.ReadFile(path)
	err = errors.Join(err, unread)
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
