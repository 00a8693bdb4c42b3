package store

import "path"

// clearEmpty removes a folder that holds nothing but empty folders, where a file
// is to stand: deletions leave such folders behind. One that holds anything else
// stays, and so does everything in it.
func (w fileWork) clearEmpty(rel string) {
	if w.reach(path.Dir(rel)) == nil && w.hollow(rel, 0) { // never through a link
		w.removeHollow(rel)
	}
}

// hollow reports whether a name is a folder without any file below it.
func (w fileWork) hollow(rel string, depth int) bool {
	info, err := w.lstat(rel)
	if err != nil || !info.IsDir() || depth > maxDepth {
		return false
	}
	names, err := readNames(w.root, rel)
	if err != nil {
		return false
	}
	for _, name := range names {
		if !w.hollow(path.Join(rel, name), depth+1) {
			return false
		}
	}
	return true
}

// removeHollow removes folders from the inside out. A file that somebody saves
// meanwhile makes the removal of its folder fail.
func (w fileWork) removeHollow(rel string) {
	names, _ := readNames(w.root, rel)
	for _, name := range names {
		w.removeHollow(path.Join(rel, name))
	}
	if w.remove(rel) == nil {
		delete(w.made, rel)
		delete(w.touched, rel) // there is no folder left to be synced
		w.touch(path.Dir(rel))
	}
}
