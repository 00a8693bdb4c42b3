package page

import (
	"strconv"

	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/thread"
)

// ChangesText says how much a thread changed in its code: "2 commits, 3 files +40 -2, 1 file not
// committed, not landed". It is nil for what is not known: "".
func ChangesText(a *app.CodeAmount) string {
	if a == nil {
		return ""
	}
	var text string
	switch {
	case a.Commits > 0 && a.Landed && a.Files == 0: // as another commit, a squash
		text = fact.Plural(a.Commits, "commit")
	case a.Commits > 0:
		text = fact.Plural(a.Commits, "commit") + ", " + SizeText(a.Files, a.Added, a.Removed)
	case a.Landed && a.Files > 0: // git no longer has the commits
		text = SizeText(a.Files, a.Added, a.Removed) + ", landed"
	case a.Landed:
		text = "landed"
	default:
		text = "no commit yet"
	}
	if a.Uncommitted > 0 {
		text += ", " + fact.Plural(a.Uncommitted, "file") + " not committed"
	}
	if a.Astray > 0 {
		text += ", " + fact.Plural(a.Astray, "commit") + " in its worktree that its branch lacks"
	}
	switch {
	case a.Commits > 0 && a.Landed:
		text += ", landed"
	case a.Commits > 0:
		text += ", not landed"
	}
	return text
}

// SizeText is a number of files and of their lines: "3 files +40 -2".
func SizeText(files, added, removed int) string {
	return fact.Plural(files, "file") + " +" + strconv.Itoa(added) + " -" + strconv.Itoa(removed)
}

// LeftLabel is what LeftText stands behind.
func LeftLabel(l app.CodeLeft) string {
	if l.Beside != "" {
		return "here"
	}
	return "only here"
}

// LeavingText says that this machine began to leave the project, and has not ended that, of a thread that it released.
func LeavingText(id thread.ThreadID) string {
	return string(id) + " was released when leslie remote leave began here, which has not ended: leslie remote leave ends it, leslie claim " +
		string(id) + " takes it back"
}

// UnfinishedCopyText says which line finishes what put a copy aside.
func UnfinishedCopyText(k app.KeptCopy) string {
	return k.FinishLine() + " has not ended, or was killed, and keeps a copy in " + k.Path + ": the same line again finishes it"
}

// LaterText says what came of a thread from another machine that did not land with it, and what brings it.
func LaterText(l app.CodeLater) string {
	return fact.Plural(l.Commits, "commit") + " from " + l.Machine + " did not land with it (git merge " + l.Ref + ", on " + l.Onto + ")"
}

// LeftText says what is left on this machine of code that is on another one, and how it is handed on:
// "1 commit on leslie/health and 2 files not committed in DIR, which vm-1 does not have (commit there,
// then leslie publish health)". worktree is l's, as the reader is to see it.
func LeftText(l app.CodeLeft, worktree string) string {
	if l.Astray > 0 {
		n, at := fact.Plural(l.Astray, "commit"), l.AstrayTip[:12]
		text := n + " up to " + at + " in " + worktree + ", which no branch has (git branch NAME " + at + ")"
		if l.Commits+l.Files == 0 {
			return text
		}
		l.Astray = 0
		return LeftText(l, worktree) + "; " + text
	}
	commits := fact.Plural(l.Commits, "commit") + " on " + l.Branch
	files := fact.Plural(l.Files, "file") + " not committed in " + worktree
	publish := "leslie publish " + string(l.ThreadID)
	beside := "there: leslie status " + string(l.ThreadID) + ", then git merge " + l.Beside + " in its worktree"
	text, hand := commits, publish
	switch {
	case l.Files > 0 && l.Commits > 0:
		text += " and " + files
	case l.Files > 0:
		text = files
	}
	if l.Stays {
		hand = "git push origin " + l.Branch + "; code.travel is off"
	}
	if l.LandedOn != "" {
		hand = "git merge " + l.Branch + ", on " + l.LandedOn
	}
	if l.Files > 0 {
		hand = "commit there, then " + hand
	}
	switch {
	case l.LandedOn != "" && l.Unpulled:
		return text + ", and whether it landed shows once " + l.LandedOn + " here has the landing (git pull, once it is pushed)"
	case l.LandedOn != "":
		return text + ", which did not land (" + hand + ")"
	case l.Beside != "" && l.Files == 0:
		return commits + ", which " + l.Machine + " has beside its branch (" + beside + ")"
	case l.Beside != "":
		return commits + ", which " + l.Machine + " has beside its branch, and " + files +
			" (commit there, then " + publish + "; " + beside + ")"
	case l.Files > 0 && l.Commits == 0 && l.Free:
		hand = "leslie code setup " + string(l.ThreadID) + " makes it the thread's, then commit there"
	case l.Machine == "":
		return text + ", which no other machine has (" + hand + ")"
	}
	return text + ", which " + l.Machine + " does not have (" + hand + ")"
}
