package threads

import (
	"context"
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merges"
	"leslie/internal/scope"
	"leslie/thread"
)

// AgentFolder is the folder in which a thread's agent works: its worktree, or the project's folder if it
// owns no code. Errors: T802 for a thread whose worktree is not there, T108 if somebody works there on another machine.
func AgentFolder(c *app.Call, t thread.Thread) (string, error) {
	owned := contextCode(c, t)
	switch {
	case owned == nil:
		return c.Project().Root(), nil
	case owned.State == thread.CodeReady:
		return owned.Folder, nil
	}
	id := string(t.ID)
	if owned.State == thread.CodeElsewhere {
		mayCome := func(s *thread.State) error { return s.MayBringCode(t.ID, c.Project().IsHere, c.Stamp()) }
		if _, err := c.View(mayCome); err != nil {
			return "", err
		}
		return "", thread.NoCodeHere(t, "").WithHint("leslie code setup " + id + " makes one here")
	}
	return "", thread.NoCode(t.ID, "its worktree is not there, and no agent works elsewhere in its place").
		WithHint("leslie code restore " + id + " brings it back; where the repository has moved, leslie code repair does").WithNext("leslie code " + id)
}

// dropIdle removes the listed threads that have nothing to merge: their files are those
// that they and their parent had in common. A thread that cannot be read stays, because
// the merge will say why. Errors: T904.
func dropIdle(w *app.WaitingList) error {
	if len(w.Unmerged) == 0 {
		return nil
	}
	ids := make([]thread.ThreadID, 0, len(w.Unmerged))
	for id := range w.Unmerged {
		ids = append(ids, id)
	}
	idle := map[thread.ThreadID]bool{}
	err := w.C.ReadConsistent(func() error {
		for id, v := range w.Unmerged {
			if w.C.Context().Err() != nil {
				return codes.Interrupted.Wrap(context.Cause(w.C.Context()))
			}
			differs, err := differ(w.C, v.Base, v.Current)
			idle[id] = err == nil && !differs
		}
		return nil
	}, ids...)
	w.Items = slices.DeleteFunc(w.Items, func(item app.WaitingItem) bool { return item.Kind == app.WaitingUnmerged && idle[item.ThreadID] })
	return err
}

// dropLanded removes the listed threads whose code has landed without leslie, or that have none
// of their own; what git cannot say soon stays.
func dropLanded(w *app.WaitingList) {
	var ids []string
	for _, item := range w.Items {
		if item.Kind == app.WaitingLand {
			ids = append(ids, item.ID)
		}
	}
	landed := map[string]bool{}
	for _, id := range code.FullyLanded(w.C, ids) {
		landed[string(id)] = true
	}
	w.Items = slices.DeleteFunc(w.Items, func(item app.WaitingItem) bool { return item.Kind == app.WaitingLand && landed[item.ID] })
}

// differ reports whether two versions differ. Errors: those of reading.
func differ(c *app.Call, a, b app.Version) (bool, error) {
	was, err := merges.ReadVersion(c, a, scope.Set{})
	if err != nil {
		return false, err
	}
	is, err := merges.ReadVersion(c, b, scope.Set{})
	if err != nil || len(was.Files) != len(is.Files) {
		return true, err
	}
	if err := merges.HashDoubtful(c, was, is); err != nil {
		return false, err
	}
	for path, f := range is.Files {
		if old, both := was.Files[path]; !both || !f.SameAs(old) {
			return true, nil
		}
	}
	return false, nil
}
