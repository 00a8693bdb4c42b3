// Package threads has the use cases about threads: objectives, spawn, claim, lifecycle, list,
// status, context, messages, comments, waiting.
package threads
