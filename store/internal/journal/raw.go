package journal

import (
	"context"
	"slices"

	"leslie/codes"
	"leslie/store/internal/jsonl"
	"leslie/thread"
)

// This file reads lines as they are, for an export.

// Lines returns the intact lines before a revision, oldest first, of each number the one
// that was written last. Errors: also T904.
func (f File) Lines(ctx context.Context, before thread.Revision) (lines [][]byte, err error) {
	if f.file == nil {
		return nil, nil
	}
	for line, err := range jsonl.Backwards(f.file, f.size) {
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, codes.Interrupted.Wrap(context.Cause(ctx))
		}
		if seq, ok := number(line); ok && seq < before {
			lines, before = append(lines, slices.Clone(line)), seq
		}
	}
	slices.Reverse(lines)
	return lines, nil
}

// Number is the number of an intact line; ok is false for a damaged one.
func Number(line []byte) (seq thread.Revision, ok bool) { return number(line) }
