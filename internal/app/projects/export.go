package projects

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/importing"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// ExportResult says what an export contains.
type ExportResult struct {
	Revision thread.Revision
}

// Export writes the whole store as JSON Lines: records, archive, journal, blobs and
// files (importing/export.go has the format). It holds the threads' files in memory, so
// that they are those of the revision. Logs, configuration and stages are not part of
// it. Content that others have published, and that nobody looked at here, is brought first; what cannot
// be had is W520. Errors: T202 for a thread whose folder is missing; those of reading; T510 for content
// of servers that do not answer, unless nobody is to be asked; T509 for a damaged blob; those of w.
func Export(c *app.Call, w io.Writer) (*ExportResult, error) {
	c.ReadOnly()
	x := &exporter{c: c}
	if err := x.ids(); err != nil {
		return nil, err
	}
	err := c.ReadConsistent(x.read, slices.Sorted(maps.Keys(x.threads))...)
	if err != nil {
		return nil, err
	}
	c.WarnSkipped(x.skipped)
	buffered := bufio.NewWriterSize(w, 256<<10)
	if err := x.write(buffered); err != nil {
		return nil, err
	}
	return &ExportResult{x.dump.Revision}, buffered.Flush()
}

// exporter is one export.
type exporter struct {
	c       *app.Call
	threads map[thread.ThreadID]bool // live and archived ones
	dump    store.Dump
	files   []store.RawFile
	skipped []string
}

// ids finds the threads whose files are exported.
func (x *exporter) ids() error {
	_, err := x.c.View(func(s *thread.State) error {
		all, err := s.List(thread.Filter{All: true})
		x.threads = map[thread.ThreadID]bool{}
		for _, t := range all {
			x.threads[t.ID] = true
		}
		return err
	})
	return err
}

