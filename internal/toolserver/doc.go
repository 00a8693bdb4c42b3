// Package toolserver serves leslie's use cases to a model's client by the Model Context
// Protocol: tools, resources and prompts. It is a command line of another shape and has no
// rules of its own: a tool checks its arguments, makes a request of them, and calls one use
// case. Each call opens the project again and is a call of its own, with its own entry in
// the log, so that servers and command lines can work on one store at once.
//
// Who calls is fixed when the server starts (Settings.Caller): no argument of a tool names it. It
// speaks for the thread that its client has claimed last. It knows no environment, clock or stream of the process.
//
// # How agents' clients call tools
//
// leslie mcp (cmd/leslie/internal/toolcmd/mcp.go) lends its streams to internal/toolserver. A
// call of a tool is a call of a use case like any other: it opens the project, has a Call of
// its own, and ends with Finish, so the log, W104 and the mistake limit see it.
//
//   - Who calls is fixed at the start, and always an agent (asAgent). Neither tool nor
//     argument approves, answers for a person, or names a command to run.
//   - Arguments are checked against one table (arguments.go), from which the schema is made.
//     All faults are one T903, with the arguments' names.
//   - A line that is no message is answered and passed over before the library sees it
//     (lines.go): the library would end the connection.
//   - Whatever waits ends when its request is cancelled, when the client closes its stream,
//     and when the process is told to end. Nothing else runs in the background but what tells
//     a client of changed resources (watch.go), from its first request for resources on.
package toolserver
