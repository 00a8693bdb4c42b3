package thread

import (
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/warnings"
)

// This file has what each machine sees of the code of threads in a project on several. Branch,
// target, base and commits are the same everywhere. The folders are those of one machine,
// Code.Machine: a State that is On another one shows the code as CodeElsewhere, without them, and
// leaves them as they are when it changes the record.

// CodeSent is what of a thread's branch has gone to the project's other machines.
type CodeSent struct {
	// Tip is the commit that the branch had.
	Tip string `json:"tip"`
	// Bundle has, as a git bundle, what no remote of git was known to have of it; "" if that was
	// nothing.
	Bundle BlobID `json:"bundle,omitempty"`
	// Uncommitted is how many files or folders of the worktree were not committed, and stayed there.
	Uncommitted int       `json:"uncommitted,omitempty"`
	Machine     string    `json:"machine"` // that sent it
	At          time.Time `json:"at"`
	// Held is the commit that the branch had when the machine last tried in vain to send it, "" if it sent that.
	Held string `json:"held,omitempty"`
	// Astray is the last of the commits that its worktree had beside the branch, and that stayed there; "" for none.
	Astray string `json:"astray,omitempty"`
	// Was has where the branch was when it was sent before, the newest first, at most mostSentTips: who is there has
	// nothing that this machine did not have on its branch, too.
	Was []string `json:"was,omitempty"`
	// Includes: Tip has what the machine had sent that had the code before, Had: it has not, and the branch was there.
	// They are not recorded.
	Includes bool `json:"-"`
	Had      bool `json:"-"`

	Unknown Unknown `json:"-"`
}

// mostSentTips is how many of the commits at which a branch was sent before are kept.
const mostSentTips = 10

// On makes the State that of a machine, "" for the only one of a project. Call it before
// anything is read.
func (s *State) On(machine string) *State {
	s.machine = machine
	s.Threads.sees = s.seesThread
	s.Threads.records = s.recordsThread
	return s
}

// AtHome gives the machine of the State the code that no machine is named for.
func (s *State) AtHome() {
	for t := range s.Threads.All() {
		if code := t.OwnedCode(); code != nil && code.Machine == "" {
			t.Code = slices.Clone(t.Code)
			t.Code[0].Machine = s.machine
			s.Threads.Put(t)
		}
	}
}

// Alone makes the code of one machine that of a project's only one, without what it has sent, which nobody asks for any
// more, and without the content with which the others have sent theirs. The State becomes that of the machine.
func (s *State) Alone(machine string) {
	s.machine = machine
	for _, line := range s.Threads.Lines() {
		t := decode[Thread](line.JSON) // with its folders, wherever the State was
		if t.OwnedCode() == nil {
			continue
		}
		t.Code = slices.Clone(t.Code)
		code := &t.Code[0]
		if code.Machine == machine {
			code.Machine = ""
		}
		code.SentBeside = code.besides(machine)
		for i := range code.SentBeside {
			code.SentBeside[i].Bundle = ""
		}
		switch was := code.Sent; {
		case was == nil:
		case was.Machine == machine:
			code.Sent = nil
		default:
			sent := *was
			sent.Bundle, code.Sent = "", &sent
		}
		s.Threads.Put(t)
	}
}

// isElsewhere reports whether the folders of code are those of another machine.
func (s *State) isElsewhere(code *Code) bool {
	return code != nil && code.Machine != "" && code.Machine != s.machine
}

// seesThread is a thread as the machine of the State sees it.
func (s *State) seesThread(t Thread) Thread {
	if !s.isElsewhere(t.OwnedCode()) {
		return t
	}
	t.Code = slices.Clone(t.Code)
	code := &t.Code[0]
	if code.State != CodeRemoved {
		code.State = CodeElsewhere
	}
	t.Worktree, code.Repo, code.Admin, code.Slot, code.Setup, code.Call, code.Rolling = "", "", "", 0, nil, "", nil
	return t
}

// recordsThread is what is to be recorded of a thread that the machine of the State has changed.
func (s *State) recordsThread(recorded []byte, t Thread) Thread {
	if !s.isElsewhere(t.OwnedCode()) {
		return t
	}
	was := decode[Thread](recorded)
	had := was.OwnedCode()
	if had == nil || had.Machine != t.OwnedCode().Machine {
		return t
	}
	t.Code = slices.Clone(t.Code)
	code := &t.Code[0]
	if code.State == CodeElsewhere {
		code.State = had.State
	}
	code.Repo, code.Admin, code.Slot, code.Setup, code.Call, code.Rolling = had.Repo, had.Admin, had.Slot, had.Setup, had.Call, had.Rolling
	if t.Worktree == "" {
		t.Worktree = was.Worktree
	}
	return t
}

// SentCode records what a machine has sent to the others of a thread's branch: of the thread's own
// commits, if the code is there, else of those that this machine has besides. What the machine that had the
// code before has not committed, or has on no branch, stays recorded, and what it has sent that the branch lacks now, as
// after a rebase.
func (s *State) SentCode(id ThreadID, sent CodeSent) {
	t, ok := s.Threads.Peek(string(id))
	if !ok || t.OwnedCode() == nil {
		return
	}
	t.Code = slices.Clone(t.Code)
	code := &t.Code[0]
	if code.SentBeside = code.besides(sent.Machine); code.Machine == sent.Machine {
		was := code.Sent
		others := was != nil && was.Machine != sent.Machine
		if others && (was.Uncommitted > 0 || was.Astray != "" || !sent.Includes) {
			code.SentBeside = append(code.SentBeside, *was)
		}
		if sent.Was = nil; !others || sent.Includes || sent.Had {
			sent.Was = was.tipsBefore(sent.Tip)
		}
		sent.Includes, sent.Had = false, false
		code.Sent = &sent
	} else {
		if was := code.Sent; was != nil && was.Machine == sent.Machine { // of its worktree it says what holds now
			older := *was
			older.Uncommitted, older.Astray, code.Sent = 0, "", &older
		}
		code.SentBeside = append(code.SentBeside, sent)
	}
	s.Threads.Put(t)
}

