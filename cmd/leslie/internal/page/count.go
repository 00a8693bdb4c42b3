package page

import (
	"fmt"
	"strings"

	"leslie/thread"
)

// CountsText formats counts as "2 active, 1 completed".
func CountsText(counts thread.Counts) string {
	var parts []string
	for _, status := range thread.Statuses() {
		if n := counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}
