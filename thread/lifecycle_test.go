package thread_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The golden file is the contract's table, line by line.
func TestEveryActionFromEveryStatusDoesWhatTheContractSays(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| from \\ action |")
	for _, a := range thread.Actions() {
		b.WriteString(" " + string(a) + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(thread.Actions())) + "\n")
	for _, from := range thread.Statuses() {
		b.WriteString("| " + string(from) + " |")
		for _, action := range thread.Actions() {
			b.WriteString(" " + outcome(t, from, action) + " |")
		}
		b.WriteString("\n")
	}
	golden := filepath.Join("testdata", "transitions.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String(), "thread/testdata/transitions.golden is the contract's table")
}

// outcome runs one action and returns the new status, "=" for no change, or "-" for a
// refusal that changes nothing.
func outcome(t *testing.T, from thread.Status, action thread.Action) string {
	t.Helper()
	w := standing(t, from)
	promised, allowed := from.After(action)
	done, err := w.Lifecycle("it", action, "why", w.stamp(thread.User))
	if err != nil {
		failed(t, err, codes.InvalidTransition, nil)
		assert.False(t, allowed, "After allows %s from %s", action, from)
		assert.Empty(t, w.Changes(), "a refused %s from %s", action, from)
		return "-"
	}
	require.True(t, allowed, "After forbids %s from %s", action, from)
	assert.Equal(t, promised, done.Thread.Status)
	assert.Equal(t, from, done.From)
	if promised == from {
		assert.Empty(t, w.Changes(), "%s from %s", action, from)
		assert.Empty(t, w.ArchivedNow(), "%s from %s", action, from)
		return "="
	}
	assert.NotEmpty(t, w.Changes())
	assert.Equal(t, "why", done.Thread.Reason)
	w.commit()
	assert.Equal(t, promised, w.statusOf("it"))
	return string(promised)
}

func TestTheTerminatedStatusesAreTheLastThree(t *testing.T) {
	t.Parallel()
	for i, status := range thread.Statuses() {
		assert.Equal(t, i >= 3, status.Terminated(), "%s", status)
	}
}

func TestARefusedActionReportsTheStatusAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	cases := []struct {
		from    thread.Status
		action  thread.Action
		to      thread.Status
		allowed []string
	}{
		{thread.Active, thread.Resume, thread.Active, []string{"done", "cancel", "suspend"}},
		{thread.Active, thread.Archive, thread.Archived, []string{"done", "cancel", "suspend"}},
		{thread.Suspended, thread.Archive, thread.Archived, []string{"done", "cancel", "suspend", "resume"}},
		{thread.WaitingHuman, thread.Done, thread.Completed, []string{"cancel", "resume"}},
		{thread.WaitingHuman, thread.Suspend, thread.Suspended, []string{"cancel", "resume"}},
		{thread.Completed, thread.Cancel, thread.Cancelled, []string{"done", "archive", "reopen"}},
		{thread.Cancelled, thread.Done, thread.Completed, []string{"cancel", "archive", "reopen"}},
		{thread.Archived, thread.Resume, thread.Active, []string{"archive"}},
	}
	for _, c := range cases {
		t.Run(string(c.action)+" from "+string(c.from), func(t *testing.T) {
			t.Parallel()
			w := standing(t, c.from)
			_, err := w.Lifecycle("it", c.action, "", w.stamp(thread.User))
			e := failed(t, err, codes.InvalidTransition, map[string]any{
				"threadId": thread.ThreadID("it"), "from": c.from, "to": c.to, "current": c.from, "allowed": c.allowed,
			})
			hint := "Thread is in " + string(c.from) + " state"
			if slices.Contains(c.allowed, "reopen") {
				hint += "; leslie reopen it makes it active again"
			}
			assert.Equal(t, hint, e.Hint())
			assert.Equal(t, []string{"leslie status it"}, e.Next())
		})
	}
}

func TestAnAgentCannotEndAWaitForAPerson(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.WaitingHuman)
	_, err := w.Lifecycle("it", thread.Resume, "", w.stamp(thread.Agent))
	e := failed(t, err, codes.PermissionDenied, map[string]any{"threadId": thread.ThreadID("it")})
	assert.NotContains(t, e.Error(), "{", "the message says what was denied")
	assert.Empty(t, w.Changes())

	done, err := w.Lifecycle("it", thread.Resume, "", w.stamp(thread.User))
	require.NoError(t, err, "a person can")
	assert.Equal(t, thread.Active, done.Thread.Status)

	other := standing(t, thread.Suspended)
	_, err = other.Lifecycle("it", thread.Resume, "", other.stamp(thread.Agent))
	require.NoError(t, err, "an agent resumes what was only set aside")
}

