package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/kballard/go-shellquote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
	"leslie/codes"
	"leslie/internal/ledger"
	"leslie/store/replica"
)

// This test is the recovery loop: following an error's advice makes progress. It raises
// every code in its own project, runs the first next line as printed, and expects exit 0.
// No next line decides, takes a side, or destroys.

// fails runs a line that must fail.
func (b *bench) fails(args ...string) { b.leslie(append(args, "--format", "json")...) }

// raisers returns how to raise each code; b.out then has the error.
func raisers() map[codes.Code]func(*testing.T, *bench) {
	line := func(text string) func(*testing.T, *bench) {
		return func(_ *testing.T, b *bench) { b.fails(strings.Fields(text)...) }
	}
	after := func(first ...string) func(string) func(*testing.T, *bench) {
		return func(last string) func(*testing.T, *bench) {
			return func(t *testing.T, b *bench) {
				for _, text := range first {
					b.must(t, strings.Fields(text)...)
				}
				b.fails(strings.Fields(last)...)
			}
		}
	}
	return map[codes.Code]func(*testing.T, *bench){
		codes.ThreadNotFound:     line("status nobody"),
		codes.InvalidTransition:  line("archive main"),
		codes.MistakeLimit:       raiseMistakeLimit,
		codes.AmbiguousID:        after("spawn --intent x --id abcd-one", "spawn --intent x --id abcd-two")("status abcd"),
		codes.AlreadyExists:      line("spawn --intent x --id main"),
		codes.NotWritable:        after("done main")("spawn --intent x --parent main"),
		codes.Claimed:            after("claim main --actor one")("claim main --actor two"),
		codes.WaitTimeout:        line("wait main --timeout 1ms"),
		codes.UndoConflict:       raiseUndoConflict,
		codes.CheckpointNotFound: line("rollback main --to nothing"),
		codes.OperationNotFound:  line("undo op-nopenope"),
		codes.UnreadMessages:     after("inject main --type data --content x")("done main --as agent --actor bot --thread main"),
		codes.CircularReference:  after("reference --from part --target main")("reference --from main --target part"),
		codes.TargetCorrupted:    raiseTargetCorrupted,
		codes.ScopeNotFound:      line("artifacts main --scope nope.md"),
		codes.ReferenceNotFound:  line("reference show nothing"),
		codes.MergeConflict:      func(t *testing.T, b *bench) { pendingMergeOf(t, b) },
		codes.MergeValidation:    raiseMergeValidation,
		codes.MergeNotFound:      line("merge status nothing"),
		codes.MergeStale:         raiseMergeStale,
		codes.MergePending: func(t *testing.T, b *bench) {
			pendingMergeOf(t, b)
			b.fails("merge", "--sources", "part", "--target", "main", "--scope", "plan.md")
		},
		codes.ApprovalTimeout:  raiseApprovalTimeout,
		codes.PermissionDenied: line("can deploy main"),
		codes.ApprovalNotFound: line("approve nothing"),
		codes.ApprovalDenied:   raiseApprovalDenied,
		codes.QuestionNotFound: line("answer nothing Blue"),
		codes.QuestionAnswered: raiseQuestionAnswered,
		codes.CommentNotFound:  line("comment resolve nothing"),
		codes.CommentsOpen:     raiseCommentsOpen,
		codes.SourceUnread:     raiseSourceUnread,
		codes.LockFailed:       raiseLockFailed,
		codes.ParseError:       raiseParseError,
		codes.StaleRevision:    after("update main --tag +x")("done main --expect-revision 1"),
		codes.RemoteUnreachable: func(t *testing.T, b *bench) {
			b.must(t, "remote", "init", "memory://one")
			b.fails("done", "main", "--offline")
		},
		codes.OutcomeUnknown: func(t *testing.T, b *bench) {
			b.must(t, "remote", "init", "memory://one")
			b.memory().After = func(call, _ string) error {
				if call == "append" {
					return ledger.ErrUnknown
				}
				return nil
			}
			b.fails("done", "main")
		},
		codes.RemoteDiverged: func(t *testing.T, b *bench) {
			b.must(t, "remote", "init", "memory://one")
			remote, err := replica.Read(b.Dir)
			require.NoError(t, err)
			b.memory().Cut(remote.Project, 1)
			b.fails("status")
		},
		codes.RemoteDamaged: func(t *testing.T, b *bench) {
			b.must(t, "remote", "init", "memory://one")
			remote, err := replica.Read(b.Dir)
			require.NoError(t, err)
			b.memory().Damage(remote.Project, 1)
			b.fails("remote", "check")
		},
		codes.NotInitialized:       raiseNotInitialized,
		codes.WriteFailed:          raiseWriteFailed,
		codes.UnsupportedVersion:   raiseUnsupportedVersion,
		codes.UnsafePath:           line("artifacts main --scope ../part/x"),
		codes.TooLarge:             raiseTooLarge,
		codes.ReadFailed:           raiseReadFailed,
		codes.ObjectiveNotFound:    line("objective status nothing"),
		codes.ThreadsNotTerminated: line("objective done ship"),
		codes.ObjectiveDone:        after("done main", "done part", "objective done ship")("spawn --intent x --objective ship"),
		codes.AgentUnavailable:     nil, // the agents' codes need an agent
		codes.AgentConnection:      nil,
		codes.AgentTimeout:         nil,
		codes.AgentLogin:           nil,
		codes.AgentLimited:         nil,
		codes.RunBudget:            nil,
		codes.RunUnfinished:        nil,
		codes.AcceptanceFailed:     nil, // needs a repository, as does T804
		codes.CodeUnfinished:       nil,
		codes.GitUnavailable:       line("spawn --code --intent x"),
		codes.NoCode:               line("code main"),
		codes.BranchTaken:          raiseBranchTaken,
		codes.Uncommitted:          nil,
		codes.WorktreeBusy:         raiseWorktreeBusy,
		codes.LandingBlocked:       nil,
		codes.SetupFailed:          raiseSetupFailed,
		codes.UntrustedGitConfig:   raiseUntrustedGitConfig,
		codes.Internal:             raiseInternal,
		codes.Unknown:              raiseUnknown,
		codes.InvalidArgument:      line("spawn"),
		codes.Interrupted:          raiseInterrupted,
	}
}

