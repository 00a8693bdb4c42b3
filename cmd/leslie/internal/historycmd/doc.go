// Package historycmd has the commands about what was done: history, undo, redo, rollback,
// logs and stats.
package historycmd
