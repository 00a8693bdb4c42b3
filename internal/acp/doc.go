// Package acp speaks the Agent Client Protocol, version 1, as its client: JSON-RPC 2.0,
// one message a line, over the standard streams of an agent.
//
// An agent may print anything. What is no message, or too long a line, is counted and
// passed over; kinds of updates and members that this package does not know are kept as
// they came. Requests that a client need not serve are refused with "method not found",
// because agents wait for an answer.
//
// What belongs here: the codec, and the requests of one session. Starting and ending a
// process, rules, and what is recorded belong to package runner.
package acp
