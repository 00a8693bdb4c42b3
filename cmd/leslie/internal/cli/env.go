package cli

import (
	"context"
	"io"
	"time"

	"leslie/internal/app"
	"leslie/internal/app/projects"
	"leslie/internal/ledger"
	"leslie/internal/retry"
)

// Env has everything that a call takes from the process. Nothing below run reads a
// global, so a test provides its own.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Which of the three streams is a terminal.
	StdinTTY, StdoutTTY, StderrTTY bool
	// Columns returns the width of the terminal in cells, Rows its height in lines; 0 if it
	// is unknown.
	Columns, Rows func() int

	Version  string       // of leslie
	Commands CommandTable // all that leslie can do

	Program string // the path of leslie itself, "" when unknown

	Dir  string // the working folder, absolute
	Home string // the user's home folder, "" when unknown
	// Cache is the user's folder for what may be lost, "" when unknown.
	Cache string
	// Engine opens the logs of projects on several machines; Host is this machine's name.
	Engine ledger.Engine
	Host   func() string
	// Login looks up the user's login name, "" if unknown.
	Login func() string
	// Session derives a name for the agent whose process called this one, "" if there
	// is none to derive.
	Session func() string
	Getenv  func(string) string
	// Environ returns the whole environment, for a started program.
	Environ func() []string
	Now     func() time.Time
	// WithTimeout returns a context with a timeout: context.WithTimeout.
	WithTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
	// NewID returns an id of a kind: its prefix and 8 random base32 characters.
	NewID func(prefix string) string
	// Jitter returns a random duration in (0, max].
	Jitter func(max time.Duration) time.Duration
	// Retry is the schedule of the lock and of agents; its zero value is retry.Default().
	Retry retry.Policy
	// Ready prepares the process for a command, which may be one that writes; nil if
	// the process is not leslie's own.
	Ready func(writes, lasts bool)
}

// config is the file with the user's configuration, "" if unknown.
func (e Env) config() string { return app.UserConfigPath(e.Home, e.Dir, e.Getenv) }

// credentials is the path of the file with the user's credentials for remotes, "" for none.
func (e Env) credentials() string {
	if name := e.Getenv("LESLIE_REMOTE_CREDS"); name != "" {
		return name
	}
	return projects.CredentialsFile(e.Home, e.config())
}
