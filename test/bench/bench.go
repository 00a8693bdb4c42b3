package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// bench is one run of the program.
type bench struct {
	ctx context.Context
	options
	leslie string   // absolute path of the binary
	dir    string   // the temporary folder
	stderr *os.File // of the measured processes
	self   string   // path of this program, which creates stores in a process of its own
	empty  string   // paths of the baseline programs
	floor  string
	stores map[plan]*store
	report *report
}

// part is one table of the report.
type part struct {
	name string
	run  func(*bench) error
}

func parts() []part {
	return []part{
		{"start", measureStart},
		{"sizes", measureSizes},
		{"batch", measureBatch},
		{"writers", measureWriters},
		{"age", measureAge},
		{"merge-file", measureMergeFile},
		{"code", measureCode},
	}
}

func partNames() string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// say reports progress on stderr.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

// prepare builds the baseline programs and starts the report.
func (b *bench) prepare() (err error) {
	b.stores = map[plan]*store{}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.stderr, err = os.Create(filepath.Join(b.dir, "stderr")); err != nil {
		return err
	}
	if err := os.Mkdir(b.home(), 0o755); err != nil {
		return err
	}
	b.empty, b.floor = filepath.Join(b.dir, "empty"), filepath.Join(b.dir, "floor")
	for _, program := range []string{b.empty, b.floor} {
		cmd := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-o", program, "./test/bench/"+filepath.Base(program))
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building the baselines (run this in the project's folder): %w\n%s", err, out)
		}
	}
	for _, program := range []*string{&b.leslie, &b.empty, &b.floor} {
		if *program, err = install(*program, b.dir); err != nil {
			return err
		}
	}
	version, err := b.output(b.dir, b.leslie, "--version")
	if err != nil {
		return err
	}
	b.report.begin(b, strings.TrimSpace(version))
	return nil
}

// install copies a program, as an installation does, and returns the copy's path. What the
// linker has just written lies in the system's cache in single pages, and starts slower.
// The copy does not pass through this process, whose memory would count as its children's.
func install(program, dir string) (string, error) {
	from, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer from.Close()
	path := filepath.Join(dir, filepath.Base(program)+"-installed")
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return path, errors.Join(err, to.Close())
}

func (b *bench) home() string { return filepath.Join(b.dir, "home") }

// installed returns the path of another program, "" if it is not installed.
func (b *bench) installed(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		b.report.note("%s is not installed and was left out.", name)
		return ""
	}
	return path
}

// store is one project with a store of a known size.
type store struct {
	plan plan
	dir  string // the project's folder
	// referred and moved count the runs of commands that must differ each time, since
	// the records were restored.
	referred, moved int
}

// storeOf creates a store, or returns the one created before. doctor has checked it.
func (b *bench) storeOf(p plan) (*store, error) {
	if s := b.stores[p]; s != nil {
		return s, nil
	}
	s := &store{plan: p, dir: filepath.Join(b.dir, fmt.Sprintf("store-%d-%d-%d", p.live, p.archived, p.operations))}
	b.say("making a store of %d threads, %d archived ones, %d further operations", p.live, p.archived, p.operations)
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := b.output(s.dir, b.leslie, "init", "--no-agents"); err != nil {
		return nil, err
	}
	// In a process of its own: a child's peak memory, as the kernel counts it, is never
	// less than what its parent held.
	_, err := b.output(s.dir, b.self, "-make", s.dir, "-live", fmt.Sprint(p.live), "-archived", fmt.Sprint(p.archived), "-operations", fmt.Sprint(p.operations))
	if err != nil {
		return nil, err
	}
	if err := b.verify(s); err != nil {
		return nil, err
	}
	b.stores[p] = s
	return s, s.save()
}

// tooLong is the number of operations from which doctor does not check a store.
const tooLong = 300_000

// verify checks the store with leslie doctor and list.
func (b *bench) verify(s *store) error {
	if s.plan.operations <= tooLong {
		out, err := b.output(s.dir, b.leslie, "doctor", "--format", "json")
		if err != nil || !strings.Contains(out, `"healthy":true`) {
			return fmt.Errorf("doctor reports a damaged store: %v\n%s", err, out)
		}
	}
	out, err := b.output(s.dir, b.leslie, "list", "--limit", "1", "--format", "json")
	if want := fmt.Sprintf(`"total":%d,`, s.plan.live); err != nil || !strings.Contains(out, want) {
		return fmt.Errorf("the store does not hold %d threads: %v\n%s", s.plan.live, err, out)
	}
	return nil
}

// file returns the path of a file in the store's folder.
func (s *store) file(name string) string { return filepath.Join(s.dir, ".leslie", name) }

func kept() []string {
	return []string{"thread_relations.json", "thread_relations.json.bak", "operations.jsonl"}
}

// save copies the store's records, and restore puts the copies back, so that every
// measurement starts with a store of the same size. Folders of new threads stay,
// because a file system may be busy with removed folders for a while. A long journal is
// not restored.
func (s *store) save() error { return s.copyAll(s.file, s.saved) }

func (s *store) restore() error {
	s.moved = 0 // the references that were made keep their folders
	err := s.copyAll(s.saved, s.file)
	flushDisks() // otherwise the next fsync would pay for this
	return err
}

func (s *store) saved(name string) string { return filepath.Join(s.dir, "saved-"+name) }

func (s *store) copyAll(from, to func(string) string) error {
	if s.plan.operations > tooLong {
		return nil
	}
	for _, name := range kept() {
		if err := copyFile(from(name), to(name)); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) stateSize() int64 {
	info, err := os.Stat(s.file("thread_relations.json"))
	if err != nil {
		return 0
	}
	return info.Size()
}

// live returns the id of a live thread, counted from the oldest.
func (s *store) live(n int) string { return threadID(s.plan.archived + n%s.plan.live) }

// copyState copies the state file for a baseline that writes.
func (s *store) copyState(to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return copyFile(s.file("thread_relations.json"), to)
}
