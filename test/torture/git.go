//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file kills commands that start git, at each call with which leslie or one of its
// gits changes something: leslie while no git runs, a git alone, both at once, and leslie
// while a git goes on beside the next leslie.
//
// leslie records where worktrees are, so a prepared project cannot be copied elsewhere.
// Each worker has a place of its own, in which a row is prepared once and put back before
// each case.

// codeRow is one command that starts git.
type codeRow struct {
	name    string
	prepare func(*fixture)
	argv    []string
	// already are the codes with which the same command may answer once it has done its work.
	already []string
	// keepsRescue: a kill may leave the ref that keeps the work which the command brings back.
	keepsRescue bool
	// again is what goes on with a killed command; nil: the same command.
	again func(*project) []string
}

// codeTable returns every command that starts git and writes.
func codeTable() []codeRow {
	words := strings.Fields
	return []codeRow{
		{name: "spawn-code", argv: words("spawn --code --id new --intent Do --parent lead"), already: words("T106")},
		{name: "merge-code", argv: words("merge --sources api --target lead"), again: goOnMerging},
		{name: "merge-code-nowhere", prepare: withNoCheckout, argv: words("merge --sources api --target lead"), again: goOnMerging},
		{name: "merge-land-code", prepare: withQueueOfCode, argv: words("merge land lead")},
		{name: "code-remove", prepare: withLocalWork, argv: words("code remove api"), already: words("T802")},
		{name: "code-restore", prepare: withRemovedWorktree, argv: words("code restore api"), keepsRescue: true},
		{name: "code-prune", prepare: withPrunable, argv: words("code prune")},
		{name: "rollback-turn", prepare: withTurn, argv: words("rollback api --turn 1")},
		{name: "undo-code", prepare: withLandedCode, argv: words("undo {op}"), already: words("T110")},
	}
}

// commonCode makes the project that all these rows start with.
func commonCode(f *fixture) {
	f.git(".", "init", "-q")
	f.put("a.txt", "one\n")
	f.put("b.txt", "one\n")
	f.put(".gitignore", "*.log\n")
	f.git(".", "add", "-A")
	f.git(".", "commit", "-q", "-m", "first")
	f.ok("init --no-agents --here")
	f.ok("objective create Ship --id ship")
	f.ok("spawn --code --id lead --intent Lead")
	f.ok("spawn --code --id api --intent Api --parent lead")
	f.write("api", "plan.md", "the plan\n")
	f.put(api+"/a.txt", "two\n")
	f.put(api+"/new/c.txt", lines("new", 50))
	f.git(api, "add", "-A")
	f.git(api, "commit", "-q", "-m", "api")
	f.put(lead+"/b.txt", "local work\n")
}

const (
	lead = "../project.worktrees/lead"
	api  = "../project.worktrees/api"
	docs = "../project.worktrees/docs"
)

func withNoCheckout(f *fixture) { f.git(lead, "checkout", "-q", "--detach") }

func withQueueOfCode(f *fixture) {
	f.ok("spawn --code --id docs --intent Docs --parent lead")
	f.put(docs+"/docs.txt", "docs\n")
	f.git(docs, "add", "-A")
	f.git(docs, "commit", "-q", "-m", "docs")
	f.ok("merge --sources api --target lead --queue")
	f.ok("merge --sources docs --target lead --queue")
}

// withLocalWork: work that is staged, not staged, not tracked and ignored.
func withLocalWork(f *fixture) {
	f.put(api+"/a.txt", "staged\n")
	f.git(api, "add", "-A")
	f.put(api+"/a.txt", "not staged\n")
	f.put(api+"/untracked.txt", "untracked\n")
	f.put(api+"/ignored.log", "ignored\n")
}

func withRemovedWorktree(f *fixture) {
	withLocalWork(f)
	f.ok("code remove api")
}

func withLandedCode(f *fixture) { f.ok("merge --sources api --target lead") }

func withPrunable(f *fixture) {
	withLandedCode(f)
	f.ok("done api")
}

// goOnMerging continues the merge if it is pending.
func goOnMerging(p *project) []string {
	var pending struct {
		Items []struct {
			MergeID string `json:"mergeId"`
		} `json:"items"`
	}
	p.call("merge", "list").Into(&pending)
	if len(pending.Items) == 0 {
		return nil
	}
	return []string{"merge", "continue", pending.Items[0].MergeID}
}

// git runs git in a folder of the project.
func (f *fixture) git(dir string, argv ...string) {
	if f.err != nil {
		return
	}
	_, f.err = f.project.git(dir, argv...)
}

func (p *project) git(dir string, argv ...string) (string, error) {
	cmd := exec.Command(p.realGit, argv...)
	cmd.Dir, cmd.Env = filepath.Join(p.dir, dir), p.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(argv, " "), err, out)
	}
	return string(out), err
}

