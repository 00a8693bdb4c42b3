package app

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// ImportedCheckpoint is the name of the checkpoint with the artifacts that an import brought.
const ImportedCheckpoint = "import"

// Change is embedded in the result of every use case that writes.
type Change struct {
	Changed bool `json:"changed"`
}

// SetChanged is called after the operation.
func (ch *Change) SetChanged(changed bool) { ch.Changed = changed }

// written is a pointer to the result of a use case that writes.
type written[T any] interface {
	*T
	SetChanged(bool)
}

// rule is what a use case does to the State. It may run again, so it has no effect
// outside the State. It returns the thread that it concerns.
type rule[T any] func(s *thread.State, stamp thread.Stamp) (*T, thread.ThreadID, error)

// keptAnswer is a result as stored for a request id.
type keptAnswer[T any] struct {
	Data     T             `json:"data"`
	Warnings warnings.List `json:"warnings,omitempty"`
}

// Write changes the store by one rule. The result and the warnings are those of the
// committed run. Errors: the rule's, and the store's (T501, T502, T503, T505, T506,
// T509, T904).
func Write[T any, P written[T]](c *Call, do rule[T]) (*T, error) {
	if c.draft != nil {
		return rehearse[T, P](c, do)
	}
	if first, ok, err := Answered[T](c); ok || err != nil {
		return first, err
	}
	var data *T
	call, kept := c.StoreCall(), len(c.warnings)
	commit, err := c.Update(call, func(s *thread.State) (store.Outcome, error) {
		c.WarnAnew(kept)
		d, id, err := do(s, call.Stamp)
		if err != nil {
			return store.Outcome{}, err
		}
		P(d).SetChanged(s.Changed())
		data = d
		if id != "" {
			c.target = id
		}
		out := store.Outcome{Thread: id}
		if call.Request != "" {
			out.Answer, err = fact.JSON(keptAnswer[*T]{Data: d, Warnings: c.warnings})
		}
		return out, err
	})
	if err != nil {
		c.WarnAnew(kept)
		c.Warn(commit.Warnings...)
		return nil, err
	}
	c.changed = c.changed || commit.Changed
	if data, err = AfterCommit(c, commit, data); err != nil {
		return nil, err
	}
	return data, c.KeepUnchanged(data)
}

// errOverdue says that the effect of a passed deadline is not recorded yet.
var errOverdue = errors.New("a deadline has passed")

// Update is the only way in which use cases change the store. It first records the
// effect of passed deadlines, as an operation of the system. A caller that is not a
// person and speaks for a thread that the mistake limit suspended may not change
// anything (T103). A change extends the claims under which the caller works.
func (c *Call) Update(call store.Call, fn func(*thread.State) (store.Outcome, error)) (store.Commit, error) {
	if err := c.askLog(); err != nil && !codes.Has(err, codes.RemoteUnreachable) {
		return store.Commit{}, err
	}
	earlier := c.ownWaiting // of the call's operations before this one
	for {
		var begun []WaitingItem
		var holders []string
		commit, err := c.store.Update(c.ctx, call, func(s *thread.State) (store.Outcome, error) {
			c.covered = true
			defer func() { c.covered = false }()
			if s.Overdue(call.Stamp.Time) {
				return store.Outcome{}, errOverdue
			}
			c.noteMessages(s)
			waited := c.waiting
			if !call.Stamp.ByPerson() && c.caller.Thread != "" {
				if err := s.Limited(c.caller.Thread); err != nil {
					return store.Outcome{}, err
				}
			}
			out, err := fn(s)
			if err == nil {
				s.NoteReopened(call.Stamp)
				changes := s.Changes()
				begun = BegunToWait(changes)
				ProlongClaims(s, changes, out.Thread, call)
				holders = c.newHolders(s, s.Changes())
				c.noteMessages(s)
				c.ownWaiting = newlyWaiting(waited, c.waiting)
				maps.Copy(c.ownWaiting, earlier)
			}
			return out, err
		})
		if !errors.Is(err, errOverdue) {
			c.answeredByLog()
			if commit.Changed {
				c.last = commit.Operation
				c.Notify(begun)
				for _, holder := range holders {
					c.store.HearHolder(holder, c.Now())
				}
			}
			return commit, c.sayingHeard(err)
		}
		if _, err := c.System("lapse", call.Stamp.Time, (*thread.State).Expire); err != nil {
			return store.Commit{}, err
		}
	}
}

