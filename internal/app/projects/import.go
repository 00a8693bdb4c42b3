package projects

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path"
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

// This file takes over what other programs keep. A source is read as a whole before
// anything is staged, and becomes one operation or none. import_input.go finds and opens
// it.

// ImportRequest takes over a store or a file of another program.
type ImportRequest struct {
	// Path is a project's folder, its .leslie, or a file, absolute. Input, if not nil,
	// is read instead.
	Path  string
	Input io.Reader
	From  importing.Kind // "": recognised
	// Objective is where the issues of beads go; "": a new one named after the file.
	Objective string
	DryRun    bool
	Limit     int // of the listed renamed ids and notes; 0: all

	told *app.Call // who is told of the progress, nil for nobody
}

// Faults returns what is wrong with the request.
func (in ImportRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	if in.Input == nil {
		k.Needed("Path", in.Path)
	}
	if in.From != "" {
		app.OneOf(k, "From", in.From, importing.Leslie, importing.Beads)
	}
	k.Ids("Objective", in.Objective)
	if in.From == importing.Leslie && in.Objective != "" {
		k.Add("Objective", in.Objective, "is for beads: the threads of a store have their objectives")
	}
	return k.Faults
}

// ImportResult says what was taken over.
type ImportResult struct {
	From       importing.Kind               `json:"from"`
	Objectives []thread.ObjectiveID         `json:"objectives"` // new ones
	Threads    int                          `json:"threads"`
	References int                          `json:"references"`
	Approvals  int                          `json:"approvals"`
	Files      int                          `json:"files"`
	Renamed    app.Items[importing.Renamed] `json:"renamed"`
	Unmapped   app.Items[importing.Note]    `json:"unmapped"`
	// UnmappedKinds counts what does not map.
	UnmappedKinds map[string]int `json:"unmappedKinds,omitempty"`
	// Rules are what the Node edition's permission file says, as members of run in a
	// configuration. Nothing takes them over: a person adds those that they want.
	Rules *importing.Permissions `json:"rules,omitempty"`
	// Restored: an export became an empty store's content, with its own revisions.
	Restored bool            `json:"restored,omitempty"`
	DryRun   bool            `json:"dryRun,omitempty"`
	Revision thread.Revision `json:"revision"`
	app.Change
}

// Import adds what a source holds as one operation; the source does not change. Errors:
// T903, T502 for input that cannot be read as what it claims to be, T106 for an id that
// is taken, T101, T201, T601 for records that do not fit together, T603, T507 for a path
// that leads out, T508, T509, and those of a write.
func Import(c *app.Call, in ImportRequest) (*ImportResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if first, ok, err := app.Answered[ImportResult](c); ok || err != nil {
		return first, err
	}
	in.told = c
	s, err := openSource(*c.Project().Environment(), in)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.export != nil {
		return importExport(c, in, s.name, s.export)
	}
	im := &importer{ctx: c.Context(), c: c, in: in, source: s.Source, files: s.files, objective: s.objective}
	if in.DryRun || s.Kind == importing.Rules {
		return im.preview()
	}
	return im.run()
}

// PreviewImport is a dry run where there is no store that could say which ids are taken.
// Errors: as of Import.
func PreviewImport(ctx context.Context, env app.Environment, in ImportRequest) (*ImportResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	s, err := openSource(env, in)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.export != nil {
		return (&restorer{}).run(in, s.name, s.export)
	}
	im := &importer{ctx: ctx, in: in, source: s.Source, files: s.files, objective: s.objective}
	if err := im.countFiles(); err != nil {
		return nil, err
	}
	return im.adopted(thread.NewState(0, nil, nil), nil)
}

// importer is one import.
type importer struct {
	ctx       context.Context
	c         *app.Call // nil for a preview without a store
	in        ImportRequest
	source    *importing.Source
	files     fs.FS // of the source; nil for a file without folders
	objective *thread.Objective

	stage  *store.Stage
	staged map[thread.ThreadID]bool           // the threads whose folder is staged
	count  int                                // of their files
	placed map[thread.ThreadID]store.Manifest // their artifacts
	frozen map[thread.ReferenceID]bool
	links  []string
}

// preview says what the import would do.
func (im *importer) preview() (out *ImportResult, err error) {
	im.c.ReadOnly()
	if err := im.countFiles(); err != nil {
		return nil, err
	}
	_, err = im.c.View(func(s *thread.State) error {
		out, err = im.adopted(s, nil)
		return err
	})
	return out, err
}

