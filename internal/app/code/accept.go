package code

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/internal/nearest"
	"leslie/store"
	"leslie/thread"
)

// This file runs the checks that a thread's code has to pass before an agent completes
// the thread. They run in its worktree, without the store's lock.

// acceptTime is how long one check may take.
const acceptTime = 30 * time.Minute

// ChecksOf returns the commands of code.checks that may run, and the names of those that
// may not because only the project has them and the user does not trust it. Errors: T509,
// T903 for the configuration.
func ChecksOf(c *app.Call) (may map[string]string, untrusted []string, err error) {
	user, project, err := c.Configs()
	if err != nil {
		return nil, nil, err
	}
	may = map[string]string{}
	if user.Trusts(c.Project().Root(), project) {
		maps.Copy(may, project.Code.Checks)
	}
	maps.Copy(may, user.Code.Checks)
	for _, name := range app.SortedKeys(project.Code.Checks) {
		if _, ok := may[name]; !ok {
			untrusted = append(untrusted, name)
		}
	}
	return may, untrusted, nil
}

// ValidateCheckNames returns T903 for checks that could not run.
func ValidateCheckNames(c *app.Call, names []string) error {
	if len(names) == 0 {
		return nil
	}
	may, untrusted, err := ChecksOf(c)
	if err != nil {
		return err
	}
	var faults []app.Fault
	own := "the user's configuration"
	if at := c.Project().Environment().Config; at != "" {
		own = at
	}
	for i, name := range names {
		_, ok := may[name]
		switch {
		case slices.Contains(untrusted, name):
			faults = append(faults, app.Fault{Field: "Accept", Value: name, Problem: "only the project's configuration has the check " + app.Quoted(name) + ", and you do not trust the project: leslie config trust shows what " + store.Dir + "/" + store.ConfigFile + " would run, and asks", Allowed: app.SortedKeys(may)})
		case !ok:
			faults = append(faults, app.Fault{
				Field: "Accept", Value: name, Problem: "no configuration has a check " + app.Quoted(name) + " under code.checks; add it to " + own + ": " + checkExample(name), Nearest: nearest.Name(name, app.SortedKeys(may)), Allowed: app.SortedKeys(may),
			})
		case slices.Contains(names[:i], name):
			faults = append(faults, app.Fault{Field: "Accept", Value: name, Problem: "the check " + app.Quoted(name) + " is named twice"})
		}
	}
	return app.FaultsError(faults)
}

// checkExample is a configuration with a check.
func checkExample(name string) string {
	raw, err := fact.JSON(map[string]any{"code": map[string]any{"checks": map[string]string{name: "make test"}}})
	if err != nil {
		return ""
	}
	return string(raw)
}

// CheckResults is what checks found of a thread's code.
type CheckResults struct {
	thread   thread.ThreadID
	evidence []thread.CodeEvidence
}

// Covers reports whether these checks, in this order, succeeded for a thread.
func (a CheckResults) Covers(id thread.ThreadID, checks []string) bool {
	return a.thread == id && slices.EqualFunc(a.evidence, checks, func(e thread.CodeEvidence, name string) bool { return e.Check == name })
}

// ChecksNotRun says, as the error of a rule, that the checks of a thread have to run first.
type ChecksNotRun struct {
	error
	Thread thread.Thread
}

// Unwrap returns why.
func (n *ChecksNotRun) Unwrap() error { return n.error }

// Record records, inside a rule that completes a thread, that its checks succeeded; a
// *ChecksNotRun if they have not run.
func (a CheckResults) Record(s *thread.State, id string, stamp thread.Stamp) error {
	t, err := s.Thread(id)
	if err != nil {
		return err
	}
	checks := t.Unaccepted(stamp)
	switch {
	case len(checks) == 0:
		return nil
	case !a.Covers(t.ID, checks):
		return &ChecksNotRun{notAccepted(t, checks[0], "it has not run on what the thread is now"), t}
	}
	if _, err = s.ChangeCode(id, nil, stamp, func(_ *thread.Thread, code *thread.Code) { code.Evidence = a.evidence }); err == nil {
		s.NoteChecks(t.ID, a.evidence...)
	}
	return err
}

// RunChecks runs the checks of a thread until one does not succeed. Errors: T114; T801,
// T802 without a worktree to run them in; T509, T904.
func RunChecks(c *app.Call, t thread.Thread) (CheckResults, error) {
	k, err := newChecking(c, t)
	if err != nil {
		return CheckResults{}, err
	}
	out := CheckResults{thread: t.ID}
	for _, name := range t.OwnedCode().Accept {
		e, err := k.run(c, name)
		if err != nil {
			if !c.InBatch() {
				noteChecks(c, t.ID, e)
			}
			return CheckResults{}, err
		}
		out.evidence = append(out.evidence, e)
	}
	return out, nil
}

func notAccepted(t thread.Thread, check, reason string) *codes.Error {
	return codes.AcceptanceFailed.New(fact.Of("check", check), fact.Of("threadId", t.ID), fact.Of("reason", reason))
}

// keptOutput is how much of a successful check's output is recorded, in bytes.
const keptOutput = 1000

// ending returns the end of an output, whole lines if there are several.
func ending(output string) string {
	if len(output) <= keptOutput {
		return output
	}
	output = output[len(output)-keptOutput:]
	if _, rest, ok := strings.Cut(output, "\n"); ok && rest != "" {
		return rest
	}
	return strings.ToValidUTF8(output, "")
}

// placeEnviron is the environment of a program that works on a thread's code.
func placeEnviron(c *app.Call, id thread.ThreadID) []string {
	return append(git.WithoutRepository(c.Environ()), "LESLIE_THREAD="+string(id), "LESLIE_ROOT="+c.Project().Root())
}

// slotEnviron is placeEnviron in the thread's own worktree.
func slotEnviron(c *app.Call, id thread.ThreadID, slot int) []string {
	return append(placeEnviron(c, id), "LESLIE_SLOT="+strconv.Itoa(slot))
}
