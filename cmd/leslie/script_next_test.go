package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/rogpeppe/go-internal/testscript"

	"leslie/cmd/leslie/internal/cli"
	"leslie/codes"
)

// This file runs the next lines of the errors that scripts provoke, for who copies one must
// get on: it exits 0, or is the same call again, which fails as it did; and it is safe
// (unsafe). Each runs as its caller would run it, on a copy of the script's folders. That
// takes minutes: LESLIE_SCRIPT_NEXT=1 (make next) does it.
//
// Left out are the errors of "exec leslie", and what fails while another process works in
// the script's folders, which would write to the copy or find its folder moved.

// answeredError is what an answer says of its error.
type answeredError struct {
	Code codes.Code `json:"code"`
	Next []string   `json:"next"`
}

var (
	codeInText = regexp.MustCompile(`(?m)^error code=(T\d{3}) `)
	nextInText = regexp.MustCompile(`(?m)^next: (.*)$`)
)

// errorOf reads the error of an answer in JSON or text.
func errorOf(stdout, stderr string) (e answeredError) {
	var doc struct{ Error *answeredError }
	if json.Unmarshal([]byte(stdout), &doc) == nil && doc.Error != nil {
		return *doc.Error
	}
	if m := codeInText.FindStringSubmatch(stderr); m != nil {
		e.Code = codes.Code(m[1])
	}
	for _, m := range nextInText.FindAllStringSubmatch(stderr, -1) {
		e.Next = append(e.Next, m[1])
	}
	return e
}

// triedNext has what was run: a code and a line.
var triedNext sync.Map

// tryNext runs the next lines of a call that failed.
func (s *scriptFacts) tryNext(ts *testscript.TestScript, args []string, stdout, stderr string) {
	failed := errorOf(stdout, stderr)
	if os.Getenv("LESLIE_SCRIPT_NEXT") == "" || len(failed.Next) == 0 || len(ts.BackgroundCmds()) > 0 || othersWork(s.folders(ts)) {
		return
	}
	for _, next := range failed.Next {
		what := string(failed.Code) + ": " + next
		if _, known := triedNext.LoadOrStore(what, true); known {
			continue
		}
		if wrong := s.gotOn(ts, cli.ParseLine(commands().All(), args), failed.Code, next); wrong != "" {
			ts.Fatalf("%s of leslie %s\nnext: %s, %s", failed.Code, shellquote.Join(args...), next, wrong)
		}
	}
}

// gotOn runs a next line on a copy of the script's folders and returns what is wrong with
// what it did.
func (s *scriptFacts) gotOn(ts *testscript.TestScript, failed cli.Line, code codes.Code, next string) (wrong string) {
	argv, err := shellquote.Split(next)
	ts.Check(err)
	follows := cli.ParseLine(commands().All(), argv[1:])
	if wrong = unsafe(next); wrong != "" && !sameCall(failed, follows) {
		return wrong
	}
	defer s.onCopy(ts)()
	before := s.states()
	status, stdout, stderr := s.callOnCopy(ts, argv[1:])
	cmd, again := follows.Cmd, errorOf(stdout, stderr).Code
	switch {
	case status == 0 && cmd != nil && !cmd.Writes && !cmd.MarksSeen && code != codes.OutcomeUnknown && s.states() != before:
		return "which only looks, changed the store"
	case status == 0, again == code && followsAs(failed.Cmd, cmd, code):
		return ""
	}
	return fmt.Sprintf("exit status %d:\n%s%s", status, stdout, stderr)
}

// sameCall reports whether a line is a call again, with no flag that the call had not.
func sameCall(failed, again cli.Line) bool {
	return failed.Cmd != nil && again.Cmd != nil && failed.Cmd.Name == again.Cmd.Name &&
		!slices.ContainsFunc(again.Flags, func(f cli.SetFlag) bool {
			return !slices.ContainsFunc(failed.Flags, func(had cli.SetFlag) bool { return had.Name == f.Name })
		})
}

// followsAs reports whether a next line may fail as the call did that has it: it is the
// same again; the part of it that failed, whose cause the caller corrects first; or what says
// what is damaged.
func followsAs(failed, next *cli.Command, code codes.Code) bool {
	if failed == nil || next == nil {
		return false
	}
	return failed.Name == next.Name || code == codes.SetupFailed && next.Name == "code setup" || code == codes.ParseError && next.Name == "doctor"
}

// states are the stores in the script's folders.
func (s *scriptFacts) states() (all string) {
	for _, folder := range []string{".", "*"} {
		found, _ := filepath.Glob(filepath.Join(s.work, folder, ".leslie", "thread_relations.json"))
		for _, name := range found {
			data, _ := os.ReadFile(name)
			all += string(data)
		}
	}
	return all
}

// callOnCopy runs a call as the script would. What waits is ended, and says so.
func (s *scriptFacts) callOnCopy(ts *testscript.TestScript, argv []string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if !s.processes {
		e := s.env(ts)
		e.Stdout, e.Stderr = &out, &err
		return cli.Run(ctx, argv, e), out.String(), err.String()
	}
	cmd := exec.CommandContext(ctx, "leslie", argv...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), s.environ(ts), &out, &err
	status = statusOf(ts, cmd.Run())
	return status, out.String(), err.String()
}

// folders are the script's folder and those beside it that have its worktrees.
func (s *scriptFacts) folders(ts *testscript.TestScript) []string {
	beside, err := filepath.Glob(s.work + ".*")
	ts.Check(err)
	return append(beside, s.work)
}

// within reports whether a path is one of these folders or lies in one.
func within(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(dir string) bool {
		return path == dir || strings.HasPrefix(path, dir+string(filepath.Separator))
	})
}

// onCopy puts a copy in the place of the script's folders, whose paths git and the store
// know, and returns what puts them back.
func (s *scriptFacts) onCopy(ts *testscript.TestScript) (back func()) {
	aside := filepath.Join(filepath.Dir(s.work), "aside")
	ts.Check(os.MkdirAll(aside, 0o755))
	moved := s.folders(ts)
	for _, dir := range moved {
		kept := filepath.Join(aside, filepath.Base(dir))
		ts.Check(os.Rename(dir, kept))
		ts.Check(exec.Command("cp", "-a", kept, dir).Run())
	}
	return func() {
		for _, dir := range s.folders(ts) {
			_ = exec.Command("chmod", "-R", "u+rwX", dir).Run()
			ts.Check(os.RemoveAll(dir))
		}
		for _, dir := range moved {
			ts.Check(os.Rename(filepath.Join(aside, filepath.Base(dir)), dir))
		}
	}
}
