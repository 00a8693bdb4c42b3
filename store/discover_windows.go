package store

import "io/fs"

// Windows has neither a device number nor an owner in a folder's information: every
// folder up to the drive is searched.

func trusted(fs.FileInfo) bool { return true }

func sameGround(string, string) bool { return true }
