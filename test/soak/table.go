//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file is the table of rows: every command of leslie, how often it runs, with which
// codes it may fail, and a function that draws its arguments. The scenarios also run some
// of these commands.

// row is one command.
type row struct {
	name   string // as help names it
	weight int    // how often it runs, relative to the other rows
	may    string // the codes it may fail with
	many   bool   // it may make several operations
	reads  bool   // it makes no operation
	stream bool   // it answers with JSON lines
	// draw returns a command; not ok: there is nothing to run it on.
	draw func(*worker) (line, bool)
}

// Most commands name a thread that may not exist any more, or may be completed or over
// the mistake limit.
const (
	gone    = "T101 "
	shut    = "T107 "
	limited = "T103 "
	thread  = gone + shut + limited
)

// mostThreads is about the maximum number of threads of the rows.
const mostThreads = 80

// withoutRow returns the commands without a row, with the reason.
func withoutRow() map[string]string {
	const git, agent = "it works in a git repository: tests with real processes cover it", "it starts an agent, or is about one: its scripts kill both"
	const machines = "it needs servers: test/cluster/soak has them"
	const own = "it is about the user's own configuration, not the store"
	return map[string]string{"code": git, "code list": git, "code setup": git, "code remove": git, "code restore": git, "code prune": git,
		"config path": own, "config show": own, "config init": own,
		"connect": machines, "publish": machines, "remote init": machines, "remote status": machines, "remote check": machines, "remote restore": machines, "remote leave": machines,
		"completion": "it needs no store", "mcp": "what it does are other commands", "tui": "what it does are other commands", "agents": agent, "run": agent, "run list": agent, "run stop": agent}
}

