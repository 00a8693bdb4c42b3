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
	"leslie/internal/git"
	"leslie/merge"
	"leslie/store"
)

// validation runs commands on the target's future content.
type validation struct{ *Planning }

// run runs the validators on a copy of the target's artifacts with the result in place,
// and on the merged code where the merge brings some. A merge that was started with a
// validator is not applied without it. Errors: T302 with the end of the output; for
// code also T803, T805, T808.
func (v *validation) run() error {
	code, landed := v.inputs.code != nil, codeRecord(v.Planning).Landed
	if landed && len(v.planned.artifacts.Files) == 0 {
		return nil // it was validated before it landed, and nothing else is merged
	}
	call := v.call.Validate
	artifacts, merged := call.Artifacts, ""
	switch {
	case code || landed:
		if merged = call.Code; call.Named != "" {
			artifacts, merged = "", call.Named
		}
	case call.Named != "":
		artifacts = call.Named
	}
	if v.record.Validate != "" && (merged == "" && (code || landed) || artifacts+merged == "") {
		return codes.MergeValidation.New(fact.Of("reason", "the merge was started with --validate, and a command from the store never runs"),
			fact.Of("mergeId", v.record.ID), fact.Of("validate", v.record.Validate)).
			WithHint("Check the command, then repeat the call with --validate")
	}
	if artifacts+merged == "" {
		return nil
	}
	dir, err := v.copied()
	defer func() { _ = os.RemoveAll(dir) }()
	if err == nil && artifacts != "" {
		err = v.command(external.Job{Command: artifacts, Dir: dir, Timeout: v.call.Timeout})
	}
	if err == nil && merged != "" {
		err = v.code(merged, dir)
	}
	return err
}

// copied returns a new folder with the target's future artifacts.
func (v *validation) copied() (dir string, err error) {
	err = v.call.ReadConsistent(func() (err error) {
		_ = os.RemoveAll(dir) // an operation came while it was filled
		if dir, err = os.MkdirTemp("", "leslie-validate-"); err != nil {
			return codes.WriteFailed.OfPath(os.TempDir(), err)
		}
		return v.copyResult(dir)
	}, v.record.Target)
	return dir, err
}

// code runs a validator in a worktree that has the merged code; artifacts is the folder
// with the target's future artifacts.
func (v *validation) code(command, artifacts string) error {
	target := v.inputs.target.Thread
	repo, err := v.call.Repository(target)
	if err != nil {
		return err
	}
	var commit git.Commit
	if in := v.inputs.code; in != nil {
		commit, err = in.commit(v.planned.code, "Merge into "+v.record.Into()+", to be validated", v.call.Actor)
	} else {
		commit = git.Commit(codeRecord(v.Planning).Landing.New)
	}
	if err != nil {
		return err
	}
	place, release, err := v.call.CheckOut(target, repo, commit)
	if err != nil {
		return err
	}
	defer release()
	err = v.command(external.Job{
		Command: command, Dir: place.Dir, Env: append(place.Environ, "LESLIE_ARTIFACTS="+artifacts), Timeout: v.call.Validate.CodeTimeout,
	})
	if e := codes.Of(err); e != nil && e.Code() == codes.MergeValidation {
		return e.With(fact.Of("path", place.Dir)) // where the code still is
	}
	return err
}

// command runs one validator.
func (v *validation) command(job external.Job) error {
	result, err := external.Run(v.call.Context, job)
	switch {
	case codes.Has(err, codes.AgentTimeout):
		return v.invalid("the validator gave no answer within "+job.Timeout.String(), result.Tail)
	case codes.Has(err, codes.AgentUnavailable):
		return v.invalid("the validator could not be started: "+codes.Reason(err), "")
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
	switch {
	case codeRecord(v.Planning).Landed:
		err = err.WithHint("The code landed before, and only the artifacts wait: correct them, then continue the merge")
	case !v.recorded && v.inputs.code != nil:
		return err.WithNext("leslie code " + string(v.record.Target))
	case !v.recorded:
		return err.WithNext("leslie artifacts " + string(v.record.Target))
	}
	return err.With(fact.Of("mergeId", v.record.ID))
}

// copyResult writes the target's future content.
func (v *validation) copyResult(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return codes.WriteFailed.OfPath(dir, err)
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
		return codes.WriteFailed.OfPath(path, err)
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
