package harness

import (
	"fmt"
	"maps"
	"slices"
)

// Differing returns how two sets of files, given as content by path, differ: a line for
// each path, without the content.
func Differing(want, got map[string]string) (paths []string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch now, ok := got[name]; {
		case !ok:
			paths = append(paths, name+" is missing")
		case now != want[name]:
			paths = append(paths, fmt.Sprintf("%s differs: %d bytes, expected %d", name, len(now), len(want[name])))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			paths = append(paths, name+" is unexpected")
		}
	}
	return paths
}
