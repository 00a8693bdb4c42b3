package merges

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/code"
	"leslie/internal/app/merging"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/merge"
	"leslie/thread"
)

// DiffRequest compares two versions of artifacts.
type DiffRequest struct {
	// From and To are versions: ID, ID@CHECKPOINT, ID@base or a pending merge's id.
	// Without To, a thread is compared with what it inherited, a checkpoint or base with
	// the thread's current files, and a merge with its target. The default of From is the
	// thread that the caller speaks for.
	From, To string
	// Scope has paths, folders, globs of artifacts, and those of the code as code:PATH; nil:
	// all. With patterns of one kind only, only that kind is compared.
	Scope []string
	Only  DiffOnly // "": artifacts, and the code of a thread that owns some
	Stat  bool     // only counts, no lines
}

// DiffOnly is what is compared alone.
type DiffOnly string

// What may be compared alone.
const (
	OnlyCode      DiffOnly = "code"
	OnlyArtifacts DiffOnly = "artifacts"
)

// Faults returns what is wrong with the request.
func (in DiffRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Version("From", in.From)
	k.Version("To", in.To)
	ofCode, _ := in.scopes()
	if in.Only == OnlyArtifacts && len(ofCode) > 0 {
		k.Add("Scope", thread.CodePrefix+ofCode[0], "%s names code, and only artifacts are compared", thread.CodePrefix+ofCode[0])
	}
	if in.To != "" && (in.Only == OnlyCode || len(ofCode) > 0) {
		k.Add("To", in.To, "code is compared with the branch in which it lands, so one thread or merge is named alone")
	}
	return k.Faults
}

// scopes tells the patterns of code, without the prefix, from those of artifacts. Where only code is compared, all
// are of code.
func (in DiffRequest) scopes() (ofCode, artifacts []string) {
	for _, text := range in.Scope {
		if path, ok := strings.CutPrefix(text, thread.CodePrefix); ok || in.Only == OnlyCode {
			ofCode = append(ofCode, path)
		} else {
			artifacts = append(artifacts, text)
		}
	}
	return ofCode, artifacts
}

// DiffResult is what differs between two versions.
type DiffResult struct {
	From app.Version `json:"from"`
	To   app.Version `json:"to"`
	// Code is what a thread changed in the code that it owns, or what a merge would bring; null
	// where there is none, or only artifacts are compared.
	Code  *code.Changes `json:"code"`
	Files []FileDiff    `json:"files"` // artifacts, null if only code is compared
	// NotHere has the machines of which commits of the thread are not here.
	NotHere []string `json:"notHere,omitempty"`
	// Pending is the landing of the thread's code that waits; "" for none.
	Pending thread.MergeID `json:"pending,omitempty"`
	// BothCode: two threads are compared that both own code, which is not.
	BothCode bool `json:"bothCode,omitempty"`
	Added    int  `json:"added"` // lines of them
	Removed  int  `json:"removed"`
}

// FileChange says how a file differs.
type FileChange string

// The changes of files. ModeFile: only the executable bit differs; ConflictFile: nothing
// differs yet, because a conflict about the whole file waits for a decision.
const (
	AddedFile    FileChange = "added"
	DeletedFile  FileChange = "deleted"
	ModifiedFile FileChange = "modified"
	ModeFile     FileChange = "mode"
	ConflictFile FileChange = "conflict"
)

// FileDiff is what differs in one file.
type FileDiff struct {
	Path   string     `json:"path"`
	Change FileChange `json:"change"`
	From   *DiffFile  `json:"from"` // null: no such file
	To     *DiffFile  `json:"to"`
	// Binary: it is not text; TooLarge: it is longer than leslie compares line by line
	// (8 MiB, 200,000 lines). Such a file has no hunks.
	Binary   bool `json:"binary,omitempty"`
	TooLarge bool `json:"tooLarge,omitempty"`
	// Conflicts is the number of open conflicts of a merge in the file.
	Conflicts int              `json:"conflicts,omitempty"`
	Added     int              `json:"added"`
	Removed   int              `json:"removed"`
	Hunks     []merge.DiffHunk `json:"hunks,omitempty"`
}

// DiffFile is a file of a version.
type DiffFile struct {
	Size       int64 `json:"size"`
	Executable bool  `json:"executable"`
}

