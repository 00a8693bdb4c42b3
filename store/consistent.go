package store

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/store/internal/filework"
	"leslie/store/internal/scan"
	"leslie/store/internal/state"
	"leslie/store/internal/statefile"
	"leslie/thread"
	"leslie/warnings"
)

// This file reads threads' files so that no operation is seen half done. For example,
// between the commit of a merge and the end of its file work, the state already says
// what its target received, but the target's folder still lacks it; a file that is
// being replaced does not exist for a moment. A plan based on that would treat files
// as deleted that are only in transit.
//
// Therefore the state is checked before and after reading. If no step of its last
// operation is pending in these threads, and if their records and references are
// unchanged afterwards, no operation touched their files in between, because each that
// does changes one of them. People and agents may save files at any time.

const (
	// looks is how often files are read without the lock.
	looks = 3
	// deadAfter is how long a reader waits for file work whose process may be dead.
	deadAfter = 20 * time.Millisecond
	// longestWork is how long it waits for a running process.
	longestWork = 2 * time.Second
	lookAgain   = time.Millisecond
)

// ReadConsistent runs read, which may read the State and files of these threads and may
// run several times, so that it sees the file work of an operation completely or not
// at all. It takes no lock and changes nothing. It waits 20 ms for steps that a dead
// process left and returns them as W507; it waits up to two seconds for a running
// process. Inside read and inside the function of an Update, read files directly: a
// second ReadConsistent is not needed there, and a ReadConsistentToWrite could wait for its
// own lock. Errors: read's, T904.
func (s *Store) ReadConsistent(ctx context.Context, ids []thread.ThreadID, read func() error) (warnings.List, error) {
	return s.readConsistent(ctx, ids, read, nil)
}

// ReadConsistentToWrite is ReadConsistent for a caller that is going to write. It first carries out the
// steps that a dead process left, as any writer does, and if operations keep arriving
// it runs read under the lock: read never sees file work half done. The warnings
// include those of the work carried out. Errors: read's; T501, T502, T505, T506, T509
// of carrying it out; T507 if it cannot be carried out for now; T904.
func (s *Store) ReadConsistentToWrite(ctx context.Context, wait Wait, ids []thread.ThreadID, read func() error) (warnings.List, error) {
	return s.readConsistent(ctx, ids, read, func() (warnings.List, error) {
		c, err := s.Update(ctx, Call{Wait: wait, files: ids}, func(*thread.State) (Outcome, error) { return Outcome{}, read() })
		return c.Warnings, err
	})
}

// readConsistent reads without the lock. locked, if not nil, carries out pending steps and
// reads under the lock.
func (s *Store) readConsistent(ctx context.Context, ids []thread.ThreadID, read func() error, locked func() (warnings.List, error)) (warnings.List, error) {
	var last error
	for range looks {
		at, err := s.observe(ids)
		switch {
		case err != nil && locked != nil:
			return nil, err // nothing is written that was perhaps seen half done
		case err != nil:
			return nil, read() // who reads the state is told what is wrong with it
		case len(at.owed)+len(at.held) > 0 && locked != nil:
			return locked()
		}
		if at, err = s.awaitWork(ctx, at); err != nil {
			return nil, err
		}
		if last = read(); ctx.Err() != nil || s.sameAsObserved(at) {
			return at.lacking(), last
		}
	}
	if locked != nil {
		return locked()
	}
	return nil, last
}

// observed is the store's state when files were read.
type observed struct {
	ids   []thread.ThreadID
	file  fs.FileInfo // of the state
	image statefile.Image
	owed  []thread.Step    // what the last operation has undone in these threads
	held  []thread.Pending // and earlier ones, whose steps nobody can carry out for now
}

