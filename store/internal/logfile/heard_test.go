package logfile

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhoHoldsAThreadIsHeardOfWithEachCall(t *testing.T) {
	t.Parallel()
	s := storeIn(t)
	at := time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)
	s.Hear("b", at)
	assert.Zero(t, s.HeardOf("b"), "it has claimed nothing")
	s.HearHolder("b", at)
	assert.Equal(t, at, s.HeardOf("b"))
	s.Hear("b", at.Add(time.Minute))
	assert.Equal(t, at.Add(time.Minute), s.HeardOf("b"))
	s.HearHolder("b", at)
	assert.Equal(t, at.Add(time.Minute), s.HeardOf("b"), "what another machine tells late takes nothing back")
	s.Hear("b", at.Add(time.Minute+time.Second/2))
	assert.Equal(t, at.Add(time.Minute), s.HeardOf("b"), "calls in a row are one")
	s.Hear("b", at)
	assert.Equal(t, at, s.HeardOf("b"), "a clock that was set back counts")
	assert.Zero(t, s.HeardOf("c"))
}

func TestHearingTouchesNothingButItsOwnFiles(t *testing.T) {
	t.Parallel()
	s := storeIn(t)
	at := time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)
	s.HearHolder("a", at)
	mine := s.disk.Path("../mine")
	require.NoError(t, os.WriteFile(mine, nil, 0o600))
	before, err := os.Stat(mine)
	require.NoError(t, err)
	if os.Symlink(mine, s.disk.Path(heardFile("b"))) != nil {
		t.Skip("no links here")
	}
	s.Hear("b", at)
	s.HearHolder("b", at)
	after, err := os.Stat(mine)
	require.NoError(t, err)
	assert.Equal(t, before.ModTime(), after.ModTime())
	assert.Zero(t, s.HeardOf("b"))
}

func TestWhoIsNotHeardOfForLongLeavesNoFile(t *testing.T) {
	t.Parallel()
	s := storeIn(t)
	at := time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)
	s.HearHolder("gone", at)
	s.HearHolder("works", at.Add(heardFor))
	s.HearHolder("new", at.Add(heardFor+2*24*time.Hour))
	assert.Zero(t, s.HeardOf("gone"))
	assert.NotZero(t, s.HeardOf("works"))
	assert.NotZero(t, s.HeardOf("new"))
}
