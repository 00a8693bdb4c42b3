// Package threads has the use cases about objectives and threads: spawn, claim, hand over, the
// lifecycle, fields, lists, status and the morning's summary, context, messages, comments,
// checkpoints, what a thread may do, waiting. The rules are in leslie/thread. Branches and
// worktrees are in package code (a spawn and a done that have code call it), artifacts in package
// artifacts, agents at work in package runs.
package threads