// Diff compares two versions of artifacts and, where a thread that owns code or a pending merge of
// code is named alone, its code with its target. W204 for entries that are not regular files, which it leaves out.
// Errors: T903, T101, T105, T111, T303; T203 for a pattern that matches in neither version,
// T507, T508, T801, T802, those of reading.
func Diff(c *app.Call, in DiffRequest) (*DiffResult, error) {
	c.ReadOnly()
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	d := &DiffResult{}
	owner, err := d.find(c, in)
	if codes.Has(err, codes.ThreadNotFound) && strings.ContainsAny(in.From, "./") {
		err = codes.Of(err).WithHint("Check the thread's id; a path stands behind --: leslie diff -- " + external.Word(in.From))
	}
	if err != nil {
		return nil, err
	}
	ofCode, patterns := in.scopes()
	if in.Only != OnlyArtifacts && (len(ofCode) > 0 || len(patterns) == 0) {
		if err := d.addCode(c, in, owner, ofCode); err != nil {
			return nil, err
		}
	}
	if in.Only == OnlyCode || len(patterns) == 0 && len(ofCode) > 0 {
		return d, nil
	}
	set, err := artifacts.ScopeIn(patterns, d.To.ThreadID)
	if err != nil {
		return nil, err
	}
	for range app.Attempts {
		err = c.ReadConsistent(func() error { return d.read(c, set, in.Stat) }, slices.Concat(d.From.Parties, d.To.Parties)...)
		if !errors.Is(err, app.ErrMoved) {
			break
		}
	}
	if errors.Is(err, app.ErrMoved) {
		err = codes.ReadFailed.New(fact.Of("path", app.ThreadPath(d.To.ThreadID)), fact.Of("reason", "its artifacts kept changing"), fact.Of("threadId", d.To.ThreadID))
	}
	if meantCode(c, owner, patterns, err) {
		d.Files, d.Added, d.Removed = nil, 0, 0
		return d, d.addCode(c, in, owner, append(ofCode, patterns...))
	}
	if codes.Has(err, codes.ScopeNotFound) && owner.OwnedCode() != nil {
		return nil, codes.Of(err).WithHint("No artifact of the thread, and no file of its code has this path; paths of code begin at the top of the repository").
			WithNext("leslie diff "+string(owner.ID)+" --stat", "leslie artifacts "+string(owner.ID))
	}
	if err != nil {
		return nil, err
	}
	return d, d.noteCode(c)
}

// noteCode notes that both sides have code, which is not compared.
func (d *DiffResult) noteCode(c *app.Call) error {
	if d.Code != nil || d.From.Kind != app.CurrentVersion || d.To.Kind != app.CurrentVersion || d.From.ThreadID == d.To.ThreadID {
		return nil
	}
	_, err := c.View(func(s *thread.State) error {
		from, _ := s.Threads.Peek(string(d.From.ThreadID))
		to, _ := s.Threads.Peek(string(d.To.ThreadID))
		d.BothCode = from.OwnedCode() != nil && to.OwnedCode() != nil
		return nil
	})
	return err
}

// meantCode reports whether patterns that match no artifact (T203) match files of the thread's code.
func meantCode(c *app.Call, owner thread.Thread, patterns []string, err error) bool {
	if !codes.Has(err, codes.ScopeNotFound) || owner.OwnedCode() == nil {
		return false
	}
	found, gitErr := code.ChangesOf(c, owner, false)
	if gitErr != nil {
		return false
	}
	paths, gitErr := found.Paths(c.Context())
	set, scopeErr := artifacts.ScopeIn(patterns, owner.ID)
	if gitErr != nil || scopeErr != nil {
		return false
	}
	paths = append(paths, found.Only(set.Match)...)
	return len(set.Unmatched(withAllFolders(paths))) == 0
}

