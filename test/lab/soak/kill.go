//go:build unix

package main

import (
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"leslie/test/lab"
)

// afterCommit is about how long a call takes after its commit.
const afterCommit = 4 * time.Millisecond

// atCommit kills a call right after its commit, when most can be lost: as soon as the
// state contains its operation.
func (w *worker) atCommit(l line) lab.Interruption {
	actor, floor := w.actor(l), w.reported.Load()
	kill := lab.KillAfter(1 + time.Duration(w.R.Int64N(int64(afterCommit))))
	kill.Armed = func() bool {
		seq, by := stateOperation(w.Path(lab.StateFile))
		return by == actor && seq > floor
	}
	return kill
}

// operationInState matches the operation at the beginning of a state file.
var operationInState = regexp.MustCompile(`"operation":\{"seq":(\d+),[^{}]*?"actor":"([^"]*)"`)

// stateOperation returns the number and the actor of a state's operation.
func stateOperation(state string) (seq int64, actor string) {
	f, err := os.Open(state)
	if err != nil {
		return 0, ""
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	if found := operationInState.FindSubmatch(head[:n]); found != nil {
		seq, _ = strconv.ParseInt(string(found[1]), 10, 64)
		actor = string(found[2])
	}
	return seq, actor
}

// newestOperations are those of no scenario, for undo.
type newestOperations struct {
	mu  sync.Mutex
	ids []string
}

const maxOperations = 300

func (n *newestOperations) add(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ids = append(n.ids, id); len(n.ids) > 2*maxOperations {
		n.ids = slices.Clone(n.ids[maxOperations:])
	}
}

// draw draws one of the newest operations, or "".
func (n *newestOperations) draw(r *rand.Rand) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	back := min(len(n.ids), maxOperations)
	if r.IntN(2) == 0 {
		back = min(back, 15)
	}
	if back == 0 {
		return ""
	}
	return n.ids[len(n.ids)-1-r.IntN(back)]
}
