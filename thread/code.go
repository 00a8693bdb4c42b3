package thread

import "time"

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
	// Base is what the branch began with beyond Start; nil for nothing.
	Base *CodeBase `json:"base,omitempty"`
	// Slot is a small number that no other living worktree of the project has, from 1.
	Slot int `json:"slot,omitempty"`
	// Made says what leslie made, and may therefore remove.
	Made    CodeMade     `json:"made"`
	Setup   *CodeSetup   `json:"setup,omitempty"`
	Removed *CodeRemoval `json:"removed,omitempty"`
	Landed  []CodeLanded `json:"landed,omitempty"`

	Unknown Unknown `json:"-"`
}

// CodeState says how far a thread's worktree is.
type CodeState string

// The states. A worktree is being made until git has made it, and being removed until
// what it had is kept and it is gone. A lost one is not where it was.
const (
	CodeMaking   CodeState = "making"
	CodeReady    CodeState = "ready"
	CodeRemoving CodeState = "removing"
	CodeRemoved  CodeState = "removed"
	CodeLost     CodeState = "lost"
)

// CodeBase is a recorded base of later merges: it holds while the merge base that git
// finds is MergeBase.
type CodeBase struct {
	MergeBase string `json:"mergeBase"`
	Commit    string `json:"commit"`

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

	Unknown Unknown `json:"-"`
}

// CodeLanded says that the code was merged into another thread's branch.
type CodeLanded struct {
	Into   ThreadID  `json:"into"`
	Tip    string    `json:"tip"`    // of the thread's branch then
	Commit string    `json:"commit"` // of the merge
	How    string    `json:"how"`    // merge, squash
	At     time.Time `json:"at"`

	Unknown Unknown `json:"-"`
}

// OwnedCode returns the code that a thread owns, nil for none.
func (t Thread) OwnedCode() *Code {
	if len(t.Code) == 0 {
		return nil
	}
	return &t.Code[0]
}
