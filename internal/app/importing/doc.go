// Package importing reads what other programs keep, in leslie's own terms: a store of
// the Node edition (1.x), the issues of beads (JSON Lines), and leslie's own exports.
//
// What belongs here: the formats, how their fields become records, and what is said
// about that which has no place in a record. The package reads from an fs.FS or an
// io.Reader and writes nothing. Input comes from strangers: whatever is wrong with it is
// an error with a code, and nothing is guessed.
package importing
