// Package codes defines leslie's errors: the table of T codes (number, kind,
// title, message template, explanation, causes, hint, first next command,
// example) and the Error type, which carries a code, its facts and its cause.
//
// What belongs here: facts about codes. Retrying, printing and exiting belong to
// the packages that read the table.
//
// A code's identifier is its human name, its number is the wire name.
package codes

import "strings"

// Code is the wire name of one kind of error: "T101".
type Code string

// T1xx: threads.
const (
	ThreadNotFound     Code = "T101"
	InvalidTransition  Code = "T102"
	MistakeLimit       Code = "T103"
	AmbiguousID        Code = "T105"
	AlreadyExists      Code = "T106"
	NotWritable        Code = "T107"
	Claimed            Code = "T108"
	WaitTimeout        Code = "T109"
	UndoConflict       Code = "T110"
	CheckpointNotFound Code = "T111"
	OperationNotFound  Code = "T112"
	UnreadMessages     Code = "T113"
	AcceptanceFailed   Code = "T114"
	CodeUnfinished     Code = "T117"
)

// T2xx: references.
const (
	CircularReference Code = "T201"
	TargetCorrupted   Code = "T202"
	ScopeNotFound     Code = "T203"
	ReferenceNotFound Code = "T204"
)

// T3xx: merges.
const (
	MergeConflict   Code = "T301"
	MergeValidation Code = "T302"
	MergeNotFound   Code = "T303"
	MergeStale      Code = "T304"
	MergePending    Code = "T305"
)

// T4xx: transfers and approvals.
const (
	ApprovalTimeout  Code = "T401"
	PermissionDenied Code = "T402"
	ApprovalNotFound Code = "T403"
	ApprovalDenied   Code = "T404"
	QuestionNotFound Code = "T405"
	QuestionAnswered Code = "T406"
	CommentNotFound  Code = "T407"
	CommentsOpen     Code = "T408"
	SourceUnread     Code = "T409"
)

// T5xx: storage.
const (
	LockFailed         Code = "T501"
	ParseError         Code = "T502"
	StaleRevision      Code = "T503"
	NotInitialized     Code = "T504"
	WriteFailed        Code = "T505"
	UnsupportedVersion Code = "T506"
	UnsafePath         Code = "T507"
	TooLarge           Code = "T508"
	ReadFailed         Code = "T509"
	RemoteUnreachable  Code = "T510"
	OutcomeUnknown     Code = "T511"
	RemoteDiverged     Code = "T512"
	RemoteDamaged      Code = "T513"
)

// T6xx: objectives.
const (
	ObjectiveNotFound    Code = "T601"
	ThreadsNotTerminated Code = "T602"
	ObjectiveDone        Code = "T603"
)

// T7xx: agents.
const (
	AgentUnavailable Code = "T701"
	AgentConnection  Code = "T702"
	AgentTimeout     Code = "T703"
	AgentLogin       Code = "T704"
	AgentLimited     Code = "T705"
	RunBudget        Code = "T706"
	RunUnfinished    Code = "T707"
)

// T8xx: code in git.
const (
	GitUnavailable     Code = "T801"
	NoCode             Code = "T802"
	BranchTaken        Code = "T803"
	Uncommitted        Code = "T804"
	WorktreeBusy       Code = "T805"
	LandingBlocked     Code = "T806"
	SetupFailed        Code = "T807"
	UntrustedGitConfig Code = "T808"
)

// T9xx: the system.
const (
	Internal        Code = "T901"
	Unknown         Code = "T902"
	InvalidArgument Code = "T903"
	Interrupted     Code = "T904"
)

// ExitStatus is the process exit status of a call that failed with c:
// 2 for usage, 130 for an interrupt, 10 + N for TNxx (threads 11, references
// 12, merges 13, transfers 14, storage 15, objectives 16, agents 17, code 18), 1
// for all others. Adding a code never changes the exit status of another.
func (c Code) ExitStatus() int {
	switch {
	case c == InvalidArgument:
		return 2
	case c == Interrupted:
		return 130
	case len(c) == 4 && c[1] >= '1' && c[1] <= '8' && strings.HasPrefix(string(c), "T"):
		return 10 + int(c[1]-'0')
	}
	return 1
}
