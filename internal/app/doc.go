// Package app has what all of leslie's use cases share. The use cases are in the packages
// below it, without a command line: one function each, which the command line, a terminal
// UI, a server or a test calls in the same way.
//
//	project, err := app.Open(dir, environment)            // T504
//	call := project.Call(ctx, caller, app.Request{})      // one use case, one Call
//	spawned, err := threads.Spawn(call, threads.SpawnRequest{Intent: "Design the API", Objective: "ship"})
//	call.Warnings()                                       // warnings for the caller
//
// A use case takes a request and returns a result: structs with JSON tags, no flags,
// no text, no terminal, no environment variables. Errors are codes with facts; the
// Call collects warnings. What all operations share is implemented once: consistent
// reads (read.go), deadlines, claims and request ids (write.go), failures in a row
// (failures.go), batches (draft.go).
//
// A use case of one noun does not belong here, nor does what only one of the packages below
// needs; what no use case needs is in a package of its own beside app.
//
// A Project is safe for concurrent use by many goroutines. A Call belongs to one.
package app
