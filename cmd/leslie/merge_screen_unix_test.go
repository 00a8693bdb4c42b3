//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests see the merge prompt as a person does, and answer it with everything that a
// person may type.

// contested returns a project in which child and main are in conflict over every sort of
// file, saved at a known time.
func contested(t *testing.T) *bench {
	t.Helper()
	b := newProject(t)
	base := map[string]string{"計画.md": "一\n今日は東京へ行きます\n三\n", "plan.md": mergeBase, "logo.png": "\x00base", "old.md": "a\nb\n"}
	ours := map[string]string{"計画.md": "一\n今日は名古屋へ行きます 👩‍💻\n三\n", "plan.md": mergeOurs, "logo.png": "\x00ours!", "new.md": "of main\n"}
	theirs := map[string]string{"計画.md": "一\n明日は東京へ行きます e\u0301\n三\n", "plan.md": mergeTheirs, "logo.png": "\x00theirs", "old.md": "a\nB\n", "new.md": "of child\n", "clean.md": "clean\n"}
	put := func(id string, files map[string]string) {
		for name, text := range files {
			path := filepath.Join(".leslie/threads", id, name)
			b.write(t, path, text)
			saved := time.Date(2026, 2, 8, 12, 0, 0, 0, time.UTC)
			require.NoError(t, os.Chtimes(filepath.Join(b.Dir, path), saved, saved))
		}
	}
	put("main", base)
	b.must(t, "spawn", "--intent", "child", "--id", "child", "--title", "Design the API of the whole thing", "--parent", "main", "--inherit", "full")
	put("main", ours)
	require.NoError(t, os.Remove(filepath.Join(b.Dir, ".leslie/threads/main/old.md")))
	put("child", theirs)
	return b
}

func TestAPersonSeesConflictsChoicesAndSummary(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{60, 80, 100} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			s := openTerminal(t, contested(t), columns, 60)
			s.start("merge", "--sources", "child", "--target", "main")
			s.waitFor("[?]:")
			for _, answer := range []string{"?", "theirs", "ours", "both", "x", "rest"} {
				s.send(answer + "\r")
				s.waitFor("[?]:")
			}
			s.golden(fmt.Sprintf("merge-conflicts-%d", columns))
			s.clear()
			for _, answer := range []string{"ours", "all", "no", "base"} {
				s.send(answer + "\r")
				s.waitFor("[?]:")
			}
			s.golden(fmt.Sprintf("merge-summary-%d", columns))
			s.send("later\r")
			assert.Equal(t, 13, s.wait())
		})
	}
}

// TestColoursOfAConflict: only what a side changed has its colour, and what is common
// stands back.
func TestColoursOfAConflict(t *testing.T) {
	t.Parallel()
	s := openTerminal(t, diverged(t), 80, 40)
	s.start("merge", "--sources", "child", "--target", "main")
	s.waitFor("[?]:")
	assert.Equal(t, "dim", s.style("│ one"))
	assert.Equal(t, "bold green", s.style(" of main"))
	assert.Equal(t, "bold magenta", s.style("theirs"))
	assert.Empty(t, s.style("two of"))
	assert.Equal(t, "bold", s.style("q]uit"))
	s.send("quit\r")
	assert.Equal(t, 13, s.wait())
}

// prompts has the way to each question of a merge: what is typed before it, and what it
// shows.
func prompts() map[string]struct {
	typed    []string
	question string
	status   int // of leaving
	flags    []string
} {
	type way = struct {
		typed    []string
		question string
		status   int
		flags    []string
	}
	return map[string]way{
		"agent":    {nil, "auto-resolution?", 13, []string{"--agent", "false"}},
		"choice":   {nil, askChoice, 13, nil},
		"rest":     {[]string{"rest"}, "One answer for all that remain:", 13, nil},
		"how many": {[]string{"rest", "ours"}, "ours for how many?", 13, nil},
		"review":   {[]string{"ours", "theirs"}, askReview, 13, nil},
		"approval": {[]string{"ours", "theirs"}, askApply, 14, []string{"--require-approval"}},
		"reason":   {[]string{"ours", "theirs", "no"}, askReason, 14, []string{"--require-approval"}},
	}
}

// atPrompt brings a merge to one of the prompts.
func atPrompt(t *testing.T, name string) (*dialogue, *bench) {
	t.Helper()
	way := prompts()[name]
	b := diverged(t)
	d := converse(t, b, append([]string{"merge", "--sources", "child", "--target", "main"}, way.flags...)...)
	for i, typed := range way.typed {
		d.until("]:", i+1)
		d.types(typed + "\n")
	}
	d.until(way.question, 1)
	if name != "reason" {
		d.until("[?]:", len(way.typed)+1)
	}
	return d, b
}

