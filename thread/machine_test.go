package thread_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// on is the fixture as another machine has it.
func (w *fixture) on(machine string) *thread.State {
	records := thread.Records{}
	for _, table := range thread.Tables() {
		records[table] = w.Lines(table)
	}
	return thread.NewState(w.Revision, records, nil).On(machine)
}

// atHome gives threads code on a machine.
func (w *fixture) atHome(machine string, ids ...string) {
	w.t.Helper()
	w.threads(ids...)
	w.State = w.on(machine)
	w.coding(ids...)
	for _, id := range ids {
		_, err := w.ChangeCode(id, nil, w.stamp(thread.User), func(_ *thread.Thread, c *thread.Code) { c.Admin, c.Slot = "/r/worktrees/"+id, 1 })
		require.NoError(w.t, err)
	}
	w.commit()
}

func TestAnotherMachineSeesNoFolders(t *testing.T) {
	t.Parallel()
	w := withThreads(t)
	w.atHome("laptop", "a")
	tower := w.on("tower")
	seen, _ := tower.Threads.Get("a")
	assert.Equal(t, thread.CodeElsewhere, seen.OwnedCode().State)
	assert.Equal(t, "laptop", seen.OwnedCode().Machine)
	assert.Equal(t, "a", seen.Branch)
	assert.Empty(t, seen.Worktree+seen.OwnedCode().Repo+seen.OwnedCode().Admin)
	assert.Zero(t, seen.OwnedCode().Slot)
	_, ok := tower.WorktreeOwner("/anywhere")
	assert.False(t, ok, "a worktree elsewhere is not one here")

	// What it changes leaves them as they are.
	assert.Equal(t, seen, tower.Threads.Put(seen))
	assert.Empty(t, tower.Changes())
	_, err := tower.Edit("a", thread.Edit{Title: new("New")}, w.stamp(thread.User))
	require.NoError(t, err)
	tower.SentCode("a", thread.CodeSent{Tip: "1", Machine: "laptop"})
	tower.SentCode("a", thread.CodeSent{Tip: "2", Machine: "tower"})
	tower.SentCode("a", thread.CodeSent{Tip: "3", Machine: "tower"})
	home := thread.NewState(1, thread.Records{thread.TableThreads: tower.Lines(thread.TableThreads)}, nil).On("laptop")
	is, _ := home.Threads.Get("a")
	assert.Equal(t, "New", is.Title)
	assert.Equal(t, thread.CodeReady, is.OwnedCode().State)
	assert.Equal(t, "../a", is.Worktree)
	assert.Equal(t, "/r", is.OwnedCode().Repo)
	assert.Equal(t, "/r/worktrees/a", is.OwnedCode().Admin)
	assert.Equal(t, "1", is.OwnedCode().Sent.Tip)
	assert.Equal(t, []thread.CodeSent{{Tip: "1", Machine: "laptop"}, {Tip: "3", Machine: "tower"}}, is.OwnedCode().AllSent(), "the newest of each machine")
}

func TestWhatWasSentStaysUntilTheBranchHasIt(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ includes, had bool }{{true, true}, {false, true}, {false, false}} {
		w := withThreads(t)
		w.atHome("laptop", "a")
		w.SentCode("a", thread.CodeSent{Tip: "1", Machine: "laptop"})
		w.commit()
		w.State = w.on("tower")
		_, err := w.BringCode("a", "/other", "/other.worktrees/a", w.stamp(thread.User))
		require.NoError(t, err)
		w.SentCode("a", thread.CodeSent{Tip: "2", Machine: "tower", Includes: one.includes, Had: one.had})
		want := []thread.CodeSent{{Tip: "2", Machine: "tower", Was: []string{"1"}}}
		if !one.had { // it never had that on its branch: there is no before
			want[0].Was = nil
		}
		if !one.includes {
			want = append(want, thread.CodeSent{Tip: "1", Machine: "laptop"})
		}
		seen, _ := w.Threads.Get("a")
		assert.Equal(t, want, seen.OwnedCode().AllSent())
	}
}

