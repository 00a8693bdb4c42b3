package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func some() (job, []file) {
	return job{version: "v1.2.3", at: time.Unix(1_700_000_000, 0).UTC()}, []file{
		{name: "leslie", data: []byte("binary"), executable: true},
		{name: "man/man1/leslie.1", data: bytes.Repeat([]byte("page\n"), 1000)},
	}
}

func TestATarHasFixedTimesAndOwners(t *testing.T) {
	t.Parallel()
	j, files := some()
	archive, err := j.pack(target{"linux", "amd64"}, files)
	require.NoError(t, err)
	assert.Equal(t, "leslie-v1.2.3-linux-amd64.tar.gz", archive.name)
	zipped, err := gzip.NewReader(bytes.NewReader(archive.data))
	require.NoError(t, err)
	assert.True(t, zipped.ModTime.IsZero())
	assert.Empty(t, zipped.Name)
	in := tar.NewReader(zipped)
	for _, f := range files {
		header, err := in.Next()
		require.NoError(t, err)
		assert.Equal(t, "leslie-v1.2.3-linux-amd64/"+f.name, header.Name)
		assert.Equal(t, f.mode(), header.Mode)
		assert.True(t, header.ModTime.Equal(j.at))
		assert.Zero(t, header.Uid+header.Gid)
		assert.Empty(t, header.Uname+header.Gname)
		data, err := io.ReadAll(in)
		require.NoError(t, err)
		assert.Equal(t, f.data, data)
	}
	_, err = in.Next()
	assert.ErrorIs(t, err, io.EOF)
}

func TestAZipHasFixedTimes(t *testing.T) {
	t.Parallel()
	j, files := some()
	archive, err := j.pack(target{"windows", "arm64"}, files)
	require.NoError(t, err)
	assert.Equal(t, "leslie-v1.2.3-windows-arm64.zip", archive.name)
	in, err := zip.NewReader(bytes.NewReader(archive.data), int64(len(archive.data)))
	require.NoError(t, err)
	require.Len(t, in.File, len(files))
	for i, f := range files {
		assert.Equal(t, "leslie-v1.2.3-windows-arm64/"+f.name, in.File[i].Name)
		assert.Equal(t, os.FileMode(f.mode()), in.File[i].Mode())
		assert.True(t, in.File[i].Modified.Equal(j.at), in.File[i].Modified)
		data, err := in.Open(in.File[i].Name)
		require.NoError(t, err)
		content, err := io.ReadAll(data)
		require.NoError(t, err)
		assert.Equal(t, f.data, content)
	}
}

func TestPackingTwiceGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	for _, to := range targets() {
		j, files := some()
		first, err := j.pack(to, files)
		require.NoError(t, err)
		j.at = j.at.In(time.FixedZone("elsewhere", 3600)) // the same moment
		second, err := j.pack(to, files)
		require.NoError(t, err)
		assert.Equal(t, checksums([]file{first}), checksums([]file{second}))
	}
	assert.Len(t, targets(), 6)
}

func TestChecksumsAreThoseOfSha256sum(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a.zip\n", string(checksums([]file{{name: "a.zip", data: []byte("abc")}}).data))
}

// LESLIE_DIST=1 builds all archives twice, which takes minutes.
func TestAllArchivesAreTheSameTwice(t *testing.T) {
	if os.Getenv("LESLIE_DIST") == "" {
		t.Skip("LESLIE_DIST=1 builds twelve binaries")
	}
	t.Chdir("../..")
	j, _ := some()
	j.leslie = built(t)
	for _, out := range []string{"first", "second"} {
		j.out = filepath.Join(filepath.Dir(j.leslie), out)
		require.NoError(t, j.archives())
	}
	first, err := os.ReadFile(filepath.Join(filepath.Dir(j.out), "first", "SHA256SUMS"))
	require.NoError(t, err)
	second, err := os.ReadFile(filepath.Join(j.out, "SHA256SUMS"))
	require.NoError(t, err)
	assert.Equal(t, string(first), string(second))
	if runtime.GOOS == "linux" {
		cmd := exec.Command("sha256sum", "--check", "SHA256SUMS")
		cmd.Dir = j.out
		said, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s", said)
	}
}
