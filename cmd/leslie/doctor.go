package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/external"
	"leslie/internal/screen"
)

type doctorText struct {
	*app.DoctorResult
	inText func(string) string // makes the paths of a text right from the caller's folder
	told   bool                // the repair that the person chose has said it
}

func (d doctorText) Text(p *page) {
	if d.told {
		return
	}
	for _, done := range d.Repaired {
		p.wrapped("repaired: " + d.inText(done))
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
		p.wrapped(kind + string(f.Code) + " " + p.place(f.Path) + ": " + d.inText(f.Message) + note)
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
			"backup can be read, --repair rebuilds the state from the journal. At a terminal it offers what can be done, one by one.",
		example: "leslie doctor",
		flags:   []cli.Flag{toggle("repair", "repair what can be repaired")},
		run:     runDoctor,
	}
}

func runDoctor(c *call) (Data, error) {
	d, err := diagnosis(c)
	if d == nil {
		return nil, err
	}
	told := false
	if err == nil && !c.on("repair") && canPrompt(c) {
		found := d
		if d, err = offerRepairs(c, d); err != nil {
			return nil, err
		}
		told = d != found && d.Healthy
	}
	return doctorText{d, places{c}.inText, told}, err
}

// diagnosis runs the use case; its options are lines for this caller.
func diagnosis(c *call) (*app.DoctorResult, error) {
	d, err := useCase(c, app.Doctor, app.DoctorRequest{Repair: c.on("repair"), Guide: agentsGuide()})
	if d != nil {
		d.Options = rendering{c}.callerOptions(d.Options)
	}
	return d, err
}

// offerRepairs shows the person at the terminal what is wrong, offers what can be done about
// it one by one, and runs what they choose as a call of its own. It returns what doctor
// finds afterwards. Errors: T904, and those of a diagnosis.
func offerRepairs(c *call, d *app.DoctorResult) (*app.DoctorResult, error) {
	offers := repairOffers(c, d)
	if len(offers) == 0 {
		return d, nil
	}
	p := newPrompt(c)
	for _, f := range d.Findings {
		if !f.Info {
			p.draw(screen.Labelled(string(f.Code), places{c}.place(f.Path)+": "+places{c}.inText(f.Message), p.width, p.coloured))
		}
	}
	for _, o := range offers {
		p.say("")
		p.draw(screen.Paragraph("", o.What, p.width))
		answer, ok := p.pick(menu{question: "Run " + o.Command + "?", choices: []screen.Choice{
			{Word: wordYes, Key: "y", About: "run it"},
			{Word: wordNo, Key: "n", About: "leave this as it is"},
			{Word: wordQuit, Key: "q", About: "leave everything as it is"},
		}})
		switch {
		case !ok || answer == wordQuit:
			return d, unlessAnswered(c, ok)
		case answer == wordNo:
			continue
		}
		argv, err := external.Split(o.Command)
		if err != nil {
			return d, err
		}
		if perform(c.ctx, commands(), argv[1:], c.env) != 0 {
			continue // its own answer says why
		}
		c.op = nil // look again
		if d, err = diagnosis(c); err != nil || d.Healthy {
			return d, err
		}
	}
	return d, nil
}

// repairOffers returns what can be done beyond looking: the options of a store that cannot
// be read, otherwise the repair of what is repairable.
func repairOffers(c *call, d *app.DoctorResult) (out []app.RepairOption) {
	looks := rendering{c}.callerLine("leslie doctor")
	for _, o := range d.Options {
		if o.Command != looks {
			out = append(out, o)
		}
	}
	repairable := slices.ContainsFunc(d.Findings, func(f app.Finding) bool { return f.Repairable })
	if len(d.Options) == 0 && repairable {
		out = append(out, app.RepairOption{
			What: "Repair what can be repaired; damaged files are moved aside, none is deleted", Command: rendering{c}.callerLine("leslie doctor --repair"),
		})
	}
	return out
}
