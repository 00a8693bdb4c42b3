// Package codecmd has leslie code and its subcommands, about the branches and worktrees of
// threads.
package codecmd
