package codes

import (
	"slices"
	"strings"
)

// Exit is an exit status of leslie.
type Exit struct {
	Status  int    `json:"status"`
	Meaning string `json:"meaning"`
	Codes   []Code `json:"codes,omitempty"` // the errors that have it, in their order
}

// ExitStatuses returns all exit statuses, the lowest first.
func ExitStatuses() []Exit {
	out := []Exit{
		{0, "success", nil}, {1, "a failure of leslie or of the system", nil}, {2, "a wrong line", nil}, {11, "threads", nil},
		{12, "references", nil}, {13, "merges", nil}, {14, "approvals and questions", nil}, {15, "the store", nil},
		{16, "objectives", nil}, {17, "agents and their runs", nil}, {18, "code and git", nil},
		{130, "an interruption, by Ctrl-C or a signal", nil},
	}
	for _, e := range Table() {
		i := slices.IndexFunc(out, func(x Exit) bool { return x.Status == e.Code.ExitStatus() })
		out[i].Codes = append(out[i].Codes, e.Code)
	}
	for i := range out {
		slices.Sort(out[i].Codes)
	}
	return out
}

// String is the meaning, with the codes.
func (e Exit) String() string {
	if len(e.Codes) == 0 {
		return e.Meaning
	}
	names := make([]string, len(e.Codes))
	for i, c := range e.Codes {
		names[i] = string(c)
	}
	return e.Meaning + " (" + strings.Join(names, ", ") + ")"
}
