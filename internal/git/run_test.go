package git

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAFailureOfGitNamesItsCause(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]string{
		"git-lfs filter-process: 1: git-lfs: not found\nfatal: the remote end hung up unexpectedly\n":                  "the program git-lfs, which git's configuration names, is not installed",
		"git-lfs smudge -- 'x': line 1: git-lfs: command not found\nerror: external filter failed\n":                   "the program git-lfs, which git's configuration names, is not installed",
		"git-lfs clean -- 'x': 1: git-lfs: Permission denied\nerror: external filter 'git-lfs clean -- %f' failed 127": "the program git-lfs, which git's configuration names, is not installed, or may not be run",
		"Preparing worktree\nfatal: 'x' is already checked out\n":                                                      "'x' is already checked out",
		"fatal: path 'a: 1: $(b): not found\n":                                                                         "path 'a: 1: $(b): not found",
		"Error downloading object: x.bin (12): Smudge error\n\nerror: external filter 'git-lfs filter-process' failed": "git-lfs has no content of x.bin (12): Smudge error",
		"no prefix\nlast\n": "last",
	} {
		assert.Equal(t, want, lastLine(stderr), stderr)
	}
}
