package jetstream_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/ledger"
	"leslie/internal/ledger/ledgertest"
)

// flip changes one byte of what a server that does not run has stored: the first of a text.
func (n *node) flip(t *testing.T, text []byte) {
	t.Helper()
	flipped := false
	require.NoError(t, filepath.WalkDir(n.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || flipped || !strings.HasSuffix(path, ".blk") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if at := bytes.Index(data, text); at >= 0 {
			data[at] ^= 1
			flipped = true
			return os.WriteFile(path, data, 0o600)
		}
		return nil
	}))
	require.True(t, flipped, "no block has the text")
}

// What one server has damaged is nowhere else: whoever reads it is told so, and not that
// there is no log. The log is made anew from what a machine has, and its content stays.
func TestADamagedLineOfASingleServerIsDamageUntilTheLogIsMadeAnew(t *testing.T) {
	t.Parallel()
	n := startNode(t, nil)
	s := n.setup(t, "p")
	l := ledgertest.Created(t, s)
	lines := ledgertest.Lines(1, 5)
	for i := range lines {
		lines[i].Data = []byte(strings.Repeat(string(rune('a'+i)), 300))
	}
	ledgertest.Append(t, l, "", lines...)
	content := []byte(strings.Repeat("z", 500))
	require.NoError(t, l.PutBlob(ledgertest.Soon(t), ledgertest.Hash(content), content))
	n.stop()
	n.flip(t, lines[2].Data)
	n.start(t)

	// Lines in front of it can be read, and a new machine is told where it stops.
	reader := ledgertest.Opened(t, s, s.Reader)
	var seen []int64
	err := reader.After(ledgertest.Soon(t), 0, func(line ledger.Line) error {
		seen = append(seen, line.Seq)
		return nil
	})
	require.ErrorIs(t, err, ledger.ErrGap)
	require.NotErrorIs(t, err, ledger.ErrMissing, "there is a log")
	assert.ErrorContains(t, err, "line 3 of the log is damaged or missing")
	assert.Equal(t, []int64{1, 2}, seen)
	ledgertest.Same(t, lines[3:], ledgertest.Read(t, reader, 3))

	// Only an administrator makes it anew, and nobody appends from then on.
	require.ErrorIs(t, s.Engine.Discard(ledgertest.Soon(t), s.Writer), ledger.ErrDenied)
	_, err = s.Engine.Seal(ledgertest.Soon(t), s.Writer)
	require.ErrorIs(t, err, ledger.ErrDenied)
	late := ledgertest.Lines(6, 7)
	require.NoError(t, l.Append(ledgertest.Soon(t), lines[4].ID, late[0]))
	for range 2 {
		last, err := s.Engine.Seal(ledgertest.Soon(t), s.Admin)
		require.NoError(t, err)
		require.Equal(t, int64(6), last, "with what came before it was sealed")
		require.ErrorIs(t, l.Append(ledgertest.Soon(t), late[0].ID, late[1]), ledger.ErrSealed)
		require.ErrorIs(t, s.Engine.Create(ledgertest.Soon(t), s.Admin), ledger.ErrSealed, "it is there still")
	}
	ledgertest.Same(t, late[:1], ledgertest.Read(t, reader, 5))
	lines = append(lines, late[0])
	before, err := l.Head(ledgertest.Soon(t))
	require.NoError(t, err)
	require.NoError(t, s.Engine.Discard(ledgertest.Soon(t), s.Admin))
	require.NoError(t, s.Engine.Create(ledgertest.Soon(t), s.Admin))
	fresh := ledgertest.Opened(t, s, s.Writer)
	require.NoError(t, fresh.AppendAll(ledgertest.Soon(t), "", lines))
	after, err := l.Head(ledgertest.Soon(t))
	require.NoError(t, err)
	assert.NotEqual(t, before.Log, after.Log, "copies see that it is another log")
	ledgertest.Same(t, lines, ledgertest.Read(t, reader, 0))
	got, err := reader.GetBlob(ledgertest.Soon(t), ledgertest.Hash(content))
	require.NoError(t, err)
	assert.Equal(t, content, got)

	// Content is stored again in place of what is damaged.
	n.stop()
	n.flip(t, content)
	n.start(t)
	_, err = reader.GetBlob(ledgertest.Soon(t), ledgertest.Hash(content))
	require.ErrorIs(t, err, ledger.ErrGap)
	require.NoError(t, l.RenewBlob(ledgertest.Soon(t), ledgertest.Hash(content), content))
	got, err = reader.GetBlob(ledgertest.Soon(t), ledgertest.Hash(content))
	require.NoError(t, err)
	assert.Equal(t, content, got)

	// Server 2.15.2 forgets at its restart what is behind a damaged message in a file: it can
	// be stored again then, too.
	n.stop()
	n.start(t)
	require.NoError(t, l.RenewBlob(ledgertest.Soon(t), ledgertest.Hash(content), content))
	got, err = reader.GetBlob(ledgertest.Soon(t), ledgertest.Hash(content))
	require.NoError(t, err)
	assert.Equal(t, content, got)
}