// tipsBefore is what Was is of what is sent next, with the branch at a tip.
func (sent *CodeSent) tipsBefore(tip string) []string {
	switch {
	case sent == nil:
		return nil
	case sent.Tip == tip:
		return sent.Was
	}
	older := slices.DeleteFunc(slices.Clone(sent.Was), func(before string) bool { return before == sent.Tip })
	return append([]string{sent.Tip}, older[:min(len(older), mostSentTips-1)]...)
}

// besides is what machines have sent besides the thread's own commits, without one of them.
func (c *Code) besides(machine string) []CodeSent {
	return slices.DeleteFunc(slices.Clone(c.SentBeside), func(s CodeSent) bool { return s.Machine == machine })
}

// AllSent is what has been sent of a branch, the thread's own commits first.
func (c *Code) AllSent() (all []CodeSent) {
	if c == nil {
		return nil
	}
	if c.Sent != nil {
		all = append(all, *c.Sent)
	}
	return append(all, c.SentBeside...)
}

// NotCommittedOn returns what machines but one sent while they had files that were not committed.
func (c *Code) NotCommittedOn(but string) []CodeSent {
	return slices.DeleteFunc(c.AllSent(), func(sent CodeSent) bool { return sent.Machine == but || sent.Uncommitted == 0 })
}

// UncommittedElsewhere is W817 for each machine of NotCommittedOn.
func (t Thread) UncommittedElsewhere(but string) (all warnings.List) {
	for _, sent := range t.OwnedCode().NotCommittedOn(but) {
		all.Add(sent.NotCommitted(t.ID))
	}
	return all
}

// NotCommitted is W817 for the files that a machine had not committed when it sent commits of a thread.
func (sent CodeSent) NotCommitted(id ThreadID) warnings.Warning {
	return warnings.UncommittedElsewhere.New(fact.Of("threadId", id), fact.Of("machine", sent.Machine),
		fact.Of("count", sent.Uncommitted))
}

// IsCheckedOut reports whether there is a worktree, here or on another machine.
func (c *Code) IsCheckedOut() bool { return c.State == CodeReady || c.State == CodeElsewhere }

// NotSent is T802 for a thread whose code is on another machine, of which nothing is here.
func NotSent(t Thread) *codes.Error {
	if sent := t.OwnedCode().Sent; sent != nil {
		return NoCode(t.ID, "the commits that "+sent.Machine+" has sent are not here").
			WithHint("W816 says why, and what brings them").WithNext("leslie code " + string(t.ID))
	}
	return NoCode(t.ID, "its code is on "+t.OwnedCode().Machine+", which has sent nothing of it yet").
		WithHint("It comes when the thread is handed on, or with leslie publish there").WithNext("leslie code " + string(t.ID))
}

// MayBringCode returns why the worktree of a thread whose code is on another machine cannot be made here: T108 for one
// that somebody on a machine that is not here has claimed, since it goes on there. Errors: T101, T105, too.
func (s *State) MayBringCode(id ThreadID, here func(actor string) bool, stamp Stamp) error {
	t, err := s.Thread(string(id))
	if err != nil {
		return err
	}
	held := t.heldByOther(stamp)
	if held == nil || here(held.Holder) {
		return nil
	}
	e, look := codes.Of(s.claimed(t, held, stamp)), "leslie diff "+string(id)+" --code"
	return e.WithHint("It goes on where its holder works: " + look + " shows what came of it. " + e.Hint()).WithNext(look)
}

// RemovedElsewhere reports whether the worktree of code was removed on another machine, and not because it had landed:
// one can be made here as for code that another machine has.
func (c *Code) RemovedElsewhere() bool {
	r := c.Removed
	return c.State == CodeRemoved && c.Repo == "" && c.Machine != "" && r != nil && !r.Landed && !c.LandedAt(r.Tip)
}

// BringCode begins to make a branch and a worktree here for code that another machine has, or had until it removed its
// worktree. Errors: those of ChangeCode; T803 if another thread has the branch or the folder.
func (s *State) BringCode(id ThreadID, repo, worktree string, stamp Stamp) (Thread, error) {
	t, err := s.ownCode(string(id))
	if err == nil && !t.OwnedCode().RemovedElsewhere() {
		t, err = s.ownCode(string(id), CodeElsewhere)
	}
	if err != nil {
		return Thread{}, err
	}
	code := *t.OwnedCode()
	code.State, code.Repo, code.Made.Worktree, code.Removed = CodeMaking, repo, true, nil
	t.Worktree = worktree
	if err := s.give(&t, code); err != nil {
		return Thread{}, err
	}
	given := t.Code
	return s.ChangeCode(string(id), nil, stamp, func(t *Thread, _ *Code) { t.Code, t.Worktree = given, worktree })
}
