package merging

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"

	"leslie/codes"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
)

// This file records a merge as pending, with files to edit, and takes over the edited
// files.

// recordPending records the merge before anybody is asked, so that a caller who is
// interrupted finds it again, and writes the files with markers. prepare and also
// belong to the same operation.
func (s *Session) recordPending(prepare func(*store.Stage) error, also func(*thread.State, thread.Stamp) error) error {
	s.call.Context.Done() // from here on an interrupt has something to tell: see stillPending
	texts := s.markedTexts()
	record, place := s.record, ""
	record.Work = map[string]thread.BlobID{}
	if s.inputs.code != nil {
		code := codeRecord(s.Planning)
		code.Planned = true
		if code.Machine = s.call.Machine; code.Machine != "" {
			code.Tip = string(s.inputs.code.was)
		}
		record.Code = &code
	}
	for path, text := range texts {
		record.Work[path] = blobOf(text)
	}
	err := s.call.Update(record.Target, func(stage *store.Stage) error {
		if len(texts) > 0 {
			place = stage.Rel("work")
		}
		for _, path := range slices.Sorted(maps.Keys(texts)) {
			f, _ := s.file(path)
			if err := stage.Write("work/"+path, texts[path], f.Before.Executable); err != nil {
				return err
			}
			if _, err := stage.Put(texts[path]); err != nil {
				return err
			}
		}
		if prepare != nil {
			return prepare(stage)
		}
		return nil
	}, func(st *thread.State, stamp thread.Stamp) error {
		if err := s.respectClaim(st); err != nil {
			return err
		}
		rec := record
		if free := taken(&st.Merges); rec.ID == "" || free(string(rec.ID)) {
			rec.ID = thread.MergeID(s.call.NewID(thread.PrefixMerge, free))
		}
		rec, err := st.BeginMerge(rec, stamp)
		if err != nil {
			return err
		}
		if place != "" {
			st.Plan(thread.Step{Do: thread.StepPlace, From: place, To: workPlace(rec.ID)})
		}
		s.record = rec
		if also != nil {
			return also(st, stamp)
		}
		return nil
	})
	s.recorded = err == nil
	return err
}

// markedTexts renders the open conflicts for editing, by path.
func (p *Planning) markedTexts() map[string][]byte {
	out := map[string][]byte{}
	for _, f := range p.plan.Files {
		if f.Open > 0 && f.Merge != nil {
			out[f.Path] = f.Marked(p.plan.Conflicts).Text
		}
	}
	return out
}

// followed has a work file that follows a decision: what it is replaced with.
type followed struct {
	path       string
	before     []byte // as somebody edited it
	text       []byte
	rendering  []byte // as without anybody's edits
	expect     thread.BlobID
	executable bool
}

// edited is the reason of a decision that somebody took in a work file.
const edited = "edited"

// workFiles has the work files of a pending merge as they are now.
type workFiles struct {
	*Session
	now map[string]workFile
}

// workFile is a work file whose edits are kept: now is what it has, on top of what the
// plan says without the answers that are being given.
type workFile struct {
	rendering merge.Marked
	hash      thread.BlobID // of the file; "" if there is none
	raw       []byte        // the file, if somebody edited it
	now       []byte
}

// edited reports whether somebody edited the file.
func (f workFile) edited() bool { return string(f.now) != string(f.rendering.Text) }

