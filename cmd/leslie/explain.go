package main

import (
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/nearest"
	"leslie/warnings"
)

// explained is one code as explain answers it.
type explained struct {
	Code        string   `json:"code"`
	Kind        string   `json:"kind"`
	Title       string   `json:"title"`
	Message     string   `json:"message"`
	Meaning     string   `json:"meaning,omitempty"`
	Causes      []string `json:"causes,omitempty"`
	Hint        string   `json:"hint,omitempty"`
	Next        string   `json:"next,omitempty"`
	NoNext      string   `json:"noNext,omitempty"`
	Context     []string `json:"context,omitempty"`
	Example     string   `json:"example,omitempty"`
	Recoverable *bool    `json:"recoverable,omitempty"`
	Retryable   *bool    `json:"retryable,omitempty"`
	ExitStatus  int      `json:"exitStatus"`
}

func explainError(e codes.Entry) explained {
	return explained{
		Code: string(e.Code), Kind: e.Kind, Title: e.Title, Message: e.Template, Meaning: e.Explanation, Causes: e.Causes,
		Hint: e.Hint, Next: e.Next, NoNext: e.NoNext, Example: e.Example,
		Recoverable: &e.Recoverable, Retryable: &e.Retryable, ExitStatus: e.Code.ExitStatus(),
	}
}

func explainWarning(e warnings.Entry) explained {
	return explained{
		Code: string(e.Code), Kind: e.Kind, Title: e.Title, Message: e.Template, Meaning: e.Explanation,
		Hint: e.Hint, Context: e.Context,
	}
}

func (d explained) Text(p *page) {
	p.line("%s  %s", d.Code, d.Kind)
	p.field("message", d.Message)
	p.field("meaning", d.Meaning)
	for _, cause := range d.Causes {
		p.field("cause", cause)
	}
	p.field("hint", d.Hint)
	p.field("next", d.Next)
	p.field("no next", d.NoNext)
	p.field("example", d.Example)
	if d.Recoverable != nil {
		p.field("recoverable", strconv.FormatBool(*d.Recoverable))
		p.field("retryable", strconv.FormatBool(*d.Retryable))
		p.field("exit status", d.ExitStatus)
	}
}

type explainList struct{ app.Items[explained] }

func (d *explainList) Text(p *page) {
	var rows [][]string
	for _, e := range d.Items.Items {
		rows = append(rows, []string{e.Code, e.Kind, e.Message})
	}
	p.table("CODE KIND MESSAGE", rows)
	p.line("leslie explain CODE shows its causes and what to do")
}

func explainCommand() *command {
	return &command{
		name: "explain", summary: "explain an error or warning code, or all codes",
		example:  "leslie explain T101",
		operands: []operand{{value: anyText("CODE"), optional: true}}, run: runExplain,
	}
}

func runExplain(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	all := &explainList{}
	for _, e := range codes.Table() {
		all.Items.Items = append(all.Items.Items, explainError(e))
	}
	for _, e := range warnings.Table() {
		all.Items.Items = append(all.Items.Items, explainWarning(e))
	}
	all.Total = len(all.Items.Items)
	if c.operand(0) == "" {
		return all, nil
	}
	wanted := strings.ToUpper(c.operand(0))
	var known []string
	for _, e := range all.Items.Items {
		if e.Code == wanted || e.Kind == strings.ToLower(wanted) {
			return e, nil
		}
		known = append(known, e.Code)
	}
	c.faults = append(c.faults, fault{Field: "CODE", Value: c.operand(0),
		Problem: "there is no code " + quoted(c.operand(0)), Nearest: nearest.Name(wanted, known)})
	return nil, c.usage()
}
