package views

import (
	"cmp"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/code"
	"leslie/internal/app/history"
	"leslie/internal/app/merges"
	"leslie/internal/app/runs"
	"leslie/internal/app/threads"
	"leslie/internal/transcript"
	"leslie/thread"
)

// What Known lists that is no table of the state: a part of a record, a file, or what the
// configuration names.
const (
	KnownCheckpoints  = "checkpoints"  // of a thread
	KnownFiles        = "files"        // of a thread
	KnownRuns         = "runs"         // of a thread
	KnownInjections   = "injections"   // of a thread, or of all, that can be withdrawn
	KnownConflicts    = "conflicts"    // of a pending merge, and their paths
	KnownAnswers      = "answers"      // that a question offers
	KnownOperations   = "operations"   // the newest
	KnownTags         = "tags"         // of threads
	KnownCapabilities = "capabilities" // of the policy
	KnownChecks       = "checks"       // of the configuration
	KnownAgents       = "agents"       // that leslie or the configuration knows
)

// knownOperations is how many operations are listed.
const knownOperations = 50

// Known are the ids of a table (thread.TableThreads and its like) as they are in the state
// now, in the order of the ids, with what their records are called; or what else a line may
// name. of is the record that this belongs to, "" for the thread that the caller speaks for.
// Errors: those of reading.
func Known(c *app.Call, table, of string) (all []codes.Candidate, err error) {
	c.ReadOnly()
	switch table {
	case KnownOperations:
		all, err := knownOf(history.List, c, history.ListRequest{Limit: knownOperations}, func(d *history.ListResult) []app.OperationRecord { return d.Items.Items },
			func(op app.OperationRecord) codes.Candidate {
				label := op.Command
				if op.ThreadID != nil {
					label += " " + string(*op.ThreadID)
				}
				return codes.Candidate{ID: string(op.OperationID), Label: label + " by " + op.Actor}
			})
		return all, err // the newest first
	case KnownFiles:
		return knownOf(artifacts.Artifacts, c, artifacts.ArtifactsRequest{Thread: of}, func(d *artifacts.ArtifactsResult) []artifacts.Artifact { return d.Items.Items },
			func(a artifacts.Artifact) codes.Candidate { return codes.Candidate{ID: a.Path} })
	case KnownAgents:
		return knownOf(agents.List, c, agents.ListRequest{}, func(d *agents.ListResult) []agents.Item { return d.Items },
			func(a agents.Item) codes.Candidate {
				return codes.Candidate{ID: a.Name, Label: strings.Join(a.Command, " ")}
			})
	case KnownCapabilities:
		return knownOf(threads.ListCapabilities, c, threads.ListCapabilitiesRequest{}, func(d *threads.ListCapabilitiesResult) []threads.CapabilityRecord { return d.Items.Items },
			func(r threads.CapabilityRecord) codes.Candidate { return codes.Candidate{ID: r.Capability} })
	case KnownChecks:
		may, _, err := code.ChecksOf(c)
		for _, name := range app.SortedKeys(may) {
			all = append(all, codes.Candidate{ID: name, Label: may[name]})
		}
		return all, err
	case KnownConflicts:
		return knownConflicts(c, of)
	case KnownRuns:
		runs, err := transcript.Runs(runs.Folder(c, thread.ThreadID(c.ThreadOr(of))))
		for _, run := range runs {
			all = append(all, codes.Candidate{ID: run})
		}
		return all, err
	}
	of = c.ThreadOr(of)
	_, err = c.View(func(s *thread.State) (err error) {
		all, err = knownRecords(s, table, of)
		return err
	})
	slices.SortFunc(all, func(a, b codes.Candidate) int { return cmp.Compare(a.ID, b.ID) })
	return all, err
}

// knownOf lists what a use case answers.
func knownOf[In, Out, Item any](do func(*app.Call, In) (*Out, error), c *app.Call, in In, items func(*Out) []Item, as func(Item) codes.Candidate,
) (all []codes.Candidate, err error) {
	d, err := do(c, in)
	if err != nil {
		return nil, err
	}
	for _, one := range items(d) {
		all = append(all, as(one))
	}
	return all, nil
}

// knownConflicts lists the conflicts of a pending merge, each path before its own.
func knownConflicts(c *app.Call, of string) (all []codes.Candidate, err error) {
	d, err := merges.Status(c, merges.StatusRequest{Merge: of})
	if err != nil {
		return nil, err
	}
	path := ""
	for _, one := range d.Conflicts {
		if one.Path != path {
			path = one.Path
			all = append(all, codes.Candidate{ID: path, Label: "all conflicts of it"})
		}
		all = append(all, codes.Candidate{ID: one.ID, Label: path})
	}
	return all, nil
}

func knownRecords(s *thread.State, table, of string) (all []codes.Candidate, err error) {
	switch table {
	case thread.TableThreads:
		all = s.ThreadCandidates()
	case thread.TableObjectives:
		all = thread.Candidates(slices.Collect(s.Objectives.All()))
	case thread.TableReferences:
		all = thread.Candidates(slices.Collect(s.References.All()))
	case thread.TableMerges:
		all = thread.Candidates(slices.Collect(s.Merges.All()))
	case thread.TableApprovals:
		all = thread.Candidates(slices.Collect(s.Approvals.All()))
	case thread.TableQuestions:
		all = thread.Candidates(slices.Collect(s.Questions.All()))
	case thread.TableComments:
		all = thread.Candidates(s.OpenComments(""))
	case KnownAnswers:
		q, err := s.Question(of)
		for _, choice := range q.Choices {
			all = append(all, codes.Candidate{ID: choice})
		}
		return all, err
	case KnownCheckpoints:
		t, err := s.Thread(of)
		for _, point := range t.Checkpoints {
			all = append(all, codes.Candidate{ID: string(point.ID), Label: point.Name})
			if point.Name != "" && !strings.ContainsAny(point.Name, " \t") { // a word that a shell inserts as it is
				all = append(all, codes.Candidate{ID: point.Name, Label: string(point.ID)})
			}
		}
		return all, err
	case KnownInjections:
		for t := range s.Threads.All() {
			for _, i := range t.Injections {
				if i.Seen == nil && (of == "" || string(t.ID) == of) {
					all = append(all, codes.Candidate{ID: string(i.ID), Label: i.Content})
				}
			}
		}
	case KnownTags:
		for t := range s.Threads.All() {
			for _, tag := range t.Tags {
				all = append(all, codes.Candidate{ID: tag})
			}
		}
		slices.SortFunc(all, func(a, b codes.Candidate) int { return cmp.Compare(a.ID, b.ID) })
		all = slices.Compact(all)
	}
	return all, nil
}