func table() []row {
	return []row{
		{name: "init", weight: 1, reads: true, draw: fixed("init", "init --no-agents")},
		{name: "setup", weight: 1, reads: true, may: "T505", draw: fixed("setup claude", "setup claude --remove", "setup --check", "setup --dry-run")},
		{name: "objective create", weight: 2, may: "T106", draw: (*worker).objectiveCreate},
		{name: "objective list", weight: 1, reads: true, draw: fixed("objective list", "objective list --limit 3")},
		{name: "objective status", weight: 1, reads: true, may: "T601", draw: ofObjective("objective status")},
		{name: "objective done", weight: 1, may: "T601 T602", draw: ofObjective("objective done")},
		{name: "spawn", weight: 12, may: limited + gone + "T106 T107 T203 T503 T601 T603 T903", draw: (*worker).spawn},
		{name: "update", weight: 8, may: thread + "T201 T503 T903 T108", draw: (*worker).update},
		{name: "list", weight: 3, reads: true, may: "T101 T601", draw: fixed("list", "list --ready", "list --all --limit 0", "list --status archived", "list --status active --executor agent", "list --tag t1")},
		{name: "status", weight: 3, reads: true, may: gone, draw: maybeOf("status")},
		{name: "graph", weight: 1, reads: true, draw: fixed("graph", "graph --all", "graph --render mermaid", "graph --render dot --all")},
		{name: "report", weight: 1, reads: true, draw: fixed("report --html report.html", "report --html report.html --all")},
		{name: "search", weight: 1, reads: true, draw: fixed("search a", "search soak line --all --limit 3", "search a --in artifacts,transcripts")},
		{name: "artifacts", weight: 3, reads: true, may: gone + "T203", draw: of("artifacts", "", "--scope **/*.md", "--limit 2")},
		{name: "diff", weight: 2, reads: true, may: gone + "T509", draw: of("diff", "", "--stat")},
		{name: "show", weight: 1, reads: true, may: gone, draw: (*worker).shows},
		{name: "context", weight: 3, reads: true, may: gone, draw: (*worker).context},
		{name: "hook start", weight: 1, reads: true, draw: fixed("hook start --for claude --format json")},
		{name: "hook stop", weight: 1, reads: true, draw: fixed("hook stop --for claude --format json")},
		{name: "reference", weight: 7, may: thread + "T201 T203 T503", draw: (*worker).reference},
		{name: "reference list", weight: 1, reads: true, may: gone, draw: fixed("reference list", "reference list --limit 0")},
		{name: "reference show", weight: 2, reads: true, may: "T204 T202", draw: ofReference("reference show")},
		{name: "reference refresh", weight: 3, may: thread + "T202 T203 T204", draw: ofReference("reference refresh")},
		{name: "reference remove", weight: 2, may: thread + "T204", draw: ofReference("reference remove")},
		{name: "lifecycle", weight: 3, may: thread + "T102 T402 T404 T603 T108 T113", draw: (*worker).lifecycle},
		{name: "done", weight: 2, may: thread + "T102 T108 T113", draw: of("done", "", "--reason finished")},
		{name: "cancel", weight: 2, may: thread + "T102 T108", draw: (*worker).cancel},
		{name: "suspend", weight: 2, may: thread + "T102 T108", draw: of("suspend")},
		{name: "resume", weight: 4, may: thread + "T102 T402 T108", draw: (*worker).resume},
		{name: "archive", weight: 6, may: thread + "T102 T108", draw: (*worker).archive},
		{name: "reopen", weight: 2, may: thread + "T102 T402 T603 T108", draw: (*worker).reopen},
		{name: "claim", weight: 7, may: thread + "T108 T503", draw: (*worker).claim},
		{name: "renew", weight: 2, may: thread + "T108 T903", draw: ofOwn("renew")},
		{name: "release", weight: 3, may: thread + "T108", draw: ofOwn("release")},
		{name: "inject", weight: 5, may: thread + "T402 T903", draw: (*worker).inject},
		{name: "merge", weight: 10, may: thread + "T408 T102 T203 T301 T302 T303 T304 T305 T402 T404 T503 T108", many: true, draw: (*worker).merge},
		{name: "merge list", weight: 1, reads: true, draw: fixed("merge list")},
		{name: "merge status", weight: 2, reads: true, may: thread + "T303", draw: ofMerge("merge status")},
		{name: "merge resolve", weight: 5, may: thread + "T303 T304 T402 T903 T108", draw: (*worker).mergeResolve},
		{name: "merge continue", weight: 5, may: thread + "T408 T102 T301 T302 T303 T304 T402 T404 T108", many: true, draw: ofMerge("merge continue")},
		{name: "merge abort", weight: 3, may: thread + "T303 T108", draw: ofMerge("merge abort")},
		{name: "merge land", weight: 2, may: thread + "T408 T107 T108 T203 T301 T302 T304 T402 T404 T805", many: true, draw: of("merge land")},
		{name: "pull", weight: 4, may: thread + "T408 T102 T203 T301 T302 T303 T304 T305 T402 T404 T503 T903 T108", many: true, draw: of("pull")},
		{name: "merge-file", weight: 1, reads: true, may: "T301", draw: (*worker).mergeFile},
		{name: "transfer", weight: 4, may: thread + "T102 T401 T402 T404", many: true, draw: (*worker).transfer},
		{name: "approvals", weight: 1, reads: true, draw: fixed("approvals", "approvals --all", "approvals --all --limit 2")},
		{name: "approve", weight: 3, may: thread + "T102 T402 T403 T404", draw: ofApproval("approve")},
		{name: "deny", weight: 2, may: thread + "T102 T402 T403 T404", draw: ofApproval("deny")},
		{name: "revoke", weight: 1, may: thread + "T102 T402 T403 T404", draw: ofApproval("revoke")},
		{name: "ask", weight: 3, may: thread + "T401 T508 T108", draw: (*worker).ask},
		{name: "answer", weight: 3, may: thread + "T402 T405 T406 T903", draw: (*worker).answer},
		{name: "questions", weight: 1, reads: true, draw: fixed("questions", "questions --all", "questions --all --limit 2")},
		{name: "comment", weight: 2, may: thread + "T203 T508 T903", draw: (*worker).comment},
		{name: "comment resolve", weight: 8, may: thread + "T407", draw: (*worker).resolveComment},
		{name: "comments", weight: 1, reads: true, may: gone, draw: maybeOf("comments", "comments --all")},
		{name: "review", weight: 1, may: thread + "T508", draw: (*worker).review},
		{name: "can", weight: 1, reads: true, may: gone + "T402", draw: maybeOf("can code_edit", "can read")},
		{name: "history", weight: 2, reads: true, draw: fixed("history --limit 5", "history", "history --limit 3 --before 9")},
		{name: "observe", weight: 2, reads: true, stream: true, may: gone, draw: (*worker).observe},
		{name: "wait", weight: 2, reads: true, may: gone + shut + "T109", draw: (*worker).wait},
		{name: "undo", weight: 7, may: thread + "T102 T108 T110 T112 T402 T505", draw: (*worker).undo},
		{name: "redo", weight: 4, may: thread + "T102 T108 T110 T112 T402 T505", draw: fixed("redo", "redo", "redo --dry-run")},
		{name: "checkpoint", weight: 4, may: thread + "T106 T108", draw: (*worker).checkpoint},
		{name: "checkpoint list", weight: 1, reads: true, may: gone, draw: of("checkpoint list", "", "--limit 2")},
		{name: "rollback", weight: 4, may: thread + "T111 T505 T108", draw: (*worker).rollback},
		{name: "import", weight: 2, may: limited + "T106 T601 T603", draw: (*worker).importBeads},
		{name: "export", weight: 1, reads: true, stream: true, draw: fixed("export")},
		{name: "batch", weight: 3, may: thread + "T102 T106 T108 T601 T603 T903", draw: (*worker).batch},
		{name: "logs", weight: 1, reads: true, draw: fixed("logs", "logs --level error --limit 5", "logs --code T108")},
		{name: "run log", weight: 1, reads: true, may: gone, draw: of("run log", "", "--limit 2")},
		{name: "transcript", weight: 1, reads: true, may: gone, draw: of("transcript", "", "--limit 2")},
		{name: "stats", weight: 1, reads: true, draw: fixed("stats")},
		{name: "doctor", weight: 1, reads: true, draw: fixed("doctor", "doctor", "doctor --repair")},
		{name: "explain", weight: 1, reads: true, draw: fixed("explain", "explain T301")},
		{name: "version", weight: 1, reads: true, draw: fixed("version")},
		{name: "a wrong line", weight: 3, reads: true, may: "T903", draw: (*worker).misspelt},
		{name: "a save", weight: 16, reads: true, draw: (*worker).saves},
		{name: "a configuration", weight: 1, reads: true, draw: (*worker).configures},
	}
}

