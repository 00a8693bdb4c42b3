//go:build !windows

package proctest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// landed is the answer of merge land.
type landed struct {
	Items []struct {
		MergeID string
		Status  string
		Error   *struct{ Code string }
	}
	Landed, Left int
}

// queued returns how many merges wait in queues.
func (p *project) queued() int {
	p.t.Helper()
	var list struct{ Total int }
	p.ok("merge", "list").into(p.t, &list)
	return list.Total
}

// TestAKilledMergeLandIsFinishedByTheNext kills leslie before and after each git that
// landing a queue starts. The next merge land leaves the merge there once, as a whole.
func TestAKilledMergeLandIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	each := orInShort(1, 9)
	kills := 0
	r := newRepository(t)
	r.ok("merge", "--sources", "api", "--target", "lead", "--queue")
	again := r.again()
	for _, when := range []string{"before", "after"} {
		for n := 1; ; n += each {
			again()
			killed := r.killed(n, when, "merge", "land", "lead")
			what := fmt.Sprint(when, " git ", n)
			r.ok("merge", "land", "lead")
			r.checkLanded(what)
			assert.Zero(t, r.queued(), what)
			if !killed {
				break
			}
			kills++
		}
	}
	t.Logf("landings killed: %d", kills)
	assert.Positive(t, kills)
}

// program writes a shell script beside the project.
func (r *repository) program(name, text string) string {
	path := filepath.Join(filepath.Dir(r.dir), name)
	harness.WriteProgram(r.t, path, "#!/bin/sh\nset -e\n"+text)
	return path
}

// What is committed and queued again after a landing has read the sources lands with it: the
// validator runs in between.
func TestWorkThatIsQueuedWhileItsMergeLandsComesAlong(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	api := filepath.Join(r.worktrees, "api")
	r.ok("merge", "--sources", "api", "--target", "lead", "--queue")
	more := r.program("more", fmt.Sprintf(`cd %s
test ! -e late.txt || exit 0
echo late >late.txt
git add -A
git commit -q -m late
cd %s
%s merge --sources api --target lead --queue >/dev/null
`, api, r.dir, binary))
	var d landed
	r.ok("merge", "land", "lead", "--validate", more).into(t, &d)
	assert.Equal(t, 1, d.Landed)
	assert.Zero(t, r.queued())
	lead := filepath.Join(r.worktrees, "lead")
	assert.FileExists(t, filepath.Join(lead, "late.txt"))
	assert.Equal(t, map[string]string{"plan.md": "the plan\n"}, r.artifacts("lead"))
	assert.Equal(t, "1", r.git(lead, "rev-list", "--count", "--merges", "HEAD"))
	r.requireHealthy()
}

// A second call waits until the first has ended, and lands what is queued by then.
func TestTwoCallsLandAQueueOneAfterTheOther(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.ok("spawn", "--intent", "Docs", "--id", "docs", "--parent", "lead")
	r.write("docs", map[string]string{"docs.md": "docs\n"})
	r.ok("merge", "--sources", "api", "--target", "lead", "--queue")
	begun, goOn := filepath.Join(filepath.Dir(r.dir), "begun"), filepath.Join(filepath.Dir(r.dir), "go-on")
	require.NoError(t, syscall.Mkfifo(begun, 0o600))
	require.NoError(t, syscall.Mkfifo(goOn, 0o600))
	first := r.start("merge", "land", "lead", "--validate", r.program("waits", fmt.Sprintf("echo >%s\ncat %s >/dev/null\n", begun, goOn)))
	_, err := os.ReadFile(begun) // when the validator runs
	require.NoError(t, err)
	r.ok("merge", "--sources", "docs", "--target", "lead", "--queue")
	second := r.start("merge", "land", "lead")
	assert.Equal(t, 2, r.queued())
	require.NoError(t, os.WriteFile(goOn, nil, 0o600))
	total := 0
	for _, s := range []*started{first, second} {
		a, err := s.end()
		require.NoError(t, err)
		require.Nil(t, a.Error, "%s", a.line)
		var d landed
		a.into(t, &d)
		total += d.Landed
	}
	assert.Equal(t, 2, total)
	assert.Zero(t, r.queued())
	assert.Equal(t, map[string]string{"plan.md": "the plan\n", "docs.md": "docs\n"}, r.artifacts("lead"))
	r.requireHealthy()
}

// queueing is several agents that commit in worktrees of their own and queue their merges,
// while others land them.
type queueing struct {
	*repository
	agents, rounds int
	mu             sync.Mutex
	commits        []string // that were queued
	landed         atomic.Int64
	refused        map[string]int // by code
	kills          int
}

// agent is the name of an agent, and of its thread.
func queuer(i int) string { return fmt.Sprint("agent-", i) }

