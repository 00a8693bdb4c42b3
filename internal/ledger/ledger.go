// Package ledger says what a project on several machines needs of the engine that holds
// its one log: to append a line if nothing came first, to read lines, to be told of new
// ones, and to keep the content that operations rely on.
//
// What belongs here: the interface and its errors. What a line says, and what to do when
// another machine was first, is the store's. Package ledgertest has a ledger in memory, and
// the tests that every implementation has to pass.
package ledger

import (
	"context"
	"errors"
	"strings"
	"time"
)

// MaxLine is how many bytes the data of a line has at most. What is longer is stored as
// a blob that the line names.
const MaxLine = 256 << 10

// Line is one entry of a log.
type Line struct {
	Seq  int64     // its place, from 1 and without a gap
	ID   string    // of the operation: two lines never have the same
	Data []byte    // at most MaxLine bytes; the ledger does not look into it
	Time time.Time // when the engine got it; zero for a line that is to be appended
}

// Head is the end of a log.
type Head struct {
	Seq int64     // of the last line; 0 if there is none
	ID  string    // of the last line; "" if there is none
	At  time.Time // when the engine got that; zero if there is none
	Now time.Time // the engine's clock, when it answered
	// Log tells one log of a project from another that was made in its place, "" if the
	// engine does not say it.
	Log string
}

// What can become of a call. Implementations wrap them with what they know, and add no
// other errors but that of the context, if its end is not the engine's silence.
var (
	// ErrConflict: another line has the place, or the line before it is another one.
	// Nothing was appended, and what came first can be read.
	ErrConflict = errors.New("another line came first")
	// ErrUnreachable: nobody answered, and nothing was sent that could have an effect.
	ErrUnreachable = errors.New("no server answers")
	// ErrUnknown: the line was sent, and nobody said what became of it.
	ErrUnknown = errors.New("nobody said what became of the line")
	// ErrDenied: the credentials do not allow it.
	ErrDenied = errors.New("the servers do not allow it")
	// ErrFull: the engine has no room. Nothing was stored.
	ErrFull = errors.New("the servers are full")
	// ErrMissing: there is no such log or blob.
	ErrMissing = errors.New("the servers do not have it")
	// ErrSealed: the log is going to be made anew, and takes no line until it is.
	ErrSealed = errors.New("the log is being made anew, and takes no operation meanwhile")
	// ErrGap: what must be there is damaged or missing in every replica.
	ErrGap = errors.New("no server has it whole")
)

// TooFewError is an ErrUnreachable of servers that are there, and do not answer for the log.
type TooFewError struct{ Cause error }

// Error says what is likely.
func (e *TooFewError) Error() string {
	return "the servers that are there do not answer for the log; too few of them may be"
}

// Is reports whether it is of a kind: ErrUnreachable.
func (e *TooFewError) Is(target error) bool { return target == ErrUnreachable }

// Unwrap returns the cause.
func (e *TooFewError) Unwrap() error { return e.Cause }

// LoginError is an ErrDenied of an engine that accepts the caller's credentials for nothing
// at all: they are wrong, have expired or were revoked, or there are none.
type LoginError struct {
	Cause error // which credentials, and what the engine says
	None  bool  // nobody named any
}

// Error repeats what the engine says.
func (e *LoginError) Error() string {
	return "the servers do not accept the credentials: " + e.Cause.Error()
}

// Is reports whether it is of a kind: ErrDenied.
func (e *LoginError) Is(target error) bool { return target == ErrDenied }

// Unwrap returns the cause.
func (e *LoginError) Unwrap() error { return e.Cause }

// Ledger is the log of one project, and the content that its operations rely on. It is
// safe for concurrent use by many goroutines. A call ends with its context; nothing else
// limits it, unless its comment says so.
type Ledger interface {
	// Head returns the end of the log. Errors: ErrUnreachable, ErrDenied, ErrMissing, and
	// ErrGap if nobody has its last line.
	Head(ctx context.Context) (Head, error)

	// Append adds a line at line.Seq, behind the line with the id last ("" for the
	// first line). It either appends exactly this line or fails. A line whose answer is
	// lost is sent again: appending the same line twice has the effect of once. Errors:
	// ErrConflict, ErrUnreachable, ErrUnknown, ErrDenied, ErrFull, ErrMissing,
	// ErrSealed.
	Append(ctx context.Context, last string, line Line) error

	// AppendAll adds many lines that follow each other, as Append does, but faster: for
	// a log that nobody else writes yet. After an error some of them may be there.
	AppendAll(ctx context.Context, last string, lines []Line) error

	// After calls each with the lines behind a place, in order and without a gap, up to
	// the end of the log as it was during the call. An error of each ends it and is
	// returned. Errors: ErrUnreachable, ErrDenied, ErrMissing, ErrGap.
	After(ctx context.Context, seq int64, each func(Line) error) error

	// Follow is After that goes on with lines that come later, until ctx ends (then it
	// returns nil) or each fails. It survives interruptions of the connection. Errors:
	// as After, of its beginning.
	Follow(ctx context.Context, seq int64, each func(Line) error) error

	// Turn waits until it is the caller's turn to append, for those that were too late
	// several times. It is advice: it makes attempts fair, and only Append decides. done
	// ends it; a turn whose holder is gone ends by itself after seconds. Errors: as Head.
	Turn(ctx context.Context) (done func(), err error)

	// PutBlob stores content under its SHA-256 (64 hexadecimal digits), if it is not
	// there yet: all of it or nothing. Errors: ErrUnreachable, ErrUnknown, ErrDenied,
	// ErrFull.
	PutBlob(ctx context.Context, sha256 string, data []byte) error

	// RenewBlob is PutBlob that stores all of the content again where it is there, for
	// content that is damaged. Errors: as PutBlob.
	RenewBlob(ctx context.Context, sha256 string, data []byte) error

	// GetBlob returns content that matches its SHA-256. Errors: ErrMissing, ErrGap if it
	// is there but damaged, ErrUnreachable, ErrDenied.
	GetBlob(ctx context.Context, sha256 string) ([]byte, error)

	// Servers says which servers of the address answer, in its order.
	Servers(ctx context.Context) []ServerStanding

	// MayAppend says whether the caller's credentials let it add lines; false for one who may only read. Nothing is
	// stored. Errors: ErrUnreachable if no server answers, or too few of them, ErrDenied, ErrMissing.
	MayAppend(ctx context.Context) (bool, error)

	// Close ends the connection.
	Close() error
}