// fixed draws one of several commands.
func fixed(lines ...string) func(*worker) (line, bool) {
	return func(w *worker) (line, bool) {
		return line{argv: strings.Fields(lines[w.r.IntN(len(lines))])}, true
	}
}

// shows draws a thread, or what it last shared with its parent.
func (w *worker) shows() (line, bool) {
	what := w.thread()
	if w.r.IntN(2) == 0 {
		what += "@base"
	}
	return line{argv: []string{"show", what}}, true
}

// of draws a command on a thread, with one of several tails.
func of(command string, tails ...string) func(*worker) (line, bool) {
	return func(w *worker) (line, bool) {
		l := line{argv: append(strings.Fields(command), w.thread())}
		if len(tails) > 0 {
			l.argv = append(l.argv, strings.Fields(tails[w.r.IntN(len(tails))])...)
		}
		return w.guarded(l), true
	}
}

// maybeOf draws one of several commands, with or without a thread.
func maybeOf(lines ...string) func(*worker) (line, bool) {
	return func(w *worker) (line, bool) {
		l := line{argv: strings.Fields(lines[w.r.IntN(len(lines))])}
		if w.r.IntN(3) > 0 {
			l.argv = append(l.argv, w.thread())
		}
		return l, true
	}
}

func ofObjective(command string) func(*worker) (line, bool) {
	return func(w *worker) (line, bool) {
		all := w.snapshot().objectives
		if len(all) == 0 || command == "objective done" && len(all) < 4 {
			return line{}, false
		}
		return line{argv: append(strings.Fields(command), all[w.r.IntN(len(all))])}, true
	}
}

