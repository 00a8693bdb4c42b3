package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store/replica"
)

// Another machine writes while a person restores a damaged log: what it was told stands is
// in the restored log, and what it was refused is not.
func TestNothingIsLostThatAnotherMachineAppendsDuringARestore(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "remote", "init", "memory://one")
	remote, err := replica.Read(b.Dir)
	require.NoError(t, err)
	other := newBench(t)
	other.Engine, other.ids = b.Engine, 1000
	other.must(t, "connect", "memory://one/"+remote.Project)

	b.memory().Damage(remote.Project, 1)
	statuses := map[string]int{}
	b.memory().Before = func(call, _ string) error {
		if _, been := statuses[call]; !been && (call == "seal" || call == "discard") {
			statuses[call] = -1
			statuses[call] = other.leslie("spawn", "--intent", "Made before "+call, "--id", call)
		}
		return nil
	}
	b.must(t, "remote", "restore")
	assert.Equal(t, map[string]int{"seal": 0, "discard": 15}, statuses)
	assert.Contains(t, other.err.String(), "code=T510")
	assert.Contains(t, other.err.String(), "the log is being made anew")

	third := newBench(t)
	third.Engine = b.Engine
	third.must(t, "connect", "memory://one/"+remote.Project)
	for _, one := range []*bench{b, other, third} {
		one.must(t, "list")
		assert.Contains(t, one.out.String(), "Made before seal", filepath.Base(one.Dir))
		assert.NotContains(t, one.out.String(), "Made before discard")
	}
	other.must(t, "spawn", "--intent", "Made later", "--id", "later")
}

// A restore that was killed after the sealing is finished by the same line.
func TestARestoreThatWasInterruptedGoesOn(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "remote", "init", "memory://one")
	remote, err := replica.Read(b.Dir)
	require.NoError(t, err)
	b.memory().Damage(remote.Project, 1)
	b.memory().Before = func(call, _ string) error {
		if call == "discard" {
			return assert.AnError
		}
		return nil
	}
	assert.NotZero(t, b.leslie("remote", "restore"))
	b.memory().Before = nil
	assert.Equal(t, 15, b.leslie("spawn", "--intent", "Not yet"))
	assert.Contains(t, b.err.String(), "leslie remote restore was interrupted")
	b.must(t, "remote", "status")
	b.must(t, "remote", "restore")
	b.must(t, "spawn", "--intent", "Again")
	b.must(t, "remote", "check")
}
