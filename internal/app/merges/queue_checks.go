package merges

import (
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merging"
	"leslie/thread"
)

// noteLacked adds to a merge that found nothing to do the sources whose commits the target
// lacks, with W809 for each.
func noteLacked(c *app.Call, d *Result) {
	if d.Status != merging.NothingToDo {
		return
	}
	var t thread.Thread
	var others []thread.Thread
	lands := ""
	_, err := c.View(func(s *thread.State) error {
		t, _ = s.Threads.Peek(string(d.Target))
		others, lands = nil, ""
		for _, id := range d.Sources {
			switch from, _ := s.Threads.Peek(string(id)); {
			case from.OwnedCode() != nil:
				others = append(others, from)
			case id == t.ParentID:
				lands = s.LandsBeside(t)
			}
		}
		return nil
	})
	if err != nil {
		return
	}
	for _, b := range code.Behind(c, t, others, lands) {
		d.CodeBehind = append(d.CodeBehind, b.From)
	}
}

// checkQueued warns of checks that fail where the branches of a queued merge's sources begin
// (W811), and returns T114 if an agent queues a source that fails its checks.
func checkQueued(c *app.Call, in Request) error {
	var sources []thread.Thread
	_, err := c.View(func(s *thread.State) error {
		sources = nil
		found, err := s.Parties(in.Target, in.Sources)
		if err != nil || in.Only == merging.OnlyArtifacts || len(in.Scope) > 0 && !in.withScope {
			return nil //nolint:nilerr // the queue says what is wrong
		}
		m := thread.Merge{}
		for _, t := range found.Sources {
			m.Sources = append(m.Sources, t.ID)
		}
		sources = code.CheckedSources(s, m)
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range sources {
		for _, name := range t.OwnedCode().Accept {
			if e := t.OwnedCode().FailsAtBegin(name); e != nil {
				code.WarnBegin(c, t.ID, *e)
			}
		}
		if c.ByPerson() {
			continue
		}
		if err := code.RunChecksNow(c, t); err != nil {
			return codes.Of(err).WithHint("Correct the code in the thread's worktree and commit it, then queue it again")
		}
	}
	return nil
}
