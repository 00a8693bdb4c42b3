package ledgertest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"leslie/internal/ledger"
	"leslie/internal/ledger/ledgertest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, func(t *testing.T) ledgertest.Setup {
		at := ledger.Address{Project: "p1"}
		return ledgertest.Setup{Engine: &ledgertest.Memory{Now: time.Now}, Admin: at, Writer: at}
	})
}

func TestASettingThatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	err := &ledger.SettingsError{Report: ledger.Report{Servers: 1, Settings: []ledger.Setting{
		{Server: "n1", What: "version", Found: "2.15.2", Wanted: "2.15.2", Fine: true},
		{Server: "n1", What: "sync_interval", Found: "2m0s", Wanted: "always"},
	}}}
	assert.EqualError(t, err, "n1 sync_interval is 2m0s and must be always")
}
