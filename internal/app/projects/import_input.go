package projects

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/importing"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file finds out what an import's PATH is, and opens it. Nothing of a source is
// changed, and no link in it is followed.

// source is an opened source.
type source struct {
	*importing.Source
	files     fs.FS             // its folders, nil for a file
	objective *thread.Objective // for beads: named after the file
	root      *os.Root
	export    io.Reader // an export, which is read when it is taken in; nil for others
	name      string    // of the export, for errors
	file      *os.File
}

func (s *source) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
	if s.root != nil {
		_ = s.root.Close()
	}
}

// stateName is the file that makes a folder a store, of either edition.
const stateName = "thread_relations.json"

// openSource reads the source. Errors: T502, T506, T507, T508, T509, T903.
func openSource(env app.Environment, in ImportRequest) (*source, error) {
	if in.Input != nil {
		return readStream(env, in, in.Input, "standard input", "import")
	}
	info, err := os.Stat(in.Path)
	switch {
	case isGone(err):
		return nil, badSource(in.Path, codes.Reason(err))
	case err != nil:
		return nil, cannotReadSource(in.Path, err)
	}
	if !info.IsDir() && filepath.Base(in.Path) == importing.PermissionsFile {
		if in.From == importing.Beads || in.Objective != "" {
			return nil, badSource(in.Path, "it has rules, and no issues")
		}
		s := &source{Source: &importing.Source{Kind: importing.Rules}}
		return s, s.readRules(in.Path)
	}
	if !info.IsDir() && filepath.Base(in.Path) != stateName {
		f, err := os.Open(in.Path) // perhaps a pipe of the shell: <(command)
		if err != nil {
			return nil, cannotReadSource(in.Path, err)
		}
		base := filepath.Base(in.Path)
		s, err := readStream(env, in, f, base, strings.TrimSuffix(base, filepath.Ext(base)))
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		s.file = f
		return s, nil
	}
	dir := in.Path
	if !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	if in.From != importing.Beads {
		found, err := firstOf(dir, stateName, ".leslie/"+stateName)
		if err != nil {
			return nil, err
		}
		if found != "" {
			return openLeslie(env, filepath.Dir(found))
		}
	}
	if in.From != importing.Leslie {
		found, err := firstOf(dir, ".beads/issues.jsonl", "issues.jsonl", ".beads/beads.jsonl", "beads.jsonl")
		if err != nil {
			return nil, err
		}
		if found != "" {
			in.Path = found
			return openSource(env, in)
		}
	}
	return nil, badSource(in.Path, "it holds neither .leslie/"+stateName+" nor .beads/issues.jsonl")
}

// badSource is T903 for a path that is no source.
func badSource(name, why string) error {
	return app.FaultsError([]app.Fault{{Field: "Path", Value: name, Problem: "nothing can be imported from " + app.Quoted(name) + ": " + why}})
}

// firstOf returns the first of some names that is in a folder, "" if none is. Errors:
// T509 where that cannot be told.
func firstOf(dir string, names ...string) (string, error) {
	for _, name := range names {
		full := filepath.Join(dir, filepath.FromSlash(name))
		switch _, err := os.Lstat(full); {
		case err == nil:
			return full, nil
		case !isGone(err):
			return "", cannotReadSource(full, err)
		}
	}
	return "", nil
}

