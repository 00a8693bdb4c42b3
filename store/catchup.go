package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/store/internal/archive"
	"leslie/store/internal/content"
	"leslie/store/internal/filework"
	"leslie/store/internal/journal"
	"leslie/store/internal/jsonl"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/statefile"
	"leslie/thread"
	"leslie/warnings"
)

// This file brings the copy of a connected project up to date with the log.
//
// Many operations become one new state: the lines of all but the last are appended to
// the journal first, then the state of the last is committed as after an operation of
// this machine. So the journal may be ahead of the state of a connected project: a reader
// rolls it forward and has nothing to warn of, because the log has all of it.
//
// Whoever is going to append leaves them in memory until the log has the own operation:
// nothing that follows from the log has to be on this disk before that, and the less is done
// between reading the log's end and appending, the less often another machine is first.
//
// Each line of the log has the hash of the one before, and the operation keeps the hash
// of its own line (thread.Operation.Chain). A log that is no continuation of what this
// machine knows is refused (T512).

// logLine is what a line of the log says.
type logLine struct {
	Seq     thread.Revision    `json:"seq"`
	ID      thread.OperationID `json:"id"`
	Prev    string             `json:"prev"` // SHA-256 of the line before; of the first: of the project's id
	Machine string             `json:"machine,omitempty"`
	// Entry is the operation, and Body instead the blob that has it, if it is long.
	Entry json.RawMessage `json:"entry,omitempty"`
	Body  thread.BlobID   `json:"body,omitempty"`
}

// linesAtOnce is how many operations of the log become one new state.
const linesAtOnce = 5000

