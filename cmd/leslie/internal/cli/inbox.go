package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/internal/app"
	"leslie/internal/fact"
)

// This file tells a person at a terminal what began to wait for them since their last
// command: one dim line after the answer. What they have been told is remembered in
// their cache folder. Losing it, or two commands that write it at once, only repeats a
// line.

// news returns the line, "" for none: nothing is new, or the answer was the list of
// everything that waits.
func (c *Call) news(answer Data) string {
	if c.Op == nil || c.Env.Cache == "" {
		return ""
	}
	items, own, ok := c.Op.Waiting()
	if !ok {
		return ""
	}
	told := c.toldBefore()
	fresh := slices.DeleteFunc(slices.Clone(items), func(item app.WaitingItem) bool {
		return own[item.ID] || slices.Contains(told, item.ID)
	})
	if c.rememberTold(items, told) != nil {
		return "" // it would come with every command
	}
	if _, listed := answer.(listsWaiting); listed || len(fresh) == 0 {
		return ""
	}
	return inboxLine(fresh, c.CallerLine)
}

// toldFile is where the ids are remembered that the person was told, one file for a project.
func (c *Call) toldFile() string {
	sum := sha256.Sum256([]byte(c.Op.Root()))
	return filepath.Join(c.Env.Cache, "leslie", "told-"+hex.EncodeToString(sum[:8])+".json")
}

// toldBefore returns the ids that the person was told; none if the file cannot be read.
func (c *Call) toldBefore() (ids []string) {
	data, err := os.ReadFile(c.toldFile())
	if err != nil || json.Unmarshal(data, &ids) != nil {
		return nil
	}
	return ids
}

// listsWaiting is an answer that has everything that waits for a person.
type listsWaiting interface{ ListsWaiting() }

// rememberTold writes what waits now as told, unless the file says so already.
func (c *Call) rememberTold(items []app.WaitingItem, told []string) error {
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
	if err := os.MkdirAll(filepath.Dir(c.toldFile()), 0o700); err != nil {
		return err
	}
	return os.WriteFile(c.toldFile(), data, 0o600)
}

// inboxLine says what waits: one thing with the command that goes on with it, several
// as numbers.
func inboxLine(items []app.WaitingItem, command func(string) string) string {
	if len(items) == 1 {
		item := items[0]
		return "1 " + waitingNoun(item.Kind) + ": " + app.Cut(WaitingWords(item), 100) + ": " + command(item.Next)
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
			parts = append(parts, fact.Plural(n, waitingNoun(kind)))
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

// WaitingWords says in a few words what somebody wants.
func WaitingWords(item app.WaitingItem) string {
	switch item.Kind {
	case app.WaitingApproval:
		return string(item.ThreadID) + " asks for " + item.Title
	case app.WaitingQuestion:
		return string(item.ThreadID) + " asks: " + item.Title
	}
	return item.Title
}