func ofReference(command string) func(*worker) (line, bool) {
	return func(w *worker) (line, bool) {
		return ofAny(w, command, w.snapshot().references, "ref-aaaaaaaa")
	}
}

func ofMerge(command string) func(*worker) (line, bool) {
	return func(w *worker) (line, bool) {
		return ofAny(w, command, w.snapshot().merges, "merge-aaaaaaaa")
	}
}

func ofApproval(command string) func(*worker) (line, bool) {
	return func(w *worker) (line, bool) {
		all := w.snapshot().approvals
		if open := w.snapshot().open; len(open) > 0 && w.r.IntN(4) > 0 {
			all = open
		}
		l, ok := ofAny(w, command, all, "appr-aaaaaaaa")
		return w.byPerson(l), ok
	}
}

// ask asks a person, or another thread; seldom it waits.
func (w *worker) ask() (line, bool) {
	l := line{argv: []string{"ask", w.thread(), "--question", "Which of these, " + w.name() + "?"}}
	switch w.r.IntN(4) {
	case 0:
		if to := w.thread(); to != l.argv[1] {
			l.argv = append(l.argv, "--to", to)
		}
	case 1:
		l.argv = append(l.argv, "--choice", "this", "--choice", "that")
	case 2:
		l.argv = append(l.argv, "--wait", "--timeout", "20ms")
	}
	return w.guarded(l), true
}

// answer mostly answers an open question as a person.
func (w *worker) answer() (line, bool) {
	l, ok := ofAny(w, "answer", w.snapshot().questions, "q-aaaaaaaa")
	if !ok {
		return l, false
	}
	if w.r.IntN(2) == 0 {
		l.argv = append(l.argv, "--choice", "that")
	} else {
		l.argv = append(l.argv, "That one")
	}
	return w.byPerson(l), true
}

// comment comments on the first lines of a file, which may have less.
func (w *worker) comment() (line, bool) {
	name := []string{"plan.md", w.name() + ".md"}[w.r.IntN(2)] + []string{"", ":1", ":1-3"}[w.r.IntN(3)]
	return w.guarded(line{argv: []string{"comment", w.thread(), name, "Why, " + w.name() + "?"}}), true
}

func (w *worker) resolveComment() (line, bool) {
	return ofAny(w, "comment resolve", w.snapshot().comments, "c-aaaaaaaa")
}

// review shows what is open, or sends it.
func (w *worker) review() (line, bool) {
	l := line{argv: []string{"review", w.thread()}}
	if w.r.IntN(3) > 0 {
		l.argv = append(l.argv, "--send")
	}
	return w.guarded(l), true
}

// byPerson makes a person the actor most of the time: agents may not decide.
func (w *worker) byPerson(l line) line {
	if w.r.IntN(4) > 0 {
		l.as = "user"
	}
	return l
}

// ofOwn draws a command on the thread that the worker claimed last, or on any thread.
func ofOwn(command string) func(*worker) (line, bool) {
	return func(w *worker) (line, bool) {
		id := w.holds
		if id == "" || w.r.IntN(3) == 0 {
			id = w.thread()
		}
		return w.guarded(line{argv: []string{command, id}}), true
	}
}

// ofAny draws a command on one of these ids, rarely on an absent one.
func ofAny(w *worker, command string, ids []string, absent string) (line, bool) {
	id := absent
	switch {
	case len(ids) > 0:
		id = ids[w.r.IntN(len(ids))]
	case w.r.IntN(10) > 0:
		return line{}, false
	}
	return line{argv: append(strings.Fields(command), id)}, true
}

func (w *worker) snapshot() *snapshot { return w.shared.now(w.project) }

// thread draws a thread, rarely one that does not exist.
func (w *worker) thread() string {
	all := w.snapshot().threads
	if len(all) == 0 || w.r.IntN(60) == 0 {
		return "nobody"
	}
	return all[w.r.IntN(len(all))].ID
}

// inStatus draws a thread with one of these statuses, or "".
func (w *worker) inStatus(statuses string) string {
	all := w.snapshot().threads
	for range 20 {
		if len(all) == 0 {
			break
		}
		if t := all[w.r.IntN(len(all))]; strings.Contains(statuses, t.Status) {
			return t.ID
		}
	}
	return ""
}