// observe loads the state, which is nearly always the last loaded one.
func (s *Store) observe(ids []thread.ThreadID) (observed, error) {
	m := observed{ids: ids}
	m.file, _ = os.Lstat(s.Path(StateFile))
	if last := s.files.Last(); last != nil && unwritten(last.File, m.file) {
		p := last.Image.Pending
		m.image = last.Image
		if len(m.image.Quarantined) == 0 && (last.StepsDone || p == nil || !slices.ContainsFunc(p.Steps, m.moved)) {
			return m, nil
		}
	}
	now, err := s.files.Load()
	if err != nil {
		return observed{}, err
	}
	if m.image = now.Image; !now.StepsDone {
		m.owed = m.movedBy(filework.Undone(s.disk, now.Pending))
	}
	for _, q := range m.image.Quarantined {
		if steps := m.movedBy(filework.Undone(s.disk, filework.PendingOf(q))); len(steps) > 0 {
			m.held = append(m.held, thread.Pending{Operation: q.Operation, Steps: steps})
		}
	}
	return m, nil
}

// lacking warns of files that are not in place yet.
func (m observed) lacking() warnings.List {
	all := m.held
	if len(m.owed) > 0 {
		all = append(all, thread.Pending{Operation: m.image.Pending.Operation, Steps: m.owed})
	}
	var out warnings.List
	for _, p := range all {
		out = append(out, state.FilesPending(p))
	}
	return out
}

// FolderPending reports whether the folder of a thread is missing only because an operation
// has not put it in place yet. It reads the state.
func (s *Store) FolderPending(id thread.ThreadID) bool {
	m, err := s.observe([]thread.ThreadID{id})
	if err != nil {
		return false
	}
	places := func(step thread.Step) bool { return step.To == scan.Place(id, "") }
	return slices.ContainsFunc(m.owed, places) ||
		slices.ContainsFunc(m.held, func(p thread.Pending) bool { return slices.ContainsFunc(p.Steps, places) })
}

// movedBy returns the steps that move files of these threads.
func (m observed) movedBy(steps []thread.Step) []thread.Step {
	return slices.DeleteFunc(steps, func(step thread.Step) bool { return !m.moved(step) })
}

// moved reports whether a step moves files of these threads. Creating an empty folder
// changes nothing for a reader, nor does an appended line, which is in the record as
// well.
func (m observed) moved(step thread.Step) bool {
	rel, ok := strings.CutPrefix(step.To, ThreadsDir+"/")
	if !ok || step.Do == thread.StepMakeDir || step.Do == thread.StepAppend {
		return false
	}
	id, _, _ := strings.Cut(rel, "/")
	return slices.Contains(m.ids, thread.ThreadID(id))
}

// sameAsObserved reports whether no operation has touched the threads since.
func (s *Store) sameAsObserved(m observed) bool {
	file, _ := os.Lstat(s.Path(StateFile))
	if unwritten(file, m.file) {
		return true
	}
	now, err := s.files.Load()
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(m.ids, func(id thread.ThreadID) bool {
		return !slices.EqualFunc(about(id, m.image.Records), about(id, now.Records), bytes.Equal)
	})
}

// about are a thread's record and its references, as the state has them.
func about(id thread.ThreadID, all thread.Records) (records [][]byte) {
	if own, there := thread.LineOf(all[thread.TableThreads], string(id)); there {
		records = append(records, own.JSON)
	}
	own := `"` + string(id) + `"`
	for _, ref := range all[thread.TableReferences] {
		if from, _ := thread.MemberOf(ref.JSON, "from"); string(from) == own {
			records = append(records, ref.JSON)
		}
	}
	return records
}

// awaitWork waits until the work is done, or no process is left to do it, and returns
// the store's state then. Errors: T904.
func (s *Store) awaitWork(ctx context.Context, m observed) (observed, error) {
	if len(m.owed) == 0 {
		return m, nil
	}
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	dead, late := time.After(deadAfter), time.After(longestWork)
	for living := true; living && len(m.owed) > 0; {
		select {
		case <-ctx.Done():
			return m, codes.Interrupted.Wrap(context.Cause(ctx))
		case <-late:
			living = false
		case <-dead:
			living, dead = filework.Held(s.disk, string(m.image.Pending.Operation)), time.After(deadAfter)
		case <-again.C:
		}
		now, err := s.observe(m.ids) // behind the look for its maker, who may have ended well
		if err != nil {
			break // who reads it is told
		}
		m = now
	}
	return m, nil
}
