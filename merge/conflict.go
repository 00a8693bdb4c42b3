package merge

// Kind is what makes a path a conflict.
type Kind string

// The kinds of conflicts.
const (
	Content      Kind = "content"       // both sides changed the same lines
	AddAdd       Kind = "add/add"       // both added the path, differently
	ModifyDelete Kind = "modify/delete" // one changed what the other deleted
	Mode         Kind = "mode"          // the executable bit differs both ways
	Binary       Kind = "binary"        // a NUL in the first 8,000 bytes, or not UTF-8
	TooLarge     Kind = "too_large"     // over 8 MiB or 200,000 lines
	Path         Kind = "path"          // file against folder, or names equal but for case
)

// Role is which side of a conflict a text comes from.
type Role string

// The roles.
const (
	Ours   Role = "ours"
	Theirs Role = "theirs"
)

// Lines are a range of lines, 1-based and inclusive; the zero value is none.
type Lines struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// Side is one side of a conflict.
type Side struct {
	Role   Role   `json:"role"`
	Thread string `json:"threadId"`
	Lines  Lines  `json:"lines"`
	Text   string `json:"text"`
}

// Conflict is one decision that somebody owes. Its id is a hash of path, kind,
// base and sides, so that planning again keeps the decisions already taken.
type Conflict struct {
	ID    string `json:"conflictId"`
	Path  string `json:"path"`
	Kind  Kind   `json:"kind"`
	Base  Side   `json:"base"`
	Sides []Side `json:"sides"`
}