// guarded sometimes adds --thread, --debug or a short --lock-timeout.
func (w *worker) guarded(l line) line {
	switch w.r.IntN(12) {
	case 0:
		l.argv = append(l.argv, "--thread", w.thread())
	case 1:
		l.argv = append(l.argv, "--debug")
	case 2:
		if slices.Contains([]string{"update", "inject", "release", "suspend", "done"}, l.argv[0]) {
			l.argv = append(l.argv, "--lock-timeout", "20ms")
		}
	}
	return l
}

func (w *worker) objectiveCreate() (line, bool) {
	if len(w.snapshot().objectives) > 30 {
		return line{}, false
	}
	l := line{argv: []string{"objective", "create", "A goal\nof two lines"}}
	if w.r.IntN(2) == 0 {
		l.argv = append(l.argv, "--id", fmt.Sprintf("goal-%d", w.r.IntN(200)))
	}
	return l, true
}

func (w *worker) spawn() (line, bool) {
	sc := w.snapshot()
	if len(sc.threads) > mostThreads || len(sc.objectives) == 0 {
		return w.endThread()
	}
	l := line{argv: []string{"spawn", "--intent", "Work by " + w.name()}}
	add := func(oneIn int, args ...string) {
		if w.r.IntN(oneIn) == 0 {
			l.argv = append(l.argv, args...)
		}
	}
	if w.r.IntN(2) == 0 {
		l.argv = append(l.argv, "--parent", w.thread())
		add(2, "--inherit", "full")
	} else {
		add(1, "--objective", sc.objectives[w.r.IntN(len(sc.objectives))])
	}
	add(4, "--ref", w.thread()+","+w.thread())
	add(5, "--depends-on", w.thread())
	add(3, "--tag", fmt.Sprintf("t%d", w.r.IntN(4)))
	add(4, "--executor", "human")
	add(6, "--claim")
	add(5, "--branch", "feature/"+w.name())
	add(6, "--id", fmt.Sprintf("named-%d", w.r.IntN(500)))
	add(6, "--request-id", fmt.Sprintf("spawn-%s-%d", w.name(), w.r.Uint64()))
	add(20, "--expect-revision", "1")
	return l, true
}

func (w *worker) update() (line, bool) {
	l := line{argv: []string{"update", w.thread()}}
	switch w.r.IntN(5) {
	case 0:
		l.argv = append(l.argv, "--title", "Title by "+w.name())
	case 1:
		l.argv = append(l.argv, "--tag", fmt.Sprintf("+t%d", w.r.IntN(4)), "--tag", fmt.Sprintf("-t%d", w.r.IntN(4)+4))
	case 2:
		l.argv = append(l.argv, "--depends-on", []string{"+", "-"}[w.r.IntN(2)]+w.thread())
	case 3:
		l.argv = append(l.argv, "--branch", fmt.Sprintf("b%d", w.r.IntN(9)))
	default:
		l.argv = append(l.argv, "--worktree", "/tmp/wt", "--expect-revision", fmt.Sprint(w.known))
	}
	return w.guarded(l), true
}

func (w *worker) context() (line, bool) {
	l := line{argv: []string{"context", w.thread()}}
	if w.r.IntN(2) == 0 {
		l.argv, l.as = []string{"context", "--thread", w.thread()}, "agent"
	}
	return l, true
}

func (w *worker) reference() (line, bool) {
	if len(w.snapshot().references) > 300 {
		return line{}, false
	}
	a, b := w.thread(), w.thread()
	if a == b {
		return line{}, false
	}
	l := line{argv: []string{"reference", "--from", a, "--target", b}}
	switch w.r.IntN(4) {
	case 0:
		l.argv = append(l.argv, "--binding", "live")
	case 1:
		l.argv = append(l.argv, "--scope", "plan.md")
	}
	return l, true
}

func (w *worker) lifecycle() (line, bool) {
	action := []string{"done", "cancel", "suspend", "resume", "archive", "reopen"}[w.r.IntN(6)]
	return line{argv: []string{"lifecycle", w.thread(), "--action", action, "--reason", "so it is"}}, true
}