// goesOn continues the pending merge without a prompt, after everything open was decided.
func goesOn(t *testing.T, b *bench) {
	t.Helper()
	assert.Equal(t, mergeOurs, planOf(t, b), "nothing reached the target")
	b.must(t, "merge", "list", "--format", "json")
	items, _ := document(t, b.out.Bytes()).Data["items"].([]any)
	require.Len(t, items, 1, "the merge is pending")
	item, _ := items[0].(map[string]any)
	id, _ := item["mergeId"].(string)
	if item["decided"] != float64(2) {
		b.must(t, "merge", "resolve", id, "--take", "theirs")
	}
	if item["requireApproval"] == true {
		approval, _ := item["approval"].(map[string]any)
		b.must(t, "approve", fmt.Sprint(approval["approvalId"]), "--no-input")
	}
	b.must(t, "merge", "continue", id, "--no-input")
	assert.Contains(t, planOf(t, b), "four of child")
}

func TestTheConfiguredAgentIsOfferedAtThePrompt(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	require.NoError(t, os.MkdirAll(filepath.Join(b.Home, ".leslie"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(b.Home, ".leslie", "config.json"), []byte(`{"run": {"agent": "mine", "agents": {"mine": {"command": ["no-such-agent"]}}}}`), 0o600))
	shown, status := typing(t, b, []string{noColours}, []string{"yes", "ours", "theirs", "yes"}, "merge", "--sources", "child", "--target", "main")
	assert.Equal(t, 0, status, shown)
	assert.Contains(t, shown, "auto-resolution?")
	assert.Contains(t, shown, "the agent did not resolve plan.md: Agent 'no-such-agent' could not be started")
}

func TestANoIsNoErrorAtAnyPromptOfAMerge(t *testing.T) {
	t.Parallel()
	for name, way := range prompts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, b := atPrompt(t, name)
			d.types("\x04")
			shown, status := d.end()
			assert.Equal(t, way.status, status, shown)
			assert.Contains(t, shown, "left pending; go on with leslie merge continue merge-")
			for _, word := range []string{"error", "hint:", "next:", "code="} {
				assert.NotContains(t, shown, word)
			}
			goesOn(t, b)
		})
	}
}

func TestCtrlCAtAnyPromptOfAMergeLeavesItPending(t *testing.T) {
	t.Parallel()
	for name := range prompts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, b := atPrompt(t, name)
			interrupt(t, d.terminal)
			shown, status := d.end()
			assert.Equal(t, 130, status, shown)
			assert.Contains(t, shown, "interrupted; the merge is left pending; go on with leslie merge continue merge-")
			assert.NotContains(t, shown, "error")
			goesOn(t, b)
		})
	}
}

func TestAKillAtAnyPromptOfAMergeLosesNothing(t *testing.T) {
	t.Parallel()
	for name := range prompts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, b := atPrompt(t, name)
			require.NoError(t, d.cmd.Process.Signal(syscall.SIGKILL))
			_ = d.wait()
			goesOn(t, b)
		})
	}
}

func TestEnterAQuestionMarkOrAWrongWordDecideNothing(t *testing.T) {
	t.Parallel()
	for name := range prompts() {
		if name == "reason" {
			continue // anything is a reason
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, b := atPrompt(t, name)
			asked := strings.Count(d.shown.String(), "[?]:")
			for i, typed := range []string{"", "?", "nonsense", "b"} {
				d.types(typed + "\n")
				d.until("[?]:", asked+i+1)
			}
			d.types("\x04")
			shown, status := d.end()
			assert.Equal(t, prompts()[name].status, status, shown)
			assert.Contains(t, shown, "'nonsense' is none of these; ? explains them")
			explained := map[bool]string{true: "  q  quit", false: "  n  no"}[name == "choice"]
			assert.Contains(t, shown, explained, "? explains each choice")
			goesOn(t, b)
		})
	}
}

func TestBackReplacesTheLastAnswer(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	shown, status := typing(t, b, []string{noColours}, []string{"theirs", "back", "both", "ours", "no", "theirs", "n", "back", "base", "k", "skip", "y"}, "merge", "--sources", "child", "--target", "main")
	assert.Zero(t, status, shown)
	assert.Contains(t, shown, "decided so far: theirs")
	assert.Contains(t, shown, "1 base, 1 theirs")
	assert.Equal(t, "one\ntwo\nthree\nfour of child\nfive\n", planOf(t, b), shown)
}

