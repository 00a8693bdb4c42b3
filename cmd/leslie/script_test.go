package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/warnings"
)

// TestScripts runs testdata/script: one behaviour a file. Beside testscript's
// own commands a script has:
//
//	leslie ARG...         a call in this process (script_leslie_test.go)
//	input FILE            what the next such call reads from standard input
//	exits N CMD...        runs CMD, which ends with exactly this status
//	json [FIELD [VALUE]]  stdout is one JSON document; its FIELD is VALUE, is there,
//	                      or, after "!", is not there. a.b.0 goes down, len counts,
//	                      ~VALUE is a regular expression, "VALUE" a JSON string
//	yaml ...              the same for YAML
//	keep VAR FIELD        puts a field of stdout's document into a variable
//	follow                runs the first next line of the last answer: it exits 0
//	appears FILE [REGEXP] waits until there is such a file (a pattern of path/filepath's
//	                      Glob) with the text
//	tick                  waits until what is written from then on is seen to be later: a
//	                      file's time is that of the last tick of the kernel's clock
//	snapshot DIR          notes every path and byte below DIR, but for the log
//	unchanged DIR         compares with that
//	repeat VAR N TEXT     puts N times TEXT into a variable; \n is a newline
//	fill FILE N           makes a file of N bytes
//	hold FILE             holds the lock FILE until the script ends, or free
//	free FILE
//	engine WORD...        what becomes of calls to the engine in memory that has the
//	                      logs of projects on several machines (memory://...)
//	nobody CMD...         exits 0 with CMD run as a user whom permissions bind;
//	nobody -N CMD...      or exits N
//
// With LESLIE_SCRIPT_NEXT=1 the next lines of every error are run, too (script_next_test.go).
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup:              setUpScript,
		Condition:          scriptCondition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scriptExits, "json": scriptJSON, "yaml": scriptYAML, "keep": scriptKeep, "follow": scriptFollow, "appears": scriptAppears, "tick": scriptTick,
			"snapshot": scriptSnapshot, "unchanged": scriptUnchanged, "repeat": scriptRepeat, "fill": scriptFill,
			"leslie": scriptLeslie, "input": scriptInput, "hold": scriptHold, "free": scriptFree, "nobody": scriptNobody, "engine": scriptEngine,
		},
	})
}

// setUpScript: testscript inherits only PATH from the environment, so no agent's marker
// and no LESLIE_ variable gets in.
func setUpScript(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, ".home")
	e.Setenv("HOME", home)
	e.Setenv("LOGNAME", "kim")
	e.Setenv("GORACE", os.Getenv("GORACE")) // a race build waits a second before it ends
	e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	text, err := scriptText(e.WorkDir)
	if err != nil {
		return err
	}
	e.Values[scriptKey{}] = newScript(e.WorkDir, text, e.Vars)
	e.Values["locks"] = map[string]*flock.Flock{}
	e.Values["trees"] = map[string]map[string]string{}
	return os.Mkdir(home, 0o755)
}

func scriptCondition(cond string) (bool, error) {
	if cond == "root" {
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

func wants(ts *testscript.TestScript, ok bool, usage string) {
	if !ok {
		ts.Fatalf("usage: %s", usage)
	}
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, !neg && len(args) >= 2, "exits N CMD...")
	got := 0
	if args[1] == "leslie" {
		got = leslieInScript(ts, args[2:])
	} else {
		got = statusOf(ts, ts.Exec(args[1], args[2:]...))
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, not %s", got, args[0])
	}
}

func statusOf(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, len(args) <= 2, "json [FIELD [VALUE]]")
	compareField(ts, neg, scriptDocument(ts), args)
}

func scriptYAML(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, len(args) <= 2, "yaml [FIELD [VALUE]]")
	dec := yaml.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var doc any
	ts.Check(dec.Decode(&doc))
	if err := dec.Decode(new(any)); err != io.EOF {
		ts.Fatalf("stdout holds more than one document")
	}
	compareField(ts, neg, doc, args)
}

// scriptDocument parses stdout as exactly one JSON document.
func scriptDocument(ts *testscript.TestScript) any {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		ts.Fatalf("stdout is no JSON document: %v", err)
	}
	if err := dec.Decode(new(any)); err != io.EOF {
		ts.Fatalf("stdout holds more than one document")
	}
	return doc
}

