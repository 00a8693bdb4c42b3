package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// This file runs and measures processes.

// sample is one run of one process.
type sample struct {
	wall, cpu time.Duration
	peak      int64 // bytes
}

// series has the samples of one subject.
type series []sample

// spread is the median of a series and its quartiles.
type spread struct{ low, median, high float64 }

func (s series) wall() spread {
	return spreadOf(s, func(m sample) float64 { return m.wall.Seconds() * 1e3 })
}
func (s series) cpu() spread {
	return spreadOf(s, func(m sample) float64 { return m.cpu.Seconds() * 1e3 })
}
func (s series) peak() spread {
	return spreadOf(s, func(m sample) float64 { return float64(m.peak) / 1e6 })
}

func spreadOf(s series, value func(sample) float64) spread {
	if len(s) == 0 {
		return spread{}
	}
	values := make([]float64, len(s))
	for i, m := range s {
		values[i] = value(m)
	}
	slices.Sort(values)
	pick := func(part float64) float64 { return values[int(part*float64(len(values)-1)+0.5)] }
	return spread{pick(0.25), pick(0.5), pick(0.75)}
}

// subject is one kind of process that is run again and again.
type subject struct {
	name string
	dir  string
	// argv returns the command line of the n-th run.
	argv func(n int) []string
	// before prepares the n-th run and is not measured.
	before func(n int) error
}

// fixed returns a subject with the same command line in every run.
func fixed(name, dir string, argv ...string) subject {
	return subject{name: name, dir: dir, argv: func(int) []string { return argv }}
}

// alternate runs each subject in turn, runs times, after one round that does not count.
// Every round starts with another subject. If it takes longer than the limit, it ends
// early, but not before seven rounds.
func (b *bench) alternate(runs int, limit time.Duration, subjects ...subject) (map[string]series, error) {
	out := map[string]series{}
	start := time.Now()
	for n := range runs + 1 {
		for i := range subjects {
			s := subjects[(i+n)%len(subjects)]
			m, err := b.once(s, n)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				out[s.name] = append(out[s.name], m)
			}
		}
		if n >= 7 && time.Since(start) > limit {
			break
		}
	}
	return out, nil
}

func (b *bench) once(s subject, n int) (sample, error) {
	if s.before != nil {
		if err := s.before(n); err != nil {
			return sample{}, err
		}
	}
	return b.process(s.dir, s.argv(n)...)
}

// process runs one process to its end.
func (b *bench) process(dir string, argv ...string) (sample, error) {
	cmd := exec.CommandContext(b.ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, b.environment()
	cmd.Stderr = b.stderr
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		text, _ := os.ReadFile(b.stderr.Name())
		return sample{}, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, text)
	}
	p := cmd.ProcessState
	return sample{wall: wall, cpu: p.UserTime() + p.SystemTime(), peak: peak(p)}, nil
}

// output returns a process's stdout.
func (b *bench) output(dir string, argv ...string) (string, error) {
	cmd := exec.CommandContext(b.ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, b.environment()
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return string(out), nil
}

// environment is the same for every process: a home folder of its own, a user name, no
// agent.
func (b *bench) environment() []string {
	return []string{"HOME=" + b.home(), "USER=bench", "LOGNAME=bench", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "TZ=UTC"}
}
