package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/internal/external"
	"leslie/internal/fact"
)

// This file writes paths as they are right for the caller. Use cases name files from the
// project's root, but a caller may work in a folder below it, call with -C, or be in a
// linked git worktree, whose store is in the main one: there a path from the root leads
// to a place that nobody reads.

// Place converts a path from the project's root to one that is right from the caller's
// working folder, whatever -C says.
func (c *Call) Place(path string) string {
	if c.Op == nil {
		return path
	}
	return placed(c.Env.Dir, c.Op.Root(), path)
}

// placed is a path from root as it is right from dir: relative if one of the two is in
// the other, else absolute.
func placed(dir, root, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	slash := ""
	if strings.HasSuffix(path, "/") {
		slash = "/"
	}
	down, err := filepath.Rel(dir, root)
	switch up, upErr := filepath.Rel(root, dir); {
	case err != nil || upErr != nil, leaves(down) && leaves(up):
		return filepath.ToSlash(filepath.Join(root, filepath.FromSlash(path))) + slash
	}
	return filepath.ToSlash(filepath.Join(down, filepath.FromSlash(path))) + slash
}

// leaves reports whether a relative path leads out of its folder.
func leaves(path string) bool {
	return path == ".." || strings.HasPrefix(path, ".."+string(filepath.Separator))
}

// storePrefix begins every path in the store's folder.
const storePrefix = app.StoreFolder + "/"

// InText converts the paths into the store's folder that a hint names.
func (c *Call) InText(text string) string {
	return c.convertPaths(text, c.Env.Dir, func(path string) string { return path })
}

// inFacts converts the paths among an error's facts, for its line of text.
func (c *Call) inFacts(all fact.List) fact.List {
	out := slices.Clone(all)
	for i, f := range out {
		if path, ok := f.Value.(string); ok {
			out[i].Value = c.InText(path)
		}
	}
	return out
}

// InLine converts those of a command to run: its paths are read from the folder of
// -C.
func (c *Call) InLine(line string) string { return c.convertPaths(line, c.Who.Dir, external.Word) }

func (c *Call) convertPaths(text, dir string, quote func(string) string) string {
	if c.Op == nil || !strings.Contains(text, storePrefix) {
		return text
	}
	return withPrefix(text, placed(dir, c.Op.Root(), storePrefix), quote)
}

// withPrefix writes the words that begin with the store's folder behind another prefix.
func withPrefix(text, prefix string, quote func(string) string) string {
	if prefix == storePrefix {
		return text
	}
	words := strings.Split(text, " ")
	for i, word := range words {
		switch rest, begins := strings.CutPrefix(word, storePrefix); {
		case begins:
			path := strings.TrimRight(rest, ":;,.")
			words[i] = quote(prefix+path) + rest[len(path):]
		case strings.HasPrefix(word, "'"+storePrefix):
			words[i] = "'" + prefix + strings.TrimPrefix(word, "'"+storePrefix)
		}
	}
	return strings.Join(words, " ")
}

// InContext is a context with its folders as they are right from the caller's
// working folder.
func (c *Call) InContext(d *threads.ContextResult) *threads.ContextResult {
	out := *d
	out.Folder = c.Place(d.Folder)
	out.References = slices.Clone(d.References)
	for i := range out.References {
		out.References[i].Folder = c.Place(d.References[i].Folder)
	}
	return &out
}
