package git

import "os"

// hold opens the file: Windows has no lock that a started process inherits, so a git that
// outlives leslie there is not waited for.
func hold(path string) (*os.File, error) { return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644) }

func holdFolder(string) (*os.File, error) { return nil, nil }

func release(f *os.File) { _ = f.Close() }

func inherited(*os.File) []*os.File { return nil }