func raiseMistakeLimit(_ *testing.T, b *bench) {
	speak := []string{"--as", "agent", "--thread", "main"}
	for range 5 {
		b.fails(append(speak, "status", "nobody")...)
	}
	b.fails(append(speak, "update", "main", "--tag", "+x")...)
}

func raiseUndoConflict(t *testing.T, b *bench) {
	b.must(t, "update", "main", "--title", "One", "--format", "json")
	b.must(t, "history", "--limit", "1", "--format", "json")
	op := document(t, b.out.Bytes()).Data["items"].([]any)[0].(map[string]any)["operationId"].(string)
	b.must(t, "update", "main", "--title", "Two")
	b.fails("undo", op)
}

func raiseTargetCorrupted(t *testing.T, b *bench) {
	b.write(t, ".leslie/threads/main/plan.md", "plan\n")
	b.must(t, "reference", "--from", "part", "--target", "main", "--format", "json")
	ref := document(t, b.out.Bytes()).Data["refId"].(string)
	require.NoError(t, os.RemoveAll(filepath.Join(b.Dir, ".leslie/threads/part/context/inherited", ref)))
	b.fails("reference", "show", ref)
}

func raiseMergeValidation(t *testing.T, b *bench) {
	b.write(t, ".leslie/threads/part/plan.md", "part\n")
	b.fails("merge", "--sources", "part", "--target", "main", "--validate", "false")
}

func raiseMergeStale(t *testing.T, b *bench) {
	b.write(t, ".leslie/threads/main/plan.md", "one\ntwo\nthree\nfour\n")
	b.must(t, "spawn", "--intent", "x", "--id", "kid", "--parent", "main", "--inherit", "full")
	b.write(t, ".leslie/threads/kid/plan.md", "one\ntwo\nthree\nFOUR\n")
	plan := filepath.Join(b.Dir, ".leslie/threads/main/plan.md")
	moving := "sh -c 'echo more | cat - " + plan + " > " + plan + ".new && mv " + plan + ".new " + plan + "'"
	b.fails("merge", "--sources", "kid", "--target", "main", "--validate", moving)
}

func raiseApprovalTimeout(_ *testing.T, b *bench) {
	b.Env.Now = time.Now // a deadline passes
	b.fails("transfer", "main", "--direction", "request_approval", "--scope", "deploy", "--timeout", "1ms", "--wait")
}

