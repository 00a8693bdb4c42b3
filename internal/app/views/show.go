package views

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/changes"
	"leslie/internal/app/code"
	"leslie/internal/app/history"
	"leslie/internal/app/merges"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/merge"
	"leslie/thread"
)

// This file shows one thing: a version's files, a file of it, an operation.

// ShowFileRequest names a file of a version: ID:PATH, ID@CHECKPOINT:PATH, ID@base:PATH,
// MERGE:PATH; or a file of a thread's code: ID:code:PATH, with the path from the top of the
// repository.
type ShowFileRequest struct{ File string }

// ShowFileResult is a file of a version with its content.
type ShowFileResult struct {
	Version    app.Version   `json:"version"`
	Path       string        `json:"path"`
	Size       int64         `json:"size"`
	SHA256     thread.BlobID `json:"sha256"`
	Executable bool          `json:"executable"`
	// Encoding says how Content has the bytes: utf-8, or base64 for what is not text.
	Encoding string `json:"encoding"`
	Content  string `json:"content"`
	Raw      []byte `json:"-"`
}

// ShowVersionRequest names a version: ID@CHECKPOINT, ID@base or a pending merge.
type ShowVersionRequest struct {
	Version string
	Limit   int // 0: all
}

// ShowVersionResult is a version with its files.
type ShowVersionResult struct {
	Version    app.Version             `json:"version"`
	Checkpoint *app.CheckpointItem     `json:"checkpoint"` // null for another kind of version
	Files      app.Items[VersionEntry] `json:"files"`
}

// VersionEntry is a file of a version.
type VersionEntry struct {
	Path       string        `json:"path"`
	Size       int64         `json:"size"`
	SHA256     thread.BlobID `json:"sha256,omitempty"`
	Executable bool          `json:"executable"`
}

