package runs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/fact"
	"leslie/internal/transcript"
	"leslie/warnings"
)

// This file finds what changes in the project's own checkout while an agent works in a worktree of its own. Agents
// write there without asking; a person may do so at the same time. Nothing is taken back.

// mostElsewhere is how many of these paths a run keeps.
const mostElsewhere = 20

// checkout is what the project's checkout has that is not committed: each path, with what tells one version from
// another.
type checkout map[string]string

// lookAtCheckout looks at the checkout, nil where the agent works in it, or git cannot say how it stands.
func (s *supervisor) lookAtCheckout() checkout {
	repo, err := code.OpenRepo(s.c)
	if err != nil {
		return nil
	}
	if dir := app.ResolveLinks(s.dir); dir == app.ResolveLinks(repo.Top) || dir == app.ResolveLinks(s.c.Project().Root()) {
		return nil
	}
	status, err := repo.Worktree(repo.Top, repo.Admin).Status(s.c.Context())
	if err != nil {
		return nil
	}
	out := checkout{}
	for _, path := range slices.Concat(status.Dirty, status.Untracked) {
		out[path] = "gone"
		if info, err := os.Lstat(filepath.Join(repo.Top, filepath.FromSlash(path))); err == nil {
			out[path] = fmt.Sprint(info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
	}
	return out
}

// noteElsewhere notes what has changed in the checkout since it was looked at last, and says so.
func (s *supervisor) noteElsewhere() {
	if s.checkout == nil {
		return
	}
	now := s.lookAtCheckout()
	if now == nil {
		return
	}
	var changed []string
	for _, path := range slices.Sorted(maps.Keys(now)) {
		if now[path] != s.checkout[path] {
			changed = append(changed, path)
		}
	}
	s.checkout = now
	if len(changed) == 0 {
		return
	}
	for _, path := range changed {
		if !slices.Contains(s.elsewhere, path) && len(s.elsewhere) < mostElsewhere {
			s.elsewhere = append(s.elsewhere, path)
		}
	}
	s.log.Put(transcript.Elsewhere, map[string]any{"paths": changed})
	s.event("elsewhere", strings.Join(changed[:min(len(changed), mostElsewhere)], ", "))
}

// warnElsewhere warns of it once the run ends (W706).
func (s *supervisor) warnElsewhere() {
	if len(s.elsewhere) > 0 {
		s.c.Warn(warnings.WroteElsewhere.NewOfPaths(s.elsewhere, fact.List(nil), fact.Of("threadId", s.id), fact.Of("path", s.c.Project().Root())))
	}
}
