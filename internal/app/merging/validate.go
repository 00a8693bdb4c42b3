package merging

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/merge"
	"leslie/store"
)

// validation runs a command on the target's future content.
type validation struct{ *Planning }

// run runs the validator in a copy of the target with the result in place. A merge
// that was started with a validator is not applied without it. Errors: T302 with the
// end of the output, T701.
func (v *validation) run() error {
	command := v.call.Validate
	if command == "" {
		if v.record.Validate != "" {
			return codes.MergeValidation.New(fact.Of("reason", "the merge was started with --validate, and a command from the store never runs"),
				fact.Of("mergeId", v.record.ID), fact.Of("validate", v.record.Validate)).
				WithHint("Check the command, then repeat the call with --validate")
		}
		return nil
	}
	dir := ""
	defer func() { _ = os.RemoveAll(dir) }()
	err := v.call.Settled(func() (err error) {
		_ = os.RemoveAll(dir) // an operation came while it was filled
		if dir, err = os.MkdirTemp("", "leslie-validate-"); err != nil {
			return cannotWrite(os.TempDir(), err)
		}
		return v.copyResult(dir)
	}, v.record.Target)
	if err != nil {
		return err
	}
	result, err := external.Run(v.call.Context, external.Job{Command: command, Dir: dir, Timeout: v.call.Timeout})
	switch {
	case codes.Has(err, codes.AgentTimeout):
		return v.invalid("the validator gave no answer within "+v.call.Timeout.String(), result.Tail)
	case codes.Has(err, codes.AgentConnection):
		return v.invalid("the validator was ended: "+codes.Reason(err), result.Tail)
	case err != nil:
		return err
	case result.Verdict != external.Done:
		return v.invalid("the validator ended with "+strconv.Itoa(result.Status), result.Tail)
	}
	return nil
}

func (v *validation) invalid(reason, tail string) error {
	err := codes.MergeValidation.New(fact.Of("reason", reason), fact.Of("output", tail))
	if !v.recorded {
		return err.WithNext("leslie artifacts " + string(v.record.Target))
	}
	return err.With(fact.Of("mergeId", v.record.ID))
}

// copyResult writes the target's future content.
func (v *validation) copyResult(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return cannotWrite(dir, err)
	}
	defer root.Close()
	entries, err := v.call.Files.Artifacts(v.record.Target)
	if err != nil {
		return err
	}
	replaced := map[string]bool{}
	for _, f := range v.planned.artifacts.Files {
		replaced[f.Path] = true
		if !f.After.There() {
			continue
		}
		content, err := v.content(f)
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
		content, err := v.call.Files.OpenArtifact(v.record.Target, e.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // removed since it was listed, such as an editor's temporary file
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

// content returns the new content of a path.
func (p *Planning) content(f merge.Change) ([]byte, error) {
	if f.Content != nil {
		return f.Content, nil
	}
	return p.inputs.reader.content(f.After.Hash)
}

func writeCopy(root *os.Root, path string, content io.Reader, executable bool) error {
	mode := os.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	name := filepath.FromSlash(path)
	err := root.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = fill(root, name, content, mode)
	}
	if err != nil {
		return cannotWrite(path, err)
	}
	return nil
}

func fill(root *os.Root, name string, content io.Reader, mode os.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
