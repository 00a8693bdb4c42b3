package thread

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file has the records of code in git: what a thread owns, and how a merge lands
// it. A thread's branch and the folder of its worktree are Thread.Branch and
// Thread.Worktree; they stand nowhere else.

// Code is the code that a thread owns: a branch of a git repository, with a worktree.
// A thread has one at most in this version; later there will be one for each repository.
type Code struct {
	State CodeState `json:"state"`
	// Repo is the repository's own folder (its common folder) and Admin the worktree's
	// folder in it, both absolute. They are compared with what is there, so that nobody
	// can put another repository in their place.
	Repo  string `json:"repo"`
	Admin string `json:"admin,omitempty"`
	// Target is the full name of the ref from which the branch started ("refs/heads/main"),
	// "" if it was a commit. Start is the commit.
	Target string `json:"target,omitempty"`
	Start  string `json:"start"`
	// Base is the base of later merges if it is not git's: the branch began with work that
	// its target had not committed, or a landing of it was reverted. nil for git's.
	Base *CodeBase `json:"base,omitempty"`
	// Slot is a small number that no other living worktree of the project has, from 1.
	Slot int `json:"slot,omitempty"`
	// Made says what leslie made, and may therefore remove.
	Made CodeMade `json:"made"`
	// ForAgents: a person has handed the thread to agents although leslie did not make its
	// worktree. See PersonsCheckout.
	ForAgents bool `json:"forAgents,omitempty"`
	// Call identifies the call that makes it, until it is made: the same call repeated
	// goes on with it.
	Call    string       `json:"call,omitempty"`
	Setup   *CodeSetup   `json:"setup,omitempty"`
	Removed *CodeRemoval `json:"removed,omitempty"`
	Landed  []CodeLanded `json:"landed,omitempty"`
	// Accept has the names of the checks that have to succeed before an agent completes
	// the thread; Evidence has how they ended when one did.
	Accept   []string       `json:"accept,omitempty"`
	Evidence []CodeEvidence `json:"evidence,omitempty"`
	// Checks has how each check ended where the branch begins, and when it last ran.
	Checks []CodeEvidence `json:"checks,omitempty"`
	// Left says what was not committed when the thread was completed, nil for nothing.
	Left *CodeLeft `json:"left,omitempty"`
	// Overlaps has the threads whose code conflicts with this one's.
	Overlaps []Overlap `json:"overlaps,omitempty"`
	// Rolling is set while the work in the worktree is exchanged, Rolled says what the last
	// rollback exchanged.
	Rolling *CodeRolled `json:"rolling,omitempty"`
	Rolled  *CodeRolled `json:"rolled,omitempty"`
	// Machine, in a project on several machines, is the one with the worktree, "" in others. Repo,
	// Admin, Slot and Thread.Worktree are folders there.
	Machine string `json:"machine,omitempty"`
	// Sent is what of the branch has gone to the others last, nil for nothing.
	Sent *CodeSent `json:"sent,omitempty"`
	// SentBeside is what machines without the worktree have sent of commits that their branches had.
	SentBeside []CodeSent `json:"sentBeside,omitempty"`

	Unknown Unknown `json:"-"`
}

// CodeState says how far a thread's worktree is.
type CodeState string

// The states. A worktree is being made until git has made it, and being removed until
// what it had is kept and it is gone. A lost one is not where it was. In a rolling one a
// rollback, or its undo, exchanges the work. One that is elsewhere is on another machine; that is
// recorded nowhere, see State.On.
const (
	CodeMaking   CodeState = "making"
	CodeReady    CodeState = "ready"
	CodeRemoving CodeState = "removing"
	CodeRemoved  CodeState = "removed"
	CodeLost     CodeState = "lost"
	CodeRolling  CodeState = "rolling"

	CodeElsewhere CodeState = "elsewhere"
)

// CodeBase is a recorded base of later merges into Target (the full name of a ref): Commit
// takes the place of the merge base that git finds, as long as that is MergeBase.
type CodeBase struct {
	MergeBase string `json:"mergeBase"`
	Commit    string `json:"commit"`
	Target    string `json:"target"`
	// Inherited: Commit has what the target had not committed when the branch was made.
	Inherited bool `json:"inherited,omitempty"`

	Unknown Unknown `json:"-"`
}

