package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/projects"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/store/doctor"
	"leslie/thread"
)

// Finding is a problem, or a note, about one file of the store.
type Finding = doctor.Finding

// RepairOption is what can be done about a store that cannot be read (T502).
type RepairOption = store.Option

// Request checks the store.
type Request struct {
	Repair bool
	// Guide is the expected block in AgentsFile; nil: it is not checked.
	Guide *projects.AgentsGuide
}

// Result is what was found.
type Result struct {
	Healthy  bool           `json:"healthy"`
	Findings []Finding      `json:"findings"`
	Options  []RepairOption `json:"options,omitempty"`
	Repaired []string       `json:"repaired,omitempty"`
	app.Change
}

// Check checks the store, the configurations and the block in AgentsFile; with Repair it
// repairs what can be repaired. If a repair fails, it returns the result of the others
// with the error. Errors: T504, and with Repair those of Store.Repair; T502, with what was
// found, if neither the state nor its backup can be read.
func Check(c *app.Call, in Request) (*Result, error) {
	if in.Repair {
		return repair(c, in)
	}
	c.ReadOnly()
	found, err := projects.StoreDoctor(c).Diagnose(c.Context())
	d := diagnosed(c, in, found)
	for _, t := range halfMade(c) {
		d.add(&Finding{
			Code: string(codes.WorktreeBusy), Path: t.Worktree, Repairable: true, Info: true,
			Message: "the worktree of thread '" + string(t.ID) + "' " + code.Halfway(t.ID, t.OwnedCode().State),
		})
	}
	for _, t := range killedRuns(c) {
		d.add(&Finding{
			Code: string(codes.RunUnfinished), Path: store.RunsDir + "/" + string(t.ID), Info: true,
			Message: "the process that ran the agent of thread '" + string(t.ID) + "' was killed: leslie run " + string(t.ID) + " goes on with it",
		})
	}
	switch {
	case codes.Has(err, codes.ParseError):
		// A caller who follows T502's next line gets what was found, not only the same
		// refusal again.
		options, _ := codes.Of(err).Facts().Get("options")
		d.Options, _ = options.([]RepairOption)
		further := slices.DeleteFunc(slices.Clone(d.Options), func(o RepairOption) bool { return o.Command == "leslie doctor" })
		return d, codes.Of(err).With(fact.Of("options", further)).WithNext("leslie help doctor")
	case codes.Has(err, codes.UnsupportedVersion) || codes.Has(err, codes.ReadFailed):
		d.Healthy, d.Findings = false, append(d.Findings, unreadState(codes.Of(err)))
	case err != nil:
		return nil, err
	}
	return d, nil
}

// halfMade returns the threads whose worktrees are being made; none if the state cannot
// be read.
func halfMade(c *app.Call) (out []thread.Thread) {
	_, _ = c.Store().View(c.Context(), func(s *thread.State) error {
		for _, t := range s.ThreadsWithCode() {
			if t.OwnedCode().State == thread.CodeMaking {
				out = append(out, t)
			}
		}
		return nil
	})
	return out
}

// killedRuns returns the threads whose runs go on as they are recorded, and have no process any more;
// none if the state cannot be read.
func killedRuns(c *app.Call) (out []thread.Thread) {
	_, _ = c.Store().View(c.Context(), func(s *thread.State) error {
		for _, t := range s.ThreadsInPhase(thread.RunStarting, thread.RunRunning) {
			if app.LastRunOf(c, t).Killed {
				out = append(out, t)
			}
		}
		return nil
	})
	return out
}

// unreadState returns the finding for a state that cannot be read: another program's,
// or one that the system refuses to read.
func unreadState(e *codes.Error) Finding {
	return Finding{Code: string(e.Code()), Path: e.Facts().Text("path"), Message: e.Error()}
}

func repair(c *app.Call, in Request) (*Result, error) {
	fixed, err := projects.StoreDoctor(c).Repair(c.Context(), c.StoreCall())
	if err != nil && len(fixed.Actions) == 0 {
		return nil, err
	}
	c.Warn(fixed.Warnings...)
	repaired, failed := repairCode(c)
	if err == nil {
		err = failed
	}
	d := diagnosed(c, in, fixed.After)
	d.Repaired = append(fixed.Actions, repaired...)
	for _, t := range halfMade(c) {
		setup := c.Project().Call(c.Context(), c.Caller(), app.Request{Command: "code setup", LockTimeout: c.Request().LockTimeout})
		if _, failed := code.Setup(setup, code.SetupRequest{Thread: string(t.ID)}); failed == nil {
			d.Repaired = append(d.Repaired, "finished the worktree of thread '"+string(t.ID)+"'")
		} else if err == nil {
			err = failed
		}
	}
	d.Changed = len(d.Repaired) > 0
	c.SetChanged(d.Changed)
	return d, err
}