// ServerStanding is one server.
type ServerStanding struct {
	URL     string `json:"url"`
	Answers bool   `json:"answers"`
	// Untrusted: it answers, with a certificate that this machine does not trust.
	Untrusted bool `json:"untrusted,omitempty"`
}

// Address says which log is meant, and who asks.
type Address struct {
	URLs    []string // of the engine's servers; without credentials
	Project string   // the project's id
	// Credentials is the path of a file with the caller's credentials, "" for none.
	Credentials string
	// Name says who asks, for the engine's administrators.
	Name string
	// Gap, if not nil, is called when a copy lacked lines behind a place, or had them
	// damaged, and another copy had them; with 0 where it was content. Calls may come
	// from several goroutines at once.
	Gap func(seq int64)
}

// Setting is one thing that was looked at in an engine's configuration.
type Setting struct {
	Server string `json:"server"`          // "" for what concerns all
	What   string `json:"what"`            // "sync_interval", "version", "replicas", ...
	Found  string `json:"found"`           // as the server says it
	Wanted string `json:"wanted"`          // "" if it is only told
	Fine   bool   `json:"fine"`            // Found is what is wanted
	Lines  string `json:"lines,omitempty"` // what to add to the server's configuration
}

// Report is what an engine says of itself.
type Report struct {
	Servers  int       `json:"servers"`          // that answered
	Silent   int       `json:"silent,omitempty"` // those of their cluster that did not
	Replicas int       `json:"replicas"`         // that a log has here; 1 on a single server
	Settings []Setting `json:"settings"`
}

// Fine reports whether everything is as it has to be.
func (r Report) Fine() bool {
	for _, s := range r.Settings {
		if !s.Fine {
			return false
		}
	}
	return r.Servers > 0
}

// OnlySilent reports whether all that is not as it has to be is that some servers did not answer.
func (r Report) OnlySilent() bool {
	wrong := 0
	for _, s := range r.Settings {
		if !s.Fine {
			wrong++
		}
	}
	return r.Servers > 0 && r.Silent > 0 && wrong == 1
}

// SettingsError is returned by Create when the engine's settings are not those that a log
// needs.
type SettingsError struct {
	Report Report
}

// Error names what is not as it has to be.
func (e *SettingsError) Error() string {
	var wrong []string
	for _, s := range e.Report.Settings {
		if !s.Fine {
			wrong = append(wrong, strings.TrimSpace(s.Server+" "+s.What)+" is "+s.Found+" and must be "+s.Wanted)
		}
	}
	if len(wrong) == 0 {
		return "no server says how it is set up"
	}
	return strings.Join(wrong, "; ")
}

// ServerSetup says which servers are to be set up.
type ServerSetup struct {
	Servers []Server
	Store   string // the folder for what they keep, each in a folder of its own
	// Certificate and Key are files for TLS, "" for none.
	Certificate, Key string
	// Trusted has the certificates, in PEM, of authorities that those who use the credentials are to trust besides
	// those of their systems; nil for none.
	Trusted []byte
}

// Server is one of them.
type Server struct {
	Name    string
	Address string // HOST:PORT, where clients connect
}

// SetupFile is a file to set servers up with.
type SetupFile struct {
	Name   string
	Data   []byte
	Secret bool // only its owner may read it
}

// Configurer is an engine that writes the configuration of its servers.
type Configurer interface {
	// Configure returns the files of a setup: NAME.conf for each server, and the credentials
	// admin.creds, writer.creds and reader.creds. Errors: for a setup that cannot be.
	Configure(s ServerSetup) ([]SetupFile, error)
}

// Engine opens and makes logs.
type Engine interface {
	// Open returns a log. It may connect only when it is used first, and connects again
	// if the connection breaks. Errors: those of an address or of credentials that
	// cannot be understood or read.
	Open(at Address) (Ledger, error)
	// Create makes what the log of a project needs, if it is not there yet, with the
	// credentials of an administrator. Errors: ErrUnreachable, ErrDenied, ErrFull,
	// ErrSealed, and those of Open.
	Create(ctx context.Context, at Address) error
	// Seal ends a project's log for good, with the credentials of an administrator, and
	// returns the place of its last line: nobody appends to it from then on. Sealing it
	// again does no harm. Errors: as Create, ErrMissing.
	Seal(ctx context.Context, at Address) (last int64, err error)
	// Discard deletes the lines of a sealed log, with the credentials of an administrator;
	// Create makes the log anew then. Its content stays. Errors: as Create, ErrMissing.
	Discard(ctx context.Context, at Address) error
	// Check reads the engine's settings. A server whose settings cannot be read is in
	// the report. Errors: ErrUnreachable, ErrDenied, those of Open.
	Check(ctx context.Context, at Address) (Report, error)
}
