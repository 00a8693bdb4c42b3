//go:build !windows

package runs

import (
	"leslie/test/fakeagent"
)

// fakeAgent is a coding agent without a model.
func fakeAgent() { fakeagent.Main() }
