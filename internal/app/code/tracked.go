package code

import (
	"path/filepath"
	"strings"

	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/store"
	"leslie/warnings"
)

// StorePaths are the files by which a folder has a store, from the top of the repository;
// below is the project's folder from there.
func StorePaths(below string) (paths []string) {
	for _, name := range []string{store.StateFile, store.BackupFile, store.LockFile} {
		paths = append(paths, filepath.ToSlash(filepath.Join(below, store.Dir, name)))
	}
	return paths
}

// StoreTracked returns W516 if git tracks the store. It starts git only if the index has a
// file with such a name.
func StoreTracked(c *app.Call) (w warnings.Warning, tracked bool) {
	top := NearestGit(c.Project().Root())
	_, end, _ := strings.Cut(store.StateFile, "_") // an index leaves out with what the path before begins
	if !git.MayTrack(top, "_"+end) {
		return w, false
	}
	below, err := filepath.Rel(top, c.Project().Root())
	repo, failed := OpenRepo(c)
	if err != nil || failed != nil {
		return w, false
	}
	tracked, err = repo.Indexed(c.Context(), StorePaths(below)...)
	return warnings.StoreTracked.New(fact.Of("path", store.Dir)), tracked && err == nil
}
