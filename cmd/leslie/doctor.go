package main

import (
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
	for _, f := range d.Findings {
		note := ""
		if f.Repairable {
			note = "  (leslie doctor --repair mends it)"
		}
		p.line("%s %s: %s%s", f.Code, f.Path, f.Message, note)
	}
	for _, o := range d.Options {
		p.line("option: %s (%s)", o.Command, o.What)
	}
	if d.Healthy {
		p.line("healthy")
	} else {
		p.line("not healthy: %d findings", len(d.Findings))
	}
}

func doctorCommand() *command {
	return &command{
		name: "doctor", summary: "check the store, and mend it with --repair", writes: true,
		detail: "Damaged files are moved aside as NAME.set-aside-TIME, never deleted.\n" +
			"When neither the state nor its backup can be read, --repair rebuilds the state from the journal.",
		example: "leslie doctor",
		flags:   []flagSpec{{name: "repair", kind: kindSwitch, usage: "mend what can be mended"}},
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
	d := &doctorData{Healthy: found.Healthy, Findings: append([]store.Finding{}, found.Findings...)}
	if codes.Has(err, codes.ParseError) {
		// What every other command fails with is a finding here: who follows
		// T502's next line gets an answer, not the same refusal again.
		options, _ := codes.Of(err).Facts().Get("options")
		d.Options, _ = options.([]store.Option)
		err = nil
	}
	return d, err
}

func (c *call) repair(st *store.Store) (Data, error) {
	fixed, err := st.Repair(c.ctx, c.storeCall())
	if err != nil {
		return nil, err
	}
	return &doctorData{
		Healthy: fixed.After.Healthy, Findings: append([]store.Finding{}, fixed.After.Findings...),
		Repaired: fixed.Actions, change: change{len(fixed.Actions) > 0},
	}, nil
}
