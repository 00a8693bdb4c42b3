package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
)

type doctorText struct{ *app.DoctorResult }

func (d doctorText) Text(p *page) {
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
func (d doctorText) isPartialResult() {}

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
	d, err := useCase(c, app.Doctor, app.DoctorRequest{Repair: c.on("repair"), Guide: agentsGuide()})
	if d == nil {
		return nil, err
	}
	d.Options = rendering{c}.callerOptions(d.Options)
	return doctorText{d}, err
}
