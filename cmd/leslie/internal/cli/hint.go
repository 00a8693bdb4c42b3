package cli

// This file says how the block in AGENTS.md shows a command; package guide writes it.

// Topic is a heading of the block.
type Topic string

// The topics, in the order of an agent's work.
const (
	Starting  Topic = "Start"
	Sharing   Topic = "Share"
	Asking    Topic = "Ask a person"
	StepIn    Topic = "Steer another thread"
	Watching  Topic = "Wait and watch"
	Bringing  Topic = "Merge"
	GoingBack Topic = "Go back"
	Ending    Topic = "Finish"
)

// Topics are the headings of the block, in its order.
func Topics() []Topic {
	return []Topic{Starting, Sharing, Asking, StepIn, Watching, Bringing, GoingBack, Ending}
}

// Hint is how the block shows a command.
type Hint struct {
	When Topic
	Line string // an example behind "leslie", with words in capitals to fill in
}
