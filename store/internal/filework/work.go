package filework

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/thread"
)

// Work is a store's folder, open for the steps of operations.
type Work struct{ *saferoot.Root }

// Open opens the store's folder; Close ends it.
func Open(disk saferoot.Disk) (Work, error) {
	root, err := disk.Open()
	return Work{root}, err
}

// Proper reports whether a step stays within its folders. A state from a stranger may
// contain anything.
func Proper(step thread.Step) bool {
	if step.Do == thread.StepAppend {
		return fs.ValidPath(step.To) && step.From == "" && oneLine(step)
	}
	to := fs.ValidPath(step.To) && (strings.HasPrefix(step.To, scan.Threads+"/") || strings.HasPrefix(step.To, scan.Merges+"/"))
	if step.Do == thread.StepPlace && (step.To == "operations.jsonl" || step.To == "archive.jsonl") { // of a restore
		to = true
	}
	from := step.From == ""
	if step.Do == thread.StepPlace || step.Do == thread.StepReplace {
		from = fs.ValidPath(step.From) && strings.HasPrefix(step.From, content.Tmp+"/") && strings.Count(step.From, "/") >= 2
	}
	known := slices.Contains([]thread.StepKind{thread.StepMakeDir, thread.StepPlace, thread.StepRemove, thread.StepReplace, thread.StepDelete}, step.Do)
	return to && from && known
}

// Prepare checks the steps of an operation before it is committed (they stay in their
// places, what they place exists, lines can be appended) and makes the folder for what
// removals displace. If the operation is not committed then, call Cancel. Errors: T505,
// T507, T901.
func (w Work) Prepare(p *thread.Pending) error {
	if p == nil {
		return nil
	}
	for _, step := range p.Steps {
		if !Proper(step) || !saferoot.SingleName(string(p.Operation)) {
			return stray(step)
		}
	}
	if !slices.ContainsFunc(p.Steps, func(step thread.Step) bool { return step.Do != thread.StepMakeDir }) {
		return nil // as for most: nothing was staged, and nothing is displaced
	}
	removes := false
	for _, step := range p.Steps {
		if err := w.staged(step); err != nil {
			return err
		}
		if step.Do == thread.StepAppend {
			if err := w.appendable(step.To); err != nil {
				return err
			}
		}
		removes = removes || step.Do == thread.StepRemove || step.Do == thread.StepDelete
	}
	if !removes {
		return nil
	}
	if err := w.Ensure(displacedIn(p)); err != nil {
		return err
	}
	return w.Sync()
}

// CheckFolders refuses steps that would make a thread's folder anew to put something into
// it: one that is missing is damage, and as an empty one it would pass for a thread whose
// files were deleted. all are the steps of the operation, own those that it may be refused
// for; some of all may make the folder. Errors: T202, T509.
func (w Work) CheckFolders(all, own []thread.Step) error {
	known := map[string]bool{}
	for _, step := range all {
		known[step.To] = step.Do == thread.StepMakeDir || step.Do == thread.StepPlace
	}
	for _, step := range own {
		if known[RecordOf(step.To)] {
			continue
		}
		if err := w.folderThere(step); err != nil {
			return err
		}
		known[RecordOf(step.To)] = true
	}
	return nil
}

// folderThere refuses a step that puts something into the folder of a thread that is
// missing. Errors: T202, T509.
func (w Work) folderThere(step thread.Step) error {
	home := RecordOf(step.To)
	id, ofThread := strings.CutPrefix(home, scan.Threads+"/")
	if !ofThread || home == step.To || step.Do == thread.StepRemove || step.Do == thread.StepDelete {
		return nil
	}
	there, err := w.Exists(home)
	if err == nil && !there {
		err = scan.FolderMissing(thread.ThreadID(id), fs.ErrNotExist)
	}
	return err
}

// staged refuses a step that has nothing to place. Errors: T509, T901.
func (w Work) staged(step thread.Step) error {
	if step.Do != thread.StepPlace && step.Do != thread.StepReplace {
		return nil
	}
	there, err := w.Exists(step.From)
	if err == nil && !there {
		err = codes.Internal.New(fact.Of("reason", "nothing was staged to be placed at "+step.To))
	}
	return err
}

func stray(step thread.Step) error {
	return codes.Internal.New(fact.Of("reason", "a step leads out of its place: "+string(step.Do)+" "+step.To))
}

// Undone returns the steps of an operation that are not done; all of them if the
// store's folder cannot be opened.
func Undone(disk saferoot.Disk, p *thread.Pending) []thread.Step {
	if p == nil {
		return nil
	}
	w, err := Open(disk)
	if err != nil {
		return slices.Clone(p.Steps)
	}
	defer w.Close()
	return w.Undone(p)
}

// Undone returns the steps of an operation that are not done.
func (w Work) Undone(p *thread.Pending) (out []thread.Step) {
	for i, step := range p.Steps {
		if done, err := w.done(p, i); Proper(step) && (!done || err != nil) {
			out = append(out, step)
		}
	}
	return out
}

