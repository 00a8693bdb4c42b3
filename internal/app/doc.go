// Package app is what leslie does, without a command line: one function a use
// case, called the same way by the command line, a terminal UI, a server or a
// test.
//
//	project, err := app.Open(dir, environment)            // T504
//	call := project.Call(ctx, caller, app.Request{})      // one use case, one Call
//	spawned, err := app.Spawn(call, app.SpawnRequest{Intent: "Design the API", Objective: "ship"})
//	call.Warnings()                                       // what the caller ought to know
//
// A use case takes a request and returns a result: structs with JSON tags, no
// flags, no text, no terminal, no environment variable. Errors are codes with
// facts; warnings are collected by the Call. What every operation has in common
// stands in one place each: settled reading (read.go), deadlines, claims and
// request ids (write.go), failures in a row (failures.go), batches (draft.go).
//
// A Project is safe for many goroutines. A Call belongs to one.
package app