func raiseCommentsOpen(t *testing.T, b *bench) {
	b.write(t, ".leslie/threads/part/plan.md", "plan\n")
	b.must(t, "comment", "part", "plan.md:1", "Why?")
	b.fails("merge", "--sources", "part", "--target", "main")
}

func raiseSourceUnread(t *testing.T, b *bench) {
	b.write(t, ".leslie/threads/part/plan.md", "plan\n")
	b.must(t, "inject", "part", "--type", "constraint", "--content", "Keep the old API")
	b.fails("merge", "--sources", "part", "--target", "main")
}

func raiseQuestionAnswered(t *testing.T, b *bench) {
	b.must(t, "ask", "main", "--question", "Which?", "--format", "json")
	id, _ := document(t, b.out.Bytes()).Data["questionId"].(string)
	b.must(t, "answer", id, "This")
	b.fails("answer", id, "That")
}

func raiseApprovalDenied(t *testing.T, b *bench) {
	b.write(t, ".leslie/threads/part/plan.md", "part\n")
	b.fails("merge", "--sources", "part", "--target", "main", "--require-approval")
	details := document(t, b.out.Bytes()).Error.Details
	b.must(t, "deny", details["approvalId"].(string), "--reason", "not yet")
	b.fails("merge", "continue", details["mergeId"].(string))
}

func raiseLockFailed(t *testing.T, b *bench) {
	lock := flock.New(filepath.Join(b.Dir, ".leslie/thread_relations.json.lock"))
	require.NoError(t, lock.Lock())
	t.Cleanup(func() { _ = lock.Unlock() })
	b.fails("done", "main", "--lock-timeout", "1ms")
}

func raiseParseError(t *testing.T, b *bench) {
	b.write(t, ".leslie/thread_relations.json", "{")
	b.write(t, ".leslie/thread_relations.json.bak", "")
	b.fails("list")
}

func raiseNotInitialized(t *testing.T, b *bench) {
	require.NoError(t, os.RemoveAll(filepath.Join(b.Dir, ".leslie")))
	b.fails("list")
}

func raiseWriteFailed(t *testing.T, b *bench) {
	require.NoError(t, os.RemoveAll(filepath.Join(b.Dir, ".leslie/tmp")))
	b.write(t, ".leslie/tmp", "in the way")
	b.fails("spawn", "--intent", "x", "--parent", "main", "--inherit", "full")
}

func raiseUnsupportedVersion(t *testing.T, b *bench) {
	b.write(t, ".leslie/thread_relations.json", `{"version":"1.0","operations":[]}`)
	b.fails("list")
}

func raiseTooLarge(t *testing.T, b *bench) {
	b.write(t, ".leslie/threads/main/big", "")
	require.NoError(t, os.Truncate(filepath.Join(b.Dir, ".leslie/threads/main/big"), 64<<20+1))
	b.fails("spawn", "--intent", "x", "--parent", "main", "--inherit", "full")
}

func raiseReadFailed(t *testing.T, b *bench) {
	place := filepath.Join(b.Dir, ".leslie/threads/main")
	require.NoError(t, os.RemoveAll(place))
	b.write(t, ".leslie/threads/main", "no folder")
	b.fails("artifacts", "main")
}

func raiseInternal(_ *testing.T, b *bench) {
	broken := &cli.Command{Name: "broken", Run: func(*cli.Call) (cli.Data, error) { panic("broken") }}
	b.perform(context.Background(), append(commands().All(), broken), "broken", "--format", "json")
}

func raiseUnknown(_ *testing.T, b *bench) {
	plain := &cli.Command{Name: "plain", Run: func(*cli.Call) (cli.Data, error) { return nil, errors.New("no code") }}
	b.perform(context.Background(), append(commands().All(), plain), "plain", "--format", "json")
}

// repository makes the project a git repository with a commit.
func (b *bench) repository(t *testing.T) {
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"-c", "user.name=kim", "-c", "user.email=kim@example.org", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		b.git(t, args...)
	}
}

func (b *bench) git(t *testing.T, args ...string) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", append([]string{"-C", b.Dir}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func raiseBranchTaken(t *testing.T, b *bench) {
	b.repository(t)
	b.fails("spawn", "--code", "--branch", "main", "--intent", "x")
}

