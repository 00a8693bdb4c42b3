package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// round is one run of all tests.
type round struct {
	name  string
	busy  int      // loops beside it
	set   []string // NAME=VALUE
	unset []string
	// odd: in a home folder with a space. strict: with a umask of 077. bare: as a user who is
	// not root, without a network.
	odd, strict, bare bool
}

func rounds() []round {
	return []round{
		{name: "busy", busy: 4},
		{name: "one processor", set: []string{"GOMAXPROCS=1"}, unset: []string{"COLUMNS"}},
		{name: "elsewhere", set: []string{"TZ=Pacific/Chatham", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "COLUMNS=40"}, odd: true, strict: true},
		{name: "unprivileged", strict: true, bare: true},
	}
}

func main() {
	only := flag.String("only", "", "run the round of this `name`")
	times := flag.Int("times", 1, "run all rounds so `often`")
	spin := flag.Bool("spin", false, "be one of the loops beside a round")
	inside := flag.Bool("inside", false, "be the process that runs a command without a network")
	flag.Parse()
	if *spin {
		for os.Getppid() != 1 {
		}
		return
	}
	if *inside {
		fail(runInside(flag.Args()))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if !all(ctx, *only, *times, flag.Args()) {
		os.Exit(1)
	}
}

func fail(err error) {
	if err == nil {
		return
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// all runs the rounds, and reports whether every test passed. args are those of go test.
func all(ctx context.Context, only string, times int, args []string) bool {
	passed := true
	for range times {
		for _, r := range rounds() {
			if only != "" && only != r.name {
				continue
			}
			start := time.Now()
			failed, left, err := r.run(ctx, args)
			if ctx.Err() != nil {
				return false
			}
			line := fmt.Sprintf("%-14s %4.0f s  ", r.name, time.Since(start).Seconds())
			switch {
			case err != nil:
				line += "failed: " + err.Error()
			case len(failed) > 0:
				line += "failed: " + strings.Join(failed, ", ")
			default:
				line += "passed"
			}
			if left != "" {
				line += " (" + left + ")"
			}
			fmt.Println(line)
			passed = passed && err == nil && len(failed) == 0
		}
	}
	return passed
}

// run runs the tests, and returns those that failed, and what was left out of the round.
func (r round) run(ctx context.Context, args []string) (failed []string, left string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range r.busy {
		loop := exec.CommandContext(ctx, self(), "-spin")
		if err := loop.Start(); err != nil {
			return nil, "", err
		}
		defer func() { cancel(); _ = loop.Wait() }()
	}
	dir, err := os.MkdirTemp("", "leslie-stress-")
	if err != nil {
		return nil, "", err
	}
	log, err := os.Create(filepath.Join(os.TempDir(), "leslie-stress-"+strings.ReplaceAll(r.name, " ", "-")+".log"))
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-count=1", "-shuffle=on"}, args...)...)
	cmd.Env, err = r.environ(dir)
	if err != nil {
		return nil, "", err
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	defer func() { _ = os.RemoveAll(dir) }()
	if r.bare {
		if cmd, left, err = asNobody(ctx, cmd, dir); err != nil {
			return nil, left, err
		}
	}
	ended := r.start(cmd)
	failed, err = failures(log.Name())
	if err == nil && ended != nil && len(failed) == 0 {
		err = ended
	}
	if len(failed) > 0 || err != nil {
		failed = append(failed, "see "+log.Name())
	}
	return failed, left, err
}

// start runs the command with the round's umask.
func (r round) start(cmd *exec.Cmd) error {
	if !r.strict {
		return cmd.Run()
	}
	was := setUmask(0o077)
	err := cmd.Start()
	setUmask(was)
	if err != nil {
		return err
	}
	return cmd.Wait()
}

// environ is the environment of go test. Its caches stay where they are.
func (r round) environ(dir string) ([]string, error) {
	var env []string
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); !slices.Contains(r.unset, name) {
			env = append(env, entry)
		}
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return nil, err
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	if r.odd {
		home := filepath.Join(dir, "a home")
		if err := os.Mkdir(home, 0o755); err != nil {
			return nil, err
		}
		env = append(env, "HOME="+home, "USERPROFILE="+home)
	}
	return append(env, r.set...), nil
}

// failures returns the tests, and the packages without one, that failed according to a log.
func failures(log string) ([]string, error) {
	text, err := os.ReadFile(log)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`).FindAllStringSubmatch(string(text), -1) {
		if n := len(out); n > 0 && strings.HasPrefix(m[1], out[n-1]+"/") {
			out[n-1] = m[1] // the part that failed says more than the whole
			continue
		}
		out = append(out, m[1])
	}
	if len(out) == 0 {
		for _, m := range regexp.MustCompile(`(?m)^(?:FAIL\t(\S+)|panic: .*)`).FindAllString(string(text), -1) {
			out = append(out, strings.ReplaceAll(m, "\t", " "))
		}
	}
	return out, nil
}

func self() string {
	name, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return name
}
