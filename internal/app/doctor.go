package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"leslie/codes"
	"leslie/store"
	"leslie/thread"
)

// Finding is a problem, or a note, about one file of the store.
type Finding = store.Finding

// RepairOption is what can be done about a store that cannot be read (T502).
type RepairOption = store.Option

// DoctorRequest checks the store.
type DoctorRequest struct {
	Repair bool
	// Guide is the expected block in AgentsFile; nil: it is not checked.
	Guide *AgentsGuide
}

// DoctorResult is what was found.
type DoctorResult struct {
	Healthy  bool           `json:"healthy"`
	Findings []Finding      `json:"findings"`
	Options  []RepairOption `json:"options,omitempty"`
	Repaired []string       `json:"repaired,omitempty"`
	Change
}

// Doctor checks the store, the configurations and the block in AgentsFile; with Repair it
// repairs what can be repaired. If a repair fails, it returns the result of the others
// with the error. Errors: T504, and with Repair those of Store.Repair; a state that cannot
// be read is a finding.
func Doctor(c *Call, in DoctorRequest) (*DoctorResult, error) {
	if in.Repair {
		return repair(c, in)
	}
	c.readOnly()
	found, err := c.store.Diagnose(c.ctx)
	d := diagnosed(c, in, found)
	for _, t := range halfMade(c) {
		d.add(&Finding{
			Code: string(codes.WorktreeBusy), Path: t.Worktree, Repairable: true, Info: true,
			Message: "the worktree of thread '" + string(t.ID) + "' is being made, or its maker was killed: leslie code setup " + string(t.ID) + " finishes it",
		})
	}
	switch {
	case codes.Has(err, codes.ParseError):
		// Errors that stop every other use case are findings here: a caller who follows
		// T502's next line gets an answer, not the same refusal again.
		options, _ := codes.Of(err).Facts().Get("options")
		d.Options, _ = options.([]RepairOption)
	case codes.Has(err, codes.UnsupportedVersion) || codes.Has(err, codes.ReadFailed):
		d.Healthy, d.Findings = false, append(d.Findings, unreadState(codes.Of(err)))
	case err != nil:
		return nil, err
	}
	return d, nil
}

// halfMade returns the threads whose worktrees are being made; none if the state cannot
// be read.
func halfMade(c *Call) (out []thread.Thread) {
	_, _ = c.store.View(c.ctx, func(s *thread.State) error {
		for _, t := range s.ThreadsWithCode() {
			if t.OwnedCode().State == thread.CodeMaking {
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

func repair(c *Call, in DoctorRequest) (*DoctorResult, error) {
	fixed, err := c.store.Repair(c.ctx, c.storeCall())
	if err != nil && len(fixed.Actions) == 0 {
		return nil, err
	}
	c.warn(fixed.Warnings...)
	settled, failed := repairCode(c)
	if err == nil {
		err = failed
	}
	d := diagnosed(c, in, fixed.After)
	d.Repaired = append(fixed.Actions, settled...)
	for _, t := range halfMade(c) {
		setup := c.project.Call(c.ctx, c.caller, Request{Command: "code setup", LockTimeout: c.request.LockTimeout})
		if _, failed := CodeSetup(setup, CodeSetupRequest{Thread: string(t.ID)}); failed == nil {
			d.Repaired = append(d.Repaired, "finished the worktree of thread '"+string(t.ID)+"'")
		} else if err == nil {
			err = failed
		}
	}
	d.Changed = len(d.Repaired) > 0
	c.changed = d.Changed
	return d, err
}

// diagnosed returns the store's findings, with those about files outside the store.
func diagnosed(c *Call, in DoctorRequest, found store.Diagnosis) *DoctorResult {
	d := &DoctorResult{Healthy: found.Healthy, Findings: append([]Finding{}, found.Findings...)}
	d.add(checkConfig(c.store, c.store.Path(store.ConfigFile), false))
	if home := c.project.env.Home; home != "" {
		d.add(checkConfig(c.store, filepath.Join(home, store.Dir, store.ConfigFile), true))
	}
	if in.Guide != nil {
		d.add(in.Guide.check(c.project.root))
	}
	for _, p := range codeProblems(c) {
		d.add(&p.Finding)
	}
	return d
}

func (d *DoctorResult) add(f *Finding) {
	if f != nil {
		d.Findings = append(d.Findings, *f)
		d.Healthy = d.Healthy && f.Info
	}
}

// checkConfig finds what use cases that read a configuration would refuse.
func checkConfig(st *store.Store, path string, users bool) *Finding {
	_, err := readConfig(path, users)
	e := codes.Of(err)
	if e == nil {
		return nil
	}
	return &Finding{Code: string(e.Code()), Path: st.Relative(path), Message: e.Facts().Text("reason")}
}

// AgentsFile is where coding agents look for a project's instructions, in the
// project's folder.
const AgentsFile = "AGENTS.md"

// AgentsGuide is the block about leslie in AgentsFile.
type AgentsGuide struct {
	// Update returns a text with the guide as it is now.
	Update func(old []byte) []byte
	// Outdated reports whether a text has a guide that Update would change.
	Outdated func(text []byte) bool
}

// check finds a guide from another version of leslie, which may name commands that do
// not exist. A text without one is fine.
func (g *AgentsGuide) check(root string) *Finding {
	note := func(code, message string) *Finding {
		return &Finding{Code: code, Path: AgentsFile, Message: message, Info: true}
	}
	path := filepath.Join(root, AgentsFile)
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
