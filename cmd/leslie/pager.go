package main

import (
	"bytes"
	"slices"
	"strings"

	"leslie/internal/external"
	"leslie/internal/screen"
)

// This file shows a person an answer that is longer than their screen in a pager, as git
// does.

// pager shows the answer of a call.
type pager struct{ *call }

// wanted reports whether the answer is for a person whose screen it does not fit.
func (c pager) wanted(answer []byte) bool {
	if !personReads(c.call, c.env.stdoutTTY) || !c.env.stdinTTY || c.who.noInput || c.who.noPager {
		return false
	}
	columns, rows := c.env.columns(), c.env.rows()
	return columns > 0 && rows > 0 && screen.Rows(string(answer), columns) >= rows
}

// words returns the command of the person's pager, nil for none: LESLIE_PAGER, PAGER, less.
func (c pager) words() []string {
	command, environ := "less", c.env.environ()
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

// show shows the answer in the person's pager and returns when they have left it; false
// if there is none, and nothing was shown. How the pager ends does not matter.
func (c pager) show(answer []byte) bool {
	words := c.words()
	if words == nil {
		return false
	}
	cmd := onTerminalOf(c.call, words)
	cmd.Stdin, cmd.Stdout = bytes.NewReader(answer), c.env.stdout
	cmd.Env = c.env.environ()
	if _, set := variable(cmd.Env, "LESS"); !set {
		cmd.Env = append(cmd.Env, "LESS=FRX") // leave if it fits after all, keep colours, keep the screen
	}
	_ = runLent(c.call, cmd)
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
