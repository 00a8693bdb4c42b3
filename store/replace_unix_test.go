//go:build !windows

package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/storetest"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

func TestNothingIsWrittenThroughWhatIsNoFile(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		plant  func(t *testing.T, s *store.Store, outside string)
		path   string
		beside string
	}{
		{"a link to a file", func(t *testing.T, s *store.Store, outside string) {
			require.NoError(t, os.Symlink(filepath.Join(outside, "plan.md"), s.Path(teststore.InThread+"plan.md")))
		}, "plan.md", "plan.md" + mark},
		{"a link to a file of another thread", func(t *testing.T, s *store.Store, _ string) {
			require.NoError(t, os.Symlink("../other/plan.md", s.Path(teststore.InThread+"plan.md")))
		}, "plan.md", "plan.md" + mark},
		{"a link in place of its folder", func(t *testing.T, s *store.Store, outside string) {
			require.NoError(t, os.Symlink(outside, s.Path(teststore.InThread+"design")))
		}, "design/plan.md", "design" + mark + "/plan.md"},
		{"a link to another thread in place of its folder", func(t *testing.T, s *store.Store, _ string) {
			require.NoError(t, os.Symlink("../other", s.Path(teststore.InThread+"design")))
		}, "design/plan.md", "design" + mark + "/plan.md"},
		{"a pipe", func(t *testing.T, s *store.Store, _ string) { mkfifo(t, s.Path(teststore.InThread+"plan.md")) }, "plan.md", "plan.md" + mark},
	}
	for _, c := range cases {
		for _, to := range []string{"new", ""} {
			t.Run(fmt.Sprintf("%s, to become %q", c.name, to), func(t *testing.T) {
				t.Parallel()
				s := teststore.ExchangeStore(t)
				outside := t.TempDir()
				require.NoError(t, os.WriteFile(filepath.Join(outside, "plan.md"), []byte("old"), 0o644))
				require.NoError(t, os.MkdirAll(s.Path("threads/other"), 0o755))
				teststore.Put(t, s, "threads/other/plan.md", []byte("old"))
				c.plant(t, s, outside)
				_, err := exchanging(s.Root(), teststore.OptionsOf(s), "obj-new", exchanged{c.path, "old", to})
				require.NoError(t, err)
				for _, file := range []string{filepath.Join(outside, "plan.md"), s.Path("threads/other/plan.md")} {
					got, err := os.ReadFile(file)
					require.NoError(t, err, "what a link leads to stays")
					assert.Equal(t, "old", string(got))
				}
				entries, err := os.ReadDir(outside)
				require.NoError(t, err)
				assert.Len(t, entries, 1)
				if to != "" {
					assert.Equal(t, "new", string(teststore.Read(t, s, teststore.InThread+c.beside)))
				}
				assert.Empty(t, kept(t, s), "nothing was displaced")
				teststore.Add(t, s, "obj-next")
				teststore.RequireTidy(t, s)
			})
		}
	}
}

func TestAnExchangedFileHasOneName(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	teststore.Save(t, s, map[string]string{"plan.md": "old"})
	_, err := exchanging(s.Root(), teststore.OptionsOf(s), "obj-new", exchanged{"plan.md", "old", "new"})
	require.NoError(t, err)
	info, err := os.Stat(s.Path(teststore.InThread + "plan.md"))
	require.NoError(t, err)
	assert.EqualValues(t, 1, info.Sys().(*syscall.Stat_t).Nlink, "no stray write through a second name")
}