func sumOfLine(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Ask learns where the log ends and what time it is there, for a call that is going to
// write: Update reads what is new itself, where Refresh would put it on disk first. Errors:
// T402, T510, T512, T904.
func (s *Store) Ask(ctx context.Context) error {
	l := s.opts.Link
	if l == nil || l.following.Load() > 0 {
		return nil
	}
	head, err := l.head(ctx, s.now)
	s.asked.Store(&end{head, err})
	return remoteError(ctx, err, "")
}

// end is where a log ends, or why that is not known.
type end struct {
	ledger.Head
	err error
}

// Refresh brings the copy up to date before it is read. If the log's engine does not
// answer within two seconds, or the copy cannot be written, the copy stays as it is, and
// W508 says so. Another process or goroutine that follows the log makes it needless.
// Errors: T402, T512, those of loading, T904.
func (s *Store) Refresh(ctx context.Context) (warnings.List, error) {
	l := s.opts.Link
	if l == nil || l.following.Load() > 0 {
		return nil, nil
	}
	now, err := s.load()
	if err != nil {
		return nil, nil // whoever reads it is told
	}
	behind, err := s.behind(ctx, now)
	if err == nil && behind {
		var unlock func()
		if now, unlock, err = s.beginWrite(ctx, Wait{Timeout: askFor}, ""); err == nil {
			now, err = s.catchUp(ctx, now)
			unlock()
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, codes.Interrupted.Wrap(context.Cause(ctx))
	case codes.Has(err, codes.RemoteUnreachable), codes.Has(err, codes.LockFailed), codes.Has(err, codes.WriteFailed):
		if now == nil {
			now, _ = s.load()
		}
		return append(l.notes(), s.unanswered(now, err)), nil
	}
	return l.notes(), err
}

// behind reports whether the log goes on behind what was loaded, by what Ask was told just
// now or else by asking. Errors: T402, T510, T512.
func (s *Store) behind(ctx context.Context, now *loaded) (bool, error) {
	asked := s.asked.Swap(nil)
	if asked == nil {
		head, err := s.opts.Link.head(ctx, s.now)
		asked = &end{head, err}
	}
	if asked.err != nil {
		return false, remoteError(ctx, asked.err, "")
	}
	more, err := continues(now, asked.Head)
	return more || err == nil && s.otherLog(), err
}

// continues reports whether a log goes on behind what was loaded. Errors: T512.
func continues(now *loaded, head ledger.Head) (bool, error) {
	known := ""
	if now.Operation != nil {
		known = string(now.Operation.ID)
	}
	switch at := thread.Revision(head.Seq); {
	case at < now.Revision:
		return false, diverged(fmt.Sprintf("it ends at revision %d, and this machine knows %d", at, now.Revision))
	case at == now.Revision && head.ID != known:
		return false, diverged(fmt.Sprintf("operation %d is %s there, and %s here", at, head.ID, known))
	default:
		return at > now.Revision, nil
	}
}

func diverged(reason string) error { return codes.RemoteDiverged.New(fact.Of("reason", reason)) }

// catchUp adds what the log has behind the loaded state, and returns the new one. The
// caller holds the lock. Errors: T402, T505, T510, T512, T904.
func (s *Store) catchUp(ctx context.Context, now *loaded) (*loaded, error) {
	now, err := s.lookAhead(ctx, now)
	if err == nil {
		now, err = s.adopt(ctx, now)
	}
	return now, err
}

// lookAhead is catchUp that leaves new operations in memory, as far as the rules need them
// nowhere else: whoever is going to append competes with other machines, and the log has
// them anyway. They go to the disk with the operation that is made (commit), or without
// one (adopt). Errors: as catchUp.
func (s *Store) lookAhead(ctx context.Context, now *loaded) (*loaded, error) {
	now, err := s.sameLog(ctx, now)
	if err != nil {
		return now, remoteError(ctx, err, "")
	}
	in := logReader{store: s, ctx: ctx, known: now.Operation, seq: now.Revision}
	if in.chain, err = s.chainOf(now.Operation); err != nil {
		return now, err
	}
	var some []journal.Entry
	take := func() error {
		if len(some) == 0 {
			return nil
		}
		next, err := now.after(some)
		if some = nil; err != nil {
			return err
		}
		if now = next; len(now.ahead) >= linesAtOnce || slices.ContainsFunc(now.ahead, neededOnDisk) {
			now, err = s.adopt(ctx, now)
		}
		return err
	}
	err = s.opts.Link.Ledger.After(ctx, int64(now.Revision), func(line ledger.Line) error {
		e, err := in.read(line)
		if err != nil {
			return err
		}
		if some = append(some, e); len(some) == linesAtOnce {
			return take()
		}
		return nil
	})
	if err == nil {
		err = take()
	}
	return now, remoteError(ctx, err, "")
}

// otherLog reports whether the log is not the one that this copy last agreed with: it was
// made anew, from this or another machine's copy.
func (s *Store) otherLog() bool {
	log, _ := s.opts.Link.log.Load().(string)
	known, _, _ := saferoot.ReadRegular(s.Path(logFile))
	return log != "" && log != string(known)
}

// sameLog agrees with the log that is there now: if it has the same operation at the
// loaded revision, the hash of its line counts from now on. Errors: T505, T512; those of
// the ledger.
func (s *Store) sameLog(ctx context.Context, now *loaded) (*loaded, error) {
	if !s.otherLog() {
		return now, nil
	}
	now, err := s.adopt(ctx, now)
	if err != nil {
		return now, err
	}
	if now.Operation != nil && now.Operation.Chain != "" {
		line, err := s.lineAt(ctx, now.Revision)
		switch {
		case err != nil:
			return now, err
		case line.ID != string(now.Operation.ID):
			return now, diverged(fmt.Sprintf("operation %d is %s there, and %s here", now.Revision, line.ID, now.Operation.ID))
		}
		if now, err = s.rechain(now, sumOfLine(line.Data)); err != nil {
			return now, err
		}
	}
	log, _ := s.opts.Link.log.Load().(string)
	return now, s.disk.Replace(logFile, []byte(log))
}

// rechain stores the loaded state with another hash of its operation's line. Errors: T505.
func (s *Store) rechain(now *loaded, chain string) (*loaded, error) {
	if now.Operation.Chain == chain {
		return now, nil
	}
	var err error
	if now.Operation, err = now.Operation.WithChain(chain); err != nil {
		return now, err
	}
	if err := s.swap(now, now.Image); err != nil {
		return now, err
	}
	if err := s.disk.SyncDir(s.Path(".")); err != nil {
		return now, s.disk.WriteFailed(err)
	}
	return s.loadToWrite()
}

// chainOf is the hash of the line that an operation has in the log, "" if it has to be
// looked up: the operation was made before the project was connected.
func (s *Store) chainOf(op *journal.Operation) (string, error) {
	if op == nil {
		return sumOfLine([]byte(s.opts.Link.Remote.Project)), nil
	}
	return op.Chain, nil
}

// logReader reads lines in their order.
type logReader struct {
	store *Store
	ctx   context.Context
	known *journal.Operation // the last one before the first line
	seq   thread.Revision    // of the last line
	chain string             // and its hash
}

// read checks a line and returns its operation. Errors: T512; those of the ledger.
func (r *logReader) read(line ledger.Line) (journal.Entry, error) {
	var text logLine
	if json.Unmarshal(line.Data, &text) != nil || text.Seq != r.seq+1 || int64(text.Seq) != line.Seq || string(text.ID) != line.ID {
		return journal.Entry{}, diverged(fmt.Sprintf("line %d is damaged", line.Seq))
	}
	if text.Prev != r.chain && !r.sameLine(text.Prev) {
		return journal.Entry{}, diverged(fmt.Sprintf("line %d does not follow what this machine knows", line.Seq))
	}
	body := []byte(text.Entry)
	if text.Body != "" {
		var err error
		if body, err = r.store.opts.Link.Ledger.GetBlob(r.ctx, string(text.Body)); err != nil {
			return journal.Entry{}, err
		}
	}
	e, ok := journal.FromLog(body)
	if !ok || e.Seq != text.Seq || e.ID != text.ID {
		return journal.Entry{}, diverged(fmt.Sprintf("line %d is damaged", line.Seq))
	}
	e.Chain, e.Machine = sumOfLine(line.Data), text.Machine
	r.seq, r.chain = e.Seq, e.Chain
	return e, nil
}

// sameLine reports whether the log's line of the last known operation is another text of
// the same operation, with this hash: the log was made of this or of another machine's
// journal. Ids are random, so the same id at the same place is the same history.
func (r *logReader) sameLine(sum string) bool {
	if r.known == nil || r.known.Seq != r.seq {
		return false
	}
	line, err := r.store.lineAt(r.ctx, r.seq)
	return err == nil && line.ID == string(r.known.ID) && sumOfLine(line.Data) == sum
}

// lineAt reads one line of the log.
func (s *Store) lineAt(ctx context.Context, at thread.Revision) (found ledger.Line, err error) {
	stop := fmt.Errorf("found")
	err = s.opts.Link.Ledger.After(ctx, int64(at)-1, func(line ledger.Line) error {
		found = line
		return stop
	})
	if err == stop {
		err = nil
	}
	if err == nil && thread.Revision(found.Seq) != at {
		err = diverged(fmt.Sprintf("it has no line %d", at))
	}
	return found, err
}

// neededOnDisk reports whether what the rules read besides the state shows an operation:
// threads' folders, and the archive.
func neededOnDisk(e journal.Entry) bool {
	return len(e.Archived) > 0 || slices.ContainsFunc(localSteps(e), func(step thread.Step) bool {
		return step.Do != thread.StepMakeDir && step.Do != thread.StepAppend
	})
}

// after is what was loaded with more operations of the log, in memory. Errors: T512 for one
// that cannot be applied.
func (l *loaded) after(more []journal.Entry) (*loaded, error) {
	image, err := imageAfter(l.Image, more)
	if err != nil {
		return nil, err
	}
	next := *l
	next.onDisk, next.ahead = l.kept(), append(slices.Clip(l.ahead), more...)
	next.Image = image.Follow(l.Image)
	next.Quarantined = l.Quarantined
	return &next, nil
}

// adopt makes the operations that are only in memory part of the copy. The caller holds the
// lock. Errors: T505.
func (s *Store) adopt(ctx context.Context, now *loaded) (*loaded, error) {
	if len(now.ahead) == 0 {
		return now, nil
	}
	before, image, last := *now, now.Image, len(now.ahead)-1
	before.ahead = now.ahead[:last]
	if last == 0 {
		before.Image = now.onDisk
	}
	if own := localSteps(now.ahead[last]); len(own) > 0 {
		image.Pending = &thread.Pending{Operation: image.Operation.ID, Steps: own}
	}
	done, err := s.commit(context.WithoutCancel(ctx), &before, image, nil)
	if err != nil {
		return now, err
	}
	fresh, err := s.loadToWrite()
	if err != nil {
		return now, err
	}
	fresh.warnings.Add(done.Warnings...)
	return fresh, s.settle(fresh, "")
}

// keepAhead puts the operations on disk that are only in memory, but for the state: their
// records in the archive, and their answers before the state, since nobody asks for the
// answers of operations that it is behind. Errors: T505.
func (s *Store) keepAhead(now *loaded) error {
	var lines [][]byte
	var left []archive.Line
	var answers []journal.Answer
	for _, e := range now.ahead {
		own := localSteps(e)
		e.Pending = nil
		line, err := (&journal.Operation{Entry: e}).Line(own)
		if err != nil {
			return err
		}
		lines = append(lines, line)
		left = append(left, archive.LinesOf(e.Archived, e.Seq)...)
		if e.RequestID != "" && !journal.Forgotten(e.Time, s.now()) {
			answers = append(answers, journal.AnswerOf(e))
		}
	}
	if err := s.appendArchive(left); err != nil {
		return err
	}
	if err := s.writeAnswers(answers...); err != nil {
		return err
	}
	if len(lines) == 0 {
		return nil
	}
	return s.disk.AppendLines(JournalFile, lines...)
}

// stepsAfter are the steps of an operation, behind those of operations from the log.
func stepsAfter(ahead []journal.Entry, own []thread.Step) (steps []thread.Step) {
	for _, e := range ahead {
		more := localSteps(e)
		steps = append(withoutGone(steps, more), more...)
	}
	return append(withoutGone(steps, own), own...)
}

// imageAfter is an image after operations of the log. Errors: T512.
func imageAfter(m statefile.Image, all []journal.Entry) (next statefile.Image, err error) {
	defer func() { // a record that no rule could have written
		if r := recover(); r != nil {
			err = diverged(fmt.Sprint("an operation cannot be applied: ", r))
		}
	}()
	st := thread.NewState(m.Revision, m.Records, nil)
	for _, e := range all {
		if err := st.Apply(e.Operation); err != nil {
			return m, diverged("an operation cannot be applied: " + err.Error())
		}
	}
	last := all[len(all)-1]
	last.Pending, last.Quarantined = nil, nil
	return statefile.Of(st, last), nil
}

// localSteps is what an operation of another machine has to do with this one's files:
// folders for new threads, lines of messages, and what goes with a thread or a reference
// that is gone. Threads' files come when somebody looks at them (fetch.go).
func localSteps(e journal.Entry) (steps []thread.Step) {
	for _, c := range e.Changes {
		if table, id, _ := strings.Cut(c.Record, "/"); table == thread.TableThreads && thread.Absent(c.Before) && !thread.Absent(c.After) {
			steps = append(steps, thread.Step{Do: thread.StepMakeDir, To: ThreadsDir + "/" + id})
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

// makeLine is the log's line for an operation, and the content of its body, if that is a
// blob. Errors: T901.
func makeLine(e journal.Entry, steps []thread.Step, chain, machine string) (line ledger.Line, body []byte, err error) {
	text := logLine{Seq: e.Seq, ID: e.ID, Prev: chain, Machine: machine}
	entry, err := journal.ForLog(e, steps)
	if err != nil {
		return line, nil, err
	}
	const around = 1 << 10 // what a line has besides its entry
	if len(entry) > ledger.MaxLine-around {
		text.Body, body = content.IDOf(entry), entry
	} else {
		text.Entry = entry
	}
	data, err := jsonl.Marshal(text)
	return ledger.Line{Seq: int64(e.Seq), ID: string(e.ID), Data: data}, body, err
}