// CodeMade says what leslie made for a thread.
type CodeMade struct {
	Branch   bool `json:"branch,omitempty"`
	Worktree bool `json:"worktree,omitempty"`

	Unknown Unknown `json:"-"`
}

// CodeSetup says when the setup of a worktree last ran and how it ended.
type CodeSetup struct {
	At     time.Time `json:"at"`
	Exit   int       `json:"exit"` // its exit status; -1 if it was ended
	Output string    `json:"output,omitempty"`

	Unknown Unknown `json:"-"`
}

// CodeRemoval says what a removed worktree had.
type CodeRemoval struct {
	At time.Time `json:"at"`
	// Tip was the branch's commit; Rescue is the commit with what was not committed, ""
	// for nothing.
	Tip    string `json:"tip"`
	Rescue string `json:"rescue,omitempty"`
	// Ref keeps the commits.
	Ref string `json:"ref,omitempty"`
	// Landed: what the branch had was elsewhere, so that it was deleted with the worktree.
	Landed bool `json:"landed,omitempty"`

	Unknown Unknown `json:"-"`
}

// CodeLanded says that the code was merged into another thread's branch, or landed on a branch
// of no thread.
type CodeLanded struct {
	Into   ThreadID  `json:"into,omitempty"`   // "" for a branch of no thread:
	Onto   string    `json:"onto,omitempty"`   // its name
	Tip    string    `json:"tip"`              // of the thread's branch then
	From   string    `json:"from,omitempty"`   // the commit on which it landed
	Commit string    `json:"commit"`           // of the merge, or the last one
	How    string    `json:"how"`              // LandedMerge, LandedSquash or LandedRebase
	Pulled bool      `json:"pulled,omitempty"` // by a thread below this one, or one that depends on it
	At     time.Time `json:"at"`

	Unknown Unknown `json:"-"`
}

// Place is what it landed in: a thread, or a branch of none.
func (l CodeLanded) Place() string { return cmp.Or(string(l.Into), l.Onto) }

// How code was merged: with its commits, as one commit, or as a copy of each.
const (
	LandedMerge  = "merge"
	LandedSquash = "squash"
	LandedRebase = "rebase"
)

// BaseRef is the ref that keeps a base of later merges of a thread's code: 0 is what its
// branch began with, n the base of its nth landing.
func BaseRef(id ThreadID, n int) string {
	return "refs/leslie/base/" + string(id) + "/" + strconv.Itoa(n)
}

// CodeEvidence says how a check of the code ended.
type CodeEvidence struct {
	Check   string `json:"check"`
	Command string `json:"command,omitempty"` // "" in records of earlier versions
	// Begin: it ran where the branch begins.
	Begin bool `json:"begin,omitempty"`
	// Tree is git's id of what was checked, uncommitted files included; "" if that changed
	// while the check ran.
	Tree string `json:"tree,omitempty"`
	Exit int    `json:"exit"` // its exit status
	// Reason says why it did not succeed, "" if it did.
	Reason string    `json:"reason,omitempty"`
	Tail   string    `json:"tail,omitempty"` // the end of its output
	At     time.Time `json:"at"`

	Unknown Unknown `json:"-"`
}

// CodeLeft says that a thread was completed although its branch has not all of its work.
type CodeLeft struct {
	Uncommitted int  `json:"uncommitted,omitempty"` // how many files or folders
	NoCommits   bool `json:"noCommits,omitempty"`   // the branch is where it began

	Unknown Unknown `json:"-"`
}

// Unaccepted returns the checks that have to succeed before somebody completes a thread:
// none for a person, nor if it is completed.
func (t Thread) Unaccepted(stamp Stamp) []string {
	code := t.OwnedCode()
	if to, ok := t.Status.After(Done); code == nil || !ok || to == t.Status || stamp.ByPerson() {
		return nil
	}
	return code.Accept
}

// OwnedCode returns the code that a thread owns, nil for none.
func (t Thread) OwnedCode() *Code {
	if len(t.Code) == 0 {
		return nil
	}
	return &t.Code[0]
}

