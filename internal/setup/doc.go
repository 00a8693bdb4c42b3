// Package setup knows what leslie adds to the files of coding agents and of git, and puts
// it into the text of such a file or takes it out again. It opens no file.
//
// What belongs here: the table of pieces (agents.go), and one way for each sort of file:
// whole files and marked blocks (text.go), values in JSON with comments (json.go).
//
// Three things hold for every piece and every text that the package accepts:
//   - what was there stays, byte by byte, comments included;
//   - taking a piece out of a text into which it was just put gives that text again;
//   - putting it in twice is putting it in once.
//
// A text in which that is impossible is refused with a Broken error.
//
// # How agents are set up
//
// leslie setup (internal/app/projects/setup.go) reads all files first, then changes them one
// by one, and takes back what it wrote if one fails. Package setup has the pieces as a table
// and one way for each sort of file.
//
//   - Taking a piece out is putting it in backwards: of the texts without the piece, the one
//     counts into which putting it gives this text (value.remove, block.remove). So how a
//     piece is written tells what was there before (spaces in an object that was empty, lines
//     in a new file), and a fuzz target holds every piece to it.
//   - What is added to JSON counts only if the result says what it said before and the new
//     value; in TOML, whose text is not taken apart, the same is asked of two readings.
//   - A hook (cmd/leslie/internal/toolcmd/hook.go) has a call of its own that is given up
//     after two seconds, so nothing that it waits for can hold an agent up.
//   - git's merge driver is exempt from T808 only with exactly leslie's own command
//     (git.Repo.Driver).
package setup
