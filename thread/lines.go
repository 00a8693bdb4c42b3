package thread

import "strings"

// merged returns the table's current lines: those of base, without deleted and with
// changed records, merged with the new ones. fresh must be ordered by id.
func (t *Table[R]) merged(fresh []Line) []Line {
	out := make([]Line, 0, len(t.base)+len(fresh))
	for _, line := range t.base {
		for len(fresh) > 0 && strings.Compare(fresh[0].ID, line.ID) < 0 {
			out, fresh = append(out, fresh[0]), fresh[1:]
		}
		if s := t.slots[line.ID]; s != nil {
			if s.now == nil {
				continue
			}
			line.JSON = s.now
		}
		out = append(out, line)
	}
	return append(out, fresh...)
}
