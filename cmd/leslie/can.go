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

func canCommand() *command {
	return &command{
		name: "can", summary: "check whether a thread has a capability: exit 0, or T402",
		hint: hint{asking, "can CAPABILITY ID"},
		detail: "Made for hooks: it takes no lock and changes nothing. A refusal is logged. Without ID and --thread, only the policy decides. " +
			"docs/capabilities.md says what leslie enforces itself and what a hook has to enforce.",
		example:  "leslie can code_edit thread-a1b2c3d4",
		operands: []operand{{value: aCapability()}, {value: anID("ID", threadIDs), optional: true}},
		run:      runCan,
	}
}

func runCan(c *call) (Data, error) {
	in := app.CanRequest{Capability: c.operand(0), Thread: c.operand(1)}
	data, err := runUseCase(c, app.Can, in, func(d *app.CanResult) Data { return canText{d} })
	return data, c.usageOf(err, map[string]string{"Capability": "CAPABILITY"})
}
