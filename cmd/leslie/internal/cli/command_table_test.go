package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLineOfAnOperationIsTheLineThatDoesItAgain(t *testing.T) {
	table := CommandTable{{Name: "suspend", Make: func() *Command {
		return &Command{Name: "suspend", Operands: []Operand{ThreadOperand()}, Flags: []Flag{
			NewFlag("reason", Text("R"), ""), NewFlag("on-what", Texts("W"), ""),
			Toggle("wait", ""), Toggle("yes", ""), Toggle("quick", ""),
		}}
	}}}
	for params, line := range map[string]string{
		`{"operands":["main"],"reason":"it's late"}`:         `leslie suspend --reason 'it'\''s late' main`,
		`{"onWhat":["a","b"],"operands":["main","b"]}`:       `leslie suspend --on-what a --on-what b main b`,
		`{"operands":["-x"],"quick":true}`:                   `leslie suspend --quick -- -x`,
		`{"operands":["main"],"wait":true,"yes":true}`:       `leslie suspend main`,
		`{"quick":false,"thread":"other"}`:                   `leslie suspend main`,
		`{"on_what":"a","thread":"main","action":"suspend"}`: `leslie suspend --on-what a main`,
		``: `leslie suspend main`,
		`{"operands":["main"],"commands":["suspend"]}`:            "",
		`{"operands":["main"],"reason":"one\ntwo"}`:               "",
		`{"reason":"` + strings.Repeat("long ", maxLineOf) + `"}`: "",
		`[]`: "",
	} {
		assert.Equal(t, line, table.LineOf("suspend", "main", []byte(params)), params)
	}
	assert.Empty(t, table.LineOf("run keep", "main", nil), "no command of a line")
}
