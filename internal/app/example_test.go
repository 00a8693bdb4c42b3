package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"leslie/internal/app"
	"leslie/store"
	"leslie/thread"
)

// A whole session without a command line or a terminal: a person splits an objective
// into threads, an agent claims one of them, gets a message, and undoes its last
// operation.
func Example() {
	dir, err := os.MkdirTemp("", "leslie-example-")
	orPanic(err)
	defer os.RemoveAll(dir)
	_, _, _, err = store.Create(context.Background(), store.Wait{}, dir, store.Options{})
	orPanic(err)
	var ids atomic.Int64
	project, err := app.Open(dir, app.Environment{
		Now: time.Now, NewID: func(prefix string) string { return fmt.Sprintf("%s%08d", prefix, ids.Add(1)) },
		Jitter: func(most time.Duration) time.Duration { return most }, Environ: func() []string { return nil },
	})
	orPanic(err)
	person := func(command string) *app.Call {
		return project.Call(context.Background(), app.Caller{As: thread.User, Actor: "kim"}, app.Request{Command: command})
	}
	agent := func(command, speaksFor string) *app.Call {
		return project.Call(context.Background(), app.Caller{As: thread.Agent, Actor: "bot", Thread: speaksFor}, app.Request{Command: command})
	}

	_, err = app.CreateObjective(person("objective create"), app.CreateObjectiveRequest{Title: "Ship the parser", ID: "ship"})
	orPanic(err)
	_, err = app.Spawn(person("spawn"), app.SpawnRequest{Intent: "Plan the parser", ID: "plan", Executor: thread.ByHuman})
	orPanic(err)
	orPanic(os.WriteFile(filepath.Join(dir, store.Dir, store.ThreadsDir, "plan", "plan.md"), []byte("1. lexer\n2. parser\n"), 0o644))

	// A child inherits its parent's artifacts; a reference reads another thread's.
	child, err := app.Spawn(person("spawn"), app.SpawnRequest{Intent: "Write the lexer\nin one file", ID: "lexer", Parent: "plan", Inherit: thread.InheritFull})
	orPanic(err)
	fmt.Printf("%s: %q, %d file inherited\n", child.ThreadID, child.Title, child.Inherited.Files)
	_, err = app.Spawn(person("spawn"), app.SpawnRequest{Intent: "Write the manual", ID: "manual", Objective: "ship", DependsOn: []string{"lexer"}})
	orPanic(err)
	ref, err := app.CreateReference(person("reference"), app.CreateReferenceRequest{From: "manual", Target: "plan", Scope: []string{"plan.md"}})
	orPanic(err)
	fmt.Printf("%s reads %d file of %s, %s\n", ref.From, ref.Files, ref.Target, ref.Binding)

	// The manual is not ready before the lexer is done, and the plan is a person's.
	claimed, err := app.Claim(agent("claim", ""), app.ClaimRequest{Next: true, For: time.Hour})
	orPanic(err)
	fmt.Printf("%s claims %s\n", *claimed.Holder, *claimed.ThreadID)
	_, err = app.Inject(person("inject"), app.InjectRequest{Thread: "lexer", Type: thread.InjectConstraint, Content: "no regular expressions"})
	orPanic(err)
	_, err = app.Can(agent("can", "lexer"), app.CanRequest{Capability: "deploy"})
	fmt.Println(err)

	// It must read its messages before it completes its thread.
	_, err = app.Lifecycle(agent("done", "lexer"), app.LifecycleRequest{Action: thread.Done})
	fmt.Println(err)
	reading := agent("context", "lexer")
	read, err := app.Context(reading, app.ContextRequest{})
	orPanic(err)
	app.MarkSeen(reading, read.Thread.ID, []thread.InjectionID{read.Thread.Unseen()[0].ID})
	_, err = app.Lifecycle(agent("done", "lexer"), app.LifecycleRequest{Action: thread.Done})
	orPanic(err)

	// The agent undoes its own operation.
	_, err = app.Undo(agent("undo", ""), app.UndoRequest{})
	orPanic(err)
	status, err := app.ThreadStatus(person("status"), app.ThreadStatusRequest{Thread: "lexer"})
	orPanic(err)
	fmt.Printf("%s is %s again, told: %s\n", status.ThreadID, status.Status, status.Injections[0].Content)
	for _, c := range []*app.Call{person("update"), person("update")} {
		_, err = app.Update(c, app.UpdateRequest{Thread: "lexer", Edit: thread.Edit{AddTags: []string{"go"}}})
		fmt.Println(c.Changed(), err)
	}
	_, err = app.Spawn(person("spawn"), app.SpawnRequest{Inherit: thread.InheritFull})
	fmt.Println(err)
	// Output:
	// lexer: "Write the lexer", 1 file inherited
	// manual reads 1 file of plan, frozen
	// bot claims lexer
	// Permission denied for deploy. Neither the policy nor an approval allows it.
	// Thread 'lexer' has 1 unread message. Its agent reads them before it completes the thread.
	// lexer is active again, told: no regular expressions
	// true <nil>
	// false <nil>
	// Intent is missing; Inherit full needs Parent
}
