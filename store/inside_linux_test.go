package store

import "io/fs"

// Belongs is belongs, for tests from outside.
func Belongs(info fs.FileInfo, user int) bool { return belongs(info, user) }
