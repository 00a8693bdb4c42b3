// Package search finds words in texts: which texts have all of them, in which line, and
// how closely together.
//
// Letters that differ only in case are equal, in every script (simple case folding, as
// strings.EqualFold has it). Composed and decomposed characters differ, as they do in
// files. A word may contain blanks; it is then found where a line has it as it is.
//
// What belongs here: comparing bytes. Which texts a project has, and which of them come
// first, belongs to package app. There is no index: a text is read once, in pieces, and
// nothing of it is kept.
package search
