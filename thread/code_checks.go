package thread

import (
	"slices"
	"strings"
)

// This file keeps how the checks of code ended, so that a check runs once on a tree.

// KnownCheck returns how a check with this command last ended on a tree, in whichever
// thread that was.
func (s *State) KnownCheck(check, command, tree string) (newest CodeEvidence, ok bool) {
	for _, t := range s.ThreadsWithCode() {
		code := t.OwnedCode()
		for _, e := range slices.Concat(code.Checks, code.Evidence) {
			if e.Check == check && e.Command == command && e.Tree == tree && tree != "" && (!ok || e.At.After(newest.At)) {
				newest, ok = e, true
			}
		}
	}
	return newest, ok
}

// NoteChecks records how checks of a thread's code ended, in place of earlier results of the
// same check. A thread that is gone, or owns no code any more, is passed over, and so is
// what is known.
func (s *State) NoteChecks(id ThreadID, found ...CodeEvidence) {
	t, ok := s.Threads.Get(string(id))
	if !ok || t.OwnedCode() == nil {
		return
	}
	was := t
	t.Code = slices.Clone(t.Code)
	t.Code[0].Checks = t.Code[0].noted(found)
	if !same(was, t) {
		s.Threads.Put(t)
	}
}

// noted returns the results of checks with new ones.
func (c *Code) noted(found []CodeEvidence) []CodeEvidence {
	out := slices.Clone(c.Checks)
	for _, e := range found {
		i := slices.IndexFunc(out, func(old CodeEvidence) bool { return old.Check == e.Check && old.Begin == e.Begin })
		switch {
		case i < 0:
			out = append(out, e)
		case out[i].Command != e.Command || out[i].Tree != e.Tree || out[i].Exit != e.Exit || out[i].Reason != e.Reason || out[i].Tail != e.Tail:
			out[i] = e
		}
	}
	return out
}

// FailedChecks returns the results of the checks that failed when they last ran, and of
// those that fail where the branch begins and have not run since.
func (c *Code) FailedChecks() (out []CodeEvidence) {
	for _, name := range c.Accept {
		var last *CodeEvidence
		for i, e := range c.Checks {
			if e.Check == name && (last == nil || !e.Begin) {
				last = &c.Checks[i]
			}
		}
		if last != nil && last.Reason != "" {
			out = append(out, *last)
		}
	}
	return out
}

// FailsAtBegin returns the result of a check that fails where the branch begins, nil if it
// does not, or nobody knows.
func (c *Code) FailsAtBegin(check string) *CodeEvidence {
	for i, e := range c.Checks {
		if e.Begin && e.Check == check && e.Reason != "" {
			return &c.Checks[i]
		}
	}
	return nil
}

// shownLines is how many lines of an output a short answer has.
const shownLines = 5

// LastLines are the last lines of what the check printed.
func (e CodeEvidence) LastLines() []string {
	if strings.TrimSpace(e.Tail) == "" {
		return nil
	}
	lines := strings.Split(strings.TrimRight(e.Tail, "\r\n\t "), "\n")
	return lines[max(0, len(lines)-shownLines):]
}