func compareField(ts *testscript.TestScript, neg bool, doc any, args []string) {
	if len(args) == 0 {
		return
	}
	value, ok := field(doc, args[0])
	if len(args) == 1 {
		if ok == neg {
			ts.Fatalf("field %s: there is %v", args[0], ok)
		}
		return
	}
	if !ok {
		ts.Fatalf("field %s is not there", args[0])
	}
	same := fieldText(value) == args[1]
	if raw, err := fact.JSON(value); err == nil && strings.HasPrefix(args[1], `"`) {
		same = string(raw) == args[1]
	}
	if pattern, is := strings.CutPrefix(args[1], "~"); is {
		re, err := regexp.Compile(pattern)
		ts.Check(err)
		same = re.MatchString(fieldText(value))
	}
	if same == neg {
		ts.Fatalf("field %s is %s", args[0], fieldText(value))
	}
}

func field(v any, path string) (any, bool) {
	for part := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[part]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			switch {
			case part == "len":
				v = len(in)
			case err != nil || i >= len(in):
				return nil, false
			default:
				v = in[i]
			}
		default:
			return nil, false
		}
	}
	return v, true
}

func fieldText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, _ := fact.JSON(v)
	return string(raw)
}

func scriptKeep(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, !neg && len(args) == 2, "keep VAR FIELD")
	value, ok := field(scriptDocument(ts), args[1])
	if !ok {
		ts.Fatalf("field %s is not there", args[1])
	}
	ts.Setenv(args[0], fieldText(value))
}

func scriptFollow(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, !neg && len(args) == 0, "follow")
	line := ""
	if out := ts.ReadFile("stdout"); strings.HasPrefix(out, "{") {
		value, _ := field(scriptDocument(ts), "error.next.0")
		line, _ = value.(string)
	} else if m := regexp.MustCompile(`(?m)^next: (.*)$`).FindStringSubmatch(ts.ReadFile("stderr")); m != nil {
		line = m[1]
	}
	if line == "" {
		ts.Fatalf("the last answer has no next line")
	}
	ts.Logf("[follow] %s", line)
	if got := statusOf(ts, ts.Exec("sh", "-c", line)); got != 0 {
		ts.Fatalf("%s: exit status %d", line, got)
	}
}

// scriptAppears waits for a file's text. The folder is watched before it is read, so that
// nothing is missed.
func scriptAppears(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, !neg && (len(args) == 1 || len(args) == 2), "appears FILE [REGEXP]")
	pattern, text := ts.MkAbs(args[0]), regexp.MustCompile(`(?s)`+strings.Join(args[1:], ""))
	watcher, err := fsnotify.NewWatcher()
	ts.Check(err)
	defer watcher.Close()
	ts.Check(watcher.Add(filepath.Dir(pattern)))
	for {
		found, err := filepath.Glob(pattern)
		ts.Check(err)
		for _, name := range found {
			if data, err := os.ReadFile(name); err == nil && text.Match(data) {
				return
			}
		}
		select {
		case <-watcher.Events:
		case err := <-watcher.Errors:
			ts.Check(err)
		case <-time.After(time.Minute):
			ts.Fatalf("%s has not appeared", strings.Join(args, " with "))
		}
	}
}

func scriptTick(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, !neg && len(args) == 0, "tick")
	name, until := filepath.Join(ts.Getenv("WORK"), ".tick"), time.Now().Add(2*time.Millisecond) // a call's clock may be one ahead
	for {
		ts.Check(os.WriteFile(name, nil, 0o644))
		info, err := os.Stat(name)
		ts.Check(err)
		ts.Check(os.Remove(name))
		if info.ModTime().After(until) {
			return
		}
	}
}

func scriptSnapshot(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, !neg && len(args) == 1, "snapshot DIR")
	ts.Value("trees").(map[string]map[string]string)[args[0]] = readTree(ts, args[0])
}

func scriptUnchanged(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, len(args) == 1, "unchanged DIR")
	was, ok := ts.Value("trees").(map[string]map[string]string)[args[0]]
	wants(ts, ok, "snapshot DIR first")
	now := readTree(ts, args[0])
	if !neg && !reflect.DeepEqual(was, now) {
		ts.Fatalf("%s changed:\n%s", args[0], treeDiff(was, now))
	}
	if neg && reflect.DeepEqual(was, now) {
		ts.Fatalf("%s is as it was", args[0])
	}
}