// done reports whether a step was carried out. Errors: T509.
func (w Work) done(p *thread.Pending, i int) (bool, error) {
	step := p.Steps[i]
	switch step.Do {
	case thread.StepMakeDir:
		return w.Exists(step.To)
	case thread.StepPlace:
		waiting, err := w.Exists(step.From)
		return !waiting, err
	case thread.StepReplace:
		return w.replaced(p, step)
	case thread.StepAppend:
		return w.appended(step)
	}
	kept, err := w.Exists(displacedIn(p))
	if !kept || err != nil {
		return !kept, err
	}
	if err := w.CheckHome(step); err != nil {
		return false, err
	}
	there, err := w.Exists(step.To)
	if err != nil {
		return false, err
	}
	displaced, err := w.Exists(displacedAt(p, i))
	if step.Do == thread.StepDelete { // what was displaced may have to go back
		return !displaced && !there, err
	}
	return displaced || !there, err
}

// CarryOut carries out the steps of an operation, makes them durable, and stores what
// they displaced as blobs. It is called under the store's lock. known says that the
// folder of threads exists and its name is durable. Errors: T505, T507, T509.
func (w Work) CarryOut(p *thread.Pending, known bool) error {
	disk := w.Disk()
	if known {
		w.Trust(scan.Threads)
	}
	for i := range p.Steps {
		if err := w.carry(p, i); err != nil {
			return disk.WriteFailed(err)
		}
	}
	if err := w.Sync(); err != nil {
		return err
	}
	if err := w.dropLinked(p); err != nil {
		return disk.WriteFailed(err)
	}
	return disk.WriteFailed(w.clearDisplaced(p))
}

// MakeFolders creates the folders of an operation's steps, and returns what has to be
// made durable, under the name what. Errors: T505, T507.
func (w Work) MakeFolders(p *thread.Pending, what string) ([]saferoot.Flush, error) {
	w.Trust(scan.Threads) // its own name becomes durable with the state's
	var err error
	for i := range p.Steps {
		if err = w.carry(p, i); err != nil {
			break
		}
	}
	w.Untouch(".")
	return w.Flushes(what), w.Disk().WriteFailed(err)
}

// dropLinked removes the staged names of files whose other name is on disk.
func (w Work) dropLinked(p *thread.Pending) error {
	for _, step := range p.Steps {
		if step.Do != thread.StepReplace {
			continue
		}
		there, err := w.Exists(step.From)
		if there && err == nil {
			err = w.Remove(step.From)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w Work) carry(p *thread.Pending, i int) error {
	step := p.Steps[i]
	if !Proper(step) {
		return stray(step)
	}
	if step.Do == thread.StepMakeDir {
		if err := w.folderThere(step); err != nil {
			return err
		}
		return w.makeFolder(step.To)
	}
	done, err := w.done(p, i)
	if err != nil {
		return err
	}
	if done {
		w.touchExisting(path.Dir(step.To)) // done, but perhaps not on disk yet
		if step.Do == thread.StepAppend {
			return w.syncLines(step.To)
		}
		return nil
	}
	if err := w.CheckHome(step); err != nil {
		return err
	}
	if err := w.folderThere(step); err != nil {
		return err
	}
	switch step.Do {
	case thread.StepAppend:
		return w.appendLine(step)
	case thread.StepReplace, thread.StepDelete:
		return w.replace(p, i)
	}
	if err := w.SyncFiles(); err != nil { // some systems move no folder that has an open file
		return err
	}
	if err := w.displace(step.To, displacedAt(p, i)); err != nil {
		return err
	}
	if step.Do == thread.StepRemove {
		return nil
	}
	if err := w.Ensure(path.Dir(step.To)); err != nil {
		return err
	}
	w.Touch(path.Dir(step.To))
	return w.Rename(step.From, step.To)
}

// CheckHome refuses a step whose thread, or merge, has a link in place of its folder:
// what the link leads to is not what the step was planned for. A missing folder is
// fine. Errors: T507, T509.
func (w Work) CheckHome(step thread.Step) error {
	home := path.Dir(step.To)
	for strings.Count(home, "/") > 1 {
		home = path.Dir(home)
	}
	err := w.Reach(home)
	if codes.Has(err, codes.UnsafePath) {
		return err
	}
	if saferoot.Uncertain(err) {
		return saferoot.CannotRead(home, err)
	}
	return nil
}

// makeFolder creates a folder; whatever has its name is left as it is.
func (w Work) makeFolder(rel string) error {
	dir := path.Dir(rel)
	if err := w.Ensure(dir); err != nil {
		return err
	}
	if err := w.Mkdir(rel); err != nil && !errors.Is(err, fs.ErrExist) {
		return saferoot.CannotWrite(rel, err)
	}
	w.Touch(dir)
	return nil
}

// touchExisting is Touch for a folder that somebody may have removed since: the steps of
// an operation are checked until the next one is made.
func (w Work) touchExisting(rel string) {
	if w.Reach(rel) == nil {
		w.Touch(rel)
	}
}
