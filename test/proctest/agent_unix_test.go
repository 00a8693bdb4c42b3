//go:build !windows

package proctest

import (
	"os"

	"leslie/test/fakeagent"
)

// playsAgent makes this process the agent without a model if it was started as one.
func playsAgent() bool {
	if os.Getenv("PROCTEST_AGENT") == "" {
		return false
	}
	fakeagent.Main()
	return true
}
