package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// This file builds leslie for all systems and packs it with its manual.

// target is a system with its processor, as Go calls them.
type target struct{ os, arch string }

func targets() (all []target) {
	for _, system := range []string{"darwin", "linux", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			all = append(all, target{system, arch})
		}
	}
	return all
}

// name is the name of the target's archive without its ending, and of its folder.
func (j job) name(t target) string { return "leslie-" + j.version + "-" + t.os + "-" + t.arch }

// archives writes an archive for each target, and SHA256SUMS.
func (j job) archives() error {
	common, err := j.common()
	if err != nil {
		return err
	}
	var made []file
	for _, t := range targets() {
		binary, err := j.build(t)
		if err != nil {
			return err
		}
		archive, err := j.pack(t, append([]file{binary}, common...))
		if err != nil {
			return err
		}
		fmt.Printf("%s  %d bytes\n", archive.name, len(archive.data))
		made = append(made, archive)
	}
	return writeFiles(j.out, append(made, checksums(made)))
}

// common are the files of every archive: completions, the manual, and what a reader needs
// first. The other documents are in the binary.
func (j job) common() ([]file, error) {
	files := []file{{name: "LICENSE"}, {name: "README.md"}, {name: "CHANGELOG.md"}}
	for i := range files {
		var err error
		if files[i].data, err = os.ReadFile(files[i].name); err != nil {
			return nil, err
		}
	}
	for shell, name := range map[string]string{"bash": "leslie.bash", "zsh": "_leslie", "fish": "leslie.fish"} {
		script, err := os.ReadFile("cmd/leslie/internal/cli/completion/leslie." + shell)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: "completions/" + name, data: script})
	}
	pages, err := j.pages()
	for _, page := range pages {
		page.name = "man/" + page.name
		files = append(files, page)
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, err
}

// build builds the binary of a target as the Makefile does; it names no folder.
func (j job) build(t target) (file, error) {
	f := file{name: "leslie", executable: true}
	if t.os == "windows" {
		f.name += ".exe"
	}
	dir, err := os.MkdirTemp("", "leslie-dist-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, f.name)
	cmd := exec.Command("go", "build", "-tags", j.tags, "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version="+j.version, "-o", out, "./cmd/leslie")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return f, fmt.Errorf("go build for %s/%s: %w", t.os, t.arch, err)
	}
	f.data, err = os.ReadFile(out)
	return f, err
}

// pack packs files: as zip for Windows, else as tar.gz.
func (j job) pack(t target, files []file) (file, error) {
	var b bytes.Buffer
	if t.os == "windows" {
		err := writeZip(&b, j.name(t), j.at, files)
		return file{name: j.name(t) + ".zip", data: b.Bytes()}, err
	}
	err := writeTarGz(&b, j.name(t), j.at, files)
	return file{name: j.name(t) + ".tar.gz", data: b.Bytes()}, err
}

// writeTarGz packs files in a folder. All have one time and belong to the system's
// administrator, whoever packs them.
func writeTarGz(to io.Writer, folder string, at time.Time, files []file) error {
	zipped, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(zipped)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(folder, f.name), Size: int64(len(f.data)), Mode: f.mode(), ModTime: at, Format: tar.FormatUSTAR}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(f.data); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return zipped.Close()
}

// writeZip is writeTarGz for zip, whose times are local ones.
func writeZip(to io.Writer, folder string, at time.Time, files []file) error {
	out := zip.NewWriter(to)
	for _, f := range files {
		header := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(os.FileMode(f.mode()))
		w, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	return out.Close()
}

// mode is the file's permissions.
func (f file) mode() int64 {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// checksums is a file that sha256sum --check reads.
func checksums(files []file) file {
	var b strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		b.WriteString(hex.EncodeToString(sum[:]) + "  " + f.name + "\n")
	}
	return file{name: "SHA256SUMS", data: []byte(b.String())}
}
