package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/store"
)

// validate runs the validator in a copy of the target with the result in place.
// A merge that was begun with one is not applied without it. Errors: T302 with
// the tail of the output, T701.
func (m *merging) validate() error {
	command := m.c.text("validate")
	if command == "" {
		command = m.settings.validate
	}
	if command == "" {
		if m.record.Validate != "" {
			return codes.MergeValidation.New(fact.Of("reason", "the merge was begun with --validate, which is not run from the store"),
				fact.Of("mergeId", m.record.ID), fact.Of("validate", m.record.Validate)).
				WithHint("Repeat the call with --validate; look at the command first")
		}
		return nil
	}
	dir := ""
	defer func() { _ = os.RemoveAll(dir) }()
	err := m.c.settled(m.st, func() (err error) {
		_ = os.RemoveAll(dir) // an operation came while it was filled
		if dir, err = os.MkdirTemp("", "leslie-validate-"); err != nil {
			return codes.WriteFailed.Wrap(err, fact.Of("path", os.TempDir()), fact.Of("reason", plainReason(err)))
		}
		return m.copyResult(dir)
	}, m.record.Target)
	if err != nil {
		return err
	}
	result, err := external.Run(m.c.ctx, external.Job{Command: command, Dir: dir, Timeout: m.timeout()})
	switch {
	case codes.Has(err, codes.AgentTimeout):
		return m.invalid("the validator gave no answer within "+m.timeout().String(), result.Tail)
	case codes.Has(err, codes.AgentConnection):
		return m.invalid("the validator was ended: "+plainReason(err), result.Tail)
	case err != nil:
		return err
	case result.Verdict != external.Done:
		return m.invalid("the validator ended with "+strconv.Itoa(result.Status), result.Tail)
	}
	return nil
}

func (m *merging) invalid(reason, tail string) error {
	err := codes.MergeValidation.New(fact.Of("reason", reason), fact.Of("output", tail))
	if !m.recorded {
		return err.WithNext("leslie artifacts " + string(m.record.Target))
	}
	return err.With(fact.Of("mergeId", m.record.ID))
}

// copyResult writes the target as it will be.
func (m *merging) copyResult(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return codes.WriteFailed.Wrap(err, fact.Of("path", dir), fact.Of("reason", plainReason(err)))
	}
	defer root.Close()
	entries, err := m.st.Artifacts(m.record.Target)
	if err != nil {
		return err
	}
	replaced := map[string]bool{}
	for _, f := range m.plan.Files {
		replaced[f.Path] = true
		if !f.After.There() {
			continue
		}
		content, err := m.content(f)
		if err == nil {
			err = writeCopy(root, f.Path, bytes.NewReader(content), f.After.Executable)
		}
		if err != nil {
			return err
		}
	}
	for _, e := range entries {
		if e.Type != store.TypeFile || replaced[e.Path] {
			continue
		}
		content, err := m.st.OpenArtifact(m.record.Target, e.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // removed since it was listed: an editor's own file, say
		case err == nil:
			err = writeCopy(root, e.Path, content, e.Executable)
			_ = content.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeCopy(root *os.Root, path string, content io.Reader, executable bool) error {
	mode := os.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	path = filepath.FromSlash(path)
	err := root.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = fill(root, path, content, mode)
	}
	if err != nil {
		return codes.WriteFailed.Wrap(err, fact.Of("path", strings.TrimPrefix(path, "./")), fact.Of("reason", plainReason(err)))
	}
	return nil
}

func fill(root *os.Root, path string, content io.Reader, mode os.FileMode) error {
	f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
