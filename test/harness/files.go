package harness

import (
	"fmt"
	"maps"
	"slices"
)

// Differing are the paths at which two sets of files, their content by path,
// differ, and how; contents may be long.
func Differing(want, got map[string]string) (paths []string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch now, ok := got[name]; {
		case !ok:
			paths = append(paths, name+" is missing")
		case now != want[name]:
			paths = append(paths, fmt.Sprintf("%s holds %d bytes, not the %d that it should", name, len(now), len(want[name])))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			paths = append(paths, name+" is there")
		}
	}
	return paths
}