// readTree returns every path below a folder with its permissions and content, except the
// log and the lock: a failing command logs, and the first command makes the lock.
func readTree(ts *testscript.TestScript, dir string) map[string]string {
	tree := map[string]string{}
	root := ts.MkAbs(dir)
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.Name() == "logs" || strings.HasSuffix(rel, ".lock") || d.Name() == ".tmp" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		tree[rel] = info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			tree[rel] += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		return nil
	}))
	return tree
}

func treeDiff(was, now map[string]string) string {
	var b strings.Builder
	for path, is := range was {
		if now[path] != is {
			fmt.Fprintf(&b, "- %s %s\n", path, is)
		}
	}
	for path, is := range now {
		if was[path] != is {
			fmt.Fprintf(&b, "+ %s %s\n", path, is)
		}
	}
	return b.String()
}

func scriptRepeat(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, !neg && len(args) == 3, "repeat VAR N TEXT")
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Setenv(args[0], strings.Repeat(strings.ReplaceAll(args[2], `\n`, "\n"), n))
}

func scriptFill(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, !neg && len(args) == 2, "fill FILE N")
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte("a"), n), 0o644))
}

func scriptHold(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, !neg && len(args) == 1, "hold FILE")
	lock := flock.New(ts.MkAbs(args[0]))
	ok, err := lock.TryLock()
	ts.Check(err)
	wants(ts, ok, "hold a lock that is free")
	ts.Value("locks").(map[string]*flock.Flock)[args[0]] = lock
	ts.Defer(func() { _ = lock.Unlock() })
}

func scriptFree(ts *testscript.TestScript, neg bool, args []string) {
	wants(ts, !neg && len(args) == 1, "free FILE")
	ts.Check(ts.Value("locks").(map[string]*flock.Flock)[args[0]].Unlock())
}

// scriptNobody runs a command as a user whom permission bits restrict: the user nobody if
// the tests run as root, otherwise the caller.
func scriptNobody(ts *testscript.TestScript, neg bool, args []string) {
	want := 0
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		n, err := strconv.Atoi(args[0][1:])
		ts.Check(err)
		want, args = n, args[1:]
	}
	wants(ts, !neg && len(args) > 0, "nobody [-N] CMD...")
	if os.Geteuid() == 0 {
		openUp(ts, ts.Getenv("WORK"))
		path, err := exec.LookPath("leslie")
		ts.Check(err)
		openUp(ts, filepath.Dir(path))
	}
	if got := statusOf(ts, ts.Exec("as-nobody", args...)); got != want {
		ts.Fatalf("exit status %d, not %d", got, want)
	}
}

// openUp makes a test's temporary folders accessible to everybody.
func openUp(ts *testscript.TestScript, dir string) {
	for ; dir != os.TempDir() && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		ts.Check(err)
		ts.Check(os.Chmod(dir, info.Mode().Perm()|0o011))
	}
}

// TestEveryCodeIsShownByAScript: a change of what raises a code fails here. A row says
// why no script can raise it; remove the row when a command can.
func TestEveryCodeIsShownByAScript(t *testing.T) {
	t.Parallel()
	absent := map[string]string{
		"T901": "a fault of leslie's own: TestPanicIsT901InTheAskedFormat", "T902": "the same",
		"T904": "a signal: TestASignalEndsTheWaitForTheLock", "W505": "a fault of the disk behind the commit: package store",
		"W512": "a damaged copy of several: package internal/ledger/jetstream",
	}
	names, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var all strings.Builder
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			// Only assertions of a code count.
			if strings.HasPrefix(line, "json ") || strings.HasPrefix(line, "yaml ") || strings.HasPrefix(line, "stderr ") {
				all.WriteString(line)
			}
		}
	}
	var known []string
	for _, e := range codes.Table() {
		known = append(known, string(e.Code))
	}
	for _, e := range warnings.Table() {
		known = append(known, string(e.Code))
	}
	for _, code := range known {
		_, none := absent[code]
		if shown := strings.Contains(all.String(), code); shown == none {
			t.Errorf("%s: shown by a script: %v; said to be out of reach: %v", code, shown, none)
		}
	}
}