// addCode adds what a thread changed in its code, or what a merge would bring. One without code
// has none, unless it was asked for: T802.
func (d *DiffResult) addCode(c *app.Call, in DiffRequest, owner thread.Thread, patterns []string) (err error) {
	switch asked := in.Only == OnlyCode || len(patterns) > 0; {
	case d.To.Kind == app.MergeVersion && in.To == "":
		s, planErr := pendingMerge(c, d.To)
		if planErr != nil {
			return planErr
		}
		d.Code, err = codeOfMerge(c.Context(), s, !in.Stat)
		if asked && err == nil && d.Code == nil {
			err = thread.NoCode(d.To.ThreadID, "the merge brings no code").WithNext("leslie diff " + string(d.To.MergeID))
		}
	case asked && owner.ID == "":
		return codes.InvalidArgument.New(fact.Of("reason", "the code of a thread is compared as it is now, so the thread's id is named alone, not "+in.From))
	case asked && owner.OwnedCode() == nil:
		return thread.NoCode(d.To.ThreadID, "it was spawned without --code")
	case owner.OwnedCode() == nil, !asked && owner.Unmade() != nil:
		return nil
	default:
		d.Code, err = code.ChangesOf(c, owner, !in.Stat)
		d.NotHere = c.NotHere(owner.ID)
	}
	if err != nil || d.Code == nil {
		return err
	}
	set, err := artifacts.ScopeIn(patterns, d.To.ThreadID)
	if err != nil || set.Everything() {
		return err
	}
	paths := d.Code.Only(set.Match)
	if len(set.Unmatched(withAllFolders(paths))) == 0 {
		return nil
	}
	there, err := d.Code.Paths(c.Context())
	if err != nil {
		return err
	}
	if none := set.Unmatched(withAllFolders(append(paths, there...))); len(none) > 0 {
		for i := range none {
			none[i] = thread.CodePrefix + none[i]
		}
		return codes.ScopeNotFound.New(fact.Of("path", none[0]), fact.Of("threadId", d.To.ThreadID), fact.Of("paths", none)).
			WithHint("After code: stands a path from the top of the repository; see which files of the code changed").
			WithNext("leslie diff " + d.To.String() + " --code --stat")
	}
	return nil
}

// codeOfMerge is what a merge would bring to the code, nil for none.
func codeOfMerge(ctx context.Context, s *merging.Session, patches bool) (*code.Changes, error) {
	d, err := s.View().CodeDiff()
	if err != nil || d == nil {
		return nil, err
	}
	return code.MergeChanges(ctx, d, patches)
}

// find finds the two versions, and the thread if its current version was named alone.
func (d *DiffResult) find(c *app.Call, in DiffRequest) (owner thread.Thread, err error) {
	named := in.From
	if named == "" {
		named = c.ThreadOr("")
	}
	_, err = c.View(func(s *thread.State) (err error) {
		owner = thread.Thread{}
		if d.From, err = app.FindVersion(s, named); err != nil {
			return err
		}
		c.SetTarget(d.From.ThreadID)
		switch {
		case in.To != "":
			d.To, err = app.FindVersion(s, in.To)
		case d.From.Kind == app.CurrentVersion:
			d.To = d.From
			if owner, err = s.Thread(string(d.To.ThreadID)); err == nil {
				d.From, err = app.InheritedOf(s, d.To.ThreadID)
			}
			if pending, ok := s.PendingLanding(owner.ID); ok {
				d.Pending = pending.ID
			}
		case d.From.Kind == app.MergeVersion:
			d.To = d.From
			d.From, err = app.FindVersion(s, string(d.To.ThreadID))
		default:
			d.To, err = app.FindVersion(s, string(d.From.ThreadID))
		}
		return err
	})
	return owner, err
}

