package cli

import (
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
)

// This file runs a command for several threads as one operation: done a b.

// severalText are the answers for several threads, one after the other.
type severalText[T any] struct {
	*app.SeveralResult[T]
	text func(*T) Data
}

// Text implements Data.
func (d severalText[T]) Text(p *page.Page) {
	for _, item := range d.Items {
		d.text(item).Text(p)
	}
}

// ThreadsOperand is the operand of commands on threads, one or several. If it is missing,
// it is the thread that the call speaks for.
func ThreadsOperand() Operand {
	return Operand{Value: ID("ID", ThreadIDs), Speaks: true, Many: true}
}

// ForThreads runs a use case for the thread of the line. For several operands it runs it
// for each, in one operation or not at all.
func ForThreads[Out any](c *Call, one func(op *app.Call, id string) (*Out, error), text func(*Out) Data) (Data, error) {
	ids := c.Flags.Args().Slice()
	if len(ids) < 2 {
		return RunUseCase(c, one, c.TargetThread(), text)
	}
	several := func(op *app.Call, ids []string) (*app.SeveralResult[Out], error) { return app.Several(op, ids, one) }
	return RunUseCase(c, several, ids, func(d *app.SeveralResult[Out]) Data { return severalText[Out]{d, text} })
}
