package projectcmd

import (
	"cmp"
	"slices"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/decidecmd"
	"leslie/cmd/leslie/internal/guide"
	"leslie/cmd/leslie/internal/mergecmd"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app/doctor"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/screen"
)

type doctorText struct {
	*doctor.Result
	inText func(string) string // makes the paths of a text right from the caller's folder
	told   bool                // the repair that the person chose has said it
}

func (d doctorText) Text(p *page.Page) {
	if d.told {
		return
	}
	for _, done := range d.Repaired {
		p.Wrapped("repaired: " + d.inText(done))
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
		p.Wrapped(kind + string(f.Code) + " " + p.Place(f.Path) + ": " + d.inText(f.Message) + note)
	}
	if d.Healthy {
		p.Line("healthy")
	} else {
		p.Line("not healthy: %s", fact.Plural(wrong, "finding"))
	}
}

// IsPartialResult: repairs done before a repair failed are shown, too.
func (d doctorText) IsPartialResult() {}

// Doctor is the command leslie doctor.
func Doctor() *cli.Command {
	return &cli.Command{
		Name: "doctor", Summary: "check the store; --repair repairs it", Writes: true, Unrecorded: true,
		OnlyWith: "repair",
		Detail: "Reads every record, blob, frozen copy, journal line and stored answer. Notes are for information: " +
			"a store with only notes is healthy. Damaged files are moved aside as NAME.set-aside-TIME, never " +
			"deleted. If neither the state nor its backup can be read, doctor fails (T502) with what it found, and " +
			"--repair rebuilds the state from the journal. At a terminal it offers what can be done, one by one.",
		Example: "leslie doctor",
		Flags:   []cli.Flag{cli.Toggle("repair", "repair what can be repaired")},
		Run:     runDoctor,
	}
}

func runDoctor(c *cli.Call) (cli.Data, error) {
	d, err := diagnosis(c)
	if d == nil {
		return nil, err
	}
	told, looked := false, err == nil || codes.Has(err, codes.ParseError)
	if looked && !c.On("repair") && c.CanPrompt() {
		found := d
		if d, err = offerRepairs(c, d, err); d == nil {
			return nil, err
		}
		told = d != found && d.Healthy
	}
	return doctorText{d, c.InText, told}, err
}

// diagnosis runs the use case; its options are lines for this caller.
func diagnosis(c *cli.Call) (*doctor.Result, error) {
	d, err := cli.UseCase(c, doctor.Check, doctor.Request{Repair: c.On("repair"),
		Guide: guide.AgentsGuide()})
	if d != nil {
		d.Options = c.CallerOptions(d.Options)
	}
	return d, err
}

// offerRepairs shows the person at the terminal what is wrong, offers what can be done about
// it one by one, and runs what they choose as a call of its own. It returns what doctor
// finds afterwards, and wrong, the error of what was found, if nothing has changed.
// Errors: T904, and those of a diagnosis.
func offerRepairs(c *cli.Call, d *doctor.Result, wrong error) (*doctor.Result, error) {
	offers := repairOffers(c, d)
	if len(offers) == 0 {
		return d, wrong
	}
	p := c.Prompt()
	for _, f := range d.Findings {
		if !f.Info {
			p.Draw(screen.Labelled(string(f.Code), c.Place(f.Path)+": "+c.InText(f.Message), p.Width, p.Coloured))
		}
	}
	for _, o := range offers {
		p.Say("")
		p.Draw(screen.Paragraph("", o.What, p.Width))
		answer, ok := p.Pick(cli.Menu{Question: "Run " + o.Command + "?", Choices: []screen.Choice{
			{Word: mergecmd.WordYes, Key: "y", About: "run it"},
			{Word: mergecmd.WordNo, Key: "n", About: "leave this as it is"},
			{Word: mergecmd.WordQuit, Key: "q", About: "leave everything as it is"},
		}})
		switch {
		case !ok || answer == mergecmd.WordQuit:
			return d, cmp.Or(decidecmd.UnlessAnswered(c, ok), wrong)
		case answer == mergecmd.WordNo:
			continue
		}
		argv, err := external.Split(o.Command)
		if err != nil {
			return d, err
		}
		if cli.RunWith(c.Ctx, c.Env.Commands.All(), argv[1:], c.Env) != 0 {
			continue // its own answer says why
		}
		c.Op = nil // look again
		if d, wrong = diagnosis(c); d == nil || d.Healthy || wrong != nil && !codes.Has(wrong, codes.ParseError) {
			return d, wrong
		}
	}
	return d, wrong
}

// repairOffers returns what can be done beyond looking: the options of a store that cannot
// be read, otherwise the repair of what is repairable.
func repairOffers(c *cli.Call, d *doctor.Result) (out []doctor.RepairOption) {
	looks := c.CallerLine("leslie doctor")
	for _, o := range d.Options {
		if o.Command != looks {
			out = append(out, o)
		}
	}
	repairable := slices.ContainsFunc(d.Findings, func(f doctor.Finding) bool { return f.Repairable })
	if len(d.Options) == 0 && repairable {
		out = append(out, doctor.RepairOption{
			What:    "Repair what can be repaired; damaged files are moved aside, none is deleted",
			Command: c.CallerLine("leslie doctor --repair"),
		})
	}
	return out
}