// readWork reads the work files. What a side changed since they were written is merged
// into them. A file that somebody removed is left out, and so is one whose edits do not
// fit any more, which outdated names. Errors: T509, those of planning.
func readWork(s *Session) (*workFiles, error) {
	w := &workFiles{s, map[string]workFile{}}
	s.outdated = nil
	for _, f := range s.plan.Files {
		id, known := s.record.Work[f.Path]
		rendering, err := f.WorkFile(s.plan.Conflicts, s.inputs.reader.content)
		if err != nil {
			return nil, err
		}
		one := workFile{rendering: rendering, now: rendering.Text}
		if known {
			now, err := s.call.Files.ReadWork(s.record.ID, f.Path)
			switch {
			case unreadable(err):
				return nil, err // it may have decisions
			case err != nil:
				continue // removed: no answer
			}
			if one.hash = blobOf(now); one.hash != id {
				one.raw = now
				fits, err := w.carry(&one, id, now)
				if err != nil {
					return nil, err
				}
				if !fits {
					s.outdated = append(s.outdated, f.Path)
					continue
				}
			}
		}
		if len(rendering.Text) > 0 || known {
			w.now[f.Path] = one
		}
	}
	return w, nil
}

// unreadable reports whether something is there and the system cannot read it now.
func unreadable(err error) bool {
	return codes.Has(err, codes.ReadFailed) && !errors.Is(err, fs.ErrNotExist) && !store.IsDamaged(err)
}

// carry brings the edits of a file from the rendering that was written, the blob id, to
// the present one. It returns false if they do not fit any more, or if that rendering is
// lost. Errors: T509 if it cannot be read now.
func (w *workFiles) carry(f *workFile, id thread.BlobID, now []byte) (fits bool, err error) {
	was, err := w.call.Files.Blob(id)
	switch {
	case unreadable(err):
		return false, err
	case err != nil:
		return false, nil
	}
	if string(was) == string(f.rendering.Text) {
		f.now = now
		return true, nil
	}
	wrote := merge.Written(was)
	made, clean := merge.Text(was, now, f.rendering.Text).Merged()
	if !clean || wrote.Unmarked(now) && !wrote.Unmarked(made) {
		return false, nil
	}
	f.rendering, f.now = f.rendering.Knowing(wrote), made
	return true, nil
}

// answers returns the decisions that the edits are: of the conflicts without markers
// and, if whole, of paths that were edited beyond their conflicts.
func (w *workFiles) answers(whole bool) (out []Answer) {
	for _, path := range slices.Sorted(maps.Keys(w.now)) {
		f := w.now[path]
		if !f.edited() {
			continue
		}
		edits := f.rendering.Edits(f.now)
		if edits.Whole != nil && whole {
			out = append(out, w.by(path, merge.TakeText, edited, edits.Whole))
			continue
		}
		for _, c := range w.plan.Conflicts {
			if text, ok := edits.Parts[c.ID]; ok && c.Path == path {
				out = append(out, w.by(c.ID, merge.TakeText, edited, text))
			}
		}
	}
	return out
}

// take says that a plan has the answers that the edits are: its renderings are what the
// files are compared with from now on.
func (w *workFiles) take(plan *merge.Plan) error {
	for _, f := range plan.Files {
		if one, ok := w.now[f.Path]; ok && one.edited() {
			rendering, err := f.WorkFile(plan.Conflicts, w.inputs.reader.content)
			if err != nil {
				return err
			}
			one.rendering = rendering
			w.now[f.Path] = one
		}
	}
	return nil
}

// follow returns the work files that a plan with more decisions changes. Edits stay,
// except where a decision is about the same lines, or about the path as a whole.
func (w *workFiles) follow(plan *merge.Plan, whole func(path string) bool) (out []followed, err error) {
	for _, f := range plan.Files {
		one, ok := w.now[f.Path]
		_, known := w.record.Work[f.Path]
		if !ok || !known && f.Open == 0 {
			continue
		}
		next, err := f.WorkFile(plan.Conflicts, w.inputs.reader.content)
		if err != nil {
			return nil, err
		}
		text := next.Text
		if one.edited() && !whole(f.Path) {
			text = preferring(one.rendering.Text, one.now, next.Text)
		}
		if known && blobOf(text) == one.hash && w.record.Work[f.Path] == blobOf(next.Text) {
			continue
		}
		out = append(out, followed{f.Path, one.raw, text, next.Text, one.hash, f.Before.Executable})
	}
	return out, nil
}

