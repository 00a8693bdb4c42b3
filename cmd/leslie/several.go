package main

import "leslie/internal/app"

// This file runs a command for several threads as one operation: done a b.

// severalText are the answers for several threads, one after the other.
type severalText[T any] struct {
	*app.SeveralResult[T]
	text func(*T) Data
}

// Text implements Data.
func (d severalText[T]) Text(p *page) {
	for _, item := range d.Items {
		d.text(item).Text(p)
	}
}

// threadsOperand is the operand of commands on threads, one or several. If it is missing,
// it is the thread that the call speaks for.
func threadsOperand() operand {
	return operand{value: anID("ID", threadIDs), speaks: true, many: true}
}

// forThreads runs a use case for the thread of the line. For several operands it runs it
// for each, in one operation or not at all.
func forThreads[Out any](c *call, one func(op *app.Call, id string) (*Out, error), text func(*Out) Data) (Data, error) {
	ids := c.flags.Args().Slice()
	if len(ids) < 2 {
		return runUseCase(c, one, c.targetThread(), text)
	}
	several := func(op *app.Call, ids []string) (*app.SeveralResult[Out], error) { return app.Several(op, ids, one) }
	return runUseCase(c, several, ids, func(d *app.SeveralResult[Out]) Data { return severalText[Out]{d, text} })
}
