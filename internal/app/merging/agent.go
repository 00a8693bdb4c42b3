package merging

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/retry"
	"leslie/merge"
)

// This file asks an agent about one file: it gets a fresh folder with the versions,
// the conflicts and a prompt, and package merge checks its answer. An agent has two
// attempts; the second includes the reason why the first was refused.

const agentAttempts = 2

// Agent resolves conflicts: a command, or a coding agent.
type Agent struct {
	// Ask has it do the task that a folder holds, and prompt.md there describes. Errors:
	// T701 to T705, T903 for a command line that cannot be split, T904.
	Ask func(ctx context.Context, dir string) (external.Result, error)
	// Folder returns the folder in which those of tasks are made; nil: that of the system.
	Folder func() (string, error)
	// Ending tells it how to end, in the prompt.
	Ending string
}

// ByCommand is an agent that is a command, limited by timeout. Its environment has the
// names of the files, besides environ.
func ByCommand(command string, environ func() []string, timeout time.Duration) *Agent {
	return &Agent{
		Ending: "Exit with 0 when done, 1 to decline, 75 to be tried again.",
		Ask: func(ctx context.Context, dir string) (external.Result, error) {
			return external.Run(ctx, external.Job{Command: command, Dir: dir, Env: append(slices.Clone(environ()), taskEnv(dir)...), Timeout: timeout})
		},
	}
}

// folder is where the folder of a task is made, "" for that of the system.
func (a *Agent) folder() (string, error) {
	if a.Folder == nil {
		return "", nil
	}
	return a.Folder()
}

// leftToPeople is the reason for not asking an agent.
const leftToPeople = "the policy leaves conflicts to a person (resolve_conflict)"

// declinedPrefix starts the reason of an agent that declines.
const declinedPrefix = "it declined"

// AskAgent asks the agent about the open conflicts of a path. Conflicts that it
// declines or fails to resolve stay open, with the reason on record (W303). Errors:
// T904, and those of Answer.
func (s *Session) AskAgent(path string) error {
	if s.call.Agent == nil {
		s.declinedBy(Decline{Path: path, Reason: "no agent is configured"})
		return nil
	}
	may, err := s.mayResolve()
	if err != nil {
		return err
	}
	if !may {
		s.declinedBy(Decline{Path: path, Reason: leftToPeople})
		return nil
	}
	reason, attempts := "", 0
	for range agentAttempts {
		f, ok := s.file(path)
		if !ok || f.Open == 0 {
			return nil
		}
		task := agentTask{session: s, file: f, open: s.Open(path), earlier: reason}
		answers, refused, err := task.attempt()
		attempts = task.attempts
		if s.unreached = err != nil; err != nil {
			if reason, err = unavailable(err); err != nil {
				return err
			}
			break // it never answered: there is nothing to do better
		}
		if refused == "" {
			return s.answeredByAgent(path, answers)
		}
		reason = refused
		if strings.HasPrefix(refused, declinedPrefix) {
			break
		}
	}
	s.declinedBy(Decline{Path: path, Reason: reason, Attempts: attempts})
	return s.recordAnswers(&answering{Session: s, declined: map[string]string{path: reason}})
}

func (s *Session) answeredByAgent(path string, answers []Answer) error {
	late, err := s.Answer(answers...)
	if late {
		s.declinedBy(Decline{Path: path, Reason: "it was decided in the meantime"})
	}
	if codes.Has(err, codes.PermissionDenied) { // it was taken back meanwhile
		s.declinedBy(Decline{Path: path, Reason: leftToPeople})
		return nil
	}
	return err
}

// unavailable turns the failure of an agent that gave no answer into a reason. Every
// other failure, including an interrupt by the caller, stays an error.
func unavailable(err error) (reason string, stop error) {
	for _, code := range []codes.Code{
		codes.AgentUnavailable, codes.AgentConnection, codes.AgentTimeout, codes.AgentLogin, codes.AgentLimited,
		codes.InvalidArgument,
	} {
		if codes.Has(err, code) {
			return err.Error(), nil
		}
	}
	return "", err
}

// agentTask is an agent's task for one file.
type agentTask struct {
	session *Session
	file    merge.Change
	open    []merge.Conflict
	given   []byte // what it gets as merged
	earlier string // why its first answer was refused
	// attempts is how often the agent was given it.
	attempts int
}

