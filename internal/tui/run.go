package tui

import (
	"context"
	"io"

	tea "charm.land/bubbletea/v2"
)

// Run shows the screen on a terminal until its person leaves it, or ctx ends. Errors: those
// of the terminal.
func Run(ctx context.Context, backend Backend, in io.Reader, out io.Writer, environ []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := New(ctx, backend)
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(environ), tea.WithoutSignalHandler())
	m.send = p.Send
	go func() { p.Send(watchMsg{backend.Watch(ctx, func() { p.Send(changedMsg{}) })}) }()
	_, err := p.Run()
	if ctx.Err() != nil {
		return nil
	}
	return err
}