func (w *worker) resume() (line, bool) {
	id := w.inStatus("suspended waiting_human")
	if id == "" || w.r.IntN(4) == 0 {
		id = w.thread()
	}
	return w.byPerson(line{argv: []string{"resume", id}}), true
}

// cancel draws more often when there are many threads.
func (w *worker) cancel() (line, bool) {
	if len(w.snapshot().threads) < mostThreads/3 && w.r.IntN(3) > 0 {
		return line{}, false
	}
	return line{argv: []string{"cancel", w.thread()}}, true
}

func (w *worker) archive() (line, bool) {
	id := w.inStatus("completed cancelled")
	if id == "" {
		return line{argv: []string{"archive", w.thread()}}, true
	}
	return line{argv: []string{"archive", id}}, true
}

// reopen mostly names a thread that was completed or cancelled.
func (w *worker) reopen() (line, bool) {
	id := w.inStatus("completed cancelled")
	if id == "" || w.r.IntN(4) == 0 {
		id = w.thread()
	}
	return w.guarded(w.byPerson(line{argv: []string{"reopen", id}})), true
}

// endThread archives or cancels a thread, because there are enough.
func (w *worker) endThread() (line, bool) {
	l, ok := w.archive()
	l.command, l.may = "archive", thread+"T102 T108"
	if w.inStatus("completed cancelled") == "" {
		l.argv[0], l.command = "cancel", "cancel"
	}
	return l, ok
}

func (w *worker) claim() (line, bool) {
	l := line{argv: []string{"claim", "--next"}}
	if w.r.IntN(3) > 0 {
		l.argv = []string{"claim", w.thread()}
	}
	if id := w.claimed(); id != "" && w.r.IntN(2) == 0 {
		l.argv = []string{"claim", id} // leslie mostly refuses it
	}
	if l.argv[1] == "--next" && w.r.IntN(2) == 0 {
		l.argv = append(l.argv, "--wait", []string{"1ms", "100ms"}[w.r.IntN(2)])
	}
	if w.r.IntN(3) > 0 {
		l.argv = append(l.argv, "--for", []string{"50ms", "1s", "10s"}[w.r.IntN(3)])
	}
	return l, true
}

// claimed draws a claimed thread, or "".
func (w *worker) claimed() string {
	var held []string
	for _, t := range w.snapshot().threads {
		if t.Claimed && t.Status != "completed" && t.Status != "cancelled" {
			held = append(held, t.ID)
		}
	}
	if len(held) == 0 {
		return ""
	}
	return held[w.r.IntN(len(held))]
}

func (w *worker) inject() (line, bool) {
	if unseen := w.snapshot().unseen; len(unseen) > 0 && w.r.IntN(4) == 0 {
		return w.byPerson(line{argv: []string{"inject", "--withdraw", unseen[w.r.IntN(len(unseen))]}}), true
	}
	l := line{argv: []string{"inject", w.thread(), "--type", []string{"data", "constraint", "feedback", "priority"}[w.r.IntN(4)], "--content", "-"},
		stdin: "Mind this:\n" + w.line()}
	return w.guarded(l), true
}

func (w *worker) merge() (line, bool) {
	source, target := w.thread(), w.thread()
	if source == target {
		return line{}, false
	}
	l := line{argv: []string{"merge", "--sources", source, "--target", target}}
	if third := w.thread(); w.r.IntN(5) == 0 && third != target && third != source {
		l.argv[2] = source + "," + third
	}
	switch w.r.IntN(8) {
	case 0:
		l.argv = append(l.argv, "--dry-run")
	case 1:
		l.argv = append(l.argv, "--require-approval")
	case 2:
		l.argv = append(l.argv, "--conflict-strategy", "agent-first")
		if w.r.IntN(2) == 0 {
			l.argv = append(l.argv, "--agent", keepsAll, "--agent-timeout", "20s")
		}
	case 3:
		l.argv = append(l.argv, "--conflict-strategy", "strict")
	case 4:
		l.argv = append(l.argv, "--conflict-strategy", "human", "--scope", "plan.md,notes")
	case 5:
		l.argv = append(l.argv, "--conflict-strategy", "interactive", "--validate", []string{"true", "false"}[w.r.IntN(2)])
	case 6:
		l.argv = append(l.argv, "--queue")
	}
	return l, true
}

