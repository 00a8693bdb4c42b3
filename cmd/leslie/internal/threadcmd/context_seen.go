package threadcmd

import (
	"fmt"
	"slices"

	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/thread"
)

// This file renders, for context, the injections that the thread's agent has seen:
// constraints as long as they hold, of the others only where they are kept.

// MaxSeen is the length limit of seen constraints together, in characters.
const MaxSeen = 2000

// seenBlock is the part of the block about seen injections.
type seenBlock struct{ *contextBlock }

// render renders the seen injections in at most room characters.
func (b *seenBlock) render(room int) string {
	file := b.Folder + "/" + app.InjectionsFile
	rest := ""
	if slices.ContainsFunc(b.Thread.Injections,
		func(i thread.Injection) bool { return i.Seen != nil && i.Type != thread.InjectConstraint }) {
		rest = "seen before: " + file + "\n"
	}
	const head = "constraints seen before, newest first; they hold until the thread ends:\n"
	constraints := b.Thread.SeenConstraints()
	text, left := "", min(MaxSeen, room-Width(rest))-Width(head)
	for i, in := range constraints {
		more := fmt.Sprintf("(%d more: %s)\n", len(constraints)-i, file)
		part, fits := b.constraint(in, left-Width(more))
		if !fits {
			text += more
			break
		}
		text, left = text+part, left-Width(part)
	}
	if text != "" && left >= 0 {
		rest = head + text + rest
	}
	if Width(rest) > room {
		return ""
	}
	return rest
}

// constraint renders one seen constraint; fits is false if room is too small. Records
// of an earlier leslie have no content.
func (b *seenBlock) constraint(in thread.Injection, room int) (text string, fits bool) {
	head := escapeMarkup(fmt.Sprintf("%s from %s %s", in.ID, in.Created.As, app.Cut(in.Created.Actor, page.MaxTitle))) + ":\n"
	const tail = "  (cut here)\n"
	text, whole, fits := quotation(in.Content, thread.MaxConstraint, room-Width(head)-Width(tail))
	if !whole || in.Cut {
		text += tail
	}
	return head + text, fits && in.Content != ""
}
