// Package history shows the operations of a project, its log and its figures, and takes
// operations back: undo, redo, rollback.
package history
