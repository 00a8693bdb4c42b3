package doctor

import (
	"os"
	"testing"

	"leslie/test/harness"
)

func TestMain(m *testing.M) {
	harness.UsualUmask()
	if err := harness.UseMemory(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
