// Package warnings defines leslie's warnings, which accompany a successful result:
// the table of W codes, the Warning type with its facts, and an ordered List of
// them. It never logs and never prints.
package warnings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"leslie/internal/fact"
)

// Code is the wire name of one kind of warning: "W202".
type Code string

// The W codes.
const (
	ThreadSuspended      Code = "W103"
	RepeatedFailure      Code = "W104"
	MessagesWaiting      Code = "W105"
	ClaimedByOther       Code = "W106"
	ChildrenActive       Code = "W107"
	Reopened             Code = "W108"
	MergesOpen           Code = "W109"
	ArtifactOverlap      Code = "W110"
	ClaimEnded           Code = "W112"
	DependencyCancelled  Code = "W115"
	OtherHeld            Code = "W116"
	TargetUnresolved     Code = "W202"
	ReferenceStale       Code = "W203"
	SkippedFiles         Code = "W204"
	BaseMoved            Code = "W205"
	AutoResolved         Code = "W301"
	AgentDeclined        Code = "W303"
	UntrustedCommand     Code = "W305"
	FallbackUsed         Code = "W401"
	ArtifactsChanged     Code = "W402"
	Recovered            Code = "W502"
	LogUnwritable        Code = "W503"
	NotSettled           Code = "W505"
	OperationsLost       Code = "W506"
	FilesPending         Code = "W507"
	CacheOld             Code = "W508"
	LocalEditsKept       Code = "W509"
	ClockDiffers         Code = "W510"
	BranchNotPushed      Code = "W511"
	ReplicaGap           Code = "W512"
	SingleServer         Code = "W513"
	FolderMissing        Code = "W514"
	NamesNotUTF8         Code = "W515"
	StoreTracked         Code = "W516"
	BadConfiguration     Code = "W517"
	LocalEditsMerged     Code = "W518"
	DeletionNotKept      Code = "W519"
	ContentNotHere       Code = "W520"
	SessionLost          Code = "W701"
	AgentJunk            Code = "W702"
	LeftoversEnded       Code = "W703"
	AgentLacks           Code = "W704"
	TurnNotKept          Code = "W705"
	WroteElsewhere       Code = "W706"
	BaseBehind           Code = "W801"
	UncommittedLeft      Code = "W802"
	HistoryRewritten     Code = "W803"
	Rescued              Code = "W804"
	NotCopied            Code = "W805"
	Submodules           Code = "W806"
	IgnoredDropped       Code = "W807"
	CodeOverlap          Code = "W808"
	CodeBehind           Code = "W809"
	CodeUnfinished       Code = "W810"
	CheckFailsAtBegin    Code = "W811"
	UpstreamMerged       Code = "W812"
	SubmoduleUnpushed    Code = "W813"
	OthersLand           Code = "W814"
	CommitsNotSent       Code = "W815"
	CommitsNotHere       Code = "W816"
	UncommittedElsewhere Code = "W817"
	CommentsOpen         Code = "W818"
	BranchReplaced       Code = "W819"
	RequestReplayed      Code = "W901"
)

// Warning is one thing that the caller should know. Its Context is part of the
// output; the message may contain further facts (NewFilled).
type Warning struct {
	Code    Code      `json:"code"`
	Message string    `json:"message"`
	Context fact.List `json:"context,omitempty"`
}

// New returns a warning. The facts fill the template and are the context.
func (c Code) New(facts ...fact.Fact) Warning { return c.NewFilled(nil, facts...) }

// NewFilled returns a warning whose template needs more than its context ("{n} of
// {m} files"): filling appears only in the message.
func (c Code) NewFilled(filling fact.List, facts ...fact.Fact) Warning {
	context, e := fact.New(facts...), c.Entry()
	filled, template := context.With(filling...), e.Template
	if e.One != "" && filled.Text(e.Counted) == "1" {
		template = e.One
	}
	return Warning{Code: c, Message: filled.Fill(template), Context: context}
}

// NearlyLimited returns W104 for an agent whose commands failed count times in a row, each
// in its own way, so that one more suspends its thread.
func NearlyLimited(count int, code string) Warning {
	w := RepeatedFailure.New(fact.Of("count", count), fact.Of("code", code))
	commands := "commands"
	if count == 1 {
		commands = "command"
	}
	w.Message = fmt.Sprintf("%d %s failed in a row; one more suspends the thread. Change something before the next try", count, commands)
	return w
}

// MaxPaths is the number of paths that a warning lists at most, because readers
// read all of them and agents pay for each. The message has the full count.
const MaxPaths = 20

// NewOfPaths returns a warning whose context ends with "paths"; {n} is their
// number. If there are more than MaxPaths, it lists the first ones, and "total"
// and "truncated" follow.
func (c Code) NewOfPaths(paths []string, filling fact.List, facts ...fact.Fact) Warning {
	named := slices.Clone(paths[:min(len(paths), MaxPaths)])
	if facts = append(slices.Clip(facts), fact.Of("paths", named)); len(named) < len(paths) {
		facts = append(facts, fact.Of("total", len(paths)), fact.Of("truncated", true))
	}
	return c.NewFilled(filling.With(fact.Of("n", len(paths))), facts...)
}

// LeftOut returns what says that these entries were left out: W515 for names that are not
// UTF-8, with their other bytes as \xHH, W204 for what is no regular file.
func LeftOut(paths []string) (out List) {
	irregular, names := SplitLeftOut(paths)
	if len(irregular) > 0 {
		out = append(out, SkippedFiles.NewOfPaths(irregular, nil))
	}
	if len(names) > 0 {
		out = append(out, NamesNotUTF8.NewOfPaths(names, nil))
	}
	return out
}

// SplitLeftOut returns the paths of LeftOut by what is wrong with them.
func SplitLeftOut(paths []string) (irregular, names []string) {
	for _, path := range paths {
		if utf8.ValidString(path) {
			irregular = append(irregular, path)
		} else {
			names = append(names, escaped(path))
		}
	}
	return irregular, names
}

// escaped is a name with the bytes that are not UTF-8 as \xHH.
func escaped(name string) string {
	var out strings.Builder
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&out, `\x%02x`, name[0])
		} else {
			out.WriteString(name[:n])
		}
		name = name[n:]
	}
	return out.String()
}

// List has warnings in the order in which they arose, each only once: two
// warnings are the same if code, message and context are equal.
type List []Warning

// Add appends the warnings that the list does not contain yet.
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
	// Name is the identifier in this package.
	Name string
	// Kind is the code's stable snake_case name.
	Kind string
	// Title is the short name that the log uses.
	Title string
	// Template is the message with {names}.
	Template string
	// One is the template where the number Counted is 1; "" if it is the same.
	One, Counted string
	// Context has the keys of the context, in order.
	Context []string
	// Explanation says what the warning means, in one or two sentences.
	Explanation string
	// Hint says what to do about it.
	Hint string
}

// Entry returns the row of c, or a row with only the number if c is unknown.
func (c Code) Entry() Entry {
	for _, e := range table {
		if e.Code == c {
			return e
		}
	}
	return Entry{Code: c, Template: string(c)}
}

// Table returns a copy of all rows, ordered by number.
func Table() []Entry { return append([]Entry(nil), table[:]...) }
