//go:build unix

package lab

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Drawer draws lines of the commands in the table.
type Drawer struct {
	R    *rand.Rand
	Name string // the actor of its operations
	// Snapshot is what can be named.
	Snapshot func() *Snapshot
	// Path returns the path of a file of a store, which may be another one each time.
	Path func(name string) string
	// Operation draws an operation to undo, "" for the newest; nil: always the newest.
	Operation func() string
	Scratch   string // a folder for its own files
	Threads   int    // about how many threads there may be
	Known     int64  // the highest revision in its answers
	Holds     string // the thread that it claimed last
	written   int    // number of lines written
}

// Next draws one of the commands, by their weights, and a line of it; not ok: there was nothing
// to run it on.
func (d *Drawer) Next(commands []Command) (l Line, ok bool) {
	total := 0
	for _, c := range commands {
		total += c.Weight
	}
	draw := d.R.IntN(total)
	for _, c := range commands {
		if draw -= c.Weight; draw < 0 {
			l, ok = c.Draw(d)
			if l.Command == "" {
				l.Command, l.May = c.Name, c.May+" "+l.May
			}
			l.Many, l.Stream, l.Reads, l.NoRequest = c.Many, c.Stream, c.Reads, c.NoRequest
			return l, ok
		}
	}
	return l, false
}

// Identify adds --as and --actor to a line: a person, an agent, or seldom the system.
func (d *Drawer) Identify(l *Line, actor string) {
	if l.As == "" {
		l.As = []string{"user", "user", "user", "user", "agent", "agent", "agent", "agent", "system"}[d.R.IntN(9)]
	}
	if l.Scenario {
		l.As = "user"
	}
	who := Who(l.Command, l.As, actor)
	if d.R.IntN(2) == 0 {
		l.Argv = slices.Concat(who, l.Argv)
	} else {
		l.Argv = slices.Concat(l.Argv, who)
	}
}

// Who are the flags that say who acts. history and observe refuse --actor, which would filter nothing there.
func Who(command, as, actor string) []string {
	if command == "history" || command == "observe" {
		return []string{"--as", as}
	}
	return []string{"--as", as, "--actor", actor}
}

// Line returns a unique line with a checksum.
func (d *Drawer) Line() string {
	d.written++
	return WithChecksum(fmt.Sprintf("%s %06d", d.Name, d.written))
}