func (im *importer) run() (*ImportResult, error) {
	c := im.c
	_, err := c.View(func(s *thread.State) error { // before anything is staged
		_, err := im.adopted(s, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	if im.stage, err = c.Store().Stage(c.Stamp().Operation); err != nil {
		return nil, err
	}
	if err = im.fill(); err == nil {
		err = c.RelyOn(im.stage)
	}
	if err != nil {
		c.EndStage(im.stage, false)
		return nil, err
	}
	im.warnLinks()
	data, err := app.Write(c, func(s *thread.State, _ thread.Stamp) (*ImportResult, thread.ThreadID, error) {
		d, err := im.adopted(s, im.steps())
		if err != nil {
			return nil, "", err
		}
		d.Revision = s.Revision + 1
		return d, "", nil
	})
	c.EndStage(im.stage, err == nil && data.Changed)
	return data, err
}

// adopted is the rule: it adds the records to a State.
func (im *importer) adopted(s *thread.State, steps []thread.Step) (*ImportResult, error) {
	in, err := im.records(s)
	if err != nil {
		return nil, err
	}
	if err := s.Adopt(in); err != nil {
		return nil, err
	}
	s.Plan(steps...)
	d := &ImportResult{
		From: im.source.Kind, Objectives: []thread.ObjectiveID{}, Threads: len(in.Threads), References: len(in.References),
		Approvals: len(in.Approvals), Files: im.count, DryRun: im.in.DryRun, Revision: s.Revision,
		Renamed: app.First(im.source.Renamed, im.in.Limit), Unmapped: app.First(im.source.Unmapped, im.in.Limit),
		Rules: im.source.Rules,
	}
	for _, n := range im.source.Unmapped {
		if d.UnmappedKinds == nil {
			d.UnmappedKinds = map[string]int{}
		}
		d.UnmappedKinds[n.Kind]++
	}
	for _, o := range in.Objectives {
		d.Objectives = append(d.Objectives, o.ID)
	}
	return d, nil
}

// records are the source's records, those of beads under their objective.
func (im *importer) records(s *thread.State) (thread.Adoption, error) {
	in := im.source.Adoption
	in.Threads = slices.Clone(in.Threads)
	for i, t := range in.Threads {
		checkpoints := slices.Clone(t.Checkpoints)
		for k := range checkpoints {
			checkpoints[k].At = s.Revision + 1
		}
		in.Threads[i].Checkpoints = checkpoints
	}
	if im.source.Kind != importing.Beads {
		return in, nil
	}
	var id thread.ObjectiveID
	if im.in.Objective != "" {
		o, err := s.Objective(im.in.Objective)
		switch {
		case err != nil:
			return in, err
		case o.Done():
			return in, codes.ObjectiveDone.New(fact.Of("objectiveId", o.ID))
		}
		id = o.ID
	} else {
		made := *im.objective
		if im.c != nil {
			made.ID = im.c.NewObjectiveID(s, "", made.Title)
		}
		id, in.Objectives = made.ID, []thread.Objective{made}
	}
	for i := range in.Threads {
		in.Threads[i].ObjectiveID = id
	}
	return in, nil
}

// steps place what was staged, or make an empty folder, for each thread.
func (im *importer) steps() []thread.Step {
	steps := make([]thread.Step, 0, len(im.source.Threads))
	for _, t := range im.source.Threads {
		step := thread.Step{Do: thread.StepMakeDir, To: app.ThreadInStore(t.ID)}
		if im.staged[t.ID] {
			step = thread.Step{Do: thread.StepPlace, From: im.stage.Rel(app.ThreadInStore(t.ID)), To: step.To}
		}
		steps = append(steps, step)
	}
	return steps
}

// fill stages the threads' folders.
func (im *importer) fill() error {
	im.staged, im.frozen = map[thread.ThreadID]bool{}, map[thread.ReferenceID]bool{}
	im.placed = map[thread.ThreadID]store.Manifest{}
	im.count += len(im.source.Artifacts)
	for _, k := range slices.Concat(im.source.Kept, im.source.Artifacts) {
		if err := im.write(k.Thread, k.Path, k.Data, false); err != nil {
			return err
		}
	}
	for i, f := range im.source.Folders {
		im.c.Report(app.Progress{What: "copying folders", Done: int64(i), Total: int64(len(im.source.Folders))})
		err := im.read(f.From, f.Skip, func(rel string, data []byte, executable bool) error {
			return im.write(f.Thread, path.Join(f.To, rel), data, executable)
		})
		if err != nil {
			return err
		}
	}
	for _, copied := range im.source.Copies {
		if err := im.freeze(copied); err != nil {
			return err
		}
	}
	return im.checkpoints()
}

func (im *importer) write(id thread.ThreadID, rel string, data []byte, executable bool) error {
	im.staged[id] = true
	if isArtifact(rel) {
		blob, err := im.stage.Put(data)
		if err != nil {
			return err
		}
		file := store.FileAt{Path: rel, SHA256: blob, Size: int64(len(data)), Executable: executable}
		im.placed[id] = append(im.placed[id], file)
	}
	return im.stage.Write(path.Join(app.ThreadInStore(id), rel), data, executable)
}

// isArtifact reports whether a file of a thread's folder is an artifact, not bookkeeping.
func isArtifact(rel string) bool {
	return !strings.HasPrefix(rel, ".meta/") && !strings.HasPrefix(rel, store.InheritedDir+"/")
}

// checkpoints gives each thread with artifacts a checkpoint that has them: by it undo tells
// what somebody has written since, and redo brings them back.
func (im *importer) checkpoints() error {
	now := im.c.Now()
	for i := range im.source.Threads {
		t := &im.source.Threads[i]
		m := im.placed[t.ID]
		if len(m) == 0 {
			continue
		}
		slices.SortFunc(m, func(a, b store.FileAt) int { return strings.Compare(a.Path, b.Path) })
		list, err := im.stage.PutManifest(m)
		if err != nil {
			return err
		}
		t.Checkpoints = append(t.Checkpoints, thread.Checkpoint{
			ID: im.c.NewCheckpointID(*t), Name: app.ImportedCheckpoint, Manifest: list, Files: len(m),
			Created: thread.Attribution{At: now, As: im.c.Caller().As, Actor: im.c.Caller().Actor},
		})
	}
	return nil
}

// freeze stages the copy of a frozen reference and gives the reference its manifest.
func (im *importer) freeze(copied importing.Copy) error {
	ref := &im.source.References[copied.Reference]
	var m store.Manifest
	err := im.read(copied.From, nil, func(rel string, data []byte, executable bool) error {
		id, err := im.stage.Put(data)
		m = append(m, store.FileAt{Path: rel, SHA256: id, Size: int64(len(data)), Executable: executable})
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(m, func(a, b store.FileAt) int { return strings.Compare(a.Path, b.Path) })
	if ref.Manifest, err = im.stage.PutManifest(m); err != nil {
		return err
	}
	ref.Files = len(m)
	im.staged[ref.From], im.frozen[ref.ID] = true, true
	return im.stage.Materialize(im.ctx, m, artifacts.FrozenPlace(ref.From, ref.ID), true)
}

// warnLinks adds W204 for what is no regular file and was left out.
func (im *importer) warnLinks() {
	if len(im.links) > 0 {
		im.c.Warn(warnings.SkippedFiles.NewOfPaths(im.links, fact.List(nil)))
	}
}

// countFiles counts what an import would copy. Errors: as of walk.
func (im *importer) countFiles() error {
	nothing := func(string) error { return nil }
	im.count += len(im.source.Artifacts)
	for _, f := range im.source.Folders {
		if err := im.walk(f.From, f.Skip, nothing); err != nil {
			return err
		}
	}
	for _, copied := range im.source.Copies {
		if err := im.walk(copied.From, nil, nothing); err != nil {
			return err
		}
	}
	return nil
}

// read calls fn for the regular files below a folder of the source, in order, with their
// content. Errors: fn's, T507, T508, T509.
func (im *importer) read(folder string, skip []string, fn func(rel string, data []byte, executable bool) error) error {
	return im.walk(folder, skip, func(rel string) error {
		data, executable, err := readSource(im.files, path.Join(folder, rel))
		if err != nil {
			return err
		}
		return fn(rel, data, executable)
	})
}

// walk calls fn for the regular files below a folder of the source, in order, and counts
// them. A folder that does not exist has none. Errors: fn's, T508, T509.
func (im *importer) walk(folder string, skip []string, fn func(rel string) error) error {
	if im.files == nil {
		return nil
	}
	files := 0
	return fs.WalkDir(im.files, folder, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && name == folder && isGone(err):
			return nil
		case err != nil:
			return cannotReadSource(name, err)
		case im.ctx.Err() != nil:
			return codes.Interrupted.Wrap(im.ctx.Err())
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(name, folder), "/")
		top, _, _ := strings.Cut(rel, "/")
		switch {
		case rel != "" && slices.Contains(skip, top):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			im.links = append(im.links, name)
			return nil
		}
		if files++; files > store.MaxFiles {
			return codes.TooLarge.New(fact.Of("what", "The folder "+folder), fact.Of("limit", "10,000 files"), fact.Of("path", folder)).WithNext("leslie help import")
		}
		im.count++
		return fn(rel)
	})
}

// readSource reads a regular file of a source, at most store.MaxFile.
func readSource(files fs.FS, name string) (data []byte, executable bool, err error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, false, cannotReadSource(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, cannotReadSource(name, err)
	}
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(f, store.MaxFile+1)); err != nil {
		return nil, false, cannotReadSource(name, err)
	}
	if b.Len() > store.MaxFile {
		return nil, false, codes.TooLarge.New(fact.Of("what", name), fact.Of("limit", "64 MiB"), fact.Of("path", name)).WithNext("leslie help import")
	}
	return b.Bytes(), info.Mode()&0o111 != 0, nil
}