// tryGit runs the real git; an agent's own git may meet nobody's lock but its own.
func (c *queueing) tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), c.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %v in %s: %w: %s", args, dir, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// work edits, commits and queues, round after round; in some it lands the queue, too.
func (c *queueing) work(i int, lands []bool) error {
	dir := filepath.Join(c.worktrees, queuer(i))
	shared := filepath.Join(dir, "shared.txt")
	for round := range c.rounds {
		own := filepath.Join(dir, fmt.Sprintf("%s-%d.txt", queuer(i), round))
		text, err := os.ReadFile(shared)
		if err == nil {
			err = os.WriteFile(own, []byte(queuer(i)+"\n"), 0o644)
		}
		if err == nil {
			lines := strings.Split(string(text), "\n")
			lines[10*i] = fmt.Sprint(queuer(i), " in round ", round)
			err = os.WriteFile(shared, []byte(strings.Join(lines, "\n")), 0o644)
		}
		if err != nil {
			return err
		}
		for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", fmt.Sprint(queuer(i), " ", round)}} {
			if _, err := c.tryGit(dir, args...); err != nil {
				return err
			}
		}
		tip, err := c.tryGit(dir, "rev-parse", "HEAD")
		if err != nil {
			return err
		}
		if _, err := c.succeed("merge", "--sources", queuer(i), "--target", "lead", "--queue", "--as", "agent", "--actor", queuer(i)); err != nil {
			return err
		}
		c.mu.Lock()
		c.commits = append(c.commits, tip)
		c.mu.Unlock()
		if !lands[round] {
			continue
		}
		a, err := c.try("merge", "land", "lead")
		if err == nil {
			err = c.count(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// landAll lands the queue again and again until stop. What an agent has not committed
// keeps its merge in the queue.
func (c *queueing) landAll(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		a, err := c.try("merge", "land", "lead")
		if err != nil {
			return err
		}
		if err := c.count(a); err != nil {
			return err
		}
	}
}

// count counts what a landing has said.
func (c *queueing) count(a answer) error {
	if a.Data == nil {
		return fmt.Errorf("%s: %s", a.line, a.Error.Message)
	}
	var d landed
	a.into(c.t, &d)
	c.landed.Add(int64(d.Landed))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, item := range d.Items {
		if item.Error == nil {
			continue
		}
		c.refused[item.Error.Code]++
		switch code := item.Error.Code; code {
		case "T804", "T805": // uncommitted work, and its git at work
		case "T304": // it was queued again and again while it was merged
		default:
			return fmt.Errorf("%s: %s stays queued: %s", a.line, item.MergeID, code)
		}
	}
	return nil
}

// killSome starts landings and kills each at some moment.
func (c *queueing) killSome(stop <-chan struct{}, parts []float64) error {
	for _, part := range parts {
		select {
		case <-stop:
			return nil
		default:
		}
		s := c.command("merge", "land", "lead")
		if err := s.Start(); err != nil {
			return err
		}
		timer := time.AfterFunc(time.Duration(part*float64(200*time.Millisecond)), func() { _ = s.Process.Kill() })
		a, err := s.end()
		timer.Stop()
		if s.ProcessState.ExitCode() < 0 {
			c.mu.Lock()
			c.kills++
			c.mu.Unlock()
			continue
		}
		if err == nil {
			err = c.count(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Agents keep committing into their worktrees and queue their merges, while several calls
// land the queue, and some of these are killed: nothing that was queued is lost, and nothing
// lands twice.
func TestCommitsThatAreQueuedWhileTheQueueLandsAreNotLost(t *testing.T) {
	t.Parallel()
	rnd := random(t)
	c := &queueing{repository: newRepository(t), agents: orInShort(4, 3), rounds: orInShort(20, 3), refused: map[string]int{}}
	lead := filepath.Join(c.worktrees, "lead")
	c.git(lead, "checkout", "-q", "b.txt")
	var lines []string
	for i := range 10 * c.agents {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	require.NoError(t, os.WriteFile(filepath.Join(lead, "shared.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	c.git(lead, "add", "-A")
	c.git(lead, "commit", "-q", "-m", "shared")
	base := c.git(lead, "rev-parse", "HEAD")
	for i := range c.agents {
		c.ok("spawn", "--code", "--intent", "Work", "--id", queuer(i), "--parent", "lead")
	}

	stop := make(chan struct{})
	var working, landing sync.WaitGroup
	for i := range c.agents {
		lands := make([]bool, c.rounds)
		for round := range lands {
			lands[round] = rnd.IntN(2) == 0
		}
		working.Go(func() { assert.NoError(t, c.work(i, lands)) })
	}
	for range 2 {
		landing.Go(func() { assert.NoError(t, c.landAll(stop)) })
	}
	parts := make([]float64, orInShort(60, 4))
	for i := range parts {
		parts[i] = rnd.Float64()
	}
	landing.Go(func() { assert.NoError(t, c.killSome(stop, parts)) })
	working.Wait()
	close(stop)
	landing.Wait()

	a := c.ok("merge", "land", "lead")
	require.NoError(t, c.count(a))
	assert.Zero(t, c.queued())
	there := map[string]int{}
	for _, commit := range strings.Fields(c.git(lead, "rev-list", "--no-merges", base+"..HEAD")) {
		there[commit]++
	}
	require.Len(t, c.commits, c.agents*c.rounds)
	for _, commit := range c.commits {
		assert.Equal(t, 1, there[commit], commit)
	}
	assert.Len(t, there, len(c.commits), "commits in the target")
	assert.Empty(t, c.git(lead, "status", "--porcelain"))
	for i := range c.agents {
		for round := range c.rounds {
			assert.FileExists(t, filepath.Join(lead, fmt.Sprintf("%s-%d.txt", queuer(i), round)))
		}
		lines[10*i] = fmt.Sprint(queuer(i), " in round ", c.rounds-1)
	}
	text, err := os.ReadFile(filepath.Join(lead, "shared.txt"))
	require.NoError(t, err)
	assert.Equal(t, strings.Join(lines, "\n")+"\n", string(text))
	c.requireHealthy()
	t.Logf("commits queued: %d, lost: 0, merges landed: %s, told of: %d, landings killed: %d, refusals: %v",
		len(c.commits), c.git(lead, "rev-list", "--count", "--merges", base+"..HEAD"), c.landed.Load(), c.kills, c.refused)
}
