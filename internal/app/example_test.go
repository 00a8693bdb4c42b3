package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/history"
	"leslie/internal/app/threads"
	"leslie/store"
	"leslie/thread"
)

// A whole session without a command line or a terminal: a person splits an objective
// into threads, an agent claims one of them, gets a message, and undoes its last
// operation.
func Example() {
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
	person := func(command string) *app.Call {
		return project.Call(context.Background(), app.Caller{As: thread.User, Actor: "kim"}, app.Request{Command: command})
	}
	agent := func(command, speaksFor string) *app.Call {
		return project.Call(context.Background(), app.Caller{As: thread.Agent, Actor: "bot", Thread: speaksFor}, app.Request{Command: command})
	}

	_, err = threads.CreateObjective(person("objective create"), threads.CreateObjectiveRequest{Title: "Ship the parser", ID: "ship"})
	OrPanic(err)
	_, err = threads.Spawn(person("spawn"), threads.SpawnRequest{Intent: "Plan the parser", ID: "plan", Executor: thread.ByHuman})
	OrPanic(err)
	OrPanic(os.WriteFile(filepath.Join(dir, store.Dir, store.ThreadsDir, "plan", "plan.md"), []byte("1. lexer\n2. parser\n"), 0o644))

	// A child inherits its parent's artifacts; a reference reads another thread's.
	child, err := threads.Spawn(person("spawn"), threads.SpawnRequest{Intent: "Write the lexer\nin one file", ID: "lexer", Parent: "plan", Inherit: thread.InheritFull})
	OrPanic(err)
	fmt.Printf("%s: %q, %d file inherited\n", child.ThreadID, child.Title, child.Inherited.Files)
	_, err = threads.Spawn(person("spawn"), threads.SpawnRequest{Intent: "Write the manual", ID: "manual", Objective: "ship", DependsOn: []string{"lexer"}})
	OrPanic(err)
	ref, err := artifacts.CreateReference(person("reference"), artifacts.CreateReferenceRequest{From: "manual", Target: "plan", Scope: []string{"plan.md"}})
	OrPanic(err)
	fmt.Printf("%s reads %d file of %s, %s\n", ref.From, ref.Files, ref.Target, ref.Binding)

	// The manual is not ready before the lexer is done, and the plan is a person's.
	claimed, err := threads.Claim(agent("claim", ""), threads.ClaimRequest{Next: true, For: time.Hour})
	OrPanic(err)
	fmt.Printf("%s claims %s\n", *claimed.Holder, *claimed.ThreadID)
	_, err = threads.Inject(person("inject"), threads.InjectRequest{Thread: "lexer", Type: thread.InjectConstraint, Content: "no regular expressions"})
	OrPanic(err)
	_, err = threads.Can(agent("can", "lexer"), threads.CanRequest{Capability: "deploy"})
	fmt.Println(err)

	// It must read its messages before it completes its thread.
	_, err = threads.Lifecycle(agent("done", "lexer"), threads.LifecycleRequest{Action: thread.Done})
	fmt.Println(err)
	reading := agent("context", "lexer")
	read, err := threads.Context(reading, threads.ContextRequest{})
	OrPanic(err)
	threads.MarkSeen(reading, &app.ShownMessages{ThreadID: read.Thread.ID, Injections: []thread.InjectionID{read.Thread.Unseen()[0].ID}})
	_, err = threads.Lifecycle(agent("done", "lexer"), threads.LifecycleRequest{Action: thread.Done})
	OrPanic(err)

	// The agent undoes its own operation.
	_, err = history.Undo(agent("undo", ""), history.UndoRequest{})
	OrPanic(err)
	status, err := threads.Status(person("status"), threads.StatusRequest{Thread: "lexer"})
	OrPanic(err)
	fmt.Printf("%s is %s again, told: %s\n", status.ThreadID, status.Status, status.Injections[0].Content)
	for _, c := range []*app.Call{person("update"), person("update")} {
		_, err = threads.Update(c, threads.UpdateRequest{Thread: "lexer", Edit: thread.Edit{AddTags: []string{"go"}}})
		fmt.Println(c.Changed(), err)
	}
	_, err = threads.Spawn(person("spawn"), threads.SpawnRequest{Inherit: thread.InheritFull})
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