// openLeslie opens a store of the Node edition.
func openLeslie(env app.Environment, dir string) (*source, error) {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		return nil, codes.UnsafePath.New(fact.Of("path", dir)).WithHint("It is a link or no folder; name the folder itself").WithNext("leslie help import")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, cannotReadSource(dir, err)
	}
	s := &source{root: root, files: plainFiles{root}}
	if s.Source, err = importing.ReadLeslie(s.files, env.Now(), env.NewID); err != nil {
		s.close()
		return nil, cannotReadSource(dir, err)
	}
	s.Kind = importing.Leslie
	found, err := firstOf(dir, importing.PermissionsFile, "../"+importing.PermissionsFile)
	if err == nil && found != "" {
		err = s.readRules(found)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// readRules reads the Node edition's permission file. Errors: T502, T106, T507, T508, T509.
func (s *source) readRules(path string) error {
	switch info, err := os.Lstat(path); {
	case err != nil:
		return cannotReadSource(path, err)
	case !info.Mode().IsRegular():
		return codes.UnsafePath.New(fact.Of("path", path)).WithHint("It is a link or no regular file: name the file itself").WithNext("leslie help import")
	case info.Size() > app.MaxConfig:
		return codes.TooLarge.New(fact.Of("what", path), fact.Of("limit", "1 MiB")).WithNext("leslie help import")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return cannotReadSource(path, err)
	}
	rules, notes, err := importing.ReadPermissions(path, data)
	if err != nil {
		return err
	}
	s.Rules, s.Unmapped = rules, append(s.Unmapped, notes...)
	return nil
}

// utf8Mark is what some programs put in front of text in UTF-8.
const utf8Mark = "\ufeff"

// readStream reads a file of lines. title is what an objective for it is called.
func readStream(env app.Environment, in ImportRequest, r io.Reader, from, title string) (*source, error) {
	counting := &app.ProgressReader{Reader: r, C: in.told, What: "reading"}
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			counting.Size = info.Size()
		}
	}
	buffered := bufio.NewReaderSize(counting, 64<<10)
	if mark, _ := buffered.Peek(len(utf8Mark)); string(mark) == utf8Mark {
		_, _ = buffered.Discard(len(utf8Mark))
	}
	first, err := buffered.Peek(4 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, cannotReadSource(from, err)
	}
	if importing.IsExport(first) {
		if in.From != "" || in.Objective != "" {
			return nil, badSource(from, "it is an export of leslie, which needs neither --from nor --objective")
		}
		return &source{export: buffered, name: from}, nil
	}
	if isState(first) {
		return nil, badSource(from, "a store of the Node edition is a folder: name the folder")
	}
	if in.From == importing.Leslie {
		return nil, badSource(from, "a store of the Node edition is a folder with "+stateName)
	}
	if isSpread(first) {
		data, err := io.ReadAll(io.LimitReader(buffered, importing.MaxLine))
		if err != nil {
			return nil, cannotReadSource(from, err)
		}
		return nil, importing.Spread(from, data)
	}
	s := &source{}
	if s.Source, err = importing.ReadBeads(buffered, from, env.Now()); err != nil {
		return nil, cannotReadSource(from, err)
	}
	s.Kind = importing.Beads
	if !utf8.ValidString(title) || strings.TrimSpace(title) == "" {
		title = "import"
	}
	// The id is that of a preview without a store; a store says which are free.
	id := cmp.Or(app.Slug(title), env.NewID(thread.PrefixObjective))
	s.objective = &thread.Objective{ID: thread.ObjectiveID(id), Title: title, CreatedAt: env.Now().UTC().Truncate(time.Millisecond)}
	return s, nil
}

// isState reports whether a file begins as the Node edition's state does: one object
// over several lines.
func isState(first []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimSpace(first), []byte("\n"))
	return string(bytes.TrimSpace(line)) == "{" && !json.Valid(line)
}

// isSpread reports whether a file of lines begins with a line that opens an object and ends
// inside of it, and goes on.
func isSpread(first []byte) bool {
	line, rest, whole := bytes.Cut(bytes.TrimSpace(first), []byte("\n"))
	err := json.Unmarshal(line, new(json.RawMessage))
	return whole && len(bytes.TrimSpace(rest)) > 0 && bytes.HasPrefix(line, []byte("{")) && err != nil && strings.HasPrefix(err.Error(), "unexpected end")
}

// cannotReadSource adds a code to an error of the system: T509.
func cannotReadSource(name string, err error) error {
	if err == nil || codes.Of(err) != nil {
		return err
	}
	return codes.ReadFailed.OfPath(name, err).WithNext("leslie help import")
}

func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// plainFiles is a folder as an fs.FS that follows no link: a link is there, and cannot be
// opened.
type plainFiles struct{ root *os.Root }

// Open opens a file or a folder.
func (p plainFiles) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) || !utf8.ValidString(name) {
		return nil, codes.UnsafePath.New(fact.Of("path", strings.ToValidUTF8(name, "?"))).WithNext("leslie help import")
	}
	for at := name; at != "."; at = path.Dir(at) {
		info, err := p.root.Lstat(filepath.FromSlash(at))
		if err != nil {
			return nil, err
		}
		if at == name && !info.Mode().IsRegular() && !info.IsDir() || at != name && !info.IsDir() {
			return nil, codes.UnsafePath.New(fact.Of("path", at)).
				WithHint("It is a link or no regular file: leslie follows no link of a source").WithNext("leslie help import")
		}
	}
	return p.root.Open(filepath.FromSlash(name))
}

// Stat describes a name without following a link.
func (p plainFiles) Stat(name string) (fs.FileInfo, error) {
	return p.root.Lstat(filepath.FromSlash(name))
}