// Save saves a file in a thread's folder as an editor does: written elsewhere, then
// renamed. It does not make the thread's folder.
func (d *Drawer) Save(folder, name, content string) error {
	if _, err := os.Stat(folder); err != nil {
		return err
	}
	to := filepath.Join(folder, filepath.FromSlash(name))
	if dir := filepath.Dir(to); dir != folder {
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			return err
		}
	}
	from := filepath.Join(d.Scratch, d.Name+"-save")
	if err := os.WriteFile(from, []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// several adds up to two threads to every third line that names one behind its command.
func several(draw func(*Drawer) (Line, bool)) func(*Drawer) (Line, bool) {
	return func(d *Drawer) (Line, bool) {
		l, ok := draw(d)
		if !ok || strings.HasPrefix(l.Argv[1], "-") || d.R.IntN(3) > 0 {
			return l, ok
		}
		for range 1 + d.R.IntN(2) {
			if id := d.thread(); !slices.Contains(l.Argv, id) {
				l.Argv = slices.Insert(l.Argv, 2, id)
			}
		}
		return l, true
	}
}

// fixed draws one of several commands.
func fixed(lines ...string) func(*Drawer) (Line, bool) {
	return func(d *Drawer) (Line, bool) {
		return Line{Argv: strings.Fields(lines[d.R.IntN(len(lines))])}, true
	}
}

// shows draws a thread, or what it last shared with its parent.
func (d *Drawer) shows() (Line, bool) {
	what := d.thread()
	if d.R.IntN(2) == 0 {
		what += "@base"
	}
	return Line{Argv: []string{"show", what}}, true
}

// of draws a command on a thread, with one of several tails.
func of(command string, tails ...string) func(*Drawer) (Line, bool) {
	return func(d *Drawer) (Line, bool) {
		l := Line{Argv: append(strings.Fields(command), d.thread())}
		if len(tails) > 0 {
			l.Argv = append(l.Argv, strings.Fields(tails[d.R.IntN(len(tails))])...)
		}
		return d.guarded(l), true
	}
}

// maybeOf draws one of several commands, with or without a thread.
func maybeOf(lines ...string) func(*Drawer) (Line, bool) {
	return func(d *Drawer) (Line, bool) {
		l := Line{Argv: strings.Fields(lines[d.R.IntN(len(lines))])}
		if d.R.IntN(3) > 0 {
			l.Argv = append(l.Argv, d.thread())
		}
		return l, true
	}
}

// anyOf draws one of several commands, with up to two threads.
func anyOf(lines ...string) func(*Drawer) (Line, bool) {
	return func(d *Drawer) (Line, bool) {
		l := Line{Argv: strings.Fields(lines[d.R.IntN(len(lines))])}
		for range d.R.IntN(3) {
			if id := d.thread(); !slices.Contains(l.Argv, id) {
				l.Argv = append(l.Argv, id)
			}
		}
		return l, true
	}
}

func ofObjective(command string) func(*Drawer) (Line, bool) {
	return func(d *Drawer) (Line, bool) {
		all := d.Snapshot().Objectives
		if len(all) == 0 || command != "objective status" && len(all) < 4 {
			return Line{}, false
		}
		return Line{Argv: append(strings.Fields(command), all[d.R.IntN(len(all))])}, true
	}
}

// ofRecord draws a command on a record of a kind, rarely on one that is absent.
func ofRecord(command, absent string, ids func(*Snapshot) []string) func(*Drawer) (Line, bool) {
	return func(d *Drawer) (Line, bool) { return ofAny(d, command, ids(d.Snapshot()), absent) }
}

func ofReference(command string) func(*Drawer) (Line, bool) {
	return ofRecord(command, "ref-aaaaaaaa", func(s *Snapshot) []string { return s.References })
}

func ofMerge(command string) func(*Drawer) (Line, bool) {
	return ofRecord(command, "merge-aaaaaaaa", func(s *Snapshot) []string { return s.Merges })
}

// ofApproval mostly draws an open one.
func ofApproval(command string) func(*Drawer) (Line, bool) {
	return func(d *Drawer) (Line, bool) {
		all := d.Snapshot().Approvals
		if open := d.Snapshot().Open; len(open) > 0 && d.R.IntN(4) > 0 {
			all = open
		}
		l, ok := ofAny(d, command, all, "appr-aaaaaaaa")
		return d.byPerson(l), ok
	}
}

// ask asks a person, or another thread; seldom it waits.
func (d *Drawer) ask() (Line, bool) {
	l := Line{Argv: []string{"ask", d.thread(), "--question", "Which of these, " + d.Name + "?"}}
	switch d.R.IntN(4) {
	case 0:
		if to := d.thread(); to != l.Argv[1] {
			l.Argv = append(l.Argv, "--to", to)
		}
	case 1:
		l.Argv = append(l.Argv, "--choice", "this", "--choice", "that")
	case 2:
		l.Argv = append(l.Argv, "--wait", "--timeout", "20ms")
	}
	return d.guarded(l), true
}

// answer mostly answers an open question as a person.
func (d *Drawer) answer() (Line, bool) {
	l, ok := ofAny(d, "answer", d.Snapshot().Questions, "q-aaaaaaaa")
	if !ok {
		return l, false
	}
	if d.R.IntN(2) == 0 {
		l.Argv = append(l.Argv, "--choice", "that")
	} else {
		l.Argv = append(l.Argv, "That one")
	}
	return d.byPerson(l), true
}

// comment comments on the first lines of a file, which may have less.
func (d *Drawer) comment() (Line, bool) {
	name := []string{"plan.md", d.Name + ".md"}[d.R.IntN(2)] + []string{"", ":1", ":1-3"}[d.R.IntN(3)]
	return d.guarded(Line{Argv: []string{"comment", d.thread(), name, "Why, " + d.Name + "?"}}), true
}

// review shows what is open, or sends it.
func (d *Drawer) review() (Line, bool) {
	l := Line{Argv: []string{"review", d.thread()}}
	if d.R.IntN(3) > 0 {
		l.Argv = append(l.Argv, "--send")
	}
	return d.guarded(l), true
}

// byPerson makes a person the actor most of the time: agents may not decide.
func (d *Drawer) byPerson(l Line) Line {
	if d.R.IntN(4) > 0 {
		l.As = "user"
	}
	return l
}

// ofOwn draws a command on the thread that the worker claimed last, or on any thread.
func ofOwn(command string) func(*Drawer) (Line, bool) {
	return func(d *Drawer) (Line, bool) {
		id := d.Holds
		if id == "" || d.R.IntN(3) == 0 {
			id = d.thread()
		}
		return d.guarded(Line{Argv: []string{command, id}}), true
	}
}

// ofAny draws a command on one of these ids, rarely on an absent one.
func ofAny(d *Drawer, command string, ids []string, absent string) (Line, bool) {
	id := absent
	switch {
	case len(ids) > 0:
		id = ids[d.R.IntN(len(ids))]
	case d.R.IntN(10) > 0:
		return Line{}, false
	}
	return Line{Argv: append(strings.Fields(command), id)}, true
}

// thread draws a thread, rarely one that does not exist.
func (d *Drawer) thread() string {
	all := d.Snapshot().Threads
	if len(all) == 0 || d.R.IntN(60) == 0 {
		return "nobody"
	}
	return all[d.R.IntN(len(all))].ID
}

// inStatus draws a thread with one of these statuses, or "".
func (d *Drawer) inStatus(statuses string) string {
	all := d.Snapshot().Threads
	for range 20 {
		if len(all) == 0 {
			break
		}
		if t := all[d.R.IntN(len(all))]; strings.Contains(statuses, t.Status) {
			return t.ID
		}
	}
	return ""
}

// guarded sometimes adds --thread, --debug or a short --lock-timeout.
func (d *Drawer) guarded(l Line) Line {
	switch d.R.IntN(12) {
	case 0:
		l.Argv = append(l.Argv, "--thread", d.thread())
	case 1:
		l.Argv = append(l.Argv, "--debug")
	case 2:
		if slices.Contains([]string{"update", "inject", "release", "suspend", "done"}, l.Argv[0]) {
			l.Argv = append(l.Argv, "--lock-timeout", "20ms")
		}
	}
	return l
}

func (d *Drawer) objectiveCreate() (Line, bool) {
	if len(d.Snapshot().Objectives) > d.Threads/2 {
		return Line{}, false
	}
	l := Line{Argv: []string{"objective", "create", "A goal\nof two lines"}}
	if d.R.IntN(2) == 0 {
		l.Argv = append(l.Argv, "--id", fmt.Sprintf("goal-%d", d.R.IntN(200)))
	}
	return l, true
}

func (d *Drawer) spawn() (Line, bool) {
	sc := d.Snapshot()
	if len(sc.Threads) > d.Threads || len(sc.Objectives) == 0 {
		return d.endThread()
	}
	l := Line{Argv: []string{"spawn", "--intent", "Work by " + d.Name}}
	add := func(oneIn int, args ...string) {
		if d.R.IntN(oneIn) == 0 {
			l.Argv = append(l.Argv, args...)
		}
	}
	if d.R.IntN(2) == 0 {
		l.Argv = append(l.Argv, "--parent", d.thread())
		add(2, "--inherit", "full")
	} else {
		add(1, "--objective", sc.Objectives[d.R.IntN(len(sc.Objectives))])
	}
	add(4, "--ref", d.thread()+","+d.thread())
	add(5, "--depends-on", d.thread())
	add(3, "--tag", fmt.Sprintf("t%d", d.R.IntN(4)))
	add(4, "--executor", "human")
	add(6, "--claim")
	add(5, "--branch", "feature/"+d.Name)
	add(6, "--id", fmt.Sprintf("named-%d", d.R.IntN(500)))
	add(6, "--request-id", fmt.Sprintf("spawn-%s-%d", d.Name, d.R.Uint64()))
	add(20, "--expect-revision", "1")
	return l, true
}

func (d *Drawer) update() (Line, bool) {
	l := Line{Argv: []string{"update", d.thread()}}
	switch d.R.IntN(5) {
	case 0:
		l.Argv = append(l.Argv, "--title", "Title by "+d.Name)
	case 1:
		l.Argv = append(l.Argv, "--tag", fmt.Sprintf("+t%d", d.R.IntN(4)), "--tag", fmt.Sprintf("-t%d", d.R.IntN(4)+4))
	case 2:
		l.Argv = append(l.Argv, "--depends-on", []string{"+", "-"}[d.R.IntN(2)]+d.thread())
	case 3:
		l.Argv = append(l.Argv, "--branch", fmt.Sprintf("b%d", d.R.IntN(9)))
	default:
		l.Argv = append(l.Argv, "--worktree", "/tmp", "--expect-revision", fmt.Sprint(d.Known))
	}
	return d.guarded(l), true
}

func (d *Drawer) context() (Line, bool) {
	l := Line{Argv: []string{"context", d.thread()}}
	if d.R.IntN(2) == 0 {
		l.Argv, l.As = []string{"context", "--thread", d.thread()}, "agent"
	}
	return l, true
}

func (d *Drawer) reference() (Line, bool) {
	if len(d.Snapshot().References) > 4*d.Threads {
		return Line{}, false
	}
	a, b := d.thread(), d.thread()
	if a == b {
		return Line{}, false
	}
	l := Line{Argv: []string{"reference", "--from", a, "--target", b}}
	switch d.R.IntN(4) {
	case 0:
		l.Argv = append(l.Argv, "--binding", "live")
	case 1:
		l.Argv = append(l.Argv, "--scope", "plan.md")
	}
	return l, true
}

func (d *Drawer) lifecycle() (Line, bool) {
	action := []string{"done", "cancel", "suspend", "resume", "archive", "reopen"}[d.R.IntN(6)]
	return Line{Argv: []string{"lifecycle", d.thread(), "--action", action, "--reason", "so it is"}}, true
}

func (d *Drawer) resume() (Line, bool) {
	id := d.inStatus("suspended waiting_human")
	if id == "" || d.R.IntN(4) == 0 {
		id = d.thread()
	}
	return d.byPerson(Line{Argv: []string{"resume", id}}), true
}

// cancel draws more often when there are many threads.
func (d *Drawer) cancel() (Line, bool) {
	if len(d.Snapshot().Threads) < d.Threads/3 && d.R.IntN(3) > 0 {
		return Line{}, false
	}
	return Line{Argv: []string{"cancel", d.thread()}}, true
}

func (d *Drawer) archive() (Line, bool) {
	id := d.inStatus("completed cancelled")
	if id == "" {
		return Line{Argv: []string{"archive", d.thread()}}, true
	}
	return Line{Argv: []string{"archive", id}}, true
}

// reopen mostly names a thread that was completed or cancelled.
func (d *Drawer) reopen() (Line, bool) {
	id := d.inStatus("completed cancelled")
	if id == "" || d.R.IntN(4) == 0 {
		id = d.thread()
	}
	return d.guarded(d.byPerson(Line{Argv: []string{"reopen", id}})), true
}

// endThread archives or cancels a thread, because there are enough.
func (d *Drawer) endThread() (Line, bool) {
	l, ok := d.archive()
	l.Command, l.May = "archive", thread+"T102 T108"
	if d.inStatus("completed cancelled") == "" {
		l.Argv[0], l.Command = "cancel", "cancel"
	}
	return l, ok
}

func (d *Drawer) claim() (Line, bool) {
	l := Line{Argv: []string{"claim", "--next"}}
	if d.R.IntN(3) > 0 {
		l.Argv = []string{"claim", d.thread()}
	}
	if id := d.claimed(); id != "" && d.R.IntN(2) == 0 {
		l.Argv = []string{"claim", id} // leslie mostly refuses it
	}
	if l.Argv[1] == "--next" && d.R.IntN(2) == 0 {
		l.Argv = append(l.Argv, "--wait", []string{"1ms", "100ms"}[d.R.IntN(2)])
	}
	if d.R.IntN(3) > 0 {
		l.Argv = append(l.Argv, "--for", []string{"50ms", "1s", "10s"}[d.R.IntN(3)])
	}
	return l, true
}

// claimed draws a claimed thread, or "".
func (d *Drawer) claimed() string {
	var held []string
	for _, t := range d.Snapshot().Threads {
		if t.Claimed && t.Status != "completed" && t.Status != "cancelled" {
			held = append(held, t.ID)
		}
	}
	if len(held) == 0 {
		return ""
	}
	return held[d.R.IntN(len(held))]
}

func (d *Drawer) inject() (Line, bool) {
	if unseen := d.Snapshot().Unseen; len(unseen) > 0 && d.R.IntN(4) == 0 {
		return d.byPerson(Line{Argv: []string{"inject", "--withdraw", unseen[d.R.IntN(len(unseen))]}}), true
	}
	l := Line{Argv: []string{"inject", d.thread(), "--type", []string{"data", "constraint", "feedback", "priority"}[d.R.IntN(4)], "--content", "-"},
		Stdin: "Mind this:\n" + d.Line()}
	return d.guarded(l), true
}

func (d *Drawer) merge() (Line, bool) {
	source, target := d.thread(), d.thread()
	if source == target {
		return Line{}, false
	}
	l := Line{Argv: []string{"merge", "--sources", source, "--target", target}}
	if third := d.thread(); d.R.IntN(5) == 0 && third != target && third != source {
		l.Argv[2] = source + "," + third
	}
	switch d.R.IntN(8) {
	case 0:
		l.Argv = append(l.Argv, "--dry-run")
	case 1:
		l.Argv = append(l.Argv, "--require-approval")
	case 2:
		l.Argv = append(l.Argv, "--conflict-strategy", "agent-first")
		if d.R.IntN(2) == 0 {
			l.Argv = append(l.Argv, "--agent", keepsAll, "--agent-timeout", "20s")
		}
	case 3:
		l.Argv = append(l.Argv, "--conflict-strategy", "strict")
	case 4:
		l.Argv = append(l.Argv, "--conflict-strategy", "human", "--scope", "plan.md,notes")
	case 5:
		l.Argv = append(l.Argv, "--conflict-strategy", "interactive", "--validate", []string{"true", "false"}[d.R.IntN(2)])
	case 6:
		l.Argv = append(l.Argv, "--queue")
	}
	return l, true
}

// keepsAll is an agent command that keeps every line of both sides and of the base.
const keepsAll = `sed -i -e /^<<<<<<</d -e '/^|||||||/d' -e /^=======$/d -e /^>>>>>>>/d merged`

func (d *Drawer) mergeResolve() (Line, bool) {
	l, ok := ofAny(d, "merge resolve", d.Snapshot().Merges, "merge-aaaaaaaa")
	switch d.R.IntN(5) {
	case 0:
		l.Argv = append(l.Argv, "plan.md", "--file", "-")
		l.Stdin = d.Line()
	case 1:
		l.Argv = append(l.Argv, "--additions", "both")
	default:
		l.Argv = append(l.Argv, "--take", []string{"ours", "theirs", "both", "base", "keep"}[d.R.IntN(5)])
	}
	return l, ok
}

func (d *Drawer) mergeFile() (Line, bool) {
	names := make([]string, 3)
	for i := range names {
		names[i] = filepath.Join(d.Scratch, fmt.Sprintf("%s-%d.md", d.Name, i))
		if os.WriteFile(names[i], []byte("first\n"+strings.Repeat("same\n", d.R.IntN(4))+"last\n"), 0o644) != nil {
			return Line{}, false
		}
	}
	return Line{Argv: append([]string{"merge-file", "--format", "json"}, names...)}, true
}

func (d *Drawer) transfer() (Line, bool) {
	l := Line{Argv: []string{"transfer", d.thread()}}
	switch d.R.IntN(5) {
	case 0:
		l.Argv = append(l.Argv, "--direction", "delegate", "--scope", []string{"read", "code_edit"}[d.R.IntN(2)], "--timeout", "2s")
	case 1:
		l.Argv = append(l.Argv, "--direction", "handoff", "--to", []string{"human", "agent"}[d.R.IntN(2)])
	case 2:
		l.Argv = append(l.Argv, "--direction", "request_approval", "--scope", "deploy", "--wait", "--timeout", "200ms", "--fallback", []string{"block", "skip"}[d.R.IntN(2)])
	default:
		l.Argv = append(l.Argv, "--direction", "request_approval", "--scope", "code_edit,deploy", "--reason", "needed")
		if d.R.IntN(2) == 0 {
			l.Argv = append(l.Argv, "--timeout", "1s", "--fallback", "skip")
		}
	}
	return l, true
}

func (d *Drawer) observe() (Line, bool) {
	l := Line{Argv: []string{"observe", "--since", fmt.Sprint(max(0, d.Known-30))}}
	switch d.R.IntN(3) {
	case 0:
		l.Argv = append(l.Argv, "--target", d.thread())
	case 1:
		l.Argv = append(l.Argv, "--events", "spawn,merge,undo")
	}
	return l, true
}

func (d *Drawer) wait() (Line, bool) {
	until := []string{"done", "any", "children", "decision", "ready"}[d.R.IntN(5)]
	return Line{Argv: []string{"wait", d.thread(), "--until", until, "--timeout", fmt.Sprintf("%dms", 20+d.R.IntN(300))}}, true
}

func (d *Drawer) undo() (Line, bool) {
	l := Line{Argv: []string{"undo"}}
	if d.Operation != nil && d.R.IntN(3) > 0 {
		if op := d.Operation(); op != "" {
			l.Argv = append(l.Argv, op)
		}
	}
	return l, true
}

func (d *Drawer) checkpoint() (Line, bool) {
	l := Line{Argv: []string{"checkpoint", d.thread()}}
	if d.R.IntN(2) == 0 {
		l.Argv = append(l.Argv, "--name", fmt.Sprintf("before %d", d.R.IntN(20)))
	}
	return l, true
}

func (d *Drawer) rollback() (Line, bool) {
	all := d.Snapshot().Threads
	for range 20 {
		if len(all) == 0 {
			break
		}
		if t := all[d.R.IntN(len(all))]; len(t.Checkpoints) > 0 {
			return Line{Argv: []string{"rollback", t.ID, "--to", t.Checkpoints[d.R.IntN(len(t.Checkpoints))]}}, true
		}
	}
	return Line{Argv: []string{"rollback", d.thread(), "--to", "nowhere"}}, true
}

// ofBatch are flags that belong to a whole batch.
func ofBatch() []string {
	return []string{"--debug", "--lock-timeout", "--request-id", "--expect-revision", "--wait"}
}

// batch draws a few commands of the other rows as one batch, or commands that build on
// each other.
func (d *Drawer) batch() (Line, bool) {
	sc := d.Snapshot()
	if len(sc.Objectives) == 0 || len(sc.Threads) > d.Threads {
		return Line{}, false
	}
	id := fmt.Sprintf("batch-%s-%d", d.Name, d.R.IntN(1_000_000))
	lines := [][]string{
		{"spawn", "--id", id, "--intent", "One of a batch", "--objective", sc.Objectives[d.R.IntN(len(sc.Objectives))]},
		{"update", id, "--tag", "+batched"},
		{"spawn", "--intent", "Its child", "--parent", id},
		{"inject", id, "--type", "data", "--content", d.Line()},
		{"claim", id, "--for", "1s"},
		{"suspend", d.thread()},
	}[:1+d.R.IntN(6)]
	l := Line{Argv: []string{"batch", "-"}, As: "user"}
	if d.R.IntN(2) == 0 {
		l.Command = "batch"
		lines, l.May = d.batchOfRows()
	}
	var text strings.Builder
	for _, argv := range lines {
		raw, _ := json.Marshal(argv)
		text.WriteString(string(raw) + "\n")
	}
	if l.Stdin = text.String(); d.R.IntN(6) == 0 {
		l.Argv = append(l.Argv, "--dry-run")
	}
	return l, len(lines) > 0
}

// batchOfRows draws up to four lines, and returns the codes that they may fail with.
func (d *Drawer) batchOfRows() (lines [][]string, may string) {
	commands := slices.DeleteFunc(Commands(), func(c Command) bool { return c.Draw == nil || c.Reads || c.NoBatch })
	for range 1 + d.R.IntN(4) {
		c := commands[d.R.IntN(len(commands))]
		l, ok := c.Draw(d)
		if !ok || slices.ContainsFunc(l.Argv, func(arg string) bool { return slices.Contains(ofBatch(), arg) }) {
			continue
		}
		for i, arg := range l.Argv {
			if arg == "-" {
				l.Argv[i] = l.Stdin
			}
		}
		lines, may = append(lines, l.Argv), may+c.May+" "+l.May+" "
	}
	return lines, may
}

// importBeads draws a few issues as a file of beads.
func (d *Drawer) importBeads() (Line, bool) {
	sc := d.Snapshot()
	if len(sc.Objectives) == 0 || len(sc.Threads) > d.Threads {
		return Line{}, false
	}
	id := fmt.Sprintf("bd-%s-%d", d.Name, d.R.IntN(1_000))
	issues := fmt.Sprintf("{\"id\":%q,\"title\":\"Imported\",\"status\":\"open\"}\n", id) +
		fmt.Sprintf("{\"id\":\"%s.1\",\"title\":\"Its child\",\"dependencies\":[{\"depends_on_id\":%q,\"type\":\"parent-child\"}]}\n", id, id)
	l := Line{Argv: []string{"import", "-", "--objective", sc.Objectives[d.R.IntN(len(sc.Objectives))]}, Stdin: issues, As: "user"}
	if d.R.IntN(6) == 0 {
		l.Argv = append(l.Argv, "--dry-run")
	}
	return l, true
}

func (d *Drawer) misspelt() (Line, bool) {
	lines := []string{"spwan --intent x", "list --statsu active", "spawn", "merge --sources main --target main", "done ../up", "lifecycle main --action finish",
		"update main --title", "wait --until never main", "spawn --intent x --inherit full --thread=", "history --limit many", "reference", "objective", "claim --next main"}
	l, _ := fixed(lines...)(d)
	return l, true
}

// saves runs no command: it saves or removes an artifact, its own or a shared one.
func (d *Drawer) saves() (Line, bool) {
	name := []string{d.Name + ".md", "plan.md", "notes/" + d.Name + ".md", "plan.md"}[d.R.IntN(4)]
	folder := d.Path("threads/" + d.thread())
	file := filepath.Join(folder, filepath.FromSlash(name))
	if d.R.IntN(12) == 0 {
		_ = os.Remove(file) // it need not exist
		return Line{}, false
	}
	text, _ := os.ReadFile(file)
	lines := strings.SplitAfter(string(text), "\n")
	if len(lines) > 40 {
		lines = lines[20:]
	}
	at := d.R.IntN(len(lines))
	lines[at] = d.Line() + lines[at]
	_ = d.Save(folder, name, strings.Join(lines, "")) // fails if the thread does not exist any more
	return Line{}, false
}

// configures runs no command: it replaces the project's configuration.
func (d *Drawer) configures() (Line, bool) {
	text := fmt.Sprintf(`{"mistakeLimit": %d, "claimFor": "%ds", "policy": {"test_run": "require_human"}}`, 3+d.R.IntN(5), 1+d.R.IntN(60))
	from := filepath.Join(d.Scratch, d.Name+"-config")
	if os.WriteFile(from, []byte(text), 0o644) == nil {
		_ = os.Rename(from, d.Path("config.json")) // on failure the old one stays
	}
	return Line{}, false
}
