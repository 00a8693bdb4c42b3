package permit

// This file has the sets of rules that one word of the configuration stands for.

// Profile is the name of a set of rules: what agents may do without asking.
type Profile string

// The profiles, each with all that the one before it allows.
const (
	Careful Profile = "careful" // leslie, reading in its folder, edits
	Normal  Profile = "normal"  // commands that only read, git add and commit
	Open    Profile = "open"    // whatever names nothing outside of its worktree
)

// Profiles are all of them, the narrowest first.
func Profiles() []Profile { return []Profile{Careful, Normal, Open} }

// Allows returns the rules of a profile: those for every thread, and those for one in a
// worktree of its own. Artifacts and the project's folder are not among them, because
// they are elsewhere for each thread.
func (p Profile) Allows() (every, own []string) {
	every = []string{"Bash(leslie:*)", "Read(./**)"}
	own = []string{"Edit(./**)"}
	if p == Careful {
		return every, own
	}
	every = append(every, "Bash("+ReadOnly+")")
	own = append(own, "Bash(git add:*)", "Bash(git commit:*)", "Bash(git mv:*)", "Bash(git rm:*)")
	if p == Open {
		own = append(own, "Bash("+Inside+")")
	}
	return every, own
}
