package threads

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/app/apptest"
	"leslie/internal/fact"
	"leslie/thread"
)

func TestAWaitSaysWhatHappenedMeanwhileAndWhoIsSilent(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, id := range []string{"before", "meanwhile"} {
		_, err := Spawn(b.Person(), SpawnRequest{ID: id, Intent: "x"})
		require.NoError(t, err)
	}
	end := func(id string) {
		_, err := Lifecycle(b.Person(), LifecycleRequest{Thread: id, Action: thread.Done})
		require.NoError(t, err)
	}
	_, err := Claim(b.Agent("w"), ClaimRequest{Thread: "part"})
	require.NoError(t, err)
	b.Changed("part", b.Now())
	end("before")
	w := &waiting{WaitRequest: WaitRequest{Threads: []string{"before", "meanwhile", "part"}, Until: thread.UntilDone}, c: b.Agent("lead")}
	timedOut := func() *codes.Error {
		_, err := w.c.View(func(s *thread.State) error {
			_, _, err := w.look(s)
			return err
		})
		require.NoError(t, err)
		return codes.Of(w.timedOut(codes.WaitTimeout.New(fact.Of("duration", "1m0s"))))
	}
	assert.Contains(t, timedOut().Error(), "Nothing happened within 1m0s")
	end("meanwhile")
	b.Pass(4 * time.Minute)
	w.c = b.Agent("lead")
	e := timedOut()
	assert.Contains(t, e.Error(), "Not all that was waited for happened within 1m0s")
	assert.Contains(t, e.Hint(), "not completed yet: part; part: w was last heard of 4m0s ago")
}
