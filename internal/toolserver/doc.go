// Package toolserver serves leslie's use cases to a model's client by the Model Context
// Protocol: tools, resources and prompts. It is a command line of another shape and has no
// rules of its own: a tool checks its arguments, makes a request of them, and calls one use
// case. Each call opens the project again and is a call of its own, with its own entry in
// the log, so that servers and command lines can work on one store at once.
//
// Who calls, and for which thread, is fixed when the server starts (Settings.Caller): no
// argument of a tool names it. It knows no environment, clock or stream of the process.
package toolserver
