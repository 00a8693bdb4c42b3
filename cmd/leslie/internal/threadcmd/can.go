package threadcmd

import (
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app/threads"
)

type canText struct{ *threads.CanResult }

func (d canText) Text(p *page.Page) {
	by := d.By
	if d.ApprovalID != nil {
		by += " " + string(*d.ApprovalID)
	}
	if d.Until != nil {
		by += ", until " + d.Until.Format(time.RFC3339)
	}
	p.Line("%s is allowed by %s", d.Capability, by)
}

type capabilitiesText struct {
	*threads.ListCapabilitiesResult
}

func (d capabilitiesText) Text(p *page.Page) {
	for _, at := range d.Items.Items {
		p.Line("%s  %s", at.Capability, standingOf(at))
	}
}

// standingOf says where a capability stands.
func standingOf(at threads.CapabilityRecord) string {
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

// Can is the command leslie can.
func Can() *cli.Command {
	return &cli.Command{
		Name: "can", Summary: "check whether a thread has a capability: exit 0, or T402; list them all",
		Detail: "Made for hooks: it takes no lock and changes nothing. A refusal is logged. Without ID and " +
			"--thread, only the policy decides. Without CAPABILITY it lists all of them and where each stands. " +
			"leslie help capabilities says what leslie enforces itself and what a hook has to enforce.",
		Example: "leslie can code_edit write-docs",
		Operands: []cli.Operand{{Value: cli.Capability(), Optional: true},
			{Value: cli.ID("ID", cli.ThreadIDs), Optional: true}},
		Run: runCan,
	}
}

func runCan(c *cli.Call) (cli.Data, error) {
	if c.Operand(0) == "" {
		return cli.RunUseCase(c, threads.ListCapabilities, threads.ListCapabilitiesRequest{},
			func(d *threads.ListCapabilitiesResult) cli.Data { return capabilitiesText{d} })
	}
	in := threads.CanRequest{Capability: c.Operand(0), Thread: c.Operand(1)}
	data, err := cli.RunUseCase(c, threads.Can, in, func(d *threads.CanResult) cli.Data { return canText{d} })
	return data, c.UsageOf(err, map[string]string{"Capability": "CAPABILITY"})
}