// PersonsCheckout reports whether a thread's worktree is one that leslie did not make, so that
// a person works there: no agent is offered the thread, or started there, unless somebody
// names it, or a person has handed it to agents.
func (t Thread) PersonsCheckout() bool {
	code := t.OwnedCode()
	return t.Executor == ByAgent && code != nil && code.State == CodeReady && !code.Made.Worktree && !code.ForAgents
}

// Spent reports whether a removed worktree kept nothing that is not merged: its branch has
// landed or never had a commit of its own, and nothing was uncommitted.
func (c *Code) Spent() bool {
	r := c.Removed
	return c.State == CodeRemoved && r != nil && r.Rescue == "" && (r.Tip == c.Start || r.Landed || c.LandedAt(r.Tip))
}

// living reports whether its branch and folder are in use.
func (c *Code) living() bool { return c != nil && c.State != CodeRemoved }

// hasWorktree reports whether there is a worktree that leslie made, and has to remove.
func (c *Code) hasWorktree() bool {
	return c.living() && c.State != CodeLost && c.Made.Worktree
}

// ThreadsWithCode returns the threads that own code and are not archived, ordered as in
// a list. Where the code of one began at the branch of code that was removed since, its target is
// the branch in which that lands.
func (s *State) ThreadsWithCode() []Thread {
	all := s.owners()
	out := make([]Thread, len(all))
	for i, t := range all {
		out[i] = retargeted(t, all)
	}
	return out
}

// owners are the threads that own code, as they are recorded.
func (s *State) owners() []Thread {
	return inListOrder(s.Threads.where(`"code":[`, func(t Thread) bool { return t.OwnedCode() != nil }))
}

func retargeted(t Thread, owners []Thread) Thread {
	began, is := strings.CutPrefix(t.OwnedCode().Target, "refs/heads/")
	if !is {
		return t
	}
	if target := landsAfter(began, owners); target != "" && target != began && target != t.Branch {
		t.Code = slices.Clone(t.Code)
		t.Code[0].Target = "refs/heads/" + target
	}
	return t
}

// OwnCode returns a thread that owns code in one of some states; none means any. Errors:
// T101, T105, T802.
func (s *State) OwnCode(arg string, in ...CodeState) (Thread, error) {
	t, err := s.ownCode(arg, in...)
	if err != nil {
		return Thread{}, err
	}
	return retargeted(t, s.owners()), nil
}

// ownCode is OwnCode for the thread as it is recorded.
func (s *State) ownCode(arg string, in ...CodeState) (Thread, error) {
	t, err := s.Thread(arg)
	if err != nil {
		return Thread{}, err
	}
	code := t.OwnedCode()
	switch {
	case code == nil:
		return Thread{}, NoCode(t.ID, "it was spawned without --code")
	case len(in) == 0 || slices.Contains(in, code.State):
		return t, nil
	case code.State == CodeElsewhere:
		return Thread{}, NoCodeHere(t, "").WithHint("Do that there, or bring the code here with leslie code setup " + string(t.ID))
	}
	none := NoCode(t.ID, "its worktree is "+string(code.State)).With(fact.Of("state", code.State))
	if code.State == CodeRemoved {
		none = none.WithHint("leslie code restore " + string(t.ID) + " makes it again").WithNext("leslie code " + string(t.ID))
	}
	return Thread{}, none
}

// Unmade returns T802 for a thread whose code is still being made: nobody can work on it.
func (t Thread) Unmade() error {
	if code := t.OwnedCode(); code == nil || code.State != CodeMaking {
		return nil
	}
	return NoCode(t.ID, "its worktree is still being made").
		WithHint("Wait until the call that makes it has ended; if that was killed, leslie code setup "+string(t.ID)+" finishes it").
		WithNext("leslie code "+string(t.ID), "leslie list --ready")
}

// NoCode is T802.
func NoCode(id ThreadID, reason string) *codes.Error {
	return codes.NoCode.New(fact.Of("id", id), fact.Of("reason", reason), fact.Of("threadId", id))
}

// NoCodeHere is T802 for a thread whose worktree is on another machine, or was removed there; more, if it is not "", is
// what else keeps the caller from it.
func NoCodeHere(t Thread, more string) *codes.Error {
	code, is := t.OwnedCode(), "is"
	if code.State == CodeRemoved {
		is = "was removed"
	}
	return NoCode(t.ID, "its worktree "+is+" on "+code.Machine+more).With(fact.Of("state", code.State)).WithNext("leslie code " + string(t.ID))
}

