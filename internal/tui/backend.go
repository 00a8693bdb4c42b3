package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"leslie/internal/app/threads"
	"leslie/thread"
)

// Backend is the project that is shown, and what can be done there. Its functions may be
// called at the same time.
type Backend struct {
	// Actor is the name of the person.
	Actor string
	// Overview returns all that is at work.
	Overview func(context.Context) (*threads.OverviewResult, error)
	// Show carries out a line of leslie whose answer is for a terminal of so many cells.
	Show func(ctx context.Context, width int, line ...string) Answer
	// Hand makes a line of leslie that has the terminal for itself, with its questions.
	Hand func(line ...string) Command
	// Type makes the same of a line of leslie as a person types it, without its first word.
	Type func(text string) Command
	// Watch calls changed after each operation that somebody records, until ctx ends.
	Watch func(ctx context.Context, changed func()) error
	// Follow calls changed after each entry of the transcript of a thread.
	Follow func(ctx context.Context, id thread.ThreadID, changed func()) error

	Colours bool
	ASCII   bool // the terminal shows nothing else
}

// Command is what has the terminal for itself.
type Command = tea.ExecCommand

// Answer is what a line of leslie printed.
type Answer struct {
	Text string
	OK   bool // its exit status was 0
}

// signs are the characters beside texts that a screen is drawn with.
type signs struct{ folded, open, leaf, beside, rule, mark, more string }

func (d Backend) signs() signs {
	if d.ASCII {
		return signs{folded: "+ ", open: "- ", leaf: "  ", beside: "|", rule: "-", mark: ">", more: "..."}
	}
	return signs{folded: "▸ ", open: "▾ ", leaf: "  ", beside: "│", rule: "─", mark: "▌", more: "…"}
}
