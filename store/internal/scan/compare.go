package scan

import (
	"slices"

	"leslie/store/internal/content"
)

// This file compares entries with manifests.

// differing compares hashed entries with a manifest; folders do not count.
func differing(m content.Manifest, entries []Entry) []string {
	var paths []string
	seen := map[string]bool{}
	for _, e := range entries {
		if e.Type == TypeFolder {
			continue
		}
		seen[e.Path] = true
		if was, ok := m.Find(e.Path); !ok || e.Type != TypeFile || was.SHA256 != e.SHA256 {
			paths = append(paths, e.Path)
		}
	}
	for _, f := range m {
		if !seen[f.Path] {
			paths = append(paths, f.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

// comparison sorts a thread's entries against a manifest.
type comparison struct {
	was      content.Manifest
	now      map[string]bool // paths of the manifest that are as they were
	fresh    []string        // paths that the manifest lacks
	doubtful []Entry         // files that only their content can tell
}

// look decides what can be decided without reading the file.
func (c *comparison) look(e Entry) {
	if e.Type != TypeFile {
		return
	}
	was, ok := c.was.Find(e.Path)
	switch {
	case !ok:
		c.fresh = append(c.fresh, e.Path)
	case e.Executable != was.Executable || e.Size != was.Size:
	case unwritten(was, e):
		c.now[e.Path] = true
	default:
		c.doubtful = append(c.doubtful, e)
	}
}

// unwritten reports whether the times prove that a file of this size has the content that
// was listed.
func unwritten(was content.FileAt, e Entry) bool {
	return !was.ChangeTime.IsZero() && was.ChangeTime.Equal(e.ChangeTime) && was.ModTime.Equal(e.ModTime)
}

// Same reports whether a file is as it was listed, without reading it.
func Same(was content.FileAt, e Entry) bool {
	return e.Executable == was.Executable && e.Size == was.Size && unwritten(was, e)
}

func (c *comparison) judge(hashed []Entry) {
	for _, e := range hashed {
		was, _ := c.was.Find(e.Path)
		c.now[e.Path] = e.Type == TypeFile && e.SHA256 == was.SHA256 && e.Executable == was.Executable
	}
}

func (c *comparison) result() []string {
	changed := c.fresh
	for _, f := range c.was {
		if !c.now[f.Path] {
			changed = append(changed, f.Path)
		}
	}
	slices.Sort(changed)
	return changed
}
