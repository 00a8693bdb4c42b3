package proctest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// piece is a thread of the night: what its agent does, and the line of the morning page about it.
type piece struct{ id, does, morning string }

// commit is work that is committed once, and counted.
func commit(name string) string {
	return "RUN[[echo turn >> ../turns-$LESLIE_THREAD; echo " + name + " > " + name + ".txt; git add " + name + ".txt; git commit -q -m " + name + "]] "
}

func night() []piece {
	return []piece{
		{"good", "USAGE[[1000 200 0.25]] " + commit("good") + "RUN[[leslie done]]", `done +1 commit, 1 file \+1 -0, not landed; .* +leslie land good`},
		{"once", commit("once") + "CRASH[[]]", `done +1 commit, 1 file \+1 -0, not landed; .* +leslie land once`},
		{"always", commit("always"), `failed +.*onnection to the agent was lost.* +leslie run log always`},
		{"hangs", "HANG[[1]] HANG[[2]]", `limit +its limit was reached: its turn has taken 15s; .* +leslie run log hangs`},
		{"spends", "SPENDS[[1000 0.05]] SPENDS[[1001 0.05]]", `limit +its limit was reached: [0-9.]+ USD.* +leslie run log spends`},
		{"talks", "TALK[[20 a]] STOP[[1]] TALK[[20 b]] STOP[[2]] TALK[[20 c]] STOP[[3]]", `unfinished +its agent ended its turn, and did not go on .* +leslie run log talks`},
		{"empty", "RUN[[leslie done]] STOP[[1]] RUN[[leslie done  ]] STOP[[2]] RUN[[leslie done   ]]", `unfinished +its leslie done was refused \(T117: no commit on its branch.* +leslie run log empty`},
		{"hook", "RUN[[echo x > x.txt; git add x.txt; git commit -q -m x]] RUN[[leslie done]] STOP[[1]] RUN[[leslie done  ]]", `unfinished +its leslie done was refused \(T117: 1 uncommitted file in its worktree.* +leslie run log hook`},
		{"question", "RUN[[leslie ask --question Which]] STOP[[1]] RUN[[leslie done]]", `parked +it waits for the answer to q-.* +leslie status question`},
		{"asks", commit("asks") + "ASK[[git push origin main]] RUN[[leslie done]]", `parked +it waits for a decision about appr-.* +leslie status asks`},
		{"elsewhere", "RUN[[echo mine > $PROJECT/written.txt]] " + commit("elsewhere") + "RUN[[leslie done]]", `done +1 commit, 1 file \+1 -0, not landed; .* +leslie land elsewhere`},
		{"limited", "LIMIT[[usage limit reached, try again in 5 hours]]", `limit +.*may use nothing more.* +leslie run log limited`},
	}
}

