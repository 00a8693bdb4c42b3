package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/thread"
)

// This file talks to the person at the terminal.

// PersonReads reports whether a person reads a stream, which may be a terminal, as text.
// Agents run commands on pseudo-terminals, too, and may say that they are people.
func (c *Call) PersonReads(terminal bool) bool {
	return terminal && c.Who.As == thread.User && !c.Env.inAgent() && c.Who.Format == "text"
}

// CanPrompt reports whether a person can be asked.
func (c *Call) CanPrompt() bool {
	return c.Env.StdinTTY && c.PersonReads(c.Env.StderrTTY) && !c.Who.NoInput
}

// DefaultColumns is the width of a terminal that does not tell it.
const DefaultColumns = 80

// Prompt is a dialogue on the terminal, on stderr, because stdout is for the answer.
type Prompt struct {
	in    *bufio.Reader
	Out   io.Writer
	done  <-chan struct{} // closed when the call is interrupted
	Paint func(code, s string) page.Styled
	// Width is that of the terminal in cells, as of the last answer.
	Width    int
	columns  func() int
	Coloured bool
}

// Prompt is where the call asks the person at the terminal.
func (c *Call) Prompt() *Prompt {
	p := &Prompt{in: bufio.NewReader(c.Env.Stdin), Out: c.Env.Stderr, done: c.Ctx.Done(), Paint: c.painter(),
		columns: c.Env.Columns}
	p.measure()
	p.Coloured = c.Colours(c.Env.StderrTTY)
	return p
}

// measure takes over the width of the terminal, which may have changed while it waited.
func (p *Prompt) measure() {
	if p.Width = p.columns(); p.Width <= 0 {
		p.Width = DefaultColumns
	}
}

// line asks and returns the answer in lower case; ok is false if the terminal was
// closed or an interrupt came. The reader then stays blocked until the process ends.
func (p *Prompt) line(question string) (answer string, ok bool) {
	text, ok := p.Text(question)
	return strings.ToLower(text), ok
}

// Text is like line but returns the answer unchanged.
func (p *Prompt) Text(question string) (text string, ok bool) {
	fmt.Fprint(p.Out, question+" ")
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
	p.measure()
	if !ok {
		fmt.Fprintln(p.Out) // nobody has typed the end of the line
	}
	return strings.TrimSpace(text), ok
}

// Interrupted returns T904 if the call was interrupted, nil if the person left.
func (c *Call) Interrupted() error {
	if c.Ctx.Err() == nil {
		return nil
	}
	return codes.Interrupted.Wrap(context.Cause(c.Ctx))
}

// Say writes a line to the person; its arguments are escaped.
func (p *Prompt) Say(format string, args ...any) {
	fmt.Fprintf(p.Out, format+"\n", page.Escaped(args)...)
}

// editorPatience is how long an editor may take to save when leslie has to end.
const editorPatience = 5 * time.Second

// RunEditor runs a program that shares the terminal with the person. When leslie has
// to end, it asks the program to end, and does not kill it while it saves.
func (c *Call) RunEditor(name string, args ...string) error {
	cmd := c.onTerminal(append([]string{name}, args...))
	cmd.Stdin = c.Env.Stdin
	return c.RunLent(cmd)
}

// onTerminal returns a program that writes to the person's terminal. When leslie has to
// end, it is asked to end, too.
func (c *Call) onTerminal(words []string) *exec.Cmd {
	cmd := exec.CommandContext(c.Ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = c.Env.Stderr, c.Env.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = editorPatience
	return cmd
}

// lender is a stream to the terminal that draws lines of its own there. While the terminal
// itself is lent to a program, it draws none.
type lender interface {
	Lend() (terminal io.Writer, back func())
}

// RunLent runs a program that has the terminal: Ctrl-C is for it. It gets the terminal
// itself where it would write to stderr: most editors refuse to work through a pipe.
func (c *Call) RunLent(cmd *exec.Cmd) error {
	terminal := c.Env.Stderr
	for {
		l, lends := terminal.(lender)
		if !lends {
			break
		}
		under, back := l.Lend()
		defer back()
		terminal = under
	}
	if cmd.Stdout == c.Env.Stderr {
		cmd.Stdout = terminal
	}
	if cmd.Stderr == c.Env.Stderr {
		cmd.Stderr = terminal
	}
	if own, ok := c.Ctx.(*Interruptible); ok {
		return own.Lend(cmd)
	}
	return cmd.Run()
}
