package viewcmd

import (
	"strconv"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
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
	Counted     *bool    `json:"counted,omitempty"` // towards the mistake limit
	ExitStatus  int      `json:"exitStatus"`
}

func explainError(e codes.Entry) explained {
	counted := !e.Expected
	e = e.Shown()
	return explained{
		Code: string(e.Code), Kind: e.Kind, Title: e.Title, Message: e.Message(nil), Meaning: e.Meaning(),
		Causes: e.Causes,
		Hint:   e.Hint, Next: e.Next, NoNext: e.NoNext, Example: e.Example,
		Recoverable: &e.Recoverable, Retryable: &e.Retryable, Counted: &counted, ExitStatus: e.Code.ExitStatus(),
	}
}

func explainWarning(e warnings.Entry) explained {
	return explained{
		Code: string(e.Code), Kind: e.Kind, Title: e.Title, Message: e.Template, Meaning: e.Explanation,
		Hint: e.Hint, Context: e.Context,
	}
}

func (d explained) Text(p *page.Page) {
	p.Line("%s  %s", d.Code, d.Kind)
	p.Field("message", d.Message)
	if !strings.HasSuffix(d.Message, d.Meaning) { // an error's message ends with it
		p.Field("meaning", d.Meaning)
	}
	for _, cause := range d.Causes {
		p.Field("cause", cause)
	}
	p.Field("hint", d.Hint)
	p.Field("next", d.Next)
	p.Field("no next", d.NoNext)
	p.Field("example", d.Example)
	if d.Recoverable != nil {
		p.Field("recoverable", strconv.FormatBool(*d.Recoverable))
		p.Field("retryable", strconv.FormatBool(*d.Retryable))
		p.Field("counts towards the mistake limit", strconv.FormatBool(*d.Counted))
		p.Field("exit status", d.ExitStatus)
	}
}

type explainList struct{ app.Items[explained] }

func (d *explainList) Text(p *page.Page) {
	var rows [][]string
	for _, e := range d.Items.Items {
		rows = append(rows, []string{e.Code, e.Kind, e.Message})
	}
	p.Table("CODE KIND MESSAGE", rows)
	p.Line("leslie explain CODE shows its causes and what to do")
}

// Explain is the command leslie explain.
func Explain() *cli.Command {
	return &cli.Command{
		Name: "explain", Summary: "explain an error or warning code, or all codes",
		Example:  "leslie explain T101",
		Operands: []cli.Operand{{Value: cli.Text("CODE").Offering(cli.CodeNames), Optional: true}}, Run: runExplain,
	}
}

func runExplain(c *cli.Call) (cli.Data, error) {
	if err := c.Usage(); err != nil {
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
	if c.Operand(0) == "" {
		return all, nil
	}
	wanted := strings.ToUpper(c.Operand(0))
	var known []string
	for _, e := range all.Items.Items {
		if e.Code == wanted || e.Kind == strings.ToLower(wanted) {
			return e, nil
		}
		known = append(known, e.Code)
	}
	c.Faults = append(c.Faults, cli.Fault{Field: "CODE", Value: c.Operand(0),
		Problem: "there is no code " + strconv.Quote(c.Operand(0)), Nearest: nearest.Name(wanted, known)})
	return nil, c.Usage()
}
