//go:build linux

package main

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"leslie/test/lab"
)

// This file reads a project with git: what leslie and git say of it, its branches, and
// every file.

// codeState is a project at one moment.
type codeState struct {
	facts map[string]string // what is compared, by what it is
	work  map[string]string // git's names of the contents of files -> a file that has them
}

var (
	objectID   = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
	shortID    = regexp.MustCompile(`\b[0-9a-f]{7,12}\b`)
	sequence   = regexp.MustCompile(`"(seq|revision|slot|lastSeq)":\d+`)
	localTimes = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^"]*`)
)

// state reads the project.
func (s *station) state() codeState {
	out := codeState{facts: map[string]string{}, work: map[string]string{}}
	n := s.normalizer(nil)
	plain := func(text string) string {
		text = strings.ReplaceAll(text, s.place, "STATION")
		text = localTimes.ReplaceAllString(n.text(text), "TIME")
		return sequence.ReplaceAllString(shortID.ReplaceAllString(objectID.ReplaceAllString(text, "OBJECT"), "OBJECT"), `"$1":N`)
	}
	for _, argv := range [][]string{{"list", "--all", "--limit", "0"}, {"code"}, {"merge", "list"}, {"status", "lead"}, {"status", "api"}, {"status"}} {
		o := s.Call(argv...)
		out.facts["leslie "+strings.Join(argv, " ")] = plain(trimmed(pendingSteps.ReplaceAll(o.Stdout, nil)))
	}
	git := func(dir string, argv ...string) {
		text, err := s.Git(dir, argv...)
		if err != nil {
			text = err.Error()
		}
		lines := strings.Split(plain(text), "\n")
		slices.Sort(lines)
		out.facts["git in "+dir+": "+strings.Join(argv, " ")] = strings.Join(lines, "\n")
	}
	git(".", "log", "--branches", "--format=%s of %P")
	git(".", "for-each-ref", "--format=%(refname) %(tree)", "refs/heads", "refs/leslie/base")
	git(".", "for-each-ref", "--format=%(refname) %(tree)", "refs/leslie/rescue")
	git(".", "worktree", "list", "--porcelain")
	trees, _ := filepath.Glob(filepath.Join(s.place, "project.worktrees", "*"))
	git(".", "status", "--porcelain", "--ignored")
	for _, dir := range trees {
		git("../project.worktrees/"+filepath.Base(dir), "status", "--porcelain", "--ignored")
	}
	_ = filepath.WalkDir(s.place, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(s.place, name)
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(rel, "project/.leslie/blobs"): // what leslie keeps is not lost; doctor compares it with what names it
			if data, err := os.ReadFile(name); err == nil && !d.IsDir() {
				out.work[blobName(data)] = rel
			}
		case d.IsDir() && d.Name() == ".git", rel == "project/.leslie/runs", rel == "project/.leslie/logs", rel == "project/.leslie/requests":
			if d.Name() == ".git" {
				out.locks(s.place, name)
			}
			return filepath.SkipDir
		case d.IsDir():
			if rel != "project/.leslie/tmp" && rel != "project/.leslie/merges" {
				out.facts[rel] = "a folder"
			}
		case filepath.Dir(rel) == "project/.leslie", d.Name() == ".git":
		default:
			data, _ := os.ReadFile(name)
			out.facts[plain(rel)] = string(data)
			out.work[blobName(data)] = rel
		}
		return nil
	})
	return out
}

// locks notes the lock files that a dead git left.
func (c *codeState) locks(dir, git string) {
	_ = filepath.WalkDir(git, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "leslie-scratch" { // what a killed process left there is removed a day later
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(name, ".lock") && !strings.HasPrefix(d.Name(), "leslie-") {
			rel, _ := filepath.Rel(dir, name)
			c.facts[rel] = "a lock file"
		}
		return nil
	})
}

// blobName is git's name of a file's content.
func blobName(data []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(data))
	_, _ = h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// rescues is the fact which refs keep the work of removed worktrees. A ref that a killed
// restoration leaves stays: doctor shows it, and leslie deletes nothing that is in no branch.
const rescues = "git in .: for-each-ref --format=%(refname) %(tree) refs/leslie/rescue"

// diff returns the first difference to another state, or "".
func (c codeState) diff(now codeState) string {
	for _, name := range lab.Sorted(c.facts) {
		have, there := now.facts[name]
		if !there {
			return name + " is missing"
		}
		if have != c.facts[name] {
			return name + ": " + firstDifference(c.facts[name], have)
		}
	}
	for _, name := range lab.Sorted(now.facts) {
		if _, there := c.facts[name]; !there {
			return fmt.Sprintf("%s should not be there: %.200q", name, now.facts[name])
		}
	}
	return ""
}

// lost returns a file whose content is no longer there: neither in a file nor in anything
// that a ref or an index of git keeps.
func (s *station) lost(before codeState) string {
	now := s.state()
	kept, err := s.Git(".", "rev-list", "--objects", "--branches", "--glob=refs/leslie/*", "--indexed-objects")
	if err != nil { // a git died, or goes on, while it makes a worktree: the end shows what is there
		return ""
	}
	for id, name := range before.work {
		if now.work[id] == "" && !strings.Contains(kept, id) {
			return name
		}
	}
	return ""
}

// problems returns what doctor and git find.
func (s *station) problems() string {
	if problem := s.Healthy(); problem != "" {
		return problem
	}
	out, err := s.Git(".", "fsck", "--connectivity-only", "--no-dangling", "--no-progress")
	if out = string(bytes.TrimSpace([]byte(out))); err != nil || out != "" {
		return fmt.Sprintf("git fsck: %v %s", err, out)
	}
	return ""
}
