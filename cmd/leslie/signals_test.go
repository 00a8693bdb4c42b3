package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/thread"
)

// listening is a context that knows whether Done has been called: from then on the
// process catches signals (interruptible).
type listening struct {
	context.Context
	asked bool
}

func (l *listening) Done() <-chan struct{} {
	l.asked = true
	return l.Context.Done()
}

// A signal between the commit and the wait must be answered, too: the request is
// recorded, and the caller needs its id.
func TestWhoCommitsAndWaitsHearsSignalsFromInFrontOfTheCommit(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		prefix string // of what the commit makes
		hears  bool
		line   []string
	}{
		"a request that is waited for": {thread.PrefixApproval, true, []string{"transfer", "main", "--direction", "request_approval", "--scope", "deploy", "--wait", "--as", "agent", "--actor", "bot"}},
		"a request":                    {thread.PrefixApproval, false, []string{"transfer", "main", "--direction", "request_approval", "--scope", "deploy"}},
		"a merge with a conflict":      {thread.PrefixMerge, true, []string{"merge", "--sources", "part", "--target", "main"}},
		"a merge that is approved":     {thread.PrefixApproval, true, []string{"merge", "--sources", "part", "--target", "main", "--scope", "same.md", "--require-approval"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			b.write(t, ".leslie/threads/main/plan.md", "one\n")
			b.write(t, ".leslie/threads/part/plan.md", "two\n")
			b.write(t, ".leslie/threads/part/same.md", "new\n")
			over, end := context.WithCancel(context.Background())
			ctx := &listening{Context: over}
			own, commits := b.NewID, 0
			b.NewID = func(prefix string) string {
				if prefix == c.prefix {
					commits++
					assert.Equal(t, c.hears, ctx.asked)
					end() // nobody is to be waited for here
				}
				return own(prefix)
			}
			b.perform(ctx, commands().All(), c.line...)
			assert.Equal(t, 1, commits, "%s%s", &b.out, &b.err)
		})
	}
}
