package store_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

// This file damages two files at once, in pairs drawn by a seed that it prints:
// LESLIE_DAMAGE_SEED=N draws the same again, LESLIE_DAMAGE_PAIRS=N draws so many.

func fromEnv(t testing.TB, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return n
}

// harm does one random damage to a file and says which.
func (b *bench) harm(t testing.TB, r *rand.Rand, name string) string {
	data := []byte(b.clean[name])
	i := r.IntN(len(data))
	switch r.IntN(7) {
	case 0:
		b.write(t, name, string(data[:i]))
		return fmt.Sprintf("%s cut at %d", name, i)
	case 1, 2:
		mask := byte(1 + r.IntN(255))
		data = bytes.Clone(data)
		data[i] ^= mask
		b.write(t, name, string(data))
		return fmt.Sprintf("%s: byte %d changed by %#x", name, i, mask)
	case 3:
		require.NoError(t, os.Remove(b.Path(name)))
		return name + " removed"
	case 4:
		b.write(t, name, "")
		return name + " emptied"
	case 5:
		require.NoError(t, os.Remove(b.Path(name)))
		require.NoError(t, os.MkdirAll(b.Path(name+"/inside"), 0o755))
		return name + " became a folder"
	}
	content, what := b.olderVersion(r, name)
	b.write(t, name, content)
	return name + what
}

// olderVersion is the file as it was at an earlier revision; of what never
// changes, another file's content.
func (b *bench) olderVersion(r *rand.Rand, name string) (content, what string) {
	if !slices.Contains(vital(), name) {
		other := b.deep[r.IntN(len(b.deep))]
		return b.clean[other], " became " + other
	}
	for {
		rev := r.IntN(len(b.past) - 1)
		if text, ok := b.past[rev].files[name]; ok {
			return text, fmt.Sprintf(" as at revision %d", rev)
		}
	}
}

// two are the files of a pair: those by which a store survives twice as often as
// the others together.
func (b *bench) two(r *rand.Rand) (one, other string) {
	draw := func() string {
		if r.IntN(3) < 2 {
			return vital()[r.IntN(len(vital()))]
		}
		return b.deep[r.IntN(len(b.deep))]
	}
	one = draw()
	for other = draw(); other == one; {
		other = draw()
	}
	return one, other
}

func TestTwoDamagesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seed := fromEnv(t, "LESLIE_DAMAGE_SEED", 1)
	usual := uint64(150)
	if testing.Short() {
		usual = 10
	}
	pairs := fromEnv(t, "LESLIE_DAMAGE_PAIRS", usual)
	const parts = 4
	counts := make([]tally, parts)
	t.Run("pairs", func(t *testing.T) {
		for part := range parts {
			counts[part] = tally{}
			t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
				t.Parallel()
				b := w.bench(t)
				for n := uint64(part); n < pairs; n += parts {
					counts[part][b.pair(t, seed, n)]++
				}
			})
		}
	})
	all := tally{}
	for _, count := range counts {
		all.add(count)
	}
	assert.Equal(t, int(pairs), all.sum())
	t.Log(all.row(fmt.Sprintf("two damages, seed %d", seed)))
}

// pair draws the n-th pair, and judges it by what was damaged.
func (b *bench) pair(t testing.TB, seed, n uint64) (kind string) {
	r := rand.New(rand.NewPCG(seed, n))
	one, other := b.two(r)
	b.what = fmt.Sprintf("pair %d of seed %d: %s; ", n, seed, b.harm(t, r, one))
	b.what += b.harm(t, r, other)
	harmed := []string{one, other}
	slices.Sort(harmed)
	got := b.judge(t)
	is := func(names ...string) bool { return slices.Equal(harmed, names) }
	switch {
	case got.kind == refused:
		require.True(t, is(store.StateFile, store.BackupFile), "only without state and backup nothing can be read")
	case got.kind == strange:
		require.Fail(t, "no two damages make it another program's")
	case got.revision < b.last():
		require.True(t, is(store.JournalFile, store.StateFile), "an operation that is in two places survives")
	}
	if got.kind == older {
		require.Equal(t, b.last()-1, got.revision, "what was read is the backup as well")
	}
	if got.archive != "" && got.archive != "nothing" {
		require.True(t, is(store.ArchiveFile, store.JournalFile), "an archived record that is in two places survives")
	}
	if got.kind == refused || got.kind == strange {
		b.restore(t)
		return got.kind
	}
	b.judgeBlobs(t, harmed)
	b.judgeRequest(t, got)
	b.restore(t)
	return got.kind
}

// judgeBlobs: what is given out is what was stored.
func (b *bench) judgeBlobs(t testing.TB, harmed []string) {
	t.Helper()
	for _, name := range b.deep {
		if !strings.HasPrefix(name, content.Sums+"/") {
			continue
		}
		data, err := b.Blob(thread.BlobID(path.Base(path.Dir(name)) + path.Base(name)))
		if err != nil {
			teststore.RequireCode(t, codes.ReadFailed, err)
			require.Contains(t, harmed, name)
			continue
		}
		require.Equal(t, b.clean[name], string(data))
	}
}

// judgeRequest: a request that the store remembers to have carried out is not
// carried out again.
func (b *bench) judgeRequest(t testing.TB, got outcome) {
	t.Helper()
	call := teststore.CallNamed("request")
	call.Request = "try/1"
	_, asked := b.past[got.revision].live["objectives/asked"]
	c, err := b.Update(context.Background(), call, under(objective("asked"), call))
	if err != nil {
		require.True(t, asked)
		teststore.RequireCode(t, codes.AlreadyExists, err)
		return
	}
	require.Equal(t, c.Changed, !asked)
	require.Equal(t, asked, teststore.HasWarning(c.Warnings, warnings.RequestReplayed))
}