// A night of agents, each of which does something else, in a loop that is killed in the middle and started again with the
// line that status shows. In the morning the page says of each what is so, nothing was done twice, what it cost is
// what the agents said, and of the person's checkout only that changed which one of them wrote there.
func TestANightOfAgents(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	dir := filepath.Join(t.TempDir(), "project")
	require.NoError(t, os.Mkdir(dir, 0o755))
	p := &project{t: t, dir: dir, home: t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(p.home, ".gitconfig"), []byte("[user]\n\tname = Ann\n\temail = ann@example.org\n"), 0o600))
	p.env = []string{"GIT_CONFIG_GLOBAL=" + filepath.Join(p.home, ".gitconfig"), "PROJECT=" + dir}
	p.sh("git init -q -b main && echo one > a.txt && git add . && git commit -q -m first")
	self, err := os.Executable()
	require.NoError(t, err)
	agent := map[string]any{"command": []string{self}, "env": map[string]string{
		"PROCTEST_AGENT": "1", "FAKE": "modes", "FAKE_STATE": t.TempDir(), "PROJECT": dir, "PATH": filepath.Dir(binary) + ":" + os.Getenv("PATH"),
	}}
	for n := range 8 { // one more of it in each turn, whatever it is told
		agent["env"].(map[string]string)["FAKE_PROMPT"] += fmt.Sprintf("RUN[[: %d; [ $LESLIE_THREAD != always ] || kill -9 $PPID]] ", n)
	}
	agent["env"].(map[string]string)["FAKE_PROMPT"] += "RUN[[[ $LESLIE_THREAD != once ] || leslie done]]"
	config, err := json.Marshal(map[string]any{"run": map[string]any{
		"agent": "fake", "agents": map[string]any{"fake": agent, "other": agent}, "parallel": 8, "maxCost": 5, "maxTurnTime": "15s", "askFor": "500ms", "restart": []string{"10ms", "10ms", "10ms"},
	}})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(p.home, ".leslie"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(p.home, ".leslie", "config.json"), config, 0o600))
	p.ok("init", "--no-agents")
	pieces := night()
	for _, w := range pieces {
		p.ok("spawn", "--code", w.does, "--title", "Piece "+w.id, "--id", w.id)
	}
	p.sh(`printf '#!/bin/sh\n[ "$(git rev-parse --abbrev-ref HEAD)" != leslie/hook ]\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit`)
	p.sh("echo changed > a.txt && echo own > own.txt && echo staged > staged.txt && git add staged.txt")
	before := p.sh("git status --porcelain; git rev-parse HEAD; cat a.txt own.txt staged.txt")
	_, _ = p.try("run", "limited", "--agent", "other")

	morning := func(page string, but ...string) (missing []string) {
		for _, w := range pieces {
			if slices.Contains(but, w.id) {
				continue
			}
			if line := regexp.MustCompile(`(?m)^  ` + strings.Replace(w.morning, " +", " +"+w.id+" +(.* )?", 1) + `$`); !line.MatchString(page) {
				missing = append(missing, w.id)
			}
		}
		return missing
	}
	// The loop is killed while one agent spends, and one hangs.
	loop := p.start("run", "--next", "--until-idle", "--parallel", "8", "--max-time", "10m")
	if !assert.Eventually(t, func() bool {
		return bytes.Contains(p.log("spends"), []byte(`"amount":0.5`)) && len(morning(p.text("status"), "spends", "hangs", "always", "talks", "empty", "hook")) == 0
	}, time.Minute, 50*time.Millisecond) {
		require.Empty(t, morning(p.text("status")), p.text("status"))
	}
	require.NoError(t, loop.Process.Kill())
	_ = loop.Wait()
	page := p.text("status")
	again := regexp.MustCompile(`was killed; to go on: leslie (.*)\n`).FindStringSubmatch(page + "\n")
	require.NotNil(t, again, page)
	assert.Equal(t, "run --next --detach --until-idle --parallel 8 --max-time 10m", again[1])
	p.ok(strings.Fields(again[1])...)
	if !assert.Eventually(t, func() bool { return len(morning(p.text("status"))) == 0 }, time.Minute, 50*time.Millisecond) {
		page = p.text("status")
		require.Empty(t, morning(page), page)
	}
	assert.Regexp(t, `changed in your checkout while agents worked elsewhere: written.txt \(by .*elsewhere.*, or you\)`, p.text("status"))
	p.ok("run", "stop", "--loop")
	for _, id := range []string{"good", "once", "always", "asks", "elsewhere"} {
		assert.Equal(t, "1\n", p.sh("wc -l < ../project.worktrees/turns-"+id), "%s worked once", id)
		p.transcript(id)
	}
	assert.Equal(t, "?? written.txt\n", p.sh("git status --porcelain -- written.txt"))
	require.NoError(t, os.Remove(filepath.Join(dir, "written.txt")))
	assert.Equal(t, before, p.sh("git status --porcelain; git rev-parse HEAD; cat a.txt own.txt staged.txt"), "the person's checkout")
	p.costsWhatAgentsSaid(pieces)

	// What is done lands, and what is not goes.
	p.ok("land", "--ready")
	assert.Equal(t, "elsewhere.txt\ngood.txt\nonce.txt\n", p.sh("ls elsewhere.txt good.txt once.txt"))
	p.ok("drop", "always", "hangs", "spends", "talks", "empty", "hook", "question", "asks", "limited", "--yes")
	assert.Equal(t, "* main\n", p.sh("git branch"))
	p.costsWhatAgentsSaid(pieces)
}

// costsWhatAgentsSaid compares what leslie says that all runs cost with what the agents' last words of it were.
func (p *project) costsWhatAgentsSaid(pieces []piece) {
	p.t.Helper()
	said := 0.0
	for _, w := range pieces {
		session, last := "", map[string]float64{}
		for line := range strings.Lines(string(p.log(w.id))) {
			var e struct {
				Kind, SessionID string
				Cost            *struct{ Amount float64 }
				Raw             struct{ Cost *struct{ Amount float64 } }
			}
			require.NoError(p.t, json.Unmarshal([]byte(line), &e))
			switch {
			case e.Kind == "session": // a process: its count begins anew
				session += "+"
			case e.Kind == "usage" && e.Raw.Cost != nil:
				last[session] = e.Raw.Cost.Amount
			}
		}
		for _, amount := range last {
			said += amount
		}
	}
	var stats struct {
		Runs struct {
			Used struct{ Cost []struct{ Amount float64 } }
		}
	}
	p.ok("stats").into(p.t, &stats)
	require.Len(p.t, stats.Runs.Used.Cost, 1)
	assert.InDelta(p.t, said, stats.Runs.Used.Cost[0].Amount, 0.001, "what the agents said that it cost")
}

// log is the transcript of a thread as it is on disk, nil for none.
func (p *project) log(id string) []byte {
	data, _ := os.ReadFile(p.path("runs/" + id + "/transcript.jsonl"))
	return data
}

// text is what a call prints for a person who reads it through a pipe.
func (p *project) text(args ...string) string {
	p.t.Helper()
	c := p.command(args...)
	c.Env = append(c.Env, "LESLIE_FORMAT=text")
	require.NoError(p.t, c.Start())
	require.NoError(p.t, c.Wait(), c.stderr.String())
	return c.stdout.String()
}

// sh runs a line in the project's folder.
func (p *project) sh(line string) string {
	p.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), append([]string{"HOME=" + p.home}, p.env...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(p.t, err, "%s: %s", line, out)
	return string(out)
}