// gitSetting is the environment of git: names, and times that make its objects the same in
// every run.
func (r *rig) gitSetting() []string {
	return []string{
		"GIT_CONFIG_GLOBAL=" + filepath.Join(r.home, "gitconfig"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
	}
}

// wrapper is the git that leslie finds. It numbers the gits of a run, those that git starts
// as well, and has the tracer run the one with the number AT, or all if that is "all".
const wrapper = `#!/bin/sh
: "${LESLIE_PID:=$PPID}"
export LESLIE_PID
n=0
[ -e "$SEEN/count" ] && read n <"$SEEN/count"
n=$((n + 1))
echo $n >"$SEEN/count"
case $AT in
all) exec "$TORTURE" tracer count 0 "$SEEN/git-$n" "$REALGIT" "$@" ;;
$n) exec "$TORTURE" tracer "$MODE" "$CALL" "$SEEN/killed" "$REALGIT" "$@" ;;
esac
exec "$REALGIT" "$@"
`

// station is a place in which cases run, one after the other.
type station struct {
	*project
	dir  string // everything of it; the project is a folder in it
	made map[string]error
}

// stations are those of a run; a case takes a free one.
type stations struct {
	free chan *station
}

// newStations writes what cases of git need.
func (r *rig) newStations(workers int) (*stations, error) {
	name, err := exec.LookPath("git")
	switch {
	case err != nil:
		return nil, errors.New("git is missing")
	case tracing != "":
		return nil, errors.New(tracing)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r.realGit, r.self = name, self
	if err := r.writeAgent(); err != nil {
		return nil, err
	}
	config := "[user]\n\tname = Kim\n\temail = kim@example.org\n[init]\n\tdefaultBranch = main\n"
	bin := filepath.Join(filepath.Dir(r.leslie), "bin")
	err = errors.Join(os.WriteFile(filepath.Join(r.home, "gitconfig"), []byte(config), 0o644), os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "git"), []byte(wrapper), 0o755))
	out := &stations{free: make(chan *station, workers)}
	for i := range workers {
		dir := filepath.Join(r.dir, fmt.Sprintf("station-%d", i))
		out.free <- &station{project: &project{rig: r, dir: filepath.Join(dir, "project"), env: r.gitSetting()}, dir: dir, made: map[string]error{}}
	}
	return out, err
}

// with does something in a free station in which a row is prepared.
func (s *stations) with(name string, prepare func(*fixture), do func(*station) result) result {
	at := <-s.free
	defer func() { s.free <- at }()
	if err := at.restore(name, prepare); err != nil {
		return result{problem: err.Error()}
	}
	return do(at)
}

