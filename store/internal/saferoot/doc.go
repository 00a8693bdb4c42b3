// Package saferoot opens, reads and changes files of the store's folder, in which
// strangers may have planted anything, and is the only place that changes the disk.
//
// # Opening
//
// A project can come from anybody, including its .leslie: with a link where the store
// expects a folder, or a pipe where it expects a file. Three rules protect against
// that:
//
//   - Everything in a subfolder is reached through an os.Root of the store's folder, so
//     no name and no link leads out, whatever is swapped while leslie works.
//   - The store's own folders and a thread's folder must be real folders: a link in
//     their place is refused (T507) even if it stays inside.
//   - A file is opened without waiting and compared with what was there before: only a
//     regular file is ever read, and a pipe swapped in does not block.
//
// .leslie itself may be a link: whoever works in the project put it there.
//
// # Changing
//
// Every call that changes the disk is one named step (Disk.Step), so that a test can
// make it fail or kill the process before it, and a reader of a trace can find it in
// the source. Disk has the steps for the files of the store's own folder, by their
// absolute paths; Root has those for subfolders, and makes them durable at once.
//
// # Errors
//
// An error of the operating system becomes a code that keeps it as its cause:
// errors.Is finds ENOSPC in a T505.
package saferoot