func TestUnmovedNamesWhatIsNotAsPlanned(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	teststore.Save(t, s, map[string]string{"same.md": "same", "changed.md": "now", "made.md": "now", "folder/x": "x", "real/y.md": "y"})
	require.NoError(t, os.Symlink("same.md", s.Path(teststore.InThread+"link.md")))
	require.NoError(t, os.Symlink("real", s.Path(teststore.InThread+"way")))
	mkfifo(t, s.Path(teststore.InThread+"pipe"))
	moved, err := s.Unmoved("thread-old", map[string]thread.BlobID{
		"same.md": storetest.Sum("same"), "none.md": "", "no/way.md": "",
		"real": "", "same.md/x": "", // another step may make way there
		"changed.md": storetest.Sum("then"), "made.md": "", "gone.md": storetest.Sum("x"), "folder": storetest.Sum("x"), "link.md": storetest.Sum("same"), "way/y.md": storetest.Sum("y"), "pipe": "",
	})
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"changed.md", "made.md", "gone.md", "folder", "link.md", "way/y.md", "pipe"}, moved)

	moved, err = s.Unmoved("no-folder", map[string]thread.BlobID{"a": "", "b": storetest.Sum("b")})
	require.NoError(t, err)
	assert.Equal(t, []string{"b"}, moved)
	_, err = s.Unmoved("../thread-old", nil)
	teststore.RequireCode(t, codes.UnsafePath, err)
	require.NoError(t, os.Symlink("thread-old", s.Path("threads/linked")))
	_, err = s.Unmoved("linked", map[string]thread.BlobID{"same.md": storetest.Sum("same")})
	teststore.RequireCode(t, codes.UnsafePath, err)
}

func TestArtifactsAreReadAsTheyAre(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	teststore.Save(t, s, map[string]string{"plan.md": "a\r\nplan", "design/api.md": "api", "real/x": "x"})
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o644))
	require.NoError(t, os.Symlink(outside, s.Path(teststore.InThread+"out")))
	require.NoError(t, os.Symlink("plan.md", s.Path(teststore.InThread+"within")))
	require.NoError(t, os.Symlink("real", s.Path(teststore.InThread+"way")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), s.Path(teststore.InThread+"away")))
	require.NoError(t, os.Symlink("thread-old", s.Path("threads/linked")))
	mkfifo(t, s.Path(teststore.InThread+"pipe"))
	teststore.Put(t, s, teststore.InThread+"big", nil)
	require.NoError(t, os.Truncate(s.Path(teststore.InThread+"big"), store.MaxFile+1))

	for name, want := range map[string]string{"plan.md": "a\r\nplan", "design/api.md": "api"} {
		got, err := s.ReadArtifact("thread-old", name)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	cases := []struct {
		id, path string
		code     codes.Code
		missing  bool
	}{
		{"thread-old", "none.md", codes.ReadFailed, true},
		{"thread-old", "no/ne.md", codes.ReadFailed, true},
		{"nobody", "plan.md", codes.TargetCorrupted, true},
		{"thread-old", "design", codes.ReadFailed, false},
		{"thread-old", "pipe", codes.ReadFailed, false},
		{"thread-old", "plan.md/x", codes.ReadFailed, false},
		{"thread-old", "big", codes.TooLarge, false},
		{"thread-old", "../thread-old/plan.md", codes.UnsafePath, false},
		{"thread-old", "/etc/passwd", codes.UnsafePath, false},
		{"thread-old", "", codes.UnsafePath, false},
		{"thread-old", "out", codes.UnsafePath, false},
		{"thread-old", "within", codes.UnsafePath, false},
		{"thread-old", "way/x", codes.UnsafePath, false},
		{"thread-old", "away/secret", codes.UnsafePath, false},
		{"linked", "plan.md", codes.UnsafePath, false},
		{"../thread-old", "plan.md", codes.UnsafePath, false},
	}
	for _, c := range cases {
		got, err := s.ReadArtifact(thread.ThreadID(c.id), c.path)
		assert.Empty(t, got, "%s %s", c.id, c.path)
		teststore.RequireCode(t, c.code, err)
		assert.Equal(t, c.missing, errors.Is(err, fs.ErrNotExist), "%s %s: %v", c.id, c.path, err)
	}
}

func mkfifo(t testing.TB, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o644))
}
