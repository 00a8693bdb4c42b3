package store

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"leslie/codes"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/store/internal/state"
	"leslie/store/replica"
	"leslie/thread"
	"leslie/warnings"
)

// This file takes the files of threads along with operations of a connected project. The
// thread's record names the list of its files (thread.Published); list and files are in the
// log's engine before the operation is in the log. What the other machines do with it is in
// fetch.go.

// puts is how much content is on its way to the log at once.
const puts = 8

// published is the list of a thread's files after an operation.
type published struct {
	id   thread.ThreadID
	list content.Manifest // with times where they prove something later
}

// publish adds to a State what the operation takes along of threads' files and code, and uploads
// that and whatever else its records name. Errors: a staleError after files of these threads
// were fetched that other machines had published; T402, T505, T508, T509, T510, T904.
func (s *Store) publish(ctx context.Context, now *state.Loaded, call Call, st *thread.State) (all []published, err error) {
	if s.opts.Link == nil {
		return nil, nil
	}
	if s.opts.Link.Offline {
		return nil, replica.Error(ctx, replica.Offline{}, call.Stamp.Operation)
	}
	ids, lost := touched(st), map[thread.ThreadID]bool{}
	for _, id := range ids {
		fetched, notes, err := s.fetchFiles(ctx, now, id)
		if codes.Has(err, codes.RemoteDamaged) && !st.Changed() {
			if changed, compared := s.Unpublished(ctx, id); compared == nil && len(changed) == 0 {
				lost[id] = true // what only publishes has nothing of them to publish
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if fetched {
			return nil, staleError{notes}
		}
	}
	up := upload{store: s, link: s.opts.Link, ctx: ctx, known: map[thread.BlobID]bool{}, whole: call.Whole}
	for _, id := range ids {
		t, there := st.Threads.Peek(string(id))
		if !there {
			continue
		}
		if s.opts.Bundle != nil {
			again := call.Whole && s.bundleIsLost(ctx, t)
			if sent, bundle := s.opts.Bundle(t, again); sent != nil {
				if bundle != nil {
					sent.Bundle = content.IDOf(bundle)
					if err := content.Store(s.disk, bundle); err != nil { // a copy besides that of the servers
						return nil, err
					}
					store := up.link.Ledger.PutBlob
					if again {
						store = up.link.Ledger.RenewBlob // it is damaged there
					}
					up.putWith(store, sent.Bundle, func() ([]byte, error) { return bundle, nil })
				}
				st.SentCode(id, *sent)
				t, _ = st.Threads.Peek(string(id))
			}
		}
		for _, sent := range t.OwnedCode().AllSent() {
			if up.whole && sent.Bundle != "" && sent.Machine == s.opts.Link.Machine {
				if err := up.blob(sent.Bundle, false); err != nil {
					return nil, err
				}
			}
		}
		if lost[id] {
			continue
		}
		one, err := s.filesAfter(&up, t, st.Planned(), st)
		if err != nil {
			return nil, err
		}
		name, data, err := one.list.Plain()
		if err != nil {
			return nil, err
		}
		same := t.Published != nil && t.Published.Manifest == name
		if t.Published == nil && len(one.list) == 0 || same && !up.whole {
			continue
		}
		up.put(name, func() ([]byte, error) { return data, nil })
		if same {
			continue
		}
		t.Published = &thread.Published{Manifest: name, Files: len(one.list)}
		st.Threads.Put(t)
		all = append(all, one)
	}
	for _, c := range st.Changes() {
		if err := up.named(c); err != nil {
			return nil, err
		}
	}
	return all, replica.Error(ctx, replica.Unsent(up.wait()), call.Stamp.Operation)
}

// bundleIsLost reports whether neither this machine nor the log has commits that this machine has sent of a thread.
func (s *Store) bundleIsLost(ctx context.Context, t thread.Thread) bool {
	for _, sent := range t.OwnedCode().AllSent() {
		if sent.Bundle == "" || sent.Machine != s.opts.Link.Machine || saferoot.Exists(s.Path(content.Path(sent.Bundle))) {
			continue
		}
		if _, bad, err := s.opts.Link.Blob(ctx, sent.Bundle); bad && err == nil {
			return true
		}
	}
	return false
}

// touched are the threads whose files an operation takes along, in order: those that it
// hands on, and those whose files it changes.
func touched(st *thread.State) []thread.ThreadID {
	found := map[thread.ThreadID]bool{}
	for _, id := range slices.Concat(st.HandsOn(), thread.HandedOn(st.Changes())) {
		found[id] = true
	}
	for _, step := range st.Planned() {
		if id, rel, ok := splitPlace(step.To); ok && (rel == "" && step.Do != thread.StepMakeDir || rel != "" && !ownPlace(rel)) {
			found[id] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// splitPlace splits a place in the store's folder into the thread and what is behind it.
func splitPlace(place string) (id thread.ThreadID, rel string, ok bool) {
	rest, ok := strings.CutPrefix(place, ThreadsDir+"/")
	name, rel, _ := strings.Cut(rest, "/")
	return thread.ThreadID(name), rel, ok && name != ""
}

// ownPlace reports whether a place in a thread's folder is leslie's own.
func ownPlace(rel string) bool {
	top, _, _ := strings.Cut(rel, "/")
	return scan.Own(top)
}

// filesAfter lists a thread's files as they are after the steps of an operation, and
// uploads those that the log does not have.
func (s *Store) filesAfter(up *upload, t thread.Thread, steps []thread.Step, st *thread.State) (published, error) {
	was, err := replica.ListOf(s.disk, t.ID)
	if err != nil {
		return published{}, err
	}
	up.have(was)
	if parent, err := replica.ListOf(s.disk, t.ParentID); err == nil && t.ParentID != "" {
		up.have(parent)
	}
	at, after := scan.Place(t.ID, ""), map[string]*thread.Step{}
	for i, step := range steps {
		id, rel, ok := splitPlace(step.To)
		switch {
		case !ok || id != t.ID || rel != "" && ownPlace(rel):
		case rel == "" && step.Do == thread.StepPlace:
			at = step.From
		case rel == "" && (step.Do == thread.StepRemove || step.Do == thread.StepMakeDir):
			at = "" // it goes, or it begins
		case step.Do == thread.StepReplace, step.Do == thread.StepDelete:
			after[rel] = &steps[i]
		}
	}
	out := published{id: t.ID}
	add := func(base *os.Root, file, rel string, executable bool, e scan.Entry) error {
		f, err := up.file(base, file, rel, t.ID, was, e)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		f.Executable = executable
		out.list = append(out.list, f)
		return err
	}
	if err := s.eachFile(at, func(base *os.Root, e scan.Entry) error {
		if after[e.Path] != nil {
			return nil
		}
		if len(out.list) == scan.MaxFiles {
			return scan.TooMany(t.ID)
		}
		return add(base, e.Path, e.Path, e.Executable, e)
	}); err != nil {
		return published{}, err
	}
	base, err := s.disk.OpenBase()
	if err != nil {
		return published{}, s.disk.ReadFailed(err)
	}
	defer base.Close()
	for _, rel := range slices.Sorted(maps.Keys(after)) {
		if step := after[rel]; step.Do == thread.StepReplace {
			if err := add(base, step.From, rel, step.Executable, scan.Entry{}); err != nil {
				return published{}, err
			}
		}
	}
	slices.SortFunc(out.list, func(a, b content.FileAt) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// eachFile calls fn with the regular files of a thread's folder, or of one that is going
// to be it; "" has none.
func (s *Store) eachFile(at string, fn func(*os.Root, scan.Entry) error) error {
	if at == "" {
		return nil
	}
	root, err := s.disk.OpenFolder(at)
	if errors.Is(err, fs.ErrNotExist) {
		if id, rel, own := splitPlace(at); own && rel == "" {
			return scan.FolderMissing(id, err)
		}
		return nil
	}
	if err != nil {
		return saferoot.CannotRead(at, err)
	}
	defer root.Close()
	t := scan.Tree{Root: root, At: at, Skip: scan.Own}
	return t.Walk("", 1, func(e scan.Entry) error {
		if e.Type != scan.TypeFile {
			return nil
		}
		return fn(root, e)
	})
}

// upload is content on its way to the log. It reads files one after the other and sends
// several at once.
type upload struct {
	store *Store
	link  *replica.Link
	ctx   context.Context
	known map[thread.BlobID]bool // what the log has, or gets from here
	whole bool                   // the log may have lost what it had

	mu     sync.Mutex
	first  error
	going  sync.WaitGroup
	places chan struct{}
}

// have notes that the log has the files of a list.
func (u *upload) have(m content.Manifest) {
	if u.whole {
		return
	}
	for _, f := range m {
		u.known[f.SHA256] = true
	}
}

// put sends content that read returns, unless the log has it.
func (u *upload) put(id thread.BlobID, read func() ([]byte, error)) {
	u.putWith(u.link.Ledger.PutBlob, id, read)
}

// putWith is put with the ledger's function that stores it.
func (u *upload) putWith(store func(context.Context, string, []byte) error, id thread.BlobID, read func() ([]byte, error)) {
	if u.known[id] || u.failed() != nil {
		return
	}
	data, err := read()
	if err != nil {
		u.fail(err)
		return
	}
	u.known[id] = true
	if u.places == nil {
		u.places = make(chan struct{}, puts)
	}
	u.places <- struct{}{}
	u.going.Go(func() {
		defer func() { <-u.places }()
		u.fail(store(u.ctx, string(id), data))
	})
}

func (u *upload) fail(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.first == nil {
		u.first = err
	}
}

func (u *upload) failed() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.first
}

// wait returns when everything is there, or why it is not.
func (u *upload) wait() error {
	u.going.Wait()
	return u.failed()
}

// file reads one file and sends it. A file that has not changed since it was listed is not
// read. Errors: fs.ErrNotExist for one that is gone; T508, T509.
func (u *upload) file(base *os.Root, name, rel string, id thread.ThreadID, was content.Manifest, e scan.Entry) (content.FileAt, error) {
	if old, ok := was.Find(rel); ok && scan.Same(old, e) && !u.whole {
		return old, nil
	}
	f, info, err := saferoot.OpenIn(base, name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, saferoot.ErrNotRegular) {
			return content.FileAt{}, fs.ErrNotExist
		}
		return content.FileAt{}, saferoot.CannotRead(name, err)
	}
	defer f.Close()
	if info.Size() > content.MaxFile {
		return content.FileAt{}, content.TooLarge(rel, scan.Place(id, rel), id)
	}
	data, err := io.ReadAll(io.LimitReader(f, content.MaxFile+1))
	if err != nil {
		return content.FileAt{}, saferoot.CannotRead(name, err)
	}
	out := content.FileAt{Path: rel, SHA256: content.IDOf(data), Size: int64(len(data))}
	if scan.Provable(e.ChangeTime, u.store.now()) {
		out.ModTime, out.ChangeTime = e.ModTime, e.ChangeTime
	}
	u.put(out.SHA256, func() ([]byte, error) { return data, nil })
	return out, u.failed()
}

// named sends what a changed record names and did not name before, as far as this machine
// has it.
func (u *upload) named(c thread.Change) error {
	table, _, _ := strings.Cut(c.Record, "/")
	before, err := blobsOf(table, c.Before)
	if err != nil {
		return nil // a record that no rule could have written
	}
	after, err := blobsOf(table, c.After)
	if err != nil {
		return nil
	}
	for _, b := range before {
		u.known[b.ID] = true
	}
	for _, b := range after {
		if err := u.blob(b.ID, b.IsList()); err != nil {
			return err
		}
	}
	return nil
}

func blobsOf(table string, record json.RawMessage) ([]thread.NamedBlob, error) {
	if thread.Absent(record) {
		return nil, nil
	}
	return thread.BlobsOf(table, record)
}

// blob sends a blob, and those that a list names.
func (u *upload) blob(id thread.BlobID, list bool) error {
	if u.known[id] {
		return nil
	}
	base, err := u.store.disk.OpenBase()
	if err != nil {
		return u.store.disk.ReadFailed(err)
	}
	defer base.Close()
	data, err := content.Read(base, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another machine has it, or it is damaged here: doctor tells
	}
	if err != nil {
		return err
	}
	if list {
		for _, sum := range hashes().FindAll(data, -1) {
			if err := u.blob(thread.BlobID(sum), false); err != nil {
				return err
			}
		}
	}
	u.put(id, func() ([]byte, error) { return data, nil })
	return u.failed()
}

// hashes finds names of blobs in a list.
func hashes() *regexp.Regexp { return regexp.MustCompile(`\b[0-9a-f]{64}\b`) }

// keepLists notes which files were published.
func (s *Store) keepLists(w *state.Writer, notes *warnings.List, all []published) {
	for _, one := range all {
		w.DoneOrWarn(notes, "noting which files were published", replica.KeepList(s.disk, one.id, one.list))
	}
}