// diagnosed returns the store's findings, with those about files outside the store.
func diagnosed(c *app.Call, in Request, found doctor.Diagnosis) *Result {
	c.TellsOfConfiguration()
	d := &Result{Healthy: found.Healthy, Findings: append([]Finding{}, found.Findings...)}
	d.add(checkConfig(c.Store(), c.Store().Path(store.ConfigFile), false))
	if own := c.Project().Environment().Config; own != "" {
		d.add(checkConfig(c.Store(), own, true))
	}
	if in.Guide != nil {
		d.add(check(in.Guide, c.Project().Root()))
	}
	d.add(trackedStore(c))
	for _, p := range codeProblems(c) {
		d.add(&p.Finding)
	}
	for _, f := range remoteProblems(c) {
		d.add(&f)
	}
	return d
}

// remoteProblems reads all that the log of a connected project has. A log that cannot be
// asked is a note: nothing is known to be wrong. A store that cannot be read, of which the other findings tell, names
// nothing that the log should have.
func remoteProblems(c *app.Call) (found []Finding) {
	if c.Project().Link() == nil {
		return nil
	}
	at := c.Store().Relative(c.Store().Path(store.RemoteFile))
	if _, _, err := c.Store().Head(c.Context()); codes.Has(err, codes.RemoteDiverged) { // what it lacks follows from that
		e := codes.Of(err)
		return []Finding{{Code: string(e.Code()), Path: at, Message: e.Error() + " " + e.Hint()}}
	}
	lines, content, err := projects.ReadRemote(c)
	switch e := codes.Of(err); {
	case codes.Has(err, codes.RemoteUnreachable), codes.Has(err, codes.PermissionDenied):
		return []Finding{{Code: string(e.Code()), Path: at, Message: "what the project's remote has was not checked: " + codes.Reason(err), Info: true}}
	case codes.Has(err, codes.ParseError), codes.Has(err, codes.UnsupportedVersion), codes.Has(err, codes.ReadFailed):
		return nil
	case e != nil:
		return []Finding{{Code: string(e.Code()), Path: at, Message: e.Error()}}
	}
	if len(lines.Damaged) > 0 {
		found = append(found, Finding{Code: string(codes.RemoteDamaged), Path: at, Message: codes.Reason(lines.Err()) + "; " +
			"leslie remote restore --creds FILE, on a machine that has all operations, makes the log anew"})
	}
	for _, one := range projects.DistinctDamage(content.Damaged) {
		heals := "leslie remote restore --creds FILE on a machine that has it stores it again"
		if one.Here {
			heals = "this machine has it, and leslie remote restore --creds FILE stores it again"
		}
		found = append(found, Finding{Code: string(codes.RemoteDamaged), Path: at, Message: "no server has " + one.What + " whole; " + heals})
	}
	return found
}

func (d *Result) add(f *Finding) {
	if f != nil {
		d.Findings = append(d.Findings, *f)
		d.Healthy = d.Healthy && f.Info
	}
}

// checkConfig finds what use cases that read a configuration would refuse.
func checkConfig(st *store.Store, path string, users bool) *Finding {
	_, err := app.ReadConfig(path, users)
	e := codes.Of(err)
	if e == nil {
		return nil
	}
	return &Finding{Code: string(e.Code()), Path: st.Relative(path), Message: e.Facts().Text("reason")}
}

// check finds a guide from another version of leslie, which may name commands that do
// not exist. A text without one is fine.
func check(g *projects.AgentsGuide, root string) *Finding {
	note := func(code, message string) *Finding {
		return &Finding{Code: code, Path: projects.AgentsFile, Message: message, Info: true}
	}
	path := filepath.Join(root, projects.AgentsFile)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > store.MaxFile {
		return nil
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return note(string(codes.ReadFailed), "it cannot be read: "+codes.Reason(err))
	case g.Outdated(text):
		return note("W203", "its block was written by another leslie; leslie init brings it up to date")
	}
	return nil
}
