// Package runner starts a coding agent that speaks the Agent Client Protocol, opens a
// session with it, and ends it with everything that it started.
//
// What belongs here: the process, its streams and its session. What an agent is told,
// what it may do and what is recorded of it belong to package app.
package runner
