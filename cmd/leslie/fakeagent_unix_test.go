//go:build !windows

package main

import (
	"leslie/test/fakeagent"
)

// fakeAgent is a coding agent without a model.
func fakeAgent() { fakeagent.Main() }
