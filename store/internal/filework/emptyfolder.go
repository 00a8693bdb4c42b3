package filework

import (
	"path"

	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
)

// clearEmpty removes a folder that contains only empty folders, where a file has to
// go: deletions leave such folders behind. A folder with any other content stays.
func (w Work) clearEmpty(rel string) {
	if w.Reach(path.Dir(rel)) == nil && w.emptyTree(rel, 0) { // never through a link
		w.removeEmpty(rel)
	}
}

// emptyTree reports whether a name is a folder without any file below it.
func (w Work) emptyTree(rel string, depth int) bool {
	info, err := w.Lstat(rel)
	if err != nil || !info.IsDir() || depth > scan.MaxDepth {
		return false
	}
	names, err := saferoot.ReadNames(w.Base(), rel)
	if err != nil {
		return false
	}
	for _, name := range names {
		if !w.emptyTree(path.Join(rel, name), depth+1) {
			return false
		}
	}
	return true
}

// removeEmpty removes folders from the inside out. If somebody saves a file in the
// meantime, removing its folder fails.
func (w Work) removeEmpty(rel string) {
	names, _ := saferoot.ReadNames(w.Base(), rel)
	for _, name := range names {
		w.removeEmpty(path.Join(rel, name))
	}
	if w.Remove(rel) == nil {
		w.Touch(path.Dir(rel))
	}
}
