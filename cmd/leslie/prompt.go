package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"leslie/codes"
	"leslie/thread"
)

// This file talks to the person at the terminal.

// personReads reports whether a person reads a stream, which may be a terminal, as text.
// Agents run commands on pseudo-terminals, too, and may say that they are people.
func personReads(c *call, terminal bool) bool {
	return terminal && c.who.as == thread.User && !c.env.inAgent() && c.who.format == "text"
}

// canPrompt reports whether a person can be asked.
func canPrompt(c *call) bool {
	return c.env.stdinTTY && personReads(c, c.env.stderrTTY) && !c.who.noInput
}

// defaultColumns is the width of a terminal that does not tell it.
const defaultColumns = 80

// prompt is a dialogue on the terminal, on stderr, because stdout is for the answer.
type prompt struct {
	in    *bufio.Reader
	out   io.Writer
	done  <-chan struct{} // closed when the call is interrupted
	paint func(code, s string) styled
	// width is that of the terminal in cells.
	width    int
	coloured bool
}

func newPrompt(c *call) *prompt {
	p := &prompt{in: bufio.NewReader(c.env.stdin), out: c.env.stderr, done: c.ctx.Done(), paint: rendering{c}.painter(), width: defaultColumns}
	if columns := c.env.columns(); columns > 0 {
		p.width = columns
	}
	p.coloured = rendering{c}.colours(c.env.stderrTTY)
	return p
}

// line asks and returns the answer in lower case; ok is false if the terminal was
// closed or an interrupt came. The reader then stays blocked until the process ends.
func (p *prompt) line(question string) (answer string, ok bool) {
	text, ok := p.text(question)
	return strings.ToLower(text), ok
}

// text is like line but returns the answer unchanged.
func (p *prompt) text(question string) (text string, ok bool) {
	fmt.Fprint(p.out, question+" ")
	read := make(chan string, 1)
	go func() {
		text, err := p.in.ReadString('\n')
		if err == nil || text != "" {
			read <- text
		}
		close(read)
	}()
	select {
	case text, ok = <-read:
	case <-p.done:
	}
	if !ok {
		fmt.Fprintln(p.out) // nobody has typed the end of the line
	}
	return strings.TrimSpace(text), ok
}

// interrupted returns T904 if the call was interrupted, nil if the person left.
func interrupted(c *call) error {
	if c.ctx.Err() == nil {
		return nil
	}
	return codes.Interrupted.Wrap(context.Cause(c.ctx))
}

// say writes a line to the person; its arguments are escaped.
func (p *prompt) say(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", escaped(args)...) }

// editorPatience is how long an editor may take to save when leslie has to end.
const editorPatience = 5 * time.Second

// runEditor runs a program that shares the terminal with the person. When leslie has
// to end, it asks the program to end, and does not kill it while it saves.
func runEditor(c *call, name string, args ...string) error {
	cmd := onTerminalOf(c, append([]string{name}, args...))
	cmd.Stdin = c.env.stdin
	return runLent(c, cmd)
}

// onTerminalOf returns a program that writes to the person's terminal. When leslie has to
// end, it is asked to end, too.
func onTerminalOf(c *call, words []string) *exec.Cmd {
	cmd := exec.CommandContext(c.ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = c.env.stderr, c.env.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = editorPatience
	return cmd
}

// runLent runs a program that has the terminal: Ctrl-C is for it.
func runLent(c *call, cmd *exec.Cmd) error {
	if own, ok := c.ctx.(*interruptible); ok {
		return own.lend(cmd)
	}
	return cmd.Run()
}
