package views

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/apptest"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/decisions"
	"leslie/internal/app/threads"
	"leslie/thread"
)

// A command line checks its flags before it calls a use case. A direct caller gets the
// same faults, with the names of the request's fields.
func TestARequestThatNobodyCheckedIsRefused(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	long, wide := strings.Repeat("x", app.MaxTitle+1), strings.Repeat("x", app.MaxContent+1)
	before := b.Tree()
	for reason, do := range map[string]apptest.Asked{
		"Title is missing": apptest.Ask(threads.CreateObjective, threads.CreateObjectiveRequest{Title: " "}),
		"Title is 201 characters long; at most 200; ID must be an id": apptest.Ask(threads.CreateObjective, threads.CreateObjectiveRequest{Title: long, ID: "../x"}),
		"Intent is missing":                        apptest.Ask(threads.Spawn, threads.SpawnRequest{}),
		"Intent is longer than 64 KiB":             apptest.Ask(threads.Spawn, threads.SpawnRequest{Intent: wide}),
		"Tags is empty":                            apptest.Ask(threads.Spawn, threads.SpawnRequest{Intent: "x", Tags: []string{""}}),
		"Tags takes at most 100":                   apptest.Ask(threads.Spawn, threads.SpawnRequest{Intent: "x", Tags: []string{strings.Repeat("x", app.MaxTag+1)}}),
		"Tags is given 101 times":                  apptest.Ask(threads.Spawn, threads.SpawnRequest{Intent: "x", Tags: strings.Split(strings.Repeat("x", app.MaxTags+1), "")}),
		"ID must be an id":                         apptest.Ask(threads.Spawn, threads.SpawnRequest{Intent: "x", ID: "a/b"}),
		"Inherit full needs Parent":                apptest.Ask(threads.Spawn, threads.SpawnRequest{Intent: "x", Inherit: thread.InheritFull}),
		"Inherit partial needs Scope":              apptest.Ask(threads.Spawn, threads.SpawnRequest{Intent: "x", Parent: "main", Inherit: thread.InheritPartial}),
		"Scope goes with Inherit partial":          apptest.Ask(threads.Spawn, threads.SpawnRequest{Intent: "x", Parent: "main", Scope: []string{"a"}}),
		"Inherit must be none, full or partial":    apptest.Ask(threads.Spawn, threads.SpawnRequest{Intent: "x", Parent: "main", Inherit: "most"}),
		"Executor must be human or agent":          apptest.Ask(threads.Spawn, threads.SpawnRequest{Intent: "x", Executor: "robot"}),
		"Refs is the new thread itself":            apptest.Ask(threads.Spawn, threads.SpawnRequest{Intent: "x", ID: "new", Refs: []string{"new"}}),
		"Title is 201 characters":                  apptest.Ask(threads.Update, threads.UpdateRequest{Thread: "main", Edit: thread.Edit{Title: &long}}),
		"AddTags both adds and drops":              apptest.Ask(threads.Update, threads.UpdateRequest{Thread: "main", Edit: thread.Edit{AddTags: []string{"a"}, DropTags: []string{"a"}}}),
		"AddDepends must be an id":                 apptest.Ask(threads.Update, threads.UpdateRequest{Thread: "main", Edit: thread.Edit{AddDepends: []string{"../x"}}}),
		"Status must be":                           apptest.Ask(threads.List, threads.ListRequest{Status: "idle"}),
		"Type is missing; Content is missing":      apptest.Ask(threads.Inject, threads.InjectRequest{Thread: "main"}),
		"Urgency must be":                          apptest.Ask(threads.Inject, threads.InjectRequest{Thread: "main", Type: thread.InjectData, Urgency: "soon", Content: "x"}),
		"Target is missing":                        apptest.Ask(artifacts.CreateReference, artifacts.CreateReferenceRequest{From: "main"}),
		"cannot refer to itself":                   apptest.Ask(artifacts.CreateReference, artifacts.CreateReferenceRequest{From: "main", Target: "main"}),
		"Binding must be frozen or live":           apptest.Ask(artifacts.CreateReference, artifacts.CreateReferenceRequest{From: "main", Target: "part", Binding: "loose"}),
		"Direction is missing":                     apptest.Ask(decisions.Transfer, decisions.TransferRequest{Thread: "main"}),
		"Scope is missing":                         apptest.Ask(decisions.Transfer, decisions.TransferRequest{Thread: "main", Direction: decisions.RequestApproval}),
		"Fallback skip needs Timeout":              apptest.Ask(decisions.Transfer, decisions.TransferRequest{Thread: "main", Direction: decisions.RequestApproval, Scope: []string{"deploy"}, Fallback: thread.Skip}),
		"To is missing; Scope ":                    apptest.Ask(decisions.Transfer, decisions.TransferRequest{Thread: "main", Direction: decisions.HandOff, Scope: []string{"deploy"}}),
		`there is no capability "deplo" among`:     apptest.Ask(decisions.Transfer, decisions.TransferRequest{Thread: "main", Direction: decisions.Delegate, Scope: []string{"deplo"}}),
		`there is no capability "fly"`:             apptest.Ask(threads.Can, threads.CanRequest{Capability: "fly"}),
		"For must not be negative":                 apptest.Ask(threads.Claim, threads.ClaimRequest{Thread: "main", For: -time.Second}),
		"Next chooses the thread":                  apptest.Ask(threads.Claim, threads.ClaimRequest{Thread: "main", Next: true}),
		"Decision must be approve, deny or revoke": apptest.Ask(decisions.Decide, decisions.DecideRequest{Approval: "appr-1", Decision: "maybe"}),
		"Approval is missing":                      apptest.Ask(decisions.Decide, decisions.DecideRequest{Decision: thread.Approve}),
		"Reviewer is missing":                      apptest.Ask(decisions.ReviewAll, decisions.ReviewRequest{}),
	} {
		err := do(b.Person())
		require.True(t, codes.Has(err, codes.InvalidArgument), "%s: %v", reason, err)
		assert.Contains(t, err.Error(), reason)
	}
	assert.Equal(t, before, b.Tree(), "nothing was written")
}