// keepsAll is an agent command that keeps every line of both sides and of the base.
const keepsAll = `sed -i -e /^<<<<<<</d -e '/^|||||||/d' -e /^=======$/d -e /^>>>>>>>/d merged`

func (w *worker) mergeResolve() (line, bool) {
	l, ok := ofAny(w, "merge resolve", w.snapshot().merges, "merge-aaaaaaaa")
	switch w.r.IntN(5) {
	case 0:
		l.argv = append(l.argv, "plan.md", "--file", "-")
		l.stdin = w.line()
	case 1:
		l.argv = append(l.argv, "--additions", "both")
	default:
		l.argv = append(l.argv, "--take", []string{"ours", "theirs", "both", "base", "keep"}[w.r.IntN(5)])
	}
	return l, ok
}

func (w *worker) mergeFile() (line, bool) {
	names := make([]string, 3)
	for i := range names {
		names[i] = filepath.Join(w.scratch, fmt.Sprintf("%s-%d.md", w.name(), i))
		if os.WriteFile(names[i], []byte("first\n"+strings.Repeat("same\n", w.r.IntN(4))+"last\n"), 0o644) != nil {
			return line{}, false
		}
	}
	return line{argv: append([]string{"merge-file", "--format", "json"}, names...)}, true
}

func (w *worker) transfer() (line, bool) {
	l := line{argv: []string{"transfer", w.thread()}}
	switch w.r.IntN(5) {
	case 0:
		l.argv = append(l.argv, "--direction", "delegate", "--scope", []string{"read", "code_edit"}[w.r.IntN(2)], "--timeout", "2s")
	case 1:
		l.argv = append(l.argv, "--direction", "handoff", "--to", []string{"human", "agent"}[w.r.IntN(2)])
	case 2:
		l.argv = append(l.argv, "--direction", "request_approval", "--scope", "deploy", "--wait", "--timeout", "200ms", "--fallback", []string{"block", "skip"}[w.r.IntN(2)])
	default:
		l.argv = append(l.argv, "--direction", "request_approval", "--scope", "code_edit,deploy", "--reason", "needed")
		if w.r.IntN(2) == 0 {
			l.argv = append(l.argv, "--timeout", "1s", "--fallback", "skip")
		}
	}
	return l, true
}

func (w *worker) observe() (line, bool) {
	l := line{argv: []string{"observe", "--since", fmt.Sprint(max(0, w.known-30))}}
	switch w.r.IntN(3) {
	case 0:
		l.argv = append(l.argv, "--target", w.thread())
	case 1:
		l.argv = append(l.argv, "--events", "spawn,merge,undo")
	}
	return l, true
}

func (w *worker) wait() (line, bool) {
	until := []string{"done", "any", "children", "decision", "ready"}[w.r.IntN(5)]
	return line{argv: []string{"wait", w.thread(), "--until", until, "--timeout", fmt.Sprintf("%dms", 20+w.r.IntN(300))}}, true
}

func (w *worker) undo() (line, bool) {
	l := line{argv: []string{"undo"}}
	if op := w.shared.operation(w.r); op != "" && w.r.IntN(3) > 0 {
		l.argv = append(l.argv, op)
	}
	return l, true
}

func (w *worker) checkpoint() (line, bool) {
	l := line{argv: []string{"checkpoint", w.thread()}}
	if w.r.IntN(2) == 0 {
		l.argv = append(l.argv, "--name", fmt.Sprintf("before %d", w.r.IntN(20)))
	}
	return l, true
}

func (w *worker) rollback() (line, bool) {
	all := w.snapshot().threads
	for range 20 {
		if len(all) == 0 {
			break
		}
		if t := all[w.r.IntN(len(all))]; len(t.Checkpoints) > 0 {
			return line{argv: []string{"rollback", t.ID, "--to", t.Checkpoints[w.r.IntN(len(t.Checkpoints))]}}, true
		}
	}
	return line{argv: []string{"rollback", w.thread(), "--to", "nowhere"}}, true
}