// raiseWorktreeBusy: git was killed and has left its lock.
func raiseWorktreeBusy(t *testing.T, b *bench) {
	b.repository(t)
	b.must(t, "spawn", "--code", "--intent", "x", "--id", "coded")
	require.NoError(t, os.WriteFile(filepath.Join(b.Dir, ".git", "worktrees", "coded", "index.lock"), nil, 0o644))
	b.fails("code", "remove", "coded")
}

// raiseSetupFailed: the setup that fails the first time works the second time.
func raiseSetupFailed(t *testing.T, b *bench) {
	b.repository(t)
	require.NoError(t, os.MkdirAll(filepath.Join(b.Home, ".leslie"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(b.Home, ".leslie", "config.json"), []byte(`{"code":{"setup":"mkdir once/again"}}`), 0o644))
	b.fails("spawn", "--code", "--intent", "x", "--id", "coded")
	require.NoError(t, os.Mkdir(filepath.Join(b.Dir+".worktrees", "coded", "once"), 0o755))
}

func raiseUntrustedGitConfig(t *testing.T, b *bench) {
	b.repository(t)
	b.git(t, "config", "filter.evil.smudge", "false")
	b.fails("spawn", "--code", "--intent", "x")
}

func raiseInterrupted(_ *testing.T, b *bench) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b.perform(ctx, commands().All(), "list", "--format", "json")
}

func TestWhoFollowsAnErrorGetsOn(t *testing.T) {
	t.Parallel()
	raise := raisers()
	for _, entry := range codes.Table() {
		how, known := raise[entry.Code]
		if !assert.True(t, known, "%s is in no row of raisers", entry.Code) || how == nil {
			continue
		}
		t.Run(string(entry.Code), func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			how(t, b)
			a := document(t, b.out.Bytes())
			require.NotNil(t, a.Error, "nothing failed: %s", b.out)
			require.Equal(t, string(entry.Code), a.Error.Code, b.out.String())
			if len(a.Error.Next) == 0 {
				assert.NotEmpty(t, entry.NoNext, "a code without next says why")
				return
			}
			state := filepath.Join(b.Dir, ".leslie/thread_relations.json")
			for _, next := range a.Error.Next {
				assert.Empty(t, unsafe(next), next)
				argv, err := shellquote.Split(next)
				require.NoError(t, err)
				cmd := cli.ParseLine(commands().All(), argv[1:]).Cmd
				before, _ := os.ReadFile(state)
				status := b.leslie(argv[1:]...)
				if cmd != nil && cmd.Name == a.Error.Details["operation"] && status == entry.Code.ExitStatus() {
					continue // the same call again, which may wait once more
				}
				if entry.Code == codes.ParseError { // doctor says what is damaged, and fails with it
					assert.Equal(t, entry.Code.ExitStatus(), status, "%s\n%s%s", next, b.out, b.err)
					continue
				}
				assert.Zero(t, status, "%s\n%s%s", next, b.out, b.err)
				// What an operation of unknown outcome did comes from the log, and a message that is
				// shown counts as read.
				if cmd != nil && !cmd.Writes && !cmd.MarksSeen && entry.Code != codes.OutcomeUnknown {
					after, _ := os.ReadFile(state)
					assert.Equal(t, string(before), string(after), "%s changed something", next)
				}
			}
		})
	}
}

// unsafe returns what is wrong with a next line that does more than read, or is more than
// the corrected call: none decides, ends or undoes anything. "" for nothing.
func unsafe(next string) string {
	argv, err := shellquote.Split(next)
	if err != nil || len(argv) == 0 || argv[0] != "leslie" {
		return "which is no line of leslie"
	}
	l := cli.ParseLine(commands().All(), argv[1:])
	if len(l.Faults) > 0 {
		return fmt.Sprintf("which cannot be run as it stands: %v", l.Faults)
	}
	for _, insists := range []string{"--force", "--repair", "--yes"} {
		if slices.Contains(argv, insists) {
			return "which has " + insists
		}
	}
	// Without --repair and --yes these only look.
	if l.Cmd == nil || !l.Cmd.Writes || l.Cmd.Name == "doctor" || l.Cmd.Name == "config trust" || slices.Contains(argv, "--dry-run") || slices.Contains(argv, "--check") {
		return ""
	}
	// What asks for something, begins something, or is the call put right.
	switch l.Cmd.Name {
	case "init", "spawn", "claim", "reference", "objective create", "code setup":
		return ""
	case "transfer":
		if slices.Contains(argv, "request_approval") {
			return ""
		}
	}
	return "which changes or decides something"
}
