package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/store"
)

type doctorData struct {
	Healthy  bool            `json:"healthy"`
	Findings []store.Finding `json:"findings"`
	Options  []store.Option  `json:"options,omitempty"`
	Repaired []string        `json:"repaired,omitempty"`
	change
}

func (d *doctorData) Text(p *page) {
	for _, done := range d.Repaired {
		p.line("repaired: %s", done)
	}
	wrong := 0
	for _, f := range d.Findings {
		kind, note := "", ""
		if f.Info {
			kind = "note "
		} else {
			wrong++
		}
		if f.Repairable {
			note = "  (leslie doctor --repair repairs it)"
		}
		p.line("%s%s %s: %s%s", kind, f.Code, f.Path, f.Message, note)
	}
	for _, o := range d.Options {
		p.line("option: %s (%s)", o.Command, o.What)
	}
	if d.Healthy {
		p.line("healthy")
	} else {
		p.line("not healthy: %s", many(wrong, "finding"))
	}
}

// isPartialResult: repairs done before a repair failed are shown, too.
func (d *doctorData) isPartialResult() {}

func doctorCommand() *command {
	return &command{
		name: "doctor", summary: "check the store; --repair repairs it", writes: true, unrecorded: true, onlyWith: "repair",
		detail: "Reads every record, blob, frozen copy, journal line and stored answer. Notes are for information: a store with only " +
			"notes is healthy. Damaged files are moved aside as NAME.set-aside-TIME, never deleted. If neither the state nor its " +
			"backup can be read, --repair rebuilds the state from the journal.",
		example: "leslie doctor",
		flags:   []cli.Flag{toggle("repair", "repair what can be repaired")},
		run:     runDoctor,
	}
}

func runDoctor(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	if c.on("repair") {
		return c.repair(st)
	}
	found, err := st.Diagnose(c.ctx)
	d := c.diagnosed(st, found)
	if codes.Has(err, codes.ParseError) {
		// Errors that stop every other command are findings here: a caller who follows
		// T502's next line gets an answer, not the same refusal again.
		d.Options = c.callerOptions(optionsOf(codes.Of(err)))
		return d, nil
	}
	if codes.Has(err, codes.UnsupportedVersion) || codes.Has(err, codes.ReadFailed) {
		d.Healthy, d.Findings = false, append(d.Findings, unread(codes.Of(err)))
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// unread returns the finding for a state that cannot be read: another program's, or
// one that the system refuses to read.
func unread(e *codes.Error) store.Finding {
	return store.Finding{Code: string(e.Code()), Path: e.Facts().Text("path"), Message: e.Error()}
}

// repair repairs the store. If a repair fails, the results of the others accompany the
// error.
func (c *call) repair(st *store.Store) (Data, error) {
	fixed, err := st.Repair(c.ctx, c.storeCall())
	if err != nil && len(fixed.Actions) == 0 {
		return nil, err
	}
	c.warnings.Add(fixed.Warnings...)
	d := c.diagnosed(st, fixed.After)
	d.Repaired = fixed.Actions
	d.Changed = len(fixed.Actions) > 0
	c.changed = d.Changed
	return d, err
}

// diagnosed returns the store's findings, with those about files outside the store.
func (c *call) diagnosed(st *store.Store, found store.Diagnosis) *doctorData {
	d := &doctorData{Healthy: found.Healthy, Findings: append([]store.Finding{}, found.Findings...)}
	d.add(checkConfig(st, st.Path(store.ConfigFile), false))
	if c.env.home != "" {
		d.add(checkConfig(st, filepath.Join(c.env.home, store.Dir, store.ConfigFile), true))
	}
	d.add(checkGuide(st))
	return d
}

func (d *doctorData) add(f *store.Finding) {
	if f != nil {
		d.Findings = append(d.Findings, *f)
		d.Healthy = d.Healthy && f.Info
	}
}

// checkConfig finds what commands that read a configuration would refuse.
func checkConfig(st *store.Store, path string, users bool) *store.Finding {
	_, err := readConfig(path, users)
	e := codes.Of(err)
	if e == nil {
		return nil
	}
	return &store.Finding{Code: string(e.Code()), Path: st.Relative(path), Message: e.Facts().Text("reason")}
}

// checkGuide finds a block in AGENTS.md from another version of leslie, which may name
// commands that do not exist. A text without a block is fine.
func checkGuide(st *store.Store) *store.Finding {
	note := func(code, message string) *store.Finding {
		return &store.Finding{Code: code, Path: agentsFile, Message: message, Info: true}
	}
	path := filepath.Join(st.Root(), agentsFile)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > store.MaxFile {
		return nil
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return note(string(codes.ReadFailed), "it cannot be read: "+plainReason(err))
	}
	_, _, ours := findBlock(text, guideBegin, guideEnd)
	_, _, older := findBlock(text, oldBegin, oldEnd)
	if !ours && !older || bytes.Equal(text, withGuide(text, commands())) {
		return nil
	}
	return note("W203", "its block was written by another leslie; leslie init brings it up to date")
}
