package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/internal/app"
)

// This file tells a person at a terminal what began to wait for them since their last
// command: one dim line after the answer. What they have been told is remembered in
// their cache folder. Losing it, or two commands that write it at once, only repeats a
// line.

// inbox is what waits for the person who made a call.
type inbox struct{ *call }

// news returns the line, "" for none: nothing is new, or the answer was the list of
// everything that waits.
func (c inbox) news(answer Data) string {
	if c.op == nil || c.env.cache == "" {
		return ""
	}
	items, own, ok := app.Waiting(c.op)
	if !ok {
		return ""
	}
	told := c.told()
	fresh := slices.DeleteFunc(slices.Clone(items), func(item app.WaitingItem) bool {
		return own[item.ID] || slices.Contains(told, item.ID)
	})
	if c.remember(items, told) != nil {
		return "" // it would come with every command
	}
	if _, listed := answer.(summaryText); listed || len(fresh) == 0 {
		return ""
	}
	return inboxLine(fresh, rendering(c).callerLine)
}

// file is where the ids are remembered that the person was told, one file for a project.
func (c inbox) file() string {
	sum := sha256.Sum256([]byte(c.op.Root()))
	return filepath.Join(c.env.cache, "leslie", "told-"+hex.EncodeToString(sum[:8])+".json")
}

// told returns the ids that the person was told; none if the file cannot be read.
func (c inbox) told() (ids []string) {
	data, err := os.ReadFile(c.file())
	if err != nil || json.Unmarshal(data, &ids) != nil {
		return nil
	}
	return ids
}

// remember writes what waits now as told, unless the file says so already.
func (c inbox) remember(items []app.WaitingItem, told []string) error {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.ID
	}
	if slices.Equal(ids, told) {
		return nil
	}
	data, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.file()), 0o700); err != nil {
		return err
	}
	return os.WriteFile(c.file(), data, 0o600)
}

// inboxLine says what waits: one thing with the command that goes on with it, several
// as numbers.
func inboxLine(items []app.WaitingItem, command func(string) string) string {
	if len(items) == 1 {
		item := items[0]
		return "1 " + waitingNoun(item.Kind) + ": " + cut(waitingWords(item), 100) + ": " + command(item.Next)
	}
	var parts []string
	for _, kind := range app.WaitingKinds() {
		n := 0
		for _, item := range items {
			if item.Kind == kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, many(n, waitingNoun(kind)))
		}
	}
	return strings.Join(parts, ", ") + ": " + command("leslie status")
}

func waitingNoun(kind app.WaitingKind) string {
	switch kind {
	case app.WaitingResume:
		return "resumable thread"
	case app.WaitingSuspended:
		return "suspended thread"
	}
	return string(kind)
}

// waitingWords says in a few words what somebody wants.
func waitingWords(item app.WaitingItem) string {
	switch item.Kind {
	case app.WaitingApproval:
		return string(item.ThreadID) + " asks for " + item.Title
	case app.WaitingQuestion:
		return string(item.ThreadID) + " asks: " + item.Title
	}
	return item.Title
}
