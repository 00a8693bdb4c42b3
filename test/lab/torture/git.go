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

	"leslie/test/lab"
)

// This file kills commands that start git, at each call with which leslie or one of its
// gits changes something: leslie while no git runs, a git alone, both at once, and leslie
// while a git goes on beside the next leslie.
//
// leslie records where worktrees are, so a prepared project cannot be copied elsewhere.
// Each worker has a place of its own, in which a row is prepared once and put back before
// each case.

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
	place string // everything of it; the project is a folder in it
	made  map[string]error
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
	case lab.Tracing != "":
		return nil, errors.New(lab.Tracing)
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
		p := r.project(filepath.Join(dir, "project"), 0)
		p.Env = r.gitSetting()
		out.free <- &station{project: p, place: dir, made: map[string]error{}}
	}
	return out, err
}

// with does something in a free station in which a row is prepared.
func (s *stations) with(name string, prepare func(*lab.Fixture), do func(*station) result) result {
	at := <-s.free
	defer func() { s.free <- at }()
	if err := at.restore(name, prepare); err != nil {
		return result{problem: err.Error()}
	}
	return do(at)
}

// restore puts the row's project into its place.
func (s *station) restore(name string, prepare func(*lab.Fixture)) error {
	saved := s.place + "." + name
	err, made := s.made[name]
	if err != nil {
		return err
	}
	if err := os.RemoveAll(s.place); err != nil {
		return err
	}
	if made {
		return exec.Command("cp", "-a", saved, s.place).Run()
	}
	f := &lab.Fixture{Project: &s.Project, Err: os.MkdirAll(s.Dir, 0o755)}
	prepare(f)
	if f.Err == nil {
		f.Err = exec.Command("cp", "-a", s.place, saved).Run()
	}
	s.made[name] = f.Err
	return f.Err
}

// seen is the folder in which the wrapper and the tracer write.
func (s *station) seen() string { return s.place + ".seen" }

// watched runs a command with the wrapper in place of git.
func (s *station) watched(at, call int, how lab.Mode, argv []string) (outcome, error) {
	if err := errors.Join(os.RemoveAll(s.seen()), os.Mkdir(s.seen(), 0o755)); err != nil {
		return outcome{}, err
	}
	which := strconv.Itoa(at)
	if how == lab.Counts {
		which = "all"
	}
	bin := filepath.Join(filepath.Dir(s.leslie), "bin")
	p := *s.project
	p.Env = append(slices.Clone(p.Env), "PATH="+bin+":"+os.Getenv("PATH"), "GIT_EXEC_PATH="+bin, "SEEN="+s.seen(), "REALGIT="+s.realGit, "TORTURE="+s.self,
		"AT="+which, fmt.Sprint("CALL=", call), "MODE="+string(how))
	return p.Call(argv...), nil
}

// underTracer runs a command under the tracer.
func (s *station) underTracer(how lab.Mode, call int, argv []string) (outcome, error) {
	if err := errors.Join(os.RemoveAll(s.seen()), os.Mkdir(s.seen(), 0o755)); err != nil {
		return outcome{}, err
	}
	return s.Run(s.self, lab.TracerArgs(how, call, filepath.Join(s.seen(), "killed"), s.leslie, argv), "", lab.Interruption{}), nil
}

// readyCode is a row with what an undisturbed run leaves.
type readyCode struct {
	lab.GitRow
	*stations
	before, after codeState
	gits          [][]string // the calls of each git
	own           []string   // leslie's own
}

// begin prepares the row's project.
func (r *readyCode) begin(f *lab.Fixture) {
	lab.CommonGit(f)
	if r.Prepare != nil {
		r.Prepare(f)
	}
}

// prepareCode measures a row: what it leaves, and which calls there are.
func (s *stations) prepareCode(row lab.GitRow) (*readyCode, error) {
	out := &readyCode{GitRow: row, stations: s}
	var after codeState
	for _, how := range []lab.Mode{lab.Counts, lab.Kills} { // kills at no call
		res := s.with(row.Name, out.begin, func(at *station) result {
			out.before = at.state()
			argv := at.Filled(strings.Fields(row.Argv))
			run := func() (outcome, error) { return at.watched(0, 0, lab.Counts, argv) }
			if how == lab.Kills {
				run = func() (outcome, error) { return at.underTracer(lab.Kills, 0, argv) }
			}
			o, err := run()
			if err != nil || o.Err != nil || !o.OK() {
				return result{problem: fmt.Sprintf("undisturbed, it ended with %d: %s (%v)", o.Status, o.Text(), err)}
			}
			for n := 1; how == lab.Counts; n++ {
				calls, over := lab.CallsIn(filepath.Join(at.seen(), fmt.Sprint("git-", n)))
				if !over {
					break
				}
				out.gits = append(out.gits, calls)
			}
			if how == lab.Kills {
				out.own, _ = lab.CallsIn(filepath.Join(at.seen(), "killed"))
			}
			after = at.state()
			return result{problem: at.problems()}
		})
		if res.problem != "" {
			return nil, errors.New(res.problem)
		}
		if how == lab.Kills {
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
		w := work{matrix: "git", row: r.Name, rest: rest, key: r.Name + " " + how}
		w.run = func(string) result {
			return r.with(r.Name, r.begin, func(at *station) result { return r.disturbed(at, how, git+call, run) })
		}
		out = append(out, w)
	}
	for i := range r.own {
		add("leslie", 0, i+1, func(at *station, argv []string) (outcome, error) { return at.underTracer(lab.Kills, i+1, argv) })
	}
	for _, how := range []lab.Mode{lab.Kills, lab.Both, lab.Orphans} {
		name := map[lab.Mode]string{lab.Kills: "git", lab.Both: "both", lab.Orphans: "orphan"}[how]
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
	argv := at.Filled(strings.Fields(r.Argv))
	o, err := run(at, argv)
	if err != nil {
		return result{problem: err.Error()}
	}
	report := filepath.Join(at.seen(), "killed")
	calls, over := lab.CallsIn(report)
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
	for end := time.Now().Add(callTimeout); how == "orphan" && !over && res.hit && time.Now().Before(end); _, over = lab.CallsIn(report) {
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
		if o := at.Call("doctor", "--repair"); o.Status != 0 {
			return "doctor --repair: " + o.Text()
		}
	}
	var again []string
	if r.Again != nil {
		again = r.Again(&at.Project)
	}
	if again == nil {
		again = argv
	}
	o := at.Call(again...)
	if o.Err != nil || !o.OK() && !slices.Contains(strings.Fields(r.Already), o.Code()) {
		return "when repeated: " + strings.Join(again, " ") + ": " + o.Text()
	}
	if o := at.Call("doctor", "--repair"); o.Status != 0 {
		return "doctor --repair, then: " + o.Text()
	}
	if problem := at.problems(); problem != "" {
		return problem
	}
	now := at.state()
	if r.KeepsRescue {
		now.facts[rescues] = r.after.facts[rescues]
	}
	if d := r.after.diff(now); d != "" {
		return "in the end: " + d
	}
	return ""
}