// read reads the records and the files beside them.
func (x *exporter) read() (err error) {
	if err := x.ids(); err != nil {
		return err
	}
	x.files, x.skipped = nil, nil
	var found warnings.List
	if x.dump, found, err = x.c.Store().Dump(x.c.Context()); err != nil {
		return err
	}
	x.c.Warn(found...)
	x.c.SetRevision(&x.dump.Revision)
	if err := x.bring(); err != nil {
		return err
	}
	homes := []string{}
	for _, id := range slices.Sorted(maps.Keys(x.threads)) {
		if err := folderThere(x.c, id); err != nil {
			return err // whoever imported it would have a thread whose files were all deleted
		}
		homes = append(homes, app.ThreadInStore(id))
	}
	for _, m := range x.dump.Records[thread.TableMerges] {
		homes = append(homes, store.MergesDir+"/"+m.ID)
	}
	for i, home := range homes {
		x.c.Report(app.Progress{What: "reading files", Done: int64(i), Total: int64(len(homes))})
		err := x.c.Store().RawFiles(x.c.Context(), home, func(f store.RawFile) error {
			if f.Other {
				x.skipped = append(x.skipped, f.Path)
			} else {
				x.files = append(x.files, f)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bring brings the content here that records name. Errors: T402, T505, T510, T904.
func (x *exporter) bring() error {
	offline := x.c.Project().Link() != nil && x.c.Project().Link().Offline
	lacking, err := StoreDoctor(x.c).BringContent(x.c.Context(), !offline)
	if codes.Has(err, codes.RemoteUnreachable) {
		return codes.Of(err).WithHint("Repeat the call when the servers answer; leslie --offline export writes what is here, " +
			"and says what it lacks").WithNext("leslie remote status")
	}
	if err == nil && len(lacking.Damaged) > 0 {
		x.c.Warn(warnings.ContentNotHere.New(fact.Of("content", namesOf(lacking.Damaged))))
	}
	return err
}

// namesOf says what names content, each once.
func namesOf(all []DamagedContent) (what []string) {
	for _, one := range DistinctDamage(all) {
		what = append(what, one.What)
	}
	return what
}

// folderThere checks that a thread has its folder, or that an operation has still to put it
// in place. Errors: T202, T507, T509.
func folderThere(c *app.Call, id thread.ThreadID) error {
	there, err := c.Store().HasThread(id)
	if err == nil && !there {
		_, err = c.Store().Artifacts(id)
	}
	return artifacts.UnlessPending(c, id, err)
}

func (x *exporter) write(to io.Writer) error {
	w, err := importing.NewWriter(to, importing.Head{Version: x.dump.Version, Revision: int64(x.dump.Revision)})
	if err != nil {
		return err
	}
	for _, table := range thread.Tables() {
		for _, line := range x.dump.Records[table] {
			if err := w.Record(table+"/"+line.ID, line.JSON); err != nil {
				return err
			}
		}
	}
	for _, line := range x.dump.Archive {
		if err := w.Archived(line); err != nil {
			return err
		}
	}
	for _, line := range x.dump.Operations {
		if err := w.Operation(line); err != nil {
			return err
		}
	}
	blobs := map[string]bool{}
	err = x.c.Store().Blobs(x.c.Context(), func(id thread.BlobID, content []byte) error {
		blobs[string(id)] = true
		x.c.Report(app.Progress{What: "writing blobs", Done: int64(len(blobs))})
		return w.Blob(string(id), content)
	})
	if err != nil {
		return err
	}
	err = x.c.Store().Kept(x.c.Context(), func(op thread.OperationID, list []byte) error { return w.Kept(string(op), list) })
	if err != nil {
		return err
	}
	for i, f := range x.files {
		x.c.Report(app.Progress{What: "writing files", Done: int64(i), Total: int64(len(x.files))})
		out := importing.File{Path: f.Path, Folder: f.Folder, Executable: f.Executable, ReadOnly: f.ReadOnly, Content: f.Content}
		if sum := sha256.Sum256(f.Content); !f.Folder && blobs[hex.EncodeToString(sum[:])] {
			out.Blob = hex.EncodeToString(sum[:])
		}
		if err := w.File(out); err != nil {
			return err
		}
	}
	return w.End()
}

// restorer takes an export in: it stages contents as they are read, and keeps records.
type restorer struct {
	c     *app.Call
	stage *store.Stage // nil for a dry run, or a preview
	head  importing.Head
	dump  store.Dump
	kept  map[thread.OperationID][]byte
	in    thread.Adoption
	blobs map[string]bool
	homes map[string]bool // threads/ID and merges/ID that have files
	paths map[string]bool
	files int
}

func (r *restorer) Head(head importing.Head) error {
	r.head = head
	r.dump = store.Dump{Version: head.Version, Revision: thread.Revision(head.Revision), Records: thread.Records{}}
	r.kept, r.blobs = map[thread.OperationID][]byte{}, map[string]bool{}
	r.homes, r.paths = map[string]bool{}, map[string]bool{}
	return nil
}

func (r *restorer) Record(table, id string, value []byte) error {
	r.dump.Records[table] = append(r.dump.Records[table], thread.Line{ID: id, JSON: value})
	return r.in.Add(table, id, value)
}

func (r *restorer) Archived(line []byte) error {
	r.dump.Archive = append(r.dump.Archive, line)
	return nil
}

func (r *restorer) Operation(line []byte) error {
	r.dump.Operations = append(r.dump.Operations, line)
	return nil
}

func (r *restorer) Blob(id string, content []byte) error {
	sum := sha256.Sum256(content)
	if hex.EncodeToString(sum[:]) != id {
		return badExport("the blob " + id + " has other content")
	}
	r.blobs[id] = true
	if r.stage == nil {
		return nil
	}
	_, err := r.stage.PutAny(content)
	return err
}

func (r *restorer) Kept(op string, list []byte) error {
	r.kept[thread.OperationID(op)] = list
	return nil
}

func (r *restorer) File(f importing.File) error {
	parts := strings.SplitN(f.Path, "/", 3)
	r.homes[parts[0]+"/"+parts[1]], r.paths[f.Path] = true, true
	if !f.Folder {
		r.files++
	}
	if f.Blob != "" && !r.blobs[f.Blob] {
		return badExport("the file " + f.Path + " has the content of a blob that is missing")
	}
	switch {
	case r.stage == nil:
		return nil
	case f.Folder:
		return r.stage.MakeFolder(f.Path)
	case f.Blob != "":
		var err error
		if f.Content, err = r.stage.Blob(thread.BlobID(f.Blob)); err != nil {
			return err
		}
	}
	if f.ReadOnly {
		return r.stage.WriteReadOnly(f.Path, f.Content, f.Executable)
	}
	return r.stage.Write(f.Path, f.Content, f.Executable)
}

// finish checks the records together. Each file belongs to one of them.
func (r *restorer) finish() error {
	cold, err := store.ArchivedRecords(r.dump.Archive, r.dump.Records)
	if err != nil {
		return err
	}
	for table, lines := range cold {
		for _, line := range lines {
			if err := r.in.Add(table, line.ID, line.JSON); err != nil {
				return err
			}
		}
	}
	for i := range r.in.Objectives {
		r.in.Objectives[i].Archived = 0 // counted again
	}
	known := map[string]bool{}
	for _, t := range r.in.Threads {
		known[app.ThreadInStore(t.ID)] = true
	}
	for _, m := range r.in.Merges {
		known[store.MergesDir+"/"+string(m.ID)] = true
	}
	for home := range r.homes {
		if !known[home] {
			return badExport("it has files of " + home + ", and no such record")
		}
	}
	return thread.NewState(0, nil, nil).Adopt(r.in)
}

// lacking says what content the records name that the export does not have, but for commits that machines have sent.
func (r *restorer) lacking() (what []string) {
	for _, table := range thread.Tables() {
		for _, line := range r.dump.Records[table] {
			blobs, err := thread.BlobsOf(table, line.JSON)
			if err != nil {
				continue
			}
			for _, b := range blobs {
				if !r.blobs[string(b.ID)] && b.Kind != thread.BlobBundle && !slices.Contains(what, b.By) {
					what = append(what, b.By)
				}
			}
		}
	}
	return what[:min(len(what), warnings.MaxPaths)]
}

// steps place the folders.
func (r *restorer) steps() (steps []thread.Step) {
	for _, t := range r.in.Threads {
		if !r.homes[app.ThreadInStore(t.ID)] {
			steps = append(steps, thread.Step{Do: thread.StepMakeDir, To: app.ThreadInStore(t.ID)})
		}
	}
	for _, home := range slices.Sorted(maps.Keys(r.homes)) {
		steps = append(steps, thread.Step{Do: thread.StepPlace, From: r.stage.Rel(home), To: home})
	}
	return steps
}

// result counts what an export holds.
func (r *restorer) result(in ImportRequest) *ImportResult {
	d := &ImportResult{
		From: importing.Export, Objectives: []thread.ObjectiveID{}, Threads: len(r.in.Threads), References: len(r.in.References),
		Approvals: len(r.in.Approvals), Files: r.files, DryRun: in.DryRun, Renamed: app.First[importing.Renamed](nil, 0), Unmapped: app.First[importing.Note](nil, 0),
	}
	for _, o := range r.in.Objectives {
		d.Objectives = append(d.Objectives, o.ID)
	}
	return d
}

// importExport restores an export into an empty store, and adds it to another.
func importExport(c *app.Call, in ImportRequest, from string, input io.Reader) (*ImportResult, error) {
	r := &restorer{c: c}
	if !in.DryRun {
		var err error
		if r.stage, err = c.Store().Stage(c.Stamp().Operation); err != nil {
			return nil, err
		}
	}
	d, err := r.run(in, from, input)
	c.EndStage(r.stage, err == nil && d.Changed)
	if err == nil && d.Restored {
		d.Revision, err = withoutSent(c)
	}
	return d, err
}

// withoutSent takes out of a project that was restored the content with which its machines sent their commits: it is with
// the servers. It returns the project's revision. Errors: those of a write.
func withoutSent(c *app.Call) (thread.Revision, error) {
	next := c.ForCommand("import")
	commit, err := next.Update(next.StoreCall(), func(s *thread.State) (store.Outcome, error) {
		s.Alone("")
		return store.Outcome{}, nil
	})
	return commit.Revision, err
}

func (r *restorer) run(in ImportRequest, from string, input io.Reader) (*ImportResult, error) {
	if err := importing.ReadExport(input, from, r); err != nil {
		return nil, cannotReadSource(from, err)
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	d := r.result(in)
	if lacking := r.lacking(); r.c != nil && len(lacking) > 0 {
		r.c.Warn(warnings.ContentNotHere.New(fact.Of("content", lacking)))
	}
	if in.DryRun {
		if r.c == nil {
			return d, nil
		}
		r.c.ReadOnly()
		_, err := r.c.View(func(s *thread.State) error {
			d.Revision = s.Revision
			return s.Adopt(r.in)
		})
		return d, err
	}
	r.c.Report(app.Progress{What: "writing"})
	if r.c.Request().ID == "" && r.c.Request().Expect == nil {
		commit, err := r.c.Store().Restore(r.c.Context(), r.c.LockWait(), r.stage, r.dump, r.kept, r.steps())
		if err == nil {
			r.c.SetChanged(true)
			d.Restored, d.Changed = true, true
			d.Revision = commit.Revision
			return app.AfterCommit(r.c, commit, d)
		}
		if !errors.Is(err, store.ErrNotEmpty) {
			r.c.Warn(commit.Warnings...)
			return nil, err
		}
	}
	return r.add(in)
}

// add adds the records to a store that has some, as one operation.
func (r *restorer) add(in ImportRequest) (*ImportResult, error) {
	if err := r.keepOperations(); err != nil {
		return nil, err
	}
	if err := r.c.RelyOn(r.stage); err != nil {
		return nil, err
	}
	return app.Write(r.c, func(s *thread.State, _ thread.Stamp) (*ImportResult, thread.ThreadID, error) {
		if err := s.Adopt(r.in.Renumbered(s.Revision)); err != nil {
			return nil, "", err
		}
		s.Plan(r.steps()...)
		d := r.result(in)
		d.Revision = s.Revision + 1
		return d, "", nil
	})
}

// keepOperations stages each thread's operations as a file of its folder: the journal
// of the store that they are added to does not know them.
func (r *restorer) keepOperations() error {
	lines := map[thread.ThreadID][]byte{}
	for _, line := range r.dump.Operations {
		ids, err := store.ThreadsOf(line)
		if err != nil {
			return err
		}
		for _, id := range ids {
			lines[id] = append(append(lines[id], line...), '\n')
		}
	}
	for _, t := range r.in.Threads {
		if len(lines[t.ID]) == 0 {
			continue
		}
		name := app.ThreadInStore(t.ID) + "/" + importing.KeptDir + "/history"
		for r.paths[name+".jsonl"] { // of an earlier import
			name += "-before"
		}
		r.homes[app.ThreadInStore(t.ID)] = true
		if err := r.stage.Write(name+".jsonl", lines[t.ID], false); err != nil {
			return err
		}
	}
	return nil
}

func badExport(reason string) *codes.Error {
	return codes.ParseError.New(fact.Of("reason", "the export: "+reason)).
		WithHint("Nothing was imported. Export again").WithNext("leslie help import")
}
