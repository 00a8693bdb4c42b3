// Package warnings says what the caller ought to know although it worked: the
// table of W codes, the Warning with its facts, and an ordered List of them.
// It never logs and never prints.
package warnings

import (
	"reflect"
	"slices"

	"leslie/internal/fact"
)

// Code is the wire name of one kind of warning: "W202".
type Code string

// The W codes.
const (
	ThreadSuspended  Code = "W103"
	RepeatedFailure  Code = "W104"
	TargetUnresolved Code = "W202"
	ReferenceStale   Code = "W203"
	SkippedFiles     Code = "W204"
	AutoResolved     Code = "W301"
	AgentDeclined    Code = "W303"
	UntrustedCommand Code = "W305"
	FallbackUsed     Code = "W401"
	ArtifactsChanged Code = "W402"
	Recovered        Code = "W502"
	LogUnwritable    Code = "W503"
	NotSettled       Code = "W505"
	OperationsLost   Code = "W506"
	FilesPending     Code = "W507"
	RequestReplayed  Code = "W901"
)

// Warning is one thing the caller ought to know. Two kinds of facts make it:
// those of the context, which the wire shows, and those that only the message
// needs (Fill).
type Warning struct {
	Code    Code      `json:"code"`
	Message string    `json:"message"`
	Context fact.List `json:"context,omitempty"`
}

// New states a warning; the facts fill the template and are the context.
func (c Code) New(facts ...fact.Fact) Warning { return c.NewFilled(nil, facts...) }

// NewFilled states a warning whose template names more than its context
// carries ("{n} of {m} files"): filling is for the message alone.
func (c Code) NewFilled(filling fact.List, facts ...fact.Fact) Warning {
	context := fact.New(facts...)
	return Warning{Code: c, Message: context.With(filling...).Fill(c.Entry().Template), Context: context}
}

// MaxPaths is how many paths a warning names: who is warned reads them all, and an
// agent pays for each. The message has their number.
const MaxPaths = 20

// NewOfPaths states a warning whose context ends with "paths", of which {n} is the
// number. Of more than MaxPaths it names the first, and says so: "total" and
// "truncated" follow.
func (c Code) NewOfPaths(paths []string, filling fact.List, facts ...fact.Fact) Warning {
	named := slices.Clone(paths[:min(len(paths), MaxPaths)])
	if facts = append(slices.Clip(facts), fact.Of("paths", named)); len(named) < len(paths) {
		facts = append(facts, fact.Of("total", len(paths)), fact.Of("truncated", true))
	}
	return c.NewFilled(filling.With(fact.Of("n", len(paths))), facts...)
}

// List is warnings in the order in which they arose; the same warning stands
// in it once: same code, message and context.
type List []Warning

// Add appends those that the list does not hold yet.
func (l *List) Add(more ...Warning) {
	for _, w := range more {
		same := func(o Warning) bool { return reflect.DeepEqual(o, w) }
		if !slices.ContainsFunc(*l, same) {
			*l = append(*l, w)
		}
	}
}

// Entry is one row of the table.
type Entry struct {
	Code Code
	// Name is the identifier in this package, for readers of the code.
	Name string
	// Kind is the code's stable snake_case name.
	Kind string
	// Title is the short name, as it stands in the log.
	Title string
	// Template is the message with {names}.
	Template string
	// Context is the keys of the context, in their order.
	Context []string
	// Explanation is what it means for the caller, one or two sentences.
	Explanation string
	// Hint is what to do about it.
	Hint string
}

// Entry returns the row of c, an empty one with its number for an unknown code.
func (c Code) Entry() Entry {
	for _, e := range table {
		if e.Code == c {
			return e
		}
	}
	return Entry{Code: c, Template: string(c)}
}

// Table returns every row in the order of the numbers.
func Table() []Entry { return append([]Entry(nil), table[:]...) }
