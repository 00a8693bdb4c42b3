package cli

import (
	"bytes"
	"slices"
	"strings"

	"leslie/internal/external"
	"leslie/internal/screen"
)

// This file shows a person an answer that is longer than their screen in a pager, as git
// does.

// NeedsPager reports whether the answer is for a person whose screen it does not fit.
func (c *Call) NeedsPager(answer []byte) bool {
	if !c.PersonReads(c.Env.StdoutTTY) || !c.Env.StdinTTY || c.Who.NoInput || c.Who.noPager {
		return false
	}
	columns, rows := c.Env.Columns(), c.Env.Rows()
	return columns > 0 && rows > 0 && screen.Rows(string(answer), columns) >= rows
}

// pagerCommand returns the command of the person's pager, nil for none: LESLIE_PAGER, PAGER, less.
func (c *Call) pagerCommand() []string {
	command, environ := "less", c.Env.Environ()
	for _, key := range []string{"PAGER", "LESLIE_PAGER"} {
		if value, set := variable(environ, key); set {
			command = value
		}
	}
	words, err := external.Split(command)
	if err != nil || slices.Equal(words, []string{"cat"}) || len(words) == 0 {
		return nil
	}
	return words
}

// ShowInPager shows the answer in the person's pager and returns when they have left it; false
// if there is none, and nothing was shown. How the pager ends does not matter.
func (c *Call) ShowInPager(answer []byte) bool {
	words := c.pagerCommand()
	if words == nil {
		return false
	}
	cmd := c.onTerminal(words)
	cmd.Stdin, cmd.Stdout = bytes.NewReader(answer), c.Env.Stdout
	cmd.Env = c.Env.Environ()
	if _, set := variable(cmd.Env, "LESS"); !set {
		cmd.Env = append(cmd.Env, "LESS=FRX") // leave if it fits after all, keep colours, keep the screen
	}
	_ = c.RunLent(cmd)
	return cmd.Process != nil
}

// variable returns the value of a variable, which may be set and empty.
func variable(environ []string, key string) (value string, set bool) {
	for _, pair := range environ { // the last one counts
		if text, ok := strings.CutPrefix(pair, key+"="); ok {
			value, set = text, true
		}
	}
	return value, set
}