// batch draws a batch of a few commands.
func (w *worker) batch() (line, bool) {
	sc := w.snapshot()
	if len(sc.objectives) == 0 || len(sc.threads) > mostThreads {
		return line{}, false
	}
	id := fmt.Sprintf("batch-%s-%d", w.name(), w.r.IntN(1_000_000))
	lines := [][]string{
		{"spawn", "--id", id, "--intent", "One of a batch", "--objective", sc.objectives[w.r.IntN(len(sc.objectives))]},
		{"update", id, "--tag", "+batched"},
		{"spawn", "--intent", "Its child", "--parent", id},
		{"inject", id, "--type", "data", "--content", w.line()},
		{"claim", id, "--for", "1s"},
		{"suspend", w.thread()},
	}[:1+w.r.IntN(6)]
	var text strings.Builder
	for _, l := range lines {
		raw, _ := json.Marshal(l)
		text.WriteString(string(raw) + "\n")
	}
	l := line{argv: []string{"batch", "-"}, stdin: text.String(), as: "user"}
	if w.r.IntN(6) == 0 {
		l.argv = append(l.argv, "--dry-run")
	}
	return l, true
}

// importBeads draws a few issues as a file of beads.
func (w *worker) importBeads() (line, bool) {
	sc := w.snapshot()
	if len(sc.objectives) == 0 || len(sc.threads) > mostThreads {
		return line{}, false
	}
	id := fmt.Sprintf("bd-%s-%d", w.name(), w.r.IntN(1_000))
	issues := fmt.Sprintf("{\"id\":%q,\"title\":\"Imported\",\"status\":\"open\"}\n", id) +
		fmt.Sprintf("{\"id\":\"%s.1\",\"title\":\"Its child\",\"dependencies\":[{\"depends_on_id\":%q,\"type\":\"parent-child\"}]}\n", id, id)
	l := line{argv: []string{"import", "-", "--objective", sc.objectives[w.r.IntN(len(sc.objectives))]}, stdin: issues, as: "user"}
	if w.r.IntN(6) == 0 {
		l.argv = append(l.argv, "--dry-run")
	}
	return l, true
}

func (w *worker) misspelt() (line, bool) {
	lines := []string{"spwan --intent x", "list --statsu active", "spawn", "merge --sources main --target main", "done ../up", "lifecycle main --action finish",
		"update main --title", "wait --until never main", "spawn --intent x --inherit full --thread=", "history --limit many", "reference", "objective", "claim --next main"}
	l, _ := fixed(lines...)(w)
	return l, true
}

// saves runs no command: it saves or removes an artifact, its own or a shared one.
func (w *worker) saves() (line, bool) {
	name := []string{w.name() + ".md", "plan.md", "notes/" + w.name() + ".md", "plan.md"}[w.r.IntN(4)]
	thread := w.thread()
	if w.r.IntN(12) == 0 {
		_ = os.Remove(w.path("threads/" + thread + "/" + name)) // it need not exist
		return line{}, false
	}
	text, _ := os.ReadFile(w.path("threads/" + thread + "/" + name))
	lines := strings.SplitAfter(string(text), "\n")
	if len(lines) > 40 {
		lines = lines[20:]
	}
	at := w.r.IntN(len(lines))
	lines[at] = w.line() + lines[at]
	_ = w.save(thread, name, strings.Join(lines, "")) // fails if the thread does not exist any more
	return line{}, false
}

// configures runs no command: it replaces the project's configuration.
func (w *worker) configures() (line, bool) {
	text := fmt.Sprintf(`{"mistakeLimit": %d, "claimFor": "%ds", "policy": {"test_run": "require_human"}}`, 3+w.r.IntN(5), 1+w.r.IntN(60))
	from := filepath.Join(w.scratch, w.name()+"-config")
	if os.WriteFile(from, []byte(text), 0o644) == nil {
		_ = os.Rename(from, w.path("config.json")) // on failure the old one stays
	}
	return line{}, false
}