func TestAnAnswerStaysUntilAnotherReplacesIt(t *testing.T) {
	t.Parallel()
	d := converse(t, diverged(t), "merge", "--sources", "child", "--target", "main")
	d.until(askChoice, 1)
	d.types("theirs\nback\n")
	d.until("decided so far: theirs", 1)
	d.types("quit\n")
	shown, status := d.end()
	assert.Equal(t, 13, status, shown)
	assert.Contains(t, shown, "left pending")
}

func TestAnEditedConflictIsEditedAgainAsItWas(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	editor := script(t, b, "editor", `grep -q first "$1" && { echo second >> "$1"; exit; }
echo first > "$1"
`)
	shown, status := typing(t, b, []string{noColours, "EDITOR=" + editor}, []string{"edit", "back", "edit", "ours", "y"}, "merge", "--sources", "child", "--target", "main")
	assert.Zero(t, status, shown)
	assert.Equal(t, "one\nfirst\nsecond\nthree\nfour of main\nfive\n", planOf(t, b), shown)
}

func TestOneAnswerForAllThatRemainSaysForHowMany(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		lines []string
		want  string
		said  string
	}{
		{"all", []string{"rest", "theirs", "all", "yes"}, mergeTheirs, "theirs for how many? all: 2 conflicts of plan.md. [a]ll"},
		{"none", []string{"rest", "theirs", "none", "ours", "theirs", "yes"}, "one\ntwo of main\nthree\nfour of child\nfive\n", "[n]one"},
		{"none at once", []string{"rest", "n", "theirs", "ours", "yes"}, "one\ntwo of child\nthree\nfour of main\nfive\n", "One answer for all"},
		{"and back", []string{"rest", "theirs", "a", "no", "ours", "yes"}, "one\ntwo of child\nthree\nfour of main\nfive\n", "1 theirs, 1 ours"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := diverged(t)
			shown, status := typing(t, b, []string{noColours}, tt.lines, "merge", "--sources", "child", "--target", "main")
			assert.Zero(t, status, shown)
			assert.Contains(t, shown, tt.said)
			assert.Equal(t, tt.want, planOf(t, b), shown)
		})
	}
}

func TestAnAnswerForAFileLeavesTheOthers(t *testing.T) {
	t.Parallel()
	b := contested(t)
	shown, status := typing(t, b, []string{noColours}, []string{"skip", "skip", "skip", "rest", "ours", "file", "quit"}, "merge", "--sources", "child", "--target", "main")
	assert.Equal(t, 13, status, shown)
	assert.Contains(t, strings.ReplaceAll(shown, "\n", " "), "file: 2 conflicts of plan.md; all: 3 conflicts in 2 files.")
	assert.Contains(t, shown, "plan.md 1/2: ours\nplan.md 2/2: ours\n")
	assert.NotContains(t, shown, "1 merge:", "nobody is told of what they began themselves")
	b.must(t, "merge", "list", "--format", "json")
	assert.Contains(t, b.out.String(), `"decided":2`)
}

func TestWhatChangedWhileAPersonWasAskedIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	d := converse(t, b, "merge", "--sources", "child", "--target", "main")
	d.until(askChoice, 1)
	d.types("theirs\n")
	d.until(askChoice, 2)
	d.types("theirs\n")
	d.until(askReview, 1)
	b.write(t, ".leslie/threads/child/plan.md", strings.Replace(mergeTheirs, "two of child", "two of a later child", 1))
	d.types("yes\n")
	d.until(askChoice, 3)
	d.types("theirs\n")
	d.until(askReview, 2)
	d.types("yes\n")
	shown, status := d.end()
	assert.Zero(t, status, shown)
	assert.Contains(t, shown, "child changed meanwhile, so the merge was planned again")
	assert.Contains(t, shown, "1 conflict is asked about again:\n    plan.md 1/2\n")
	assert.Equal(t, "one\ntwo of a later child\nthree\nfour of child\nfive\n", planOf(t, b))
}

func TestABaseThatDropsAFileIsAskedAbout(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"no": "of main\n", "yes": ""} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			b.write(t, ".leslie/threads/main/plan.md", "of main\n")
			b.write(t, ".leslie/threads/part/plan.md", "of part\n")
			shown, status := typing(t, b, []string{noColours}, []string{"base", answer, "ours"}, "merge", "--sources", "part", "--target", "main")
			assert.Zero(t, status, shown)
			assert.Contains(t, strings.ReplaceAll(shown, "\n", " "), "nothing is left of plan.md (empty). Take the base?")
			assert.Equal(t, want, planOf(t, b))
		})
	}
}