func TestAnAgentMayCancelAThreadThatWaits(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.WaitingHuman)
	done, err := w.Lifecycle("it", thread.Cancel, "", w.stamp(thread.Agent))
	require.NoError(t, err)
	assert.Equal(t, thread.Cancelled, done.Thread.Status)
}

func TestAStatusChangeIsStamped(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Active)
	stamp := w.stamp(thread.User)
	done, err := w.Lifecycle("it", thread.Suspend, "waits for the API", stamp)
	require.NoError(t, err)
	assert.Equal(t, "waits for the API", done.Thread.Reason)
	assert.Equal(t, stamp.Time, done.Thread.Updated)
	assert.Equal(t, w.Revision+1, done.Thread.Revision)
	w.commit()

	again, err := w.Lifecycle("it", thread.Suspend, "another reason", w.stamp(thread.User))
	require.NoError(t, err)
	assert.Equal(t, done.Thread, again.Thread, "suspending twice changes nothing, the reason neither")
}

func TestArchivingMovesTheThreadAndItsReferencesOutOfTheState(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("api", "docs", "other")
	w.tied("ref-1", "docs", "api")
	w.tied("ref-2", "docs", "other")
	w.tied("ref-3", "other", "api")
	w.moved("docs", thread.Done)

	done, err := w.Lifecycle("docs", thread.Archive, "old", w.stamp(thread.User))
	require.NoError(t, err)
	assert.Equal(t, thread.Archived, done.Thread.Status)
	assert.Equal(t, thread.Completed, done.From)
	assert.Equal(t, w.Revision+1, done.Thread.Revision)

	assert.Equal(t, []string{"objectives/obj-one", "threads/docs", "references/ref-1", "references/ref-2"}, w.recordsChanged())
	for _, c := range w.Changes()[1:] {
		assert.NotNil(t, c.Before, "%s was there", c.Record)
		assert.Nil(t, c.After, "%s left", c.Record)
	}
	var moved []string
	for _, c := range w.ArchivedNow() {
		moved = append(moved, c.Record)
		assert.NotNil(t, c.After, "the archive keeps %s", c.Record)
	}
	assert.Equal(t, []string{"threads/docs", "references/ref-1", "references/ref-2"}, moved)
	var kept thread.Thread
	require.NoError(t, json.Unmarshal(w.ArchivedNow()[0].After, &kept))
	assert.Equal(t, done.Thread, kept)

	w.commit()
	o, _ := w.Objectives.Get("obj-one")
	assert.Equal(t, thread.Counts{thread.Active: 2, thread.Archived: 1}, w.CountsOf(o))
	_, all := w.AllCounts()
	assert.Equal(t, thread.Counts{thread.Active: 2, thread.Archived: 1}, all)
	assert.Len(t, w.AllReferences(), 1, "another thread's reference stays")
	archived, err := w.ArchivedReferencesFrom("docs")
	require.NoError(t, err)
	require.Len(t, archived, 2)
	assert.Equal(t, thread.ReferenceID("ref-1"), archived[0].ID)
	assert.Equal(t, thread.Archived, w.StatusOf("docs"), "an id that the State lacks is archived")
}

func TestAnArchivedRecordIsFoundInTheSameOperation(t *testing.T) {
	t.Parallel()
	w := standing(t, thread.Completed)
	_, err := w.Lifecycle("it", thread.Archive, "", w.stamp(thread.User))
	require.NoError(t, err)

	th, err := w.Thread("it")
	require.NoError(t, err)
	assert.Equal(t, thread.Archived, th.Status)
	again, err := w.Lifecycle("it", thread.Archive, "", w.stamp(thread.User))
	require.NoError(t, err)
	assert.Equal(t, thread.Archived, again.From)
	assert.True(t, w.Exists("it"))
	all, err := w.List(thread.Filter{All: true})
	require.NoError(t, err)
	assert.Equal(t, []thread.ThreadID{"it"}, ids(all))
	assert.Len(t, w.ArchivedNow(), 1)
}
