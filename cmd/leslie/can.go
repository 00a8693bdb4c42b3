package main

import (
	"time"

	"leslie/internal/app"
)

type canText struct{ *app.CanResult }

func (d canText) Text(p *page) {
	by := d.By
	if d.ApprovalID != nil {
		by += " " + string(*d.ApprovalID)
	}
	if d.Until != nil {
		by += ", until " + d.Until.Format(time.RFC3339)
	}
	p.line("%s is allowed by %s", d.Capability, by)
}

type capabilitiesText struct{ *app.ListCapabilitiesResult }

func (d capabilitiesText) Text(p *page) {
	for _, at := range d.Items.Items {
		p.line("%s  %s", at.Capability, standingOf(at))
	}
}

// standingOf says where a capability stands.
func standingOf(at app.CapabilityRecord) string {
	text := "a person has to grant it"
	switch {
	case at.Allowed && at.ApprovalID != nil:
		text = "allowed by " + *at.By + " " + string(*at.ApprovalID)
	case at.Allowed:
		text = "allowed by " + *at.By
	case at.Requested != nil:
		text = "requested as " + string(*at.Requested) + "; a person decides"
	}
	if at.Until != nil {
		text += ", until " + at.Until.Format(time.RFC3339)
	}
	return text
}

func canCommand() *command {
	return &command{
		name: "can", summary: "check whether a thread has a capability: exit 0, or T402; list them all",
		hint: hint{asking, "can CAPABILITY ID"},
		detail: "Made for hooks: it takes no lock and changes nothing. A refusal is logged. Without ID and --thread, only the policy decides. " +
			"Without CAPABILITY it lists all of them and where each stands. leslie help capabilities says what leslie enforces itself and what a hook has to enforce.",
		example:  "leslie can code_edit thread-a1b2c3d4",
		operands: []operand{{value: aCapability(), optional: true}, {value: anID("ID", threadIDs), optional: true}},
		run:      runCan,
	}
}

func runCan(c *call) (Data, error) {
	if c.operand(0) == "" {
		return runUseCase(c, app.ListCapabilities, app.ListCapabilitiesRequest{}, func(d *app.ListCapabilitiesResult) Data { return capabilitiesText{d} })
	}
	in := app.CanRequest{Capability: c.operand(0), Thread: c.operand(1)}
	data, err := runUseCase(c, app.Can, in, func(d *app.CanResult) Data { return canText{d} })
	return data, c.usageOf(err, map[string]string{"Capability": "CAPABILITY"})
}