// read reads both versions and compares them.
func (d *DiffResult) read(c *app.Call, set scope.Set, stat bool) error {
	from, err := artifactsOf(c, d.From, set)
	if err != nil {
		return err
	}
	to, err := artifactsOf(c, d.To, set)
	if err != nil {
		return err
	}
	if none := set.Unmatched(slices.Concat(from.matched, to.matched)); len(none) > 0 {
		return codes.ScopeNotFound.New(fact.Of("path", none[0]), fact.Of("threadId", d.To.ThreadID), fact.Of("paths", none))
	}
	if err := HashDoubtful(c, from, to); err != nil {
		return err
	}
	skipped := slices.Concat(from.skipped, to.skipped)
	slices.Sort(skipped)
	c.WarnSkipped(slices.Compact(skipped))
	d.Files, d.Added, d.Removed = []FileDiff{}, 0, 0
	paths := slices.Collect(maps.Keys(from.Files))
	for path := range to.Files {
		if _, both := from.Files[path]; !both {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		if c.Context().Err() != nil {
			return codes.Interrupted.Wrap(context.Cause(c.Context()))
		}
		if err := d.compare(c, path, from.Files, to.Files, stat); err != nil {
			return err
		}
	}
	return nil
}

// artifactsOf reads the artifacts of a version. What a merge does to code is compared by git.
func artifactsOf(c *app.Call, v app.Version, set scope.Set) (VersionTree, error) {
	tree, err := ReadVersion(c, v, set)
	if v.Kind == app.MergeVersion {
		maps.DeleteFunc(tree.Files, func(path string, _ versionFile) bool { return strings.HasPrefix(path, thread.CodePrefix) })
	}
	return tree, err
}

// compare adds what differs at a path.
func (d *DiffResult) compare(c *app.Call, path string, from, to map[string]versionFile, stat bool) error {
	a, was := from[path]
	b, is := to[path]
	f := FileDiff{Path: path, Conflicts: b.conflicts, From: diffFile(a, was), To: diffFile(b, is)}
	same := was && is && sameContent(a, b)
	switch {
	case !was && b.current == nil && b.Hash == "": // only a conflict about it
		f.Change, f.To, same = ConflictFile, nil, true
	case !was:
		f.Change = AddedFile
	case !is:
		f.Change = DeletedFile
	case !same:
		f.Change = ModifiedFile
	case a.Executable != b.Executable:
		f.Change = ModeFile
	case b.conflicts > 0:
		f.Change = ConflictFile
	default:
		return nil
	}
	if !same {
		if err := f.lines(c, a, b, stat); err != nil {
			return err
		}
	}
	d.Files, d.Added, d.Removed = append(d.Files, f), d.Added+f.Added, d.Removed+f.Removed
	return nil
}

func diffFile(f versionFile, there bool) *DiffFile {
	if !there {
		return nil
	}
	return &DiffFile{Size: f.Size, Executable: f.Executable}
}

// lines compares two files line by line.
func (f *FileDiff) lines(c *app.Call, a, b versionFile, stat bool) error {
	var texts [2][]byte
	for i, side := range []versionFile{a, b} {
		if there := []*DiffFile{f.From, f.To}[i]; there == nil {
			continue
		}
		if side.Size > merge.MaxText {
			f.TooLarge = true
			return nil
		}
		text, err := side.Content(c, f.Path)
		if err != nil {
			return err
		}
		texts[i] = text
	}
	f.Compare(texts[0], texts[1], stat)
	return nil
}

// Compare compares two texts line by line.
func (f *FileDiff) Compare(from, to []byte, stat bool) {
	switch {
	case merge.Binary(from) || merge.Binary(to):
		f.Binary = true
		return
	case merge.TooLargeToDiff(from) || merge.TooLargeToDiff(to):
		f.TooLarge = true
		return
	}
	around := merge.DiffContext
	if stat {
		around = 0
	}
	hunks := merge.Diff(from, to, around)
	for _, h := range hunks {
		added, removed := h.Changed()
		f.Added, f.Removed = f.Added+added, f.Removed+removed
	}
	if !stat {
		f.Hunks = hunks
	}
}

// SessionDiff returns what a merge without open conflicts would change in its target: its code and
// its files. Errors: T507, T508, T509, T801.
func SessionDiff(ctx context.Context, s *merging.Session) (d *DiffResult, err error) {
	d = &DiffResult{}
	if d.Code, err = codeOfMerge(ctx, s, true); err != nil {
		return nil, err
	}
	for _, c := range s.View().Files() {
		if strings.HasPrefix(c.Path, thread.CodePrefix) {
			continue
		}
		f := FileDiff{Path: c.Path, Change: ModifiedFile, From: mergedFile(c.Before), To: mergedFile(c.After)}
		switch {
		case c.Idle():
			continue
		case f.From == nil:
			f.Change = AddedFile
		case f.To == nil:
			f.Change = DeletedFile
		case c.Before.Hash == c.After.Hash:
			f.Change = ModeFile
		}
		if max(c.Before.Size, c.After.Size) > merge.MaxText {
			f.TooLarge = true
		} else if f.Change != ModeFile {
			before, after, err := s.View().Contents(c)
			if err != nil {
				return nil, err
			}
			f.Compare(before, after, false)
		}
		d.Files = append(d.Files, f)
	}
	return d, nil
}

func mergedFile(f merge.File) *DiffFile {
	if !f.There() {
		return nil
	}
	return &DiffFile{Size: f.Size, Executable: f.Executable}
}
