package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// machinesWalk is a random history of threads with code on three machines, each with its own clone
// of one repository, by leslie and by git.
type machinesWalk struct {
	t        *testing.T
	r        *rand.Rand
	hub      string
	machines []*walkMachine
	threads  []string
	next     int
	log      []string
	url      string

	made map[string]string          // thread of each file that was committed
	sent map[string]map[string]bool // files by thread that a machine has sent, of what counts as the thread's
	over map[string]bool            // threads that were thrown away
}

// walkMachine is one machine; its folders are away while another one works.
type walkMachine struct {
	*bench
	name string
	root string // all of its folders
	top  string // of its clone
	gone bool
}

func newMachinesWalk(t *testing.T, seed uint64) *machinesWalk {
	t.Helper()
	w := &machinesWalk{t: t, r: rand.New(rand.NewPCG(seed, 5)), made: map[string]string{}, sent: map[string]map[string]bool{}, over: map[string]bool{}}
	first := newBench(t)
	dir := filepath.Dir(first.Dir)
	w.hub = filepath.Join(dir, "hub.git")
	seedDir := filepath.Join(dir, "seed")
	w.git(dir, "init", "-q", "-b", "main", seedDir)
	require.NoError(t, os.MkdirAll(filepath.Join(seedDir, "sub"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(seedDir, "sub", "first.txt"), []byte("first\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(seedDir, ".gitignore"), []byte(".leslie/\n"), 0o644))
	w.git(seedDir, "add", ".")
	w.git(seedDir, "commit", "-q", "-m", "first")
	w.git(dir, "clone", "-q", "--bare", seedDir, w.hub)
	for i, place := range []string{"laptop/src/proj", "tower/work", "desk/deep/down/clone"} {
		b := newBench(t)
		b.Engine, b.ids = first.Engine, (i+1)*1_000_000
		m := &walkMachine{bench: b, name: strings.Split(place, "/")[0], root: filepath.Join(dir, strings.Split(place, "/")[0]), top: filepath.Join(dir, place)}
		require.NoError(t, os.MkdirAll(filepath.Dir(m.top), 0o755))
		w.git(dir, "clone", "-q", w.hub, m.top)
		b.Dir = filepath.Join(m.top, "sub") // the project is a folder of the repository
		b.Host = func() string { return m.name }
		b.vars["GIT_CONFIG_GLOBAL"] = "/dev/null"
		w.machines = append(w.machines, m)
	}
	for i := range w.machines {
		w.on(i)
		if i == 0 {
			w.must("init", "--no-agents")
			w.must("objective", "create", "Goal", "--id", "goal")
			w.must("spawn", "Stays", "--id", "stays", "--objective", "goal")
			w.must("remote", "init", "memory://one")
			w.url = w.answer("data", "url")
			continue
		}
		w.must("connect", w.url)
	}
	return w
}

// machine is the one that works; the folders of the others are away.
func (w *machinesWalk) machine() *walkMachine {
	i := slices.IndexFunc(w.machines, func(m *walkMachine) bool { return !m.gone })
	return w.machines[i]
}

func (w *machinesWalk) on(i int) {
	for j, m := range w.machines {
		switch {
		case j != i && !m.gone:
			require.NoError(w.t, os.Rename(m.root, m.root+".away"))
		case j == i && m.gone:
			require.NoError(w.t, os.Rename(m.root+".away", m.root))
		}
		m.gone = j != i
	}
}

func (w *machinesWalk) git(dir string, args ...string) string {
	w.t.Helper()
	out, ok := w.tries(dir, args...)
	require.True(w.t, ok, "git %v: %s\n%s", args, out, w.story())
	return out
}

func (w *machinesWalk) tries(dir string, args ...string) (string, bool) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=kim", "-c", "user.email=kim@example.org", "-c", "gc.auto=0"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_EDITOR=true", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err == nil
}

func (w *machinesWalk) story() string { return strings.Join(w.log, "\n") }

// say runs leslie on the machine that works.
func (w *machinesWalk) say(line ...string) int {
	m := w.machine()
	status := m.leslie(append(line, "--format", "json")...)
	note := ""
	if status != 0 {
		note = "  " + m.out.String()
	}
	w.log = append(w.log, fmt.Sprintf("%s: %d  leslie %s%s", m.name, status, strings.Join(line, " "), note))
	require.NotContains(w.t, m.out.String(), `"T901"`, w.story())
	return status
}

func (w *machinesWalk) must(line ...string) {
	w.t.Helper()
	require.Zero(w.t, w.say(line...), w.story())
}

func (w *machinesWalk) answer(path ...string) string {
	var found any
	require.NoError(w.t, json.Unmarshal(w.machine().out.Bytes(), &found))
	for _, key := range path {
		at, _ := found.(map[string]any)
		found = at[key]
	}
	text, _ := found.(string)
	return text
}

// item is the code of a thread as the machine that works says it.
type walkItem struct {
	State, Branch, Worktree, Machine, Head string
	Landed                                 bool
}

func (w *machinesWalk) code(id string) (item walkItem) {
	if w.say("code", id) != 0 {
		return item
	}
	var all struct{ Data struct{ Items []walkItem } }
	require.NoError(w.t, json.Unmarshal(w.machine().out.Bytes(), &all))
	if len(all.Data.Items) > 0 {
		item = all.Data.Items[0]
	}
	return item
}

func (w *machinesWalk) one() string { return w.threads[w.r.IntN(len(w.threads))] }

func (w *machinesWalk) actor() string { return []string{"ann", "bob"}[w.r.IntN(2)] }

// commit commits a file of its own in the worktree of a thread that is here, or was left here when the thread went to
// another machine.
func (w *machinesWalk) commit(id string) {
	at := ""
	for _, one := range strings.Split(w.git(w.machine().top, "worktree", "list", "--porcelain"), "\n\n") {
		if dir, rest, _ := strings.Cut(one, "\n"); strings.HasSuffix(rest, "\nbranch refs/heads/leslie/"+id) {
			at = strings.TrimPrefix(dir, "worktree ")
		}
	}
	if at == "" {
		return
	}
	w.next++
	name := fmt.Sprintf("%s-%d.txt", id, w.next)
	require.NoError(w.t, os.WriteFile(filepath.Join(at, "sub", name), []byte(name+"\n"), 0o644))
	w.git(at, "add", ".")
	w.git(at, "commit", "-q", "-m", name)
	w.made[name] = id
	w.log = append(w.log, w.machine().name+": committed "+name)
}

// has are the files of a walk's threads in a commit of the machine that works.
func (w *machinesWalk) has(commit string) map[string]bool {
	out := map[string]bool{}
	list, ok := w.tries(w.machine().top, "ls-tree", "--name-only", "-r", commit, "--", "sub")
	if !ok {
		return out
	}
	for _, name := range strings.Fields(list) {
		out[filepath.Base(name)] = true
	}
	return out
}

// nowSent notes what the machine that works has sent of its threads.
func (w *machinesWalk) nowSent(ids ...string) {
	for _, id := range ids {
		item := w.code(id)
		if item.State != "ready" || item.Machine != "" {
			continue
		}
		w.sent[id] = map[string]bool{}
		for name := range w.has(item.Branch) {
			if w.made[name] == id {
				w.sent[id][name] = true
			}
		}
	}
}

// step is one thing that somebody does.
func (w *machinesWalk) step() {
	w.on(w.r.IntN(len(w.machines)))
	m := w.machine()
	if len(w.threads) == 0 || len(w.threads) < 5 && w.r.IntN(6) == 0 {
		id := fmt.Sprintf("t%d", len(w.threads)+1)
		w.must("spawn", "--code", "Work "+id, "--id", id, "--objective", "goal")
		w.threads = append(w.threads, id)
		return
	}
	id, actor := w.one(), w.actor()
	switch w.r.IntN(18) {
	case 0, 1, 2, 3:
		for i := range w.machines { // whoever has a worktree of it
			w.on(i)
			w.commit(id)
		}
	case 4, 5:
		w.say("claim", id, "--as", "agent", "--actor", actor)
	case 6:
		if w.say("release", id, "--as", "agent", "--actor", actor) == 0 {
			w.nowSent(id)
		}
	case 7:
		if w.say("done", id, "--uncommitted", "leave", "--no-commits") == 0 {
			w.nowSent(id)
		}
	case 8:
		w.say("reopen", id)
	case 9:
		if w.say("code", "setup", id) == 0 {
			require.Equal(w.t, "ready", w.code(id).State, w.story())
		}
	case 10:
		w.must("publish")
		w.nowSent(w.threads...)
	case 11, 12:
		w.land(id)
	case 13:
		w.tries(m.top, "push", "-q", "origin", "main")
		if _, ok := w.tries(m.top, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main"); !ok {
			w.tries(m.top, "merge", "--abort")
		}
		w.log = append(w.log, m.name+": pushed and pulled main")
	case 14:
		w.say("code", "prune")
	case 15:
		if w.r.IntN(3) == 0 && w.say("drop", id, "--yes") == 0 {
			w.over[id] = true
		} else {
			w.say("pull", id)
		}
	case 16: // the servers have lost the log
		m.memory().Drop(w.url[strings.LastIndex(w.url, "/")+1:])
		w.on(w.knowsMost())
		w.must("remote", "restore")
	case 17: // the machine has lost its copy
		w.must("remote", "status")
		name := w.answer("data", "machine")
		require.NoError(w.t, os.RemoveAll(filepath.Join(m.Dir, ".leslie")))
		if w.say("connect", w.url, "--machine", name) != 0 { // it has never written
			require.Equal(w.t, "T903", w.answer("error", "code"), w.story())
			w.must("connect", w.url)
		}
	}
}

// knowsMost is the machine with the greatest revision.
func (w *machinesWalk) knowsMost() (best int) {
	most := -1.0
	for i := range w.machines {
		w.on(i)
		w.must("remote", "status")
		var said struct{ Data struct{ Revision float64 } }
		require.NoError(w.t, json.Unmarshal(w.machine().out.Bytes(), &said))
		if said.Data.Revision > most {
			best, most = i, said.Data.Revision
		}
	}
	return best
}

// land lands a thread: what others have sent of it is in the branch, or W809 says that it waits beside it.
func (w *machinesWalk) land(id string) {
	how := []string{"--merge", "--squash", "--rebase"}[w.r.IntN(3)]
	if w.say("land", id, how) != 0 {
		if merge := w.answer("error", "details", "mergeId"); merge != "" {
			w.say("merge", "abort", merge)
		}
		return
	}
	status := w.machine().out.String()
	if strings.Contains(status, `"status":"nothing_to_do"`) || strings.Contains(status, `"status":"nothing"`) {
		return
	}
	main, waits := w.has("main"), strings.Contains(status, `"W809"`) && strings.Contains(status, "leslie/machines/")
	for name := range w.sent[id] {
		if waits && !main[name] {
			continue
		}
		require.True(w.t, main[name], "%s landed without %s\n%s\n%s", id, name, status, w.story())
	}
	w.nowSent(id)
}

// check looks at all machines: they say the same of every thread, one of them at most has its worktree,
// and each file that was committed is on a branch of some machine, or where a removal keeps it.
func (w *machinesWalk) check() {
	type said struct{ Status, Holder string }
	var first map[string]said
	owners := map[string][]string{}
	kept := map[string]bool{}
	for i := range w.machines {
		w.on(i)
		m := w.machine()
		w.must("list", "--all")
		var list struct {
			Data struct {
				Items []struct {
					ThreadID, Status string
					Claim            *struct{ Holder string }
				}
			}
		}
		require.NoError(w.t, json.Unmarshal(m.out.Bytes(), &list))
		says := map[string]said{}
		for _, item := range list.Data.Items {
			one := said{Status: item.Status}
			if item.Claim != nil {
				one.Holder = item.Claim.Holder
			}
			says[item.ThreadID] = one
		}
		if first == nil {
			first = says
		}
		require.Equal(w.t, first, says, w.story())
		w.must("code")
		var code struct {
			Data struct {
				Items []struct{ ThreadID, State, Machine string }
			}
		}
		require.NoError(w.t, json.Unmarshal(m.out.Bytes(), &code))
		for _, item := range code.Data.Items {
			if item.State == "ready" || item.State == "lost" {
				owners[item.ThreadID] = append(owners[item.ThreadID], m.name)
			}
		}
		list2, _ := w.tries(m.top, "log", "--branches", "--remotes", "--glob=refs/leslie/rescue/*", "--format=", "--name-only", "--diff-filter=A", "-m")
		for _, name := range strings.Fields(list2) {
			kept[filepath.Base(name)] = true
		}
	}
	for id, all := range owners {
		require.LessOrEqual(w.t, len(all), 1, "%s has its worktree on %v\n%s", id, all, w.story())
	}
	for name := range w.made {
		require.True(w.t, kept[name], "no machine keeps %s\n%s", name, w.story())
	}
}

func TestCodeOnThreeMachinesIsNeverLostNorLeftOut(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	walks, steps := 200, 40
	if testing.Short() {
		walks = 6
	}
	for seed := range walks {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newMachinesWalk(t, uint64(seed))
			for i := range steps {
				w.step()
				if i%5 == 4 { // a look brings commits, too
					w.check()
				}
			}
		})
	}
}
