//go:build unix

package lab

// Command is one command of leslie, and how it is tried.
type Command struct {
	Name string // as help names it
	// Why says why it is not tried as others are.
	Why string

	// Weight is how often the random programs draw it, relative to the others.
	Weight int
	// May has the codes with which a drawn line may fail.
	May    string
	Many   bool // it may make several operations
	Reads  bool // it makes no operation
	Stream bool // it answers with JSON lines
	// NoRequest: it takes no request id, though it writes.
	NoRequest bool
	// NoBatch: it cannot be a line of a batch, though it writes.
	NoBatch bool
	// Only says on which projects it is drawn; on all if nothing is said.
	Only where
	// Draw returns a line; not ok: there is nothing to run it on.
	Draw func(*Drawer) (Line, bool)

	// Rows are its runs that are disturbed at every call of the system.
	Rows []Row
	// Git are those in which it starts git.
	Git []GitRow
}

// where is on which projects a command is drawn.
type where string

const (
	alone     where = "on one machine"
	connected where = "on several machines"
)

// Row is a command with the prepared store on which it is disturbed.
type Row struct {
	Name string
	// Argv is the command. {merge}, {ref} and {op} stand for the newest id of their kind.
	Argv string
	// Prepare changes the common store to what the command needs.
	Prepare func(*Fixture)
	// Empty: there is no store; the command creates it.
	Empty bool
	// Status and Code are the results of an undisturbed run.
	Status int
	Code   string
	// Damaged: readers warn, or fail, until the command has repaired the store.
	Damaged bool
	// Again: only the same command finishes what a kill interrupted, not any write.
	Again bool
	// OneByOne: the command changes several files outside the store, one after the other.
	// A kill leaves some of them changed, each as a whole.
	OneByOne bool
	// Keeps: a failure may leave a part of the work done, and reports that
	// (details.changed).
	Keeps bool
	// Unrecorded: the command answers even if it cannot write what it records. The
	// answer's revision and warnings say whether it was recorded.
	Unrecorded bool
	// AnswersFirst: what the command records, that its answer was read, it records only
	// once the answer is written. If that fails, the answer comes again.
	AnswersFirst bool
	// Idle: the command changes nothing.
	Idle bool
	// First is a command that records only what this one records first, as an operation
	// of its own. The store after that operation counts as before.
	First string
	// LeavesTemporary: a kill may leave temporary files with these prefixes outside the
	// store, which no later command removes.
	LeavesTemporary string
}

// GitRow is a command that starts git, in a prepared repository.
type GitRow struct {
	Name, Argv string
	Prepare    func(*Fixture)
	// Already are the codes with which the same command may answer once it has done its work.
	Already string
	// KeepsRescue: a kill may leave the ref that keeps the work which the command brings back.
	KeepsRescue bool
	// Again is what goes on with a killed command; nil: the same command.
	Again func(*Project) []string
}

// What most commands may fail with: they name a thread that may not exist any more, or may be
// completed or over the mistake limit.
const (
	gone    = "T101 "
	shut    = "T107 "
	limited = "T103 "
	thread  = gone + shut + limited
)

// Why a command is not tried as others are.
const (
	inGit     = "it is not drawn, because it works in a git repository"
	ofUser    = "it is about the user's own configuration, not the store"
	ofServers = "it is how a copy begins or ends: package store fails each of its steps, and faults calls it"
	ofAgents  = "it starts an agent, or is about one: torture kills run, its scripts kill both"
	others    = "what it does are other commands"
	noStore   = "it needs no store"
)

// Rows returns all rows of the table.
func Rows() (out []Row) {
	for _, c := range Commands() {
		out = append(out, c.Rows...)
	}
	return out
}

// GitRows returns all rows of commands that start git.
func GitRows() (out []GitRow) {
	for _, c := range Commands() {
		out = append(out, c.Git...)
	}
	return out
}

// Drawn returns the commands that are drawn on one machine, or on several.
func Drawn(machines bool) (out []Command) {
	not := connected
	if machines {
		not = alone
	}
	for _, c := range Commands() {
		if c.Draw != nil && c.Only != not {
			out = append(out, c)
		}
	}
	return out
}
