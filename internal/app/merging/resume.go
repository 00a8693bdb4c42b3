package merging

import (
	"slices"

	"leslie/thread"
)

// This file goes on with a pending merge by the line that began it.

// Resumes reports whether a pending merge has the target and the sources of a request, in
// any order. differing names the options in which it is another merge all the same: what
// says which content is merged has to be said again, and of the others each that is said.
// Errors: T303, T101, T105, those of a view.
func Resumes(c Call, id string, r Request) (same bool, differing []string, err error) {
	err = c.View(func(st *thread.State) error {
		m, err := st.Merge(id)
		if err != nil {
			return err
		}
		found, err := r.parties(st)
		if err != nil {
			return err
		}
		same = m.Target == found.Target.ID && m.Onto == r.Onto && len(m.Sources) == len(found.Sources) && !slices.ContainsFunc(found.Sources, func(t thread.Thread) bool {
			return !slices.Contains(m.Sources, t.ID)
		})
		differing = differingOptions(m, r)
		return nil
	})
	return same, differing, err
}

func differingOptions(m thread.Merge, r Request) (out []string) {
	code := codeRecord(&Planning{record: m})
	for _, option := range []struct {
		name    string
		differs bool
	}{
		{"scope", !slices.Equal(m.Scope, r.Scope.Strings()) || code.WithScope != r.WithScope},
		{"only", code.Only != r.Only},
		{"squash", r.Squash && !code.Squash},
		{"rebase", r.Rebase && !code.Rebase},
		{"merge", r.MergeCommit && (code.Squash || code.Rebase)},
		{"message", r.Message != "" && r.Message != code.Message},
		{"strategy", r.Strategy != "" && r.Strategy != m.Strategy},
		{"uncommitted", r.Uncommitted == TakeUncommitted && code.Uncommitted != r.Uncommitted},
		{"approval", r.RequireApproval && !m.RequireApproval},
	} {
		if option.differs {
			out = append(out, option.name)
		}
	}
	return out
}

// Resume is Load because the line that began the merge was repeated.
func Resume(c Call, id string) (*Session, error) {
	s, err := Load(c, id)
	if err == nil {
		s.resumed = true
	}
	return s, err
}

// Resumed reports whether the session comes from Resume.
func (s View) Resumed() bool { return s.resumed }