// ShowVersion lists the files of a version. Errors: T903, T101, T105, T111, T303, those
// of reading.
func ShowVersion(c *app.Call, in ShowVersionRequest) (*ShowVersionResult, error) {
	c.ReadOnly()
	var v app.Version
	_, err := c.View(func(s *thread.State) (err error) {
		v, err = app.FindVersion(s, in.Version)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.SetTarget(v.ThreadID)
	d := &ShowVersionResult{Version: v}
	if v.Kind == app.CheckpointVersion {
		d.Checkpoint = new(app.CheckpointItemOf(v.Checkpoint))
	}
	err = c.ReadConsistent(func() error {
		tree, err := merges.ReadVersion(c, v, scope.Set{})
		var all []VersionEntry
		for _, path := range slices.Sorted(maps.Keys(tree.Files)) {
			f := tree.Files[path]
			all = append(all, VersionEntry{Path: path, Size: f.Size, SHA256: f.Hash, Executable: f.Executable})
		}
		d.Files = app.First(all, in.Limit)
		return err
	}, v.Parties...)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// ShowFile returns a file of a version, or of a thread's code as its worktree has it, else its
// branch. Errors: T903, T101, T105, T111, T303, T203 for a path at which there is no file, T507,
// T508, those of reading; of code T801, T802.
func ShowFile(c *app.Call, in ShowFileRequest) (*ShowFileResult, error) {
	c.ReadOnly()
	d := &ShowFileResult{}
	_, err := c.View(func(s *thread.State) (err error) {
		d.Version, d.Path, err = findFile(s, in.File)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.SetTarget(d.Version.ThreadID)
	if path, is := strings.CutPrefix(d.Path, thread.CodePrefix); is && d.Version.Kind == app.CurrentVersion {
		if d.Raw, d.Executable, err = code.FileOf(c, d.Version.ThreadID, path); err != nil {
			return nil, err
		}
		d.Size, d.SHA256 = int64(len(d.Raw)), sha256Of(d.Raw)
		d.encode()
		return d, nil
	}
	if err := c.Store().CheckPath(d.Version.ThreadID, d.Path); err != nil {
		return nil, err
	}
	err = c.ReadConsistent(func() error { return d.read(c) }, d.Version.Parties...)
	if err != nil {
		return nil, err
	}
	d.encode()
	return d, nil
}

// encode sets the content from the bytes.
func (d *ShowFileResult) encode() {
	d.Encoding, d.Content = "utf-8", string(d.Raw)
	if merge.Binary(d.Raw) {
		d.Encoding, d.Content = "base64", base64.StdEncoding.EncodeToString(d.Raw)
	}
}

func (d *ShowFileResult) read(c *app.Call) error {
	none := codes.ScopeNotFound.New(fact.Of("path", d.Path), fact.Of("threadId", d.Version.ThreadID))
	if d.Version.Kind != app.CurrentVersion {
		none = none.WithNext("leslie show " + external.Word(d.Version.String()))
	}
	tree, err := merges.ReadVersion(c, d.Version, scope.Set{})
	if err != nil {
		return err
	}
	f, ok := tree.Files[d.Path]
	if !ok {
		return none
	}
	if d.Raw, err = f.Content(c, d.Path); errors.Is(err, app.ErrMoved) {
		return none
	}
	d.Size, d.Executable, d.SHA256 = int64(len(d.Raw)), f.Executable, sha256Of(d.Raw)
	return err
}

func sha256Of(data []byte) thread.BlobID {
	sum := sha256.Sum256(data)
	return thread.BlobID(hex.EncodeToString(sum[:]))
}

// findFile finds a file's version. The name of a checkpoint may have colons: the
// longest name that exists counts. Errors: T903, and those of app.FindVersion.
func findFile(s *thread.State, text string) (v app.Version, path string, err error) {
	end := strings.IndexByte(text, ':')
	if at := strings.IndexByte(text, '@'); at >= 0 && at < end {
		for i := strings.LastIndexByte(text, ':'); i > end; i = strings.LastIndexByte(text[:i], ':') {
			if found, err := app.FindVersion(s, text[:i]); err == nil {
				return found, text[i+1:], nil
			}
		}
	}
	v, err = app.FindVersion(s, text[:end])
	return v, text[end+1:], err
}

// FileFault says what is wrong with a word for a file of a version, or "".
func FileFault(text string) string {
	version, path, ok := strings.Cut(text, ":")
	switch {
	case !ok || path == "":
		return "needs a path after the :"
	case !strings.Contains(version, "@") || strings.TrimSpace(version[strings.IndexByte(version, '@')+1:]) == "":
		return app.VersionFault(version)
	}
	return ""
}

// ShowOperationRequest names an operation by its id or a prefix of it.
type ShowOperationRequest struct{ Operation string }

// ShowOperationResult is an operation with its changes.
type ShowOperationResult struct {
	app.OperationRecord
	// Lines has the commands of a batch.
	Lines   []OperationLine `json:"lines,omitempty"`
	Changes []RecordChange  `json:"changes"`
	// Files has what a merge or a rollback replaced in threads' folders.
	Files []FileReplaced `json:"files"`
}

// OperationLine is one command of a batch, cut where it is long.
type OperationLine struct {
	Line    int    `json:"line"`
	Command string `json:"command"`
}

// RecordChange says how an operation changed a record.
type RecordChange struct {
	Record string        `json:"record"` // TABLE/ID
	How    string        `json:"how"`    // created, changed, removed, archived
	Fields []FieldChange `json:"fields"`
}

// FieldChange is a field before and after; null where it had no value.
type FieldChange struct {
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// FileReplaced is a file that an operation changed.
type FileReplaced struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Path     string          `json:"path"`
	How      string          `json:"how"` // added, replaced, removed
}

// ShowOperation returns an operation with its changes. Errors: T112, T105, those of
// reading.
func ShowOperation(c *app.Call, in ShowOperationRequest) (*ShowOperationResult, error) {
	c.ReadOnly()
	op, w, err := history.FindOperation(c, in.Operation)
	if err != nil {
		return nil, err
	}
	d := &ShowOperationResult{OperationRecord: app.OperationOf(op, w.UndoneBy[op.ID]), Lines: linesOf(op), Changes: []RecordChange{}, Files: []FileReplaced{}}
	_, err = c.View(func(s *thread.State) error {
		for _, change := range op.Changes {
			d.Changes = append(d.Changes, recordChange(s, change))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, change := range op.Changes {
		if err := d.addFiles(c, op.Seq, change); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// recordChange compares a record's fields. Its revision always changes, and says
// nothing.
func recordChange(s *thread.State, change thread.Change) RecordChange {
	var before, after map[string]json.RawMessage
	_ = json.Unmarshal(change.Before, &before)
	_ = json.Unmarshal(change.After, &after)
	d := RecordChange{Record: change.Record, How: "changed", Fields: []FieldChange{}}
	switch {
	case before == nil:
		d.How = "created"
	case after == nil:
		d.How = "removed"
		if archivedSince(s, change.Record) {
			d.How = "archived"
		}
		return d
	}
	names := slices.Collect(maps.Keys(after))
	for name := range before {
		if _, both := after[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if name != "revision" && !bytes.Equal(before[name], after[name]) {
			d.Fields = append(d.Fields, FieldChange{name, before[name], after[name]})
		}
	}
	return d
}

// archivedSince reports whether a record that left the State is in the archive.
func archivedSince(s *thread.State, record string) bool {
	table, id, _ := strings.Cut(record, "/")
	switch table {
	case thread.TableThreads:
		t, err := s.Thread(id)
		return err == nil && string(t.ID) == id && t.Status == thread.Archived
	case thread.TableReferences:
		ref, err := s.Reference(id)
		return err == nil && string(ref.ID) == id
	}
	return false
}

// addFiles adds the files that an operation replaced in a thread's folder. Errors: T509.
func (d *ShowOperationResult) addFiles(c *app.Call, seq thread.Revision, change thread.Change) error {
	if !strings.HasPrefix(change.Record, thread.TableThreads+"/") || len(change.After) == 0 {
		return nil
	}
	var t thread.Thread
	if err := thread.Decode(change.After, &t); err != nil {
		return err
	}
	var lists []thread.BlobID
	for _, share := range t.Shared {
		if share.At == seq && share.Undo != "" {
			lists = append(lists, share.Undo)
		}
	}
	for _, ck := range t.Checkpoints {
		if ck.At == seq && ck.Undo != "" {
			lists = append(lists, ck.Undo)
		}
	}
	slices.Sort(lists)
	for _, list := range slices.Compact(lists) {
		files, err := changes.List(c.Store(), list)
		if err != nil {
			return err
		}
		for _, f := range files {
			how := "replaced"
			switch {
			case f.Before == "":
				how = "added"
			case f.After == "":
				how = "removed"
			}
			d.Files = append(d.Files, FileReplaced{t.ID, f.Path, how})
		}
	}
	return nil
}

// linesOf returns the commands of a batch.
func linesOf(op thread.Operation) []OperationLine {
	var params struct {
		Commands []OperationLine `json:"commands"`
	}
	if op.Command != "batch" || json.Unmarshal(op.Params, &params) != nil {
		return nil
	}
	return params.Commands
}
