package doctor

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"

	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/state"
	"leslie/thread"
)

// This file checks the stored answers of requests. Without its file a repeated request
// would be executed again, so a missing or damaged file is restored from the journal:
// that the request was executed, by which operation, with which answer.

func (x *examination) requests() error {
	if x.now == nil || x.noJournal {
		return nil
	}
	owed := x.owed()
	for _, name := range slices.Sorted(maps.Keys(owed)) {
		if x.missing(name) {
			x.repairable("T502", name, "the answer to a request of the operation '"+string(owed[name].Operation)+"' is missing: a repeated request would run again",
				func(m *repairRun) error { return m.answer(name, owed[name]) })
		}
	}
	entries, err := os.ReadDir(x.Store.Path(store.RequestsDir))
	if err != nil {
		return nil // places and unknownEntries say why
	}
	for _, e := range entries {
		name := store.RequestsDir + "/" + e.Name()
		if !content.Valid(thread.BlobID(e.Name())) {
			continue
		}
		_, err := x.files.ReadAnswer(name)
		var d saferoot.Damage
		switch a, known := owed[name]; {
		case err == nil, errors.Is(err, fs.ErrNotExist):
		case !errors.As(err, &d):
			x.unreadableAt(name, err)
		case known && saferoot.Irregular(x.Store.Path(name)):
			// If it were moved aside, the request would for a moment not be known.
			x.permanent("T502", name, "the stored answer of the operation '"+string(a.Operation)+"' is not a file: remove it, then it can be written again")
		case known:
			x.repairable("T502", name, "the stored answer of the operation '"+string(a.Operation)+"' is damaged: "+string(d), func(m *repairRun) error { return m.answer(name, a) })
		default:
			x.repairable("T502", name, "a stored answer is damaged, and the journal has no such request: "+string(d), func(m *repairRun) error { return m.aside(name) })
		}
	}
	return nil
}

// owed returns the answers that must be stored, by file: those that the journal has,
// and that of the state's own operation.
func (x *examination) owed() map[string]journal.Answer {
	all := map[string]journal.Answer{}
	for name, a := range x.index.Answers {
		all[store.RequestsDir+"/"+name] = a
	}
	if op := x.now.Operation; op != nil && op.RequestID != "" && !journal.Forgotten(op.Time, x.files.Now()) {
		if e, err := op.All(); err == nil {
			all[state.AnswerFile(op.RequestID)] = journal.AnswerOf(e)
		}
	}
	return all
}

// answer writes a stored answer again. The damaged file keeps its name until the new
// one replaces it, so there is always a file.
func (m *repairRun) answer(name string, a journal.Answer) error {
	s := m.w
	w, err := s.Open()
	if err != nil {
		return s.WriteFailed(err)
	}
	defer w.Close()
	if err := w.Ensure(store.RequestsDir); err != nil {
		return err
	}
	if err := m.keepBeside(name); err != nil {
		return err
	}
	data, err := a.Encode()
	if err != nil {
		return err
	}
	if err := s.Replace(name, data); err != nil {
		return err
	}
	w.Touch(store.RequestsDir)
	m.did("wrote %s again", saferoot.Shown(name))
	return w.Sync()
}
