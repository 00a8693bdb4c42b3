package app

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

// asked is a use case with its request.
type asked func(*Call) error

func ask[In, Out any](do func(*Call, In) (*Out, error), in In) asked {
	return func(c *Call) error { _, err := do(c, in); return err }
}

// A command line checks its flags before it calls a use case. A direct caller gets the
// same faults, with the names of the request's fields.
func TestARequestThatNobodyCheckedIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	long, wide := strings.Repeat("x", maxTitle+1), strings.Repeat("x", MaxContent+1)
	before := b.tree()
	for reason, do := range map[string]asked{
		"Title is missing": ask(CreateObjective, CreateObjectiveRequest{Title: " "}),
		"Title is 201 characters long; at most 200; ID must be an id": ask(CreateObjective, CreateObjectiveRequest{Title: long, ID: "../x"}),
		"Intent is missing":                        ask(Spawn, SpawnRequest{}),
		"Intent is longer than 64 KiB":             ask(Spawn, SpawnRequest{Intent: wide}),
		"Tags is empty":                            ask(Spawn, SpawnRequest{Intent: "x", Tags: []string{""}}),
		"Tags takes at most 100":                   ask(Spawn, SpawnRequest{Intent: "x", Tags: []string{strings.Repeat("x", maxTag+1)}}),
		"Tags is given 101 times":                  ask(Spawn, SpawnRequest{Intent: "x", Tags: strings.Split(strings.Repeat("x", maxTags+1), "")}),
		"ID must be an id":                         ask(Spawn, SpawnRequest{Intent: "x", ID: "a/b"}),
		"Inherit full needs Parent":                ask(Spawn, SpawnRequest{Intent: "x", Inherit: thread.InheritFull}),
		"Inherit partial needs Scope":              ask(Spawn, SpawnRequest{Intent: "x", Parent: "main", Inherit: thread.InheritPartial}),
		"Scope goes with Inherit partial":          ask(Spawn, SpawnRequest{Intent: "x", Parent: "main", Scope: []string{"a"}}),
		"Inherit must be none, full or partial":    ask(Spawn, SpawnRequest{Intent: "x", Parent: "main", Inherit: "most"}),
		"Executor must be human or agent":          ask(Spawn, SpawnRequest{Intent: "x", Executor: "robot"}),
		"Refs is the new thread itself":            ask(Spawn, SpawnRequest{Intent: "x", ID: "new", Refs: []string{"new"}}),
		"Title is 201 characters":                  ask(Update, UpdateRequest{Thread: "main", Edit: thread.Edit{Title: &long}}),
		"AddTags both adds and drops":              ask(Update, UpdateRequest{Thread: "main", Edit: thread.Edit{AddTags: []string{"a"}, DropTags: []string{"a"}}}),
		"AddDepends must be an id":                 ask(Update, UpdateRequest{Thread: "main", Edit: thread.Edit{AddDepends: []string{"../x"}}}),
		"Status must be":                           ask(List, ListRequest{Status: "idle"}),
		"Type is missing; Content is missing":      ask(Inject, InjectRequest{Thread: "main"}),
		"Urgency must be":                          ask(Inject, InjectRequest{Thread: "main", Type: thread.InjectData, Urgency: "soon", Content: "x"}),
		"Target is missing":                        ask(CreateReference, CreateReferenceRequest{From: "main"}),
		"cannot refer to itself":                   ask(CreateReference, CreateReferenceRequest{From: "main", Target: "main"}),
		"Binding must be frozen or live":           ask(CreateReference, CreateReferenceRequest{From: "main", Target: "part", Binding: "loose"}),
		"Direction is missing":                     ask(Transfer, TransferRequest{Thread: "main"}),
		"Scope is missing":                         ask(Transfer, TransferRequest{Thread: "main", Direction: RequestApproval}),
		"Fallback skip needs Timeout":              ask(Transfer, TransferRequest{Thread: "main", Direction: RequestApproval, Scope: []string{"deploy"}, Fallback: thread.Skip}),
		"To is missing; Scope ":                    ask(Transfer, TransferRequest{Thread: "main", Direction: HandOff, Scope: []string{"deploy"}}),
		`there is no capability "deplo" among`:     ask(Transfer, TransferRequest{Thread: "main", Direction: Delegate, Scope: []string{"deplo"}}),
		`there is no capability "fly"`:             ask(Can, CanRequest{Capability: "fly"}),
		"For must not be negative":                 ask(Claim, ClaimRequest{Thread: "main", For: -time.Second}),
		"Next chooses the thread":                  ask(Claim, ClaimRequest{Thread: "main", Next: true}),
		"Decision must be approve, deny or revoke": ask(Decide, DecideRequest{Approval: "appr-1", Decision: "maybe"}),
		"Approval is missing":                      ask(Decide, DecideRequest{Decision: thread.Approve}),
		"Reviewer is missing":                      ask(ReviewAll, ReviewRequest{}),
	} {
		err := do(b.call())
		require.True(t, codes.Has(err, codes.InvalidArgument), "%s: %v", reason, err)
		assert.Contains(t, err.Error(), reason)
	}
	assert.Equal(t, before, b.tree(), "nothing was written")
}

// A path that leads outside is T507 for every caller, and an empty id matches no thread.
func TestWhatADirectCallerNamesIsLookedUpWithTheSameCare(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for want, do := range map[codes.Code]asked{
		codes.UnsafePath:        ask(Artifacts, ArtifactsRequest{Thread: "main", Scope: []string{"../part"}}),
		codes.ScopeNotFound:     ask(Artifacts, ArtifactsRequest{Thread: "main", Scope: []string{"plan.md"}}),
		codes.ThreadNotFound:    ask(Update, UpdateRequest{}),
		codes.ReferenceNotFound: ask(ShowReference, ReferenceRequest{}),
		codes.ApprovalNotFound:  ask(Decide, DecideRequest{Approval: "appr-nobody", Decision: thread.Deny}),
		codes.AlreadyExists:     ask(Spawn, SpawnRequest{Intent: "x", ID: "main"}),
	} {
		err := do(b.call())
		assert.True(t, codes.Has(err, want), "%s: %v", want, err)
	}
}

func TestAnAgentWithoutANameHoldsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.Call(context.Background(), Caller{As: thread.Agent, Actor: "kim", Unnamed: true}, Request{Command: "claim"})
	_, err := Claim(c, ClaimRequest{Next: true})
	assert.True(t, codes.Has(err, codes.InvalidArgument), "%v", err)
}

func TestReadsOfRecordsChangeNothingForADirectCaller(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := CreateReference(b.call(), CreateReferenceRequest{From: "main", Target: "part"})
	require.NoError(t, err)
	before := b.tree()
	for name, read := range map[string]asked{
		"list": ask(List, ListRequest{}), "summary": ask(Summary, SummaryRequest{}), "status": ask(ThreadStatus, ThreadStatusRequest{Thread: "main"}),
		"artifacts": ask(Artifacts, ArtifactsRequest{Thread: "main"}), "objectives": ask(ListObjectives, ListObjectivesRequest{}),
		"objective": ask(ShowObjective, ObjectiveRequest{Objective: "ship"}), "references": ask(ListReferences, ListReferencesRequest{}),
		"approvals": ask(ListApprovals, ListApprovalsRequest{All: true}), "can": ask(Can, CanRequest{Capability: "read", Thread: "main"}),
	} {
		c := b.call()
		require.NoError(t, read(c), name)
		c.Finish(nil)
		assert.Equal(t, before, b.tree(), name)
		assert.True(t, c.request.ReadOnly, name)
	}
}