func TestWhatIsSentSaysWhereTheBranchWas(t *testing.T) {
	t.Parallel()
	w := withThreads(t)
	w.atHome("laptop", "a")
	was := func(tips ...string) []string {
		for _, tip := range tips {
			w.SentCode("a", thread.CodeSent{Tip: tip, Machine: "laptop"})
		}
		seen, _ := w.Threads.Get("a")
		return seen.OwnedCode().Sent.Was
	}
	assert.Empty(t, was("1"))
	assert.Equal(t, []string{"1"}, was("2", "2"), "sent again, it is where it was")
	assert.Equal(t, []string{"2", "1"}, was("1", "2", "3"), "each once, the newest first")
	assert.Equal(t, []string{"13", "12", "11", "10", "9", "8", "7", "6", "5", "4"},
		was("4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14"), "the newest ten")
	w.SentCode("a", thread.CodeSent{Tip: "15", Machine: "tower"})
	seen, _ := w.Threads.Get("a")
	assert.Empty(t, seen.OwnedCode().SentBeside[0].Was, "beside the branch there is no before")
}

func TestCodeComesToTheMachineThatBringsIt(t *testing.T) {
	t.Parallel()
	w := withThreads(t)
	w.atHome("laptop", "a")
	w.State = w.on("tower")
	_, err := w.BringCode("a", "/other", "/other.worktrees/a", w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	is := w.get("a")
	assert.Equal(t, thread.CodeMaking, is.OwnedCode().State)
	assert.Equal(t, []string{"tower", "/other", "", "/other.worktrees/a"}, []string{is.OwnedCode().Machine, is.OwnedCode().Repo, is.OwnedCode().Admin, is.Worktree})
	_, err = w.BringCode("a", "/other", "/other.worktrees/a", w.stamp(thread.User))
	assert.ErrorContains(t, err, "its worktree is making")
	laptop := w.on("laptop")
	seen, _ := laptop.Threads.Get("a")
	assert.Equal(t, thread.CodeElsewhere, seen.OwnedCode().State)

	w.State = w.on("")
	w.Alone("tower")
	w.commit()
	assert.Equal(t, "/other.worktrees/a", w.on("").ThreadsWithCode()[0].Worktree)
	assert.Equal(t, thread.CodeMaking, w.on("").Fork().ThreadsWithCode()[0].OwnedCode().State, "whoever leaves keeps what is on this machine")
	assert.Equal(t, thread.CodeElsewhere, laptop.Fork().ThreadsWithCode()[0].OwnedCode().State)
}

func TestWhatWasRemovedElsewhereIsRemoved(t *testing.T) {
	t.Parallel()
	w := withThreads(t)
	w.atHome("laptop", "a")
	_, err := w.BeginCodeRemoval("a", "", w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	tower := w.on("tower")
	assert.Equal(t, thread.CodeElsewhere, tower.ThreadsWithCode()[0].OwnedCode().State, "it is being removed there")
	_, err = w.EndCodeRemoval("a", &thread.CodeRemoval{Tip: "1", Landed: true}, w.stamp(thread.User))
	require.NoError(t, err)
	w.commit()
	code := w.on("tower").ThreadsWithCode()[0].OwnedCode()
	assert.Equal(t, thread.CodeRemoved, code.State)
	assert.True(t, code.Spent())
	assert.Empty(t, code.Repo)
}

func TestWhatWasSentStaysSentWhenSomethingIsUndone(t *testing.T) {
	t.Parallel()
	w := withThreads(t)
	w.atHome("laptop", "a")
	op := w.did(thread.User, "done", w.moving("a", thread.Done))
	w.SentCode("a", thread.CodeSent{Tip: "1", Machine: "laptop"})
	w.commit()
	w.undone(thread.User, op)
	assert.Equal(t, thread.Active, w.statusOf("a"))
	assert.Equal(t, "1", w.get("a").OwnedCode().Sent.Tip)
}
