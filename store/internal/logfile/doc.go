// Package logfile appends to the log of a store, and reads it.
//
// The log is no part of what the store promises: lines are written without lock or
// fsync, and nothing else depends on them. Only rotation takes the store's lock, and is
// left for later if somebody holds it.
package logfile