// A path that leads outside is T507 for every caller, and an empty id matches no thread.
func TestWhatADirectCallerNamesIsLookedUpWithTheSameCare(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for want, do := range map[codes.Code]apptest.Asked{
		codes.UnsafePath:        apptest.Ask(artifacts.Artifacts, artifacts.ArtifactsRequest{Thread: "main", Scope: []string{"../part"}}),
		codes.ScopeNotFound:     apptest.Ask(artifacts.Artifacts, artifacts.ArtifactsRequest{Thread: "main", Scope: []string{"plan.md"}}),
		codes.ThreadNotFound:    apptest.Ask(threads.Update, threads.UpdateRequest{}),
		codes.ReferenceNotFound: apptest.Ask(artifacts.ShowReference, artifacts.ReferenceRequest{}),
		codes.ApprovalNotFound:  apptest.Ask(decisions.Decide, decisions.DecideRequest{Approval: "appr-nobody", Decision: thread.Deny}),
		codes.AlreadyExists:     apptest.Ask(threads.Spawn, threads.SpawnRequest{Intent: "x", ID: "main"}),
	} {
		err := do(b.Person())
		assert.True(t, codes.Has(err, want), "%s: %v", want, err)
	}
}

func TestAnAgentWithoutANameHoldsNothing(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Call(context.Background(), app.Caller{As: thread.Agent, Actor: "kim", Unnamed: true}, app.Request{Command: "claim"})
	_, err := threads.Claim(c, threads.ClaimRequest{Next: true})
	assert.True(t, codes.Has(err, codes.InvalidArgument), "%v", err)
}

func TestReadsOfRecordsChangeNothingForADirectCaller(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	_, err := artifacts.CreateReference(b.Person(), artifacts.CreateReferenceRequest{From: "main", Target: "part"})
	require.NoError(t, err)
	before := b.Tree()
	for name, read := range map[string]apptest.Asked{
		"list": apptest.Ask(threads.List, threads.ListRequest{}), "summary": apptest.Ask(threads.Summary, threads.SummaryRequest{}), "status": apptest.Ask(threads.Status, threads.StatusRequest{Thread: "main"}),
		"artifacts": apptest.Ask(artifacts.Artifacts, artifacts.ArtifactsRequest{Thread: "main"}), "objectives": apptest.Ask(threads.ListObjectives, threads.ListObjectivesRequest{}),
		"objective": apptest.Ask(threads.ShowObjective, threads.ObjectiveRequest{Objective: "ship"}), "references": apptest.Ask(artifacts.ListReferences, artifacts.ListReferencesRequest{}),
		"approvals": apptest.Ask(decisions.ListApprovals, decisions.ListApprovalsRequest{All: true}), "can": apptest.Ask(threads.Can, threads.CanRequest{Capability: "read", Thread: "main"}),
	} {
		c := b.Person()
		require.NoError(t, read(c), name)
		c.Finish(nil)
		assert.Equal(t, before, b.Tree(), name)
		assert.True(t, c.Request().ReadOnly, name)
	}
}
