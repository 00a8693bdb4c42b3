package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/merge"
	"leslie/store"
)

// This file writes what an agent is given for one file, and the files with
// markers that editors open.

// taskNames are the files of a task and the variables that name them; a git
// mergetool knows the latter half.
func taskNames() [][2]string {
	return [][2]string{
		{"LESLIE_OURS", "ours"}, {"LESLIE_BASE", "base"}, {"LESLIE_THEIRS", "theirs"}, {"LESLIE_MERGED", "merged"},
		{"LESLIE_CONFLICTS", "conflicts.json"}, {"LESLIE_PROMPT", "prompt.md"},
		{"LOCAL", "ours"}, {"BASE", "base"}, {"REMOTE", "theirs"}, {"MERGED", "merged"},
	}
}

func taskEnv(dir string) []string {
	var env []string
	for _, n := range taskNames() {
		env = append(env, n[0]+"="+filepath.Join(dir, n[1]))
	}
	return env
}

// writeTask fills the folder.
func (m *merging) writeTask(dir string, f merge.Change, open []merge.Conflict, marked []byte, earlier string) error {
	conflicts, err := marshal(open)
	if err != nil {
		return err
	}
	base, ours, theirs, err := m.versions(f)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"ours": ours, "base": base, "theirs": theirs, "merged": marked,
		"conflicts.json": append(conflicts, '\n'), "prompt.md": []byte(m.promptFor(f, open, earlier)),
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return codes.WriteFailed.Wrap(err, fact.Of("path", filepath.Join(dir, name)), fact.Of("reason", plainReason(err)))
		}
	}
	return nil
}

// versions are the three texts of a file: with several sources, theirs is the
// first one that changed it; conflicts.json has all sides.
func (m *merging) versions(f merge.Change) (base, ours, theirs []byte, err error) {
	read := func(file merge.File) []byte {
		if err != nil || !file.There() {
			return nil
		}
		var data []byte
		data, err = m.g.input.Read(file.Hash)
		return data
	}
	ours = read(f.Before)
	for _, s := range m.g.input.Sources {
		if len(f.Sides) > 1 && s.ID == f.Sides[1] {
			theirs = read(s.Tree.Files[f.Path])
			if s.Base != nil {
				base = read(s.Base(f.Path).File)
			}
		}
	}
	return base, ours, theirs, err
}

func (m *merging) promptFor(f merge.Change, open []merge.Conflict, earlier string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Resolve %s in %s\n\n", many(len(open), "conflict"), escape(f.Path))
	fmt.Fprintf(&b, "The artifact %s of thread %s is merged with that of %s.\n", escape(f.Path), m.record.Target, joined(m.record.Sources))
	b.WriteString(`Files here: ours, base, theirs (whole versions), merged (with conflict markers), conflicts.json (every side of every conflict).

Answer in one of two ways, or both:
- edit merged: replace each conflict, markers included, by its text; change nothing else;
- write resolutions.json beside it: [{"conflictId": "...", "choice": "ours|theirs|base|both|text|delete|keep", "text": "...", "reason": "..."}].

Keep every line that one side added. If one has to go, say why in resolutions.json (reason) for that conflict.
Exit with 0 when done, 1 to decline, 75 to be tried again.
`)
	if earlier != "" {
		b.WriteString("\nYour first answer was not taken: " + escape(earlier) + "\n")
	}
	return b.String()
}

// maxAnswer is the largest file of an agent that is read, in bytes.
const maxAnswer = store.MaxFile

func readAnswer(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxAnswer {
		return nil, os.ErrInvalid
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxAnswer))
}