// Words is the state as people read it: "checked out" where the worktree is ready to be worked in,
// because "ready" reads as ready to land.
func (s CodeState) Words() string {
	if s == CodeReady {
		return "checked out"
	}
	return string(s)
}

// Busy adds the thread to a T805 of its worktree.
func Busy(err error, id ThreadID) error {
	if e := codes.Of(err); e != nil && e.Code() == codes.WorktreeBusy {
		return e.With(fact.Of("threadId", id)).WithNext("leslie code " + string(id))
	}
	return err
}

// ChangeCode changes the code of a thread that is in one of some states; none means
// any. Errors: T101, T105, T802; T107 for an archived thread.
func (s *State) ChangeCode(arg string, in []CodeState, stamp Stamp, change func(*Thread, *Code)) (Thread, error) {
	t, err := s.ownCode(arg, in...)
	if err != nil {
		return Thread{}, err
	}
	if t.Status == Archived {
		return Thread{}, notWritable(t)
	}
	was := t
	t.Code = slices.Clone(t.Code) // the record of before stays as it is
	change(&t, &t.Code[0])
	if same(was, t) {
		return t, nil
	}
	t.Updated = stamp.Time
	return s.Threads.Put(t), nil
}

// give gives a new thread code with the smallest slot that is free. Errors: T803 if
// another thread has its branch or its folder.
func (s *State) give(t *Thread, code Code) error {
	taken := map[int]bool{}
	for _, o := range s.ThreadsWithCode() {
		c := o.OwnedCode()
		if o.ID == t.ID || !c.living() {
			continue
		}
		taken[c.Slot] = true
		switch {
		case o.Branch == t.Branch:
			return BranchTaken(t.Branch, "thread '"+string(o.ID)+"' has it")
		case o.Worktree == t.Worktree && t.Worktree != "":
			return FolderTaken(t.Worktree, "thread '"+string(o.ID)+"' has it")
		}
	}
	for code.Slot = 1; taken[code.Slot]; {
		code.Slot++
	}
	code.Machine = s.machine
	t.Code = []Code{code}
	return nil
}

// Rehome checks an edit of the branch or the folder of a thread that owns code, and
// applies what it means for the code. found is the worktree of the repository that the
// edit names, with its branch checked out, nil if it names none; then branch and folder
// are only recorded. Call it after Edit.
//
// Errors: T803 if leslie made what the thread has, and the edit names something else.
func (s *State) Rehome(was, t Thread, found *Code, stamp Stamp) (Thread, error) {
	own := was.OwnedCode()
	switch {
	case own == nil && found == nil, own != nil && t.Branch == was.Branch && t.Worktree == was.Worktree && (found == nil || found.Admin == own.Admin):
		return t, nil
	case own == nil:
		for _, o := range s.ThreadsWithCode() {
			if o.ID != t.ID && o.OwnedCode().living() && (o.Branch == t.Branch || o.Worktree == t.Worktree) {
				return t, nil // it stays the other's
			}
		}
		if err := s.give(&t, *found); err != nil {
			return Thread{}, err
		}
	case own.State != CodeReady && own.State != CodeLost:
		return Thread{}, FolderTaken(t.Worktree, "the worktree of thread '"+string(t.ID)+"' is "+string(own.State)).WithNext("leslie code " + string(t.ID))
	case found != nil && found.Admin == own.Admin: // it was moved, or its branch renamed
		t.Code = slices.Clone(t.Code)
		t.Code[0].State = CodeReady
		if t.Branch != was.Branch && !found.Made.Branch { // somebody else made it, and has to delete it
			t.Code[0].Made.Branch = false
		}
	case own.Made != CodeMade{}:
		return Thread{}, FolderTaken(t.Worktree, "thread '"+string(t.ID)+"' has the branch '"+was.Branch+"' in "+was.Worktree+", which leslie made").
			WithHint("If that worktree was moved, leslie code repair " + t.Worktree + " records where it is").WithNext("leslie code " + string(t.ID))
	case found == nil:
		t.Code = nil
	default:
		if err := s.give(&t, *found); err != nil {
			return Thread{}, err
		}
	}
	if same(was, t) {
		return t, nil
	}
	t.Updated = stamp.Time
	return s.Threads.Put(t), nil
}

