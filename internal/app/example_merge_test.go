package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"leslie/internal/app"
	"leslie/internal/app/decisions"
	"leslie/internal/app/history"
	"leslie/internal/app/merges"
	"leslie/internal/app/merging"
	"leslie/internal/app/threads"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
)

// BothSides decides conflicts for both sides, and lets an approval wait.
type BothSides struct{}

func (BothSides) Resolve(_ context.Context, s *merging.Session) error {
	for _, c := range s.Open("") {
		fmt.Printf("%s %d/%d: %q or %q?\n", c.Path, c.Hunk, c.Of, c.Sides[0].Text, c.Sides[1].Text)
		both := merge.Decision{Take: merge.TakeBoth, How: string(thread.User), Actor: "kim"}
		if _, err := s.Answer(merging.Answer{About: c.ID, Decision: both}); err != nil {
			return err
		}
	}
	return nil
}

func (BothSides) Review(context.Context, *merging.Session) error { return nil }

// A merge with a conflict that a person resolves, which another one approves, and
// which is undone then.
func Example_merge() {
	dir, err := os.MkdirTemp("", "leslie-example-")
	OrPanic(err)
	defer os.RemoveAll(dir)
	_, _, _, err = store.Create(context.Background(), store.Wait{}, dir, store.Options{})
	OrPanic(err)
	var ids atomic.Int64
	project, err := app.Open(dir, app.Environment{
		Now: time.Now, NewID: func(prefix string) string { return fmt.Sprintf("%s%08d", prefix, ids.Add(1)) },
		Jitter: func(most time.Duration) time.Duration { return most }, Environ: func() []string { return nil },
	})
	OrPanic(err)
	call := func(command string) *app.Call {
		return project.Call(context.Background(), app.Caller{As: thread.User, Actor: "kim"}, app.Request{Command: command})
	}
	plan := func(id string) string { return filepath.Join(dir, store.Dir, store.ThreadsDir, id, "plan.md") }

	_, err = threads.CreateObjective(call("objective create"), threads.CreateObjectiveRequest{Title: "Ship it", ID: "ship"})
	OrPanic(err)
	_, err = threads.Spawn(call("spawn"), threads.SpawnRequest{Intent: "Plan", ID: "main"})
	OrPanic(err)
	OrPanic(os.WriteFile(plan("main"), []byte("a list\n"), 0o644))
	_, err = threads.Spawn(call("spawn"), threads.SpawnRequest{Intent: "Design", ID: "design", Parent: "main", Inherit: thread.InheritFull})
	OrPanic(err)
	OrPanic(os.WriteFile(plan("main"), []byte("a table\n"), 0o644))
	OrPanic(os.WriteFile(plan("design"), []byte("a graph\n"), 0o644))

	merged, err := merges.Merge(call("merge"), merges.Request{
		Sources: []string{"design"}, Target: "main", RequireApproval: true, Resolvers: merges.Resolvers{Person: BothSides{}},
	})
	fmt.Println(merged.Status, err)
	_, err = decisions.Decide(call("approve"), decisions.DecideRequest{Approval: string(merged.Approval.ApprovalID), Decision: thread.Approve})
	OrPanic(err)
	merged, err = merges.Continue(call("merge continue"), merges.ContinueRequest{Merge: string(*merged.MergeID)})
	OrPanic(err)
	text, err := os.ReadFile(plan("main"))
	OrPanic(err)
	fmt.Printf("%s: %q\n", merged.Status, text)

	_, err = history.Undo(call("undo"), history.UndoRequest{})
	OrPanic(err)
	text, err = os.ReadFile(plan("main"))
	OrPanic(err)
	fmt.Printf("undone: %s", text)
	// Output:
	// plan.md 1/1: "a table\n" or "a graph\n"?
	// pending Permission denied for approve_merge. Neither the policy nor an approval allows it.
	// merged: "a table\na graph\n"
	// undone: a table
}

func OrPanic(err error) {
	if err != nil {
		panic(err)
	}
}
