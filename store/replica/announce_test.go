package replica

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/codes"
	"leslie/internal/ledger"
)

// TestWhatWasSentAndNotAnsweredIsUnknown: servers of which too few are left get a line, and may have it once the others are
// back. Nobody may be told that nothing was changed.
func TestWhatWasSentAndNotAnsweredIsUnknown(t *testing.T) {
	silent := fmt.Errorf("%w: %w", ledger.ErrUnreachable, context.DeadlineExceeded)
	for name, c := range map[string]struct {
		err  error
		code codes.Code
	}{
		"sent, then silence":           {fmt.Errorf("%w: %w", ledger.ErrUnknown, silent), codes.OutcomeUnknown},
		"an error that says no more":   {context.DeadlineExceeded, codes.OutcomeUnknown},
		"nobody was there to be asked": {silent, codes.RemoteUnreachable},
	} {
		err := Error(t.Context(), inTime(c.err), "op-1")
		assert.Truef(t, codes.Has(err, c.code), "%s: %v", name, err)
	}
}