// BranchTaken is T803 for a branch.
func BranchTaken(branch, reason string) *codes.Error {
	return codes.BranchTaken.New(fact.Of("what", "The branch '"+branch+"'"), fact.Of("reason", reason), fact.Of("branch", branch))
}

// FolderTaken is T803 for the folder of a worktree.
func FolderTaken(dir, reason string) *codes.Error {
	return codes.BranchTaken.New(fact.Of("what", "The folder "+dir), fact.Of("reason", reason), fact.Of("path", dir))
}

// codeBack refuses to undo what was done in the repository: it takes back only what is
// recorded.
func (v *inverting) codeBack(before, after, now json.RawMessage) (json.RawMessage, bool, error) {
	was, is := soleCode(before), soleCode(after)
	if !bytes.Equal(encode(was.Rolled), encode(is.Rolled)) { // whoever undoes it has exchanged the work
		return rolledBack(was, is, now)
	}
	if back, ok := landedBack(before, after, now); ok {
		return back, true, nil
	}
	if was.State == is.State && was.Made == is.Made || was.Made == is.Made && is.Made == (CodeMade{}) {
		if bytes.Equal(encode(was.Base), encode(is.Base)) { // it did not concern the base
			before = sameBase(before, now)
		}
		return keepOverlaps(before, now), bytes.Equal(sameBase(now, after), keepOverlaps(after, now)), nil
	}
	if is.State == CodeRemoved || is.State == CodeRemoving {
		return nil, false, v.codeConflict().WithHint("leslie code restore brings the worktree back, with what was not committed")
	}
	return nil, false, v.codeConflict()
}

// landedBack takes a landing out of a thread's code whose worktree was removed since, or
// brought back; ok is false if that is not all that happened. The landing must be the last one.
func landedBack(before, after, now json.RawMessage) (back json.RawMessage, ok bool) {
	was, is, at := listOf[Code](before), listOf[Code](after), listOf[Code](now)
	if len(was) == 0 || len(is) == 0 || len(at) == 0 || len(is[0].Landed) <= len(was[0].Landed) || !bytes.Equal(encode(is[0].Landed), encode(at[0].Landed)) {
		return nil, false
	}
	expected := is[0]
	expected.State, expected.Admin, expected.Removed, expected.Slot, expected.Base = at[0].State, at[0].Admin, at[0].Removed, at[0].Slot, at[0].Base
	if !bytes.Equal(encode(expected), encode(at[0])) {
		return nil, false
	}
	at[0].Landed = was[0].Landed
	if r := at[0].Removed; r != nil && r.Landed && !at[0].LandedAt(r.Tip) { // what was removed is nowhere else any more
		removed := *r
		removed.Landed = false
		at[0].Removed = &removed
	}
	if !bytes.Equal(encode(was[0].Base), encode(is[0].Base)) {
		at[0].Base = was[0].Base
	}
	return encode(at), true
}

// sameBase returns a thread's code with the recorded base of another version: whoever
// undoes a landing after a later one meets the base that the undo of that recorded.
func sameBase(code, of json.RawMessage) json.RawMessage {
	all := listOf[Code](code)
	if len(all) == 0 || Absent(of) {
		return code
	}
	all[0].Base = soleCode(of).Base
	return encode(all)
}

func soleCode(raw json.RawMessage) Code {
	if all := listOf[Code](raw); len(all) > 0 {
		return all[0]
	}
	return Code{}
}

func (v *inverting) codeConflict() *codes.Error {
	return v.conflict("it made a branch and a worktree, or removed them").
		WithHint("leslie drop "+string(v.op.ThreadID)+" throws the thread, its worktree and its branch away, and leslie code remove "+string(v.op.ThreadID)+" the worktree alone").
		WithNext("leslie drop "+string(v.op.ThreadID)+" --dry-run", "leslie history")
}

// TakeBackCode is Invert for the operation that began to make a thread's code, which
// failed. Anybody may, because nobody has got an answer. Errors: T110 if the thread was
// changed since.
func (s *State) TakeBackCode(op Operation, stamp Stamp) (Inversion, error) {
	return s.revert(&inverting{s: s.trial(), op: op, stamp: stamp, failed: true})
}
