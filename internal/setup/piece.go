package setup

// State says how a piece stands in a file.
type State string

// The states of a piece. Edited: somebody changed it, or put something of their own in its
// place; it is theirs and stays as it is.
const (
	Missing   State = "missing"
	Installed State = "installed"
	Outdated  State = "outdated"
	Edited    State = "edited"
)

// Base is the folder to which the path of a piece is relative.
type Base int

// The bases. The folders of agents in the user's home may be elsewhere, as the agent's own
// variable says.
const (
	Project    Base = iota // the project's folder
	Git                    // the folder with the repository's own configuration
	Home                   // the user's home folder
	ClaudeHome             // ~/.claude
	CodexHome              // ~/.codex
	KimiHome               // ~/.kimi-code
	ConfigHome             // ~/.config
)

// Piece is one thing that leslie adds to one file.
type Piece struct {
	// Name says what it is: "skill leslie-thread", "hook SessionStart", "tools".
	Name string
	Base Base
	// Path of the file in the base, with '/'. Or is another name of it, which is used if
	// there is such a file.
	Path, Or string
	// Only says that the piece is put only where another file of the project is.
	Only string

	form form
}

// form is how a piece is in a text; nil stands for no file. The three methods return a
// *Broken for a text that they cannot change.
type form interface {
	look(text []byte) (State, error)
	install(text []byte) ([]byte, error)
	remove(text []byte) ([]byte, error)
}

// Broken says why a text cannot be changed.
type Broken struct{ Reason string }

// Error implements error.
func (b *Broken) Error() string { return b.Reason }

// Look says how the piece stands in a text, nil for no file.
func (p Piece) Look(text []byte) (State, error) { return p.form.look(text) }

// Install returns the text with the piece. What somebody edited stays as it is.
func (p Piece) Install(text []byte) ([]byte, error) {
	state, err := p.form.look(text)
	switch {
	case err != nil:
		return nil, err
	case state == Outdated:
		if text, err = p.form.remove(text); err != nil {
			return nil, err
		}
		return p.form.install(text)
	case state == Missing:
		return p.form.install(text)
	}
	return text, nil
}

// Remove returns the text without the piece, nil if nothing is left of a file that leslie
// made. What somebody edited stays as it is.
func (p Piece) Remove(text []byte) ([]byte, error) {
	state, err := p.form.look(text)
	if err != nil || state == Missing || state == Edited {
		return text, err
	}
	return p.form.remove(text)
}