// preferring merges what was edited with what was decided, which wins.
func preferring(was, edited, decided []byte) []byte {
	r := merge.Text(was, edited, decided)
	var answers []merge.Answer
	for _, hunk := range r.Conflicts() {
		answers = append(answers, merge.Answer{Hunk: hunk, Text: r.Side(hunk, 1)})
	}
	text, _ := r.Answered(answers...).Merged()
	return text
}

// writeWork stages work files, and returns the steps that put them into place. What they
// replace is kept.
func writeWork(stage *store.Stage, id thread.MergeID, files []followed) (steps []thread.Step, err error) {
	for i, f := range files {
		for _, text := range [][]byte{f.before, f.text, f.rendering} {
			if text == nil {
				continue
			}
			if _, err := stage.Put(text); err != nil {
				return nil, err
			}
		}
		name := "work/" + strconv.Itoa(i)
		if err := stage.Write(name, f.text, f.executable); err != nil {
			return nil, err
		}
		steps = append(steps, thread.Step{
			Do: thread.StepReplace, From: stage.Rel(name), To: workPlace(id) + "/" + f.path, Expect: f.expect, Content: blobOf(f.text), Executable: f.executable,
		})
	}
	return steps, nil
}

// placeWork plans the steps of writeWork, and records what leslie wrote.
func placeWork(st *thread.State, rec thread.Merge, files []followed, steps []thread.Step) thread.Merge {
	if len(steps) == 0 {
		return rec
	}
	work := maps.Clone(rec.Work)
	if work == nil {
		work = map[string]thread.BlobID{}
	}
	for _, f := range files {
		work[f.path] = blobOf(f.rendering)
	}
	st.Plan(steps...)
	return st.FollowDecisions(rec, work)
}

// followAll has the work files follow the answers of those who were asked, at once. If
// it fails, they follow the next decision.
func followAll(s *Session) {
	w, err := readWork(s)
	if err != nil {
		return
	}
	files, err := w.follow(s.plan, func(string) bool { return false })
	if err != nil || len(files) == 0 {
		return
	}
	var steps []thread.Step
	_ = s.call.Update(s.record.Target, func(stage *store.Stage) (err error) {
		steps, err = writeWork(stage, s.record.ID, files)
		return err
	}, func(st *thread.State, _ thread.Stamp) error {
		rec, err := st.Merge(string(s.record.ID))
		if err == nil && maps.Equal(rec.Decisions, s.record.Decisions) && maps.Equal(rec.Work, s.record.Work) {
			s.record = placeWork(st, rec, files, steps)
		}
		return err
	})
}

// TakeEdited takes decisions from the work files: each conflict whose lines were edited
// and have no marker left, and each file without markers that was edited beyond its
// conflicts. If what a side changed since does not fit to the edits, the path stays
// open. Errors: those of Answer.
func (s *Session) TakeEdited() error {
	w, err := readWork(s)
	if err != nil {
		return err
	}
	if out := w.answers(true); len(out) > 0 {
		a := &answering{Session: s, answers: out, asked: true, known: maps.Clone(s.record.Decisions), work: w, edits: true}
		err = s.recordAnswers(a)
	}
	return err
}

// Edited returns the session as TakeEdited would leave it, without recording anything.
func (s *Session) Edited() (*Session, error) {
	w, err := readWork(s)
	if err != nil {
		return nil, err
	}
	return planWith(s, w.answers(true))
}

// markersLeft returns where markers are left in the work files: "FILE:LINE".
func markersLeft(p *Planning) (out []string) {
	for _, f := range p.plan.Files {
		if _, ok := p.record.Work[f.Path]; !ok || f.Open == 0 {
			continue
		}
		now, err := p.call.Files.ReadWork(p.record.ID, f.Path)
		if err != nil {
			continue
		}
		for _, line := range f.Marked(p.plan.Conflicts).Left(now) {
			out = append(out, workPath(p.record.ID, f.Path)+":"+strconv.Itoa(line))
		}
	}
	return out
}