// restore puts the row's project into its place.
func (s *station) restore(name string, prepare func(*fixture)) error {
	saved := s.dir + "." + name
	err, made := s.made[name]
	if err != nil {
		return err
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	if made {
		return exec.Command("cp", "-a", saved, s.dir).Run()
	}
	f := &fixture{project: s.project, err: os.MkdirAll(s.project.dir, 0o755)}
	prepare(f)
	if f.err == nil {
		f.err = exec.Command("cp", "-a", s.dir, saved).Run()
	}
	s.made[name] = f.err
	return f.err
}

// seen is the folder in which the wrapper and the tracer write.
func (s *station) seen() string { return s.dir + ".seen" }

// watched runs a command with the wrapper in place of git.
func (s *station) watched(at, call int, how mode, argv []string) (outcome, error) {
	if err := errors.Join(os.RemoveAll(s.seen()), os.Mkdir(s.seen(), 0o755)); err != nil {
		return outcome{}, err
	}
	which := strconv.Itoa(at)
	if how == counts {
		which = "all"
	}
	bin := filepath.Join(filepath.Dir(s.leslie), "bin")
	p := *s.project
	p.env = append(slices.Clone(p.env), "PATH="+bin+":"+os.Getenv("PATH"), "GIT_EXEC_PATH="+bin, "SEEN="+s.seen(), "REALGIT="+s.realGit, "TORTURE="+s.self,
		"AT="+which, fmt.Sprint("CALL=", call), "MODE="+string(how))
	return p.call(argv...), nil
}

// underTracer runs a command under the tracer.
func (s *station) underTracer(how mode, call int, argv []string) (outcome, error) {
	if err := errors.Join(os.RemoveAll(s.seen()), os.Mkdir(s.seen(), 0o755)); err != nil {
		return outcome{}, err
	}
	return s.run(s.self, append([]string{tracerWord, string(how), strconv.Itoa(call), filepath.Join(s.seen(), "killed"), s.leslie}, argv...)), nil
}

// callsIn returns the calls that the tracer wrote down; over: the program has ended.
func callsIn(report string) (calls []string, over bool) {
	text, _ := os.ReadFile(report)
	calls = strings.Split(strings.TrimSpace(string(text)), "\n")
	over = calls[len(calls)-1] == "end"
	if over {
		calls = calls[:len(calls)-1]
	}
	return calls, over
}

// readyCode is a row with what an undisturbed run leaves.
type readyCode struct {
	codeRow
	*stations
	before, after codeState
	gits          [][]string // the calls of each git
	own           []string   // leslie's own
}

// begin prepares the row's project.
func (r *readyCode) begin(f *fixture) {
	commonCode(f)
	if r.prepare != nil {
		r.prepare(f)
	}
}

// prepareCode measures a row: what it leaves, and which calls there are.
func (s *stations) prepareCode(row codeRow) (*readyCode, error) {
	out := &readyCode{codeRow: row, stations: s}
	var after codeState
	for _, how := range []mode{counts, kills} { // kills at no call
		res := s.with(row.name, out.begin, func(at *station) result {
			out.before = at.state()
			argv := at.filled(row.argv)
			run := func() (outcome, error) { return at.watched(0, 0, counts, argv) }
			if how == kills {
				run = func() (outcome, error) { return at.underTracer(kills, 0, argv) }
			}
			o, err := run()
			if err != nil || o.Err != nil || !o.OK() {
				return result{problem: fmt.Sprintf("undisturbed, it ended with %d: %s (%v)", o.Status, o.Text(), err)}
			}
			for n := 1; how == counts; n++ {
				calls, over := callsIn(filepath.Join(at.seen(), fmt.Sprint("git-", n)))
				if !over {
					break
				}
				out.gits = append(out.gits, calls)
			}
			if how == kills {
				out.own, _ = callsIn(filepath.Join(at.seen(), "killed"))
			}
			after = at.state()
			return result{problem: at.problems()}
		})
		if res.problem != "" {
			return nil, errors.New(res.problem)
		}
		if how == kills {
			if d := out.after.diff(after); d != "" {
				return nil, errors.New("two undisturbed runs differ: " + d)
			}
		}
		out.after = after
	}
	return out, nil
}

// cases returns the row's cases.
func (r *readyCode) cases() (out []work) {
	add := func(how string, git, call int, run func(*station, []string) (outcome, error)) {
		rest := fmt.Sprintf("%s/%d/%d", how, git, call)
		if git == 0 {
			rest = fmt.Sprintf("%s/%d", how, call)
		}
		w := work{matrix: "git", row: r.name, rest: rest, key: r.name + " " + how}
		w.run = func(string) result {
			return r.with(r.name, r.begin, func(at *station) result { return r.disturbed(at, how, git+call, run) })
		}
		out = append(out, w)
	}
	for i := range r.own {
		add("leslie", 0, i+1, func(at *station, argv []string) (outcome, error) { return at.underTracer(kills, i+1, argv) })
	}
	for _, how := range []mode{kills, both, orphans} {
		name := map[mode]string{kills: "git", both: "both", orphans: "orphan"}[how]
		for n, calls := range r.gits {
			for i := range calls {
				add(name, n+1, i+1, func(at *station, argv []string) (outcome, error) { return at.watched(n+1, i+1, how, argv) })
			}
		}
	}
	return out
}

// disturbed runs one case.
func (r *readyCode) disturbed(at *station, how string, n int, run func(*station, []string) (outcome, error)) result {
	argv := at.filled(r.argv)
	o, err := run(at, argv)
	if err != nil {
		return result{problem: err.Error()}
	}
	report := filepath.Join(at.seen(), "killed")
	calls, over := callsIn(report)
	res := result{hit: o.Killed || how == "git" && calls[0] != "", outcome: succeeded}
	where := fmt.Sprintf(" (before call %d, %s)", len(calls), calls[len(calls)-1])
	if res.problem = r.answered(at, o); res.problem == "" {
		if o.Killed {
			res.outcome = killedAll
		} else if !o.OK() {
			res.outcome = refused
		}
		res.problem = r.goesOn(at, argv, n%2 == 0)
	}
	for end := time.Now().Add(callTimeout); how == "orphan" && !over && res.hit && time.Now().Before(end); _, over = callsIn(report) {
		time.Sleep(10 * time.Millisecond)
	}
	if res.problem != "" {
		res.problem += where
	}
	return res
}

// answered checks an answer, if there is one.
func (r *readyCode) answered(at *station, o outcome) string {
	switch {
	case o.Err != nil:
		return o.Err.Error()
	case o.Killed && len(o.Stdout) == 0:
		return ""
	case o.Doc == nil:
		return "stdout is not one JSON document: " + o.Text()
	case o.Code() == "T901":
		return o.Text()
	}
	return ""
}

// goesOn repeats a disturbed command, and compares what is there then.
func (r *readyCode) goesOn(at *station, argv []string, repairs bool) string {
	if lost := at.lost(r.before); lost != "" {
		return "lost: " + lost
	}
	if repairs {
		if o := at.call("doctor", "--repair"); o.Status != 0 {
			return "doctor --repair: " + o.Text()
		}
	}
	var again []string
	if r.again != nil {
		again = r.again(at.project)
	}
	if again == nil {
		again = argv
	}
	o := at.call(again...)
	if o.Err != nil || !o.OK() && !slices.Contains(r.already, o.Code()) {
		return "when repeated: " + strings.Join(again, " ") + ": " + o.Text()
	}
	if o := at.call("doctor", "--repair"); o.Status != 0 {
		return "doctor --repair, then: " + o.Text()
	}
	if problem := at.problems(); problem != "" {
		return problem
	}
	now := at.state()
	if r.keepsRescue {
		now.facts[rescues] = r.after.facts[rescues]
	}
	if d := r.after.diff(now); d != "" {
		return "in the end: " + d
	}
	return ""
}
