package merging

import (
	"maps"
	"slices"

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
		rec.ID = thread.MergeID(s.call.NewID(thread.PrefixMerge, taken(&st.Merges)))
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

// TakeEdited takes decisions from the files with markers: those that were edited and
// contain none of their markers. Changes of a side after a file was written are merged
// into the edited file; if that leaves a conflict or a marker, the path stays open.
// Errors: those of Answer.
func (s *Session) TakeEdited() error {
	var out []Answer
	undecided := s.plan
	for _, f := range s.plan.Files {
		id, ok := s.record.Work[f.Path]
		if !ok || f.Open == 0 || f.Merge == nil {
			continue
		}
		now, err := s.call.Files.ReadWork(s.record.ID, f.Path)
		if err != nil {
			continue // removed: no answer
		}
		was, err := s.call.Files.Blob(id)
		wrote := merge.Written(was)
		if err != nil || string(was) == string(now) || !wrote.Unmarked(now) {
			continue
		}
		if undecided == s.plan && len(s.record.Decisions) > 0 {
			if undecided, err = s.inputs.undecided(); err != nil {
				return err
			}
		}
		is := undecided.Marked(f.Path)
		made, clean := merge.Text(was, now, is.Text).Merged()
		if !clean || !is.Unmarked(made) || !wrote.Unmarked(made) {
			s.outdated = append(s.outdated, f.Path)
			continue
		}
		out = append(out, s.by(f.Path, merge.TakeText, "edited", made))
	}
	if len(out) == 0 {
		return nil
	}
	_, err := s.Answer(out...)
	return err
}
