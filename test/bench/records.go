package main

import (
	"encoding/base32"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// This file generates a store's records: threads with titles, intents, tags, parents and
// dependencies, as a real project has them. A record depends on its number alone, so none
// has to be kept in memory.

// by, thread, objective and reference are records as docs/internals/store.md describes them.
type by struct {
	At    time.Time `json:"at"`
	As    string    `json:"as"`
	Actor string    `json:"actor"`
}

type threadRecord struct {
	ID          string    `json:"threadId"`
	ObjectiveID string    `json:"objectiveId"`
	ParentID    string    `json:"parentId,omitempty"`
	Title       string    `json:"title"`
	Intent      string    `json:"intent"`
	Status      string    `json:"status"`
	Executor    string    `json:"executor"`
	Tags        []string  `json:"tags,omitempty"`
	DependsOn   []string  `json:"dependsOn,omitempty"`
	Branch      string    `json:"branch,omitempty"`
	Inherit     string    `json:"inherit"`
	Created     by        `json:"created"`
	Updated     time.Time `json:"updatedAt"`
	Revision    int64     `json:"revision"`
}

type objectiveRecord struct {
	ID        string    `json:"objectiveId"`
	Title     string    `json:"title"`
	CreatedAt time.Time `json:"createdAt"`
	Archived  int       `json:"archived"`
	Revision  int64     `json:"revision"`
}

type referenceRecord struct {
	ID       string    `json:"refId"`
	From     string    `json:"from"`
	Target   string    `json:"target"`
	Binding  string    `json:"binding"`
	Scope    []string  `json:"scope,omitempty"`
	Resolved bool      `json:"targetResolved"`
	Files    int       `json:"files"`
	TakenAt  time.Time `json:"takenAt"`
	Created  by        `json:"created"`
	Revision int64     `json:"revision"`
}

// plan is the size of a store. Archived threads come first: they are the oldest.
type plan struct {
	live, archived int
	operations     int // operations beyond those that made the records
}

func (p plan) threads() int { return p.live + p.archived }

// objectives returns the number of objectives: one for every fifty threads.
func (p plan) objectives() int { return p.live/50 + 1 }

// perReference is the number of live threads per reference.
const perReference = 5

// began is the time of the first operation; each later one follows after a minute.
func began() time.Time { return time.Date(2024, 1, 8, 9, 0, 0, 0, time.UTC) }

func at(seq int64) time.Time { return began().Add(time.Duration(seq) * time.Minute) }

func actors() []string { return []string{"ann", "bob", "claude-5f1c", "codex-77aa"} }

func words() []string {
	return strings.Fields("parser lexer cache index retry lock journal report draft review schema queue worker client server " +
		"login export import layout search upload budget plan risk interview survey release migration test coverage latency " +
		"error message table column editor preview sync token session quota metric alert guide example tutorial")
}

// scramble returns a pseudorandom number of 40 bits, different for each n: multiplying
// by an odd number is one to one.
func scramble(n int) uint64 { return uint64(n+1) * 0x9E3779B97F4A7C15 >> 0 & (1<<40 - 1) }

// idOf returns an id like leslie's: eight base32 characters.
func idOf(prefix string, n int) string {
	v := scramble(n)
	raw := []byte{byte(v >> 32), byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
	return prefix + strings.ToLower(base32.StdEncoding.EncodeToString(raw))
}

func threadID(n int) string { return idOf("thread-", n) }

func (p plan) objectiveOf(n int) int { return n * p.objectives() / p.threads() }

// thread returns the n-th thread as operation seq spawned it.
func (p plan) thread(n int, seq int64) threadRecord {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	t := threadRecord{
		ID: threadID(n), ObjectiveID: idOf("obj-", p.objectiveOf(n)), Title: title(rng), Intent: intent(rng),
		Status: "active", Executor: "agent", Inherit: "none", Created: p.by(rng, seq), Updated: at(seq), Revision: seq,
	}
	if rng.IntN(4) == 0 {
		t.Executor = "human"
	}
	for range rng.IntN(3) {
		t.Tags = sortedInto(t.Tags, words()[rng.IntN(len(words()))])
	}
	if rng.IntN(5) == 0 {
		t.Branch = "work/" + words()[rng.IntN(len(words()))]
	}
	first := p.firstLiveNear(n)
	if n > first && rng.IntN(2) == 0 {
		parent := first + rng.IntN(n-first)
		t.ParentID, t.ObjectiveID = threadID(parent), idOf("obj-", p.objectiveOf(parent))
	}
	for range rng.IntN(3) {
		if n > first {
			t.DependsOn = sortedInto(t.DependsOn, threadID(first+rng.IntN(n-first)))
		}
	}
	return t
}

// firstLiveNear returns the first of the twenty threads before n that n may refer to.
func (p plan) firstLiveNear(n int) int { return max(n-20, 0) }

func (p plan) by(rng *rand.Rand, seq int64) by {
	actor := actors()[rng.IntN(len(actors()))]
	as := "agent"
	if len(actor) == 3 {
		as = "user"
	}
	return by{At: at(seq), As: as, Actor: actor}
}

func title(rng *rand.Rand) string { return sentence(rng, 4+rng.IntN(5)) }

// intent returns one to five sentences; most intents are short.
func intent(rng *rand.Rand) string {
	var parts []string
	for range 1 + rng.IntN(3)*rng.IntN(3) {
		parts = append(parts, sentence(rng, 8+rng.IntN(8))+".")
	}
	return strings.Join(parts, " ")
}

func sentence(rng *rand.Rand, n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = words()[rng.IntN(len(words()))]
	}
	return strings.ToUpper(parts[0][:1]) + strings.Join(parts, " ")[1:]
}

// sortedInto adds a word to a sorted list without duplicates.
func sortedInto(list []string, word string) []string {
	for i, w := range list {
		switch {
		case w == word:
			return list
		case w > word:
			return append(list[:i:i], append([]string{word}, list[i:]...)...)
		}
	}
	return append(list, word)
}

// status returns a live thread's status; most are active.
func (p plan) status(n int) string {
	switch scramble(n) >> 20 % 10 {
	case 0, 1:
		return "completed"
	case 2:
		return "suspended"
	case 3:
		return "cancelled"
	}
	return "active"
}

func action(status string) string {
	return map[string]string{"completed": "done", "suspended": "suspend", "cancelled": "cancel"}[status]
}

// reference returns the n-th reference: a live one to an older thread.
func (p plan) reference(n int, seq int64) referenceRecord {
	from := p.archived + n*perReference + 1
	return referenceRecord{
		ID: idOf("ref-", n), From: threadID(from), Target: threadID(from - 1), Binding: "live", Scope: []string{"plan.md"},
		Resolved: true, Files: 1, TakenAt: at(seq), Created: p.by(rand.New(rand.NewPCG(11, uint64(n))), seq), Revision: seq,
	}
}

func (p plan) references() int { return p.live / perReference }

func (p plan) objective(n int) objectiveRecord {
	return objectiveRecord{
		ID: idOf("obj-", n), Title: fmt.Sprintf("Objective %d: %s", n, title(rand.New(rand.NewPCG(13, uint64(n))))),
		CreatedAt: at(int64(n + 1)), Revision: int64(n + 1),
	}
}
