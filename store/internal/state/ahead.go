package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"leslie/store/internal/archive"
	"leslie/store/internal/filework"
	"leslie/store/internal/journal"
	"leslie/store/internal/logfile"
	"leslie/store/internal/scan"
	"leslie/store/internal/statefile"
	"leslie/thread"
)

// This file has operations of the log of a project on several machines that are in memory
// only, and makes them part of the copy on this disk.
//
// Many operations become one new state: the lines of all but the last are appended to
// the journal first, then the state of the last is committed as after an operation of
// this machine. So the journal may be ahead of the state of a connected project: a reader
// rolls it forward and has nothing to warn of, because the log has all of it.

// After is what was loaded with more operations of the log, in memory. It fails for
// one that cannot be applied.
func (l *Loaded) After(more []journal.Entry) (*Loaded, error) {
	image, err := imageAfter(l.Image, more)
	if err != nil {
		return nil, err
	}
	next := *l
	next.onDisk, next.Ahead = l.Kept(), append(slices.Clip(l.Ahead), more...)
	next.Image = image.Follow(l.Image)
	next.Quarantined = l.Quarantined
	return &next, nil
}

// Adopt makes the operations that are only in memory part of the copy. The caller holds the
// lock. Errors: T505.
func (s *Writer) Adopt(ctx context.Context, now *Loaded) (*Loaded, error) {
	if len(now.Ahead) == 0 {
		return now, nil
	}
	before, image, last := *now, now.Image, len(now.Ahead)-1
	before.Ahead = now.Ahead[:last]
	if last == 0 {
		before.Image = now.onDisk
	}
	if own := localSteps(now.Ahead[last]); len(own) > 0 {
		image.Pending = &thread.Pending{Operation: image.Operation.ID, Steps: own}
	}
	done, err := s.Commit(context.WithoutCancel(ctx), &before, image, nil)
	if err != nil {
		return now, err
	}
	s.hearWriters(now.Ahead[last:])
	fresh, err := s.LoadToWrite()
	if err != nil {
		return now, err
	}
	fresh.Warnings.Add(done...)
	return fresh, s.FinishPending(fresh, "")
}

// Rechain stores the loaded state with another hash of its operation's line. Errors: T505.
func (s *Writer) Rechain(now *Loaded, chain string) (*Loaded, error) {
	if now.Operation.Chain == chain {
		return now, nil
	}
	var err error
	if now.Operation, err = now.Operation.WithChain(chain); err != nil {
		return now, err
	}
	if err := s.Swap(now, now.Image); err != nil {
		return now, err
	}
	if err := s.SyncDir(s.Path(".")); err != nil {
		return now, s.WriteFailed(err)
	}
	return s.LoadToWrite()
}

// keepAhead puts the operations on disk that are only in memory, but for the state: their
// records in the archive, and their answers before the state, since nobody asks for the
// answers of operations that it is behind. Errors: T505.
func (s *Writer) keepAhead(now *Loaded) error {
	var lines [][]byte
	var left []archive.Line
	var answers []journal.Answer
	for _, e := range now.Ahead {
		own := localSteps(e)
		e.Pending = nil
		line, err := (&journal.Operation{Entry: e}).Line(own)
		if err != nil {
			return err
		}
		lines = append(lines, line)
		left = append(left, archive.LinesOf(e.Archived, e.Seq)...)
		if e.RequestID != "" && !journal.Forgotten(e.Time, s.Now()) {
			answers = append(answers, journal.AnswerOf(e))
		}
	}
	if err := s.AppendArchive(left); err != nil {
		return err
	}
	if err := s.writeAnswers(answers...); err != nil {
		return err
	}
	if len(lines) == 0 {
		return nil
	}
	return s.AppendLines(JournalFile, lines...)
}

// stepsAfter are the steps of an operation, behind those of operations from the log.
func stepsAfter(ahead []journal.Entry, own []thread.Step) (steps []thread.Step) {
	for _, e := range ahead {
		more := localSteps(e)
		steps = append(withoutGone(steps, more), more...)
	}
	return append(withoutGone(steps, own), own...)
}

// imageAfter is an image after operations of the log.
func imageAfter(m statefile.Image, all []journal.Entry) (next statefile.Image, err error) {
	defer func() { // a record that no rule could have written
		if r := recover(); r != nil {
			err = errors.New(fmt.Sprint(r))
		}
	}()
	st := thread.NewState(m.Revision, m.Records, nil)
	for _, e := range all {
		if err := st.Apply(e.Operation); err != nil {
			return m, err
		}
	}
	last := all[len(all)-1]
	last.Pending, last.Quarantined = nil, nil
	return statefile.Of(st, last), nil
}

// NeededOnDisk reports whether what the rules read besides the state shows an operation:
// threads' folders, and the archive.
func NeededOnDisk(e journal.Entry) bool {
	return len(e.Archived) > 0 || slices.ContainsFunc(localSteps(e), func(step thread.Step) bool {
		return step.Do != thread.StepMakeDir && step.Do != thread.StepAppend
	})
}

// localSteps is what an operation of another machine has to do with this one's files:
// folders for new threads, lines of messages, and what goes with a thread or a reference
// that is gone, or with a frozen copy of another version. Threads' files and copies come
// when somebody looks at them.
func localSteps(e journal.Entry) (steps []thread.Step) {
	for _, c := range e.Changes {
		table, id, _ := strings.Cut(c.Record, "/")
		switch {
		case thread.Absent(c.After):
		case table == thread.TableThreads && thread.Absent(c.Before):
			steps = append(steps, thread.Step{Do: thread.StepMakeDir, To: scan.Threads + "/" + id})
		case table == thread.TableReferences && !thread.Absent(c.Before):
			var was, is thread.Reference
			if json.Unmarshal(c.Before, &was) == nil && json.Unmarshal(c.After, &is) == nil && was.Manifest != is.Manifest {
				steps = append(steps, thread.Step{Do: thread.StepRemove, To: scan.Place(was.From, path.Join(scan.Inherited, id))})
			}
		}
	}
	for _, step := range e.Pending {
		if (step.Do == thread.StepAppend || step.Do == thread.StepRemove) && filework.Proper(step) {
			steps = append(steps, step)
		}
	}
	return slices.DeleteFunc(steps, func(step thread.Step) bool { return !filework.Proper(step) })
}

// withoutGone leaves out of earlier steps those at places that later ones remove: once the
// folder is gone nothing in it can be made durable.
func withoutGone(steps, later []thread.Step) []thread.Step {
	return slices.DeleteFunc(steps, func(step thread.Step) bool {
		return slices.ContainsFunc(later, func(gone thread.Step) bool {
			return gone.Do == thread.StepRemove && (step.To == gone.To || strings.HasPrefix(step.To, gone.To+"/"))
		})
	})
}

// hearWriters notes who made operations on other machines.
func (s *Writer) hearWriters(made []journal.Entry) {
	last := map[string]time.Time{}
	for _, e := range made {
		if e.As != thread.System {
			last[e.Actor] = e.Time
		}
	}
	log := logfile.On(s.Disk, LockFile)
	for actor, at := range last {
		log.HearHolder(actor, at)
	}
}