// attempt runs the agent once. refused says why its answer was not accepted.
func (t *agentTask) attempt() (out []Answer, refused string, err error) {
	c := t.session.call
	within, err := c.Agent.folder()
	if err != nil {
		return nil, "", err
	}
	dir, err := os.MkdirTemp(within, "leslie-agent-")
	if err != nil {
		return nil, "", codes.WriteFailed.OfPath(cmp.Or(within, os.TempDir()), err)
	}
	defer os.RemoveAll(dir)
	if err := t.write(dir); err != nil {
		return nil, "", err
	}
	var result external.Result
	policy := c.Retry
	if t.session.unreached { // it was given all of its tries with another file
		policy.MaxAttempts = 1
	}
	err = retry.Retry(c.Context, policy, func(ctx context.Context, attempt int) error {
		var err error
		t.attempts = attempt
		result, err = c.Agent.Ask(ctx, dir)
		if err == nil && result.Verdict == external.TryAgain {
			err = codes.AgentConnection.New(fact.Of("reason", "it asked to be tried again (exit status 75)"))
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	switch result.Verdict {
	case external.Declined:
		return nil, declinedPrefix + lastLine(result.Tail), nil
	case external.Failed:
		return nil, "it ended with " + strconv.Itoa(result.Status) + lastLine(result.Tail), nil
	}
	out, refused = t.judge(dir)
	return out, refused, nil
}

func lastLine(tail string) string {
	lines := strings.Split(strings.TrimSpace(tail), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + cut(last, 200)
	}
	return ""
}

// judge checks the agent's answer and accepts it or says why not.
func (t *agentTask) judge(dir string) (out []Answer, refused string) {
	work := merge.Work{Before: t.given}
	var err error
	if work.After, err = readAnswer(filepath.Join(dir, "merged")); err != nil {
		return nil, "the file merged cannot be read"
	}
	raw, err := readAnswer(filepath.Join(dir, "resolutions.json"))
	switch {
	case err == nil:
		if work.Resolutions, err = merge.ParseResolutions(raw); err != nil {
			return nil, "resolutions.json: " + err.Error()
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, "resolutions.json cannot be read"
	}
	judgement := merge.Accept(t.file, t.session.plan.Conflicts, work)
	if judgement.Refused != "" {
		return nil, judgement.Refused
	}
	for _, a := range judgement.Accepted {
		a.Decision.Actor = "agent"
		out = append(out, Answer{a.ConflictID, a.Decision})
	}
	return out, ""
}

// taskNames has the files of a task and the environment variables that name them; the
// second half has the names that git mergetools use.
func taskNames() [][2]string {
	return [][2]string{
		{"LESLIE_OURS", "ours"}, {"LESLIE_BASE", "base"}, {"LESLIE_THEIRS", "theirs"}, {"LESLIE_MERGED", "merged"},
		{"LESLIE_CONFLICTS", "conflicts.json"}, {"LESLIE_PROMPT", "prompt.md"},
		{"LOCAL", "ours"}, {"BASE", "base"}, {"REMOTE", "theirs"}, {"MERGED", "merged"},
	}
}

func taskEnv(dir string) []string {
	var env []string
	for _, n := range taskNames() {
		env = append(env, n[0]+"="+filepath.Join(dir, n[1]))
	}
	return env
}

// write fills the folder of the task.
func (t *agentTask) write(dir string) (err error) {
	if t.given, err = t.marked(); err != nil {
		return err
	}
	conflicts, err := fact.JSON(t.open)
	if err != nil {
		return err
	}
	base, ours, theirs, err := t.versions()
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"ours": ours, "base": base, "theirs": theirs, "merged": t.given,
		"conflicts.json": append(conflicts, '\n'), "prompt.md": []byte(t.prompt()),
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o600); err != nil {
			return codes.WriteFailed.OfPath(filepath.Join(dir, name), err)
		}
	}
	return nil
}

// marked returns the agent's initial merged file: the file with markers, or the
// target's version if the whole file is in conflict.
func (t *agentTask) marked() ([]byte, error) {
	if t.file.Merge != nil {
		return t.file.Marked(t.session.plan.Conflicts).Text, nil
	}
	if !t.file.Before.There() {
		return nil, nil
	}
	return t.session.inputs.reader.content(t.file.Before.Hash)
}

// versions returns the three texts of a file. With several sources, theirs is the
// first one that changed it; conflicts.json has all sides.
func (t *agentTask) versions() (base, ours, theirs []byte, err error) {
	in := t.session.inputs
	read := func(file merge.File) []byte {
		if err != nil || !file.There() {
			return nil
		}
		var data []byte
		data, err = in.reader.content(file.Hash)
		return data
	}
	ours = read(t.file.Before)
	if len(t.file.Sides) > 1 {
		file, was := in.version(t.session.planned.code, t.file.Sides[1], t.file.Path)
		theirs, base = read(file), read(was.File)
	}
	return base, ours, theirs, err
}

func (t *agentTask) prompt() string {
	var b strings.Builder
	record, path := t.session.record, shown(t.file.Path)
	b.WriteString("# Resolve " + fact.Plural(len(t.open), "conflict") + " in " + path + "\n\n" +
		"The artifact " + path + " of thread " + string(record.Target) + " is merged with that of " + joined(record.Sources) + ".\n")
	b.WriteString(`Files here: ours, base, theirs (whole versions), merged (with conflict markers), conflicts.json (every side of every conflict).

Answer in one of two ways, or both:
- edit merged: replace each conflict, markers included, by its text; change nothing else;
- write resolutions.json beside it: [{"conflictId": "...", "choice": "ours|theirs|base|both|text|delete|keep", "text": "...", "reason": "..."}].

Keep every line that one side added. If one has to go, say why in resolutions.json (reason) for that conflict.
` + t.session.call.Agent.Ending + "\n")
	if t.earlier != "" {
		b.WriteString("\nYour first answer was not taken: " + shown(t.earlier) + "\n")
	}
	return b.String()
}
