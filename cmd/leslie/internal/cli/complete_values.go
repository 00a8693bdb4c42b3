package cli

import (
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/views"
	"leslie/thread"
	"leslie/warnings"
)

// This file offers the values of flags and operands: whatever takes an existing thing offers
// what there is.

// IDKind is what completion offers for a value: the ids of a table, or other things that a
// line may name.
type IDKind string

// What completion offers.
const (
	OtherIDs     IDKind = "" // not offered
	ThreadIDs    IDKind = thread.TableThreads
	ObjectiveIDs IDKind = thread.TableObjectives
	ReferenceIDs IDKind = thread.TableReferences
	MergeIDs     IDKind = thread.TableMerges
	ApprovalIDs  IDKind = thread.TableApprovals
	QuestionIDs  IDKind = thread.TableQuestions
	CommentIDs   IDKind = thread.TableComments

	CheckpointNames IDKind = views.KnownCheckpoints
	FileNames       IDKind = views.KnownFiles
	RunIDs          IDKind = views.KnownRuns
	InjectionIDs    IDKind = views.KnownInjections
	ConflictIDs     IDKind = views.KnownConflicts
	ChoiceNames     IDKind = views.KnownAnswers
	OperationIDs    IDKind = views.KnownOperations
	TagNames        IDKind = views.KnownTags
	capabilityNames IDKind = views.KnownCapabilities
	checkNames      IDKind = views.KnownChecks
	AgentNames      IDKind = views.KnownAgents

	versionIDs   IDKind = "versions" // threads, and pending merges
	ShownIDs     IDKind = "shown"    // whatever show shows
	SideNames    IDKind = "sides"    // that a conflict may be decided for
	CodeNames    IDKind = "codes"    // of errors and warnings
	CommandNames IDKind = "recorded" // commands that operations are named after
)

// Offering sets what completion offers for a value.
func (v *Value) Offering(kind IDKind) *Value {
	v.IDs = kind
	return v
}

// valuesOf are the words of an enum, and what there is that a value may name.
func (c *Call) valuesOf(v *Value) (out []candidate) {
	out = wordsOnly(slices.Concat(v.Words, v.Listed))
	var kinds []IDKind
	switch v.IDs {
	case OtherIDs:
	case versionIDs:
		kinds = []IDKind{ThreadIDs, MergeIDs}
	case ShownIDs:
		kinds = []IDKind{ThreadIDs, OperationIDs, ApprovalIDs, QuestionIDs, MergeIDs}
	case SideNames:
		out, kinds = wordsOnly([]string{"ours", "theirs", "base", "both", "delete", "keep"}), []IDKind{ThreadIDs}
	case CodeNames:
		for _, e := range codes.Table() {
			out = append(out, candidate{string(e.Code), e.Title})
		}
		for _, e := range warnings.Table() {
			out = append(out, candidate{string(e.Code), e.Title})
		}
	case CommandNames:
		for _, cmd := range c.Env.Commands.All() {
			if cmd.Writes {
				out = append(out, candidate{cmd.Name, cmd.Summary})
			}
		}
	default:
		kinds = []IDKind{v.IDs}
	}
	for _, kind := range kinds {
		out = append(out, c.knownOf(kind)...)
	}
	if !v.signs {
		return out
	}
	signed := make([]candidate, 0, 2*len(out))
	for _, sign := range []string{"+", "-"} {
		for _, one := range out {
			signed = append(signed, candidate{sign + one.word, one.label})
		}
	}
	return signed
}

// knownOf are the things of a kind that there are now.
func (c *Call) knownOf(kind IDKind) (out []candidate) {
	project, err := app.Open(c.Who.Dir, c.offlineEnvironment())
	if err != nil {
		return nil
	}
	// This call writes no log, and its warnings are dropped.
	known, _ := views.Known(project.Call(c.Ctx, c.Caller(), app.Request{}), string(kind), c.completedOwner())
	for _, one := range known {
		label, _, _ := strings.Cut(one.Label, "\n")
		out = append(out, candidate{one.ID, label})
	}
	return out
}

// completedOwner is what the line is about so far: what has the files, checkpoints or conflicts that
// may come next.
func (c *Call) completedOwner() string {
	for _, flag := range []string{"target", "parent", "sources"} {
		if given := c.Texts(flag); len(given) > 0 {
			first, _, _ := strings.Cut(given[0], ",")
			return first
		}
	}
	if len(c.Line.Operands) > 0 {
		first, _, _ := strings.Cut(c.Line.Operands[0], "@")
		return first
	}
	return ""
}