func TestSeveralSourcesAreNamedByTheirThreads(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"[", "other", "oth", "2"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			b := diverged(t)
			b.must(t, "spawn", "--intent", "other", "--id", "other", "--parent", "main")
			b.write(t, ".leslie/threads/main/plan.md", "ours\n")
			b.write(t, ".leslie/threads/child/plan.md", "of child\n")
			b.write(t, ".leslie/threads/other/plan.md", "of other\n")
			shown, status := typing(t, b, []string{noColours}, []string{answer, "theirs", "other"}, "merge", "--sources", "child,other", "--target", "main")
			assert.Zero(t, status, shown)
			assert.Contains(t, shown, "[1] child [2] other")
			assert.NotContains(t, shown, "[t]heirs")
			assert.Equal(t, answer == "[", strings.Contains(shown, "theirs does not fit here: it is ambiguous"), shown)
			assert.Equal(t, "of other\n", planOf(t, b))
		})
	}
}

// An agent fails, and then does it.
func TestWhyAnAgentFailedIsSaidOnceAndAtOnce(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	agent := script(t, b, "agent", `test -e `+b.Home+`/again || { touch `+b.Home+`/again; echo too hard >&2; exit 1; }
`+bothSides)
	shown, status := typing(t, b, []string{noColours}, []string{"yes", "agent", "yes"}, "merge", "--sources", "child", "--target", "main", "--agent", agent)
	assert.Zero(t, status, shown)
	assert.Equal(t, 1, strings.Count(shown, "did not resolve plan.md"), shown)
	assert.Less(t, strings.Index(shown, "the agent did not resolve plan.md: it declined: too hard"), strings.Index(shown, askAgent), shown)
	assert.NotContains(t, shown, "warning")
	assert.Contains(t, shown, "2 agent")
	assert.Equal(t, mergeBoth, planOf(t, b))
}

func TestTheDiffIsShownBeforeAMergeIsApplied(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"review": nil, "approval": {"--require-approval"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := diverged(t)
			args := append([]string{"merge", "--sources", "child", "--target", "main"}, flags...)
			shown, status := typing(t, b, []string{noColours}, []string{"theirs", "ours", "diff", "yes"}, args...)
			assert.Zero(t, status, shown)
			assert.Contains(t, shown, "-two of main\n+two of child\n")
			assert.NotContains(t, shown, "-four of main")
			assert.Equal(t, "one\ntwo of child\nthree\nfour of main\nfive\n", planOf(t, b))
		})
	}
}

func TestOneConflictNeedsNoConfirmation(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.write(t, ".leslie/threads/main/plan.md", "of main\n")
	b.write(t, ".leslie/threads/part/plan.md", "of part\n")
	shown, status := typing(t, b, []string{noColours}, []string{"theirs"}, "merge", "--sources", "part", "--target", "main")
	assert.Zero(t, status, shown)
	assert.NotContains(t, shown, askReview)
	assert.Equal(t, "of part\n", planOf(t, b))
}

func TestWhatIsLeftOutOfAConflictCanBeViewed(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	long := func(last string) string {
		var text strings.Builder
		for i := range 100 {
			fmt.Fprintf(&text, "%s line %d\n", last, i)
		}
		return text.String()
	}
	b.write(t, ".leslie/threads/main/plan.md", long("main"))
	b.write(t, ".leslie/threads/part/plan.md", long("part"))
	d := converse(t, b, "merge", "--sources", "part", "--target", "main")
	d.until(askChoice, 1)
	assert.Contains(t, d.shown.String(), "… 80 lines (view shows all)")
	assert.NotContains(t, d.shown.String(), "main line 50")
	d.types("v\n")
	d.until(askChoice, 2)
	assert.Contains(t, d.shown.String(), "main line 50")
	d.types("quit\n")
	shown, status := d.end()
	assert.Equal(t, 13, status, shown)
}

func TestWhatIsLongIsShownInThePager(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	b.write(t, ".leslie/threads/child/new.md", strings.Repeat("a line\n", 50))
	paged := filepath.Join(b.Home, "paged")
	s := openTerminal(t, b, 80, 24, noColours, "LESLIE_PAGER="+script(t, b, "pager", "cat > "+paged))
	s.start("merge", "--sources", "child", "--target", "main")
	for _, answer := range []string{"ours", "theirs", "diff"} {
		s.waitFor("[?]:")
		s.send(answer + "\r")
	}
	s.waitFor(askReview)
	raw, err := os.ReadFile(paged)
	require.NoError(t, err, strings.Join(s.lines(), "\n"))
	assert.Contains(t, string(raw), "-four of main\n+four of child\n")
	s.send("yes\r")
	assert.Zero(t, s.wait())
}
