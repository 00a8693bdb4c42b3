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
package setup
