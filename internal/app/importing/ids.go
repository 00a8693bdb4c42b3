package importing

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"leslie/thread"
)

// idMap gives the ids of a source their ids in leslie. Characters outside the alphabet
// become '-'. Two ids that become the same get different ones: the first in the source's
// order keeps the short form, and an id that is valid as it is always keeps itself.
type idMap struct {
	to    map[string]string
	taken map[string]bool
}

func newIDs(ids []string) *idMap {
	m := &idMap{to: map[string]string{}, taken: map[string]bool{}}
	for _, id := range ids {
		if usable(id) && !m.taken[strings.ToLower(id)] {
			m.to[id], m.taken[strings.ToLower(id)] = id, true
		}
	}
	for _, id := range ids {
		if _, known := m.to[id]; known {
			continue
		}
		base := inAlphabet(id)
		to := base
		for n := 2; m.taken[strings.ToLower(to)] || !usable(to); n++ {
			end := "-" + strconv.Itoa(n)
			to = base[:min(len(base), thread.MaxID-len(end))] + end
		}
		m.to[id], m.taken[strings.ToLower(to)] = to, true
	}
	return m
}

// usable reports whether an id can be kept.
func usable(id string) bool { return thread.ValidID(id) && thread.ReservedName(id) == nil }

// inAlphabet replaces what an id may not contain. A long id is cut, with a hash of the
// whole, so that ids that begin alike stay apart.
func inAlphabet(id string) string {
	var b strings.Builder
	for _, r := range id {
		valid := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
		if !valid {
			r = '-'
		}
		b.WriteRune(r)
	}
	out := b.String()
	for strings.Contains(out, "..") {
		out = strings.ReplaceAll(out, "..", ".")
	}
	out = strings.TrimRight(strings.TrimLeft(out, "-_."), ".")
	if out == "" {
		out = "id"
	}
	if len(out) > thread.MaxID {
		sum := sha256.Sum256([]byte(id))
		out = out[:thread.MaxID-9] + "-" + hex.EncodeToString(sum[:4])
	}
	return out
}

func (m *idMap) thread(id string) thread.ThreadID { return thread.ThreadID(m.to[id]) }

// renamed are the ids that changed, in the source's order.
func (m *idMap) renamed(ids []string) []Renamed {
	var out []Renamed
	for _, id := range ids {
		if m.to[id] != id {
			out = append(out, Renamed{From: id, To: m.to[id]})
		}
	}
	return out
}
