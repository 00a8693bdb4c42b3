//go:build !windows

package proctest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// This file plays a day of a laptop, a build server and a colleague's desk on one project: each is a
// user of its own, with a home and a clone at another place that nobody else sees, and has git's hub and
// the project's servers in common. LESLIE_NATS_SERVER names the program nats-server: then there are three
// servers, as processes, which are killed; otherwise one, in this process, which is stopped.

// servers are those of a project, as leslie remote config sets them up.
type servers struct {
	t       *testing.T
	dir     string // that of leslie remote config
	flags   string // what remote config is told of them
	url     string
	names   []string
	binary  string // "": in this process
	running []func()
}

func newServers(t *testing.T, dir string) *servers {
	s := &servers{t: t, dir: dir, names: []string{"n1"}, binary: os.Getenv("LESLIE_NATS_SERVER")}
	if s.binary != "" {
		s.names = []string{"n1", "n2", "n3"}
	}
	var urls []string
	for _, name := range s.names {
		at := fmt.Sprintf("127.0.0.1:%d", harness.FreePort())
		s.flags += " --servers " + name + "=" + at
		urls = append(urls, at)
	}
	s.url = "nats://" + strings.Join(urls, ",")
	t.Cleanup(s.kill)
	return s
}

// start starts all servers.
func (s *servers) start() {
	s.t.Helper()
	for _, name := range s.names {
		config := filepath.Join(s.dir, name+".conf")
		if s.binary == "" {
			s.running = append(s.running, startNats(s.t, config))
			continue
		}
		cmd := exec.Command(s.binary, "-c", config)
		require.NoError(s.t, cmd.Start())
		s.running = append(s.running, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
}

// kill ends all servers at once.
func (s *servers) kill() {
	for _, end := range s.running {
		end()
	}
	s.running = nil
}

// killOne ends the first server, and reports whether there are others.
func (s *servers) killOne() bool {
	if len(s.names) < 3 {
		return false
	}
	s.running[0]()
	s.running = s.running[1:]
	return true
}

// wipe ends all servers, and takes what they stored.
func (s *servers) wipe() {
	s.kill()
	require.NoError(s.t, os.RemoveAll(filepath.Join(s.dir, "data")))
}

// day is a day of three machines.
type day struct {
	t                   *testing.T
	laptop, tower, desk *machine
	servers             *servers
	project             string
	notes               map[string]string // what NOTE of a thread has to say, by "THREAD:PATH"
	commits             map[string]string // files that were handed on, by "REF:PATH"
}

func (d *day) all() []*machine { return []*machine{d.laptop, d.tower, d.desk} }

// eventually repeats a line while the servers find each other.
func (d *day) eventually(m *machine, line string) (out string) {
	d.t.Helper()
	var err error
	require.Eventually(d.t, func() bool { out, err = m.run(line); return err == nil }, 90*time.Second, 100*time.Millisecond, "%s$ %s", m.name, line)
	return out
}

// check looks at all machines: they say the same of every thread, and what they say is there.
func (d *day) check(what string) {
	d.t.Helper()
	d.t.Log("checked:", what)
	type said struct {
		ThreadID, Status, Title string
		Claim                   *struct{ Holder string }
	}
	var first []said
	for _, m := range d.all() {
		var list struct{ Data struct{ Items []said } }
		require.NoError(d.t, json.Unmarshal([]byte(m.must("leslie list --all --format json")), &list))
		if first == nil {
			first = list.Data.Items
		}
		require.Equal(d.t, first, list.Data.Items, "%s: %s", what, m.name)
		require.Contains(d.t, m.must("leslie remote status"), "behind: nothing", "%s: %s", what, m.name)
		for place, text := range d.notes {
			require.Contains(d.t, m.must("leslie show "+place), text, "%s: %s on %s", what, place, m.name)
		}
		m.must("git fetch -q origin && leslie code")
		for line, text := range d.commits {
			require.Contains(d.t, m.must(line), text, "%s: %s on %s", what, line, m.name)
		}
		require.Contains(d.t, m.must("leslie doctor"), "healthy", "%s: %s", what, m.name)
	}
}

func TestADayOfThreeMachines(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	all := newMachines(t, "laptop/src/project/sub", "tower/builds/deep/clone/sub", "desk/linked/sub")
	d := &day{t: t, laptop: all[0], tower: all[1], desk: all[2], notes: map[string]string{}, commits: map[string]string{}}
	d.begin()
	d.hand()
	d.land()
	d.lose()
	d.part()
	d.leave()
}

// begin makes the project on the laptop, and connects the others.
func (d *day) begin() {
	shared := d.t.TempDir()
	hub := filepath.Join(shared, "hub.git")
	require.NoError(d.t, os.Chmod(filepath.Dir(shared), 0o755))
	require.NoError(d.t, os.Chmod(shared, 0o777))
	for i, m := range d.all() {
		require.NoError(d.t, os.MkdirAll(filepath.Dir(filepath.Dir(m.dir)), 0o755))
		m.becomeUser(61000 + i)
	}
	in := func(m *machine, line string) { // beside its clone
		at := *m
		at.dir = filepath.Dir(filepath.Dir(m.dir))
		at.must(line)
	}
	in(d.laptop, "git init -q -b main project && cd project && mkdir sub && echo first > sub/first.txt && git add . && git commit -q -m first && "+
		"git clone -q --bare . "+hub+" && git remote add origin "+hub+" && git fetch -q && git branch -q -u origin/main")
	in(d.tower, "git clone -q "+hub+" clone")
	in(d.desk, "git clone -q "+hub+" kept && cd kept && git switch -q -c mine && git worktree add -q ../linked main")
	for _, m := range d.all() {
		for _, o := range d.all() {
			if m != o && len(m.others) > 0 {
				assert.Empty(d.t, m.must("ls -A '"+o.root+"'"), "%s sees folders of %s", m.name, o.name)
			}
		}
	}
	d.servers = newServers(d.t, filepath.Join(d.laptop.home(), "servers"))
	d.laptop.must("leslie remote config ~/servers" + d.servers.flags)
	d.servers.start()
	d.laptop.must("leslie init --no-agents && leslie objective create 'Ship it' --id ship && leslie spawn --code 'Check health' --id health && leslie spawn 'Write it down' --id notes")
	d.laptop.must("echo 'begun on the laptop' > .leslie/threads/notes/plan.md")
	d.laptop.must("cd " + d.worktree(d.laptop, "health") + " && echo 'package health' > health.go && git add . && git commit -q -m 'Begin the check'")
	out := d.eventually(d.laptop, "leslie remote init "+d.servers.url+" --creds ~/servers/admin.creds --format json")
	var made struct{ Data struct{ Project, URL string } }
	require.NoError(d.t, json.Unmarshal([]byte(out), &made))
	d.project = made.Data.URL
	for _, m := range []*machine{d.tower, d.desk} {
		for _, role := range []string{"writer", "admin"} {
			creds, err := os.ReadFile(filepath.Join(d.servers.dir, role+".creds"))
			require.NoError(d.t, err)
			m.keep(filepath.Join(m.home(), role+".creds"), creds)
		}
		m.must(d.connect(m))
	}
	d.notes["notes:plan.md"] = "begun on the laptop"
	d.commits["leslie diff health"] = "package health"
	d.check("two machines have connected")
}

// connect is the line that connects a machine. The desk works in a linked worktree, and has its copy in the main one.
func (d *day) connect(m *machine) string {
	line := "leslie connect " + d.project + " --creds ~/writer.creds"
	if m == d.desk {
		line = "cd ../../kept/sub && " + line
	}
	return line
}

// named is the name that a machine has in the project.
func (d *day) named(m *machine) string {
	found := regexp.MustCompile(`machine: (\S+)`).FindStringSubmatch(m.must("leslie remote status"))
	require.Len(d.t, found, 2)
	return found[1]
}

// worktree is the folder of a thread's code on a machine.
func (d *day) worktree(m *machine, id string) string {
	var code struct {
		Data struct {
			Items []struct{ ThreadID, State, Worktree string }
		}
	}
	require.NoError(d.t, json.Unmarshal([]byte(m.must("leslie code "+id+" --format json")), &code))
	require.NotEmpty(d.t, code.Data.Items)
	require.Equal(d.t, "ready", code.Data.Items[0].State, "%s on %s", id, m.name)
	return filepath.Join(code.Data.Items[0].Worktree, "sub")
}

// hand takes a thread with code from the laptop to the build server, and on to the desk.
func (d *day) hand() {
	claimed := d.tower.must("leslie claim health")
	at := d.worktree(d.tower, "health")
	assert.Contains(d.t, claimed, filepath.Dir(at), "it says where the worktree is on this machine")
	d.tower.must("cd " + at + " && cat health.go && echo 'var ok = true' >> health.go && git commit -q -a -m 'Go on' && echo draft > draft.txt")
	out, err := d.desk.run("leslie claim health")
	require.Error(d.t, err)
	require.Contains(d.t, out, "T108")
	out, err = d.tower.run("leslie transfer health --to kim@nowhere")
	require.Error(d.t, err)
	require.Contains(d.t, out, "no machine is named")
	d.tower.must("leslie transfer health --to kim@" + d.named(d.desk) + " --reason 'the desk does the rest'")
	assert.Contains(d.t, d.laptop.must("leslie status health"), "not committed")
	d.desk.must("leslie claim health")
	at = d.worktree(d.desk, "health")
	d.desk.must("cd " + at + " && grep ok health.go && test ! -e draft.txt && echo 'var done = true' >> health.go && git commit -q -a -m 'Finish' && leslie done health")
	d.commits["leslie diff health"] = "var done = true"
	d.desk.must("leslie claim notes && echo 'gone on at the desk' >> ../../kept/sub/.leslie/threads/notes/plan.md && leslie checkpoint notes --name desk && leslie release notes")
	d.notes["notes:plan.md"] = "gone on at the desk"
	d.check("two threads were handed on")
}

// land lands it on the laptop, and the others see that.
func (d *day) land() {
	d.laptop.must("leslie land health --squash && git push -q origin main")
	assert.Contains(d.t, d.tower.must("leslie code health"), "landed on another machine")
	delete(d.commits, "leslie diff health")
	d.commits["git show origin/main:sub/health.go"] = "var done = true"
	out := d.tower.must("git pull -q --ff-only && leslie code prune")
	assert.NotContains(d.t, out, "removed health", "what is not committed there is somebody's work")
	d.tower.must("rm " + filepath.Join(filepath.Dir(d.tower.dir)+".worktrees", "health", "sub", "draft.txt"))
	d.tower.must("leslie code prune")
	d.desk.must("git pull -q --ff-only && leslie code prune")
	d.check("a thread has landed")
}

// lose has the servers stop, and lose what they had: each machine makes the log anew.
func (d *day) lose() {
	if d.servers.killOne() {
		d.eventually(d.tower, "leslie spawn 'While one server is away' --id away")
		d.check("one of three servers was killed")
	}
	d.servers.kill()
	assert.Contains(d.t, d.tower.must("leslie list"), "notes", "what is here can be read")
	out, err := d.tower.run("leslie spawn 'Nobody answers' --id none")
	require.Error(d.t, err)
	require.Contains(d.t, out, "T510")
	d.servers.start()
	d.eventually(d.tower, "leslie spawn 'They are back' --id back")
	d.check("the servers were killed and are back")
	for i, m := range d.all() {
		d.servers.wipe()
		d.servers.start()
		out := d.eventually(m, "leslie remote restore --creds "+d.admin(m))
		assert.NotContains(d.t, out, "not restored", "each machine has looked at all of it")
		m.must(fmt.Sprintf("leslie spawn 'Restored %d' --id restored-%d", i, i))
		assert.Contains(d.t, m.must("leslie remote check --creds "+d.admin(m)), "each of them whole")
		d.check(m.name + " has restored the log")
	}
}

// admin is an administrator's credentials on a machine.
func (d *day) admin(m *machine) string {
	if m == d.laptop {
		return "~/servers/admin.creds"
	}
	return "~/admin.creds"
}

// part has the laptop restore the log without what the build server did last, and go on.
func (d *day) part() {
	d.tower.must("leslie spawn --code 'Only on the tower' --id only && leslie spawn 'And this' --id this")
	d.servers.wipe()
	d.servers.start()
	d.eventually(d.laptop, "leslie remote restore --creds "+d.admin(d.laptop))
	d.laptop.must("for n in 1 2 3 4 5 6; do leslie spawn \"Later $n\" --id later-$n || exit; done")
	out, err := d.tower.run("leslie list")
	require.Error(d.t, err)
	require.Contains(d.t, out, "next: leslie remote rejoin --dry-run")
	out = d.tower.must("leslie remote rejoin --dry-run")
	assert.Contains(d.t, out, "only")
	assert.Contains(d.t, out, "this")
	out = d.tower.must("leslie remote rejoin")
	line := regexp.MustCompile(`(leslie spawn --objective ship 'Only on the tower' --id only), and (leslie update only --worktree \S+)`).FindStringSubmatch(out)
	require.Len(d.t, line, 3, out)
	d.tower.must("leslie -C .leslie-parted-1 --offline list | grep 'And this'")
	d.tower.must(line[1] + " && " + line[2])
	assert.Contains(d.t, d.tower.must("leslie code only"), "leslie/only")
	d.check("the tower has rejoined")
}

// leave has the desk go its own way.
func (d *day) leave() {
	own := d.named(d.desk)
	out := d.desk.must("leslie remote leave")
	d.desk.must("leslie claim notes && leslie show notes:plan.md && leslie spawn 'Alone' --id alone && leslie doctor")
	assert.NotContains(d.t, d.laptop.must("leslie list"), "alone")
	_, line, found := strings.Cut(out, "to come back: ")
	require.True(d.t, found, out)
	line, _, _ = strings.Cut(line, "\n")
	refused, err := d.desk.run(d.connect(d.desk))
	require.Error(d.t, err)
	require.Contains(d.t, refused, line, "connect says the same line")
	refused, err = d.desk.run("cd ../../kept/sub && " + strings.ReplaceAll(line, " --creds FILE", ""))
	require.Error(d.t, err)
	require.Contains(d.t, refused, "name their file with --creds FILE")
	d.desk.must("leslie list | grep Alone")
	d.desk.must("cd ../../kept/sub && " + strings.ReplaceAll(line, " FILE", " ~/writer.creds"))
	assert.Contains(d.t, d.desk.must("leslie remote status"), own+" (this one)", "it is itself again")
	d.desk.must("cd ../../kept/sub && leslie -C .leslie-own-1 list | grep Alone")
	d.check("the desk has left, and is back")
}
