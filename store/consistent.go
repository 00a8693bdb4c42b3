package store

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
	"leslie/warnings"
)

// This file reads threads' files as no operation has them half done. Between the
// commit of a merge, say, and the end of its file work the state knows what its
// target was given, and the target's folder lacks it still; a file that is being
// replaced is for a moment not there at all. Whoever planned on that would take
// for deleted what is only on its way.
//
// So the state is looked at before and after: if nothing of its last operation is
// undone in these threads, and if their records and references are the same behind
// the reading, no operation touched their files meanwhile: each that does so
// changes one of them. What people and agents save is theirs, and may come at any
// time.

const (
	// looks is how often files are read without the lock.
	looks = 3
	// deadAfter is how long a reader waits for file work whose maker may be dead.
	deadAfter = 20 * time.Millisecond
	// longestWork is how long it waits for a maker that is alive.
	longestWork = 2 * time.Second
	lookAgain   = time.Millisecond
)

// Consistent runs read, which may look at the State and at files of these threads
// and may run several times, so that it sees the file work of an operation whole
// or not at all. It takes no lock and changes nothing: what a dead process left
// undone stays so, is waited for 20 ms, and is returned as W507; what a living one
// is about to do is waited for two seconds. Inside read and inside the function of
// an Update, files are read as they are: no second Consistent or Settled is needed
// there, and a Settled could wait for its own lock. Errors: read's, T904.
func (s *Store) Consistent(ctx context.Context, ids []thread.ThreadID, read func() error) (warnings.List, error) {
	return s.consistent(ctx, ids, read, nil)
}

// Settled is Consistent for a caller who is going to write. What a dead process
// left undone is carried out first, as by any writer, and where operations come
// again and again read runs under the lock: it never sees file work half done.
// The warnings are also those of the work that was carried out. Errors: read's;
// T501, T502, T505, T506, T509 of carrying it out; T507 where it cannot be carried
// out for now; T904.
func (s *Store) Settled(ctx context.Context, wait Wait, ids []thread.ThreadID, read func() error) (warnings.List, error) {
	return s.consistent(ctx, ids, read, func() (warnings.List, error) {
		c, err := s.Update(ctx, Call{Wait: wait, files: ids}, func(*thread.State) (Outcome, error) { return Outcome{}, read() })
		return c.Warnings, err
	})
}

// consistent reads beside the others. locked, when not nil, carries out what is
// undone and reads before anybody can go on.
func (s *Store) consistent(ctx context.Context, ids []thread.ThreadID, read func() error, locked func() (warnings.List, error)) (warnings.List, error) {
	var last error
	for range looks {
		at, err := s.observe(ids)
		switch {
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

// observed is where the store stood when files were read.
type observed struct {
	ids   []thread.ThreadID
	file  fs.FileInfo // of the state
	image image
	owed  []thread.Step    // what the last operation has undone in these threads
	held  []thread.Pending // and earlier ones, whose steps nobody can carry out for now
}

// lately is the state that was loaded last, with the file that stood there then,
// whole or not.
type lately struct {
	file    fs.FileInfo
	image   image
	settled bool
}

// observe looks at the state, which nearly always is the one that was loaded last.
func (s *Store) observe(ids []thread.ThreadID) (observed, error) {
	m := observed{ids: ids}
	m.file, _ = os.Lstat(s.Path(StateFile))
	if last := s.recent.Load(); last != nil && unwritten(last.file, m.file) {
		p := last.image.pending
		m.image = last.image
		if len(m.image.quarantined) == 0 && (last.settled || p == nil || !slices.ContainsFunc(p.Steps, m.moved)) {
			return m, nil
		}
	}
	now, err := s.load()
	if err != nil {
		return observed{}, err
	}
	if m.image = now.image; !now.settled {
		m.owed = m.movedBy(s.undone(now.pending))
	}
	for _, q := range m.image.quarantined {
		if steps := m.movedBy(s.undone(work(q))); len(steps) > 0 {
			m.held = append(m.held, thread.Pending{Operation: q.Operation, Steps: steps})
		}
	}
	return m, nil
}

// lacking warns of files that are not in place.
func (m observed) lacking() warnings.List {
	all := m.held
	if len(m.owed) > 0 {
		all = append(all, thread.Pending{Operation: m.image.pending.Operation, Steps: m.owed})
	}
	var out warnings.List
	for _, p := range all {
		paths := make([]string, len(p.Steps))
		for i, step := range p.Steps {
			paths[i] = step.To
		}
		out = append(out, warnings.FilesPending.NewOfPaths(paths, nil, fact.Of("operationId", p.Operation)))
	}
	return out
}

// movedBy are those of the steps that move files of these threads.
func (m observed) movedBy(steps []thread.Step) []thread.Step {
	return slices.DeleteFunc(steps, func(step thread.Step) bool { return !m.moved(step) })
}

// moved reports whether a step moves files of these threads. An empty folder that
// is made changes nothing for a reader, nor does a line that is appended: it is in
// the record as well.
func (m observed) moved(step thread.Step) bool {
	rel, ok := strings.CutPrefix(step.To, ThreadsDir+"/")
	if !ok || step.Do == thread.StepMakeDir || step.Do == thread.StepAppend {
		return false
	}
	id, _, _ := strings.Cut(rel, "/")
	return slices.Contains(m.ids, thread.ThreadID(id))
}

// sameAsObserved reports whether no operation touched the threads since.
func (s *Store) sameAsObserved(m observed) bool {
	file, _ := os.Lstat(s.Path(StateFile))
	if unwritten(file, m.file) {
		return true
	}
	now, err := s.load()
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(m.ids, func(id thread.ThreadID) bool {
		return !slices.EqualFunc(m.image.about(id), now.image.about(id), bytes.Equal)
	})
}

// about are a thread's record and its references, as they lie in the state.
func (m image) about(id thread.ThreadID) (records [][]byte) {
	if own, there := thread.LineOf(m.records[thread.TableThreads], string(id)); there {
		records = append(records, own.JSON)
	}
	from := []byte(`"from":"` + string(id) + `"`)
	for _, ref := range m.records[thread.TableReferences] {
		if bytes.Contains(ref.JSON, from) {
			records = append(records, ref.JSON)
		}
	}
	return records
}

// awaitWork waits until the work is done, or nobody is there who would do it, and
// returns how the store stood then. Errors: T904.
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
			living, dead = s.alive(m.image.pending.Operation), time.After(deadAfter)
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

// alive reports whether somebody holds an operation's stage.
func (s *Store) alive(op thread.OperationID) bool {
	return isHeld(s.Path(path.Join(stageDir(op), stageLock)))
}
