package runs

import (
	"os"
	"testing"

	"leslie/test/harness"
)

// TestMain makes the test binary the agent of its own tests.
func TestMain(m *testing.M) {
	if os.Getenv("FAKE_AGENT") != "" {
		fakeAgent()
		return
	}
	if err := harness.UseMemory(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
