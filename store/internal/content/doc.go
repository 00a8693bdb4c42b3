// Package content stores content that is named by its hash.
//
// A blob is a file blobs/sha256/ab/cdef..., named by the SHA-256 of its bytes (the
// first two hexadecimal digits are a folder), read-only and written once. It gets its
// name by rename when its bytes are durable, so a named blob was whole once; every read
// verifies it against its name. A blob that does not match its name, through damage or
// because somebody changed it, is never returned, and is replaced when the same content
// is stored again: content that is about to be displaced must not rely on a blob that
// was not verified since it was written.
//
// A manifest is the list of a snapshot's files, stored as a blob.
//
// Only a Collection removes blobs: those that nothing names.
package content