// System records an operation of leslie itself.
func (c *Call) System(command string, at time.Time, do func(*thread.State, thread.Stamp) thread.ThreadID) (store.Commit, error) {
	call := store.Call{Wait: c.LockWait(), Command: command, Stamp: thread.Stamp{
		Operation: c.project.newOperation(), Time: at, As: thread.System, Actor: SystemActor,
	}}
	return c.store.Update(c.ctx, call, func(s *thread.State) (store.Outcome, error) {
		return store.Outcome{Thread: do(s, call.Stamp)}, nil
	})
}

// ProlongClaims extends the caller's claims on the threads that an operation concerns,
// in the same operation. It never makes Request.Expect fail: it skips a thread that is
// newer and not changed otherwise.
func ProlongClaims(s *thread.State, changes []thread.Change, about thread.ThreadID, call store.Call) {
	ids := []thread.ThreadID{about}
	for _, c := range changes {
		if id, ok := strings.CutPrefix(c.Record, thread.TableThreads+"/"); ok {
			ids = append(ids, thread.ThreadID(id))
		}
	}
	if len(changes) == 0 && len(s.Planned()) == 0 {
		return
	}
	for _, id := range ids {
		t, _ := s.Threads.Peek(string(id))
		if newer := t.Revision <= s.Revision && call.Expect != nil && t.Revision > *call.Expect; !newer {
			s.Prolong(id, call.Stamp)
		}
	}
}

// Answered returns the result that this call's request id already got. A use case that
// reads files before it writes calls it first.
func Answered[T any](c *Call) (data *T, ok bool, err error) {
	if c.request.ID == "" || c.draft != nil {
		return nil, false, nil
	}
	if err := c.Refresh(); err != nil {
		return nil, false, err
	}
	commit, err := c.store.Answered(c.ctx, c.StoreCall())
	if err != nil || commit == nil {
		return nil, false, err
	}
	data, err = AfterCommit[T](c, *commit, nil)
	return data, err == nil, err
}

// KeepUnchanged stores the result of a request that changed nothing, because no
// operation has it. Errors: those of Store.Keep.
func (c *Call) KeepUnchanged(data any) error {
	if c.request.ID == "" || c.changed || c.replayed || c.draft != nil || c.revision == nil {
		return nil
	}
	answer, err := fact.JSON(keptAnswer[any]{Data: data, Warnings: c.warnings})
	if err != nil {
		return err
	}
	return c.store.Keep(c.ctx, c.StoreCall(), *c.revision, answer)
}

// AfterCommit takes over what a commit of the call's own operation says. Errors: those of reading a kept answer.
func AfterCommit[T any](c *Call, commit store.Commit, data *T) (*T, error) {
	c.revision = &commit.Revision
	if commit.Replay != nil {
		var first keptAnswer[*T]
		if err := json.Unmarshal(commit.Replay, &first); err != nil {
			return data, codes.Internal.Wrap(err, fact.Of("reason", "a stored answer cannot be read"))
		}
		data = first.Data
		c.warnings, c.replayed = first.Warnings, true
	}
	c.Warn(commit.Warnings...)
	return data, nil
}

// StoreCall is what the store is told of the call.
func (c *Call) StoreCall() store.Call {
	call := store.Call{
		Wait: c.LockWait(), Stamp: c.Stamp(), Command: c.request.Command, Params: c.Params(), Request: c.request.ID, Expect: c.request.Expect,
	}
	call.Staged, call.Continues = c.staged, c.continues
	call.Unless, call.LogEnd = c.unless, c.logEnd
	return call
}

// LockWait is how the call waits for the lock.
func (c *Call) LockWait() store.Wait {
	return store.Wait{Timeout: c.request.LockTimeout, Notify: c.request.Waiting}
}

// Params returns the call's parameters as in the journal.
func (c *Call) Params() json.RawMessage {
	if c.request.Params == nil {
		return json.RawMessage("{}")
	}
	return c.request.Params()
}

// RelyOn makes the content of a stage durable before the operation is recorded:
// concurrently with it, or at once for a line of a batch, which may have many.
func (c *Call) RelyOn(stage *store.Stage) error {
	if c.draft != nil {
		return stage.Sync()
	}
	if !slices.Contains(c.staged, stage) {
		c.staged = append(c.staged, stage)
	}
	return nil
}

// DropStages forgets what the last operation relied on.
func (c *Call) DropStages() { c.staged = nil }

// EndStage ends a stage, if there is one: files that a committed operation still has
// to place stay, all others are removed.
func (c *Call) EndStage(stage *store.Stage, stands bool) {
	switch {
	case stage == nil:
	case c.draft != nil: // the line may still be part of the operation
		c.draft.stages = append(c.draft.stages, stage)
	case stands:
		_ = stage.Close()
	default:
		_ = stage.Discard()
	}
}
